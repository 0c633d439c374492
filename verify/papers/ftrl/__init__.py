"""Paper `ftrl`."""

from verify.statements.topics import Figure, Highlight, Panel, Topic

TOPIC = Topic(
    name="ftrl",
    package="verify.papers.ftrl",
    title="Correlated noise provably beats independent noise for differentially private learning",
    authors=(
        "Christopher A. Choquette-Choo, Krishnamurthy (Dj) Dvijotham, Krishna Pillutla, Arun Ganesh, Thomas Steinke, "
        "Abhradeep Guha Thakurta"
    ),
    venue="ICLR 2024",
    version="ICLR 2024 version with appendices",
    link="https://arxiv.org/abs/2310.06771",
    sources=("dpbounds.ftrl", "simulators.ftrl", "simulators.noise", "verify.papers.ftrl"),
    solve="verify.cli.solve.ftrl",
    check="verify.cli.solve.ftrl.check",
    design="verify.cli.design.ftrl",
    summary="correlated noise for DP-FTRL",
    main_picture="ftrl/fig-1-left",
    stands=(
        Highlight(
            sentence=(
                "Theorem 1.1: DP-FTRL is $rho$-zCDP for every correlation, exactly so, also against an adversary who "
                "adapts."
            ),
            claims=("ftrl/thm-1.1", "ftrl/thm-2.1-privacy"),
        ),
        Highlight(
            sentence=(
                "Theorem 2.1 away from $eta = 1$: $nu$-DP-FTRL with $nu = eta$ is the best noise for a private mean, "
                "with $F_oo = eta^2/(2 rho) (2/pi K(1 - eta))^2 + (eta sigma_s^2)/(2 - eta)$ against $eta/(2 - eta) "
                "(1/(2 rho) + sigma_s^2)$ for DP-SGD."
            ),
            claims=("ftrl/thm-2.1-beta", "ftrl/thm-2.1-dpsgd", "ftrl/thm-2.1-rate", "ftrl/eq-17-18"),
        ),
        Highlight(
            sentence=(
                'Theorem 2.2, all three lines: for $s = eta op("Tr")[H] < 2/3$ Noisy-SGD has between $1$ and $2\\/(2 '
                '- 3 s)$ times $eta/4 (d G^2\\/(2 rho) + sigma_s^2 op("Tr")[H])$; $nu$-Noisy-FTRL has its bound with '
                "$C_1 = 1/2$ for $s <= 1/3$; every correlation has at least $1/8$ and $1/4$ of its two terms."
            ),
            claims=("ftrl/thm-2.2-sgd", "ftrl/thm-2.2-nu", "ftrl/thm-2.2-lower"),
        ),
        Highlight(
            sentence=(
                "Section 2.3: for a fixed problem and $T -> oo$, $kappa d_e\\/T$ takes the place of $d$ in the bound "
                "when DP-SGD becomes $nu$-DP-FTRL, up to logarithms."
            ),
            claims=("ftrl/sec2.3-b-sgd", "ftrl/sec2.3-b-ftrl", "ftrl/sec2.3-dim"),
        ),
        Highlight(
            sentence=(
                "Theorem 3.1 with $2\\/eta^2$ in front, for $eta <= 1\\/L$: a convex program bounds $F_oo$ for every "
                "strongly convex, smooth loss; and Figure 3, DP-SGD above $nu$-DP-FTRL, the more the larger $kappa$."
            ),
            claims=("ftrl/thm-3.1", "ftrl/e.1-const", "ftrl/fig-3"),
        ),
        Highlight(
            sentence=(
                "The error of every correlation, (20), with constants: $F_oo$ is between 1 and $4\\/(2 - eta R^2)$ "
                'times $(eta sigma_s^2)/4 op("Tr")[H] + (eta^2 G^2 gamma_oo^2)/(16 pi rho) integral abs(B)^2 h dif '
                "omega$, for all inputs with $eta R^2 < 1$; Theorems C.14, C.15 and C.18 hold."
            ),
            claims=("ftrl/eq-20-21", "ftrl/thm-c.14", "ftrl/thm-c.15", "ftrl/thm-c.18-a", "ftrl/thm-c.18-b"),
        ),
        Highlight(
            sentence=(
                "Theorem D.13: DP-FTRL with clipping is $rho$-zCDP, clips nothing with probability $1 - p$ (constants "
                "$C = 201$, $c = 165$ for $T\\/p >= 2$), and then its error is at most $2 kappa e^(-eta mu t) "
                "(F(theta_0) - F^star) + 2 hat(F)_oo$ in expectation."
            ),
            claims=("ftrl/thm-d.13-a", "ftrl/thm-d.13-b", "ftrl/thm-d.13-c"),
        ),
    ),
    sharper=(
        Highlight(
            sentence=(
                "Linear regression: the error of every correlation exactly, in the limit and at every step, and the "
                "optimum over all correlations; for spectra $k^(-a)$, $a <= 1$, the best $nu$ is within 3 % of it."
            ),
            claims=(
                "ftrl/beyond-exact-regression",
                "ftrl/beyond-exact-trajectory",
                "ftrl/beyond-optimal-correlation",
            ),
        ),
        Highlight(
            sentence=(
                "Theorem 2.1 with sharp constants: without residuals $inf_beta F_oo$ lies between $1\\/pi^2$ and "
                "$1\\/log^2 8$ times $eta^2 log^2(8\\/eta) \\/ (2 rho)$ on all of $(0, 1]$."
            ),
            claims=("ftrl/thm-2.1-rate",),
        ),
        Highlight(
            sentence=(
                "Theorem 2.2 with constants for every law of the inputs: $nu$-Noisy-FTRL has $F_oo <= 2/(2 - eta R^2) "
                '(eta/4 sigma_s^2 + 0.12 (eta^2 G^2)/rho log^2 8/nu) op("Tr") H$, and no correlation less than '
                "$(eta^2 G^2)/(40 rho) sum_j lambda_j log^2 8/(eta lambda_j)$."
            ),
            claims=("ftrl/beyond-thm-2.2-constants", "ftrl/beyond-lower-any-correlation"),
        ),
        Highlight(
            sentence=(
                "Strongly convex losses: a sharper program for $F - F^star$ itself, valid for every $eta < 2\\/L$, "
                "each bound proved, rounding included, with the worst quadratic from below."
            ),
            claims=("ftrl/thm-3.1",),
        ),
        Highlight(
            sentence=(
                'Noise for a whole training run: $max_t norm(C e_t)^2 op("tr") (G (C^top C)^(-1)) >= (op("tr") '
                "(Q^(1\\/2) G Q^(1\\/2))^(1\\/2))^2$ for every encoder $C$, any schedule, weights and batch size; "
                "scaled buffered Toeplitz noise is within 1 % of it for mean loss, and 6 % for the final iterate at "
                "$T = 256$, wherever tried."
            ),
            claims=("ftrl/beyond-design-bound", "ftrl/beyond-design-ratios", "ftrl/beyond-design-total-loss"),
        ),
        Highlight(
            sentence=(
                "The exact $epsilon$ of a run of DP-FTRL, in place of the bounds of footnote 2 and Appendix A.2, and "
                "the least noise for $(epsilon, delta)$."
            ),
            claims=("ftrl/beyond-gaussian-mechanism", "ftrl/beyond-calibration"),
        ),
        Highlight(
            sentence=(
                "Proposition C.22 with $C = 0.116$, without $C_k$ and its second term: $F_oo <= 0.116 eta^2 G^2 "
                'rho^(-1) op("Tr")[H] log^2 (8\\/nu)$ for $F$ of (22); by search, not by proof.'
            ),
            claims=("ftrl/prop-c.22",),
        ),
        Highlight(
            sentence=(
                "Theorem D.4 with constants and one logarithm less: $norm(theta'_t)^2 <= 38 N ell^2$ for all $t < T$ "
                "with probability $1 - p$, $ell = log(6 T\\/p)$."
            ),
            claims=("ftrl/thm-d.4-theta", "ftrl/thm-d.4-grad"),
        ),
        Highlight(
            sentence="Theorem D.11 without its cross term: the errors from the start and from the noise add.",
            claims=("ftrl/thm-d.11",),
        ),
        Highlight(
            sentence="Corollaries D.14 and D.15 with every constant and logarithm explicit, for all $T >= 2$.",
            claims=("ftrl/cor-d.14", "ftrl/cor-d.15"),
        ),
    ),
    figures=(
        Figure(
            name="Figure 1",
            title="Mean estimation: error of DP-FTRL over that of DP-SGD, and the optimal noise in time and frequency.",
            panels=(
                Panel(claim="ftrl/fig-1-left", title="Ratio of errors"),
                Panel(claim="ftrl/fig-1-mid", title="Noise in time"),
                Panel(claim="ftrl/fig-1-right", title="Noise in frequency"),
            ),
        ),
        Figure(
            name="Figure 2",
            title="Linear regression: how the stationary error grows with dimension, spectrum and step size.",
            panels=(
                Panel(claim="ftrl/fig-2-left", title="Dimension"),
                Panel(claim="ftrl/fig-2-mid", title="Effective dimension"),
                Panel(claim="ftrl/fig-2-right", title="Learning rate"),
            ),
        ),
        Figure(
            name="Figure 3",
            title="Strongly convex losses: bounds on the stationary error, its worst quadratic, and simulated losses.",
            panels=(
                Panel(claim="ftrl/fig-3", title="Bounds and errors"),
                Panel(claim="ftrl/fig-3-altmin", title="Alternating minimisation"),
                Panel(claim="ftrl/sec3-grid", title="Discretisation"),
            ),
        ),
        Figure(
            name="Noise by design",
            title="How far designed noise is from a lower bound for every noise, and what users gain.",
            panels=(
                Panel(claim="ftrl/beyond-design-ratios", title="Value over lower bound"),
                Panel(claim="ftrl/beyond-design-comparison", title="Loss of independent noise over designed"),
            ),
        ),
    ),
)
