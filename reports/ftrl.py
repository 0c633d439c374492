"""The paper on correlated noise: its title and its figures."""

from __future__ import annotations

from reports.papers import Figure, Panel, Paper

PAPER = Paper(
    title="Correlated noise provably beats independent noise for differentially private learning",
    citation="ICLR 2024",
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
