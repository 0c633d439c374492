"""Theorem D.4 and Appendices D.2.1, D.2.2: bounds on all iterates, the events behind them and what follows on those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import sympy

from dpbounds.ftrl import correlations, finite_time
from simulators.ftrl import LinearRegression, Settings
from verify.checks import Event, Frequency, Inequality, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.ftrl.claims import finite_time_moments as exact
from verify.ftrl.claims.finite_time_runs import Scenario, components, iterates

Sides = tuple[np.ndarray, np.ndarray]
ELL = "$ell = log(T \\/ p)$"
LOUDER = "$ell = log(6 T \\/ p)$"
CONDITIONS = "$ell = log(T\\/p)$, $eta <= (C R^2 ell)^(-1)$ and the events named."

# --- Theorem D.4 ---


def _unstable_runs() -> list[Event]:
    """x = +-1, eta = 3 <= c R^2 log(T / p): theta'_t = (-2)^t theta'_0, against C = 10^6."""
    steps, p = 60, 0.5
    problem = LinearRegression(eigenvalues=(1.0,), inputs="sign", initial=(1.0,))
    settings = Settings(correlation=correlations.independent(), eta=3.0, rho=np.inf, steps=steps, clipping=False)
    ell = np.log(steps / p)
    return [
        Event(
            label="d=1, x=+-1, eta=3, T=60, p=1/2, no noise, C=10^6",
            experiment=iterates(problem, settings),
            occurs=lambda arrays: (arrays["all"] <= 1e6 * ell**3) & (arrays["gradients"] ** 2 <= 1e6 * ell**5),
            at_least=1 - p,
        )
    ]


def _bounded_runs(quantity: str, scale: float = 1.0) -> list[Event]:
    """All iterates, or all gradients, within the bounds with constants; p = 0.02 and 0.3."""
    plane = (1.0, 0.1)
    cases = [
        (Scenario(label="initial distance", eigenvalues=plane, initial=(1.0, 2.0), rho=np.inf), 60, 0.02),
        (Scenario(label="residuals", eigenvalues=plane, sigma_sgd=1.0, rho=np.inf), 60, 0.02),
        (Scenario(label="white noise", eigenvalues=plane, rho=0.5), 60, 0.02),
        (Scenario(label="nu-noise", eigenvalues=(1.0, 1.0, 0.3), inputs="sign", correlated=True, rho=0.01), 40, 0.02),
        (
            Scenario(label="all three", eigenvalues=(2.0, 0.5), sigma_sgd=0.2, initial=(0.5, 0.0), correlated=True),
            2,
            0.3,
        ),
    ]
    return [_bounded_run(quantity, *case, scale) for case in cases]


def _bounded_run(quantity: str, scenario: Scenario, steps: int, p: float, scale: float) -> Event:
    eta = float(1 / (4 * scenario.r_squared * np.log(6 * steps / p)))
    settings = scenario.settings(eta, steps, clipping=False)
    bound = finite_time.iterate_bound if quantity == "all" else finite_time.gradient_bound
    largest = scale * bound(
        scenario.correlation(eta),
        np.array(scenario.eigenvalues),
        eta,
        noise_variance=settings.noise_multiplier**2,
        steps=steps,
        failure=p,
        initial_distance=scenario.distance,
        sigma_sgd=scenario.sigma_sgd,
        R_squared=scenario.r_squared,
    )
    return Event(
        label=f"{scenario.label}, T={steps}, p={p}",
        experiment=iterates(scenario.problem, settings),
        occurs=lambda arrays: arrays[quantity] <= largest,
        at_least=1 - p,
    )


def _three_parts(m, T, p):
    """3 * 4 l (2 + log(24 T^2 / p)): what the noise term of `iterate_bound` becomes in multiples of N."""
    return 12 * m.log(6 * T / p) * (2 + m.log(24 * T**2 / p))


UNIVERSAL = {"T": Real(1.0, 1e12, "log"), "p": Real(1e-12, 1.0, "log")}

# --- Proposition D.5 ---


def _events(C: float) -> list[Event]:
    """All six events at once, w.p. 1 - 6 p, (78) with the square."""
    cases = [
        (Scenario(label="Gaussian, d=2", eigenvalues=(1.0, 0.2), sigma_sgd=0.5), 20, 0.02),
        (Scenario(label="signs, d=3", eigenvalues=(1.0, 1.0, 0.1), inputs="sign", sigma_sgd=0.5), 15, 0.02),
        (Scenario(label="Gaussian, d=1", eigenvalues=(2.0,), sigma_sgd=0.5), 3, 0.1),
    ]
    weights = ((1.0,), (1.0, -0.5, 0.3), (2.0, 1.0))
    return [_event(*case, beta, "U ratio squared", C) for case in cases for beta in weights]


def _large_weight() -> list[Event]:
    """beta = (50, 0, ...), T = 2: Tr U_{1,0} = 2500 d, stated at most 4 d / p times 50."""
    return [
        _event(
            Scenario(label="signs, d=1", eigenvalues=(1.0,), inputs="sign", sigma_sgd=0.5),
            2,
            0.1,
            (50.0,),
            "U ratio",
            4.0,
        )
    ]


def _event(scenario: Scenario, steps: int, p: float, beta: tuple[float, ...], U: str, C: float) -> Event:
    ell, sigma, r_squared = float(np.log(steps / p)), scenario.sigma_sgd, scenario.r_squared
    eta = 1 / (4 * r_squared * ell)
    correlation = correlations.from_coefficients(beta)
    settings = replace(scenario.settings(eta, steps, clipping=False), correlation=correlation, sensitivity=1.0)

    def occurs(seen: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.logical_and.reduce(
            [
                seen["inputs"] <= C * r_squared * ell,
                seen["residuals"] <= 2 * sigma**2 * np.log(2 * steps / p),
                seen["sgd ratio"] <= C * ell,
                seen["W ratio"] <= steps**2 * r_squared / p,
                seen["dp ratio"] <= C * ell,
                seen[U] <= steps**2 * len(scenario.eigenvalues) / p,
            ]
        )

    label = f"beta={beta}, {scenario.label}, T={steps}, p={p}"
    return Event(label=label, experiment=components(scenario.problem, settings), occurs=occurs, at_least=1 - 6 * p)


def _tail(m, T, p, C):
    """T P(<z, A z> > C l Tr A), from E exp(3/8 <z, A z> / Tr A) <= 2."""
    return 2 * T * m.exp(-m.number("3/8") * C * m.log(T / p))


# --- Propositions D.6 to D.8 ---


def _contraction(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Q = I - eta x x^T has eigenvalues 1 and 1 - eta ||x||^2; with eta ||x||^2 = 1 / (1 + s) none is negative and no
    norm grows.
    """
    x, v = sympy.Matrix(sympy.symbols("x0:3", real=True)), sympy.Matrix(sympy.symbols("v0:3", real=True))
    eta, k = sympy.symbols("eta k", positive=True)
    norm = (x.T * x)[0]
    Q = sympy.eye(3) - eta * x * x.T
    yield "eigenvalues of Q", sympy.det(Q - k * sympy.eye(3)) - (1 - k) ** 2 * (1 - sign * eta * norm - k)
    lost = (v.T * v)[0] - (v.T * Q * Q * v)[0]
    yield "||v||^2 - ||Q v||^2", lost - eta * (x.T * v)[0] ** 2 * (2 - sign * eta * norm)


def _telescopes(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """I - Q^2 - eta x x^T = eta (1 - eta ||x||^2) x x^T >= 0: so P (x x^T) P^T <= (P P^T - P Q Q P^T) / eta."""
    x, eta = sympy.Matrix(sympy.symbols("x0:3", real=True)), sympy.symbols("eta", positive=True)
    Q, outer = sympy.eye(3) - eta * x * x.T, x * x.T
    rest = eta * (1 - sign * eta * (x.T * x)[0])
    yield "I - Q^2 - eta x x^T", sympy.eye(3) - Q * Q - eta * outer - rest * outer


def _inputs(angles: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """sqrt(eta) x_t, norms at most 1: (n, T, 2)."""
    return lengths[..., None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _residual_response(angles: np.ndarray, lengths: np.ndarray, factor: float = 1.0) -> Sides:
    """eta Tr Sigma^sgd_T and d = 2, T = 6 inputs."""
    x = _inputs(angles, lengths)
    total, pushed = np.zeros(len(x)), np.zeros((len(x), 0, 2))
    for t in range(x.shape[1]):
        moved = pushed - np.sum(pushed * x[:, t, None], axis=-1, keepdims=True) * x[:, t, None]
        pushed = np.concatenate([moved, x[:, t, None]], axis=1)
        total = np.sum(pushed**2, axis=(1, 2))
    return total, np.full(len(x), 2.0 * factor)


def _noise_response(angles, lengths, beta, mu, share, log_p, factor: float = 1.0) -> Sides:
    """Tr Sigma^dp_T at T = 6 against the bound that E_2^dp (squared) gives with nu = share eta mu, beta_0 = 1; p is
    lowered until the event occurs.
    """
    x, beta = _inputs(angles, lengths)[:, 1:], np.concatenate([np.ones((len(mu), 1)), beta], axis=1)
    U = exact.noise_responses(np.eye(2) - x[..., :, None] * x[..., None, :], beta)
    T = beta.shape[1]
    sums = exact.weighted_sums(beta, mu)
    p = np.minimum(np.exp(log_p), np.min(T**2 * 2 * sums**2 / np.maximum(U, 1e-300), axis=1))
    nu = share * mu
    absolute = np.abs(beta).sum(axis=1)
    constant = np.sum(np.abs(beta) * (1 - nu[:, None]) ** (-np.arange(T) / 2), axis=1)
    remembered = (2 + np.log(T**2 * constant**2 / (p * absolute**2))) / nu
    return U.sum(axis=1), factor * 2 * absolute**2 * remembered


def _tail_sum(m, nu, log_K):
    """sum_tau min(1, K (1 - nu)^tau) <= n + K (1 - nu)^n / nu, n the next whole number after log K / -log(1 - nu)."""
    return log_K / -m.log1p(-nu) + 1 + 1 / nu


PATHS = {"angles": (Real(0.0, np.pi), 6), "lengths": (Real(0.0, 1.0), 6)}
RESPONSES = {
    **PATHS,
    "beta": (Real(-1.0, 1.0), 5),
    "mu": Real(1e-3, 0.99, "log"),
    "share": Real(0.01, 1.0, "log"),
    "log_p": Real(-20.0, 0.0),
}

SCALES = {"C": Real(10.0, 1e6, "log"), "sigma": Real(1.0, 1e8, "log")}
UNSCALED = Inequality(
    smaller=lambda m, C, sigma: m.power(sigma / (C * m.log(m.number(4))), 2),
    larger=lambda m, C, sigma: m.power(m.log(m.number(4)), 2),
    box=SCALES,
)

CLAIMS = (
    Claim(
        id="ftrl/thm-d.4-theta",
        where="Theorem D.4",
        kind="inequality",
        statement=(
            "With probability at least $1 - p$, $norm(theta'_t)^2 <= C N ell^3$ for all $t < T$, $N = "
            "norm(theta'_0)^2 + eta R^2 sigma_s^2\\/mu + eta^2 sigma_w^2 d norm(beta)_1^2\\/nu$."
        ),
        hypotheses=(
            f"Assumption D.1, $eta <= c R^2 ell$, $c >= 1$; half-expo decay with parameter $nu <= eta mu$; {ELL}."
        ),
        checks=(Frequency(events=_unstable_runs),),
        correction=Correction(
            statement=(
                f"for $eta <= 1\\/(4 R^2 ell)$ and {LOUDER} ($log(T\\/p)$ vanishes as $T = 1$, $p -> 1$) the bound is "
                "$38 N ell^2$, given a decay constant of at most $2 norm(beta)_1$: one logarithm less."
            ),
            checks=(
                Inequality(
                    smaller=_three_parts,
                    larger=lambda m, T, p: 38 * m.power(m.log(6 * T / p), 2),
                    box=UNIVERSAL,
                    impostors={"20": {"larger": lambda m, T, p: 20 * m.power(m.log(6 * T / p), 2)}},
                ),
                Frequency(
                    events=lambda: _bounded_runs("all"),
                    impostors={"a twentieth": {"events": lambda: _bounded_runs("all", 0.05)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-d.4-grad",
        where="Theorem D.4",
        kind="inequality",
        statement="and $norm(g_t)^2 <= C R^4 (N + sigma_s^2\\/R^2) ell^5$.",
        hypotheses="As for the iterates.",
        checks=(Frequency(events=_unstable_runs),),
        correction=Correction(
            statement=(
                f"under the same conditions as for the iterates, {LOUDER}, $norm(g_t)^2 <= 1216 R^4 (N + "
                "sigma_s^2\\/R^2) ell^4$."
            ),
            checks=(
                Inequality(
                    smaller=lambda m, T, p: 16 * m.log(12 * T / p),
                    larger=lambda m, T, p: 1216 * m.power(m.log(6 * T / p), 3),
                    box=UNIVERSAL,
                    impostors={"3": {"larger": lambda m, T, p: 3 * m.power(m.log(6 * T / p), 3)}},
                ),
                Frequency(
                    events=lambda: _bounded_runs("gradients"),
                    impostors={"a twentieth": {"events": lambda: _bounded_runs("gradients", 0.05)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-d.5",
        where="Proposition D.5, (71) to (78)",
        kind="mc-rate",
        statement=(
            "The six events (71), (72), (73), (76), (77), (78) occur together with probability at least $1 - 6 p$."
        ),
        hypotheses=(
            "The setting of Theorem D.4 with $eta <= 1\\/(4 R^2 ell)$; the constants of half-expo decay are any finite "
            "numbers. Only $p < 1\\/6$ says anything."
        ),
        checks=(Frequency(events=_large_weight),),
        correction=Correction(
            statement=(
                "(78) has the square of the sum, as the proof of Proposition D.8 uses it (as printed it is not "
                "invariant under $beta -> s beta$, $sigma_w -> sigma_w\\/s$); and $C = 4$ serves."
            ),
            checks=(
                Inequality(
                    smaller=lambda m, T, p: _tail(m, T, p, 4),
                    larger=lambda m, T, p: p,
                    certificate=lambda m, T, p: 1 - 2 * m.sqrt(p / T),  # the difference over p
                    box={"T": Real(1.0, 1e12, "log"), "p": Real(1e-12, 1 / 6, "log")},
                    impostors={"C = 3": {"smaller": lambda m, T, p: _tail(m, T, p, 3)}},
                ),
                Frequency(
                    events=lambda: _events(4.0),
                    impostors={"C = 0.5": {"events": lambda: _events(0.5)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-d.6",
        where="Proposition D.6, (74)",
        kind="inequality",
        statement="$0 prec.eq Q_t prec.eq I$ and $norm(hat(theta)_t) <= norm(theta'_0)$.",
        hypotheses=f"{CONDITIONS} They give $eta norm(x_t)^2 <= 1$; shown for $d = 3$.",
        checks=(Symbolic(residuals=_contraction, impostors={"sign": {"residuals": lambda: _contraction(-1)}}),),
    ),
    Claim(
        id="ftrl/prop-d.7",
        where="Proposition D.7",
        kind="inequality",
        statement="On $E_1$, $E_1^s$, $E_2^s$: $norm(theta^s_t)^2 <= C eta R^2\\/mu dot.c ell^3$.",
        hypotheses=(
            f"{CONDITIONS} Tried on $d = 1$, $x = plus.minus 1$, $xi_0 = sigma_s$, $T = 2$, $p = 1\\/2$, $eta = "
            "1\\/(C ell)$: $norm(theta^s_1)^2 = eta^2 sigma_s^2$ for any $sigma_s$."
        ),
        checks=(UNSCALED,),
        correction=Correction(
            statement=(
                "$norm(theta^s_t)^2 <= C eta sigma_s^2 d ell <= C eta sigma_s^2 R^2\\/mu dot.c ell$: with the missing "
                "$sigma_s^2$, two logarithms less, and without $E_2^s$, since $Sigma^s_t prec.eq I\\/eta$ telescopes."
            ),
            checks=(
                Symbolic(residuals=_telescopes, impostors={"sign": {"residuals": lambda: _telescopes(-1)}}),
                Search(
                    sides=_residual_response,
                    box=PATHS,
                    extremal=lambda: [{"angles": np.pi / 2 * np.arange(6), "lengths": np.ones(6)}],
                    vectorised=True,
                    impostors={"0.95 d": {"sides": lambda **path: _residual_response(factor=0.95, **path)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-d.8",
        where="Proposition D.8",
        kind="inequality",
        statement="On $E_1$, $E_1^d$, $E_2^d$: $norm(theta^s_t)^2 <= C eta R^2\\/mu dot.c ell^3$.",
        hypotheses=(
            "As printed, for $theta^s$, of which these events say nothing; tried on the instance of Proposition D.7. "
            f"{CONDITIONS}"
        ),
        checks=(UNSCALED,),
        correction=Correction(
            statement=(
                "what is proved and used is $norm(theta^d_t)^2 <= C eta^2 sigma_w^2 d norm(beta)_1^2\\/nu dot.c (2 + "
                "log(T^2 D^2\\/(p norm(beta)_1^2))) ell$, $D$ the constant of half-expo decay with parameter $nu <= "
                "eta mu$; its indicator is $1(tau < t)$."
            ),
            checks=(
                Inequality(
                    smaller=_tail_sum,
                    larger=lambda m, nu, log_K: (2 + log_K) / nu,
                    box={"nu": Real(1e-12, 1 - 1e-9, "logit"), "log_K": Real(0.0, 100.0)},
                    certificate=lambda m, nu, log_K: 1 - nu,  # at most the difference times nu: -log(1 - nu) >= nu
                    impostors={"1 + log K": {"larger": lambda m, nu, log_K: (1 + log_K) / nu}},
                ),
                Search(
                    sides=_noise_response,
                    box=RESPONSES,
                    vectorised=True,
                    impostors={"a tenth": {"sides": lambda **path: _noise_response(factor=0.1, **path)}},
                ),
            ),
        ),
    ),
)
