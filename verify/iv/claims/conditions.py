"""Theorem 3.1: its conditions (3), (5), (6), its parameters (4) and its quantities (10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import sympy

from dpbounds import arithmetic
from dpbounds.iv import Constants, Design, Spectrum, clip_norm, noise_scales, spectrum
from dpbounds.iv import conditions as hypotheses_of
from simulators.iv import LinearModel, synthetic_model
from verify.audit import gaussian_zcdp
from verify.checks import Agreement, Event, Fact, Frequency, Inequality, Rate, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.iv.claims.samples import drawn

NONE = Constants(concentration=0.0, product=0.0)

# --- (3) ---


def _within_reach(lower_weight: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """|1 - x| < 1 if 0 < x < 2: delta = 1 / (1 + v) or 0, step sizes the limits over 1 + s, gamma-upper = g + w."""
    s, v, g, w = sympy.symbols("s v g w", positive=True)
    for delta in (1 / (1 + v), sympy.Integer(0)):
        eta = 2 / (1 + delta) ** 2 / (1 + s)
        for end in (1 - delta, 1 + delta):
            yield f"0 < eta ({end})^2 < 2", eta * end**2
            yield f"eta ({end})^2 < 2", 2 - eta * end**2
    for upper in (g + w, g):
        alpha = 4 / (2 * upper + lower_weight * g) / (1 + s)
        for end in (g, 2 * upper + g):
            yield f"alpha ({end}) / 2 > 0", alpha * end / 2
            yield f"alpha ({end}) / 2 < 2", 2 - alpha * end / 2


# --- (4), (5), (6) in the settings of the figures ---


class Setting(NamedTuple):
    """What a figure fixes; tau = 5 throughout."""

    label: str
    n: int
    p: int
    q: int
    steps: int
    rho1: float
    rho2: float

    @property
    def design(self) -> Design:
        """With Theta out of play."""
        return Design(n=self.n, p=self.p, q=self.q, theta_norm=1.0, theta_least=1.0, tau=5.0)


SETTINGS = (
    Setting("Fig. 3a, n = 500", 500, 5, 5, 20, 1, 9),
    Setting("Fig. 3a, n = 5000", 5000, 5, 5, 20, 9, 1),
    Setting("Fig. 3b, n = 500", 500, 50, 50, 20, 1, 9),
    Setting("Fig. 3b, n = 5000", 5000, 50, 50, 20, 9, 1),
    Setting("Fig. 4a, rho_1 = 0.1", 1000, 5, 5, 1280, 0.1, 1000),
    Setting("Fig. 4a, rho_1 = 10", 1000, 5, 5, 1280, 10, 1000),
    Setting("Fig. 4b, rho_2 = 0.1", 1000, 5, 5, 1280, 1000, 0.1),
    Setting("Fig. 6, rho_2 = 1", 1000, 5, 5, 1000, 1, 1),
    Setting("Fig. 7, 8", 2000, 5, 5, 20, 5, 5),
    Setting("p = q = 20, n = 5000", 5000, 20, 20, 20, 5, 5),
    Setting("Fig. 5", 8065, 1, 1, 20, 1, 1),
    Setting("Fig. 10", 8065, 1, 1, 20, 0.1, 0.1),
    Setting("Fig. 12, rho = 1", 2191, 1, 4, 15, 1, 1),
)


def _clip_norms(rng: np.random.Generator, power: int = 2) -> Iterator[Fact]:
    """gamma per unit c_0, to 50 digits."""
    with arithmetic.digits(50) as m:
        for setting in SETTINGS:
            size = m.number(setting.n * setting.steps)
            exact = float(m.power(m.sqrt(m.number(setting.q)) + m.sqrt(5 + m.log(size)), power))
            label = f"{setting.label}, T = {setting.steps}: gamma = {exact:.4g} c_0"
            yield Fact(label, float(clip_norm(setting.design, setting.steps)), exact, 1e-13)


def _spent(rng: np.random.Generator, factor: float = 2.0) -> Iterator[Fact]:
    """Exact zCDP of T Gaussian releases that a record moves by 2 gamma / n each, against half the stage's budget."""
    for setting in (setting for setting in SETTINGS if setting.steps <= 20):
        gamma = float(clip_norm(setting.design, setting.steps))
        scales = noise_scales(setting.n, setting.steps, setting.rho1, setting.rho2, gamma, gamma)
        for stage, scale, rho in zip((1, 2), scales, (setting.rho1, setting.rho2), strict=True):
            shift = np.full(setting.steps, factor * gamma / setting.n)
            spent = gaussian_zcdp(shift, float(scale) ** 2 * np.eye(setting.steps))
            yield Fact(f"{setting.label}: lambda_{stage} = {scale:.4g} c_0 spends rho_{stage} / 2", spent, rho / 2)


def _limits(rng: np.random.Generator, names: tuple[str, ...], exponent: int = 6) -> Iterator[Fact]:
    """Right-hand sides with constant 1 and epsilon = 0, to 50 digits."""
    none = spectrum(SETTINGS[0].design, NONE)
    for setting in SETTINGS:
        found = hypotheses_of(
            setting.design, none, eta=1.0, alpha=1.0, steps=setting.steps, rho1=setting.rho1, rho2=setting.rho2
        )
        for condition in (condition for condition in found if condition.name in names):
            exact = _limit(setting, condition.name, exponent)
            relation = "met" if condition.met else "not met"
            label = f"{setting.label}: {condition.name} compares {condition.value:g} with {exact:.4g}: {relation}"
            yield Fact(label, condition.limit, exact, 1e-13)


def _limit(setting: Setting, name: str, exponent: int) -> float:
    with arithmetic.digits(50) as m:
        n, p, q, T = (m.number(value) for value in (setting.n, setting.p, setting.q, setting.steps))
        rho1, least = m.number(setting.rho1), m.number(min(setting.rho1, setting.rho2))
        Q = m.sqrt(q) + m.sqrt(m.number(5))
        sides = {
            "(5)": rho1 * n**2 / (p * Q**exponent),
            "Lemma D.1": Q ** (exponent // 2) * m.sqrt(T / least),
            "(6) dimension": p * q * (5 + m.log(p * q)) ** 2,
            "(6) privacy": Q ** (exponent // 2) / m.sqrt(least),
        }
        return float(sides[name])


def _first_stage_noise(decades: float, epsilon: float = 0.25) -> Iterator[tuple[str, float]]:
    """mu of (18) at the largest T that (5) allows with constant 1, c_0 = 1; n = 10^(3 + decades)."""
    n, tau = 10.0 ** (3 + decades), 5.0
    for p, q in ((1, 1), (5, 5), (1, 4)):
        Q = np.sqrt(q) + np.sqrt(tau)
        T = n ** (2 - epsilon) / (p * Q**6)
        lambda1 = 2 * (np.sqrt(q) + np.sqrt(tau + np.log(n * T))) ** 2 * np.sqrt(T) / n
        yield f"p = {p}, q = {q}", float(lambda1 * (np.sqrt(p * q) + np.sqrt(p * (np.log(p) + tau))))


def _delta_side(m, q, tau):
    """Q, the numerator of delta / (C_0 sigma_z^2)."""
    return m.sqrt(q) + m.sqrt(tau)


def _dimension_side(m, q, tau, factor="2.01"):
    """sqrt(q) (tau + log q), below sqrt(n / c_1) by (6); p = 1 is the worst."""
    return m.number(factor) * m.sqrt(q) * (tau + m.log(q))


# --- (10) ---

# Constants with which Lemmas D.2 and D.3 are proved for Gaussian z and e_2 independent of each other.
GAUSSIAN = Constants(concentration=float(np.sqrt(2.0)), product=2.15)


def _design(model: LinearModel) -> Design:
    """sigma_z = 1 and sigma_2^2 the largest eigenvalue of Cov e_2."""
    sigma2 = float(np.sqrt(np.linalg.eigvalsh(np.asarray(model.error_covariance)[:-1, :-1])[-1]))
    return Design.of(model.theta, model.n, sigma_2=sigma2, tau=5.0)


def _holds(bounds: Spectrum, arrays: Any) -> np.ndarray:
    return (arrays["H_least"] >= bounds.lower) & (arrays["H_largest"] <= bounds.upper)


def _spectra(*, positive_part: bool, constants: Constants = GAUSSIAN) -> list[Event]:
    """The spectrum of H-hat within [gamma-lower, gamma-upper] in the settings of the figures."""
    events = []
    for label, n, p in (("Fig. 4, 6", 1000, 5), ("Fig. 7, 8", 2000, 5), ("Fig. 9", 5000, 20), ("large n", 10**7, 5)):
        model = synthetic_model(n=n, p=p, q=p, r=p, parameter_seed=0)
        bounds = spectrum(_design(model), constants, positive_part=positive_part)
        name = (
            f"{label}: n = {n}, p = q = {p}, psi = {bounds.psi:.3g}, gamma in [{bounds.lower:.3g}, {bounds.upper:.3g}]"
        )
        events.append(
            Event(
                label=name,
                experiment=drawn(model),
                occurs=lambda arrays, bounds=bounds: _holds(bounds, arrays),
                at_least=1 - 3 * float(np.exp(-5.0)),
            )
        )
    return events


def _quantities(rng: np.random.Generator, power: int = 2) -> Iterator[Fact]:
    """delta, psi and both ends to 50 digits, constants 1, Theta of seed 0."""
    for n, p in ((1000, 5), (2000, 5), (5000, 20), (5000, 50)):
        design = _design(synthetic_model(n=n, p=p, q=p, r=p, parameter_seed=0))
        found = spectrum(design)
        with arithmetic.digits(50) as m:
            root, tau = m.sqrt(m.number(n)), m.number(5)
            delta = (m.sqrt(m.number(p)) + m.sqrt(tau)) / root
            psi = m.number(design.sigma_2) * p * (tau + m.log(m.number(2 * p * p))) / root / (1 - delta) ** power
            lower = (1 - delta) ** 2 * (m.number(design.theta_least) - psi) ** 2
            upper = (1 + delta) ** 2 * (m.number(design.theta_norm) + psi) ** 2
            exact = [float(number) for number in (delta, psi, lower, upper)]
        label = (
            f"n = {n}, p = q = {p}: delta = {exact[0]:.3g}, psi = {exact[1]:.3g}, gammas {exact[2]:.4g}, {exact[3]:.4g}"
        )
        yield Fact(label, [float(number) for number in found[:4]], exact, 1e-12)


def _picture() -> dict[str, Any]:
    """Ends of the spectrum of one H-hat beside (10), against n."""
    sizes = [int(n) for n in np.geomspace(500, 5e6, 17).round()]
    curves: dict[str, list[float]] = {"least": [], "largest": [], "lower": [], "upper": []}
    for n in sizes:
        model = synthetic_model(n=n, p=5, q=5, r=5, parameter_seed=0)
        arrays, bounds = drawn(model, 1).run_block(0, seed=0), spectrum(_design(model), GAUSSIAN)
        curves["least"].append(float(arrays["H_least"][0]))
        curves["largest"].append(float(arrays["H_largest"][0]))
        curves["lower"].append(float(bounds.lower))
        curves["upper"].append(float(bounds.upper))
    labels = {
        "lower": ("lower end of (10)", "printed"),
        "upper": ("upper end of (10)", "printed"),
        "least": ("least eigenvalue", "simulation"),
        "largest": ("largest eigenvalue", "simulation"),
    }
    series = [{"label": name, "role": role, "x": sizes, "y": curves[key]} for key, (name, role) in labels.items()]
    return {"x": "n", "y": "spectrum of H-hat, p = q = 5", "log": ["x", "y"], "series": series}


CLAIMS = (
    Claim(
        id="iv/eq-3",
        where="Theorem 3.1, (3); (14), Lemma D.4",
        kind="inequality",
        statement=(
            "$0 < eta < 2 / (1 + delta)^2$ and $0 < alpha < 4 / (2 overline(gamma) + underline(gamma))$ give "
            "$kappa_Theta < 1$ and $kappa_beta < 1$."
        ),
        hypotheses=(
            "$0 <= delta < 1$, $0 < underline(gamma) <= overline(gamma)$. Lemma D.4 also admits $delta = 1$ ($n = "
            "C_0^2 sigma_z^4 Q^2$), where $kappa_Theta >= 1$."
        ),
        checks=(
            Symbolic(
                nonnegative=_within_reach,
                impostors={"alpha below 4 over twice the upper end": {"nonnegative": lambda: _within_reach(0)}},
            ),
        ),
    ),
    Claim(
        id="iv/eq-4",
        where="Theorem 3.1, (4)",
        kind="number",
        statement=(
            "$gamma_1 = gamma_2 = c_0 (sqrt(q) + sqrt(tau + log(n T)))^2$ and $lambda_i = (2 gamma_i)/n "
            "sqrt(T\\/rho_i)$."
        ),
        hypotheses="Evaluated in the figures' settings, $tau = 5$, per unit of $c_0$, which the paper does not give.",
        checks=(
            Agreement(facts=_clip_norms, impostors={"cube": {"facts": lambda rng: _clip_norms(rng, 3)}}),
            Agreement(facts=_spent, impostors={"sensitivity gamma / n": {"facts": lambda rng: _spent(rng, 1.0)}}),
        ),
    ),
    Claim(
        id="iv/eq-5",
        where="Theorem 3.1, (5); (23)",
        kind="number",
        statement=(
            "$T lt.tilde rho_1 n^(2 - epsilon) / (p (sqrt(q) + sqrt(tau))^6)$ keeps the first-stage noise $mu(tau)$ of "
            "(18) bounded."
        ),
        hypotheses=(
            "Evaluated with constant 1 and $epsilon = 0$ in the figures' settings, beside the condition of Lemma D.1; "
            "boundedness for $epsilon > 0$ ($epsilon = 0$ would not do: the logarithm of the clip norm)."
        ),
        checks=(
            Agreement(
                facts=lambda rng: _limits(rng, ("(5)", "Lemma D.1")),
                impostors={"fourth power": {"facts": lambda rng: _limits(rng, ("(5)", "Lemma D.1"), 4)}},
            ),
            Rate(
                ratios=_first_stage_noise,
                relation="upper",
                extents=(4.0, 8.0, 16.0, 32.0),
                impostors={"epsilon = 0": {"ratios": lambda decades: _first_stage_noise(decades, 0.0)}},
            ),
        ),
    ),
    Claim(
        id="iv/eq-6",
        where="Theorem 3.1, (6)",
        kind="number",
        statement=(
            "$n >= c_1 max{p q Lambda^2, Q^3 \\/ sqrt(rho_min)}$ makes $delta$ and $psi$ as small as one likes by the "
            "choice of $c_1$."
        ),
        hypotheses=(
            "Evaluated with $c_1 = 1$, $tau = 5$ in the figures' settings: of these only $p = q = 5$ with $n >= 1689$ "
            "and the real data sets meet it. The implication, $delta <= 2.01 C_0 sigma_z^2 \\/ sqrt(c_1)$ and "
            "$tau + log(2 p q) <= 1.7 Lambda$, for $tau >= 1$."
        ),
        checks=(
            Agreement(
                facts=lambda rng: _limits(rng, ("(6) dimension", "(6) privacy")),
                impostors={"Q^2 for Q^3": {"facts": lambda rng: _limits(rng, ("(6) dimension", "(6) privacy"), 4)}},
            ),
            Inequality(
                smaller=_delta_side,
                larger=_dimension_side,
                box={"q": Real(1.0, 1e12, "log"), "tau": Real(1.0, 1e6, "log")},
                impostors={"constant 1.9": {"larger": lambda m, q, tau: _dimension_side(m, q, tau, "1.9")}},
            ),
            Inequality(
                smaller=lambda m, size, tau: tau + m.log(2 * size),
                larger=lambda m, size, tau: m.number("1.7") * (tau + m.log(size)),
                box={"size": Real(1.0, 1e24, "log"), "tau": Real(1.0, 1e6, "log")},
                impostors={
                    "constant 1.6": {"larger": lambda m, size, tau: m.number("1.6") * (tau + m.log(size))},
                },
            ),
        ),
    ),
    Claim(
        id="iv/eq-10",
        where="App. C, (10)",
        kind="number",
        statement=(
            "$underline(gamma) = (1 - delta)^2 (sigma_min (Theta) - psi)^2$ and $overline(gamma) = (1 + delta)^2 "
            "(norm(Theta) + psi)^2$ bound the spectrum of $hat(H)$ with high probability in the experiments."
        ),
        hypotheses=(
            "Data of Section 4.1, seed 0, $tau = 5$, probability $1 - 3 e^(-tau)$ (Lemma D.6); $C_0 = sqrt(2)$, $c_0 = "
            "2.15$, for which Lemmas D.2 and D.3 are proved for these data. For $p = q = 5$, $n = 1000$ only $c_0 < "
            "0.36$ gives $psi < sigma_min (Theta)$, which (6) with a large $c_1$ would ensure."
        ),
        checks=(
            Agreement(facts=_quantities, picture=_picture),
            Frequency(events=lambda: _spectra(positive_part=False)),
        ),
        correction=Correction(
            statement=(
                "$(1 - delta)_+^2 (sigma_min (Theta) - psi)_+^2$ is the lower end: once $psi > sigma_min (Theta)$ the "
                "printed square grows again."
            ),
            checks=(
                Agreement(
                    facts=_quantities,
                    impostors={"psi over 1 - delta": {"facts": lambda rng: _quantities(rng, 1)}},
                ),
                Frequency(
                    events=lambda: _spectra(positive_part=True),
                    impostors={
                        "no positive part": {"events": lambda: _spectra(positive_part=False)},
                        "delta = psi = 0": {"events": lambda: _spectra(positive_part=True, constants=NONE)},
                    },
                ),
            ),
        ),
    ),
)
