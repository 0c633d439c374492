"""Figure 3: bounds on the error for strongly convex losses against the condition number, and against the step size.

L = G = 1, rho = 1/2, sigma_s = 0, d = 1; the paper gives neither eta nor rho. DP-SGD, nu-DP-FTRL and the optimised
correlation, the latter two tuned for each program; losses are simulated with those tuned for program f.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy.optimize import minimize_scalar

from dpbounds.ftrl import correlations
from dpbounds.ftrl.correlations import ToeplitzCorrelation, from_power_spectrum
from dpbounds.ftrl.strongly_convex import ConvexBound, ProgramName, bound
from simulators.ftrl import Huber, kinked_quadratic
from verify.checks import Agreement, BoundedMean, Case, Fact, Level, Means, Symbolic
from verify.claims import Claim, Correction
from verify.ftrl.claims.strongly_convex_programs import optimised, program_value
from verify.ftrl.claims.strongly_convex_runs import RHO, stationary_case, worst_quadratic

SGD, NU, BEST = "DP-SGD", "nu-DP-FTRL", "Optimized"
METHODS = (SGD, NU, BEST)
# Growth of nu-DP-FTRL's value with kappa over that of the optimised correlation, least and most, by program.
GAINS: dict[ProgramName, tuple[float, float]] = {"paper": (1.04, 1.06), "theta": (1.0, 1.00001), "f": (1.007, 1.01)}
# Values of programs that differ by less count as equal: the nu of least value is found to a few per cent only.
SOLVED = 1e-6
MAX_LAG = 4
# Up to this kappa the bound for nu-DP-FTRL is far enough below the error of DP-SGD.
SEPARATED = 64
# One panel varies kappa at this eta, the other eta at this kappa.
ETA, KAPPA = 0.1, 16
KAPPAS, ETAS = (4, 8, 16, 32, 64, 128, 256), (0.03, 0.055, 0.1, 0.17, 0.3, 0.55, 1.0)
# What is simulated, by level; a run takes 56 / (eta mu) steps or more.
SIMULATED: dict[str, dict[Level, tuple[float, ...]]] = {
    "kappa": {"quick": (4, 16), "full": (64,)},
    "eta": {"quick": (0.3, 1.0), "full": (0.03, 0.1)},
}


@cache
def _correlation(method: str, program: ProgramName, eta: float, kappa: float) -> ToeplitzCorrelation:
    """The method at its best for a program."""
    if method == BEST:
        return optimised(program, eta, kappa, MAX_LAG)
    return correlations.nu(_best_damping(program, eta, kappa)) if method == NU else correlations.independent()


@cache
def _bound(method: str, program: ProgramName, eta: float, kappa: float) -> ConvexBound:
    """Its bound, certified for program f."""
    correlation, certify = _correlation(method, program, eta, kappa), program == "f"
    return bound(correlation, 1 / kappa, 1.0, eta, RHO, program=program, max_lag=MAX_LAG, certify=certify)


def _value(method: str, program: ProgramName, eta: float, kappa: float) -> float:
    return float(_bound(method, program, eta, kappa).value)


def _quadratic(method: str, program: ProgramName, eta: float, kappa: float) -> float:
    """Error of the worst quadratic under the method at its best for a program."""
    return worst_quadratic(_correlation(method, program, eta, kappa), 1 / kappa, eta)


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
            printed = _value(method, "paper", ETA, kappa)
            ratio = printed / _quadratic(method, "paper", ETA, kappa)
            label = f"{method}, eta = {ETA}, kappa = {kappa}: (10) is {printed:.4g}"
            yield Fact(f"{label}; over the error of a quadratic, if below 1", min(ratio, 1.0), 1.0)


def _order_and_growth(program: ProgramName, methods: Sequence[str] = METHODS) -> Iterator[Fact]:
    """Of a program's values: order at every kappa, difference and ratio from kappa to kappa."""
    sgd, nu, best = np.array([[_value(method, program, ETA, kappa) for kappa in KAPPAS] for method in methods])
    yield Fact(f"{program}: DP-SGD above nu-DP-FTRL", bool(np.all(sgd > nu)), True, 0)
    yield Fact(f"{program}: nu-DP-FTRL not below Optimized", bool(np.all(nu >= best * (1 - SOLVED))), True, 0)
    yield Fact(f"{program}: DP-SGD minus nu-DP-FTRL grows with kappa", bool(np.all(np.diff(sgd - nu) > 0)), True, 0)
    yield Fact(f"{program}: so does their ratio", bool(np.all(np.diff(sgd / nu) > 0)), True, 0)
    low, high = GAINS[program]
    slower = nu[-1] / nu[0] / (best[-1] / best[0])
    label = f"{program}: from first to last kappa nu-DP-FTRL grows {slower:.7f} times as much as Optimized"
    yield Fact(f"{label}, from {low} to {high}", bool(low <= slower <= high), True, 0)


def _errors(rng: np.random.Generator, scale: float = 1.0) -> Iterator[Fact]:
    """Of the errors themselves: DP-SGD's worst is between two numbers without kappa, nu-DP-FTRL's below the lower."""
    below, above = ETA / (2 * (2 - ETA)), ETA / 2
    for kappa in KAPPAS:
        sgd, nu = (_bound(method, "f", ETA, kappa) for method in (SGD, NU))
        exact = _quadratic(SGD, "f", ETA, kappa)
        yield Fact(
            f"kappa = {kappa}: a quadratic's error under DP-SGD, in eta N / (2 (2 - eta))", exact / below, 1.0, 1e-9
        )
        proven = float(sgd.best) / above
        yield Fact(f"kappa = {kappa}: proven for all losses, {proven:.4g} eta N / 2", bool(proven <= 1 + 1e-9), True, 0)
        if kappa <= SEPARATED:
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
            ("(10) as printed", "printed"): [_value(method, "paper", *setting) for setting in settings],
            ("program theta, (10) made valid", "bound"): [_value(method, "theta", *setting) for setting in settings],
            ("program f", "bound"): [_value(method, "f", *setting) for setting in settings],
            ("worst quadratic", "theory"): [_quadratic(method, "f", *setting) for setting in settings],
        }
        if method == SGD:
            lines[("co-coercivity", "bound")] = [float(_bound(method, "f", *setting).best) for setting in settings]
        series = [{"label": label, "role": role, "x": x, "y": y} for (label, role), y in lines.items()]
        horizontal, vertical = _axes(method, axis)
        return {"x": horizontal, "y": vertical, "log": ["x", "y"], "series": series}

    return picture


def _methods() -> dict[str, Any]:
    """The paper's own picture, and the same for program f."""
    shown: dict[ProgramName, tuple[str, str]] = {"paper": ("(10) as printed", "printed"), "f": ("program f", "bound")}
    series = [
        {"label": f"{name}, {stated}", "role": role, "x": KAPPAS, "y": [_value(name, program, ETA, k) for k in KAPPAS]}
        for program, (stated, role) in shown.items()
        for name in METHODS
    ]
    return {"x": "condition number", "y": f"bounds, learning rate {ETA}", "log": ["x", "y"], "series": series}


def _sandwich(method: str, axis: str, scale: float = 1.0) -> Iterator[Fact]:
    """Worst quadratic <= f <= theta along the panel, f certified."""
    for eta, kappa in _settings(axis):
        f, theta = _value(method, "f", eta, kappa), _value(method, "theta", eta, kappa)
        exact = _quadratic(method, "f", eta, kappa)
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
        averaged=100.0 if method == SGD or eta == 1.0 else 50.0,
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


# Impostors of a panel: f this many times its value is below a quadratic, the bounds below a simulated loss.
SHARES = {
    (SGD, "kappa"): (0.53, 0.75),
    (NU, "kappa"): (0.77, 0.69),
    (BEST, "kappa"): (0.77, 0.69),
    (SGD, "eta"): (0.42, 0.86),
    (NU, "eta"): (0.7, 0.45),
    (BEST, "eta"): (0.7, 0.46),
}


def _panel(method: str, axis: str) -> tuple[Agreement, BoundedMean]:
    """The checks behind one panel."""
    share, simulated = SHARES[method, axis]
    return (
        Agreement(
            facts=lambda rng: _sandwich(method, axis),
            picture=_curves(method, axis),
            impostors={f"{share} of f": {"facts": lambda rng: _sandwich(method, axis, share)}},
        ),
        BoundedMean(
            means=Means(cases=_cases(method, axis), trials={"quick": 512, "full": 1024}, axes=_axes(method, axis)),
            impostors={f"{simulated} of the bounds": {"scale": simulated}},
        ),
    )


def _order_check(program: ProgramName) -> Agreement:
    swapped = (SGD, BEST, NU)
    return Agreement(
        facts=lambda rng: _order_and_growth(program),
        impostors={"nu-DP-FTRL and Optimized swapped": {"facts": lambda rng: _order_and_growth(program, swapped)}},
    )


def _co_coercivity(slip: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """Independent noise of power N: F - F* <= <g, theta> - |g|^2 / (2 L), F being convex and L-smooth.

    In the mean |theta|^2 changes by eta^2 (|g|^2 + N) - 2 eta <g, theta>, which is 0 when stationary; so F - F* is at
    most eta N / 2 + (eta - 1 / L) |g|^2 / 2.
    """
    eta, smooth, power, product, square = sympy.symbols("eta L N gtheta gg", positive=True)
    change = eta**2 * (square + (1 + slip) * power) - 2 * eta * product
    stated = eta * power / 2 + (eta - 1 / smooth) * square / 2
    yield "co-coercivity", product - square / (2 * smooth) + change / (2 * eta) - stated


CLAIMS = (
    Claim(
        id="ftrl/fig-3",
        where="Figure 3",
        kind="number",
        statement=(
            "The bound (10) on $F_oo$ against $kappa$: DP-SGD above $nu$-DP-FTRL, the more the larger $kappa$; the "
            "optimised correlation below, growing even more slowly."
        ),
        hypotheses=(
            "$L = G = 1$, $sigma_s = 0$; not given: $eta = 0.1$, $rho = 1 \\/ 2$, $d = 1$, $4 <= kappa <= 256$, lags "
            "up to 4. $nu$ and $B$ best for each program; quadratics and losses under those for $f$."
        ),
        checks=(Agreement(facts=_below_the_error),),
        correction=Correction(
            statement=(
                "(10) as printed is no bound: at $kappa = 4$ it gives DP-SGD a fifth of a quadratic's error. Its "
                "values and those of its valid forms, programs $theta$ and $f$, are ordered as stated, and difference "
                "and ratio of the first two grow. From $kappa = 4$ to $256$ the optimised value grows less than that "
                "of $nu$-DP-FTRL by 5 % for (10), 1 % for $f$, and by nothing for $theta$. But what grows is the "
                "bound, not the error: with $N = G^2 \\/ (2 rho)$ that of DP-SGD is at worst between $eta N \\/ (2 (2 "
                "- eta L))$ and $eta N \\/ 2$ for every $kappa$ if $eta L <= 1$, by co-coercivity. For $kappa <= 64$ "
                "that of $nu$-DP-FTRL is provably smaller, by a factor of 1.2 or more."
            ),
            checks=(
                *map(_order_check, GAINS),
                Symbolic(
                    residuals=_co_coercivity,
                    impostors={"noise counted twice": {"residuals": lambda: _co_coercivity(slip=1)}},
                ),
                *(check for axis in ("kappa", "eta") for method in METHODS for check in _panel(method, axis)),
                Agreement(
                    facts=_errors,
                    picture=_methods,
                    impostors={"bound 1 % larger": {"facts": lambda rng: _errors(rng, 1.01)}},
                ),
            ),
        ),
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
