"""Figure 1: how much better than DP-SGD, and what the optimal noise for mean estimation looks like in time and in
frequency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpbounds.ftrl import mean_estimation as theory
from simulators.engine import Experiment
from simulators.ftrl import MeanEstimation, NoiseProbe, Settings, mean_estimation, noise_probe
from verify.checks import Agreement, Case, Fact, Inequality, Means, MonteCarlo, Times
from verify.checks.domains import Real
from verify.checks.pictures import Picture, Series
from verify.statements.claims import Claim, Correction, Fault

# --- left: the ratio of the errors ---

# The ratio is below this for eta <= 10^-3.
MOST_AT_SMALL = "0.02"


def _room_below_one(m, eta):
    """Positive, and at most (1 - ratio) / (1 - eta)^2, so without cancellation at eta = 1: the ratio is (k' / agm(1,
    k'))^2 with k' = sqrt(eta (2 - eta)), and agm(1, k')^2 >= k'; so 1 - ratio >= 1 - k' = (1 - eta)^2 / (1 + k').
    """
    return 1 / (1 + m.sqrt(eta * (2 - eta)))


def _near_one(m, eta, share: str):
    """1 - share (1 - eta)^2."""
    return 1 - m.number(share) * m.power(1 - eta, 2)


def _closed(rng: np.random.Generator) -> Iterator[Fact]:
    """The ratio by the mean over a fine grid of frequencies, and how it tends to 1."""
    gap = 1 - theory.optimal_ratio(1 - 1e-4)
    yield Fact("(1 - ratio) / (1 - eta)^2 at eta = 0.9999", gap / 1e-8, 0.5, 1e-6)
    omega = (np.arange(20_000) + 0.5) * np.pi / 20_000
    for eta in (0.01, 0.1, 0.5, 0.9, 1.0):
        mean = np.mean(1 / np.abs(1 - eta - np.exp(1j * omega)))
        yield Fact(f"ratio at eta = {eta}", theory.optimal_ratio(eta), eta * (2 - eta) * mean**2, 1e-9)


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
                group="optimal noise",
                unit=float(theory.independent_variance(eta, 0.5)),
                level="quick" if eta in (0.1, 0.3, 0.9) else "full",
            )
        )
    return cases


RATIO_AXES = ("learning rate $eta$", "$F_oo$ of DP-FTRL over that of DP-SGD")


def _ratio_picture() -> Picture:
    etas = np.geomspace(1e-4, 1.0, 120)
    ratios = [float(theory.optimal_ratio(eta)) for eta in etas]
    return Picture(
        x=RATIO_AXES[0],
        y=RATIO_AXES[1],
        series=[Series(curve="optimal noise", role="exact", x=etas.tolist(), y=ratios)],
    )


FIG_1_LEFT = Claim(
    id="ftrl/fig-1-left",
    where="Figure 1, left",
    page=5,
    kind="number",
    statement=(
        "The error of DP-FTRL over that of DP-SGD: never above 1, and orders of magnitude below 1 for $eta -> 0$ and "
        "for $eta -> 1$."
    ),
    hypotheses="Optimal correlation, privacy parts of (18).",
    checks=(
        Inequality(
            smaller=theory.ratio,
            larger=lambda m, eta: m.number(1) + 0 * eta,
            box={"eta": Real(1e-12, 1.0, "log")},
            certificate=_room_below_one,
            factor=lambda m, eta: m.power(1 - eta, 2),
            impostors={"never above 0.99": {"larger": Times("0.99")}},
        ),
        Inequality(
            smaller=theory.ratio,
            larger=lambda m, eta: m.number("1/10") + 0 * eta,
            box={"eta": Real(0.9, 1 - 1e-12)},
            certify=False,
        ),
    ),
    fault=Fault(
        severity="substantive",
        touches="figure",
        finding=(
            "The caption of Figure 1 says that DP-FTRL is orders of magnitude better than DP-SGD as $eta -> 1$; the "
            "ratio of their errors is $eta (2 - eta) (2/pi K(1 - eta))^2$, already ${smaller:3}$ at $eta = {eta}$, and "
            "tends to 1 like $1 - (1 - eta)^2 \\/ 2$."
        ),
        consequence=(
            "Correlated noise gains nothing at large learning rates. The other half of the caption stands: DP-FTRL is "
            "never worse, and better without bound as $eta -> 0$."
        ),
        exhibit=1,
    ),
    correction=Correction(
        statement=(
            "The ratio of the errors is $eta (2 - eta) (2/pi K(1 - eta))^2$: never above 1, of the order $eta "
            "log^2(1\\/eta)$ as $eta -> 0$ (below ${most_at_small}$ for $eta <= 10^(-3)$), and $1 - (1 - eta)^2 \\/ "
            "2 + O((1 - eta)^4)$ as $eta -> 1$ (short of 1 by $2\\/5$ to $3\\/5$ of $(1 - eta)^2$ for $eta >= 1\\/2$)."
        ),
        ground="Theorem 2.1's two errors, divided; the elliptic integral at both ends.",
        checks=(
            Agreement(facts=_closed, picture=_ratio_picture, impostors={"1 % off": {"facts": Times(1.01)}}),
            Inequality(
                smaller=theory.ratio,
                larger=lambda m, eta: m.number(MOST_AT_SMALL) + 0 * eta,
                box={"eta": Real(1e-300, 1e-3, "log")},
                impostors={"0.016": {"larger": Times("0.8")}},
            ),
            Inequality(
                smaller=lambda m, eta: _near_one(m, eta, "3/5"),
                larger=theory.ratio,
                box={"eta": Real(0.5, 0.99)},
                impostors={"1 % off": {"smaller": Times("1.01")}},
            ),
            Inequality(
                smaller=theory.ratio,
                larger=lambda m, eta: _near_one(m, eta, "2/5"),
                box={"eta": Real(0.5, 0.99)},
                impostors={"1 % off": {"larger": Times("0.99")}},
            ),
            MonteCarlo(
                means=Means(cases=_ratio_cases, law="variance", axes=RATIO_AXES),
                resolution={"quick": 0.08, "full": 0.02, "paper": 0.01},
                impostors={"20 % too small": {"scale": 0.8}},
            ),
        ),
    ),
    given={"most_at_small": MOST_AT_SMALL},
)

# --- middle and right: the optimal noise ---

# The step size that the paper does not give for these panels.
ETA = 0.05
SETTING = "$eta = 0.05$ (the paper gives none)."
LAGS = (0, 1, 2)
FREQUENCIES = (0.02, 0.1, 0.4, 1.0, 2.0, 3.0)
PROBE_STEPS = 256
TIME_AXES = ("lag $t$", "weight $beta^star_t$")
FREQUENCY_AXES = ("frequency $omega$", "power $abs(B^star (omega))^2$")


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


def _curve(axes: tuple[str, str], x: Sequence[float], y: np.ndarray, *, log: bool) -> Picture:
    exact = Series(curve="optimal noise", role="exact", x=[float(value) for value in x], y=y.tolist())
    return Picture(x=axes[0], y=axes[1], log=("x", "y") if log else (), series=[exact])


def _weights(rng: np.random.Generator) -> Iterator[Fact]:
    """Signs, and all weights by their recurrence beta_t = beta_{t-1} (1 - eta) (t - 3/2) / t."""
    beta = theory.optimal_correlation(ETA).coefficients(400)
    t = np.arange(1, 400)
    yield Fact("weights", beta, np.cumprod(np.concatenate([[1.0], (1 - ETA) * (t - 1.5) / t])), 1e-13)
    yield Fact("later weights that are not negative", int(np.sum(beta[1:] >= 0)), 0, 0)
    total = theory.optimal_correlation(ETA).coefficients(5000).sum()
    yield Fact("sum of all weights, sqrt(eta)", total, np.sqrt(ETA), 1e-9)


def _weight_cases() -> list[Case]:
    """Covariance of the noise with the draw `lag` steps back is beta_lag."""
    beta = theory.optimal_correlation(ETA).coefficients(max(LAGS) + 1)
    spreads = (0.1, 0.2, 0.6)
    return [
        _probe_case("covariance", k, float(lag), float(beta[lag]), spread)
        for k, (lag, spread) in enumerate(zip(LAGS, spreads, strict=True))
    ]


def _weights_picture() -> Picture:
    return _curve(TIME_AXES, range(31), theory.optimal_correlation(ETA).coefficients(31), log=False)


FIG_1_MID = Claim(
    id="ftrl/fig-1-mid",
    where="Figure 1, middle",
    page=5,
    kind="number",
    statement="The optimal noise in time: $beta^star_0 = 1$, all later weights negative.",
    setting=SETTING,
    checks=(
        Agreement(facts=_weights, picture=_weights_picture, impostors={"1 % off": {"facts": Times(1.01)}}),
        MonteCarlo(
            means=Means(cases=_weight_cases, axes=TIME_AXES, log_axes=()),
            resolution={"quick": 0.1, "full": 0.04, "paper": 0.02},
            impostors={"20 % too large": {"scale": 1.2}},
        ),
    ),
)


def _spectrum_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The library's spectrum from the printed form, and from the weights themselves."""
    made = theory.optimal_correlation(ETA)
    omegas = np.linspace(0, np.pi, 200)
    yield Fact("|B*|^2", made.power_spectrum(omegas), np.abs(1 - ETA - np.exp(1j * omegas)), 1e-13)
    for omega, value in ((0.0, ETA), (np.pi, 2 - ETA), (1.0, abs(1 - ETA - np.exp(1j)))):
        transform = made.coefficients(4000) @ np.exp(1j * omega * np.arange(4000))
        yield Fact(f"|B*|^2 at omega = {omega:.4g}", abs(transform) ** 2, value, 1e-9)
    rises = np.diff(made.power_spectrum(omegas))
    yield Fact("steps of the spectrum from 0 to pi that do not rise", int(np.sum(rises <= 0)), 0, 0)


def _spectrum_cases() -> list[Case]:
    """Mean periodogram of T steps: the spectrum smoothed by the Fejer kernel, sum_k (1 - |k| / T) r_k cos(k omega)."""
    return [_probe_case("periodogram", k, omega, _smoothed(omega), 1.0) for k, omega in enumerate(FREQUENCIES)]


def _smoothed(omega: float) -> float:
    """Exact expectation of the periodogram for finite T, noise started at time 0: E |sum_t w~_t e^{i omega t}|^2 /
    T.
    """
    weights = theory.optimal_correlation(ETA).coefficients(PROBE_STEPS)
    return float(np.mean(np.abs(np.cumsum(weights * np.exp(1j * omega * np.arange(PROBE_STEPS)))) ** 2))


def _spectrum_picture() -> Picture:
    omega = np.geomspace(0.01, np.pi, 100)
    return _curve(FREQUENCY_AXES, omega.tolist(), theory.optimal_correlation(ETA).power_spectrum(omega), log=True)


FIG_1_RIGHT = Claim(
    id="ftrl/fig-1-right",
    where="Figure 1, right",
    page=5,
    kind="number",
    statement=(
        "The optimal noise in frequency: $abs(B^star (omega))^2$ rises from $eta$ at $omega = 0$ to $2 - eta$ at "
        "$omega = pi$."
    ),
    setting=SETTING,
    checks=(
        Agreement(facts=_spectrum_facts, picture=_spectrum_picture, impostors={"1 % off": {"facts": Times(1.01)}}),
        MonteCarlo(
            means=Means(cases=_spectrum_cases, axes=FREQUENCY_AXES),
            resolution={"quick": 0.1, "full": 0.04, "paper": 0.02},
            impostors={"20 % too large": {"scale": 1.2}},
        ),
    ),
)
