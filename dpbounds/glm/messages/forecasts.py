"""Mean and median of the squared error for finite n: the leading order, and what the bend of the equation adds.

Where A whitens x, and the public records are counted as noise of the mean message, the estimate is w_hat = L(||Z||) Z /
||Z||: Z the mean message, L the inverse of t -> g_1(t), since E[h M(<x, w>)] = g_1(||w||) w / ||w||. So the law of
||w_hat - w*||^2 is that of two numbers, Z along w* and its length across, integrated here. Other A: the same excess
at the same relative error. The squared error has no mean (L is infinite where no root exists, with a chance that is
told): runs with L beyond the table are left out of it.

>>> found = forecast("logistic", np.array([0.6, 0.8]), np.eye(2), n=20_000, m=20_000, epsilon=2.0, delta=1e-6)
>>> f"{found.leading:.4f} {found.mean:.4f} {found.median:.4f}"
'0.0381 0.0395 0.0259'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import interpolate, special

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, vector
from dpbounds.glm.links import Link
from dpbounds.glm.messages.errors import MessageError, MessageLaw, error_of, message_law
from dpbounds.glm.messages.labels import scored
from dpbounds.glm.messages.moments import LARGEST_NORM, moments
from dpbounds.glm.messages.noises import Noise

# Lengths at which g_1 is tabulated, and points of each of the two quadratures.
LENGTHS = np.concatenate([[0.0], np.geomspace(0.02, LARGEST_NORM, 24)])
POINTS = 400


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageForecast:
    """What is to be expected of ||w_hat - w*||^2.

    - `terms`: to leading order by source; `leading`: their sum;
    - `mean` (over runs with a root that is not far out), `median`;
    - `excess` = mean / leading - 1; `no_root`: the chance that no root exists, or one that is far out.
    """

    terms: MessageError
    leading: float
    mean: float
    median: float
    excess: float
    no_root: float


@typed
def forecast(
    link: Link | str,
    w: Float[np.ndarray, " p"],
    covariance: Float[np.ndarray, "p p"],
    *,
    n: int,
    m: float,
    epsilon: float,
    delta: float | None = None,
    noise: Noise = "gaussian",
    radius: float = 0.0,
    label_bound: float | None = None,
    matrix: Any = None,
    law: MessageLaw | None = None,
) -> MessageForecast:
    """Mean and median, arguments as in `error`; `law`: `message_law` of the same, where it is known.

    Raises `DomainError` where |Sigma^{1/2} w| is above 10.
    """
    settings: dict[str, Any] = {"n": n, "m": m, "epsilon": epsilon, "delta": delta, "noise": noise}
    if law is None:
        law = message_law(link, w, covariance, radius=radius, label_bound=label_bound, matrix=matrix)
    terms = error_of(law, **settings)
    labels = scored(link, label_bound)
    w = np.asarray(w, dtype=float)
    p, size = len(w), math.sqrt(float(w @ np.asarray(covariance) @ w))
    if not size <= LARGEST_NORM / 2.0:
        raise DomainError("w", f"|Sigma^(1/2) w| = {size:.4g}", f"of size at most {LARGEST_NORM / 2.0:g}")
    relative = terms.total / float(w @ w)
    mean, median, missing = _excesses(labels.link.name, labels.label_bound, p, size, relative)
    return MessageForecast(
        terms=terms,
        leading=terms.total,
        mean=terms.total * mean,
        median=gaussian_median(np.linalg.eigvalsh(terms.covariance)) * median,
        excess=mean - 1.0,
        no_root=missing,
    )


@typed
def gaussian_median(variances: Float[np.ndarray, " p"]) -> float:
    """The median of ||e||^2 to about 1 %, e normal with these variances: the largest coordinate at its quantiles, the
    sum of the others at those of the gamma law of the same three cumulants.
    """
    values = np.sort(vector("variances", variances, above=0.0))[::-1]
    axis = (np.arange(POINTS) + 0.5) / POINTS
    squares = values[0] * special.chdtri(1, axis)
    if len(values) > 1:
        first, second, third = (float(np.sum(values[1:] ** power)) for power in (1, 2, 3))
        degrees = second**3 / third**2
        rest = first + math.sqrt(second / degrees) * (special.chdtri(degrees, axis) - degrees)
        squares = squares[:, None] + np.maximum(rest, 0.0)
    return float(np.median(squares))


@lru_cache(maxsize=256)
def _curve(link: str, label_bound: float, p: int) -> tuple[np.ndarray, np.ndarray]:
    """g_1 at `LENGTHS`, and its slope J_1."""
    table = [moments(link, p, float(length), label_bound=label_bound) for length in LENGTHS]
    return np.array([row.g1 for row in table]), np.array([row.J1 for row in table])


@lru_cache(maxsize=1024)
def _excesses(link: str, label_bound: float, p: int, size: float, relative: float) -> tuple[float, float, float]:
    """Mean and median over the leading order's at |w*| = `size` with isotropic noise of this relative error, and the
    chance that Z is beyond the table.
    """
    g, slopes = _curve(link, label_bound, p)
    own = moments(link, p, size, label_bound=label_bound)
    tau = size * math.sqrt(relative / own.unit)
    axis = (np.arange(POINTS) + 0.5) / POINTS
    along = own.g1 + tau * special.ndtri(axis)
    # ||Z across||^2 is tau^2 chi^2_{p - 1}, at its quantiles as the normal at its own: every point weighs the same.
    across = tau**2 * special.chdtri(p - 1, axis) if p > 1 else np.zeros(1)
    reach = np.sqrt(along[:, None] ** 2 + across)
    far = reach >= g[-1]
    length = interpolate.CubicHermiteSpline(g, LENGTHS, 1.0 / slopes)(np.where(far, 0.0, reach))
    squares = np.where(far, math.inf, length**2 + size**2 - 2.0 * length * size * along[:, None] / reach)
    kept = squares[~far]
    # To leading order by the same points, whose errors cancel.
    leading = ((along - own.g1) / own.J1)[:, None] ** 2 + across / (own.J2**2 if p > 1 else 1.0)
    missing = 1.0 - kept.size / squares.size
    if kept.size < 0.5 * squares.size:
        return math.inf, math.inf, missing
    return (
        float(kept.mean() / leading[~far].mean()),
        float(np.median(squares) / np.median(leading)),
        missing,
    )
