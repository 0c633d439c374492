"""Appendix B: mean estimation on the line as a linear system, (14) to (18). Theorem 2.1 is in `mean_estimation`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from simulators.engine import Experiment
from simulators.ftrl import MeanEstimation, Settings, mean_estimation
from verify.checks import Agreement, Case, Fact, Identity, Level, Means, MonteCarlo
from verify.claims import Claim, Correction
from verify.domains import Real

SIGMA_W = "$sigma_w^2 = G^2 gamma_oo^2 \\/ (2 rho)$"


def _paths(rng: np.random.Generator, noise_sign: float = -1.0) -> Iterator[Fact]:
    """Runs of Algorithm 1 against the recursion (14), fed with the same draws."""
    steps, trials = 40, 8
    for correlation in (
        correlations.independent(),
        correlations.nu(0.3),
        correlations.from_coefficients([1.0, -0.4, 0.2]),
    ):
        problem = MeanEstimation(mean=0.3, sigma_sgd=0.6, initial=-1.0)
        settings = Settings(correlation=correlation, eta=0.35, rho=0.5, steps=steps)
        experiment = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=trials)
        seed = int(rng.integers(2**31))
        streams = experiment.streams(0, seed=seed)
        draws = streams.noise.standard_normal((steps, trials))
        u = 2.0 * streams.data.integers(0, 2, size=(steps, trials)) - 1.0
        noise = correlation.matrix(steps) @ draws
        delta = np.full(trials, problem.initial - problem.mean)
        for t in range(steps):
            pushed = (
                settings.eta * problem.sigma_sgd * u[t]
                + noise_sign * settings.eta * settings.noise_multiplier * noise[t]
            )
            delta = (1 - settings.eta) * delta + pushed
        yield Fact(f"delta_T, {correlation.name}", experiment.run_block(0, seed=seed)["deviation"], delta, 1e-9)


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
        observed = (response @ phase) / unit
        yield Fact(f"gain of the {label} at omega = 1", abs(observed - printed) / abs(printed), 0.0, 1e-12)


def _noiseless(rng: np.random.Generator, exponent: float = 1.0) -> Iterator[Fact]:
    """Zero input, and the mean of a run and its mirror image (the inputs are symmetric about 0)."""
    for eta in (0.05, 0.5, 1.0):
        problem = MeanEstimation(initial=2.0)
        settings = Settings(correlation=correlations.independent(), eta=eta, rho=np.inf, steps=30)
        run = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=1).run_block(
            0, seed=0
        )
        yield Fact(f"delta_30 with eta = {eta}", run["deviation"][0], 2.0 * (1 - eta) ** (30 * exponent), 1e-12)
    w = rng.standard_normal(10)
    ends = []
    for sign in (1.0, -1.0):
        delta = 2.0
        for t in range(10):
            delta = 0.8 * delta - 0.2 * sign * w[t]
        ends.append(delta)
    yield Fact("mean of a path and its mirror image", np.mean(ends), 2.0 * 0.8 ** (10 * exponent), 1e-12)


def _variance_integral(m, eta, nu):
    """The integral of (18) for nu-DP-FTRL with sigma_w = 1, sigma_sgd = 1/2, by quadrature."""
    return (eta**2 / (2 * m.pi)) * m.integral(
        lambda s: (m.sqrt(nu**2 + 4 * (1 - nu) * s) + m.number("1/4")) / (eta**2 + 4 * (1 - eta) * s)
    )


def _variance_closed(m, eta, nu):
    """The same from second moments of (14): eta c(eta) / (2 - eta) with c from the elliptic integral of (49)."""
    power = eta * (2 - eta) / (2 * m.pi) * m.integral_ratio(nu, eta)
    return eta / (2 - eta) * (power + m.number("1/4"))


def _variance_cases() -> list[Case]:
    return [
        _variance_case(correlation, eta, "quick" if eta == 0.3 else "full")
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


CLAIMS = (
    Claim(
        id="ftrl/eq-14",
        where="App. B, (14)",
        kind="identity",
        statement=(
            "$delta_t = theta_t - EE z$ and $u_t = (z_t - EE z) \\/ sigma_s$ obey $delta_(t+1) = (1 - eta) delta_t + "
            "eta sigma_s u_t - eta sigma_(d p) G sum_tau beta_tau w_(t - tau)$."
        ),
        checks=(Agreement(facts=_paths, impostors={"sign of the noise": {"facts": lambda rng: _paths(rng, 1.0)}}),),
    ),
    Claim(
        id="ftrl/eq-16",
        where="App. B, (16)",
        kind="identity",
        statement=(
            "With inputs $(u_t; w_t)$ of unit variance the transfer function of (14) is $((-eta) / (1 - eta - e^(i "
            "omega)), (eta B(omega)) / (1 - eta - e^(i omega)))$."
        ),
        checks=(Agreement(facts=lambda rng: _transfer(rng, scaled_inputs=False)),),
        correction=Correction(
            statement="the inputs are $(sigma_s u_t; sigma_(d p) G w_t)$, as (17) then uses.",
            checks=(
                Agreement(
                    facts=lambda rng: _transfer(rng, scaled_inputs=True),
                    impostors={"unit inputs": {"facts": lambda rng: _transfer(rng, scaled_inputs=False)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/b-stability",
        where="App. B, below (14)",
        kind="identity",
        statement="With zero input $delta_t = (1 - eta)^t delta_0 -> 0$, and $EE delta_t = (1 - eta)^t delta_0$.",
        checks=(
            Agreement(facts=_noiseless, impostors={"half the exponent": {"facts": lambda rng: _noiseless(rng, 0.5)}}),
        ),
    ),
    Claim(
        id="ftrl/eq-17-18",
        where="App. B, (17), (18)",
        kind="mc-equality",
        statement=(
            "$F_oo = lim_t EE delta_t^2 = eta^2/(2 pi) integral (sigma_w^2 abs(B)^2 + sigma_s^2) / abs(1 - eta - "
            "e^(i omega))^2 dif omega$."
        ),
        hypotheses=f"Without the factor 1/2 of (6); {SIGMA_W}.",
        checks=(
            Identity(
                left=_variance_integral,
                right=_variance_closed,
                box={"eta": Real(1e-4, 1.0, "log"), "nu": Real(1e-4, 1.0, "log")},
                impostors={"5 %": {"right": lambda m, eta, nu: m.number("1.05") * _variance_closed(m, eta, nu)}},
            ),
            MonteCarlo(
                means=Means(cases=_variance_cases, law="variance"),
                impostors={"5 % too large": {"scale": 1.05}, "halved": {"scale": 0.5}},
            ),
        ),
    ),
)
