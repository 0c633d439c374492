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

from dpbounds.errors import AccuracyError
from dpbounds.ols.spectrum import Spectrum
from dpbounds.values import Kind, Value

# A share of clipped rows below this, over all of them, is none: the chance that any row is.
NONE_CLIPPED = 1e-9
# In units of the risk of theta = 0: beyond, iterates run away.
MOST_RELATIVE = 1e6


@dataclass(frozen=True, kw_only=True)
class Law:
    """`risk`: E ||X (theta - theta*)||², a sum over records, its kind `exact` where nothing is clipped, else
    `estimate`; `relative`: over the risk of theta = 0; `bias`: the part of `relative` that the mean of the estimate
    leaves; `shares`: of the rows clipped in each step, the last of them `share_clipped`. `draws`: relative risks given
    each draw of what the method releases beside gradients, their mean `relative`; empty where there is none.
    """

    risk: Value
    relative: float
    bias: float
    shares: tuple[float, ...]
    draws: tuple[float, ...] = ()

    @property
    def share_clipped(self) -> float:
        """Of the rows, in the last step."""
        return self.shares[-1]

    @property
    def median(self) -> float:
        """Of `draws`: the relative risk of the middle draw, below the mean where some draws are bad."""
        return float(np.median(self.draws)) if self.draws else self.relative

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
    ) -> Law:
        """From risk, its part by bias, and the risk of theta = 0, all sums over n records; `kind` if the shares do not
        decide it.

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
        )


def quadratic(problem: Spectrum, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """||mean - theta*||_A² and tr(A covariance), each of shape (...), in the eigenbasis, where a large part of theta*
    along an eigenvector that hardly counts costs no digits.
    """
    off = mean @ problem.basis - problem.theta
    turned = np.einsum("ji,...jk,ki->...i", problem.basis, covariance, problem.basis, optimize=True)
    return np.sum(problem.eigenvalues * off**2, axis=-1), np.sum(problem.eigenvalues * turned, axis=-1)
