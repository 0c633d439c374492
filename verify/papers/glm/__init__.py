"""Paper `glm`."""

from verify.statements.topics import Figure, Highlight, Panel, Topic

TOPIC = Topic(
    name="glm",
    package="verify.papers.glm",
    title="Generalized linear models in non-interactive local differential privacy with public data",
    authors="D. Wang, L. Hu, H. Zhang, M. Gaboardi, J. Xu",
    venue="King Abdullah University of Science and Technology, Cornell, Boston and Buffalo; first in part at ALT 2021",
    version="the text with appendices A to D",
    link="https://hdl.handle.net/2144/44933",
    sources=("dpbounds.glm", "simulators.glm", "verify.papers.glm"),
    solve="verify.cli.solve.glm",
    summary="GLMs in non-interactive local DP with public data",
    main_picture="glm/exp-slope-p",
    stands=(
        Highlight(
            sentence=(
                "Lemma 5 and Theorem 21: for Gaussian $x$ least squares gives the direction, $w^* = c w_o$ with $c "
                "bb(E) mu'(c chevron.l x, w_o chevron.r) = 1$, and for monotone $mu$ no other root."
            ),
            claims=("glm/lem-5", "glm/thm-21"),
        ),
        Highlight(
            sentence=(
                "For $norm(w^*)$ and $Sigma$ of order 1 the rates of the Gaussian case stand, $n = O(p^3 epsilon^(-2) "
                "alpha^(-2))$ private and $m = O(p alpha^(-2))$ public records, and the powers of $p$, $epsilon$ and "
                "$n$ are sharp for Algorithm 1."
            ),
            claims=("glm/abs-gauss", "glm/cor-9", "glm/table-1-r8"),
        ),
        Highlight(
            sentence=(
                "Theorem 13: Algorithm 2 is private, with room to spare, and so is every algorithm for records within "
                "its bounds."
            ),
            claims=("glm/thm-13", "glm/alg-1-noise"),
        ),
        Highlight(
            sentence=(
                "Lemma 12 and Theorem 24: least squares is off by $O(G r kappa^3 sqrt(rho_2) rho_infinity "
                "norm(w^*)_infinity^2\\/sqrt(p))$ at most where $x$ is not Gaussian."
            ),
            claims=("glm/lem-12", "glm/thm-24"),
        ),
        Highlight(
            sentence=(
                "The constants of Theorems 19, 20 and 26: $f(6) > 1.4$, the slope above 0.19 on all of $[0, 6]$, both "
                "certified by ball arithmetic."
            ),
            claims=("glm/thm-19-b", "glm/thm-19-c", "glm/thm-19-d", "glm/thm-19-e", "glm/thm-20-c", "glm/thm-26"),
        ),
    ),
    sharper=(
        Highlight(
            sentence=(
                "The exact privacy of a message over all pairs of records, and the least noise for a budget: 7.15 to "
                "2.74 times less variance than printed for $epsilon$ from 0.5 to 20."
            ),
            claims=("glm/beyond-least-noise",),
        ),
        Highlight(
            sentence=(
                "Records clipped in place of refused: private for every record, at the $chi^2$ quantile as radius, 15 "
                "times less in $R^2$ than printed at $p = 10$, with the bias of clipping in closed form."
            ),
            claims=("glm/beyond-clipping",),
        ),
        Highlight(
            sentence=(
                "The error to leading order by term, with every constant, for Algorithms 1 and 3, Remark 11, the "
                "covariance of the public records alone, and without public data."
            ),
            claims=("glm/beyond-expansion", "glm/beyond-errors"),
        ),
        Highlight(
            sentence=(
                "For Gaussian $x$ the scale needs no public data: $c = h^(-1)(s)\\/s$ from $s^2 = b^top A^(-1) b$; "
                "and when a root exists."
            ),
            claims=("glm/beyond-own-scale", "glm/beyond-root"),
        ),
        Highlight(
            sentence=(
                "With the covariance of the public records alone $x x^top$ need not be released: $n = "
                "Theta(p^2\\/(alpha epsilon)^2)$ in place of $p^3$, and to leading order the least error at equal true "
                "privacy where privacy noise dominates."
            ),
            claims=("glm/beyond-orders", "glm/beyond-equal-privacy"),
        ),
        Highlight(
            sentence=(
                "The exact bias in designs of signs, $Theta(p^(-2))$ for logistic and Poisson regression and "
                "$Theta(p^(-1))$ for the cubic, where the paper has $O(p^(-1\\/2))$."
            ),
            claims=("glm/beyond-bias",),
        ),
    ),
    figures=(
        Figure(
            name="Figures 1 and 2",
            title="Gaussian records: the error over private records and budgets, and over dimensions.",
            panels=(
                Panel(claim="glm/fig-1-left", title="1 left: logistic"),
                Panel(claim="glm/fig-1-right", title="1 right: Poisson"),
                Panel(claim="glm/fig-2-left", title="2 left: logistic"),
                Panel(claim="glm/fig-2-right", title="2 right: Poisson"),
            ),
        ),
        Figure(
            name="Figures 3 and 4",
            title="Records of signs: logistic and Poisson regression.",
            panels=(
                Panel(claim="glm/fig-3-left", title="3 left: logistic"),
                Panel(claim="glm/fig-3-right", title="3 right: dimensions"),
                Panel(claim="glm/fig-4-left", title="4 left: Poisson"),
                Panel(claim="glm/fig-4-right", title="4 right: dimensions"),
            ),
        ),
        Figure(
            name="Figures 5 and 7",
            title="The cubic; the number of public records.",
            panels=(
                Panel(claim="glm/fig-5-left", title="5 left: cubic"),
                Panel(claim="glm/fig-5-right", title="5 right: dimensions"),
                Panel(claim="glm/fig-7-a", title="7(a): logistic"),
                Panel(claim="glm/fig-7-b", title="7(b): cubic"),
            ),
        ),
        Figure(
            name="Figure 6",
            title="Covertype and SUSY.",
            panels=(
                Panel(claim="glm/fig-6-left", title="left: Covertype"),
                Panel(claim="glm/fig-6-right", title="right: SUSY"),
            ),
        ),
    ),
)
