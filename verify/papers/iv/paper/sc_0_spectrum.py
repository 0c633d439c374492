"""Appendix C, (10): the ends of the spectrum in which Theorem 3.1 is stated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.iv import Constants, Design, Spectrum, spectrum
from simulators.iv import LinearModel, synthetic_model
from verify.checks import Agreement, Event, Fact, Frequency, Holds, Within
from verify.checks.pictures import Picture
from verify.papers.iv.tools.samples import moment_draws
from verify.papers.iv.tools.setups import POPULATION, line
from verify.statements.claims import Claim

# Constants with which Lemmas D.2 and D.3 are proved for Gaussian z and e_2 independent of each other.
GAUSSIAN = Constants(concentration=float(np.sqrt(2.0)), product=2.15)


def _design(model: LinearModel) -> Design:
    """sigma_z = 1 and sigma_2^2 the largest eigenvalue of Cov e_2."""
    sigma2 = float(np.sqrt(np.linalg.eigvalsh(np.asarray(model.error_covariance)[:-1, :-1])[-1]))
    return Design.of(model.theta, model.n, sigma_2=sigma2, tau=5.0)


def _holds(bounds: Spectrum, arrays: Any) -> np.ndarray:
    return (arrays["H_least"] >= bounds.lower) & (arrays["H_largest"] <= bounds.upper)


def _spectra(constants: Constants = GAUSSIAN) -> list[Event]:
    """The spectrum of H-hat within [gamma-lower, gamma-upper] where n is large enough for (10) to say something."""
    events = []
    for n, p, q in ((200_000, 5, 5), (10**7, 5, 5), (10**7, 3, 8), (10**9, 20, 20)):
        model = synthetic_model(n=n, p=p, q=q, r=p, parameter_seed=0)
        bounds = spectrum(_design(model), constants)
        name = f"n = {n}, p = {p}, q = {q}, psi = {bounds.psi:.3g}, gamma in [{bounds.lower:.3g}, {bounds.upper:.3g}]"
        events.append(
            Event(
                label=name,
                experiment=moment_draws(model),
                occurs=partial(_holds, bounds),
                at_least=1 - 3 * float(np.exp(-5.0)),
            )
        )
    return events


def _quantities(rng: np.random.Generator, power: int = 2) -> Iterator[Fact | Holds]:
    """delta, psi and both ends to 50 digits; with positive parts where psi exceeds the least singular value."""
    for n, p, q, constants in (
        (1000, 5, 5, Constants()),
        (2000, 5, 5, GAUSSIAN),
        (5000, 4, 9, Constants(product=0.1)),
        (10**7, 20, 20, GAUSSIAN),
    ):
        design = _design(synthetic_model(n=n, p=p, q=q, r=p, parameter_seed=0))
        design = Design(**{**vars(design), "sigma_z": 1.1})
        found, cut = spectrum(design, constants), spectrum(design, constants, positive_part=True)
        with arithmetic.digits(50) as m:
            root, tau, size = m.sqrt(m.number(n)), m.number(5), m.number(p * q)
            sigma_z, C0, c0 = m.number(1.1), m.number(constants.concentration), m.number(constants.product)
            delta = C0 * sigma_z**2 * (m.sqrt(m.number(q)) + m.sqrt(tau)) / root
            log = tau + m.log(2 * size)
            psi = c0 * sigma_z * m.number(design.sigma_2) * m.sqrt(size) * log / root / (1 - delta) ** power
            gap = m.number(design.theta_least) - psi
            upper = (1 + delta) ** 2 * (m.number(design.theta_norm) + psi) ** 2
            exact = [float(number) for number in (delta, psi, (1 - delta) ** 2 * gap**2, upper)]
            valid = float(gap) > 0
        ends = f"gammas {exact[2]:.4g}, {exact[3]:.4g}"
        label = f"n = {n}, p = {p}, q = {q}: delta = {exact[0]:.3g}, psi = {exact[1]:.3g}, {ends}"
        yield Fact(label, [float(number) for number in found[:4]], exact, 1e-12)
        yield Holds(f"{label}, {'meaningful' if valid else 'no bound'}", found.valid == valid)
        yield Fact(f"{label}, lower end with positive parts", float(cut.lower), exact[2] if valid else 0.0, 1e-12)


SMALL = 1000


def _meaningful(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within | Holds]:
    """The c_0 below which psi < sigma_min (Theta) in the experiments: psi is proportional to c_0."""
    design = _design(synthetic_model(n=SMALL, p=5, q=5, r=5, parameter_seed=0))
    unit = spectrum(design, Constants(concentration=GAUSSIAN.concentration, product=1.0))
    limit = factor * design.theta_least / float(unit.psi)
    yield Within("largest c_0 for a bound at n = 1000", limit, most=GAUSSIAN.product, numbers={"limit": limit})
    for share in (0.999, 1.001):
        found = spectrum(design, Constants(concentration=GAUSSIAN.concentration, product=share * limit))
        yield Holds(f"a bound at {share} of it: {share < 1}", found.valid == (share < 1))


def _picture() -> Picture:
    """Ends of the spectrum of one H-hat beside (10), against n."""
    sizes = [int(n) for n in np.geomspace(500, 5e6, 17).round()]
    curves: dict[str, list[float]] = {"least": [], "largest": [], "lower": [], "upper": []}
    for n in sizes:
        model = synthetic_model(n=n, p=5, q=5, r=5, parameter_seed=0)
        arrays, bounds = moment_draws(model, 1).run_block(0, seed=0), spectrum(_design(model), GAUSSIAN)
        curves["least"].append(float(arrays["H_least"][0]))
        curves["largest"].append(float(arrays["H_largest"][0]))
        curves["lower"].append(float(bounds.lower))
        curves["upper"].append(float(bounds.upper))
    series = [
        line("least eigenvalue", "printed", sizes, curves["lower"]),
        line("largest eigenvalue", "printed", sizes, curves["upper"]),
        line("least eigenvalue", "simulated", sizes, curves["least"]),
        line("largest eigenvalue", "simulated", sizes, curves["largest"]),
    ]
    return Picture(x="records $n$", y="spectrum of $hat(H)$, $p = q = 5$", series=series)


EQ_10 = Claim(
    id="iv/eq-10",
    where="App. C",
    page=15,
    equation="(10)",
    kind="number",
    statement=(
        "$underline(gamma) = (1 - delta)^2 (sigma_min (Theta) - psi)^2$ and $overline(gamma) = (1 + delta)^2 "
        "(norm(Theta) + psi)^2$ bound the spectrum of $hat(H)$ with high probability."
    ),
    hypotheses="$n$ as (6) asks with a large enough $c_1$, so that $delta < 1$ and $psi < sigma_min (Theta)$.",
    setting=(
        "Data of Section 4.1, seed 0, $tau = 5$, probability $1 - 3 e^(-tau)$ (Lemma D.6); $C_0 = sqrt(2)$, $c_0 = "
        "2.15$, for which Lemmas D.2 and D.3 are proved for these data."
    ),
    remark=(
        "Once $psi > sigma_min (Theta)$ the printed square grows again and bounds nothing; $(1 - delta)_+^2 (sigma_min "
        "(Theta) - psi)_+^2$ is a bound always. At $p = q = 5$, $n = {n}$, as in the experiments, only $c_0 < "
        "{limit:2}$ gives $psi < sigma_min (Theta)$."
    ),
    given={"n": SMALL},
    checks=(
        Agreement(facts=_quantities, picture=_picture, impostors={"psi over 1 - delta": {"facts": {"power": 1}}}),
        Agreement(facts=_meaningful, impostors={"1 % more": {"facts": {"factor": 1.01}}}),
        Frequency(events=_spectra, impostors={"delta = psi = 0": {"events": {"constants": POPULATION}}}),
    ),
)
