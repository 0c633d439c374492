"""One mechanism for spectra that are not known: the least of the largest ratio over a family of problems.

V is linear in G, so max_i V_i / o_i over problems with references o_i is the largest value over mixtures sum mu_i G_i /
o_i, and for every mu the lower bound of the mixture is one for the minimax ratio (source: dpbounds).

>>> len(default_family(Objective(np.ones(4), 8, eta=0.1)))
6
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.dense import dense_dual
from dpbounds.ftrl.design.duality import LARGEST_DENSE
from dpbounds.ftrl.design.fitting import fit_minimax_blt, fit_scaled_blt
from dpbounds.ftrl.design.mechanisms import ScaledBlt
from dpbounds.ftrl.design.objective import Objective
from dpbounds.values import Value

# Exponents of the spectra k^{-a} of the default family; directions of a two-level spectrum at the top, its lower level.
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0)
TOP, LOW = 1.0 / 16.0, 0.01
# How near to its best the search for a bound comes.
TOLERANCE = 1e-4


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Robust:
    """A mechanism for a family of problems.

    `ratios`: value of each problem over its reference, the value of a mechanism designed for it alone. `weights`: a
    mixture of the problems that is as hard as the worst of them, from which `bound` comes.
    """

    mechanism: ScaledBlt
    family: tuple[Objective, ...] = field(repr=False)
    references: Float[np.ndarray, " n"] = field(repr=False)
    ratios: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"] = field(repr=False)

    @property
    def worst(self) -> float:
        """The largest ratio."""
        return float(self.ratios.max())

    @cached_property
    def bound(self) -> Value:
        """What no mechanism's largest ratio is below, for these references; dense, `DomainError` beyond 2048 steps."""
        T = self.family[0].steps
        if T > LARGEST_DENSE:
            raise DomainError("steps", T, f"at most {LARGEST_DENSE} for the bound of a mixture")
        shares = self.weights / self.references
        mixture = sum(share * one.gram() for share, one in zip(shares, self.family, strict=True))
        return dense_dual(np.asarray(mixture), TOLERANCE).bound.value


@typed
def robust(objective: Objective, *, family: Sequence[Objective] | None = None, buffers: int = 6) -> Robust:
    """The scaled BLT of least largest ratio over `family`, by default `default_family(objective)`; one participation.

    Raises `DomainError` for an empty family, problems of different lengths, momentum.
    """
    problems = default_family(objective) if family is None else tuple(family)
    if not problems or any(one.steps != objective.steps for one in problems):
        raise DomainError("family", f"{len(problems)} objectives", f"one or more, all of {objective.steps} steps")
    own = [fit_scaled_blt(one, buffers) for one in problems]
    references = np.array([one.noise_power(mechanism) for one, mechanism in zip(problems, own, strict=True)])
    mechanism, weights = fit_minimax_blt(problems, references, buffers)
    ratios = np.array([one.noise_power(mechanism) for one in problems]) / references
    return Robust(mechanism=mechanism, family=problems, references=references, ratios=ratios, weights=weights)


@typed
def default_family(objective: Objective) -> tuple[Objective, ...]:
    """`objective` with the spectra k^{-a}, a = 0, 1/2, 1, 3/2, 2, and two levels, of its dimension and largest
    eigenvalue. A spectrum under which its steps would not contract is stretched no further than they do: left out.
    """
    d, largest = len(objective.eigenvalues), float(objective.eigenvalues.max())
    spectra = [np.arange(1.0, d + 1.0) ** -exponent for exponent in EXPONENTS]
    spectra.append(np.where(np.arange(d) < max(1.0, TOP * d), 1.0, LOW))
    made = []
    for spectrum in spectra:
        try:
            made.append(replace(objective, eigenvalues=largest * spectrum))
        except DomainError as error:
            if error.parameter not in ("eta", "schedule"):
                raise
    return tuple(made)
