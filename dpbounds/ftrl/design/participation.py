"""How often one record takes part in a run, and what a noise correlation then needs to hide it.

A pattern pi is the set of steps that use one record. With unit gradients g_t on them the released rows move by C g, so
s^2 = max over pi and correlation matrices R (positive semidefinite, unit diagonal) of <X_pipi, R>, X = C^T C.

>>> from dpbounds.ftrl.correlations import independent
>>> float(sensitivity(independent(), 8, Participation.cyclic(4, 2)))  # 4 orthogonal columns
2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count
from dpbounds.ftrl.correlations import Correlation, ToeplitzCorrelation
from dpbounds.values import Kind, Value

# Steps for which the dense matrix C^T C is formed.
LARGEST_DENSE = 4096
# Entries of all cyclic blocks together (0.4 GB).
LARGEST_BLOCKS = 50_000_000
# Coefficients below this share of the largest count as 0.
ROUNDED = 1e-15
LARGEST_COLUMN = "largest column"


@typed
@dataclass(frozen=True, kw_only=True)
class Participation:
    """At most `times` = k steps use one record, `separation` = b steps or more apart; "cyclic": exactly b apart.

    Use `Participation.single()`, `.min_separation(k, b)`, `.cyclic(k, b)`.
    """

    kind: Literal["single", "min-separation", "cyclic"]
    times: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        choice("kind", self.kind, ("single", "min-separation", "cyclic"))
        object.__setattr__(self, "times", count("times", self.times))
        object.__setattr__(self, "separation", count("separation", self.separation))
        if self.kind == "single" and self.times > 1:
            raise DomainError("times", self.times, "1 with a single participation")

    @classmethod
    def single(cls) -> Participation:
        """Every record is used in at most one step."""
        return cls(kind="single")

    @classmethod
    def min_separation(cls, times: int, separation: int) -> Participation:
        """At most k steps, any two at least b apart."""
        return cls(kind="min-separation", times=times, separation=separation)

    @classmethod
    def cyclic(cls, times: int, separation: int) -> Participation:
        """Steps o, o + b, o + 2 b, ... for an offset o < b: k epochs of b steps in a fixed order."""
        return cls(kind="cyclic", times=times, separation=separation)

    @classmethod
    def of_epochs(cls, epochs: int, steps: int, separation: int | None = None) -> Participation:
        """`epochs` passes in `steps` steps: in one fixed order, or any two uses `separation` steps apart at least."""
        if count("epochs", epochs) == 1:
            return cls.single()
        if separation is None:
            return cls.cyclic(epochs, -(-steps // epochs))
        return cls.min_separation(epochs, separation)

    def checked(self, steps: int) -> int:
        """`steps` as a whole number T for which the pattern is possible: (k - 1) b + 1 <= T, and T <= k b if cyclic."""
        T, k, b = count("steps", steps), self.times, self.separation
        if (k - 1) * b + 1 > T:
            raise DomainError(
                "participation",
                f"{k} times, {b} steps apart",
                f"possible in {T} steps: (k - 1) b + 1 <= T",
                "lower the number of times or the separation",
            )
        if self.kind == "cyclic" and k * b < T:
            raise DomainError(
                "participation",
                f"cyclic, {k} times, every {b} steps",
                f"one that covers {T} steps: T <= k b",
                f"every {b} steps a record takes part {-(-T // b)} times",
            )
        return T


SINGLE = Participation.single()


@typed
def sensitivity(correlation: Correlation, steps: int, participation: Participation = SINGLE) -> Value:
    """s(C) = max ||C g|| over two neighbouring inputs, in clip norms under zero-out adjacency.

    `exact` for one participation, for non-negative non-increasing coefficients (i), for bands no wider than the
    separation (ii), and for cyclic blocks of C^T C whose signs a change of basis makes non-negative (iii). Otherwise
    `upper`: |X| in place of X (iii), the non-increasing majorant of |c| (iv), the best pattern through each step (v).
    `source` names the rule.
    """
    T = participation.checked(steps)
    if participation.times == 1:
        return _root(correlation.sensitivity(T) ** 2, "exact", LARGEST_COLUMN)
    if isinstance(correlation, ToeplitzCorrelation):
        return _of_toeplitz(correlation.inverse_coefficients(T), participation)
    return _of_matrix(correlation.encoder(T), participation)


@typed
def encoder_sensitivity(encoder: np.ndarray, participation: Participation = SINGLE) -> Value:
    """`sensitivity` of a lower-triangular C (T, T) itself, by the rules of Toeplitz matrices if it is one."""
    T = participation.checked(len(encoder))
    if participation.times == 1:
        return _root(float(np.max(np.sum(encoder**2, axis=0))), "exact", LARGEST_COLUMN)
    first = encoder[:, 0]
    if all(np.all(np.diagonal(encoder, -lag) == first[lag]) for lag in range(T)):
        return _of_toeplitz(first, participation)
    return _of_matrix(encoder, participation)


def _of_toeplitz(c: np.ndarray, participation: Participation) -> Value:
    """Rules (i) to (iv) for the first column c of C."""
    b = participation.separation
    # What rounding leaves of coefficients that are 0.
    c = np.where(np.abs(c) <= ROUNDED * np.abs(c).max(), 0.0, c)
    if np.all(c >= 0) and np.all(np.diff(c) <= 0):
        return _root(_shifted_sum(c, participation), "exact", "rule (i): non-negative, non-increasing coefficients")
    if not c[b:].any():
        return _root(_banded(c, participation), "exact", "rule (ii): at most b bands")
    if participation.kind == "cyclic":
        return _cyclic(_toeplitz_blocks(c, participation))
    majorant = np.maximum.accumulate(np.abs(c)[::-1])[::-1]
    return _root(_shifted_sum(majorant, participation), "upper", "rule (iv): non-increasing majorant")


def _shifted_sum(c: np.ndarray, participation: Participation) -> float:
    """||sum_{i<k} c shifted by i b||^2: all participations as early as they can be."""
    total = np.zeros_like(c)
    for i in range(participation.times):
        total[i * participation.separation :] += c[: len(c) - i * participation.separation]
    return float(total @ total)


def _banded(c: np.ndarray, participation: Participation) -> float:
    """sum_{i<k} of the squared norms of columns 0, b, ...: what the columns reach does not overlap."""
    reached = np.cumsum(c**2)[::-1][:: participation.separation]
    return float(np.sum(reached[: participation.times]))


def _toeplitz_blocks(c: np.ndarray, participation: Participation) -> np.ndarray:
    """X on the steps o, o + b, ..., of every offset o < b: (b, k, k), zeros for steps beyond the last."""
    T, k, b = len(c), participation.times, participation.separation
    blocks = _room_for_blocks(participation)
    for gap in range(k):
        # products[n] = sum_{u<n} c_u c_{u + gap b}: the inner product of two columns with n rows below the later one.
        products = np.concatenate([[0.0], np.cumsum(c[: T - gap * b] * c[gap * b :])])
        for j in range(gap, k):
            rows = np.maximum(T - j * b - np.arange(b), 0)
            blocks[:, j, j - gap] = blocks[:, j - gap, j] = products[rows]
    return blocks


def _of_matrix(encoder: np.ndarray, participation: Participation) -> Value:
    """Rules (ii), (iii) and (v) for a dense C."""
    T, k, b = encoder.shape[1], participation.times, participation.separation
    if T > LARGEST_DENSE:
        raise DomainError("steps", T, f"at most {LARGEST_DENSE} unless C is Toeplitz", "take a Toeplitz correlation")
    if participation.kind == "cyclic":
        blocks = _room_for_blocks(participation)
        for offset in range(min(b, T)):
            columns = encoder[:, offset::b]
            blocks[offset, : columns.shape[1], : columns.shape[1]] = columns.T @ columns
        return _cyclic(blocks)
    lag = np.subtract.outer(np.arange(len(encoder)), np.arange(T))
    if np.abs(np.where((lag >= 0) & (lag < b), 0.0, encoder)).max() <= ROUNDED * np.abs(encoder).max():
        return _root(_best_sum(np.sum(encoder**2, axis=0), k, b), "exact", "rule (ii): at most b bands")
    sizes = np.abs(encoder.T @ encoder)
    return _root(_best_sum(_best_row_sums(sizes, k, b), k, b), "upper", "rule (v): best pattern through each step")


def _cyclic(blocks: np.ndarray) -> Value:
    """Rule (iii): the largest sum of |X| over the offsets, attained with gradients +-g if the signs of X allow it."""
    sums = np.abs(blocks).sum(axis=(1, 2))
    largest = blocks[int(sums.argmax())]
    sign = np.where(largest[0] < 0, -1.0, 1.0)
    attained = bool(np.all(largest * np.outer(sign, sign) >= 0))
    return _root(float(sums.max()), "exact" if attained else "upper", "rule (iii): absolute sums of cyclic blocks")


def _best_row_sums(sizes: np.ndarray, k: int, b: int) -> np.ndarray:
    """r_i, the largest sum of |X_ij| over j in a pattern that contains i. The sum over all pairs is at most sum r_i."""
    before = _best_before(sizes, k - 1, b)
    after = _best_before(sizes[::-1, ::-1], k - 1, b)[:, ::-1]
    return np.diag(sizes) + np.max([before[left] + after[k - 1 - left] for left in range(k)], axis=0)


def _best_before(sizes: np.ndarray, most: int, b: int) -> np.ndarray:
    """(most + 1, T): for each row i the largest sum over at most c columns, b apart, among those up to i - b."""
    T = len(sizes)
    result = np.zeros((most + 1, T))
    # best[n % b]: for all rows at once the largest sum over at most c columns up to n.
    best, latest = np.zeros((b, most + 1, T)), np.zeros((most + 1, T))
    for n in range(T - b):
        with_n = latest.copy()
        with_n[1:] = np.maximum(latest[1:], sizes[:, n] + best[n % b, :-1])
        best[n % b] = latest = with_n
        result[:, n + b] = latest[:, n + b]
    return result


def _best_sum(weights: np.ndarray, k: int, b: int) -> float:
    """The largest sum of at most k weights, all at least 0, whose places are b apart."""
    best = np.zeros((len(weights) + b, k + 1))
    for n, weight in enumerate(weights):
        # Row n + b is for the first n + 1 places, row n for those at least b before the last of them.
        best[n + b, 1:] = np.maximum(best[n + b - 1, 1:], weight + best[n, :-1])
    return float(best[-1, -1])


def _room_for_blocks(participation: Participation) -> np.ndarray:
    k, b = participation.times, participation.separation
    if b * k**2 > LARGEST_BLOCKS:
        raise DomainError("times", k, f"at most {int((LARGEST_BLOCKS / b) ** 0.5)} every {b} steps")
    return np.zeros((b, k, k))


def _root(square: float, kind: Kind, rule: str) -> Value:
    return Value(float(np.sqrt(square)), kind=kind, source=f"dpbounds, {rule}", convention="zero-out")
