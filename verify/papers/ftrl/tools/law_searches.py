"""Searches over many input laws and weights that try to break the bounds of Appendix C.2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from verify.checks import Search, Times
from verify.checks.domains import Real, Whole
from verify.papers.ftrl.tools.input_laws import PLANAR, Laws, planar, product
from verify.papers.ftrl.tools.second_moments import Systems

Sides = tuple[np.ndarray, np.ndarray]
Statement = Callable[..., Sides]

SETTING = {
    "fraction": Real(1e-4, 1 - 1e-6, "logit"),
    "share": Real(0.0, 1.0),
    "later": (Real(-2.0, 2.0), 3),
}
PLANAR_BOX = {**SETTING, **PLANAR, "second": Real(1e-2, 1.0, "log")}
PRODUCT_BOX = {**SETTING, "kurtosis": Real(1.0, 1000.0, "log"), "smaller": (Real(1e-2, 1.0, "log"), 2)}


def attacks(statement: Statement, wrong: float, *, levels: Whole | None = None) -> tuple[Search, ...]:
    """Controls: the statement on planar discrete laws and on product laws; the impostor divides its right side by
    `wrong`.
    """
    level = {} if levels is None else {"level": levels}
    return tuple(
        Search(
            sides=_sides(statement, build),
            box={**box, **level},
            extremal=_extremal(points, levels),
            vectorised=True,
            evaluations={"quick": 5_000, "full": 60_000},
            impostors={f"constant 1/{wrong:g}": {"sides": Times(1, 1 / wrong)}},
            role="control",
        )
        for build, box, points in (
            (_planar_systems, PLANAR_BOX, _planar_points),
            (_product_systems, PRODUCT_BOX, _product_points),
        )
    )


def _planar_systems(fraction, share, later, second, weights, atoms) -> Systems:
    """Discrete laws in the plane, eta = fraction / R^2."""
    return _systems(planar(second, atoms, weights), fraction, share, later)


def _product_systems(fraction, share, later, kurtosis, smaller) -> Systems:
    """Independent symmetric entries in three dimensions."""
    eigenvalues = np.concatenate([np.ones((len(fraction), 1)), smaller], axis=1)
    return _systems(product(eigenvalues, kurtosis), fraction, share, later)


def _systems(laws: Laws, fraction: np.ndarray, share: np.ndarray, later: np.ndarray) -> Systems:
    """Both sides of every bound are linear in the two variances, so they are share and 1 - share; beta_0 = 1."""
    beta = np.concatenate([np.ones((len(fraction), 1)), later], axis=1)
    return Systems(laws, fraction / laws.r_squared(), beta, share, 1.0 - share)


def _sides(statement: Statement, build: Callable[..., Systems]) -> Callable[..., Sides]:
    def sides(**parameters: np.ndarray) -> Sides:
        level = {name: parameters.pop(name).astype(int) for name in ("level",) if name in parameters}
        return statement(build(**parameters), **level)

    return sides


def _extremal(points: Callable[[], Iterator[Mapping[str, Any]]], levels: Whole | None) -> Callable[[], Iterator]:
    level = {} if levels is None else {"level": levels.low}
    return lambda: ({**point, **level} for point in points())


def _settings() -> Iterator[dict[str, Any]]:
    """Both ends of the step size, residual or noise alone, white, strongly anti-correlated or correlated noise."""
    for fraction in (1e-4, 0.5, 1 - 1e-6):
        for share, later in ((0.0, [0.0] * 3), (1.0, [0.0] * 3), (1.0, [-0.999, 0.0, 0.0]), (1.0, [1.0] * 3)):
            yield {"fraction": fraction, "share": share, "later": later}


def _planar_points() -> Iterator[dict[str, Any]]:
    """Signs, the moments of a Gaussian (entries 0 and +-sqrt 3, scaled), and inputs along the axes."""
    square = [1.0, 1.0, 1.0, -1.0, 0.0, 0.0]
    for setting in _settings():
        for second in (1.0, 0.01):
            for weights in ([0, 0, 1, 1, 0], [4, 4, 1, 1, 8], [1, second, 0, 0, 0]):
                yield {**setting, "second": second, "weights": np.array(weights, dtype=float), "atoms": square}


def _product_points() -> Iterator[dict[str, Any]]:
    for setting in _settings():
        for kurtosis in (1.0, 3.0, 1000.0):
            yield {**setting, "kurtosis": kurtosis, "smaller": [0.01, 0.01]}
