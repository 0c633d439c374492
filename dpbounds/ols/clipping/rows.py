"""The rows that a law is computed from: all of them, or a thousand that stand for the others.

>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-0.5, 0.5, (5000, 2))
>>> rows = rows_of(X, X @ (0.5, -0.2) + 0.1 * rng.standard_normal(5000), 500)
>>> len(rows.y), rows.weight, bool(np.allclose(rows.weight * rows.X.T @ rows.X, X.T @ X))
(500, 10.0, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, count, real_array
from dpbounds.ols.designs import MOST_REGRESSORS
from dpbounds.ols.gram import Gram
from dpbounds.values import Kind

# Numbers of a record's row beyond which a law would need gigabytes.
MOST_ENTRIES = 10**8
# Clip levels at which sums of some rows are held against those of all, the lowest over the largest gradient.
LEVELS, LOWEST_LEVEL = 33, 1e-3
# Standard deviations beyond its mean at which a square is no longer put down to chance.
BEYOND_CHANCE = 3.0
# Where the least eigenvalue over the largest is below this, rows are not mapped: rounding would be magnified.
LEAST_SPECTRUM = 1e-9
# Rounding that a record at its bound may have.
SLACK = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """X (m, d) and y (m,), each row standing for `weight` = n/m; `norms` (m,) are the lengths that limits are made of.

    `gram`: A = X'X, b = X'y, ||y||² of all n rows; `theta_star` (d,) their least squares fit.
    """

    X: Float[np.ndarray, "m d"] = field(repr=False)
    y: Float[np.ndarray, " m"] = field(repr=False)
    norms: Float[np.ndarray, " m"] = field(repr=False)
    weight: float
    gram: Gram
    theta_star: Float[np.ndarray, " d"]
    missing: Missing | None = None

    @property
    def n(self) -> int:
        """Of all records."""
        return self.gram.n

    @property
    def d(self) -> int:
        """Regressors."""
        return self.X.shape[1]

    @property
    def kind(self) -> Kind | None:
        """Of a law on these rows: where some stand for all, or all for others, nobody knows that nothing is clipped, so
        `estimate`; None leaves it to the law.
        """
        return None if self.weight == 1.0 and self.missing is None else "estimate"

    @property
    def gap(self) -> float:
        """||X theta*||², the risk of theta = 0."""
        return self.gram.signal

    @property
    def residual(self) -> float:
        """L = ||y||² - gap."""
        return max(self.gram.y_squared - self.gram.signal, 0.0)

    @property
    def largest(self) -> float:
        """lambda_max of A."""
        return float(self.gram.spectrum.eigenvalues[-1])

    @cached_property
    def lengths(self) -> Float[np.ndarray, " m"]:
        """`norms`, none of them 0, so that one can divide by them."""
        return np.maximum(self.norms, 1e-300)

    @typed
    def thinned(self, number: int) -> Rows:
        """At most `number` rows of all that stand for them.

        Taken at equal distances along r_i ||x_i||, r the residuals of the fit; mapped by A^½ A_s^-½ so that their
        weighted Gram matrix is A exactly; what they explain of the residuals is taken out of these, which are scaled to
        the sum L. Lengths stay those of the rows that were taken. Themselves where A_s is singular.
        """
        number = count("rows", number, least=1)
        if number >= len(self.y) or number < 2 * self.d:
            return self
        r = self.y - self.X @ self.theta_star
        order = np.argsort(r * self.norms, kind="stable")
        taken = order[((np.arange(number) + 0.5) * (len(order) / number)).astype(int)]
        weight = self.n / number
        values, U = np.linalg.eigh(self.gram.A)
        own, V = np.linalg.eigh(weight * self.X[taken].T @ self.X[taken])
        if own[0] <= LEAST_SPECTRUM * own[-1] or values[0] <= LEAST_SPECTRUM * values[-1]:
            return self
        # A^½ A_s^-½, both symmetric roots: as near to the identity as A_s is to A.
        root, inverse = (U * np.sqrt(values)) @ U.T, (V / np.sqrt(own)) @ V.T
        X = self.X[taken] @ inverse @ root
        rest = r[taken] - X @ np.linalg.lstsq(X, r[taken], rcond=None)[0]
        squares = weight * float(rest @ rest)
        rest *= np.sqrt(self.residual / squares) if squares > 0 else 0.0
        some = replace(self, X=X, y=X @ self.theta_star + rest, norms=self.norms[taken], weight=weight, missing=None)
        return replace(some, missing=Missing.of(self, some))

    @typed
    def without(self, part: int, parts: int) -> Rows:
        """Without each `parts`-th record from `part` on, the others standing for them."""
        kept = np.arange(len(self.y)) % parts != part
        X, y = self.X[kept], self.y[kept]
        gram, weight = Gram.of_records(X, y).standing_for(self.n), self.n / len(y)
        theta = gram.spectrum.basis @ gram.spectrum.theta
        return Rows(X=X, y=y, norms=self.norms[kept], weight=weight, gram=gram, theta_star=theta)

    @typed
    def standing_for(self, n: int) -> Rows:
        """The same rows for n records, more or fewer."""
        return replace(self, weight=self.weight * n / self.n, gram=self.gram.standing_for(n))

    @typed
    def unseen(self) -> Rows:
        """The same, standing for n other records of their law: what clipping adds at the fit is then a systematic part
        and chance, of which these records' own sum is one draw. `missing` has both, by level: the sum of other records
        is normal with the covariance of one record's term n times, about 0 where the square of this one's is within
        three standard deviations of chance's, else about this one's shrunk by chance's part.

        A record's term is x clip(r) - A_c A^-1 x r: other records have another fit, which takes the part of chance away
        that is not clipped off; A_c is X'X of the rows within their limits.
        """
        r = self.y - self.X @ self.theta_star
        levels = _levels(self)
        inverse = np.linalg.pinv(self.gram.A, hermitian=True)
        moved = (self.X * r[:, None]) @ inverse
        missing, roots = [], []
        for level in levels:
            limits = level / self.lengths
            inside = self.X[np.abs(r) < limits]
            terms = self.X * np.clip(r, -limits, limits)[:, None] - moved @ (self.weight * inside.T @ inside)
            own, chance = self.weight * terms.sum(axis=0), self.weight * terms.T @ terms
            missing.append((math.sqrt(_systematic(inverse, own, self.weight * chance)) - 1.0) * own)
            values, U = np.linalg.eigh(chance)
            roots.append((U * np.sqrt(np.maximum(values, 0.0))) @ U.T)
        return replace(self, missing=Missing(levels=levels, sums=np.array(missing), roots=np.array(roots)))

    def clipped_at_fit(self, levels: np.ndarray) -> np.ndarray:
        """sum x_i clip(r_i, level / ||x_i||) at the fit, (levels, d)."""
        r = self.y - self.X @ self.theta_star
        return np.stack([self.weight * np.clip(r, -c / self.lengths, c / self.lengths) @ self.X for c in levels])


@dataclass(frozen=True, kw_only=True, eq=False)
class Missing:
    """What some rows miss of the sums of all at the fit, by clip level: without it chance correlations of x with what
    is clipped off, which fewer rows have more of, would count as bias of clipping.

    `levels` ascending, `sums` (levels, d); `roots` (levels, d, d): of the covariance that the sums of other records
    have, None where these records are meant. Sums of clipped gradients are proportional to the level below the first,
    and are those without clipping, which agree, above the last.
    """

    levels: np.ndarray
    sums: np.ndarray
    roots: np.ndarray | None = None

    @classmethod
    def of(cls, all_rows: Rows, some: Rows) -> Missing:
        """By the sums of both at levels up to the largest gradient, beside what `all_rows` miss themselves."""
        before = all_rows.missing
        levels = _levels(all_rows, some) if before is None else before.levels
        sums = all_rows.clipped_at_fit(levels) - some.clipped_at_fit(levels)
        return cls(levels=levels, sums=sums) if before is None else replace(before, sums=before.sums + sums)

    def at(self, clip: float | np.ndarray) -> np.ndarray:
        """(..., d), interpolated in the level's logarithm."""
        return self._at(clip, self.sums)

    def chance(self, clip: float | np.ndarray) -> np.ndarray | None:
        """The root (..., d, d) likewise, None where there is none."""
        return None if self.roots is None else self._at(clip, self.roots)

    def _at(self, clip: float | np.ndarray, table: np.ndarray) -> np.ndarray:
        clip = np.asarray(clip, dtype=float)
        place = np.interp(np.log(clip), np.log(self.levels), np.arange(len(self.levels)))
        low = np.minimum(place.astype(int), len(self.levels) - 2)
        share, scale = place - low, np.where(clip >= self.levels[-1], 0.0, np.minimum(clip / self.levels[0], 1.0))
        share, scale = (part.reshape(part.shape + (1,) * (table.ndim - 1)) for part in (share, scale))
        return scale * ((1 - share) * table[low] + share * table[low + 1])


def _systematic(inverse: np.ndarray, own: np.ndarray, chance: np.ndarray) -> float:
    """The share of own'A^-1 own that is not chance's: of normal sums of covariance `chance` it has mean tr A^-1 chance
    and variance 2 tr (A^-1 chance)².
    """
    square, product = float(own @ inverse @ own), inverse @ chance
    mean, deviation = float(np.trace(product)), math.sqrt(2.0 * float(np.sum(product * product.T)))
    return 1.0 - mean / square if square > mean + BEYOND_CHANCE * deviation else 0.0


def _levels(*rows: Rows) -> np.ndarray:
    """Up to the largest gradient at the fit."""
    largest = max(float(np.max(one.norms * np.abs(one.y - one.X @ one.theta_star))) for one in rows)
    return max(largest, 1e-300) * np.geomspace(LOWEST_LEVEL, 1.0, LEVELS)


@typed
def typical_rows(gram: Gram, number: int) -> Rows:
    """At most `number` rows of about one length, with exactly these moments: signs along the eigenvectors made
    orthogonal, normal residuals orthogonal to them; the same at each call. As many as records where they are few.

    Raises `DomainError` for moments of an outcome that X explains nothing of.
    """
    if not gram.signal > 0:
        raise DomainError("b", "zeros", "X'y of an outcome of which X explains something")
    spectrum, size = gram.spectrum, min(gram.n, max(count("rows", number), 2 * gram.d))
    generator, weight = np.random.default_rng(0), gram.n / size
    columns = np.linalg.qr(generator.choice([-1.0, 1.0], size=(size, gram.d)))[0]
    X = columns * np.sqrt(spectrum.eigenvalues / weight) @ spectrum.basis.T
    rest = generator.standard_normal(size)
    rest -= columns @ (columns.T @ rest)
    squares, residual = weight * float(rest @ rest), max(gram.y_squared - gram.signal, 0.0)
    rest *= np.sqrt(residual / squares) if size > gram.d else 0.0
    theta = spectrum.basis @ spectrum.theta
    return Rows(X=X, y=X @ theta + rest, norms=np.linalg.norm(X, axis=1), weight=weight, gram=gram, theta_star=theta)


@typed
def rows_of(X: ArrayLike, y: ArrayLike, rows: int | None = None, *, bounded: bool = False) -> Rows:
    """Of records X (n, d), y (n,), arrays or data frames; at most `rows` of them that stand for all, or all (None).

    `bounded`: rows longer than 1 and outcomes beyond 1 are refused. Raises `DomainError` for arrays of other shapes or
    with entries that are not finite, for fewer records than columns, and for an outcome that X explains nothing of.
    """
    X, y = real_array("X", X), real_array("y", y)
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or not X.size:
        raise DomainError("X, y", f"arrays of shapes {X.shape}, {y.shape}", "of shapes (n, d), (n,)")
    count("columns of X", X.shape[1], most=MOST_REGRESSORS)
    count("entries of X", X.size, most=MOST_ENTRIES, remedy="take a part of the records")
    norms = np.linalg.norm(X, axis=1)
    for name, array in (("X", X), ("y", y)):
        if not (np.abs(array) <= LARGEST).all():
            raise DomainError(name, "an array with larger entries, inf or nan", f"finite, at most {LARGEST:g} in size")
    for name, largest in (("||x||", norms.max()), ("|y|", np.abs(y).max())):
        if bounded and largest > 1 + SLACK:
            raise DomainError(f"largest {name}", float(largest), "at most 1", "divide the records by their bounds")
    gram = Gram.of_records(X, y)
    if not gram.signal > 0:
        raise DomainError("y", "an outcome of which X explains nothing", "one with X'y other than 0")
    theta = gram.spectrum.basis @ gram.spectrum.theta
    whole = Rows(X=X, y=y, norms=norms, weight=1.0, gram=gram, theta_star=theta)
    return whole if rows is None else whole.thinned(rows)
