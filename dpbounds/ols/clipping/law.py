"""What a law with clipping says of a method on given records.

>>> law = Law.of(2.0, 0.5, 8.0, [0.0, 0.25])
>>> law.relative, law.bias, law.share_clipped, law.risk.kind
(0.25, 0.0625, 0.25, 'estimate')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError
from dpbounds.ols.spectrum import Spectrum
from dpbounds.values import Kind, Value

# A share of clipped rows below this, over all of them, is none: the chance that any row is.
NONE_CLIPPED = 1e-9
# In units of the risk of theta = 0: beyond, iterates run away.
MOST_RELATIVE = 1e6
# Quantiles that are told: the median, and ends between which eight in ten runs are.
LEVELS = (0.1, 0.5, 0.9)
# Of a mixture of normals, and of each of them at least: its median is then within a percent.
POINTS, FEWEST_POINTS = 4000, 500


@dataclass(frozen=True, kw_only=True)
class Law:
    """`risk`: E ||X (theta - theta*)||², a sum over records, its kind `exact` where nothing is clipped, else
    `estimate`; `relative`: over the risk of theta = 0; `bias`: the part of `relative` that the mean of the estimate
    leaves; `shares`: of the rows clipped in each step, the last of them `share_clipped`. `draws`: relative risks given
    each draw of what the method releases beside gradients, their mean `relative`; empty where there is none.
    `quantiles`: relative risks that `LEVELS` (.1, .5, .9) of the runs stay below, as the estimate is taken to be normal
    given the draw.
    """

    risk: Value
    relative: float
    bias: float
    shares: tuple[float, ...]
    draws: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()

    @property
    def share_clipped(self) -> float:
        """Of the rows, in the last step."""
        return self.shares[-1]

    @property
    def median(self) -> float | None:
        """The relative risk that half of the runs stay below, where it is known."""
        return self.quantiles[1] if self.quantiles else None

    @classmethod
    def of(
        cls,
        risk: float,
        bias: float,
        gap: float,
        shares: Sequence[float],
        *,
        n: int = 1,
        draws: Sequence[float] = (),
        kind: Kind | None = None,
        quantiles: Sequence[float] = (),
    ) -> Law:
        """From risk, its part by bias, its quantiles, and the risk of theta = 0, all sums over n records; `kind` if the
        shares do not decide it.

        Raises `AccuracyError` where the iterates run away: a risk that is not finite, or a million times that of 0.
        """
        if not (math.isfinite(risk) and risk <= MOST_RELATIVE * gap):
            raise AccuracyError(
                f"the iterates run away: their risk is {risk / gap:.3g} of that of theta = 0; take a smaller rate or "
                "fewer steps"
            )
        decided: Kind = "exact" if n * max(shares, default=0.0) <= NONE_CLIPPED else "estimate"
        value = Value(
            float(risk), kind=kind or decided, source="dpbounds", convention="sum over records, clipping counted"
        )
        return cls(
            risk=value,
            relative=float(risk) / gap,
            bias=float(bias) / gap,
            shares=tuple(float(share) for share in shares),
            draws=tuple(float(draw) for draw in draws),
            quantiles=tuple(float(value) / gap for value in quantiles),
        )


def quadratic(problem: Spectrum, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """||mean - theta*||_A² and tr(A covariance), each of shape (...), in the eigenbasis, where a large part of theta*
    along an eigenvector that hardly counts costs no digits.
    """
    off = mean @ problem.basis - problem.theta
    turned = np.einsum("ji,...jk,ki->...i", problem.basis, covariance, problem.basis, optimize=True)
    return np.sum(problem.eigenvalues * off**2, axis=-1), np.sum(problem.eigenvalues * turned, axis=-1)


@typed
def risk_quantiles(
    problem: Spectrum, mean: np.ndarray, covariance: np.ndarray, weights: np.ndarray | None = None
) -> list[float]:
    """Quantiles (.1, .5, .9) of ||theta - theta*||_A², theta a mixture of normals with means (..., d) and covariances
    (..., d, d): of points of each, every coordinate of which is at the quantiles of its law (a Latin hypercube). nan of
    what left floating point.
    """
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        return [math.nan] * len(LEVELS)
    d, root = len(problem.theta), np.sqrt(problem.eigenvalues)
    off = (root * (mean @ problem.basis - problem.theta)).reshape(-1, d)
    turned = problem.basis.T @ covariance @ problem.basis
    values, U = np.linalg.eigh((root[:, None] * turned * root).reshape(-1, d, d))
    deviations, off = np.sqrt(np.maximum(values, 0.0)), np.einsum("td,tde->te", off, U)
    number = max(FEWEST_POINTS, POINTS // len(off))
    points = np.tile(ndtri((np.arange(number) + 0.5) / number), (d, 1))
    points = np.random.default_rng(0).permuted(points, axis=1)
    risks = np.sum((off[:, :, None] + deviations[:, :, None] * points) ** 2, axis=1)
    each = np.repeat(np.ones(len(off)) if weights is None else weights, number)
    order = np.argsort(risks, axis=None)
    below = np.cumsum(each[order])
    return risks.ravel()[order[np.searchsorted(below, below[-1] * np.array(LEVELS))]].tolist()
