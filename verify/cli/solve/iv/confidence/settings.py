"""The arguments of `dpbounds solve iv --confidence` as a plan."""

from __future__ import annotations

from argparse import Namespace

from dpbounds import DomainError
from dpbounds.iv.confidence import PrivacyBudget, ReleasePlan
from verify.cli.solve.iv.confidence import texts
from verify.cli.solve.iv.confidence.arguments import ALGORITHM_OPTIONS, SET_OPTIONS, is_stated

# Options that are parameters of the plan under the same name; left out they are what the plan has by default.
PARAMETERS = ("design", "level", "noise", "clamping", "instrument_bound", "seed", "honest", "certify", "public")
PARAMETERS += ("independent", "heterogeneity", "regressor_clamped")


def release_plan(arguments: Namespace) -> ReleasePlan:
    """`DomainError` names the first argument that is out of its range, or that is missing or of no use."""
    _require_none(arguments, ALGORITHM_OPTIONS, "left out with --confidence")
    for name in ("outcome", "regressors", "instruments"):
        if not getattr(arguments, name):
            raise DomainError(name, "nothing", "given with --confidence", "names of columns")
    stated = {name: getattr(arguments, name) for name in PARAMETERS if getattr(arguments, name) is not None}
    return ReleasePlan(
        outcome=arguments.outcome,
        regressors=arguments.regressors,
        instruments=arguments.instruments,
        controls=arguments.controls or (),
        bounds=texts.bounds(arguments.bounds),
        instrument_means=texts.means(arguments.instrument_means),
        budget=PrivacyBudget(epsilon=arguments.epsilon, mu=arguments.mu, rho=arguments.rho, delta=arguments.delta),
        adjacency=arguments.adjacency,
        beta=_guess(arguments),
        grid=texts.grid(arguments.grid),
        **stated,
    )


def require_without(arguments: Namespace) -> None:
    """`DomainError` for options of the set where no set is wanted."""
    _require_none(arguments, SET_OPTIONS, "left out without --confidence")


def _require_none(arguments: Namespace, names: tuple[str, ...], allowed: str) -> None:
    for name in names:
        if is_stated(getattr(arguments, name)):
            raise DomainError(name, getattr(arguments, name), allowed)


def _guess(arguments: Namespace) -> float | None:
    """`--beta` has a number for each regressor."""
    if arguments.beta is None:
        return None
    if len(arguments.beta) != len(arguments.regressors):
        wanted = f"one for each regressor, {len(arguments.regressors)}"
        raise DomainError("beta", f"{len(arguments.beta)} numbers", wanted)
    return arguments.beta[0]
