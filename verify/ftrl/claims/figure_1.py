"""Figure 1: how much better than DP-SGD, and what the optimal noise for mean estimation looks like in time and in
frequency.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from simulators.engine import Experiment
from simulators.ftrl import MeanEstimation, NoiseProbe, Settings, mean_estimation, noise_probe
from verify.checks import Agreement, Case, Fact, Inequality, Means, MonteCarlo
from verify.claims import Claim, Correction
from verify.domains import Real

# The step size that the paper does not give for its middle and right panels.
ETA = 0.05
LAGS = (0, 1, 2)
FREQUENCIES = (0.02, 0.1, 0.4, 1.0, 2.0, 3.0)
PROBE_STEPS = 512
TIME_AXES, FREQUENCY_AXES = ("lag", "weight"), ("frequency", "power")


def _ratio(m, k):
    """F_inf of the optimum over that of DP-SGD at eta = 1 - k, privacy terms: (1 - k^2) ((2 / pi) K(k))^2."""
    return (1 - k) * (1 + k) * (2 * m.elliptic_k(k) / m.pi) ** 2


def _room_below_one(m, k):
    """1 - sqrt(1 - k^2) without cancellation. The ratio is (k' / agm(1, k'))^2 with k' = sqrt(1 - k^2), and agm(1,
    k')^2 >= k'.
    """
    return k**2 / (1 + m.sqrt((1 - k) * (1 + k)))


def _ratio_cases() -> list[Case]:
    """Simulated DP-FTRL variance at sigma_sgd = 0, in units of DP-SGD's exact variance."""
    cases = []
    for eta in (0.01, 0.03, 0.1, 0.3, 0.6, 0.9, 0.99):
        settings = Settings(
            correlation=theory.optimal_correlation(eta),
            eta=eta,
            rho=0.5,
            steps=round(12 / eta) + 4,
            sensitivity="limiting",
        )
        experiment = Experiment(
            algorithm=mean_estimation, problem=MeanEstimation(), settings=settings, block_trials=20_000
        )
        cases.append(
            Case(
                label=f"eta = {eta}",
                experiment=experiment,
                output="deviation",
                predicted=lambda eta=eta: theory.optimal_variance(eta, 0.5),
                relative_std=1.0,
                x=eta,
                group="DP-FTRL / DP-SGD",
                unit=float(theory.independent_variance(eta, 0.5)),
                level="quick" if eta in (0.1, 0.3, 0.9) else "full",
            )
        )
    return cases


def _shares(rng: np.random.Generator, *, both_ends: bool) -> Iterator[Fact]:
    """Is the error at least ten times smaller near an end?"""
    yield Fact("ratio below 1/10 at eta = 0.001", bool(theory.optimal_ratio(1e-3) < 0.1), True, 0)
    if both_ends:
        yield Fact("ratio below 1/10 at eta = 0.999", bool(theory.optimal_ratio(0.999) < 0.1), True, 0)


def _ratio_picture() -> dict:
    etas = np.geomspace(1e-4, 1.0, 120)
    return {
        "x": "learning rate",
        "y": "error of DP-FTRL / error of DP-SGD",
        "log": ["x", "y"],
        "series": [
            {
                "label": "exact",
                "role": "theory",
                "x": etas.tolist(),
                "y": [float(theory.optimal_ratio(eta)) for eta in etas],
            }
        ],
    }


def _weight_cases() -> list[Case]:
    """Covariance of the noise with the draw `lag` steps back is beta_lag."""
    spreads = (0.1, 0.2, 0.6)
    return [
        _probe_case("covariance", k, float(lag), _weight(lag), spread)
        for k, (lag, spread) in enumerate(zip(LAGS, spreads, strict=True))
    ]


def _weight(lag: int) -> float:
    return float(theory.optimal_correlation(ETA).coefficients(lag + 1)[-1])


def _spectrum_cases() -> list[Case]:
    """Mean periodogram of T steps: the spectrum smoothed by the Fejer kernel, sum_k (1 - |k| / T) r_k cos(k omega)."""
    return [_probe_case("periodogram", k, omega, _smoothed(omega), 1.0) for k, omega in enumerate(FREQUENCIES)]


def _smoothed(omega: float) -> float:
    """Exact expectation of the periodogram for finite T, noise started at time 0: E |sum_t w~_t e^{i omega t}|^2 /
    T.
    """
    partial = np.cumsum(
        theory.optimal_correlation(ETA).coefficients(PROBE_STEPS) * np.exp(1j * omega * np.arange(PROBE_STEPS))
    )
    return float(np.mean(np.abs(partial) ** 2))


def _probe_case(output: str, index: int, x: float, predicted: float, relative_std: float) -> Case:
    correlation = theory.optimal_correlation(ETA)
    settings = Settings(correlation=correlation, eta=ETA, rho=0.5, steps=PROBE_STEPS)
    experiment = Experiment(
        algorithm=noise_probe,
        problem=NoiseProbe(frequencies=FREQUENCIES, lags=LAGS),
        settings=settings,
        block_trials=5_000,
    )
    return Case(
        label=f"{output} at {x:g}",
        experiment=experiment,
        output=f"{output} {index}",
        predicted=lambda: predicted,
        relative_std=relative_std,
        x=x,
        group="optimal noise",
    )


def _weights(rng: np.random.Generator, nu: float = ETA) -> Iterator[Fact]:
    beta = correlations.nu(nu).coefficients(400)
    yield Fact("beta*_0", beta[0], 1.0, 0)
    yield Fact("later weights that are not negative", int(np.sum(beta[1:] >= 0)), 0, 0)
    yield Fact("sum of all weights, sqrt(eta)", correlations.nu(nu).coefficients(5000).sum(), np.sqrt(ETA), 1e-9)


def _weights_picture() -> dict:
    return _curve(TIME_AXES, range(31), theory.optimal_correlation(ETA).coefficients(31), [])


def _spectrum_picture() -> dict:
    omega = np.geomspace(0.01, np.pi, 100)
    return _curve(FREQUENCY_AXES, omega, theory.optimal_correlation(ETA).power_spectrum(omega), ["x", "y"])


def _curve(axes: tuple[str, str], x: Iterable[float], y: np.ndarray, log: list[str]) -> dict:
    series = [{"label": "exact", "role": "theory", "x": [float(value) for value in x], "y": y.tolist()}]
    return {"x": axes[0], "y": axes[1], "log": log, "series": series}


def _spectrum_facts(rng: np.random.Generator, nu: float = ETA) -> Iterator[Fact]:
    """From the weights themselves: |sum_t beta_t e^{i omega t}|^2."""
    beta = correlations.nu(nu).coefficients(4000)
    for omega, value in ((0.0, ETA), (np.pi, 2 - ETA), (1.0, abs(1 - ETA - np.exp(1j)))):
        yield Fact(f"|B*|^2 at omega = {omega:.4g}", abs(beta @ np.exp(1j * omega * np.arange(4000))) ** 2, value, 1e-9)
    omegas = np.linspace(0, np.pi, 200)
    rises = np.diff([abs(beta @ np.exp(1j * omega * np.arange(4000))) for omega in omegas])
    yield Fact("steps of the spectrum from 0 to pi that do not rise", int(np.sum(rises <= 0)), 0, 0)


CLAIMS = (
    Claim(
        id="ftrl/fig-1-left",
        where="Figure 1, left",
        kind="number",
        statement=(
            "The error of DP-FTRL over that of DP-SGD: never above 1, and orders of magnitude below 1 for $eta -> 0$ "
            "and for $eta -> 1$."
        ),
        hypotheses="Optimal correlation, privacy parts of (18).",
        checks=(
            Inequality(
                smaller=_ratio,
                larger=lambda m, k: m.number(1),
                box={"k": Real(1e-9, 1 - 1e-12, "logit")},
                certificate=_room_below_one,
                impostors={"never above 0.99": {"larger": lambda m, k: m.number("0.99")}},
            ),
            Agreement(facts=lambda rng: _shares(rng, both_ends=True), picture=_ratio_picture),
        ),
        correction=Correction(
            statement="only for $eta -> 0$: for $eta -> 1$ the ratio tends to 1, like $1 - (1 - eta)^2 \\/ 2$.",
            checks=(
                Agreement(
                    facts=lambda rng: _shares(rng, both_ends=False),
                    picture=_ratio_picture,
                    impostors={"both ends": {"facts": lambda rng: _shares(rng, both_ends=True)}},
                ),
                Inequality(
                    smaller=lambda m, k: 1 - 3 * k**2 / 5,
                    larger=_ratio,
                    box={"k": Real(1e-3, 0.5, "log")},
                    impostors={"1 - 0.45 k^2": {"smaller": lambda m, k: 1 - m.number("0.45") * k**2}},
                ),
                MonteCarlo(
                    means=Means(
                        cases=_ratio_cases, law="variance", axes=("learning rate", "error of DP-FTRL / error of DP-SGD")
                    ),
                    resolution={"quick": 0.08, "full": 0.02, "paper": 0.01},
                    impostors={"20 % too small": {"scale": 0.8}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/fig-1-mid",
        where="Figure 1, middle",
        kind="number",
        statement="The optimal noise in time: $beta^star_0 = 1$, all later weights negative.",
        hypotheses="$eta = 0.05$ (the paper gives none).",
        checks=(
            Agreement(
                facts=_weights,
                picture=_weights_picture,
                impostors={"nu = 5.25 %": {"facts": lambda rng: _weights(rng, 0.0525)}},
            ),
            MonteCarlo(
                means=Means(cases=_weight_cases, axes=TIME_AXES, log_axes=()),
                resolution={"quick": 0.1, "full": 0.04, "paper": 0.02},
                impostors={"20 % too large": {"scale": 1.2}},
            ),
        ),
    ),
    Claim(
        id="ftrl/fig-1-right",
        where="Figure 1, right",
        kind="number",
        statement=(
            "The optimal noise in frequency: $abs(B^star (omega))^2$ rises from $eta$ at $omega = 0$ to $2 - eta$ at "
            "$omega = pi$."
        ),
        hypotheses="$eta = 0.05$ (the paper gives none).",
        checks=(
            Agreement(
                facts=_spectrum_facts,
                picture=_spectrum_picture,
                impostors={"nu = 5.25 %": {"facts": lambda rng: _spectrum_facts(rng, 0.0525)}},
            ),
            MonteCarlo(
                means=Means(cases=_spectrum_cases, axes=FREQUENCY_AXES),
                resolution={"quick": 0.1, "full": 0.04, "paper": 0.02},
                impostors={"20 % too large": {"scale": 1.2}},
            ),
        ),
    ),
)
