"""What `dpbounds solve iv --confidence` is asked: columns, public constants, budget; before any record is read."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import dataclass

from dpbounds import DomainError
from dpbounds.errors import count, within
from dpbounds.iv.confidence import ADJACENCIES, Adjacency
from dpbounds.privacy import gaussian_mu
from verify.cli.solve.iv.confidence import ranges
from verify.cli.solve.iv.confidence.arguments import INSTRUMENT_RANGE, LEVEL, OTHERS, OWN, is_given
from verify.cli.solve.iv.confidence.ranges import Box

# Of the budget mu²: the number of clamped records, and centring, where instruments' means are not public.
CLAMPED_SHARE, CENTRING_SHARE = 0.02, 0.25
MOST_INSTRUMENTS = {"u": 10, "h": 50, "s": 1}
GRID, MOST_GRID = 512, 4096
MOST_RECORDS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that can be answered: `boxes` has the public range of every column that needs one.

    `means` are public means of the instruments, None where they are to be estimated; `mu` is the whole budget;
    `coefficient` a public guess that sets the weights of the columns, None for half the ratio of their ranges.
    """

    outcome: str
    regressors: tuple[str, ...]
    instruments: tuple[str, ...]
    controls: tuple[str, ...]
    boxes: dict[str, Box]
    assumed: tuple[str, ...]
    means: tuple[float, ...] | None
    instrument_bound: float
    mu: float
    epsilon: float | None
    delta: float
    adjacency: Adjacency
    design: str
    level: float
    honest: bool
    certify: bool
    clamping: str
    public: bool
    seed: int | None
    noise: str
    coefficients: tuple[float, ...] | None
    grid: tuple[float, float, int] | None

    @property
    def private(self) -> bool:
        """Whether what is printed is a release: not for public data, nor where the noise can be drawn again."""
        return not self.public and self.seed is None

    @property
    def two_stage(self) -> bool:
        """Whether part of the budget goes into means within cells."""
        return self.means is None or bool(self.controls)

    @property
    def names(self) -> list[str]:
        """Columns that are read, controls last."""
        return [*self.instruments, *self.regressors, self.outcome, *self.controls]


def asked(arguments: Namespace) -> Asked:
    """`DomainError` names the first argument that is out of its range, or that is missing or of no use."""
    _require_none(arguments, OTHERS, "left out with --confidence")
    design = arguments.design or "u"
    outcome, regressors, instruments, controls = _columns(arguments, design)
    boxes, assumed = _boxes(arguments, design, outcome, regressors, instruments)
    means = _means(arguments, instruments, boxes)
    found = Asked(
        outcome=outcome,
        regressors=regressors,
        instruments=instruments,
        controls=controls,
        boxes=boxes,
        assumed=assumed,
        means=means,
        instrument_bound=_instrument_bound(arguments, instruments, boxes, means),
        mu=_budget(arguments),
        epsilon=arguments.epsilon,
        delta=within("delta", arguments.delta, "[1e-300, 1)"),
        adjacency=_adjacency(arguments.adjacency),
        design=design,
        level=within("level", LEVEL if arguments.level is None else arguments.level, "[0.5, 0.9999]"),
        honest=arguments.honest,
        certify=arguments.certify,
        clamping=arguments.clamping or ("natural" if design == "s" else "count"),
        public=arguments.public,
        seed=0 if arguments.public and arguments.seed is None else arguments.seed,
        noise=arguments.noise or "numpy",
        coefficients=_coefficients(arguments, regressors),
        grid=_grid(arguments, design),
    )
    _require_possible(found)
    return found


def require_without(arguments: Namespace) -> None:
    """`DomainError` for options of the set where no set is asked for."""
    _require_none(arguments, OWN, "left out without --confidence")


def _require_none(arguments: Namespace, names: tuple[str, ...], allowed: str) -> None:
    for name in names:
        if is_given(getattr(arguments, name)):
            raise DomainError(name, getattr(arguments, name), allowed)


def _columns(arguments: Namespace, design: str) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Every column in one role."""
    for name in ("outcome", "regressors", "instruments"):
        if not getattr(arguments, name):
            raise DomainError(name, "nothing", "given with --confidence", "names of columns")
    regressors, instruments = tuple(arguments.regressors), tuple(arguments.instruments)
    controls = tuple(arguments.controls or ())
    used: dict[str, str] = {}
    roles = {"outcome": (arguments.outcome,), "regressors": regressors}
    for role, names in {**roles, "instruments": instruments, "controls": controls}.items():
        for name in names:
            if name in used:
                why = "with --confidence controls stand under --controls alone" if role != used[name] else ""
                raise DomainError(role, name, "named once, in one role", why)
            used[name] = role
    if len(instruments) < len(regressors):
        found = f"{len(instruments)} columns"
        raise DomainError("instruments", found, f"at least as many as regressors, {len(regressors)}")
    if len(instruments) > MOST_INSTRUMENTS[design]:
        remedy = {"u": "--design h takes up to 50", "s": "design s is for one randomised instrument"}.get(design, "")
        raise DomainError("instruments", f"{len(instruments)} columns", f"at most {MOST_INSTRUMENTS[design]}", remedy)
    return arguments.outcome, regressors, instruments, controls


def _boxes(
    arguments: Namespace, design: str, outcome: str, regressors: tuple[str, ...], instruments: tuple[str, ...]
) -> tuple[dict[str, Box], tuple[str, ...]]:
    """Ranges by column, and the instruments whose range is assumed."""
    boxes = ranges.boxes(arguments.bounds)
    known = (outcome, *regressors, *instruments)
    strange = [name for name in boxes if name not in known]
    if strange:
        raise DomainError("bounds", strange[0], f"of one of {', '.join(known)}")
    missing = [name for name in (outcome, *regressors) if name not in boxes]
    if missing and design != "s":
        remedy = f"--bounds {missing[0]}=LOW:HIGH, a range known without these records: it is never read from them"
        raise DomainError("bounds", f"none for {missing[0]}", "given for outcome and regressors", remedy)
    assumed = tuple(name for name in instruments if name not in boxes)
    return {**dict.fromkeys(assumed, Box(*INSTRUMENT_RANGE)), **boxes}, assumed


def _means(arguments: Namespace, instruments: tuple[str, ...], boxes: dict[str, Box]) -> tuple[float, ...] | None:
    if arguments.instrument_means is None:
        return None
    found = ranges.means(arguments.instrument_means)
    if set(found) != set(instruments):
        raise DomainError("instrument_means", ", ".join(found), f"one for each of {', '.join(instruments)}")
    for name in instruments:
        box = boxes[name]
        within(f"instrument_means {name}", found[name], f"[{box.low!r}, {box.high!r}]", "its range, see --bounds")
    return tuple(found[name] for name in instruments)


def _instrument_bound(
    arguments: Namespace, instruments: tuple[str, ...], boxes: dict[str, Box], means: tuple[float, ...] | None
) -> float:
    """By default the furthest that instruments reach, in half-widths of their ranges."""
    given = arguments.instrument_bound
    if means is None:
        return math.sqrt(len(instruments)) if given is None else _moderate("instrument_bound", given)
    if given is not None:
        why = "a bound on what is left of the instruments would shift its mean"
        raise DomainError("instrument_bound", given, "left out with --instrument-means", why)
    own = [boxes[name] for name in instruments]
    return math.hypot(*(1 + abs(mean - box.centre) / box.half for mean, box in zip(means, own, strict=True)))


def _budget(arguments: Namespace) -> float:
    """mu, from one of --epsilon with --delta (exact for the Gaussian mechanism), --mu and --rho."""
    given = [name for name in ("epsilon", "mu", "rho") if getattr(arguments, name) is not None]
    if len(given) != 1:
        found = ", ".join(f"--{name}" for name in given) or "nothing"
        raise DomainError("budget", found, "one of --epsilon with --delta, --mu, --rho")
    within("delta", arguments.delta, "[1e-300, 1)")
    if given == ["epsilon"]:
        return float(gaussian_mu(within("epsilon", arguments.epsilon, "[1e-6, 1e3]"), arguments.delta))
    if given == ["rho"]:
        return math.sqrt(2 * within("rho", arguments.rho, "[1e-12, 1e6]"))
    return within("mu", arguments.mu, "[1e-6, 1e3]")


def _adjacency(name: str) -> Adjacency:
    for known in ADJACENCIES:
        if name == known:
            return known
    raise DomainError("adjacency", name, f"one of {', '.join(ADJACENCIES)}", "n is public here")


def _coefficients(arguments: Namespace, regressors: tuple[str, ...]) -> tuple[float, ...] | None:
    if arguments.beta is None:
        return None
    if len(arguments.beta) != len(regressors):
        raise DomainError("beta", f"{len(arguments.beta)} numbers", f"one for each regressor, {len(regressors)}")
    return tuple(abs(within(f"beta[{i}]", value, "[-1e12, 1e12]")) for i, value in enumerate(arguments.beta))


def _grid(arguments: Namespace, design: str) -> tuple[float, float, int] | None:
    form = "of the form LOW:HIGH or LOW:HIGH:POINTS with LOW below HIGH, public coefficients"
    if design != "s":
        _require_none(arguments, ("grid",), "left out unless --design s")
        return None
    if arguments.grid is None:
        raise DomainError("grid", "nothing", form, "design s draws a curve over coefficients")
    low, high, *points = ranges.numbers("grid", arguments.grid, arguments.grid, form, 2, 3)
    for end in (low, high):
        within("grid", end, ranges.ENDS)
    if not low < high or high - low <= 1e-9 * max(abs(low), abs(high)):
        raise DomainError("grid", arguments.grid, form)
    return low, high, count("grid points", points[0] if points else GRID, least=16, most=MOST_GRID)


def _require_possible(found: Asked) -> None:
    """Combinations that mean nothing."""
    single = len(found.regressors) == len(found.instruments) == 1
    if len(found.regressors) > 1:
        # The set of several coefficients is a region; only its test is offered, in dpbounds.iv.confidence.
        raise DomainError("regressors", f"{len(found.regressors)} columns", "one", "the set is that of one coefficient")
    if found.honest and not (single and found.design == "u"):
        raise DomainError("honest", True, "left out unless --design u with one regressor and one instrument")
    if found.honest and found.two_stage:
        why = "means within cells are known to a limit law only"
        raise DomainError("honest", True, "left out unless --instrument-means are given, without --controls", why)
    if found.honest and found.certify:
        raise DomainError("certify", True, "left out with --honest")
    if found.clamping == "aware" and (found.honest or found.certify):
        raise DomainError("clamping", "aware", "natural or count with --honest and --certify")
    if found.clamping == "aware" and not (single and found.design == "u"):
        raise DomainError("clamping", "aware", "natural or count unless there is one regressor and one instrument")
    if found.design == "s":
        if found.means is None:
            raise DomainError(
                "instrument_means", "nothing", "given with --design s", "the chance of a 1, such as Z=0.5"
            )
        if found.controls or found.noise == "opendp" or found.certify:
            name = "controls" if found.controls else "noise" if found.noise == "opendp" else "certify"
            raise DomainError(name, getattr(found, name), "left out with --design s")
    if found.design == "h" and found.two_stage:
        raise DomainError("design", "h", "u, or --instrument-means without --controls", "centring is offered for u")


def _moderate(name: str, value: float) -> float:
    return within(name, value, "[1e-9, 1e12]")
