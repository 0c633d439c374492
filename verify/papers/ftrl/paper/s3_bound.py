"""Section 3, Theorem 3.1: the bound (10) on the stationary error for mu-strongly convex, L-smooth losses.

In this and the modules on Appendix E theta* = 0, z = 1 - e^{i omega}, u = z - eta mu, v = z - eta L, p = g - mu theta,
q = L theta - g, and S = d G^2 gamma^2 / (2 rho) |B|^2 + sigma_s^2 is the spectrum of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.circle.quadrature import even_integral
from dpbounds.ftrl.correlations import ToeplitzCorrelation, independent
from dpbounds.ftrl.strongly_convex import ConvexBound, ProgramName, StronglyConvex, bound, bound_density, recertify
from simulators.ftrl import (
    Huber,
    Logistic,
    LogSumExp,
    Loss,
    PiecewiseQuadratic,
    Quadratic,
    kinked_quadratic,
    piecewise_quadratic,
    stationary_settings,
)
from verify.checks import (
    Agreement,
    BoundedMean,
    Case,
    Fact,
    Holds,
    Inequality,
    Means,
    MonteCarlo,
    Symbolic,
    Times,
    Within,
)
from verify.checks.domains import Real
from verify.papers.ftrl.tools.strongly_convex import (
    MECHANISMS,
    RHO,
    complex_symbol,
    correlation_of,
    real_part,
    squared,
    stationary_case,
    worst_quadratic,
)
from verify.statements.claims import Claim, Correction, Fault


def _quadratic_error(m, eta):
    """F = theta^2 / 2, B = 1, rho = 1/2: E theta^2 = (1 - eta)^2 E theta^2 + eta^2."""
    return eta**2 / (1 - (1 - eta) ** 2) / 2


def _printed_on_quadratic(m, eta):
    """(10) at mu = L = 1: (90) says psi >= eta^4 |1 - eta - e^{i omega}|^{-2} and comes as near as one likes.

    The mean of that over the circle is eta^4 sum_t (1 - eta)^{2t}; G^2 / rho = 2.
    """
    return 2 * eta**4 / (1 - (1 - eta) ** 2)


def _printed_values(rng: np.random.Generator) -> Iterator[Fact]:
    """The least value of (10) as printed against the worst quadratic and the best proven bound."""
    for eta in (0.1, 0.5):
        for kappa in (2, 20, 200):
            for mechanism in MECHANISMS[:2]:
                correlation = correlation_of(mechanism, eta, 1 / kappa)
                printed = float(
                    bound(
                        correlation,
                        StronglyConvex(mu=1 / kappa, L=1.0, eta=eta, rho=RHO),
                        program="paper",
                        certify=False,
                    ).value
                )
                proven = bound(
                    correlation, StronglyConvex(mu=1 / kappa, L=1.0, eta=eta, rho=RHO), certify=False, program="f"
                )
                above = min(map(float, (proven.value, *proven.simple)))
                below = printed / worst_quadratic(correlation, 1 / kappa, eta)
                label = f"{mechanism}, eta = {eta}, kappa = {kappa}: (10) is {printed / above:.3g} times a proven bound"
                yield Fact(f"{label}; over the error of a quadratic, if below 1", min(below, 1.0), 1.0)


def _program_f(slip: int = 0) -> Iterator[tuple[Any, ...]]:
    """F - F* <= (a |p|^2 + 2 a <p, q> + b |q|^2) / l^2, l = L - mu, a = L / 2, b = mu / 2; then Theta is eliminated.

    phi = F - F* - mu |theta|^2 / 2 is convex and l-smooth with gradient p, so phi <= <p, theta> - |p|^2 / (2 l). With
    the constraint 2 Re[Lambda P* Q] and c = Lambda + a, the sum is a form in (P, Q) = T (Theta, Z). A form [[-D', X],
    [X*, Y]] with D' > 0 is at most (Y + |X|^2 / D') |Z|^2 = -det / D' |Z|^2, and det = |det T|^2 (a b - |c|^2).
    """
    mu, smooth, eta = sympy.symbols("mu L eta", positive=True)
    ell = smooth - mu
    a, b = smooth / 2, (1 + slip) * mu / 2
    p, q = sympy.symbols("p q", real=True)
    theta = (p + q) / ell
    stated = (a * p**2 + 2 * a * p * q + b * q**2) / ell**2
    yield "F - F*", stated, p * theta - p**2 / (2 * ell) + mu * theta**2 / 2
    z, c = complex_symbol("z"), complex_symbol("c")
    u, v = z - eta * mu, z - eta * smooth
    change = sympy.Matrix([[u / eta, -1], [-v / eta, 1]])
    yield "det T", change.det(), ell
    form = change.H * sympy.Matrix([[a, c], [sympy.conjugate(c), b]]) * change
    yield "D", form[0, 0] + (2 * real_part(c * sympy.conjugate(u) * v) - a * squared(u) - b * squared(v)) / eta**2
    yield "det", form.det(), ell**2 * (a * b - squared(c))


# --- what dpbounds computes ---

# Constants none of which is 1; eta L on either side of 1.
UNITS = {"d": 3, "clip_norm": 1.7, "sigma_sgd": 0.6}
SMOOTH, CONVEX, BUDGET = 2.5, 0.3, 1.3
PROGRAMS: tuple[tuple[ProgramName, str, float], ...] = (
    ("f", "DP-SGD", 0.6),
    ("f", "nu-DP-FTRL", 0.1),
    ("theta", "DP-SGD", 0.1),
    ("paper", "damped anti-PGD", 0.6),
)


def _spectrum(correlation: ToeplitzCorrelation, omega: np.ndarray, program: ProgramName = "f") -> np.ndarray:
    """S, or for `paper` what stands beside psi in (10), G^2 gamma^2 |B|^2 / rho + sigma_s^2, d times."""
    power = UNITS["clip_norm"] ** 2 * float(correlation.limiting_sensitivity()) ** 2 / BUDGET
    privacy, residual = power * correlation.power_spectrum(omega), UNITS["sigma_sgd"] ** 2
    return UNITS["d"] * (privacy + residual if program == "paper" else privacy / 2) + residual * (program != "paper")


def _psi(found: ConvexBound, omega: np.ndarray) -> np.ndarray:
    """psi_F of the correction from complex numbers; for the other programs b = a, and for `paper` plus signs."""
    mu, L, eta = found.program.mu, found.program.L, found.program.eta
    lags = (len(found.multipliers) - 1) // 2
    margin, *others = found.multipliers
    forward, backward = np.array(others[:lags]), np.array(others[lags:])
    waves = np.exp(1j * np.outer(np.arange(1, lags + 1), omega))
    sign = 1 if found.program.name == "paper" else -1
    a, b = L / 2, mu / 2 if found.program.name == "f" else L / 2
    c = a + margin + np.sum(others) + sign * (forward @ waves + backward @ waves.conj())
    u, v = (1 - np.exp(1j * omega) - eta * x for x in (mu, L))
    denominator = 2 * np.real(c * u.conj() * v) - a * np.abs(u) ** 2 - b * np.abs(v) ** 2
    return eta**2 * (np.abs(c) ** 2 - a * b) / denominator


def _values(rng: np.random.Generator) -> Iterator[Fact]:
    """What `bound` gives, by another quadrature and other formulas; the same from its data, and for a given density."""
    for program, mechanism, eta in PROGRAMS:
        correlation = correlation_of(mechanism, eta, CONVEX)
        found = bound(
            correlation, StronglyConvex(mu=CONVEX, L=SMOOTH, eta=eta, rho=BUDGET, **UNITS), program=program, max_lag=4
        )
        label = f"program {program}, {mechanism}, eta L = {eta * SMOOTH:g}"
        value = _mean(lambda omega, B=correlation, of=found: _spectrum(B, omega, of.program.name) * _psi(of, omega))
        value *= 2 * eta**2 if program == "paper" else 1.0
        yield Fact(f"{label}: value", float(found.value), value, 1e-7)
        yield Fact(f"{label}: value on the solver's grid", found.grid_value, value, 1e-6)
        omega = np.array([1e-3, 0.5, 3.0])
        yield Fact(f"{label}: psi", found.psi(omega), _psi(found, omega), 1e-7)
        if eta * SMOOTH <= 1:
            exact = worst_quadratic(correlation, CONVEX, eta, L=SMOOTH, rho=BUDGET, **UNITS)
            yield Fact(f"{label}: worst quadratic", float(found.lower), exact, 1e-3)
        total = _mean(lambda omega, B=correlation: _spectrum(B, omega))
        slowest = min(eta * CONVEX, 2 - eta * SMOOTH)
        simple = [SMOOTH / 2 * total * eta**2 / slowest**2]
        if mechanism == "DP-SGD":
            simple.append(eta / 2 * total * max(1.0, 1 / (2 - eta * SMOOTH)))
        yield Fact(f"{label}: contraction, co-coercivity", [float(item) for item in found.simple], simple, 1e-7)
        if program == "f":
            again = recertify(found.data())
            yield Fact(f"{label}: again from its multipliers", float(again.value), value, 1e-7)
        if program == "f" and eta * SMOOTH > 1:
            given = bound_density(_flat, CONVEX, SMOOTH, eta, max_lag=4)
            yield Fact(f"{label}: for a given density", float(given.value), value, 1e-6)


def _mean(density: Callable[[np.ndarray], np.ndarray]) -> float:
    """Over the circle."""
    return float(even_integral(density, relative_tolerance=1e-9)) / (2 * np.pi)


def _flat(m: Any, s: Any) -> Any:
    """S of DP-SGD, in any arithmetic."""
    power = UNITS["d"] * UNITS["clip_norm"] ** 2 / (2 * BUDGET) + UNITS["sigma_sgd"] ** 2
    return m.number(power) + 0 * s


def _certified(rng: np.random.Generator, scale: float = 1.0) -> Iterator[Within | Holds]:
    """Certified bounds of program f against the worst quadratic in the time domain."""
    for eta, kappa, sigma_sgd in ((0.1, 100, 0.0), (1.0, 10, 0.3)):
        for mechanism in MECHANISMS:
            correlation = correlation_of(mechanism, eta, 1 / kappa)
            found = bound(
                correlation,
                StronglyConvex(mu=1 / kappa, L=1.0, eta=eta, rho=RHO, sigma_sgd=sigma_sgd),
                max_lag=10,
                program="f",
            ).value
            ratio = scale * float(found) / worst_quadratic(correlation, 1 / kappa, eta, sigma_sgd=sigma_sgd)
            label = f"{mechanism}, eta = {eta}, kappa = {kappa}: bound"
            yield Within(f"{label} over the error of the worst quadratic", ratio, 1.0)
            yield Holds(f"{label} certified", found.certified)


# --- simulated losses ---

# Of the class in the simulations; L = 1.
MU = 0.1


def _loss_cases() -> list[Case]:
    """Losses against certified bounds of program f: the quadratic for which it is tightest, then other losses."""
    huber, kinked = Huber(mu=MU, L=1.0, scale=0.5), kinked_quadratic(MU, 1.0)
    bent = piecewise_quadratic(breakpoints=(-0.4, 0.3, 0.8), slopes=(MU, 1.0, MU, 1.0))
    return [
        _loss_case("quadratic", Quadratic(eigenvalues=(1.0,)), "damped anti-PGD", eta=0.1, averaged=1000.0),
        _loss_case("kinked quadratic", kinked, "DP-SGD"),
        _loss_case("Huber", huber, "DP-SGD"),
        _loss_case("four curvatures", bent, "DP-SGD", eta=1.2),
        _loss_case("kinked quadratic", kinked, "damped anti-PGD", eta=1.5),
        _loss_case("Huber, gradient noise", huber, "nu-DP-FTRL", sigma_sgd=0.5),
        _loss_case("kinked quadratic, d = 2", kinked_quadratic(MU, 1.0, 2), "nu-DP-FTRL", averaged=12.0),
        _loss_case("logistic, d = 2", Logistic(mu=MU, L=1.0, dimension=2), "nu-DP-FTRL", averaged=12.0),
        _loss_case("log-sum-exp, d = 2", LogSumExp(mu=MU, L=1.0, dimension=2), "damped anti-PGD", averaged=12.0),
    ]


def _loss_case(
    name: str, loss: Loss, mechanism: str, *, eta: float = 0.3, sigma_sgd: float = 0.0, averaged: float = 100.0
) -> Case:
    correlation, d = correlation_of(mechanism, eta, MU), loss.dimension
    return stationary_case(
        f"{name}, {mechanism}, eta = {eta}",
        loss,
        correlation,
        eta,
        lambda: float(
            bound(
                correlation,
                StronglyConvex(mu=MU, L=1.0, eta=eta, rho=RHO, d=d, sigma_sgd=sigma_sgd),
                max_lag=5,
                program="f",
            ).value
        ),
        sigma_sgd=sigma_sgd,
        averaged=averaged,
    )


def _losses(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Value and gradient of the losses: derivatives by differences, curvatures in [mu, L] with both ends reached."""
    losses: dict[str, Loss] = {
        "quadratic": Quadratic(eigenvalues=(2.0, 0.3)),
        "Huber": Huber(mu=0.3, L=2.0, scale=0.7, dimension=2),
        "logistic": Logistic(mu=0.3, L=2.0, dimension=2, scale=0.7),
        "log-sum-exp": LogSumExp(mu=0.3, L=2.0, dimension=2, scale=0.7),
        "kinked quadratic": kinked_quadratic(0.3, 2.0, 2),
        "four curvatures": piecewise_quadratic(breakpoints=(-0.4, 0.3, 0.8), slopes=(0.3, 2.0, 0.3, 2.0)),
        "two oblique ridges": PiecewiseQuadratic(
            curvature=0.3, directions=((1.0, 0.0), (0.6, 0.8)), offsets=(0.2, 0.1), weights=(0.9, 0.8)
        ),
    }
    for name, loss in losses.items():
        d, step = loss.dimension, 1e-4
        wide = np.concatenate([rng.standard_normal((200, d)), 30 * rng.standard_normal((200, d))])
        theta = np.concatenate([loss.minimiser + wide, loss.minimiser + 1e-3 * wide])
        slopes, curvatures = np.empty_like(theta), np.empty((len(theta), d, d))
        for axis, unit in enumerate(step * np.eye(d)):
            slopes[:, axis] = (loss.suboptimality(theta + unit) - loss.suboptimality(theta - unit)) / (2 * step)
            curvatures[:, axis] = (loss.gradient(theta + unit) - loss.gradient(theta - unit)) / (2 * step)
        scale = np.abs(slopes).max()
        yield Fact(f"{name}: gradient", loss.gradient(theta) / scale, slopes / scale, 1e-5)
        yield Fact(f"{name}: gradient at the minimiser", loss.gradient(loss.minimiser[None])[0] + 1.0, np.ones(d), 1e-9)
        yield Fact(f"{name}: F - F* at the minimiser", 1 + loss.suboptimality(loss.minimiser[None])[0], 1.0, 1e-9)
        # Along a line differences of gradients stay within mu and L at kinks too; a matrix of them does not.
        axes = np.linalg.eigh((curvatures + curvatures.transpose(0, 2, 1)) / 2)[1].transpose(2, 0, 1)
        moved = [loss.gradient(theta + step * u) - loss.gradient(theta - step * u) for u in axes]
        eigenvalues = np.sum(axes * np.array(moved), axis=-1) / (2 * step)
        yield Within(f"{name}: least curvature over mu", eigenvalues.min() / loss.mu, 1 - 1e-6)
        yield Within(f"{name}: largest curvature over L", eigenvalues.max() / loss.L, most=1 + 1e-6)
        ends = [eigenvalues.min() / loss.mu, eigenvalues.max() / loss.L]
        yield Fact(f"{name}: both ends approached", ends, [1.0, 1.0], 0.3)


def _lengths(rng: np.random.Generator) -> Iterator[Fact]:
    """What `stationary_settings` leaves out and averages, where eta mu or 2 - eta L sets the pace."""
    loss = kinked_quadratic(0.2, 1.6)
    for eta, pace in ((0.5, 0.1), (1.2, 0.08)):
        settings = stationary_settings(loss, independent(), eta, RHO, forgotten=3.0, averaged=7.05)
        lengths = settings.burn_in, settings.steps - settings.burn_in
        stated = math.ceil((3.0 + math.log(8.0) / 2) / pace), math.ceil(7.05 / pace)
        yield Fact(f"eta = {eta}: steps left out, averaged", lengths, stated, 1e-12)


def _quadratic_cases() -> list[Case]:
    """Quadratics in two dimensions against their exact error, the lower end of `bound`."""
    return [_quadratic_case("DP-SGD", 0.5, 2, 0.8), _quadratic_case("nu-DP-FTRL", 0.2, 1, 0.0)]


def _quadratic_case(mechanism: str, eta: float, d: int, sigma_sgd: float) -> Case:
    correlation = correlation_of(mechanism, eta, 1.0)
    return stationary_case(
        f"quadratic, d = {d}, {mechanism}, eta = {eta}",
        Quadratic(eigenvalues=(1.0,) * d),
        correlation,
        eta,
        lambda: worst_quadratic(correlation, 1.0, eta, d=d, clip_norm=1.5, sigma_sgd=sigma_sgd),
        sigma_sgd=sigma_sgd,
        clip_norm=1.5,
        averaged=1000.0,
    )


THM_3_1 = Claim(
    id="ftrl/thm-3.1",
    where="Theorem 3.1",
    page=7,
    equation="(10)",
    kind="inequality",
    statement=(
        "$F_oo <= inf_psi (L d)/(2 pi) integral (G^2 rho^(-1) abs(B)^2 gamma_oo^2 + sigma_s^2) psi dif omega$ over "
        "$psi >= 0$ in a convex set $cal(C)(eta, L, mu)$: a convex program."
    ),
    hypotheses=(
        "$f$ is $G$-Lipschitz with gradient noise at most $sigma_s$; $F$ is $mu$-strongly convex, $L$-smooth; "
        "$cal(C)$ holds the $psi$ of (90), as App. E.1 says."
    ),
    setting=r"$0 < eta < 2 \/ L$, where gradient descent converges. Simulations: $L = 1$, $mu = 0.1$.",
    checks=(
        Inequality(smaller=_quadratic_error, larger=_printed_on_quadratic, box={"eta": Real(0.1, 1.0, "log")}),
        Agreement(facts=_printed_values),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            r"(10) prints $(L d)/(2 pi)$ in front where App. E.1 derives $(2 L d)/(2 pi eta^2)$: for $F = theta^2\/2$, "
            r"$B = 1$, $d = G = 1$, $sigma_s = 0$, $rho = 1\/2$, $eta = {eta}$ the error $eta \/ (2 (2 - eta))$ is "
            "${smaller}$ and the printed bound ${larger}$, less by the factor $4 eta^2$."
        ),
        consequence=(
            r"Only the constant is at stake. With $2 \/ eta^2$ in front the bound holds for $eta <= 1 \/ L$, although "
            "its proof does not (Theorem E.1); at a fixed $eta$ the factor is the same for every $B$, so that no "
            "comparison of mechanisms changes, and the best $psi$ and $B$ are the same."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "$F_oo <= inf_psi (2 L d)/(2 pi eta^2) integral (G^2 rho^(-1) abs(B)^2 gamma_oo^2 + sigma_s^2) psi dif "
                r"omega$ over the $psi$ of (90), for $0 < eta <= 1 \/ L$."
            ),
            (
                r"Much sharper, for every $0 < eta < 2 \/ L$: $F_oo <= 1/(2 pi) integral S psi_F dif omega$ with "
                "$psi_F "
                r'= eta^2 (abs(c)^2 - a b) \/ (2 op("Re")[c overline(u) v] - a abs(u)^2 - b abs(v)^2)$, $a = L\/2$, $b '
                r"= mu\/2$, $c = Lambda + a$, $u = 1 - eta mu - e^(i omega)$, $v = 1 - eta L - e^(i omega)$, the "
                "denominator positive for all $omega$, $Lambda = lambda_0 - sum_(t != 0) lambda_t e^(-i omega t)$, "
                r"$lambda_t >= 0$, $sum_(t != 0) lambda_t <= lambda_0$, and $S = d G^2 gamma_oo^2 abs(B)^2 \/ (2 rho) "
                "+ "
                "sigma_s^2$."
            ),
        ),
        ground=(
            "The first by App. E.1 (ftrl/e.1-const); the second by the multipliers of Zames and Falb, applied to $F - "
            "F^star$ itself."
        ),
        checks=(
            Symbolic(decides="b", residuals=_program_f, impostors={"b twice as large": {"residuals": {"slip": 1}}}),
            Agreement(decides="ab", facts=_values, impostors={"0.001 % off": {"facts": Times(1.00001)}}),
            Agreement(decides="b", facts=_certified, impostors={"bounds 4 % smaller": {"facts": {"scale": 0.96}}}),
            Agreement(decides="b", facts=_losses, impostors={"gradients 1 % off": {"facts": Times(1.01)}}),
            Agreement(decides="b", facts=_lengths, impostors={"a tenth more": {"facts": Times(1.1)}}),
            BoundedMean(
                decides="b",
                means=Means(cases=_loss_cases, trials={"quick": 512, "full": 4096}),
                impostors={"bounds 5 % smaller": {"scale": 0.95}},
            ),
            MonteCarlo(
                decides="b",
                means=Means(cases=_quadratic_cases, trials={"quick": 512}),
                resolution={"quick": 0.02},
                impostors={"3 % too large": {"scale": 1.03}},
            ),
        ),
    ),
)
