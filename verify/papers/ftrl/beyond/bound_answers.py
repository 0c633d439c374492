"""What `dpbounds solve ftrl` says of strongly convex losses: the row of a bound, what a search finds, and rows that
were changed after they were saved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpbounds import AccuracyError, Value
from dpbounds.circle.balls import allowance
from dpbounds.ftrl import correlations
from dpbounds.ftrl.mechanisms import Mechanism, named_correlation, names_of, search_of
from dpbounds.ftrl.strongly_convex import (
    ConvexBound,
    Noise,
    Program,
    StronglyConvex,
    bound,
    bound_row,
    recertify,
    tightest,
)
from dpbounds.ftrl.strongly_convex.answers import ENDS, condition_number, contradiction, least_work
from dpbounds.ftrl.strongly_convex.programs import ProgramName
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.ftrl.beyond import best_noises
from verify.statements.claims import Claim

CONVEX, SMOOTH, ETA, BUDGET = 0.3, 2.5, 0.2, 1.3
LAGS = 3
# L / (L / kappa) is another float than kappa for the first two.
KAPPAS = (4.9, 7.3, 3.0, 1.0, 1e6 / 7)


def _problem() -> StronglyConvex:
    return StronglyConvex(mu=CONVEX, L=SMOOTH, eta=ETA, rho=BUDGET, d=2, clip_norm=1.7, sigma_sgd=0.6)


def _bounds() -> Iterator[tuple[str, ConvexBound]]:
    """One whose tightest end is each of the three, with a loose value where the program's is never that loose."""
    program: dict[str, Any] = {"max_lag": LAGS, "program": "f"}
    yield "co_coercivity", bound(correlations.independent(), _problem(), **program)
    yield "program", bound(correlations.nu(0.06), _problem(), **program)
    found = bound(correlations.nu(0.06), _problem(), certify=False, **program)
    yield "program", found
    yield "contraction", replace(found, value=Value(1e9, kind="estimate", source="ours", convention="F - F*"))


def _rows(
    rng: np.random.Generator, factor: float = 1.0, row_of: Callable[[ConvexBound], dict[str, Any]] = bound_row
) -> Iterator[Fact | Within | Holds]:
    """Ends as stored: at or outside what was proved, by no more than 2e-12; their quotient; which is the tightest."""
    for name, found in _bounds():
        row, label = row_of(found), f"{name}, {found.value.kind}"
        ends = {"program": found.value, **found.simple_by_name}
        least = min(ends, key=lambda key: float(ends[key]))
        yield Fact(f"tightest, {label}", row["tightest"], least, 0)
        yield Holds(f"that one, {label}", row["tightest"] == name)
        stored = {"program": row["value"], **{key: row[key] for key in found.simple_by_name}}
        for key, value in ends.items():
            excess = stored[key] / float(value) - 1
            yield Within(f"stored {key} over what was found, less 1, {label}", excess, factor * 1e-13, 2e-12)
        yield Within(f"lower less what is stored, {label}", 1 - row["lower"] / float(found.lower), 1e-13, 2e-12)
        yield Fact(f"upper, {label}", row["upper"], factor * float(ends[least]), 1e-11)
        width = float(ends[least]) - float(found.lower)
        yield Fact(f"gap, {label}", row["gap"], factor * width, 1e-10)
        yield Fact(f"ratio, {label}", row["ratio"], factor * float(ends[least]) / float(found.lower), 1e-11)
        proved = found.value.enclosure is not None and found.lower.enclosure is not None
        yield Fact(f"status, {label}", row["status"], "certified" if proved else "estimate", 0)
    for name, source in (("f", "dpbounds, program f"), ("paper", "ftrl eq. (10) as printed")):
        for certify in (True, False):
            options: dict[str, Any] = {"program": name, "max_lag": 1, "certify": certify}
            found = bound(correlations.independent(), _problem(), **options)
            yield Holds(f"source of {name}, certify {certify}", found.value.source == source)
    printed = row_of(bound(correlations.independent(), _problem(), program="paper", max_lag=LAGS))
    yield Fact("as printed", [printed["status"], printed.get("upper")], ["not a bound", None], 0)


def _of_the_program(found: ConvexBound) -> dict[str, Any]:
    """A row whose upper end is the program's, also where another bound is tighter."""
    row = bound_row(found)
    return {**row, "upper": row["value"], "ratio": row["value"] / row["lower"], "gap": row["value"] - row["lower"]}


def _searches(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """No nu of a grid has a tighter bound than the best; the optimum is tighter than that for program f."""
    problem = StronglyConvex(mu=0.5, L=1.0, eta=0.2, rho=0.5, d=2, clip_norm=1.7, sigma_sgd=0.1)
    white = problem.noise(correlations.independent())
    names: tuple[ProgramName, ...] = ("f", "theta")
    for name in names:
        program = problem.program(name)
        options: dict[str, Any] = {"max_lag": LAGS, "certify": False}
        best, optimum = (tightest(white, program, search, **options) for search in ("nu", "correlation"))
        scanned = []
        for nu in (*np.geomspace(0.01, 0.9, 12), 1.0):
            correlation = correlations.nu(float(nu)) if nu < 1 else correlations.independent()
            scanned.append(float(tightest(problem.noise(correlation), program, **options).best))
        yield Within(f"best nu over the least of a scan, {name}", factor * float(best.best) / min(scanned), 0.9, 1.0005)
        most = 0.9999 if name == "f" else 1.0
        yield Within(f"optimum over best nu, {name}", float(optimum.best) / float(best.best), 0.9, most)
        kept = isinstance(best.noise, Noise) and replace(best.noise, correlation=white.correlation) == white
        yield Holds(f"the search keeps budget and class, {name}", kept and best.program == program)
    printed = tightest(white, problem.program("paper"), "nu", max_lag=LAGS, certify=False)
    best = tightest(white, problem.program("theta"), "nu", max_lag=LAGS, certify=False)
    yield Fact("eq. (10) as printed, program", printed.program.name, "paper", 0)
    yield Holds("eq. (10) as printed is at the nu of theta", printed.noise == best.noise != white)


CHANGES: Mapping[str, Any] = {
    "lower": lambda row: row["lower"] * (1 + 1e-12),
    "upper": lambda row: row["upper"] * (1 - 1e-12),
    "value": lambda row: row["value"] * 1.001,
    "contraction": lambda row: None,
    "co_coercivity": lambda row: str(row["co_coercivity"]),
    "gap": lambda row: row["gap"] * (1 + 1e-12),
    "ratio": lambda row: 1.0,
    "tightest": lambda row: "program",
    "status": lambda row: "estimate",
}


def _changed(
    rng: np.random.Generator, proved: bool = True, judge: Callable[..., str] = contradiction
) -> Iterator[Holds]:
    """Each number and word of a row that was saved, changed by as little as tells, with what follows from it."""
    found = bound(correlations.independent(), _problem(), max_lag=LAGS, program="f")
    row = bound_row(found)
    again = bound_row(recertify(found.data()))
    yield Holds("a row that was saved follows from its certificate", not judge(row, again))
    for name in CHANGES:
        forged = _forged(row, name, CHANGES[name](row))
        said = judge(forged, again if proved else forged)
        yield Holds(f"a changed {name} is refused and named", said.startswith(f"{name} is not"))
    further = row["upper"] * (1 + 1e-8)
    apart = _forged(row, "upper", further)
    yield Holds("an end a little further out than its own bound is refused", judge(apart, again).startswith("upper"))
    tightest = "value" if row["tightest"] == "program" else row["tightest"]
    yield Holds("both a little further out still follow", not judge({**apart, tightest: further}, again))
    yield Holds("what is free may be anything", not judge({**row, "value": 0.0}, again, free=("value",)))


def _forged(row: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The row with another value; with another end, gap and ratio are those of the ends again."""
    changed = {**row, name: value}
    if name in ("lower", "upper"):
        lower, upper = changed["lower"], changed["upper"]
        changed |= {"gap": upper - lower, "ratio": upper / lower}
    return changed


def _any_end(stored: Mapping[str, Any], proved: Mapping[str, Any], free: Collection[str] = ()) -> str:
    """A judge that accepts ends outside what was proved."""
    return contradiction(stored, proved, (*free, *ENDS))


def _any_quotient(stored: Mapping[str, Any], proved: Mapping[str, Any], free: Collection[str] = ()) -> str:
    """A judge that accepts a gap and a ratio that are not those of the ends."""
    return contradiction(_forged(stored, "upper", stored["upper"]), proved, free)


def _condition_numbers(
    rng: np.random.Generator, rule: Callable[[Program, Any], float] = condition_number
) -> Iterator[Fact]:
    """kappa as it was given, where mu = L / kappa is rounded; L / mu for a kappa that is not its own."""
    for kappa in KAPPAS:
        program = Program(name="f", mu=SMOOTH / kappa, L=SMOOTH, eta=ETA)
        yield Fact(f"kappa = {kappa:g}", rule(program, kappa), kappa, 0)
        for other in (kappa + 1e-3, "49", 0.5, None):
            yield Fact(f"{other} for {kappa:g}", rule(program, other), program.L / program.mu, 0)


def _by_name(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """First weights of the mechanisms from their definitions, and the names that they may go by."""
    decay, damping = 0.05, 0.2
    powers = np.cumprod([1.0, *((k - 1.5) / k for k in range(1, 5))])  # of (1 - z)^(1/2)
    given = [1.0, -0.3, 0.1, 0.0, 0.0]
    expected: dict[Mechanism, Any] = {
        "sgd": [1.0, 0, 0, 0, 0],
        "nu": powers * (1 - damping) ** np.arange(5),
        "optimal-counting": powers,
        "anti-pgd": [1.0, -1.0, 0, 0, 0],
        "damped-anti-pgd": [1.0, damping - 1, 0, 0, 0],
        "coefficients": given,
    }
    for mechanism, weights in expected.items():
        found = named_correlation(mechanism, decay, damping=damping, weights=given[:3])
        yield Fact(mechanism, found.coefficients(5), factor * np.asarray(weights, dtype=float), 1e-11)
        if mechanism not in ("optimal-counting", "anti-pgd"):  # whose gamma_inf is infinite: no bound holds
            yield Holds(f"{mechanism} goes by its name", mechanism in names_of(found))
    yield Fact("names of two weights", names_of(correlations.from_coefficients(given[:2])), ("coefficients",), 0)
    usual = named_correlation("nu", decay).coefficients(2)[1]
    yield Fact("nu where no damping is given", usual, -factor * (1 - decay) / 2, 1e-12)
    searched = [search_of("nu"), search_of("nu", 0.1), search_of("best-nu", 0.1), search_of("optimal")]
    yield Fact("what is searched for", searched, ["nu", None, "nu", "correlation"], 0)


def _costs(rng: np.random.Generator, share: float = 1.0) -> Iterator[Holds]:
    """No proof ends within its least work; each does within 4 times that."""
    stiff = StronglyConvex(mu=0.01, L=1.0, eta=0.1, rho=BUDGET)  # which uses all 40 lags
    for problem, lags in ((_problem(), 0), (_problem(), LAGS), (stiff, 40)):
        data = bound(correlations.independent(), problem, max_lag=lags, program="f").data()
        least = least_work(len(data["multipliers"]))
        yield Holds(f"not within the least work, {lags} lags", not _ends(data, int(share * least)))
        yield Holds(f"within 4 times that, {lags} lags", _ends(data, 4 * least))


def _ends(data: Mapping[str, Any], units: int) -> bool:
    with allowance(units):
        try:
            recertify(data)
        except AccuracyError:
            return False
    return True


ANSWERS = Claim(
    id="ftrl/beyond-bound-answers",
    where="`solve ftrl` for strongly convex losses",
    kind="algorithm",
    statement=(
        "The row of a bound has the tightest of its ends, a little outside what was proved, and says which that is;",
        (
            "the best $nu$ is as good as any $nu$ of a grid and the optimal correlation as good as that, "
            "whose search makes the half steps of its definition, or starts at the best $nu$ for half powers;"
        ),
        "a row that was changed after it was saved is refused by the name of what was changed, its $kappa$ too;",
        "mechanisms have the weights of their definitions;",
        "no proof costs less than the least that is said of it.",
    ),
    setting=(
        "$mu = 0.3$, $L = 2.5$, $eta = 0.2$, $rho = 1.3$, $d = 2$, $G = 1.7$, $sigma_s = 0.6$; 3 lags each side. "
        "Searches: $mu = 0.5$, $L = 1$, $rho = 0.5$, $sigma_s = 0.1$, where correlated noise is the better one. "
        "Costs: also $mu = 0.01$, $L = 1$, $eta = 0.1$ with 40 lags."
    ),
    checks=(
        Agreement(
            decides="a",
            facts=_rows,
            impostors={
                "1 % more": {"facts": {"factor": 1.01}},
                "the program's end, always": {"facts": {"row_of": _of_the_program}},
            },
        ),
        Agreement(decides="b", facts=best_noises.alternations, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=best_noises.dampings, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=best_noises.half_powers, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_searches, impostors={"1 % worse": {"facts": {"factor": 1.01}}}),
        Agreement(
            decides="c",
            facts=_changed,
            impostors={
                "compared with itself": {"facts": {"proved": False}},
                "any end": {"facts": {"judge": _any_end}},
                "any gap and ratio": {"facts": {"judge": _any_quotient}},
            },
        ),
        Agreement(
            decides="c",
            facts=_condition_numbers,
            impostors={
                "as stored": {"facts": {"rule": lambda program, stored: stored}},
                "always L over mu": {"facts": {"rule": lambda program, stored: program.kappa}},
            },
        ),
        Agreement(decides="d", facts=_by_name, impostors={"1 % more": {"facts": {"factor": 1.01}}}),
        Agreement(decides="e", facts=_costs, impostors={"twice as much": {"facts": {"share": 2.0}}}),
    ),
)
