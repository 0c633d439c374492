"""Bounds from both sides on the error of any linear first-order method with correlated noise, over a whole class.

For every mu-strongly convex, L-smooth F, a method of `linear` and draws that are independent of the past: the time
average of E J_t is at most `value`, J_t being F(x_t) - F*, |x_t - theta*|^2 or |grad F(x_t)|^2 (`program` has the
proof). At least one quadratic has the error `lower`.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> found = bound_method(Noise(correlation=independent(), rho=0.5), gradient_descent(eta=0.1), mu=0.1, L=1.0)
>>> round(float(found.value), 6), round(float(found.lower), 6), found.statement, found.is_certified
(0.038609, 0.026316, 'limit', True)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice, count, listed, positive, real
from dpbounds.ftrl.methods.conic import Infeasible
from dpbounds.ftrl.methods.cycles import find_cycle
from dpbounds.ftrl.methods.every_noise import least_over_noises
from dpbounds.ftrl.methods.linear import LinearMethod, check_converges
from dpbounds.ftrl.methods.loops import Measure
from dpbounds.ftrl.methods.noises import noise_system
from dpbounds.ftrl.methods.problem import CONVENTIONS, GradientNoise, Problem, Proved, Stability, Statement
from dpbounds.ftrl.strongly_convex.bounds import outwards, proves
from dpbounds.ftrl.strongly_convex.noise import Noise, fields
from dpbounds.values import Value

MEMORY, MOST_PAST = 2, 12
FORMAT = "dpbounds-storage/1"
# Numbers in a stored list.
MOST_NUMBERS = 1000
_EXTRA = ("variance", "co", "distance", "gradient")
_NAMES = (
    *("format", "kind", "method", "noise", "mu", "L", "measure", "memory", "gradient_noise", "P", "multipliers"),
    *("stability", "value", "lower", "curvature", "statement"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class MethodBound:
    """lower <= sup of the mean error over the class <= value.

    - `value`: kind `upper` if certified (in exact fractions), else `estimate`; `statement` says of what: of lim E J_t,
      or of limsup of the time average of E J_t;
    - `lower`: the error on F = `curvature` |theta|^2 / 2, exactly the same mean;
    - `storage`: the matrix P of V = s' P s, with the multipliers; `stability`: what shows bounded moments.
    """

    method: LinearMethod
    noise: Noise
    mu: float
    L: float
    measure: Measure
    memory: int
    gradient_noise: GradientNoise | None
    value: Value
    lower: Value
    curvature: float
    statement: Statement
    storage: np.ndarray
    multipliers: np.ndarray
    stability: Stability
    seconds: float

    @property
    def is_certified(self) -> bool:
        """Whether value and stability are proved in exact fractions."""
        return self.value.kind == "upper"

    @property
    def kappa(self) -> float:
        """L / mu, the condition number."""
        return self.L / self.mu

    @property
    def ratio(self) -> float:
        """value / lower: what is not known about the worst case."""
        return float(self.value) / float(self.lower)

    @cached_property
    def lower_every_noise(self) -> Value:
        """What no noise of the same privacy is below, with this method: an estimate, by `every_noise`."""
        scale = self.noise.d * self.noise.clip_norm**2 / (2.0 * self.noise.rho)
        least = scale * least_over_noises(self.method, self.mu, self.L, self.measure)
        return Value(least, kind="estimate", source="dpbounds, every noise", convention=CONVENTIONS[self.measure])

    def __repr__(self) -> str:
        sign = "<=" if self.is_certified else "~"
        return (
            f"MethodBound({self.method.name}, {self.noise.correlation.name}: {float(self.lower):.6g} <= sup "
            f"{CONVENTIONS[self.measure]} {sign} {float(self.value):.6g}, {self.statement})"
        )

    def data(self) -> dict[str, Any]:
        """What `recheck` needs, as JSON data; `DomainError` for a bound that is not certified."""
        if not self.is_certified:
            raise DomainError("certify", False, "True", "only a certified bound can be stored")
        method = {name: getattr(self.method, name).tolist() for name in ("A", "B", "C", "row")}
        extra = self.gradient_noise
        return {
            "format": FORMAT,
            "kind": "storage",
            "method": {**method, "name": self.method.name},
            "noise": self.noise.data(),
            "mu": self.mu,
            "L": self.L,
            "measure": self.measure,
            "memory": self.memory,
            "gradient_noise": None if extra is None else {name: getattr(extra, name) for name in _EXTRA},
            "P": self.storage.tolist(),
            "multipliers": self.multipliers.tolist(),
            "stability": {
                "memory": self.stability.memory,
                "P": self.stability.P.tolist(),
                "multipliers": self.stability.multipliers.tolist(),
                "past": self.stability.past.tolist(),
            },
            "value": outwards(float(self.value), "upper"),
            "lower": outwards(float(self.lower), "lower"),
            "curvature": self.curvature,
            "statement": self.statement,
        }


@typed
def bound_method(
    noise: Noise,
    method: LinearMethod,
    *,
    mu: float,
    L: float,
    measure: Measure = "f",
    memory: int = MEMORY,
    gradient_noise: GradientNoise | None = None,
    certify: bool = True,
) -> MethodBound:
    """The worst mean error of a method over all mu-strongly convex, L-smooth losses, from both sides.

    `measure`: "f", F(x) - F*; "distance", |x - theta*|^2; "gradient", |grad F(x)|^2, all at the method's output.
    `memory` past gradients are used, up to 12, or one where the solver fails with more. `noise.sigma_sgd` and
    `gradient_noise` are errors of the gradient, without correlation in time. With `certify` the value and stability are
    proved in exact fractions.

    Raises `DomainError` for arguments outside their ranges, for a method that diverges on a quadratic of the class, and
    for noise without finite memory; `AccuracyError` where no storage function with this memory exists, where stability
    on the whole class is not shown, or where solver or certificate fail. Where `find_cycle` finds a loss on which the
    method does not converge without noise, it says that no storage function exists at all.
    """
    started = time.perf_counter()
    low, high = _class(mu, L)
    choice("measure", measure, get_args(Measure))
    past = count("memory", memory, least=0, most=MOST_PAST)
    noise_system(noise.correlation, float)  # refuses noise without finite memory
    check_converges(method, low, high)
    problem = Problem(method, noise, low, high, measure, gradient_noise)
    try:
        past, found = _bounded(problem, past, certify=certify)
        stability = problem.stabilised(past, certify=certify)
    except AccuracyError as refusal:
        cycle = find_cycle(method, low, high)
        raise refusal if cycle is None else Infeasible(cycle.sentence) from refusal
    curvature, lower = problem.worst(certify=certify)
    return MethodBound(
        method=method,
        noise=noise,
        mu=low,
        L=high,
        measure=measure,
        memory=past,
        gradient_noise=gradient_noise,
        value=found.value,
        lower=lower,
        curvature=curvature,
        statement=problem.statement(stability),
        storage=found.P,
        multipliers=found.multipliers,
        stability=stability,
        seconds=time.perf_counter() - started,
    )


@typed
def recheck(data: Mapping[str, Any]) -> MethodBound:
    """The bound stored by `MethodBound.data`, proved again from the data alone, without a solver.

    Raises `DomainError` for data that are not such a bound or that say more than they prove, `AccuracyError` where
    nothing is proved.
    """
    started = time.perf_counter()
    parts = fields("bound", data, _NAMES)
    if (parts["format"], parts["kind"]) != (FORMAT, "storage"):
        raise DomainError("format", parts["format"], FORMAT, "this is not a bound that dpbounds stored")
    given = fields("method", parts["method"], ("A", "B", "C", "row", "name"))
    method, noise = LinearMethod(**given), Noise.from_data(parts["noise"])
    extra = parts["gradient_noise"]
    gradient_noise = None if extra is None else GradientNoise(**fields("gradient_noise", extra, _EXTRA))
    low, high = _class(parts["mu"], parts["L"])
    measure: Any = choice("measure", parts["measure"], get_args(Measure))
    memory = count("memory", parts["memory"], least=0, most=MOST_PAST)
    held = fields("stability", parts["stability"], ("memory", "P", "multipliers", "past"))
    stability = Stability(
        memory=count("memory", held["memory"], least=0, most=MOST_PAST),
        P=_matrix("P", held["P"]),
        multipliers=_numbers("multipliers", held["multipliers"]),
        past=_numbers("past", held["past"]),
    )
    problem = Problem(method, noise, low, high, measure, gradient_noise)
    P, multipliers = _matrix("P", parts["P"]), _numbers("multipliers", parts["multipliers"])
    problem.prove_stable(stability)
    value = problem.proved(memory, P, multipliers)
    curvature = real("curvature", parts["curvature"])
    if not low <= curvature <= high:
        raise DomainError("curvature", curvature, f"between mu = {low:g} and L = {high:g}")
    lower, statement = problem.error_at(curvature), problem.statement(stability)
    if parts["statement"] != statement:
        raise DomainError("statement", parts["statement"], statement, "the file was changed")
    for name, again in (("value", value), ("lower", lower)):
        if not proves(float(again), real(name, parts[name]), "upper" if name == "value" else "lower"):
            raise DomainError(name, parts[name], f"{float(again):.12g}, which it proves", "the file was changed")
    return MethodBound(
        method=method,
        noise=noise,
        mu=low,
        L=high,
        measure=measure,
        memory=memory,
        gradient_noise=gradient_noise,
        value=value,
        lower=lower,
        curvature=curvature,
        statement=statement,
        storage=P,
        multipliers=multipliers,
        stability=stability,
        seconds=time.perf_counter() - started,
    )


def _bounded(problem: Problem, memory: int, *, certify: bool) -> tuple[int, Proved]:
    """With one past gradient where more are too many for the solver."""
    if memory > 1:
        try:
            return memory, problem.bounded(memory, certify=certify)
        except Infeasible:
            raise
        except AccuracyError:
            memory = 1
    return memory, problem.bounded(memory, certify=certify)


def _matrix(parameter: str, rows: Any) -> np.ndarray:
    """A symmetric matrix of finite numbers."""
    found = [_numbers(parameter, row) for row in listed(parameter, rows)]
    if not found or any(len(row) != len(found) for row in found):
        raise DomainError(parameter, rows, "a square matrix")
    matrix = np.array(found)
    if not np.array_equal(matrix, matrix.T):
        raise DomainError(parameter, rows, "a symmetric matrix")
    return matrix


def _numbers(parameter: str, values: Any) -> np.ndarray:
    given = listed(parameter, values)
    if len(given) > MOST_NUMBERS:
        raise DomainError(parameter, f"{len(given)} numbers", f"at most {MOST_NUMBERS}")
    return np.array([real(parameter, value) for value in given])


def _class(mu: float, L: float) -> tuple[float, float]:
    low, high = positive("mu", mu), positive("L", L)
    if not low < high:
        raise DomainError("mu", low, f"below L = {high:g}", "one quadratic has its exact error: no bound is needed")
    return low, high
