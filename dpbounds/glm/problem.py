"""One estimation problem: the model, the records, the budget of one user's message, and the bounds that records have.

`build_problem` makes it from what a user has: a covariance, its spectrum, or public records; the length of w*, or how
far the least squares direction reaches.

>>> problem = build_problem("logistic", n=10_000, epsilon=4.0, p=3)
>>> problem.p, problem.m, f"{problem.delta:.3g}", f"{problem.bounds[0]:.3f}"
(3, 10000, '3.98e-05', '5.089')
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, moderate, nonnegative, positive, real_array, vector, within
from dpbounds.glm import clipping, privacy, scale
from dpbounds.glm.links import Link

Beyond = Literal["refuse", "clip"]
MOST_RECORDS, MOST_P = 10**15, 500
# The share of records beyond their bounds, and the exponent of delta = n^-1.1, where nothing else is said.
FAILURE, DELTA_POWER = 0.1, -1.1
EPSILON_RANGE, DELTA_RANGE, FAILURE_RANGE = "[1e-6, 1e6]", "[1e-290, 1)", "[1e-300, 1)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What is to be estimated from which records at what budget (local: any two records are neighbours).

    x ~ N(0, `covariance`) of shape (p, p); `w`: w* (p,); `n` private and `m` public records; `noise`: C, the size of a
    regression's noise, +-C; `failure`: zeta, the chance that some record is beyond its bounds; `radius`, `label_bound`:
    public bounds on ||x|| and |y| in place of those that follow from `failure`, for clipped records. Raises
    `DomainError` for n <= p, 0 < m < p, and what is outside its range.
    """

    link: Link
    w: np.ndarray
    covariance: np.ndarray
    n: int
    m: int
    epsilon: float
    delta: float
    failure: float = FAILURE
    noise: float = 0.0
    radius: float | None = None
    label_bound: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "link", scale.known(self.link))
        object.__setattr__(self, "w", vector("w", self.w))
        object.__setattr__(self, "covariance", scale.positive_definite("covariance", self.covariance, self.p))
        remedy = f"more records than coordinates, p = {self.p}"
        object.__setattr__(self, "n", count("n", self.n, self.p + 1, remedy, most=MOST_RECORDS))
        object.__setattr__(self, "m", count("m", self.m, 0, most=MOST_RECORDS))
        if 0 < self.m < self.p:
            remedy = "fewer public records have a singular covariance"
            raise DomainError("m", self.m, f"0 or at least p = {self.p}", remedy)
        for name, interval in (("epsilon", EPSILON_RANGE), ("delta", DELTA_RANGE), ("failure", FAILURE_RANGE)):
            object.__setattr__(self, name, within(name, getattr(self, name), interval))
        object.__setattr__(self, "noise", nonnegative("noise", self.noise))
        if self.noise and self.link.labels != "real":
            raise DomainError("noise", self.noise, f"0 for the {self.link.name} link", "its labels have a law already")
        for name in ("radius", "label_bound"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, moderate(name, getattr(self, name)))
        if not self.q > 0:
            raise DomainError("w", self.w, "a vector other than 0")

    @property
    def p(self) -> int:
        """Coordinates."""
        return len(self.w)

    @property
    def q(self) -> float:
        """w*^T Sigma w*, the variance of <x, w*>."""
        return float(self.w @ self.covariance @ self.w)

    @property
    def w_norm(self) -> float:
        """||w*||."""
        return float(np.linalg.norm(self.w))

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """R and B to which records are clipped."""
        radius = clipping.radius(self.covariance, self.n, self.failure) if self.radius is None else self.radius
        label = self.label_bound
        if label is None:
            label = clipping.label_bound(self.link, self.q, self.n, self.failure, noise=self.noise)
        return float(radius), float(label)

    @cached_property
    def printed_bounds(self) -> tuple[float, float]:
        """R and B of glm Algorithms 1 and 3."""
        norm = float(np.linalg.eigvalsh(self.covariance)[-1])
        radius = privacy.radius(norm, self.p, self.n, self.failure)
        return radius, float(clipping.printed_label_bound(self.link, radius, noise=self.noise))

    @property
    def chosen_bounds(self) -> tuple[str, ...]:
        """The bounds that were given, by name: records may well exceed them, and clipping then changes the estimate."""
        return tuple(name for name in ("radius", "label_bound") if getattr(self, name) is not None)

    @property
    def size(self) -> float:
        """s = |Sigma^{1/2} w_ols|, which must be below `scale.supremum` for a root to exist."""
        return abs(scale.stein(self.link, math.sqrt(self.q)))


@typed
def build_problem(
    link: Link | str,
    *,
    n: int,
    epsilon: float,
    m: int | None = None,
    delta: float | None = None,
    p: int | None = None,
    variance: float | None = None,
    covariance: Any = None,
    spectrum: Any = None,
    public: Any = None,
    w: Any = None,
    w_norm: float | None = None,
    ols_size: float | None = None,
    noise: float = 0.0,
    failure: float = FAILURE,
    radius: float | None = None,
    label_bound: float | None = None,
    beyond: Beyond = "refuse",
) -> Problem:
    """A `Problem` from what is known.

    - Sigma: one of `covariance` (p, p), `spectrum` (p,) for a diagonal one, `public` records (m, p), an array or a data
      frame, whose second moments are taken as x has mean 0, or `variance` (default 1) times the identity of size `p`;
    - w*: `w` (p,), or equal parts of length `w_norm` (default 1), or of |Sigma^{1/2} w_ols| = `ols_size`;
    - `m`: that of `public`, by default n; `delta`: by default n^-1.1; the others as in `Problem`;
    - `beyond`: whether public records longer than `radius` are refused or clipped.

    Raises `DomainError` for two sources of one thing, and for what is outside its range.
    """
    records = None if public is None else _records(public)
    matrix = _covariance(records, covariance=covariance, spectrum=spectrum, variance=variance, p=p)
    p = len(matrix)
    n = count("n", n, p + 1, f"more records than coordinates, p = {p}")
    choice("beyond", beyond, get_args(Beyond))
    if records is not None:
        _check_lengths(records, radius, beyond)
        if m is not None and m != len(records):
            raise DomainError("m", m, f"{len(records)} or left out", "the public records say it")
        m = len(records)
    problem = Problem(
        link=scale.known(link),
        w=_weights(scale.known(link), matrix, w=w, w_norm=w_norm, ols_size=ols_size),
        covariance=matrix,
        n=n,
        m=n if m is None else m,
        epsilon=positive("epsilon", epsilon),
        delta=n**DELTA_POWER if delta is None else delta,
        failure=failure,
        noise=noise,
        radius=radius,
        label_bound=label_bound,
    )
    if problem.label_bound is not None and problem.link.labels != "real" and problem.label_bound < 1:
        remedy = f"labels of the {problem.link.name} link reach it"
        raise DomainError("label_bound", problem.label_bound, "at least 1", remedy)
    return problem


def _covariance(records: np.ndarray | None, **sources: Any) -> np.ndarray:
    """Sigma from its one source."""
    p, variance = sources.pop("p"), sources.pop("variance")
    named = [name for name, value in {"public": records, **sources}.items() if value is not None]
    if len(named) > 1:
        raise DomainError(named[1], "given", f"left out with {named[0]}", "either says the covariance")
    if not named:
        if p is None:
            raise DomainError("p", None, "given without covariance, spectrum and public")
        return positive("variance", 1.0 if variance is None else variance) * np.eye(count("p", p, most=MOST_P))
    if variance is not None:
        raise DomainError("variance", variance, f"left out with {named[0]}", f"{named[0]} says it")
    if records is not None:
        matrix = scale.positive_definite("covariance of public", records.T @ records / len(records))
    elif sources["spectrum"] is not None:
        matrix = np.diag(vector("spectrum", sources["spectrum"], above=0.0))
    else:
        matrix = scale.positive_definite("covariance", sources["covariance"])
        matrix = (matrix + matrix.T) / 2
    if len(matrix) > MOST_P:
        raise DomainError(named[0], f"{len(matrix)} coordinates", f"at most {MOST_P}")
    if p is not None and p != len(matrix):
        raise DomainError("p", p, f"{len(matrix)} or left out", f"{named[0]} says it")
    return matrix


def _records(public: Any) -> np.ndarray:
    rows = real_array("public", public)
    if rows.ndim != 2 or not rows.size or not np.all(np.isfinite(rows)):
        raise DomainError("public", f"an array of shape {rows.shape}", "finite numbers of shape (m, p)")
    if len(rows) < rows.shape[1]:
        remedy = "fewer public records have a singular covariance"
        raise DomainError("m", len(rows), f"at least p = {rows.shape[1]}", remedy)
    return rows


def _check_lengths(records: np.ndarray, radius: float | None, beyond: Beyond) -> None:
    longest = float(np.linalg.norm(records, axis=1).max())
    if radius is not None and positive("radius", radius) < longest and beyond == "refuse":
        remedy = 'beyond = "clip" shortens the records that exceed it'
        raise DomainError("radius", radius, f"at least {longest:.6g}, what the public records reach", remedy)


def _weights(link: Link, covariance: np.ndarray, **sources: Any) -> np.ndarray:
    """w* as it is, or in equal parts, of the size that is given one way or the other."""
    named = [name for name, value in sources.items() if value is not None]
    if len(named) > 1:
        raise DomainError(named[1], sources[named[1]], f"left out with {named[0]}", "either says how large w* is")
    if named == ["w"]:
        return vector("w", sources["w"])
    direction = np.full(len(covariance), 1.0 / math.sqrt(len(covariance)))
    if named != ["ols_size"]:
        return positive("w_norm", sources["w_norm"] if named else 1.0) * direction
    try:
        t = abs(scale.inverse(link, sources["ols_size"]))
    except DomainError as error:
        raise DomainError("ols_size", error.value, error.allowed, error.remedy) from None
    return t / math.sqrt(float(direction @ covariance @ direction)) * direction
