"""A data set of least squares in units of its bounds, from arrays or data frames.

>>> data = bounded_data([[3.0, 0.0], [0.0, 4.0], [3.0, 4.0]], [2.0, 1.0, 1.0])
>>> data.row_bound, data.outcome_bound, round(data.gram.y_squared, 6)
(5.0, 2.0, 1.5)
>>> [round(float(entry), 6) for entry in data.theta_star]
[1.111111, 0.208333]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from dpbounds.errors import LARGEST, DomainError, choice, positive, real_array
from dpbounds.ols.clips import NewtonClips, measured_clips
from dpbounds.ols.designs import MOST_REGRESSORS
from dpbounds.ols.gram import Gram

Beyond = Literal["refuse", "clip"]
# Rounding that a record at its bound may have.
SLACK = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class ScaledData:
    """X (n, d) and Y (n,) divided by their bounds C_X = `row_bound`, C_Y = `outcome_bound`, within 1.

    `longest_row`, `largest_outcome`: what the data reach, before any clipping.
    """

    regressors: Float[np.ndarray, "n d"] = field(repr=False)
    outcome: Float[np.ndarray, " n"] = field(repr=False)
    row_bound: float
    outcome_bound: float
    longest_row: float
    largest_outcome: float

    @cached_property
    def gram(self) -> Gram:
        """X'X, X'Y, ||Y||² and n, in units of the bounds."""
        return Gram.of_records(self.regressors, self.outcome)

    @cached_property
    def theta_star(self) -> Float[np.ndarray, " d"]:
        """A least squares estimate in units of C_Y / C_X, by columns of unit length, whose scale costs no digits."""
        lengths = np.linalg.norm(self.regressors, axis=0)
        scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
        return scale * np.linalg.lstsq(self.regressors * scale, self.outcome, rcond=None)[0]

    @property
    def typical_row(self) -> float:
        """The median length of a row over its bound."""
        return float(np.median(np.linalg.norm(self.regressors, axis=1)))

    @property
    def shortened(self) -> tuple[str, ...]:
        """The bounds that some records exceeded."""
        reached = {"row_bound": self.longest_row, "outcome_bound": self.largest_outcome}
        return tuple(name for name, largest in reached.items() if largest > getattr(self, name) * (1 + SLACK))

    def newton_clips(self, mu: float, n: int | None = None) -> NewtonClips:
        """What PRN clips at on these records, or on n others like them."""
        return measured_clips(self.regressors, self.outcome, self.theta_star, mu, n)


def bounded_data(
    regressors: ArrayLike,
    outcome: ArrayLike,
    *,
    row_bound: float | None = None,
    outcome_bound: float | None = None,
    beyond: Beyond = "refuse",
) -> ScaledData:
    """X (n, d) and Y (n,), arrays or data frames, divided by public bounds on ||x|| and |y|; a bound that is None is
    the data's own largest, which is not private.

    `beyond`: records beyond a bound are refused, or shortened to it (`clip`). Raises `DomainError` for arrays of other
    shapes or with entries that are not finite, bounds that are not above 0, and records that are refused.
    """
    X, Y = real_array("regressors", regressors), real_array("outcome", outcome)
    _check_shapes(X, Y)
    reached = {"row_bound": float(np.linalg.norm(X, axis=1).max()), "outcome_bound": float(np.abs(Y).max())}
    bounds = {"row_bound": row_bound, "outcome_bound": outcome_bound}
    for name, largest in reached.items():
        own = bounds[name] is None
        bounds[name] = positive(name, largest if own else bounds[name], "the column holds nothing but 0" if own else "")
    C_X, C_Y = float(bounds["row_bound"] or 0.0), float(bounds["outcome_bound"] or 0.0)
    if choice("beyond", beyond, get_args(Beyond)) == "refuse":
        for (name, largest), bound in zip(reached.items(), (C_X, C_Y), strict=True):
            if largest > bound * (1 + SLACK):
                remedy = "beyond = clip shortens the records that exceed it"
                raise DomainError(name, bound, f"at least {largest:.6g}, what the data reach", remedy)
    X, Y = shortened(X, Y, C_X, C_Y)
    X, Y = shortened(X / C_X, Y / C_Y, 1.0, 1.0)  # again, as the quotient of a shortened row may round up
    return ScaledData(
        regressors=X,
        outcome=Y,
        row_bound=C_X,
        outcome_bound=C_Y,
        longest_row=reached["row_bound"],
        largest_outcome=reached["outcome_bound"],
    )


def shortened(
    regressors: Float[np.ndarray, "n d"], outcome: Float[np.ndarray, " n"], row_bound: float, outcome_bound: float
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Rows scaled down to the length `row_bound`, outcomes clipped to `outcome_bound`, where they exceed it."""
    lengths = np.linalg.norm(regressors, axis=1)
    X = regressors * (row_bound / np.maximum(lengths, row_bound))[:, None]
    return X, np.clip(outcome, -outcome_bound, outcome_bound)


def _check_shapes(X: np.ndarray, Y: np.ndarray) -> None:
    if X.ndim != 2 or Y.ndim != 1 or len(X) != len(Y) or not X.size:
        raise DomainError("regressors, outcome", f"arrays of shapes {X.shape}, {Y.shape}", "of shapes (n, d), (n,)")
    if X.shape[1] > MOST_REGRESSORS:
        raise DomainError("d", X.shape[1], f"at most {MOST_REGRESSORS}")
    for name, array in (("regressors", X), ("outcome", Y)):
        if not (np.abs(array) <= LARGEST).all():
            raise DomainError(name, "an array with larger entries, inf or nan", f"finite, at most {LARGEST:g} in size")
