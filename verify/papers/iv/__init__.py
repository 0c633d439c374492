"""Paper `iv`."""

from verify.statements.topics import Figure, Highlight, Panel, Topic

TOPIC = Topic(
    name="iv",
    package="verify.papers.iv",
    title="Differentially private two-stage gradient descent for instrumental variable regression",
    authors="Anonymous authors",
    venue="Paper under double-blind review",
    version="the text with line numbers, appendices A to G",
    link="https://arxiv.org/abs/2509.22794",
    sources=("dpbounds.iv", "simulators.iv", "verify.papers.iv"),
    solve="verify.cli.solve.iv",
    summary="DP two-stage gradient descent for instrumental variables",
    main_picture="iv/fig-2",
    stands=(
        Highlight(
            sentence=(
                "Proposition 3.1 holds with room to spare: the release of all iterates is $(rho_1 + rho_2)$-zCDP, and "
                "costs exactly $rho_1\\/2 + (1 - 1\\/T) rho_2\\/2$."
            ),
            claims=("iv/prop-3.1a", "iv/prop-3.1-sens", "iv/prop-3.1-step"),
        ),
        Highlight(
            sentence=(
                "Theorem 3.1 bounds the error once (5) asks for $min{rho_1, rho_2}$: its optimisation term decays "
                "exponentially, and its privacy term is $sqrt(p) (sqrt(q) + sqrt(tau))^3 sqrt(T) \\/ (n "
                "sqrt(min{rho_1, rho_2}))$ from above, with the powers of $n$, $T$ and the budgets exact up to the "
                "logarithm that the paper drops."
            ),
            claims=(
                "iv/thm-3.1",
                "iv/thm-3.1-term1",
                "iv/thm-3.1-term2-n",
                "iv/thm-3.1-term2-t",
                "iv/thm-3.1-term2-rho",
                "iv/thm-3.1-term2-pq",
            ),
        ),
        Highlight(
            sentence="The conditions (3) to (6) do what the proof needs of them, with explicit constants.",
            claims=("iv/eq-3", "iv/eq-4", "iv/eq-5", "iv/eq-6", "iv/eq-10"),
        ),
        Highlight(
            sentence=(
                "The recursions and chain bounds of the proof, (11) to (17) and (26) to (28), hold with explicit "
                "constants; Algorithm 1 is consistent for $T$ of order $log n$."
            ),
            claims=(
                "iv/eq-11",
                "iv/eq-12",
                "iv/eq-14",
                "iv/eq-15",
                "iv/eq-16",
                "iv/eq-17",
                "iv/eq-26-27",
                "iv/eq-28",
                "iv/abstract-consistency",
            ),
        ),
        Highlight(
            sentence=(
                "Condition (5) is necessary, as Remark 3.6 says: at twice its end the error exceeds (7) by a factor "
                "that grows with $q$."
            ),
            claims=("iv/rem-3.6",),
        ),
        Highlight(
            sentence=(
                "The noise of the first stage, the residual of 2SLS and the Lipschitz map of App. F.2 are as Lemmas "
                "D.4 and D.8 and (53) have them."
            ),
            claims=("iv/lem-d.4a", "iv/lem-d.4b", "iv/lem-d.4c", "iv/lem-d.8", "iv/eq-53", "iv/fc-lip"),
        ),
    ),
    sharper=(
        Highlight(
            sentence=(
                "The exact price of releasing $beta$ alone without first-stage noise, $2 (T - 1) gamma_2^2 \\/ "
                "lambda_2^2$, and bounds on both sides with it."
            ),
            claims=("iv/lem-f.1",),
        ),
        Highlight(
            sentence=(
                "What the noise of the first stage costs: the error grows by $sqrt(1 + rho_2 W_1 \\/ (rho_1 W_2))$, "
                "$W_i \\/ rho_i$ the noise that each stage leaves."
            ),
            claims=("iv/f1-compare",),
        ),
        Highlight(
            sentence=(
                "2S-GD without noise converges to 2SLS itself, as $kappa^T$ with $kappa$ the larger spectral radius, "
                "at every $n$: nothing is lost against 2SLS."
            ),
            claims=("iv/thm-3.1-term3", "iv/cor-3.1", "iv/rem-3.8"),
        ),
        Highlight(
            sentence=(
                "The exact cost of all iterates for records that are replaced, zeroed or taken away, and the noise "
                "that spends it: $sqrt(2)$ times less than (4) for the same guarantee."
            ),
            claims=("iv/beyond-joint-cost",),
        ),
        Highlight(
            sentence=(
                "A way to release $beta$ alone without noise in the first stage: with bounded records and projected "
                "iterates one record moves $Theta^((t))$ by at most $2 eta gamma_1 t \\/ n$."
            ),
            claims=("iv/beyond-projected",),
        ),
        Highlight(
            sentence=(
                "The laws of $Theta^((t))$, and of $beta^((t))$ given its path, exact moments at any noise for $p = q "
                "= 1$ and for white instruments, and the best $T$ in closed form, of order $log n$."
            ),
            claims=("iv/beyond-laws", "iv/beyond-moments", "iv/beyond-optimal-steps"),
        ),
        Highlight(
            sentence=(
                "The error to expect without unknown constants, for any $p$, $q$, data and $T$: to leading order in "
                "the noise that of a Gaussian vector, with its stationary form; at any noise by a mixture over the "
                "paths of $Theta^((t))$, and without paths for $p = q = 1$."
            ),
            claims=("iv/beyond-expansion", "iv/beyond-stationary", "iv/beyond-prediction", "iv/beyond-any-noise"),
        ),
        Highlight(
            sentence=(
                "The best split of the budget: $rho_1 : rho_2 = sqrt(W_1) : sqrt(W_2)$ where the noise leaves "
                "$W_1\\/rho_1 + W_2\\/rho_2$."
            ),
            claims=("iv/beyond-best-split",),
        ),
        Highlight(
            sentence=(
                "A private confidence set that holds: one Gaussian release of first and second moments and the "
                "Anderson-Rubin test that knows its privacy variance cover with weak instruments, heteroskedastic and "
                "heavy-tailed errors; its length is $sqrt(1 + n^*\\/n)$ times that without privacy, $n^*$ explicit."
            ),
            claims=("iv/beyond-confidence-coverage", "iv/beyond-confidence-lengths", "iv/beyond-confidence-set"),
        ),
        Highlight(
            sentence=(
                "At equal true privacy noisy moments recentred once are nearer to 2SLS than DP-2S-GD in eight of eight "
                "of the paper's synthetic settings, both tuned; with many instruments, few regressors and small "
                "budgets DP-2S-GD is nearer."
            ),
            claims=("iv/beyond-confidence-one-shot", "iv/beyond-confidence-one-shot-losses"),
        ),
    ),
    figures=(
        Figure(
            name="Figures 2 and 3",
            title="The bound (7) and the errors it speaks of; Algorithm 1 against the number of records.",
            panels=(
                Panel(claim="iv/fig-2", title="2: bound and errors"),
                Panel(claim="iv/fig-3a", title="3(a): p = q = 5"),
                Panel(claim="iv/fig-3b", title="3(b): p = q = 50"),
            ),
        ),
        Figure(
            name="Figures 4 and 6",
            title="Algorithms 1 and 3 against the number of iterations.",
            panels=(
                Panel(claim="iv/fig-4a", title="4(a): first budget varied"),
                Panel(claim="iv/fig-4b", title="4(b): second budget varied"),
                Panel(claim="iv/fig-6", title="6: both algorithms"),
            ),
        ),
        Figure(
            name="Figures 5 and 10",
            title="Children and work (Angrist and Evans): estimates, and paths with their quartiles.",
            panels=(
                Panel(claim="iv/fig-5", title="5: budgets (1, 1)"),
                Panel(claim="iv/fig-10", title="10: budgets (0.1, 0.1)"),
            ),
        ),
        Figure(
            name="Figures 11 and 12",
            title="Children and work at the largest budget; schooling and wages (Card) at three.",
            panels=(
                Panel(claim="iv/fig-11", title="11: budgets (10, 10)"),
                Panel(claim="iv/fig-12", title="12: three budgets"),
            ),
        ),
        Figure(
            name="Figures 7 to 9",
            title="Step sizes, clip norms, and two-stage gradient descent beside 2SLS without noise.",
            panels=(
                Panel(claim="iv/fig-7", title="7: step sizes"),
                Panel(claim="iv/fig-8", title="8: clip norms"),
                Panel(claim="iv/fig-9", title="9: p = q = 20"),
            ),
        ),
        Figure(
            name="Private confidence sets",
            title="How often sets cover, how long they are, and one release recentred once beside Algorithm 1.",
            panels=(
                Panel(claim="iv/beyond-confidence-coverage", title="coverage over cells"),
                Panel(claim="iv/beyond-confidence-lengths", title="private over public length"),
                Panel(claim="iv/beyond-confidence-one-shot", title="distance to 2SLS"),
            ),
        ),
    ),
)
