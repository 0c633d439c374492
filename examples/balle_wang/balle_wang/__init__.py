"""Balle and Wang's analytic Gaussian mechanism."""

from verify import Figure, Highlight, Panel, Topic

TOPIC = Topic(
    name="balle_wang",
    package="balle_wang",
    sources=("balle_wang",),
    title="Improving the Gaussian mechanism for differential privacy: analytical calibration and optimal denoising",
    authors="B. Balle and Y.-X. Wang",
    venue="ICML 2018",
    version="arXiv v2",
    link="https://arxiv.org/abs/1805.06530",
    stands=(
        Highlight(
            sentence="Theorem 8: the exact $delta$ of the Gaussian mechanism; Algorithm 1 has the least noise.",
            claims=("balle_wang/thm-8", "balle_wang/thm-9"),
        ),
    ),
    main_picture="balle_wang/third",
    figures=(
        Figure(
            name="Calibration and denoising",
            title="What analytic calibration saves, and what denoising saves on top.",
            panels=(
                Panel(claim="balle_wang/third", title="Variance, analytic over classical"),
                Panel(claim="balle_wang/james-stein", title="Error of denoised answers"),
            ),
        ),
    ),
    notation=(
        ("epsilon, delta", "the budget; all sensitivities are 1"),
        ("sigma", "standard deviation of the noise in each coordinate"),
        ("eta", "mean of the privacy loss, $1 \\/ (2 sigma^2)$ for the worst neighbours"),
    ),
)
