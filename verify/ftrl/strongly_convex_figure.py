"""Figure 3: bounds on the error for strongly convex losses against the condition number, and against the step size.

L = G = 1, rho = 1/2, sigma_s = 0, d = 1; the paper gives neither eta nor rho. DP-SGD, nu-DP-FTRL and the optimised
correlation, the latter two tuned for each program; losses are simulated with those tuned for program f.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from dpbounds.ftrl import correlations
from dpbounds.ftrl.correlations import ToeplitzCorrelation, from_power_spectrum
from dpbounds.ftrl.strongly_convex import ConvexBound, Optimised, bound, optimize_correlation
from dpbounds.ftrl.strongly_convex.programs import ProgramName
from simulators.ftrl import Huber, kinked_quadratic
from verify.checks import Agreement, BoundedMean, Case, Fact, Level
from verify.claims import Claim, Correction
from verify.ftrl.strongly_convex_programs import alternate, program_value
from verify.ftrl.strongly_convex_runs import RHO, stationary_case, worst_quadratic

SGD, NU, BEST = "DP-SGD", "nu-DP-FTRL", "Optimized"
METHODS = (SGD, NU, BEST)
PROGRAMS: tuple[Literal["theta", "f"], ...] = ("theta", "f")
MAX_LAG = 4
# One panel varies kappa at this eta, the other eta at this kappa.
ETA, KAPPA = 0.1, 16
KAPPAS, ETAS = (4, 16, 64, 256), (0.03, 0.1, 0.3, 1.0)
# What is simulated, by level; a run takes 56 / (eta mu) steps or more.
SIMULATED: dict[str, dict[Level, tuple[float, ...]]] = {
    "kappa": {"quick": (4, 16), "full": (64,)},
    "eta": {"quick": (0.3, 1.0), "full": (0.03, 0.1)},
}


@cache
def _optimised(program: Any, eta: float, kappa: float) -> Optimised:
    return optimize_correlation(1 / kappa, 1.0, eta, RHO, program=program, max_lag=MAX_LAG)


@cache
def _correlation(method: str, program: Any, eta: float, kappa: float) -> ToeplitzCorrelation:
    """The method at its best for a program."""
    if method == BEST:
        return _optimised(program, eta, kappa).correlation
    return correlations.nu(_best_damping(program, eta, kappa)) if method == NU else correlations.independent()


@cache
def _bound(method: str, program: Any, eta: float, kappa: float) -> ConvexBound:
    """Its bound, certified for program f."""
    if method == BEST:
        return _optimised(program, eta, kappa).bound
    correlation, certify = _correlation(method, program, eta, kappa), program == "f"
    return bound(correlation, 1 / kappa, 1.0, eta, RHO, program=program, max_lag=MAX_LAG, certify=certify)


def _value(method: str, program: Any, eta: float, kappa: float) -> float:
    return float(_bound(method, program, eta, kappa).value)


def _printed(method: str, eta: float, kappa: float) -> float:
    """(10) at the method's best for it."""
    if method != BEST:
        return _value(method, "paper", eta, kappa)
    return 4 * eta**2 * float(alternate("paper", eta, kappa, "nu = eta mu", max_lag=MAX_LAG)[-1])


def _best_damping(program: ProgramName, eta: float, kappa: float) -> float:
    """The nu of least value, by a search in log nu from eta mu / 10 to 1."""

    def value(log_nu: float) -> float:
        correlation = correlations.nu(min(float(np.exp(log_nu)), 1.0))
        return program_value(program, correlation, eta, kappa, max_lag=MAX_LAG)

    ends = (np.log(eta / kappa / 10.0), 0.0)
    found: Any = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 3e-2})
    return min(float(np.exp(found.x)), 1.0)


# --- the statements ---


def _below_the_error(rng: np.random.Generator) -> Iterator[Fact]:
    """Is the curve that is printed, (10), above the error of the worst quadratic?"""
    for kappa in KAPPAS:
        for method in METHODS[:2]:
            printed = _printed(method, ETA, kappa)
            ratio = printed / worst_quadratic(_correlation(method, "paper", ETA, kappa), 1 / kappa, ETA)
            label = f"{method}, eta = {ETA}, kappa = {kappa}: (10) is {printed:.4g}"
            yield Fact(f"{label}; over the error of a quadratic, if below 1", min(ratio, 1.0), 1.0)


def _order_and_growth(program: Literal["theta", "f"], methods: Sequence[str] = METHODS) -> Iterator[Fact]:
    """Of a valid program's values: order at every kappa, absolute and relative gap from kappa to kappa."""
    values = np.array([[_value(method, program, ETA, kappa) for kappa in KAPPAS] for method in methods])
    sgd, nu, best = values
    yield Fact(f"{program}: DP-SGD above nu-DP-FTRL", bool(np.all(sgd > nu)), True, 0)
    yield Fact(f"{program}: nu-DP-FTRL above Optimized up to 1e-6", bool(np.all(nu > best * (1 - 1e-6))), True, 0)
    yield Fact(f"{program}: gap of the first two grows with kappa", bool(np.all(np.diff(sgd - nu) > 0)), True, 0)
    yield Fact(f"{program}: so does their ratio", bool(np.all(np.diff(sgd / nu) > 0)), True, 0)
    gain = nu[-1] / best[-1]
    label = f"{program}, kappa = {KAPPAS[-1]}: nu-DP-FTRL over Optimized is {gain:.7f}, above 1 and at most 1.02"
    yield Fact(label, bool(1.0 < gain < 1.02), True, 0)


def _errors(rng: np.random.Generator, scale: float = 1.0) -> Iterator[Fact]:
    """Of the errors themselves: DP-SGD's worst is between two numbers without kappa, nu-DP-FTRL's below the lower."""
    below, above = ETA / (2 * (2 - ETA)), ETA / 2
    for kappa in KAPPAS:
        sgd, nu = (_bound(method, "f", ETA, kappa) for method in (SGD, NU))
        exact = worst_quadratic(correlations.independent(), 1 / kappa, ETA)
        yield Fact(
            f"kappa = {kappa}: a quadratic's error under DP-SGD, in eta N / (2 (2 - eta))", exact / below, 1.0, 1e-9
        )
        proven = float(sgd.best) / above
        yield Fact(f"kappa = {kappa}: proven for all losses, {proven:.4g} eta N / 2", bool(proven <= 1 + 1e-9), True, 0)
        if kappa <= 64:
            ratio = exact / (scale * float(nu.best))
            label = f"kappa = {kappa}: error under DP-SGD over that under nu-DP-FTRL is at least {ratio:.4g}"
            yield Fact(f"{label}, above 1.2, {nu.best.kind}", bool(ratio > 1.2 and nu.best.certified), True, 0)


# --- the picture ---


def _settings(axis: str) -> list[tuple[float, float]]:
    return [(ETA, kappa) for kappa in KAPPAS] if axis == "kappa" else [(eta, KAPPA) for eta in ETAS]


def _axes(method: str, axis: str) -> tuple[str, str]:
    if axis == "kappa":
        return "condition number", f"error of {method}, learning rate {ETA}"
    return "learning rate", f"error of {method}, condition number {KAPPA}"


def _curves(method: str, axis: str) -> Callable[[], dict[str, Any]]:
    """The printed value, both programs, the worst quadratic, and for DP-SGD the bound by co-coercivity."""

    def picture() -> dict[str, Any]:
        settings = _settings(axis)
        x = [float(kappa if axis == "kappa" else eta) for eta, kappa in settings]
        lines = {
            ("(10) as printed", "printed"): [_printed(method, *setting) for setting in settings],
            ("program theta, (10) made valid", "bound"): [_value(method, "theta", *setting) for setting in settings],
            ("program f", "bound"): [_value(method, "f", *setting) for setting in settings],
            ("worst quadratic", "theory"): [
                worst_quadratic(_correlation(method, "f", eta, kappa), 1 / kappa, eta) for eta, kappa in settings
            ],
        }
        if method == SGD:
            lines[("co-coercivity", "bound")] = [float(_bound(method, "f", *setting).best) for setting in settings]
        series = [{"label": label, "role": role, "x": x, "y": y} for (label, role), y in lines.items()]
        horizontal, vertical = _axes(method, axis)
        return {"x": horizontal, "y": vertical, "log": ["x", "y"], "series": series}

    return picture


def _sandwich(method: str, axis: str, scale: float = 1.0) -> Iterator[Fact]:
    """Worst quadratic <= f <= theta along the panel, f certified."""
    for eta, kappa in _settings(axis):
        f, theta = (_value(method, name, eta, kappa) for name in ("f", "theta"))
        exact = worst_quadratic(_correlation(method, "f", eta, kappa), 1 / kappa, eta)
        values = [exact, scale * f, theta]
        label = f"{method}, eta = {eta}, kappa = {kappa}: quadratic, f, theta"
        yield Fact(f"{label}: {', '.join(f'{value:.4g}' for value in values)}, in order", values, sorted(values), 1e-9)


def _cases(method: str, axis: str) -> Callable[[], list[Case]]:
    """Kinked quadratics and Huber losses along the panel."""

    def cases() -> list[Case]:
        return [
            _case(method, axis, loss, x, level)
            for level, points in SIMULATED[axis].items()
            for x in points
            for loss in ("kinked quadratic", "Huber loss")
        ]

    return cases


@cache
def _case(method: str, axis: str, loss: str, x: float, level: Level) -> Case:
    """F bends from L to mu at the minimiser, or at about half the spread of theta under independent noise."""
    eta, kappa = (ETA, x) if axis == "kappa" else (x, KAPPA)
    mu = 1 / kappa
    scale = 0.5 * float(np.sqrt(eta / 2))
    return stationary_case(
        f"{loss}, {method}, eta = {eta}, kappa = {kappa}",
        kinked_quadratic(mu, 1.0) if loss == "kinked quadratic" else Huber(mu=mu, L=1.0, scale=scale),
        _simulated_correlation(method, eta, kappa),
        eta,
        lambda: float(_bound(method, "f", eta, kappa).best),
        windows=(6.0, 100.0 if method == SGD or eta == 1.0 else 50.0),
        x=float(x),
        group=loss,
        level=level,
    )


def _simulated_correlation(method: str, eta: float, kappa: float) -> ToeplitzCorrelation:
    """The optimised one from its spectrum, by the cepstrum: not the series whose bound is tested."""
    tuned = _correlation(method, "f", eta, kappa)
    if method != BEST:
        return tuned
    return from_power_spectrum(tuned.power_spectrum, name=f"optimised for eta = {eta}, kappa = {kappa}")


def _panel(method: str, axis: str) -> tuple[Agreement, BoundedMean]:
    """The checks behind one panel."""
    return (
        Agreement(
            facts=lambda rng: _sandwich(method, axis),
            picture=_curves(method, axis),
            impostors={"a quarter of f": {"facts": lambda rng: _sandwich(method, axis, 0.25)}},
        ),
        BoundedMean(
            cases=_cases(method, axis),
            trials={"quick": 512, "full": 1024},
            axes=_axes(method, axis),
            impostors={"40 % of the bounds": {"scale": 0.4}},
        ),
    )


def _order_check(program: Literal["theta", "f"]) -> Agreement:
    swapped = (NU, SGD, BEST)
    return Agreement(
        facts=lambda rng: _order_and_growth(program),
        impostors={"DP-SGD and nu-DP-FTRL swapped": {"facts": lambda rng: _order_and_growth(program, swapped)}},
    )


CLAIMS = (
    Claim(
        id="ftrl/fig-3",
        where="Figure 3",
        kind="number",
        statement=(
            "The bound (10) on $F_oo$ against $kappa$: DP-SGD above $nu$-DP-FTRL above the optimised correlation, with "
            "a gap that grows with $kappa$."
        ),
        hypotheses=(
            "$L = G = 1$, $sigma_s = 0$; not given: $eta = 0.1$, $rho = 1 \\/ 2$, $4 <= kappa <= 256$; best $nu$."
        ),
        checks=(Agreement(facts=_below_the_error),),
        correction=Correction(
            statement=(
                "(10) as printed is no bound: at $kappa = 4$ it gives DP-SGD a fifth of a quadratic's error. For its "
                "valid forms, programs $theta$ and $f$, the order is as stated, and gap and ratio of the first two "
                "grow; optimising beyond $nu$ gains at most 2 %. But what grows is the bound, not the error: with $N = "
                "G^2 \\/ (2 rho)$ that of DP-SGD is at worst between $eta N \\/ (2 (2 - eta L))$ and $eta N \\/ 2$ for "
                "every $kappa$ if $eta L <= 1$, by co-coercivity. At $kappa = 4, 16, 64$ that of $nu$-DP-FTRL is "
                "provably smaller, by a factor of 1.2 or more."
            ),
            checks=(
                *map(_order_check, PROGRAMS),
                Agreement(
                    facts=_errors,
                    impostors={"bound 20 % larger": {"facts": lambda rng: _errors(rng, 1.2)}},
                ),
                *(check for axis in ("kappa", "eta") for method in METHODS for check in _panel(method, axis)),
            ),
        ),
        reviewed="corrected",
    ),
    Claim(
        id="ftrl/fig-4",
        where="Section 4, Figure 4",
        kind="number",
        statement=(
            "$nu$-DP-FTRL outperforms every other efficient mechanism on CIFAR-10 and StackOverflow and nearly reaches "
            "the optimised one."
        ),
        not_run="deep-learning experiments: the data sets, models and hardware are outside dpbounds",
    ),
)
