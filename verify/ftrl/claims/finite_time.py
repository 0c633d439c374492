"""Section 2.3, Appendix D.1 and Definition D.3: finitely many steps of linear regression.

Theorem D.4 and its proof are in `finite_time_events` and `finite_time_lemmas`, expected bounds in
`finite_time_expected`, the guarantees of DP-FTRL in `finite_time_guarantees`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy

from dpbounds.ftrl import correlations, finite_time
from simulators.engine import Experiment
from simulators.ftrl import LinearRegression, Settings, linear_regression
from verify.checks import Agreement, Event, Fact, Frequency, Symbolic
from verify.claims import Claim, Correction
from verify.ftrl.claims import finite_time_rates as rates
from verify.ftrl.claims.finite_time_runs import Scenario

SECTION = f"The omitted terms are those of Corollaries D.14, D.15. {rates.READING}"

# --- equation (9) ---


def _small_step(scenario: Scenario, gamma: float, absolute: float, ell: float) -> float:
    """A learning rate below which G = 8 max{...} log(6 T / p) is never exceeded w.p. 1 - p.

    On the events of Prop. D.5 ||x||^2 <= 4 Tr(H) l and |xi|^2 <= 2.8 sigma^2 l; the three limits make eta ||x||^2 <= 1
    and the parts of theta' that stem from residuals and noise contribute at most 0.3 l sigma sqrt(Tr H) and G / 50:
    ||g|| <= (4 + 3.4 + 0.3) l max{...} + G / 50.
    """
    trace, d, mu = sum(scenario.eigenvalues), len(scenario.eigenvalues), min(scenario.eigenvalues)
    noise = 0.02**2 * scenario.rho * mu / (100 * trace**2 * gamma**2 * d * absolute**2 * ell**4)
    return min(1 / (4 * scenario.r_squared * ell), 0.0014 / (trace * d * ell), noise)


def _clip_free_runs(c: float = 8.0) -> list[Event]:
    """DP-FTRL with the clip norm of (9), a single logarithm of 6 T / p and the constant c."""
    return [
        _clip_free(Scenario(label="initial distance, d=1", eigenvalues=(1.0,), initial=(3.0,)), 50, c),
        _clip_free(
            Scenario(label="residuals, d=4", eigenvalues=(1.0, 0.5, 0.1, 0.1), sigma_sgd=2.0, correlated=True), 50, c
        ),
        _clip_free(
            Scenario(label="both", eigenvalues=(3.0, 0.01), sigma_sgd=0.3, initial=(1.0, 5.0), correlated=True), 20, c
        ),
        _clip_free(
            Scenario(label="signs", eigenvalues=(1.0, 1.0, 0.2), inputs="sign", sigma_sgd=1.0, initial=(0.1, 0.0, 1.0)),
            100,
            c,
        ),
    ]


def _clip_free(scenario: Scenario, steps: int, c: float) -> Event:
    p = 0.02
    ell = float(np.log(6 * steps / p))
    # gamma^2 <= 40 and ||beta||_1 <= 2 for every nu above 1e-100.
    eta = _small_step(scenario, 6.4, 2.0, ell) if scenario.correlated else _small_step(scenario, 1.0, 1.0, ell)
    trace = sum(scenario.eigenvalues)
    clip_norm = c * ell * max(trace * scenario.distance, scenario.sigma_sgd * trace**0.5)
    settings = scenario.settings(eta, steps, clip_norm=clip_norm, clipping=True)
    experiment = Experiment(algorithm=linear_regression, problem=scenario.problem, settings=settings, block_trials=2000)
    return Event(
        label=f"no clipping, {scenario.label}",
        experiment=experiment,
        occurs=lambda arrays: arrays["clipped"] == 0,
        at_least=1 - p,
    )


def coincidence(rng: np.random.Generator, clip_norm: float = 9.0) -> Iterator[Fact]:
    """DP-FTRL with G = 9 and Noisy-FTRL on the same draws: equal bit for bit where no gradient exceeds `clip_norm`."""
    problem = LinearRegression(eigenvalues=(1.0, 0.3), sigma_sgd=0.5, initial=(1.0, -1.0))
    seed, ends = int(rng.integers(2**31)), []
    for clipping in (True, False):
        settings = Settings(
            correlation=correlations.nu(0.02), eta=0.05, rho=2.0, steps=30, clip_norm=9.0, clipping=clipping
        )
        source = Experiment(algorithm=linear_regression, problem=problem, settings=30, block_trials=400)
        ends.append(linear_regression(problem, settings, source.streams(0, seed=seed), 400))
    inside = ends[1]["largest_gradient"] <= clip_norm
    yield Fact("theta_T on the event", ends[0]["theta"][inside], ends[1]["theta"][inside], 0)
    yield Fact("the event is that DP-FTRL clips nothing", ends[0]["clipped"] == 0, inside, 0)
    yield Fact("runs inside and outside the event occur", bool(inside.any() and not inside.all()), True, 0)


# --- Section 2.3 and Appendix D.1 ---


def _dimension_exchange(power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """The bound of Section 2.3(b) for DP-SGD as a function of d, and the one for nu-DP-FTRL."""
    k, e, d, n, s, rho, T = sympy.symbols("kappa d_e d n s rho T", positive=True)
    sgd = k * e * (d * e * n / (rho * T) + d * s / (rho * T) + s / T)
    ftrl = k * e * (k * e**2 * n / (rho * T**2) + k * e * s / (rho * T**2) + s / T)
    yield "the bound for DP-SGD at d = kappa d_e / T", sgd.subs(d, k * e / T**power) - ftrl


def _fourth_moments() -> tuple[sympy.Matrix, sympy.Matrix, list[sympy.Symbol], sympy.Matrix]:
    """A, H = A A^T (d = 3), kurtoses 1 + e_k, and M = E[<z, H z> z z^T] term by term for independent centred entries of
    variance 1.
    """
    A = sympy.Matrix(3, 3, sympy.symbols("a0:9", real=True))
    H, e = A * A.T, list(sympy.symbols("e0:3", positive=True))
    skew = sympy.symbols("s0:3", real=True)

    def moment(*indices: int) -> sympy.Expr:
        powers = [indices.count(k) for k in range(3)]
        values = [(1, 0, 1, skew[k], 1 + e[k])[power] for k, power in enumerate(powers)]
        return sympy.Mul(*values)

    M = sympy.zeros(3, 3)
    for k in range(3):
        for m in range(3):
            M[k, m] = sum(H[i, j] * moment(i, j, k, m) for i in range(3) for j in range(3))
    return A, H, e, M


def _r_squared_identity(factor: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """v^T (3 Tr(H) I - M) v as sums of squares, given kurtoses 1 + e_k <= 3 (Lagrange's identity)."""
    A, H, e, M = _fourth_moments()
    v = sympy.symbols("v0:3", real=True)
    column = sympy.Matrix(v)
    form = (column.T * (factor * H.trace() * sympy.eye(3) - M) * column)[0]
    products = [column * A.col(i).T for i in range(3)]
    areas = sum((((K - K.T) * (K - K.T).T).trace() for K in products), sympy.Integer(0)) / 2
    diagonal = sum(((2 - e[k]) * H[k, k] * v[k] ** 2 for k in range(3)), sympy.Integer(0))
    yield "v^T (3 Tr(H) - M) v = 2 areas^2 + sum_k (3 - E z_k^4) H_kk v_k^2", form - 2 * areas - diagonal
    excess = sum((e[k] * (A.row(k) * A.row(k).T)[0] for k in range(3)), sympy.Integer(0))
    yield "Tr(M) - d Tr(H) = sum_k (E z_k^4 - 1) H_kk", M.trace() - 3 * H.trace() - excess


# --- Property D.2 ---


def _decomposition(rng: np.random.Generator, *, shift: int) -> Iterator[Fact]:
    """Exact rationals, d = 2: the products (67) to (69) ending with Q_{t-shift}; 0 as printed, 1 is right."""
    steps, eta = 5, Fraction(1, 7)

    def draw(*shape: int) -> np.ndarray:
        return np.array([Fraction(int(n), 3) for n in rng.integers(-5, 6, size=int(np.prod(shape)))]).reshape(shape)

    x, xi, w, beta, start = draw(steps, 2), draw(steps), draw(steps, 2), draw(steps), draw(2)
    Q = [np.eye(2, dtype=int) * Fraction(1) - eta * np.outer(row, row) for row in x]

    def product(last: int, first: int) -> np.ndarray:
        """Q_last ... Q_first."""
        result = np.eye(2, dtype=int) * Fraction(1)
        for k in range(first, last + 1):
            result = Q[k] @ result
        return result

    noise = [sum((beta[k] * w[t - k] for k in range(t + 1)), 0 * start) for t in range(steps)]
    hat, sgd, dp, theta = start, 0 * start, 0 * start, start
    for t in range(steps - 1):
        last = t - shift
        yield Fact(f"(66) at t = {t}", theta, hat + sgd + dp, 0)
        yield Fact(f"(67) at t = {t}", hat, product(last, 0) @ start, 0)
        pushed = sum((product(last, s + 1) @ x[s] * xi[s] for s in range(last + 1)), 0 * start)
        yield Fact(f"(68) at t = {t}", sgd, eta * pushed, 0)
        blown = sum((product(last, s + 1) @ noise[s] for s in range(last + 1)), 0 * start)
        yield Fact(f"(69), first line, at t = {t}", dp, -eta * blown, 0)
        V = [sum((beta[j] * product(t - 1, t - tau + j) for j in range(tau + 1)), 0 * Q[0]) for tau in range(t)]
        drawn = sum((V[tau] @ w[t - 1 - tau] for tau in range(t)), 0 * start)
        yield Fact(f"(69), second line, at t = {t}", dp, -eta * drawn, 0)
        theta = Q[t] @ theta + eta * xi[t] * x[t] - eta * noise[t]
        hat, sgd, dp = Q[t] @ hat, Q[t] @ sgd + eta * xi[t] * x[t], Q[t] @ dp - eta * noise[t]


# --- Definition D.3 ---


def telescoping(shift: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """b_k = |binom(1/2, k)| and c_n = |binom(-1/2, n)| through their ratios: b_1 + ... + b_n = 1 - c_n < 1."""
    n = sympy.symbols("n", positive=True)
    c_ratio, b_ratio = (n + sympy.Rational(1, 2)) / (n + 1), (n + sympy.Rational(1, 2)) / (n + 2)
    claimed = 1 / (2 * (n + 1 + shift))
    yield "b_1 / c_0 = 1/2", claimed.subs(n, 0) - sympy.Rational(1, 2)
    yield "b_(n+1) / c_n = 1 / (2 (n + 1)) by induction", claimed * b_ratio / c_ratio - claimed.subs(n, n + 1)
    yield "c_n - c_(n+1) = b_(n+1)", 1 - c_ratio - claimed


def _decay_constants(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Sums over 100 / nu weights against the closed form, and where the decay ends."""
    for nu in (0.002, 0.05, 0.5, 0.95):
        terms = np.arange(round(100 / nu))
        weights = np.abs(correlations.nu(nu).coefficients(len(terms)))
        for decay in (0.0, nu / 2, nu):
            series = float(np.sum(weights * np.exp(-0.5 * terms * np.log1p(-decay))))
            closed = factor * float(finite_time.half_expo_decay_constant(correlations.nu(nu), decay))
            yield Fact(f"supremum at nu = {nu}, parameter {decay:g}", series, closed, 1e-11)
        beyond = float(finite_time.half_expo_decay_constant(correlations.nu(nu), min(nu * (2.0 - nu) * 1.01, 0.999)))
        yield Fact(f"supremum beyond nu (2 - nu) at nu = {nu}", beyond, np.inf, 0)
    single = finite_time.half_expo_decay_constant(correlations.independent(), 0.3)
    yield Fact("supremum for DP-SGD", float(single), factor, 1e-15)


CLAIMS = (
    Claim(
        id="ftrl/eq-9",
        where="Section 2.3(a), (9)",
        kind="mc-rate",
        statement=(
            'For $eta$ small enough, with probability at least $1 - p$ no gradient exceeds $G = c max{op("Tr")[H] '
            'norm(theta\'_0), sigma_s sqrt(op("Tr") H)} op("polylog")(T \\/ p)$, and DP-FTRL with clip norm $G$ '
            "coincides with Noisy-FTRL."
        ),
        hypotheses=(
            "Assumption D.1; $c = 8$ and polylog $= log(6 T\\/p)$ are enough for $eta$ below an explicit limit, on the "
            "events of Proposition D.5."
        ),
        checks=(
            Frequency(events=_clip_free_runs, impostors={"c = 0.3": {"events": lambda: _clip_free_runs(0.3)}}),
            Agreement(facts=coincidence, impostors={"event at 0.8 G": {"facts": lambda rng: coincidence(rng, 7.2)}}),
        ),
    ),
    Claim(
        id="ftrl/sec2.3-b-sgd",
        where="Section 2.3(b)",
        kind="mc-rate",
        statement=(
            "For $norm(H) = 1$ and $T >= tilde(Omega)(J)$, $J = kappa^2 d_e^2 d \\/ rho$, DP-SGD reaches "
            "$EE[(F(theta_T) - F^star) 1_cal(E)] lt.tilde kappa d_e (d d_e norm(theta'_0)^2\\/(rho T) + d "
            "sigma_s^2\\/(rho T) + sigma_s^2\\/T)$."
        ),
        hypotheses=SECTION,
        checks=(rates.printed("DP-SGD", section=True),),
        correction=rates.SGD,
    ),
    Claim(
        id="ftrl/sec2.3-b-ftrl",
        where="Section 2.3(b)",
        kind="mc-rate",
        statement=(
            "Likewise $nu$-DP-FTRL with $nu = eta mu$ reaches $kappa d_e (kappa d_e^2 norm(theta'_0)^2\\/(rho T^2) + "
            "kappa d_e sigma_s^2\\/(rho T^2) + sigma_s^2\\/T)$."
        ),
        hypotheses=SECTION,
        checks=(rates.printed("nu-DP-FTRL", section=True),),
        correction=rates.FTRL,
    ),
    Claim(
        id="ftrl/sec2.3-dim",
        where="Section 2.3, below (b)",
        kind="identity",
        statement="The bound for $nu$-DP-FTRL is that for DP-SGD with $kappa d_e \\/ T$ in place of $d$.",
        checks=(
            Symbolic(
                residuals=_dimension_exchange,
                impostors={"kappa d_e / T^2": {"residuals": lambda: _dimension_exchange(2)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/d.1-r2",
        where="App. D.1.2, below (56)",
        kind="inequality",
        statement='$op("Tr") H <= R^2 <= 3 op("Tr") H$.',
        hypotheses=(
            "(B1): independent entries of variance 1 and proxy 1 in $z = H^(-1\\/2) x$, hence $1 <= EE z_k^4 <= 3$; "
            "$R^2$ is the largest eigenvalue of $M = EE chevron.l z, H z chevron.r z z^top$. Shown for $d = 3$, where "
            "every pattern of indices occurs."
        ),
        checks=(
            Symbolic(
                residuals=_r_squared_identity,
                impostors={"R^2 <= 2 Tr H": {"residuals": lambda: _r_squared_identity(2)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-d.2",
        where="Property D.2, (66) to (69)",
        kind="identity",
        statement=(
            "$theta'_t = hat(theta)_t + theta^s_t + theta^d_t$ with $hat(theta)_t = Q_t dots.c Q_0 theta'_0$ and the "
            "corresponding products for $theta^s_t$ and $theta^d_t$."
        ),
        checks=(Agreement(facts=lambda rng: _decomposition(rng, shift=0)),),
        correction=Correction(
            statement=(
                "(67), (68) and the first line of (69) give the components at time $t + 1$; the second line of (69) is "
                "right at time $t$."
            ),
            checks=(
                Agreement(
                    facts=lambda rng: _decomposition(rng, shift=1),
                    impostors={"as printed": {"facts": lambda rng: _decomposition(rng, shift=0)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/def-d.3",
        where="Definition D.3, (70)",
        kind="inequality",
        statement=(
            "$sum_(k <= tau) abs(beta_k) (1 - nu)^((tau - k)\\/2) <= C (1 - nu)^(tau\\/2)$ for all $tau$ with a "
            "universal $C$, for DP-SGD (every parameter) and for $hat(beta)^nu$ (parameter $nu$)."
        ),
        hypotheses=(
            "Proved with $C = 1$ and $C = 2$: the terms are at most $abs(binom(1\\/2, k)) = b_k$. For $hat(beta)^nu$ "
            "the parameter may be as large as $nu (2 - nu)$, not larger."
        ),
        checks=(
            Symbolic(residuals=telescoping, impostors={"ratio 1 / (2 (n + 2))": {"residuals": lambda: telescoping(1)}}),
            Agreement(
                facts=_decay_constants,
                impostors={"1 % off": {"facts": lambda rng: _decay_constants(rng, 1.01)}},
            ),
        ),
    ),
)
