"""The noise that a mechanism declares: its family, and its scale where it is known.

>>> gaussian(4.0).scales(3).tolist(), laplace([1.0, 2.0]).scales(2).tolist()
([2.0, 2.0, 2.0], [1.0, 2.0])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, real_array

Family = Literal["gaussian", "laplace", "discrete", "unknown"]


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseLaw:
    """A family and, for Gaussian and Laplace noise, what is declared of its size.

    - `scale`: standard deviation (Gaussian) or b (Laplace, density e^{-|x|/b}/(2b)), one number or one per output; None
      where only the family is declared.
    - `covariance`: of Gaussian noise, a matrix: over all outputs, or over the rows of outputs of shape (T, d) whose
      columns are independent.
    """

    family: Family
    scale: np.ndarray | None = None
    covariance: np.ndarray | None = None

    def __post_init__(self) -> None:
        choice("law", self.family, get_args(Family))
        if self.scale is not None:
            scale = np.atleast_1d(real_array("scale", self.scale))
            if scale.ndim != 1 or not (np.isfinite(scale).all() and (scale > 0).all()):
                raise DomainError("scale", self.scale, "finite numbers above 0, one or one per output")
            object.__setattr__(self, "scale", scale)
        if self.covariance is not None:
            object.__setattr__(self, "covariance", _covariance(self.covariance))

    @property
    def continuous(self) -> bool:
        """Whether single values have no probability."""
        return self.family in ("gaussian", "laplace")

    @property
    def sized(self) -> bool:
        """Whether a scale or covariance is declared."""
        return self.scale is not None or self.covariance is not None

    def content(self) -> dict[str, Any]:
        """As JSON data, which `law_of` reads."""
        sizes = {name: getattr(self, name) for name in ("scale", "covariance")}
        return {"family": self.family} | {name: size.tolist() for name, size in sizes.items() if size is not None}

    def scales(self, outputs: int) -> np.ndarray:
        """Scale of each of so many outputs; ones where none is declared. Raises `DomainError` if the numbers differ."""
        if self.scale is None:
            return np.ones(outputs)
        if len(self.scale) not in (1, outputs):
            raise DomainError("scale", f"{len(self.scale)} numbers", f"1 or {outputs}, as many as there are outputs")
        return np.broadcast_to(self.scale, (outputs,)).astype(float)

    def whitened(self, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Differences or shifts (k, outputs) in declared units: independent with scale 1 if the law is as declared."""
        if self.covariance is None:
            return rows / self.scales(rows.shape[1])
        factor, size = np.linalg.cholesky(self.covariance), len(self.covariance)
        if size == rows.shape[1]:
            return np.linalg.solve(factor, rows.T).T
        if len(shape) == 2 and size == shape[0]:
            return np.stack([np.linalg.solve(factor, row.reshape(shape)).ravel() for row in rows])
        raise DomainError("covariance", f"{size} x {size}", f"a matrix over the outputs or rows of shape {shape}")


def gaussian(covariance: Any = None, *, scale: Any = None) -> NoiseLaw:
    """Gaussian noise: `covariance` is a variance, variances, or a matrix; or `scale`, standard deviations; or neither.

    Raises `DomainError` for both, and for what is no covariance.
    """
    if covariance is None or scale is not None:
        if covariance is not None:
            raise DomainError("scale", scale, "left out beside covariance")
        return NoiseLaw(family="gaussian", scale=scale)
    given = real_array("covariance", covariance)
    if given.ndim < 2:
        if not (np.isfinite(given).all() and (given > 0).all()):
            raise DomainError("covariance", covariance, "finite variances above 0")
        return NoiseLaw(family="gaussian", scale=np.sqrt(given))
    return NoiseLaw(family="gaussian", covariance=given)


def laplace(scales: Any = None) -> NoiseLaw:
    """Laplace noise of these scales b, one or one per output, or of an undeclared one."""
    return NoiseLaw(family="laplace", scale=scales)


def law_of(law: Any) -> NoiseLaw:
    """A `NoiseLaw` from itself, its `content` or the name of a family. Raises `DomainError` for anything else."""
    if isinstance(law, NoiseLaw):
        return law
    if isinstance(law, Mapping) and {"family"} <= set(law) <= {"family", "scale", "covariance"}:
        return NoiseLaw(**law)
    if isinstance(law, str):
        return NoiseLaw(family=choice("law", law, get_args(Family)))  # pyright: ignore[reportArgumentType]
    raise DomainError("law", law, f"one of {', '.join(get_args(Family))}, or what gaussian(...), laplace(...) give")


def _covariance(given: Any) -> np.ndarray:
    matrix = real_array("covariance", given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise DomainError("covariance", f"an array of shape {matrix.shape}", "a square matrix of finite numbers")
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max() or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise DomainError("covariance", "not symmetric or not positive definite", "a positive definite matrix")
    return matrix
