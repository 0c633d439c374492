"""Certified bounds on the stationary error of DP-FTRL for every mu-strongly convex, L-smooth loss."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from dpbounds.arithmetic import FLOATS
from dpbounds.errors import DomainError, count
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.strongly_convex import cone, newton
from dpbounds.ftrl.strongly_convex.certificate import integrate, one, program_fraction, quadratic_fraction
from dpbounds.ftrl.strongly_convex.newton import Candidate
from dpbounds.ftrl.strongly_convex.noise import Density, Noise
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, ProgramName, Quadratics
from dpbounds.ftrl.strongly_convex.quadratic import (
    CONVENTION,
    above,
    below,
    simple_bounds,
    worst_curvature,
    worst_quadratic,
)
from dpbounds.values import Value

Method = Literal["newton", "cone"]

MAX_LAG, NODES = 20, 400
FORMAT = "dpbounds-bound/1"
# Multipliers below this share of the largest are dropped before the certificate if that costs less than DROPPED of the
# value.
NEGLIGIBLE, DROPPED = 1e-6, 1e-9
# A stored value may differ by this much from the one recomputed on another machine.
REPRODUCED = 1e-7


@dataclass(frozen=True, kw_only=True)
class ConvexBound:
    """lower <= sup F_inf over the class <= value.

    - `value`: the program at `multipliers`; kind `upper` if certified, else `estimate`. `program` "paper" is always an
      estimate of the printed expression, which is not a bound.
    - `lower`: error of F = `curvature` |theta|^2 / 2. `simple`: bounds that need no program.
    - `grid_value`, `duality_gap`, `steps`, `nodes`: what the solver says of itself; `solve_seconds`, `certify_seconds`.
    """

    program: Program
    noise: Noise | None
    multipliers: tuple[float, ...]
    value: Value
    lower: Value
    curvature: float
    simple: tuple[Value, ...]
    grid_value: float
    duality_gap: float
    steps: int
    nodes: int
    solve_seconds: float
    certify_seconds: float

    @property
    def best(self) -> Value:
        """The smallest certified upper bound among the program's and the simple ones; the program's value if none is
        certified.
        """
        certified = [bound for bound in (self.value, *self.simple) if bound.kind == "upper" and bound.certified]
        return min(certified, default=self.value)

    @property
    def ratio(self) -> float:
        """best / lower: what is not known about the worst case."""
        return float(self.best) / float(self.lower)

    def psi(self, omega: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """psi at frequencies in [0, pi]."""
        quadratics = Quadratics.on(self.program, np.asarray(omega, dtype=float), (len(self.multipliers) - 1) // 2)
        return quadratics.psi(np.asarray(self.multipliers))

    def data(self) -> dict[str, Any]:
        """What `recertify` needs, as JSON data; `DomainError` for a noise that was given by a function."""
        if self.noise is None:
            raise DomainError("noise", "a function", "a correlation", "a bound on a given density cannot be stored")
        program = self.program
        return {
            "format": FORMAT,
            "program": {"name": program.name, "mu": program.mu, "L": program.L, "eta": program.eta},
            "noise": self.noise.data(),
            "multipliers": list(self.multipliers),
            "value": float(self.value),
            "lower": float(self.lower),
            "curvature": self.curvature,
        }


def bound(
    correlation: ToeplitzCorrelation,
    mu: float,
    L: float,
    eta: float,
    rho: float,
    *,
    d: int = 1,
    clip_norm: float = 1.0,
    sigma_sgd: float = 0.0,
    program: ProgramName = "f",
    max_lag: int = MAX_LAG,
    certify: bool = True,
    method: Method = "newton",
    nodes: int = NODES,
) -> ConvexBound:
    """F_inf of DP-FTRL without clipping, for every mu-strongly convex, L-smooth F: ftrl Thm 3.1 and E.1, made a bound.

    Programs (`programs`): `f` bounds F - F* itself; `theta` bounds (L/2) E |theta - theta*|^2 >= F - F*; `paper`
    evaluates eq. (10) as printed. Solver: `newton` on the multipliers with psi eliminated, or `cone`, cvxpy on the
    program as stated. At least `nodes` graded frequencies, `max_lag` multipliers to each side. With `certify` the value
    is an upper bound proved by ball arithmetic from the multipliers alone.

    Raises `DomainError` for arguments outside their ranges, `AccuracyError` where solver or certificate fail (with the
    reason).
    """
    noise = Noise(correlation=correlation, rho=rho, d=d, clip_norm=clip_norm, sigma_sgd=sigma_sgd)
    constants = Program(name=program, mu=mu, L=L, eta=eta)
    density = noise.as_printed if program == "paper" else noise.density
    return _bound(constants, density, noise, noise.density, max_lag, certify, method, nodes)


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
    m.sqrt, m.number, ...). Raises `DomainError` for a density that is negative, not finite or not integrable on the
    nodes.
    """
    return _bound(Program(name=program, mu=mu, L=L, eta=eta), density, None, density, max_lag, certify, method, nodes)


def recertify(data: Mapping[str, Any]) -> ConvexBound:
    """The bound stored by `ConvexBound.data`, proved again from its multipliers without a solver.

    Raises `DomainError` for data that are not such a bound, or whose value or lower end the certificate does not
    reproduce.
    """
    try:
        if data["format"] != FORMAT:
            raise DomainError("format", data["format"], FORMAT, "this is not a bound that dpbounds stored")
        program, noise = Program(**data["program"]), Noise.from_data(data["noise"])
        multipliers = np.array(data["multipliers"], dtype=float)
        stored = {name: float(data[name]) for name in ("value", "lower", "curvature")}
    except (KeyError, TypeError, AttributeError) as error:
        raise DomainError("bound", repr(error), "the data of a bound that dpbounds stored") from None
    if multipliers.ndim != 1 or len(multipliers) % 2 == 0 or not np.all(multipliers >= 0):
        raise DomainError("multipliers", data["multipliers"], "an odd number of nonnegative numbers")
    if not program.mu <= stored["curvature"] <= program.L:
        raise DomainError("curvature", stored["curvature"], f"between mu = {program.mu:g} and L = {program.L:g}")
    density = noise.as_printed if program.name == "paper" else noise.density
    candidate = Candidate(multipliers=multipliers, value=np.nan, gap=np.nan, steps=0)
    proved = _assemble(program, density, noise, noise.density, candidate, stored["curvature"], True, 0, 0.0)
    for name, again in (("value", proved.value), ("lower", proved.lower)):
        if not abs(stored[name] / float(again) - 1.0) <= REPRODUCED:
            raise DomainError(
                name, stored[name], f"{float(again):.12g}, which its multipliers prove", "the file was changed"
            )
    return proved


def _bound(
    program: Program,
    density: Density,
    noise: Noise | None,
    actual: Density,
    max_lag: int,
    certify: bool,
    method: Method,
    nodes: int,
) -> ConvexBound:
    if method not in ("newton", "cone"):
        raise DomainError("method", method, "newton or cone")
    count("max_lag", max_lag, least=0)
    grid = Grid.graded(program, max_lag, count("nodes", nodes, least=16))
    started = time.perf_counter()
    spectrum = _spectrum(density, grid)
    candidate = (newton if method == "newton" else cone).solve(program, grid, spectrum, max_lag)
    pruned = _pruned(program, grid, spectrum, candidate)
    seconds = time.perf_counter() - started
    curvature = worst_curvature(program, actual)
    return _assemble(program, density, noise, actual, pruned, curvature, certify, len(grid.omega), seconds)


def _assemble(
    program: Program,
    density: Density,
    noise: Noise | None,
    actual: Density,
    candidate: Candidate,
    curvature: float,
    certify: bool,
    nodes: int,
    seconds: float,
) -> ConvexBound:
    """Prove what can be proved about a candidate and put it together."""
    started = time.perf_counter()
    fraction, white = program_fraction(program, candidate.multipliers.tolist()), noise is not None and noise.white
    framing = [quadratic_fraction(program.eta, curvature), one()]
    smallest = program.eta * program.mu
    if certify and density is actual:
        integral, quadratic, total = integrate([fraction, *framing], density, smallest)
    else:  # the printed program has a noise of its own, the frame keeps the true one
        quadratic, total = integrate(framing, actual, smallest)
        integral = integrate([fraction], density, smallest)[0] if certify else None
    return ConvexBound(
        program=program,
        noise=noise,
        multipliers=tuple(candidate.multipliers.tolist()),
        value=_estimated(program, candidate) if integral is None else _certified(program, integral),
        lower=worst_quadratic(program, curvature, quadratic),
        curvature=curvature,
        simple=simple_bounds(program, total, white=white),
        grid_value=candidate.value * _prefactor(program),
        duality_gap=candidate.gap,
        steps=candidate.steps,
        nodes=nodes,
        solve_seconds=seconds,
        certify_seconds=time.perf_counter() - started,
    )


def _certified(program: Program, integral: Any) -> Value:
    ball = integral * program.eta**2 * _prefactor(program)
    enclosure = (below(ball), above(ball))
    kind = "estimate" if program.name == "paper" else "upper"
    return Value(enclosure[1], kind=kind, source=_source(program), convention=CONVENTION, enclosure=enclosure)


def _estimated(program: Program, candidate: Candidate) -> Value:
    number = candidate.value * _prefactor(program)
    return Value(number, kind="estimate", source=_source(program), convention=CONVENTION)


def _prefactor(program: Program) -> float:
    """ftrl eq. (10) as printed is 2 eta^2 times the program `theta` with its signs changed."""
    return 2.0 * program.eta**2 if program.name == "paper" else 1.0


def _source(program: Program) -> str:
    return "ftrl eq. (10) as printed" if program.name == "paper" else f"dpbounds, program {program.name}"


def _spectrum(density: Density, grid: Grid) -> np.ndarray:
    """The density on the nodes, if it is one."""
    s = np.sin(grid.omega / 2.0) ** 2
    values = np.asarray(density(FLOATS, s), dtype=float) * np.ones_like(s)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = float(grid.omega[bad][0])
        raise DomainError(f"spectrum at frequency {at:.6g}", float(values[bad][0]), "a finite number of at least 0")
    outer, inner = values[:16] @ grid.weights[:16], values @ grid.weights
    if not inner > 0 or outer > 0.5 * inner:
        raise DomainError(
            "spectrum", float(values[0]), "positive and integrable", "it diverges at frequency 0 or is zero"
        )
    return values


def _pruned(program: Program, grid: Grid, spectrum: np.ndarray, candidate: Candidate) -> Candidate:
    """Without the multipliers and lags that do not matter: the certificate's work grows with the largest lag."""
    max_lag = (len(candidate.multipliers) - 1) // 2
    lagged = candidate.multipliers[1:].reshape(2, max_lag)
    kept = np.where(lagged > NEGLIGIBLE * lagged.max(initial=0.0), lagged, 0.0)
    used = np.flatnonzero(kept.any(axis=0))
    shorter = int(used[-1]) + 1 if len(used) else 0
    multipliers = np.concatenate([candidate.multipliers[:1], kept[0, :shorter], kept[1, :shorter]])
    psi = Quadratics.on(program, grid.omega, shorter).psi(multipliers)
    value = float(grid.weights @ (spectrum * psi)) / (2.0 * np.pi)
    if not value <= candidate.value * (1.0 + DROPPED):
        return candidate
    return Candidate(multipliers=multipliers, value=value, gap=candidate.gap, steps=candidate.steps)
