"""Paper `ols`."""

from verify.statements.topics import Figure, Highlight, Panel, Topic

TOPIC = Topic(
    name="ols",
    package="verify.papers.ols",
    title="Near-optimal private linear regression via iterative Hessian mixing",
    authors="O. Lev, M. Shenfeld, V. Srinivasan, K. Ligett, A. C. Wilson",
    venue="Massachusetts Institute of Technology and The Hebrew University of Jerusalem",
    version="the text with appendices A to L",
    link="https://github.com/omrilev1/HessianMix",
    sources=("dpbounds.ols", "simulators.ols", "verify.papers.ols"),
    solve="verify.cli.solve.ols",
    summary="DP least squares: AdaSSP, Gaussian mixing, iterative Hessian mixing",
    main_picture="ols/beyond-stand-ins",
    stands=(
        Highlight(
            sentence=(
                "Theorem 1 is private, with room to spare: all $2 T + 1$ releases of iterative Hessian mixing (IHM) "
                "together spend at most a twentieth of $delta$, or 0.4 $epsilon$ at usual sizes."
            ),
            claims=("ols/thm-1-priv", "ols/compose", "ols/eigtest", "ols/bounded-sens", "ols/lmin-sens"),
        ),
        Highlight(
            sentence=(
                "The mixing mechanism costs $phi(alpha; k, gamma)$ of Rényi divergence exactly (Lemma 1), and Lemmas 2 "
                "and 3 convert it as stated."
            ),
            claims=("ols/lem-1", "ols/lem-1-tcdp", "ols/lem-2", "ols/lem-3", "ols/eq38"),
        ),
        Highlight(
            sentence=(
                "Propositions 1 and 2 hold with $c_0 = 16$, $c_1 = 2$, $c_2 = 1\\/16$: sketch-and-solve is "
                "proportional to $L(theta^*)$, the iterative Hessian sketch contracts geometrically."
            ),
            claims=("ols/prop-1", "ols/prop-2", "ols/lem-8", "ols/lem-9", "ols/lem-10"),
        ),
        Highlight(
            sentence=(
                'Proposition 3, Table 1 and what Section 4.3 reads off it: $gamma_"ASSP" \\/ gamma_"mix"$ and '
                '$gamma_"hess" \\/ gamma_"mix"$ are the roots stated, up to the logarithms that are named.'
            ),
            claims=(
                "ols/prop-3",
                "ols/prop-3-cor",
                "ols/tab1",
                "ols/tab1-ratio-assp",
                "ols/tab1-ratio-hess",
                "ols/tab1-scale",
                "ols/tab1-log",
            ),
        ),
        Highlight(
            sentence=(
                "Linear mixing at fixed $k$ saturates at a share of $L(theta^*)$, and no choice of $k$ brings it to "
                "AdaSSP or IHM where $L(theta^*)$ is large."
            ),
            claims=("ols/thm-2-saturate", "ols/thm-2-eq16", "ols/appe-147", "ols/appe-148", "ols/appe-conclusion"),
        ),
        Highlight(
            sentence="On sets outside the paper IHM matches or outperforms linear mixing and AdaSSP, as it reports.",
            claims=("ols/beyond-stand-ins",),
        ),
    ),
    sharper=(
        Highlight(
            sentence=(
                "The exact privacy of the Gaussian sketch, and all releases of IHM accounted together: at equal "
                "$(epsilon, delta)$ 2 to 2.8 times less noise than in Theorem 1."
            ),
            claims=("ols/beyond-exact-sketch", "ols/beyond-joint-accounting"),
        ),
        Highlight(
            sentence=(
                "AdaSSP's three releases as one Gaussian mechanism: 1.6 to 1.7 times less noise, and $sqrt(2)$ less "
                "off the diagonal for nothing. Methods are compared at equal true privacy."
            ),
            claims=("ols/beyond-adassp-tight", "ols/beyond-comparison"),
        ),
        Highlight(
            sentence=(
                "The exact expected risk of IHM, with and without its ridge term, of sketch-and-solve with its whole "
                "law, and of DP-GD; that of AdaSSP to leading order (its mean is infinite)."
            ),
            claims=(
                "ols/beyond-risk-ihm",
                "ols/beyond-risk-sketch",
                "ols/beyond-risk-adassp",
                "ols/beyond-risk-gd",
                "ols/beyond-released",
            ),
        ),
        Highlight(
            sentence=(
                "The law of one step of the iterative Hessian sketch, its best step size, and a utility bound in which "
                "every constant is explicit."
            ),
            claims=("ols/beyond-wishart", "ols/beyond-contraction", "ols/beyond-utility"),
        ),
        Highlight(
            sentence=(
                "A method with less risk on most data at equal true privacy: one noisy Hessian, gradients clipped by "
                "norm at a level that follows them, rounds averaged by Kalman gains (PRN); where it loses is said."
            ),
            claims=(
                "ols/beyond-newton-algorithm",
                "ols/beyond-newton-privacy",
                "ols/beyond-newton-risk",
                "ols/beyond-newton-stand-ins",
                "ols/beyond-newton-loses",
            ),
        ),
    ),
    figures=(
        Figure(
            name="Figures 1 to 3",
            title="IHM, linear mixing and AdaSSP over the privacy budget.",
            panels=(
                Panel(claim="ols/fig-1", title="1: four regimes"),
                Panel(claim="ols/fig-2", title="2: five more sets"),
                Panel(claim="ols/fig-3", title="3: the rest of Table 2"),
            ),
        ),
        Figure(
            name="Figures 4 and 5",
            title="The same with DP-GD.",
            panels=(Panel(claim="ols/fig-4", title="4: nine sets"), Panel(claim="ols/fig-5", title="5: the rest")),
        ),
        Figure(
            name="Figures 6 and 7",
            title="Two iterations in place of three; a design on which residuals are clipped.",
            panels=(
                Panel(claim="ols/fig-6", title="6: two iterations"),
                Panel(claim="ols/fig-7", title="7: clipping at work"),
            ),
        ),
        Figure(
            name="Beyond the paper",
            title="Sets that come with scikit-learn: IHM, and PRN against IHM and AdaSSP at equal true privacy.",
            panels=(
                Panel(claim="ols/beyond-stand-ins", title="IHM over the best other"),
                Panel(claim="ols/beyond-newton-stand-ins", title="PRN over the best other, outcomes centred"),
            ),
        ),
    ),
)
