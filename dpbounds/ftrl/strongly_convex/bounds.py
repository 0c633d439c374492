"""Certified bounds on the stationary error of DP-FTRL for every mu-strongly convex, L-smooth loss.

>>> from dpbounds.ftrl.correlations import independent
>>> found = bound(independent(), StronglyConvex(mu=0.2, L=1.0, eta=0.1, rho=0.5), max_lag=0)
>>> found.best.certified, found.program.name, bool(found.lower <= found.best)
(True, 'causal', True)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds import arithmetic
from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import AccuracyError, DomainError, choice, count, listed, real
from dpbounds.ftrl.correlations import PowerSpectrum, ToeplitzCorrelation
from dpbounds.ftrl.strongly_convex import causal, cone, newton, show
from dpbounds.ftrl.strongly_convex.certificate import enclosed
from dpbounds.ftrl.strongly_convex.newton import Candidate
from dpbounds.ftrl.strongly_convex.noise import Density, GivenSpectrum, Noise, NoiseSpectrum, fields
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, ProgramName, Quadratics, squared_distance
from dpbounds.ftrl.strongly_convex.quadratic import Simple, simple_bounds, value_of, worst_curvature, worst_quadratic
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex
from dpbounds.ftrl.strongly_convex.waves import wave
from dpbounds.values import Value

Method = Literal["newton", "cone"]

MAX_LAG, NODES = 20, 400
FORMAT = "dpbounds-bound/1"
# Stored ends are moved outwards by the first share, so that other libraries' last digits do not matter, and may lie
# outside what is proved again by the second.
OUTWARDS, REPRODUCED = 1e-12, 1e-7
# Larger bounds take more than a second or two to prove.
MOST_MULTIPLIERS = 201
# The mean of the density is known on the grid to this relative accuracy; panels are cut into this many pieces at most.
RESOLVED, MOST_PIECES = 1e-6, 64
# Largest density, far from where sums overflow.
LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class ConvexBound:
    """lower <= sup F_inf over the class <= value.

    - `value`: the program at `multipliers`; kind `upper` if certified, else `estimate`. `program` "paper" is always an
      estimate of the printed expression, which is not a bound. "causal" has `shifts` besides, the m of the draws and,
      where there are any, of errors of the gradient.
    - `lower`: error of F = `curvature` |theta|^2 / 2. `simple_by_name`: bounds that need no program.
    - `grid_value`, `duality_gap`, `steps`, `nodes`: what the solver says of itself; `solve_seconds`, `certify_seconds`.
    """

    program: Program
    noise: NoiseSpectrum
    multipliers: tuple[float, ...]
    value: Value
    lower: Value
    curvature: float
    simple_by_name: Mapping[Simple, Value]
    grid_value: float
    duality_gap: float
    steps: int
    nodes: int
    solve_seconds: float
    certify_seconds: float
    shifts: tuple[float, ...] = ()

    @property
    def simple(self) -> tuple[Value, ...]:
        """The bounds that need no program: contraction, and for white noise co-coercivity."""
        return tuple(self.simple_by_name.values())

    @property
    def is_certified(self) -> bool:
        """Whether both ends are proved: the program's value and `lower`."""
        return self.value.kind == "upper" and self.value.certified and self.lower.certified

    @property
    def best(self) -> Value:
        """The smallest of the program's value and the simple bounds, without the value of `paper`, which is no bound:
        certified, or an estimate where nothing is.
        """
        return min(self.simple if self.program.name == "paper" else (self.value, *self.simple))

    @property
    def ratio(self) -> float:
        """best / lower: what is not known about the worst case."""
        return float(self.best) / float(self.lower)

    def __repr__(self) -> str:
        return show.line(self)

    def _repr_html_(self) -> str:
        return show.html(self)

    def plot(self, axes: Any = None) -> Any:
        """Noise spectrum and psi over frequency, on matplotlib's `axes` or new ones, which are returned."""
        return show.plot(self, axes)

    def psi(self, omega: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """psi at frequencies in [0, pi]; of "causal" that of its multipliers in program `f`."""
        quadratics = Quadratics.on(self.program, np.asarray(omega, dtype=float), (len(self.multipliers) - 1) // 2)
        return quadratics.psi(np.asarray(self.multipliers))

    def data(self) -> dict[str, Any]:
        """What `recertify` needs, as JSON data; `DomainError` for a noise that was given by a function."""
        if not isinstance(self.noise, Noise):
            raise DomainError("noise", "a function", "a correlation", "a bound on a given density cannot be stored")
        program = self.program
        shifts = {"shifts": list(self.shifts)} if program.name == "causal" else {}
        return {
            "format": FORMAT,
            "program": {"name": program.name, "mu": program.mu, "L": program.L, "eta": program.eta},
            "noise": self.noise.data(),
            "multipliers": list(self.multipliers),
            **shifts,
            "value": outwards(float(self.value), "upper"),
            "lower": outwards(float(self.lower), "lower"),
            "curvature": self.curvature,
        }


@typed
def bound(
    correlation: ToeplitzCorrelation,
    problem: StronglyConvex,
    *,
    program: ProgramName = "causal",
    max_lag: int = MAX_LAG,
    certify: bool = True,
    method: Method = "newton",
    nodes: int = NODES,
) -> ConvexBound:
    """F_inf of DP-FTRL without clipping, for every mu-strongly convex, L-smooth F: ftrl Thm 3.1 and E.1, made a bound.

    Programs (`programs`): `causal` bounds F - F* itself for draws that are independent of the past, as those of every
    correlation are; `f` is not causal, it holds for all noise of this spectrum and is never below; `theta` bounds (L/2)
    E |theta - theta*|^2 >= F - F*; `paper` evaluates eq. (10) as printed. Solver: `newton` on the multipliers with psi
    eliminated, or `cone`, cvxpy on the program as stated (not `causal`). At least `nodes` graded frequencies, `max_lag`
    multipliers to each side. With `certify` the value is an upper bound proved from the multipliers alone, in floats
    with bounds of all rounding, or in balls.

    Raises `DomainError` for arguments outside their ranges and, with `causal`, for a correlation that is given by its
    spectrum; `AccuracyError` where solver or certificate fail (with the reason).
    """
    noise, constants = problem.noise(correlation), problem.program(program)
    return bound_program(noise, constants, max_lag=max_lag, certify=certify, method=method, nodes=nodes)


@typed
def bound_program(
    noise: Noise,
    program: Program,
    *,
    max_lag: int = MAX_LAG,
    certify: bool = True,
    method: Method = "newton",
    nodes: int = NODES,
) -> ConvexBound:
    """`bound` for a noise and a program that were made before."""
    if program.name == "causal":
        wave(FLOATS, noise.correlation, np.array([0.5]))  # refuses noise that is given by its spectrum
        if method == "cone":
            raise DomainError("method", method, "newton with program causal", "the cone program is that of f")
    elif certify and isinstance(noise.correlation, PowerSpectrum):
        remedy = "balls cannot enclose it: certify a density written for them with bound_density"
        raise DomainError("certify", certify, "False for a spectrum given as a function", remedy)
    return _bound(program, noise, max_lag, certify, method, nodes)


@typed
def bound_density(
    density: Density,
    mu: float,
    L: float,
    eta: float,
    *,
    program: Literal["f", "theta"] = "f",
    max_lag: int = MAX_LAG,
    certify: bool = True,
    method: Method = "newton",
    nodes: int = NODES,
) -> ConvexBound:
    """The same for any noise spectrum S, given as `density(m, s)` in arithmetic m at s = sin^2(omega / 2).

    To certify, the function must accept balls, real and complex, and be analytic off s <= 0 and s >= 1 (write it with
    m.sqrt, m.number, ...). What is certified is what the function says of balls: that it holds their points' values is
    tried on some, not proved. Raises `DomainError` for a density that is negative, not finite or not integrable on the
    nodes.
    """
    constants, noise = Program(name=program, mu=mu, L=L, eta=eta), GivenSpectrum(density)
    if certify:
        noise.check_balls()
    return _bound(constants, noise, max_lag, certify, method, nodes)


@typed
def recertify(data: Mapping[str, Any]) -> ConvexBound:
    """The bound stored by `ConvexBound.data`, proved again from its multipliers without a solver.

    The stored ends must be at or outside those that are proved, by little; nothing may stand beside what `data` writes.
    Raises `DomainError` for data that are not such a bound, that say more than the certificate proves, or that have
    more than 201 multipliers, weights or roots; `AccuracyError` where nothing is proved.
    """
    named = data.get("program") if isinstance(data, Mapping) else None
    extra = ("shifts",) if isinstance(named, Mapping) and named.get("name") == "causal" else ()
    parts = fields("bound", data, ("format", "program", "noise", "multipliers", *extra, "value", "lower", "curvature"))
    if parts["format"] != FORMAT:
        raise DomainError("format", parts["format"], FORMAT, "this is not a bound that dpbounds stored")
    program = Program(**fields("program", parts["program"], ("name", "mu", "L", "eta")))
    stored = {name: real(name, parts[name]) for name in ("value", "lower", "curvature")}
    multipliers = _multipliers(parts["multipliers"])
    noise = Noise.from_data(parts["noise"])
    if noise.degree > MOST_MULTIPLIERS:
        raise DomainError("correlation", f"of degree {noise.degree}", f"of degree at most {MOST_MULTIPLIERS}")
    if not program.mu <= stored["curvature"] <= program.L:
        raise DomainError("curvature", stored["curvature"], f"between mu = {program.mu:g} and L = {program.L:g}")
    candidate = Candidate(multipliers=multipliers, value=np.nan, gap=np.nan, steps=0)
    shifts = _shifts(parts["shifts"], noise) if extra else ()
    proved = _proved(program, noise, candidate, shifts, stored["curvature"], 0, 0.0)
    for name, again in (("value", proved.value), ("lower", proved.lower)):
        if not proves(float(again), stored[name], "upper" if name == "value" else "lower"):
            raise DomainError(
                name, stored[name], f"{float(again):.12g}, which its multipliers prove", "the file was changed"
            )
    return proved


def _multipliers(values: Any) -> np.ndarray:
    """An odd number of finite nonnegative numbers, not too many."""
    given = listed("multipliers", values)
    if len(given) > MOST_MULTIPLIERS:
        raise DomainError("multipliers", f"{len(given)} numbers", f"at most {MOST_MULTIPLIERS}")
    multipliers = np.array([real(f"multipliers[{k}]", value) for k, value in enumerate(given)])
    if len(multipliers) % 2 == 0 or not np.all(multipliers >= 0):
        raise DomainError("multipliers", values, "an odd number of nonnegative numbers")
    return multipliers


def _shifts(values: Any, noise: Noise) -> tuple[float, ...]:
    """A finite number for each kind of draws."""
    given, kinds = listed("shifts", values), len(noise.weights(1.0))
    if len(given) != kinds:
        raise DomainError("shifts", f"{len(given)} numbers", f"{kinds}, one for each kind of draws")
    return tuple(real(f"shifts[{k}]", value) for k, value in enumerate(given))


def outwards(end: float, side: Literal["upper", "lower"]) -> float:
    """An end as it is stored: still a bound, and reproducible."""
    return end * (1.0 + OUTWARDS if side == "upper" else 1.0 - OUTWARDS)


def proves(proved: float, stored: float, side: Literal["upper", "lower"]) -> bool:
    """Whether a stored end follows from the proved one, and is not much worse."""
    excess = stored / proved - 1.0 if side == "upper" else 1.0 - stored / proved
    return 0.0 <= excess <= REPRODUCED


def _bound(
    program: Program, noise: NoiseSpectrum, max_lag: int, certify: bool, method: Method, nodes: int
) -> ConvexBound:
    choice("method", method, get_args(Method))
    count("max_lag", max_lag, least=0)
    started = time.perf_counter()
    grid, spectrum = _resolved(program, noise, max_lag, count("nodes", nodes, least=16), certify)
    shifts: tuple[float, ...] = ()
    if program.name == "causal" and isinstance(noise, Noise):
        candidate, shifts = causal.solve(program, noise, grid, max_lag)
    else:
        candidate = (newton if method == "newton" else cone).solve(program, grid, spectrum, max_lag)
        candidate = newton.lifted(program, grid, spectrum, newton.pruned(program, grid, spectrum, candidate))
    seconds = time.perf_counter() - started
    curvature = worst_curvature(program, noise, grid)
    if certify:
        return _proved(program, noise, candidate, shifts, curvature, len(grid.omega), seconds)
    density = noise.density(grid.s)
    quadratic = float(grid.mean(density / squared_distance(grid.omega, program.eta * curvature)))
    frame = _frame(FLOATS, program, noise, curvature, float(grid.mean(density)), quadratic)
    value = value_of(program.prefactor(FLOATS) * candidate.value, "upper", _source(program))
    frame |= {"value": value, "shifts": shifts}
    return _bound_of(program, noise, candidate, curvature, len(grid.omega), seconds, **frame)


def _proved(
    program: Program,
    noise: NoiseSpectrum,
    candidate: Candidate,
    shifts: tuple[float, ...],
    curvature: float,
    nodes: int,
    seconds: float,
) -> ConvexBound:
    """What the multipliers and the curvature of a candidate prove, by one pass over the circle; with shifts, two."""
    started = time.perf_counter()
    total, quadratic, integral = enclosed(program, noise, candidate.multipliers, curvature)
    with arithmetic.balls() as m:
        number = integral * m.number(program.eta) ** 2 * program.prefactor(m)
        if any(shifts) and isinstance(noise, Noise):
            number += causal.added(program, noise, candidate.multipliers, shifts)
        value = value_of(number, "estimate" if program.name == "paper" else "upper", _source(program))
        frame = _frame(m, program, noise, curvature, total, quadratic)
    proof = time.perf_counter() - started
    frame |= {"value": value, "shifts": shifts}
    return _bound_of(program, noise, candidate, curvature, nodes, seconds, proof, **frame)


def _frame(
    m: Arithmetic, program: Program, noise: NoiseSpectrum, curvature: float, total: Any, quadratic: Any
) -> dict[str, Any]:
    """The lower end and the bounds that need no program."""
    return {
        "lower": worst_quadratic(m, program, curvature, quadratic),
        "simple_by_name": simple_bounds(m, program, total, white=noise.white),
    }


def _bound_of(
    program: Program,
    noise: NoiseSpectrum,
    candidate: Candidate,
    curvature: float,
    nodes: int,
    solve_seconds: float,
    certify_seconds: float = 0.0,
    **values: Any,
) -> ConvexBound:
    return ConvexBound(
        program=program,
        noise=noise,
        multipliers=tuple(candidate.multipliers.tolist()),
        curvature=curvature,
        grid_value=candidate.value * program.prefactor(FLOATS),
        duality_gap=candidate.gap,
        steps=candidate.steps,
        nodes=nodes,
        solve_seconds=solve_seconds,
        certify_seconds=certify_seconds,
        **values,
    )


def _source(program: Program) -> str:
    return "ftrl eq. (10) as printed" if program.name == "paper" else f"dpbounds, program {program.name}"


def _resolved(
    program: Program, noise: NoiseSpectrum, max_lag: int, least: int, certify: bool
) -> tuple[Grid, np.ndarray]:
    """The grid and the density on it, cut finer until its mean no longer changes: noise in a narrow band needs it.

    `AccuracyError` if it still does, unless the certificate is to integrate for itself.
    """
    as_printed, pieces = program.name == "paper", 1
    grid = Grid.graded(program, max_lag, least)
    spectrum = _spectrum(noise, grid, as_printed=as_printed)
    while True:
        finer = Grid.graded(program, max_lag, least, pieces=2 * pieces)
        finer_spectrum = _spectrum(noise, finer, as_printed=as_printed)
        change = abs(grid.mean(spectrum) / finer.mean(finer_spectrum) - 1.0)
        if change <= RESOLVED:
            return grid, spectrum
        pieces, grid, spectrum = 2 * pieces, finer, finer_spectrum
        if pieces == MOST_PIECES:
            break
    if not certify:
        raise AccuracyError(
            f"spectrum: its mean still changes by {change:.1e} from half as many to {len(grid.omega)} frequencies, "
            f"more than {RESOLVED:g}; certify the bound, or ask for more nodes"
        )
    return grid, spectrum


def _spectrum(noise: NoiseSpectrum, grid: Grid, *, as_printed: bool) -> np.ndarray:
    """The density on the nodes, if it is one."""
    values = noise.density(grid.s, as_printed=as_printed)
    bad = ~((values >= 0) & (values <= LARGEST))
    if bad.any():
        at = float(grid.omega[bad][0])
        raise DomainError(f"spectrum at frequency {at:.6g}", float(values[bad][0]), f"from 0 to {LARGEST:g}")
    outer, inner = values[:16] @ grid.weights[:16], values @ grid.weights
    if not inner > 0 or outer > 0.5 * inner:
        raise DomainError(
            "spectrum", float(values[0]), "positive and integrable", "it diverges at frequency 0 or is zero"
        )
    return values
