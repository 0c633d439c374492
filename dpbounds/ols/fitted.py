"""What one run of TAP releases, and what can be told of its error from that alone or from records that stand in.

The releases are noisy and paid for, so that everything computed from them is free. Their forecast makes up a problem
from them, with the noisy Hessian as X'X, the estimate as its fit and normal residuals as large as the counts say, and
takes the law of TAP there. It knows nothing of directions that the Hessian's noise hides.

>>> rng = np.random.default_rng(0)
>>> settings = TailAveraged(mu=1.0, steps=2)
>>> release = TailRelease(settings=settings, n=1000, products=np.zeros(15), hessian=100 * np.eye(2),
...                       gradients=np.zeros((2, 2)), counts=np.array([700.0, 700.0]))
>>> release.resolved, release.levels.round(4).tolist()
(True, [0.0078, 0.0078])
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtri

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count
from dpbounds.ols import newton
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.clipping import Law
from dpbounds.ols.counted import Counted
from dpbounds.ols.gram import Gram
from dpbounds.ols.ranges import Ranges
from dpbounds.ols.tail_averaged import TailAveraged
from dpbounds.values import Value

# Eigenvalues of the noisy Hessian from this share of the noise edge on are seen.
SEEN = 0.5
# Shares of small gradients that a residual scale is read off, and the largest scale, of outcomes within 1.
SHARES, MOST_SCALE = (0.05, 0.98), 1.0


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class TailRelease:
    """All outputs of one run on n records, rows and outcomes in units of their bounds: the noisy histogram `products`
    (15,), `hessian` (d, d), sums of clipped `gradients` (T, d) and `counts` (T,) of small ones.
    """

    settings: TailAveraged
    n: int
    products: Float[np.ndarray, " 15"] = field(repr=False)
    hessian: Float[np.ndarray, "d d"] = field(repr=False)
    gradients: Float[np.ndarray, "T d"] = field(repr=False)
    counts: Float[np.ndarray, " T"] = field(repr=False)

    def __post_init__(self) -> None:
        count("n", self.n)
        d, T = len(self.hessian), self.settings.steps
        shapes = {"products": (len(newton.EDGES),), "hessian": (d, d), "gradients": (T, d), "counts": (T,)}
        for name, shape in shapes.items():
            if np.shape(getattr(self, name)) != shape:
                raise DomainError(name, f"an array of shape {np.shape(getattr(self, name))}", f"of shape {shape}")

    @property
    def resolved(self) -> bool:
        """Whether every eigenvalue of the noisy Hessian is at least half its noise edge: no direction is hidden."""
        return bool(np.linalg.eigvalsh(self.hessian)[0] >= SEEN * self._edge)

    @property
    def levels(self) -> Float[np.ndarray, " T"]:
        """The levels c of the rounds, which follow from histogram and counts."""
        scales = tap.noise_scales(self.settings)
        c, levels = newton.gradient_clip(self.products[None], scales.products, n=self.n), []
        for small in self.counts:
            levels.append(float(c[0]))
            c = newton.next_clip(c, np.array([small]), n=self.n, noise=scales.counts)
        return np.array(levels)

    def problem(self, theta: ArrayLike) -> Gram:
        """X'X, X'Y and ||Y||² of records like those released, with the fit theta: eigenvalues of the noisy Hessian
        that its noise hides are what is just seen.

        The residual scale is that of normal residuals of which |r| <= c / ||x|| for the share counted in the second
        half of the rounds, rows being of one length.
        """
        theta = np.asarray(theta, dtype=float)
        values, U = np.linalg.eigh(self.hessian)
        A = (U * np.maximum(values, SEEN * tap.noise_scales(self.settings).hessian)) @ U.T
        half = len(self.counts) // 2
        share = float(np.clip(np.mean(self.counts[half:]) / self.n, *SHARES))
        level = float(np.exp(np.mean(np.log(self.levels[half:]))))
        length = math.sqrt(min(np.trace(A) / self.n, 1.0))
        scale = min(level / length / float(ndtri((1 + share) / 2)), MOST_SCALE)
        b = A @ theta
        return Gram(A=A, b=b, y_squared=float(theta @ b) + self.n * scale**2, n=self.n)

    @property
    def _edge(self) -> float:
        return min(float(newton.edge(tap.noise_scales(self.settings).hessian, len(self.hessian))), float(self.n))


@typed
def released_forecast(release: TailRelease, theta: ArrayLike) -> Value:
    """Expected ||X (theta - theta*)||² of TAP, a sum over records, from its own release: an estimate, too low
    unless `release.resolved`.
    """
    law = Counted.of_gram(release.problem(theta)).tail_averaged(_zero_out(release.settings))
    return Value(float(law.risk), kind="estimate", source="dpbounds", convention="from the release alone")


@typed
def stand_in_forecast(settings: TailAveraged, ranges: Ranges, X: ArrayLike, y: ArrayLike) -> Law:
    """The law of TAP, clipping counted, on as many other records of the law of those that stand in, which are public or
    made up.

    What lies beyond a range is taken to its end. Raises `DomainError` for records that cannot be used, and where X
    explains nothing of the outcome.
    """
    return Counted.of_data(ranges.data(X, y, beyond="clip"), others=True).tail_averaged(_zero_out(settings))


def _zero_out(settings: TailAveraged) -> float:
    """The mu under zero-out of the same noise."""
    cost = float(tap.replacement_cost(settings.shares)) if settings.adjacency == "replace-one" else 1.0
    return settings.mu / math.sqrt(cost)
