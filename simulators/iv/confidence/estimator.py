"""A private estimate with a confidence set that holds, by scikit-learn's conventions; found in `dpbounds.private`.

>>> import numpy as np
>>> z = np.arange(2000) % 2
>>> model = InstrumentalVariables(mu=50.0, bounds={"y": (-1, 1), "x": (-1, 1)}, instrument_means={"z": 0.5}, seed=1)
>>> model.fit({"z": z, "x": z - 0.5, "y": 0.5 * z}, outcome="y", regressors="x", instruments="z")
InstrumentalVariables(bounds={'y': (-1, 1), 'x': (-1, 1)}, instrument_means={'z': 0.5}, mu=50.0, seed=1)
>>> model.coef_.round(2).tolist(), 0.5 in model.confidence_set_, round(model.length_ratio_, 2)
([0.5], True, 1.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpbounds.errors import DomainError, real_array
from dpbounds.iv.confidence import Adjacency, PrivacyBudget, ReleasePlan
from dpbounds.iv.confidence.plan import Clamping, ReleaseDesign, Sampler
from simulators.iv.confidence.disclosing import private_answer
from simulators.parameters import Parameters

# What columns are called that come as arrays: alone in their role, or with their number, from 1 on.
ROLES = {"regressors": "regressor", "instruments": "instrument", "controls": "control"}


class InstrumentalVariables(Parameters):
    """A private release of instrumental-variable moments, and the confidence set of the coefficient read off it.

    The set is where an Anderson-Rubin test that knows the noise does not reject: it covers with weak instruments too.
    Parameters are those of `dpbounds.iv.confidence.ReleasePlan`, with the budget as one of `epsilon` (with `delta`),
    `mu` (Gaussian DP) and `rho` (zCDP); they are stored as they are and checked by `fit`. The release is private for
    data sets of n records that differ in one (`adjacency`), if bounds and all other parameters were chosen without
    these records.

    With `seed` = None noise comes from the operating system's entropy and nobody can draw it again; **with a seed, or
    with `public`, what comes out is a reproducible study and not private.** Noise of floats has known holes for who
    sees every bit; `noise` = "opendp" has none.

    After `fit`: `coef_` (1,), the point estimate; `confidence_set_`; `length_ratio_`, the predicted length of the set
    over that without privacy, and `n_star_`; `first_stage_` (None for design s); `release_`, from which other
    coefficients can be tested without spending more; `budget_`, what each part cost, and `mu_`, `epsilon_`, what all
    cost together; `private_`; `plan_`; and `answer_`, whose `row()` is what the command prints.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        mu: float | None = None,
        rho: float | None = None,
        adjacency: Adjacency = "replace-one",
        bounds: Mapping[str, Any] | None = None,
        instrument_means: Mapping[str, float] | None = None,
        instrument_bound: float | None = None,
        design: ReleaseDesign = "u",
        level: float = 0.95,
        honest: bool = False,
        certify: bool = False,
        clamping: Clamping | None = None,
        independent: bool = False,
        heterogeneity: float = 1.0,
        regressor_clamped: bool = False,
        beta: float | None = None,
        grid: Sequence[float] | None = None,
        noise: Sampler = "numpy",
        public: bool = False,
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mu = mu
        self.rho = rho
        self.adjacency = adjacency
        self.bounds = bounds
        self.instrument_means = instrument_means
        self.instrument_bound = instrument_bound
        self.design = design
        self.level = level
        self.honest = honest
        self.certify = certify
        self.clamping = clamping
        self.independent = independent
        self.heterogeneity = heterogeneity
        self.regressor_clamped = regressor_clamped
        self.beta = beta
        self.grid = grid
        self.noise = noise
        self.public = public
        self.seed = seed

    def fit(
        self, data: Any = None, *, outcome: Any, regressors: Any, instruments: Any, controls: Any = None
    ) -> InstrumentalVariables:
        """Release, and read the release; **every call without a seed spends the budget again**.

        With `data`, a data frame or a mapping of columns, the others are names of its columns, one or several each.
        Without, they are arrays: outcome (n,), regressors (n,) or (n, 1), instruments (n,) or (n, q), controls (n,) or
        (n, k). Those columns are called outcome, regressor, instrument, control in `bounds` and `instrument_means`, or
        instrument_1, instrument_2, ... where a role has several. Controls are columns of few values, public for every
        record. Raises `DomainError` for parameters and columns that cannot be used.
        """
        roles: dict[str, Any] = {"regressors": regressors, "instruments": instruments, "controls": controls}
        roles = {role: () if values is None else values for role, values in roles.items()}
        if data is None:
            named = {role: _named(role, values) for role, values in roles.items()}
            plan = self.plan(outcome="outcome", **{role: tuple(columns) for role, columns in named.items()})
            arrays = {"outcome": outcome} | {name: one for columns in named.values() for name, one in columns.items()}
            return self._keep(plan, arrays)
        plan = self.plan(outcome=outcome, **roles)
        return self._keep(plan, {name: _column(data, name) for name in plan.columns})

    def plan(self, *, outcome: str, regressors: Any, instruments: Any, controls: Any = ()) -> ReleasePlan:
        """The parameters with names of columns, one or several each, as one plan, which is checked.

        What to expect of it, without data, is for `dpbounds.iv.confidence.expected_prices`.
        """
        own = self.get_params()
        budget = PrivacyBudget(**{name: own.pop(name) for name in ("epsilon", "mu", "rho", "delta")})
        own["bounds"] = {} if own["bounds"] is None else own["bounds"]
        roles = {"regressors": regressors, "instruments": instruments, "controls": controls}
        names = {role: (name,) if isinstance(name, str) else name for role, name in roles.items()}
        return ReleasePlan(outcome=outcome, **names, budget=budget, **own)

    def _keep(self, plan: ReleasePlan, columns: Mapping[str, Any]) -> InstrumentalVariables:
        answer = private_answer(plan, columns)
        self.plan_, self.answer_, self.private_ = plan, answer, plan.private
        self.coef_ = np.array([answer.point])
        self.confidence_set_, self.first_stage_ = answer.confidence_set, answer.reading.first_stage
        self.length_ratio_, self.n_star_ = answer.price.ratio, answer.n_star
        self.release_, self.budget_ = answer.disclosure.release, tuple(answer.disclosure.budget)
        self.mu_, self.epsilon_ = plan.budget.gdp, plan.budget.epsilon_at_delta
        return self


def _named(role: str, values: Any) -> dict[str, np.ndarray]:
    """The columns of an array, (n,) or (n, k), by the names that they go by."""
    array, name = real_array(role, values), ROLES[role]
    if not array.size:
        return {}
    if array.ndim not in (1, 2):
        raise DomainError(role, f"an array of shape {array.shape}", "of shape (n,) or (n, k)")
    columns = np.atleast_2d(array.T)
    return {name if len(columns) == 1 else f"{name}_{k}": column for k, column in enumerate(columns, start=1)}


def _column(data: Any, name: str) -> Any:
    """A column of a data frame or a mapping."""
    try:
        return np.asarray(data[name])
    except (KeyError, IndexError, TypeError) as error:
        raise DomainError("column", name, "a column of the data", " ".join(str(error).split())) from None
