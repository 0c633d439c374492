"""Paper `iv`."""

from verify.topics import Figure, Panel, Topic

TOPIC = Topic(
    name="iv",
    package="verify.iv",
    title="Differentially private two-stage gradient descent for instrumental variable regression",
    sources=("dpbounds.iv", "simulators.iv", "verify.iv"),
    solve="verify.cli.solve.iv",
    summary="DP two-stage gradient descent for instrumental variables",
    main_picture="iv/fig-2",
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
    ),
)
