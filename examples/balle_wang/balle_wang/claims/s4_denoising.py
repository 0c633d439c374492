"""Section 4: denoising, which costs no privacy."""

from balle_wang import theory
from balle_wang.algorithms import Answers, release
from simulators.engine import Experiment
from verify import Claim
from verify.checks import Case, Means, MonteCarlo

D, SIGMA, WIDTHS = 20, 1.0, (0.25, 0.5, 1.0, 2.0)


def errors(output, predicted):
    return [
        Case(
            label=f"{output} at width {width:g}",
            experiment=Experiment(
                algorithm=release, problem=Answers(d=D, width=width), settings=SIGMA, block_trials=2_000
            ),
            output=output,
            predicted=lambda width=width: predicted(D, width, SIGMA),
            relative_std=1.0,
            x=width,
            group=output,
        )
        for width in WIDTHS
    ]


SETTING = "$d = 20$, $sigma = 1$, answers drawn with standard deviation $w = 0.25, 0.5, 1, 2$."
AXES = ("standard deviation of an answer $w$", "squared error")

BAYES = Claim(
    id="balle_wang/bayes",
    where="Section 4, known prior",
    kind="mc-equality",
    statement=(
        "For answers drawn as $N(0, w^2)$ the best denoiser shrinks by $w^2 \\/ (w^2 + sigma^2)$ and errs by "
        "$d sigma^2 w^2 \\/ (w^2 + sigma^2)$.",
    ),
    setting=SETTING,
    checks=(
        MonteCarlo(
            means=Means(cases=lambda: errors("bayes", theory.bayes_risk), axes=AXES),
            impostors={"20 % off": {"scale": 1.2}},
        ),
    ),
)

JAMES_STEIN = Claim(
    id="balle_wang/james-stein",
    where="Section 4, James and Stein",
    kind="mc-equality",
    statement=(
        "Without knowing $w$, James and Stein's denoiser errs by $d sigma^2 - (d - 2) sigma^4 \\/ (w^2 + sigma^2)$, "
        "always less than the $d sigma^2$ of the noise.",
    ),
    hypotheses="$d >= 3$.",
    setting=SETTING,
    checks=(
        MonteCarlo(
            means=Means(cases=lambda: errors("james_stein", theory.james_stein_risk), axes=AXES),
            impostors={"20 % off": {"scale": 1.2}},
        ),
    ),
)
