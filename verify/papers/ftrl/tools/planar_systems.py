"""Noisy-FTRL on laws of inputs in the plane: what the searches of Appendix D run over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from verify.checks import Search
from verify.checks.domains import Real
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.second_moments import Systems

Sides = tuple[np.ndarray, np.ndarray]
# Steps that the searches over time look at.
STEPS = 30
# Laws with eigenvalues (1, second), eta = fraction / R^2, four weights and the variances of a draw and of the residual.
SYSTEM = {
    **PLANAR,
    "fraction": Real(1e-3, 1.0, "log"),
    "beta": (Real(-1.5, 1.5), 4),
    "noise": Real(0.0, 1.0),
    "residual": Real(0.0, 1.0),
}


def systems(fraction: np.ndarray, beta: np.ndarray, noise: np.ndarray, residual: np.ndarray, **law: Any) -> Systems:
    """The systems, n at once."""
    laws = planar(**law)
    return Systems(laws, fraction / laws.r_squared(), beta, noise, residual)


def extremal(**others: Any) -> Iterator[Mapping[str, Any]]:
    """Signs, the moments of a Gaussian and inputs along the axes; H = I or nearly singular; three kinds of weights."""
    square = [1.0, 1.0, 1.0, -1.0, 0.0, 0.0]
    for second in (1.0, 0.01):
        for weights in ([1e-9, 1e-9, 1, 1, 1e-9], [4, 4, 1, 1, 8], [1, second, 1e-9, 1e-9, 1e-9]):
            for beta in ([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, -0.999, 0.0, 0.0]):
                law = {"second": second, "atoms": square, "weights": np.array(weights, dtype=float), "fraction": 1.0}
                yield {**law, "beta": beta, "noise": 1.0, "residual": 0.0, **others}


def trace(M: np.ndarray) -> np.ndarray:
    """Traces of matrices in the last two axes."""
    return np.einsum("...jj->...", M)


def started(law: dict[str, np.ndarray]) -> tuple[Systems, np.ndarray]:
    """The systems and theta'_0."""
    start = law.pop("start")
    return systems(**law), start


def searched(sides: Callable[..., Sides], **impostors: Any) -> Search:
    """Over `SYSTEM` and starts."""
    return Search(
        sides=sides,
        box={**SYSTEM, "start": (Real(-3.0, 3.0), 2)},
        extremal=points,
        vectorised=True,
        evaluations={"quick": 1_500, "full": 30_000},
        impostors={name.replace("_", " "): {"sides": wrong} for name, wrong in impostors.items()},
    )


def points() -> Iterator[Mapping[str, Any]]:
    """Extremal laws with noise alone, residuals alone and nothing but the start."""
    for noise, residual in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)):
        yield from extremal(noise=noise, residual=residual, start=[1.0, 1.0])


def nearest(observed: np.ndarray, claimed: np.ndarray) -> Sides:
    """Of (times, n) pairs the one with the smallest ratio, for each instance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(observed > 0, claimed / observed, np.inf)
    rows = np.arange(observed.shape[1])
    worst = np.argmin(ratio, axis=0)
    return observed[worst, rows], claimed[worst, rows]
