"""Real data: regression tables as CSV files, split and normalised as in the paper, and sets that scikit-learn ships.

>>> X, Y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
>>> data = prepared(X, Y, name="ramp")
>>> data.train.n, len(data.test_outcome)
(8, 2)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, within
from simulators.ols.records import LeastSquares, finite
from simulators.tables import read_table

# Ways to prepare columns before rows are scaled: as they are, of mean 0, of mean 0 and variance 1.
Columns = Literal["raw", "centred", "standardised"]
# Regression sets that come inside scikit-learn, none from the network.
BUNDLED = ("diabetes", "breast-cancer", "wine", "digits")


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """A set under a name: the training part, within bounds 1, and the test part scaled by the same factors."""

    name: str
    train: LeastSquares
    test_regressors: np.ndarray = field(repr=False)
    test_outcome: np.ndarray = field(repr=False)
    dropped: int = 0


@typed
def load(
    path: str | Path,
    *,
    target: str = "",
    train_share: float = 0.8,
    seed: int = 0,
    regressors: Columns = "raw",
    outcome: Columns = "raw",
    intercept: bool = False,
) -> DataSet:
    """A CSV file with a header, plain or gzip, as a data set: rows with a missing value dropped, the rest split at
    random and normalised by `prepared`. `target` names the outcome; the last column unless given.
    """
    path = Path(path)
    table = read_table(path)
    target = target or table.names[-1]
    table.column(target)
    if len(table.names) < 2:
        raise DomainError("file", path, "a table with an outcome and regressors", "it has one column")
    return prepared(
        *table.split(target),
        name=path.name.partition(".")[0],
        train_share=train_share,
        seed=seed,
        regressors=regressors,
        outcome=outcome,
        intercept=intercept,
        dropped=table.dropped,
    )


@typed
def prepared(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    name: str,
    train_share: float = 0.8,
    seed: int = 0,
    regressors: Columns = "raw",
    outcome: Columns = "raw",
    intercept: bool = False,
    dropped: int = 0,
) -> DataSet:
    """Random split into training and test part (`train_share` of the rows, rounded down, drawn with `seed`), then both
    divided by the largest row norm and the largest |y| of the training part (ols Appendix H).

    What the paper leaves open are options: columns of X and of Y `raw`, `centred` or `standardised` (by the moments of
    the training part; constant columns become 0) before that, an `intercept` as a column of ones. None of the factors
    is private.
    """
    within("train_share", train_share, "(0, 1]")
    X, Y = finite("regressors", X, 2), finite("outcome", Y, 1)
    if len(X) != len(Y):
        raise DomainError("regressors, outcome", f"{len(X)} and {len(Y)} rows", "as many rows in each")
    generator = np.random.default_rng(count("seed", seed, least=0))
    order = generator.permutation(len(X))
    size = int(train_share * len(X))
    train, test = order[:size], order[size:]
    if not size:
        raise DomainError("train_share", train_share, f"at least 1 of {len(X)} rows", "give a larger share")
    columns = _transformed(X, train, regressors, "regressors")
    target = _transformed(Y[:, None], train, outcome, "outcome")[:, 0]
    if intercept:
        columns = np.column_stack([columns, np.ones(len(columns))])
    lengths = np.linalg.norm(columns, axis=1)
    scale, height = _scale(lengths[train], "regressors"), _scale(np.abs(target[train]), "outcome")
    columns, target = columns / scale, target / height
    return DataSet(
        name=name,
        train=LeastSquares(regressors=columns[train], outcome=target[train]),
        test_regressors=columns[test],
        test_outcome=target[test],
        dropped=dropped,
    )


@typed
def bundled(name: str, *, seed: int = 0, train_share: float = 0.8, outcome: Columns = "raw") -> DataSet:
    """A set that scikit-learn ships, prepared as those of the paper: `diabetes` (442 rows, progression on 10
    measurements), `breast-cancer` (569, mean radius on 20 other features), `wine` (178, alcohol on 12 others), all
    with standardised regressors; `digits` (1797, the digit as a number on 64 pixels as they are). None of them is a
    set of the paper. Raises `DomainError` where scikit-learn is not installed.
    """
    choice("name", name, BUNDLED)
    if not has_bundled():
        raise DomainError("data", name, "at hand", "pip install 'dpbounds[data]'")
    X, Y = _bundled_columns(name)
    how: Columns = "raw" if name == "digits" else "standardised"
    return prepared(X, Y, name=name, seed=seed, train_share=train_share, regressors=how, outcome=outcome)


def _bundled_columns(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    if name == "diabetes":
        X, Y = datasets.load_diabetes(return_X_y=True)
    elif name == "digits":
        X, Y = datasets.load_digits(return_X_y=True)
    elif name == "wine":
        features = np.asarray(datasets.load_wine(return_X_y=True)[0], dtype=float)
        X, Y = features[:, 1:], features[:, 0]
    else:
        features = np.asarray(datasets.load_breast_cancer(return_X_y=True)[0], dtype=float)
        X, Y = features[:, 10:], features[:, 0]
    return np.asarray(X, dtype=float), np.asarray(Y, dtype=float)


def has_bundled() -> bool:
    """Whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def _transformed(columns: np.ndarray, train: np.ndarray, how: Columns, parameter: str) -> np.ndarray:
    choice(parameter, how, get_args(Columns))
    if how == "raw":
        return columns
    columns = columns - columns[train].mean(axis=0)
    if how == "centred":
        return columns
    spread = columns[train].std(axis=0)
    return np.where(spread > 0, columns / np.where(spread > 0, spread, 1.0), 0.0)


def _scale(sizes: np.ndarray, parameter: str) -> float:
    largest = float(sizes.max())
    if not largest > 0:
        raise DomainError(parameter, "zeros", "numbers that are not all 0")
    return largest
