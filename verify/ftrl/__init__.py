"""Paper `ftrl`."""

from verify.topics import Figure, Panel, Topic

TOPIC = Topic(
    name="ftrl",
    package="verify.ftrl",
    title="Correlated noise provably beats independent noise for differentially private learning",
    authors=(
        "Christopher A. Choquette-Choo, Krishnamurthy (Dj) Dvijotham, Krishna Pillutla, Arun Ganesh, Thomas Steinke, "
        "Abhradeep Guha Thakurta"
    ),
    venue="ICLR 2024",
    version="ICLR 2024 version with appendices",
    link="https://arxiv.org/abs/2310.06771",
    sources=("dpbounds.ftrl", "simulators.ftrl", "simulators.noise", "verify.ftrl"),
    solve="verify.cli.solve.ftrl",
    check="verify.cli.solve.ftrl.check",
    summary="correlated noise for DP-FTRL",
    main_picture="ftrl/fig-1-left",
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
    ),
)
