"""Appendix B: mean estimation on the line as a linear system, (14) to (18)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from simulators.engine import Experiment
from simulators.ftrl import MeanEstimation, Settings, mean_estimation
from verify.checks import Agreement, Case, Fact, Identity, Level, Means, MonteCarlo, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.ftrl.paper.sc_2_1_systems import STEADY_NOISE
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- (14) ---


def _paths(rng: np.random.Generator, noise_sign: float = -1.0) -> Iterator[Fact]:
    """Runs of Algorithm 1 against the recursion (14), fed with the same draws; all that a run returns."""
    steps, trials = 41, 8
    for correlation, late in (
        (correlations.independent(), None),
        (correlations.nu(0.3), 7),
        (correlations.from_coefficients([1.0, -0.4, 0.2]), 0),
    ):
        problem = MeanEstimation(mean=0.3, sigma_sgd=0.6, initial=-1.0)
        settings = Settings(correlation=correlation, eta=0.35, rho=0.4, steps=steps, clip_norm=2.0, average_from=late)
        experiment = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=trials)
        streams = experiment.streams(0, seed=1)
        draws = streams.noise.standard_normal((steps, trials))
        u = 2.0 * streams.data.integers(0, 2, size=(steps, trials)) - 1.0
        B = correlation.matrix(steps)
        gamma = np.linalg.norm(np.linalg.inv(B), axis=0).max()
        delta, squares = np.full(trials, -1.3), []
        for t in range(steps):
            noise = gamma / np.sqrt(0.8) * 2.0 * (B[t] @ draws)
            delta = 0.65 * delta + 0.35 * 0.6 * u[t] + noise_sign * 0.35 * noise
            squares.append(delta**2)
        run = experiment.run_block(0, seed=1)
        yield Fact(f"delta_T, {correlation.name}", run["deviation"], delta, 1e-9)
        later = squares[steps // 2 if late is None else late :]
        yield Fact(f"mean square after step {late}", run["mean_square"], np.mean(later, axis=0), 1e-9)


def _apart(rng: np.random.Generator) -> Iterator[Fact]:
    """Noise, data and initial draws, of two blocks, two seeds and two settings: no two streams begin alike. Blocks are
    joined in order.
    """
    starts = []
    for eta in (0.1, 0.2):
        settings = Settings(correlation=correlations.independent(), eta=eta, rho=0.5, steps=4)
        experiment = Experiment(algorithm=mean_estimation, problem=MeanEstimation(), settings=settings, block_trials=1)
        for block, seed in ((0, 0), (1, 0), (0, 1)):
            streams = experiment.streams(block, seed=seed)
            starts += [int(g.integers(2**62)) for g in (streams.noise, streams.data, streams.initial)]
    yield Fact("different first draws of 18 streams", len(set(starts)), 18, 0)
    settings = Settings(correlation=correlations.nu(0.1), eta=0.1, rho=0.5, steps=4)
    experiment = Experiment(algorithm=mean_estimation, problem=MeanEstimation(), settings=settings, block_trials=3)
    for blocks in (1, 2):
        parts = [experiment.run_block(block, seed=2)["deviation"] for block in range(blocks)]
        joined = experiment.run(blocks, seed=2)["deviation"]
        yield Fact(f"{blocks} blocks joined", joined, np.concatenate(parts), 0)


def _one_step(sign: int = -1) -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """delta after the step theta - eta (-z + theta + noise), z = m + sigma u."""
    theta, eta, m, sigma, u, noise = sympy.symbols("theta eta m sigma u n")
    after = theta - eta * (theta - (m + sigma * u) + noise) - m
    yield "$delta_(t + 1)$", after, (1 - eta) * (theta - m) + eta * sigma * u + sign * eta * noise


ONE_STEP = Symbolic(residuals=_one_step, impostors={"sign of the noise": {"residuals": {"sign": 1}}})

EQ_14 = Claim(
    id="ftrl/eq-14",
    where="App. B, (14)",
    page=16,
    equation="(14)",
    kind="identity",
    statement=(
        "$delta_t = theta_t - EE z$ and $u_t = (z_t - EE z) \\/ sigma_s$ obey $delta_(t+1) = (1 - eta) delta_t + eta "
        "sigma_s u_t - eta sigma_(d p) G sum_tau beta_tau w_(t - tau)$."
    ),
    setting="Path by path, three correlations, $G = 2$; noise and data of a run come from streams of their own.",
    checks=(
        ONE_STEP,
        Agreement(facts=_paths, impostors={"sign of the noise": {"facts": {"noise_sign": 1.0}}}, role="control"),
        Agreement(facts=_apart, impostors={"19 streams": {"facts": Times(19 / 18)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "Nothing is clipped, the gradients of $f$ and $r$ are $-z_t$ and $theta_t$, and the noise is $sigma_(d p) "
            "G sum_tau beta_tau w_(t - tau)$: $theta_(t + 1) = theta_t - eta (theta_t - z_t + sigma_(d p) G sum_tau "
            "beta_tau w_(t - tau))$, less $EE z$ on both sides."
        ),
    ),
)

# --- below (14) ---


def _noiseless(rng: np.random.Generator) -> Iterator[Fact]:
    """Zero input, and the mean of a run and its mirror image (the inputs are symmetric about 0)."""
    for eta in (0.05, 0.5, 1.0):
        problem = MeanEstimation(initial=2.0)
        settings = Settings(correlation=correlations.independent(), eta=eta, rho=np.inf, steps=30)
        run = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=1).run_block(
            0, seed=0
        )
        yield Fact(f"delta_30 with eta = {eta}", run["deviation"][0], 2.0 * (1 - eta) ** 30, 1e-12)
    w = rng.standard_normal(10)
    ends = []
    for sign in (1.0, -1.0):
        delta = 2.0
        for t in range(10):
            delta = 0.8 * delta - 0.2 * sign * w[t]
        ends.append(delta)
    yield Fact("mean of a path and its mirror image", np.mean(ends), 2.0 * 0.8**10, 1e-12)


B_STABILITY = Claim(
    id="ftrl/b-stability",
    where="App. B, below (14)",
    page=16,
    kind="identity",
    statement="With zero input $delta_t = (1 - eta)^t delta_0 -> 0$, and $EE delta_t = (1 - eta)^t delta_0$.",
    checks=(
        ONE_STEP,
        Agreement(facts=_noiseless, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "Without input (14) is $delta_(t + 1) = (1 - eta) delta_t$, and $0 <= 1 - eta < 1$. The inputs have mean "
            "0, so $EE delta_(t + 1) = (1 - eta) EE delta_t$ in any case."
        ),
        lemmas=("induction", "linearity"),
    ),
)

# --- (16) ---


def _transfer(rng: np.random.Generator, *, scaled_inputs: bool) -> Iterator[Fact]:
    """Fourier transform of the response of (14) to unit impulses, against (16)."""
    eta, sigma_sgd, sigma_dp, omega = 0.5, 0.3, 2.0, 1.0
    beta = np.array([1.0, -0.5, 0.25])
    steps = np.arange(200)
    phase = np.exp(-1j * omega * steps)
    lag = 1 - eta - np.exp(1j * omega)
    spectrum = np.sum(beta * phase[:3])
    for label, push, printed in (
        ("data u", eta * sigma_sgd * (steps == 0), -eta / lag),
        ("noise w", -eta * sigma_dp * np.pad(beta, (0, 197)), eta * spectrum / lag),
    ):
        response = np.zeros(len(steps))
        for t in range(len(steps) - 1):
            response[t + 1] = (1 - eta) * response[t] + push[t]
        unit = (sigma_sgd if label == "data u" else sigma_dp) if scaled_inputs else 1.0
        observed, numbers = (response @ phase) / unit, {"sigma_s": sigma_sgd}
        name = f"part of the gain of the {label} at omega = 1"
        yield Fact(f"real {name}", observed.real, printed.real, 1e-12, numbers=numbers)
        yield Fact(f"imaginary {name}", observed.imag, printed.imag, 1e-12)


def _unit_gain(rng: np.random.Generator) -> Iterator[Fact]:
    """The response of (14) to one unit input u_0 is eta sigma_s (1 - eta)^{t - 1} from t = 1 on, whose transform is the
    geometric series eta sigma_s / (e^{i omega} - (1 - eta)); printed is (16). Real parts.
    """
    eta, sigma_sgd, omega = 0.5, 0.3, 1.0
    cosine, sine = np.cos(omega), np.sin(omega)
    distance_squared = (cosine - (1 - eta)) ** 2 + sine**2
    observed = eta * sigma_sgd * (cosine - (1 - eta)) / distance_squared
    printed = -eta * (1 - eta - cosine) / distance_squared
    yield Fact("real part of the gain of the data u at omega = 1", observed, printed, numbers={"sigma_s": sigma_sgd})


EQ_16 = Claim(
    id="ftrl/eq-16",
    where="App. B, (16)",
    page=16,
    equation="(16)",
    kind="identity",
    statement=(
        "With inputs $(u_t; w_t)$ of unit variance the transfer function of (14) is $((-eta) / (1 - eta - e^(i "
        "omega)), (eta B(omega)) / (1 - eta - e^(i omega)))$."
    ),
    setting=(
        "Fourier transforms $sum_t y_t e^(-i omega t)$ of impulse responses of (14) at $omega = 1$, $eta = 1\\/2$, "
        "$sigma_s = 0.3$, $sigma_(d p) G = 2$."
    ),
    checks=(Agreement(facts=_unit_gain, closed=True),),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "(16) is the gain of (14) from $(sigma_s u_t; sigma_(d p) G w_t)$, not from the unit inputs $(u_t; w_t)$ "
            "of the text: at $eta = 1\\/2$, $sigma_s = {sigma_s}$, $omega = 1$ the real part of the gain from $u_t$ is "
            "${observed}$, printed ${predicted}$."
        ),
        consequence="Nothing: (17) gives the inputs their variances, as if they were not of unit variance.",
    ),
    correction=Correction(
        statement=(
            "The transfer function of (14) from the inputs $(sigma_s u_t; sigma_(d p) G w_t)$ is $((-eta) / (1 - eta - "
            "e^(i omega)), (eta B(omega)) / (1 - eta - e^(i omega)))$."
        ),
        ground="(14), transformed; it is what (17) then uses.",
        checks=(
            STEADY_NOISE,
            Agreement(
                facts=lambda rng: _transfer(rng, scaled_inputs=True),
                impostors={
                    "1 % off": {"facts": Times(1.01)},
                    "inputs of unit variance": {"facts": lambda rng: _transfer(rng, scaled_inputs=False)},
                },
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                "(14) is the system of the check with $lambda = 1$ and the input $sigma_(d p) G w_t$ for $w_t$: its "
                "gain is $eta B(omega)\\/(1 - eta - e^(i omega))$. The input $sigma_s u_t$ enters as noise of the one "
                "weight $-1$ would: $-eta\\/(1 - eta - e^(i omega))$."
            ),
            lemmas=("linearity",),
        ),
    ),
)

# --- (17), (18) ---


def _variance_integral(m, eta, weight):
    """The integral of (18) for beta = (1, weight), sigma_w = 1, sigma_sgd = 1/2, by quadrature: |B|^2 = (1 + weight)^2
    - 4 weight s.
    """
    constant, slope = m.power(1 + weight, 2) + m.number("1/4"), 4 * weight
    square, rest = eta**2, 4 * (1 - eta)
    integral = m.integral(lambda s: (constant - slope * s) / (square + rest * s))
    return eta**2 / (2 * m.pi) * integral


def _variance_in_time(m, eta, weight, terms: int = 180):
    """eta^2 sum_k of the squares of what one draw and one residual leave after k steps of (14); the last are below
    0.5^180.
    """
    noise, residual, total = m.number(0), m.number(1), m.number(0)
    for k in range(terms):
        noise = (1 - eta) * noise + (1 if k == 0 else weight if k == 1 else 0)
        total = total + noise * noise + residual * residual / 4
        residual = (1 - eta) * residual
    return eta * eta * total


def _stationary(rng: np.random.Generator) -> Iterator[Fact]:
    """What is shipped against second moments in time, from the weights alone; every parameter in its place."""
    rho, clip_norm, sigma_sgd = 0.3, 2.0, 0.7
    options = {"clip_norm": clip_norm, "sigma_sgd": sigma_sgd}
    for eta in (0.05, 0.6, 1.0):
        powers = (1 - eta) ** np.arange(2000)
        for correlation in (
            correlations.independent(),
            correlations.nu(0.3),
            correlations.nu(eta),
            correlations.damped_anti_pgd(0.2),
            correlations.from_coefficients([2.0, -0.9, 0.4, 0.1]),
            correlations.HalfPowers((0.5, 0.3 + 0.4j), (0.2,)),
            correlations.from_power_spectrum(lambda omega: 1.3 - np.cos(omega)),
        ):
            beta = correlation.coefficients(2000)
            gamma_squared = np.sum(correlation.inverse_coefficients(2000) ** 2)
            left = np.convolve(beta, powers)[:2000]
            noise = clip_norm**2 * gamma_squared / (2 * rho)
            stated = eta**2 * (noise * np.sum(left**2) + sigma_sgd**2 * np.sum(powers**2))
            value = theory.stationary_variance(correlation, eta, rho, **options)
            yield Fact(f"{correlation.name}, eta = {eta}", value, stated, 1e-9)
            if correlation == correlations.nu(eta):
                yield Fact(f"infimum, eta = {eta}", theory.optimal_variance(eta, rho, **options), stated, 1e-9)
            if correlation == correlations.independent():
                yield Fact(f"DP-SGD, eta = {eta}", theory.independent_variance(eta, rho, **options), stated, 1e-9)


def _variance_cases() -> list[Case]:
    return [
        _variance_case(correlation, eta, "quick" if eta == 0.3 or correlation == correlations.nu(0.9) else "full")
        for eta in (0.3, 0.03, 0.1, 0.9)
        for correlation in (correlations.independent(), correlations.nu(eta), correlations.damped_anti_pgd(0.5))
    ]


def _variance_case(correlation: correlations.ToeplitzCorrelation, eta: float, level: Level) -> Case:
    problem = MeanEstimation()
    settings = Settings(correlation=correlation, eta=eta, rho=0.5, steps=round(20 / eta), sensitivity="limiting")
    return Case(
        label=f"{correlation.name}, eta={eta}",
        experiment=Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=20_000),
        output="deviation",
        predicted=lambda: theory.stationary_variance(correlation, eta, 0.5),
        relative_std=1.0,
        level=level,
    )


def _residual_cases() -> list[Case]:
    """With residuals, and the noise of a run with mean: time averages after the transient."""
    problem = MeanEstimation(mean=0.1, sigma_sgd=0.9, initial=0.1)
    cases = []
    for eta, steps in ((0.2, 200), (0.7, 60)):
        correlation = correlations.nu(eta)
        settings = Settings(
            correlation=correlation, eta=eta, rho=2.0, steps=steps, sensitivity="limiting", average_from=steps // 2
        )
        cases.append(
            Case(
                label=f"residuals, eta={eta}",
                experiment=Experiment(
                    algorithm=mean_estimation, problem=problem, settings=settings, block_trials=2_500
                ),
                output="mean_square",
                predicted=lambda eta=eta, made=correlation: theory.stationary_variance(made, eta, 2.0, sigma_sgd=0.9),
                relative_std=0.5,
            )
        )
    return cases


EQ_17_18 = Claim(
    id="ftrl/eq-17-18",
    where="App. B, (17), (18)",
    page=17,
    equation="(17), (18)",
    kind="mc-equality",
    statement=(
        "$F_oo = lim_t EE delta_t^2 = eta^2/(2 pi) integral (sigma_w^2 abs(B)^2 + sigma_s^2) / abs(1 - eta - e^(i "
        "omega))^2 dif omega$."
    ),
    hypotheses="$sigma_w^2 = G^2 gamma_oo^2 \\/ (2 rho)$.",
    setting=(
        "The integral against sums over time to 45 digits, two weights; seven correlations at three learning rates; "
        "simulated from $eta = 0.2$ to $0.9$, with residuals and without."
    ),
    remark="Without the factor $1\\/2$ of (6).",
    checks=(
        Identity(
            left=_variance_in_time,
            right=_variance_integral,
            box={"eta": Real(0.5, 1.0), "weight": Real(-1.0, 1.0)},
            random_points=20,
            impostors={"1e-40 off": {"right": Times("1.0000000000000000000000000000000000000001")}},
        ),
        Agreement(facts=_stationary, impostors={"1 % off": {"facts": Times(1.01)}}),
        MonteCarlo(
            means=Means(cases=_variance_cases, law="variance"),
            impostors={"5 % too large": {"scale": 1.05}, "halved": {"scale": 0.5}},
        ),
        MonteCarlo(means=Means(cases=_residual_cases), impostors={"5 % too large": {"scale": 1.05}}),
    ),
)
