"""What is asked of a noise or a search, as one row of plain numbers, and whether a row that was stored says no more.

Ends are stored a little outside what was found (`bounds.outwards`), so that a row that is computed again on another
machine still follows.

>>> from dpbounds.ftrl.correlations import independent
>>> problem = StronglyConvex(mu=0.2, L=1.0, eta=0.1, rho=0.5)
>>> row = bound_row(tightest(problem.noise(independent()), problem.program("causal"), max_lag=0))
>>> row["status"], row["tightest"], round(row["ratio"], 3)
('certified', 'program', 1.343)
>>> contradiction({**row, "upper": 0.9 * row["upper"]}, row)
'upper is not what its certificate proves'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from dpbounds.arguments import typed
from dpbounds.circle.balls import OVERHEAD
from dpbounds.ftrl.mechanisms import Search
from dpbounds.ftrl.strongly_convex.bounds import MAX_LAG, NODES, ConvexBound, bound_program, outwards, proves
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.optimise import Provable, best_nu, optimize_correlation
from dpbounds.ftrl.strongly_convex.programs import Program, least_curvature
from dpbounds.ftrl.strongly_convex.quadratic import Simple
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex

# Ends of a row, by side; `gap` and `ratio` follow from them.
ENDS: dict[str, Literal["upper", "lower"]] = {
    "lower": "lower",
    "value": "upper",
    "upper": "upper",
    "contraction": "upper",
    "co_coercivity": "upper",
}
# What rows without a proof say of themselves.
UNPROVED = ("estimate", "failed", "not a bound")
# In evaluations: a proof in floats takes 3570 of a quarter of the work of one in balls, and no noise is cheaper.
LEAST_EVALUATIONS = 1_000


@typed
def tightest(
    noise: Noise,
    program: Program,
    search: Search | None = None,
    *,
    max_lag: int = MAX_LAG,
    certify: bool = True,
    nodes: int = NODES,
) -> ConvexBound:
    """The bound of a noise, or of the best that is found in its place with the same budget.

    The best nu, or the optimal correlation, or simpler noise where that is better; `paper` has no search of its own and
    is evaluated at what is best for `theta`. Arguments and errors as `bounds.bound`.
    """
    options: dict[str, Any] = {"max_lag": max_lag, "certify": certify, "nodes": nodes}
    if search is not None:
        problem, own = StronglyConvex.of(program, noise), program.name
        provable: Provable = "theta" if own == "paper" else own
        if search == "nu":
            found = best_nu(problem, program=provable, **options).bound
        else:
            found = optimize_correlation(problem, program=provable, **options).tightest
        if found.program == program:
            return found
        noise = found.noise if isinstance(found.noise, Noise) else noise
    return bound_program(noise, program, **options)


@typed
def bound_row(found: ConvexBound) -> dict[str, Any]:
    """Ends, a little outside what was found: `upper` is the tightest of the program's `value` and the bounds that need
    no program, `tightest` says which, `ratio` is upper / lower; `status` is certified, estimate or not a bound.

    The program as printed bounds nothing: its row has no `upper`.
    """
    lower = outwards(float(found.lower), "lower")
    row: dict[str, Any] = {"lower": lower, "value": outwards(float(found.value), "upper")}
    row |= {name: outwards(float(value), "upper") for name, value in found.simple_by_name.items()}
    if found.program.name == "paper":
        return {**row, "status": "not a bound"}
    ends: dict[Simple | Literal["program"], float] = {"program": float(found.value)}
    ends |= {name: float(value) for name, value in found.simple_by_name.items()}
    name = min(ends, key=lambda name: ends[name])
    upper = outwards(ends[name], "upper")
    status = "certified" if found.is_certified else "estimate"
    return {**row, "upper": upper, "gap": upper - lower, "ratio": upper / lower, "tightest": name, "status": status}


def contradiction(stored: Mapping[str, Any], proved: Mapping[str, Any], free: Collection[str] = ()) -> str:
    """How a stored row says something else, or more, than the one that was proved again; "" if it does not.

    Ends must follow from the proved ones and not be much worse, the upper one be the tightest of the stored bounds, gap
    and ratio be those of the stored ends, the rest be equal but for what is `free`.
    """
    for name, value in proved.items():
        given = stored.get(name)
        if name in ("gap", "ratio", *free):
            continue
        if name in ENDS and value is not None:
            follows = isinstance(given, float) and proves(value, given, ENDS[name])
        else:
            follows = given == value and isinstance(given, bool) == isinstance(value, bool)
        if not follows:
            return f"{name} is not what its certificate proves"
    lower, upper = stored["lower"], stored["upper"]
    tightest = "value" if stored["tightest"] == "program" else stored["tightest"]
    if tightest not in free and upper != stored[tightest]:
        return "upper is not its tightest bound"
    derived = {"gap": upper - lower, "ratio": upper / lower}
    return next((f"{name} is not that of its ends" for name, value in derived.items() if stored[name] != value), "")


def condition_number(program: Program, stored: Any) -> float:
    """The stored one if mu is L over it, which L / mu misses by rounding; else L / mu."""
    if isinstance(stored, float) and stored >= 1 and least_curvature(program.L, stored) == program.mu:
        return stored
    return program.kappa


def least_work(multipliers: int) -> int:
    """What proving a bound of so many multipliers costs at the least, in the units of `dpbounds.circle.balls.work`."""
    return LEAST_EVALUATIONS * (OVERHEAD + multipliers // 2)
