"""Linear algebra of balls."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat, fmpq, fmpq_mat

from verify.certain.functions import Float, Library
from verify.certain.making import array, filled
from verify.certain.numbers import Ball, Uncertain, Unsupported

# Rows of a matrix up to which it is computed with.
LARGEST_MATRIX = 64


def _matrix(values: Any) -> arb_mat:
    if len(values) > LARGEST_MATRIX:
        raise Unsupported(f"a matrix of {len(values)} rows")
    return arb_mat([[Ball(entry).value for entry in row] for row in np.atleast_2d(values)])


def _entries(matrix: arb_mat) -> np.ndarray:
    rows = [[Ball(matrix[i, j]) for j in range(matrix.ncols())] for i in range(matrix.nrows())]
    return np.array(rows, dtype=object).reshape(matrix.nrows(), matrix.ncols())


def _solve(matrix: Any, right: Any) -> np.ndarray:
    right = array(right)
    column = right.reshape(len(right), -1)
    try:
        return _entries(_matrix(matrix).solve(_matrix(column))).reshape(right.shape)
    except ZeroDivisionError:
        raise Uncertain("whether a matrix is invertible") from None


def _inverse(matrix: Any) -> np.ndarray:
    try:
        return _entries(_matrix(matrix).inv())
    except ZeroDivisionError:
        raise Uncertain("whether a matrix is invertible") from None


def _eigenvalues(matrix: Any) -> np.ndarray:
    """Of a symmetric matrix, in increasing order; those that are not told apart share a ball."""
    given = np.atleast_2d(matrix)
    if len(given) == 1:
        return array([given[0, 0]], dtype=Float)
    symmetric = all(given[i, j] is given[j, i] or _same(given[i, j], given[j, i]) for i, j in np.ndindex(given.shape))
    if not symmetric:
        raise Unsupported("eigenvalues of a matrix that is not known to be symmetric")
    try:
        found = [value.real for value in acb_mat(_matrix(given)).eig(multiple=True)]
    except ValueError as error:
        raise Uncertain(f"eigenvalues: {error}") from None
    found.sort(key=lambda value: float(value.mid()))
    groups: list[list[arb]] = []
    for value in found:
        if groups and groups[-1][-1].overlaps(value):
            groups[-1] = [groups[-1][0].union(value)] * (len(groups[-1]) + 1)
        else:
            groups.append([value])
    return np.array([Ball(value) for group in groups for value in group], dtype=object)


def _same(first: Any, second: Any) -> bool:
    return Ball(first).value.overlaps(Ball(second).value)


def _toeplitz(column: Any, row: Any = None) -> np.ndarray:
    column = array(column, dtype=Float)
    row = column if row is None else array(row, dtype=Float)
    rows = [[column[i - j] if i >= j else row[j - i] for j in range(len(row))] for i in range(len(column))]
    return np.array(rows, dtype=object)


def _triangle(matrix: Any) -> np.ndarray:
    """Cholesky's, row by row."""
    given = array(matrix, dtype=Float)
    if len(given) > LARGEST_MATRIX:
        raise Unsupported(f"a matrix of {len(given)} rows")
    root = filled(0)(given.shape)
    for i, j in zip(*np.tril_indices(len(given)), strict=True):
        rest = given[i, j] - sum((root[i, k] * root[j, k] for k in range(j)), Ball(0))
        root[i, j] = rest.sqrt() if i == j else rest / root[j, j]
    return root


def _singular_values(matrix: Any, compute_uv: bool = True) -> np.ndarray:
    if compute_uv:
        raise Unsupported("singular vectors")
    return np.array([value.sqrt() for value in _eigenvalues(matrix.T @ matrix)[::-1]], dtype=object)


def _norm(values: Any, ord: Any = None, axis: int | None = None, keepdims: bool = False) -> Any:
    made = array(values, dtype=Float)
    if axis is not None or made.ndim == 1:
        if ord not in (None, 2):
            sizes = np.abs(made)
            if ord not in (1, np.inf):
                raise Unsupported(f"the norm of order {ord}")
            return sizes.sum(axis=axis, keepdims=keepdims) if ord == 1 else sizes.max(axis=axis, keepdims=keepdims)
        squares = (made * made).sum(axis=axis, keepdims=keepdims)
        return np.sqrt(squares) if isinstance(squares, np.ndarray) else Ball(squares).sqrt()
    if keepdims or made.ndim != 2:
        raise Unsupported("the norm of several matrices")
    if ord in (None, "fro"):
        return (made * made).sum().sqrt()
    if ord == 2:
        return _eigenvalues(made.T @ made)[-1].sqrt()
    if ord not in (1, np.inf):
        raise Unsupported(f"the norm of order {ord}")
    return np.abs(made).sum(axis=0 if ord == 1 else 1).max()


def _orthogonal(matrix: Any, mode: str = "reduced") -> Any:
    """Q and R of a matrix of full column rank, R with a positive diagonal; R alone for the mode "r"."""
    if mode not in ("reduced", "r"):
        raise Unsupported(f"Q and R of the mode {mode}")
    made = array(matrix, dtype=Float)
    upper = _triangle(made.T @ made).T
    return upper if mode == "r" else (made @ _inverse(upper), upper)


def _matrix_power(matrix: Any, exponent: int) -> np.ndarray:
    result = np.eye(len(matrix), dtype=int).astype(object)
    for _ in range(exponent):
        result = result @ matrix
    return result


def _rank(matrix: Any) -> int:
    """Of a matrix of rational numbers, exactly."""
    return int(fmpq_mat([[_exact(entry) for entry in row] for row in np.atleast_2d(matrix)]).rank())


def _exact(entry: Any) -> fmpq:
    exact = Ball(entry).exact
    if exact is None:
        raise Unsupported("the rank of a matrix that is not rational")
    return exact


LINALG = Library(
    "numpy.linalg",
    norm=_norm,
    solve=_solve,
    inv=_inverse,
    det=lambda matrix: Ball(_matrix(matrix).det()),
    eigvalsh=_eigenvalues,
    cholesky=_triangle,
    svd=_singular_values,
    qr=_orthogonal,
    matrix_power=_matrix_power,
    matrix_rank=_rank,
    LinAlgError=np.linalg.LinAlgError,
)
SCIPY_LINALG = Library(
    "scipy.linalg",
    cholesky=lambda matrix, lower=False: _triangle(matrix) if lower else _triangle(matrix).T,
    solve=_solve,
    solve_triangular=lambda matrix, right, lower=False: _solve((np.tril if lower else np.triu)(matrix), right),
    inv=_inverse,
    toeplitz=lambda column, row=None: _toeplitz(column, row),
)
