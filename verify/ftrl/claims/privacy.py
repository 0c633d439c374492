"""Theorem 1.1 and Appendix A.1: what DP-FTRL reveals, by exact output laws and by an adversary who adapts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.privacy import gaussian_epsilon
from simulators.engine import Experiment
from simulators.ftrl import Settings
from simulators.ftrl.privacy_game import PrivacyGame, privacy_game
from verify.checks import Agreement, Audit, Fact, GaussianPrivacy, Neighbours
from verify.claims import Claim, Correction

# --- Theorem 1.1: exact laws ---

HORIZON = 8
Adjacency = Literal["zero-out", "replace-one"]


@cache
def _mechanisms() -> tuple[correlations.Correlation, ...]:
    """Every mechanism of the paper at T = 8, and matrices without structure."""
    rng = np.random.default_rng(0)
    return (
        correlations.independent(),
        correlations.nu(0.1),
        correlations.optimal_counting(),
        correlations.anti_pgd(),
        correlations.damped_anti_pgd(0.2),
        correlations.from_coefficients([2.0, -1.0, 0.3]),
        correlations.from_matrix(np.tril(rng.normal(size=(HORIZON, HORIZON)), -1) + np.diag(1 + rng.random(HORIZON))),
        correlations.tree_aggregation(HORIZON),
        correlations.tree_aggregation(HORIZON, decoder="honaker"),
        correlations.full_honaker(HORIZON),
        correlations.fft_mechanism(HORIZON),
        correlations.optimal_prefix_sum(HORIZON),
        correlations.banded(HORIZON, 3),
        correlations.restarted(correlations.optimal_counting(), HORIZON, 2),
    )


def _pairs(
    *, adjacency: Adjacency = "zero-out", variance: float = 1.0, without_sensitivity: bool = False
) -> Iterator[Neighbours]:
    """The laws of theta_1 ... theta_T, read off the simulator: a run is an affine function of its draws."""
    for correlation in _mechanisms():
        gamma = 1.0 if without_sensitivity else correlation.sensitivity(HORIZON)
        settings = Settings(
            correlation=correlation,
            eta=0.3,
            rho=0.7,
            steps=HORIZON,
            clip_norm=2.0,
            sensitivity=float(np.sqrt(variance) * gamma),
        )
        for position in range(HORIZON):
            game = PrivacyGame(stream=0, position=position, length=5.0, adversary="constant", adjacency=adjacency)
            mean, factor = _law(game, settings)
            other, _ = _law(replace(game, stream=1), settings)
            label = f"{correlation.name}, position {position}"
            yield Neighbours(label=label, shift=other - mean, covariance=factor @ factor.T, claimed_rho=0.7)


def _law(game: PrivacyGame, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Mean and factor of the released iterates, by regression on the draws of more runs than there are draws."""
    draws = settings.correlation.matrix(settings.steps).shape[1]
    experiment = Experiment(algorithm=privacy_game, problem=game, settings=settings, block_trials=2 * draws + 2)
    theta = experiment.run_block(0, seed=0)["theta"][:, :, 0]
    w = experiment.streams(0, seed=0).noise.standard_normal((draws, experiment.block_trials))
    design = np.vstack([np.ones(experiment.block_trials), w]).T
    coefficients = np.linalg.lstsq(design, theta, rcond=None)[0]
    return coefficients[0], coefficients[1:].T


def _largest_change(rng: np.random.Generator, power: int) -> Iterator[Fact]:
    """max ||C (G - G')||_F over one gradient of norm 1 set to 0, by trying, against max_t ||C_{:,t}||^power."""
    cases = {"B = 2, T = 1": np.array([[2.0]]), "anti-PGD, T = 3": np.eye(3) - np.eye(3, k=-1)}
    for label, B in cases.items():
        C = np.linalg.inv(B)
        changes = []
        for t in range(len(B)):
            gradients = rng.normal(size=(len(B), 2))
            gradients[t] /= np.linalg.norm(gradients[t])
            zeroed = gradients.copy()
            zeroed[t] = 0.0
            changes.append(np.linalg.norm(C @ gradients - C @ zeroed))
        yield Fact(f"sensitivity of C G for {label}", max(changes), np.linalg.norm(C, axis=0).max() ** power, 1e-12)


# --- Theorem 1.1: an adversary who adapts ---

AUDIT_RHO, AUDIT_DELTA = 0.5, 0.05
AUDIT_EPSILON = float(gaussian_epsilon(np.sqrt(2 * AUDIT_RHO), AUDIT_DELTA))
# The event where the density ratio exceeds e^epsilon: Neyman-Pearson, fixed before any run.
AUDIT_THRESHOLD = AUDIT_EPSILON / np.sqrt(2 * AUDIT_RHO) + np.sqrt(AUDIT_RHO / 2)


def _games(
    correlation: correlations.Correlation, position: int, *, adjacency: Adjacency = "zero-out", **changes: Any
) -> tuple[Experiment, Experiment]:
    """Runs on both streams against gradients along the iterate just released, three clip norms long."""
    settings = Settings(**{"correlation": correlation, "eta": 0.4, "rho": AUDIT_RHO, "steps": 12, **changes})
    game = PrivacyGame(stream=0, position=position, dimension=2, length=3.0, adjacency=adjacency)
    first = Experiment(algorithm=privacy_game, problem=game, settings=settings, block_trials=10_000)
    return first, replace(first, problem=replace(game, stream=1))


def _audit(correlation: correlations.Correlation, position: int) -> Audit:
    """Against the exact epsilon of a Gaussian mechanism with mu = sqrt(2 rho)."""
    return Audit(
        experiments=_games(correlation, position),
        output="statistic",
        threshold=AUDIT_THRESHOLD,
        claimed_epsilon=AUDIT_EPSILON,
        delta=AUDIT_DELTA,
        impostors={
            "replace-one adjacency": {"experiments": _games(correlation, position, adjacency="replace-one")},
            "no clipping": {"experiments": _games(correlation, position, clipping=False)},
            "half the sensitivity": {
                "experiments": _games(correlation, position, sensitivity=correlation.sensitivity(12) / 2)
            },
        },
    )


CLAIMS = (
    Claim(
        id="ftrl/thm-1.1",
        where="Theorem 1.1",
        kind="privacy",
        statement=(
            "DP-FTRL with clipping and $sigma_(d p)^2 = gamma_T (B)^2 \\/ (2 rho)$ is $rho$-zCDP, also against an "
            "adversary who writes each gradient after seeing the iterates."
        ),
        hypotheses="Zero-out adjacency, $C = B^(-1)$, or the encoder with $B C = I$ where $B$ is not square.",
        checks=(
            GaussianPrivacy(
                pairs=_pairs,
                impostors={
                    "5 % less noise variance": {"pairs": lambda: _pairs(variance=0.95)},
                    "noise for gamma = 1": {"pairs": lambda: _pairs(without_sensitivity=True)},
                    "replace-one adjacency": {"pairs": lambda: _pairs(adjacency="replace-one")},
                },
            ),
            _audit(correlations.optimal_counting(), 1),
            _audit(correlations.optimal_prefix_sum(12), 5),
        ),
    ),
    Claim(
        id="ftrl/a.1-sensitivity",
        where="App. A.1",
        kind="privacy",
        statement=(
            "DP-FTRL post-processes one Gaussian mechanism $C G + W$ of maximum sensitivity $max_t norm(C_(:, t))_2^2$."
        ),
        hypotheses="Zero-out adjacency; for $G = 1$.",
        checks=(Agreement(facts=lambda rng: _largest_change(rng, 2)),),
        correction=Correction(
            statement="the sensitivity is $max_t norm(C_(:, t))_2 = gamma_T$, without the square.",
            checks=(
                Agreement(
                    facts=lambda rng: _largest_change(rng, 1),
                    impostors={"squared": {"facts": lambda rng: _largest_change(rng, 2)}},
                ),
            ),
        ),
    ),
)
