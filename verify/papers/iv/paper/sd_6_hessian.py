"""Lemma D.6: the spectrum of H-hat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpbounds.iv import Constants, Design, spectrum
from simulators.iv import LinearModel
from verify.checks import Agreement, Event, Fact, Frequency, Search, Times, Unbounded
from verify.checks.domains import Real
from verify.papers.iv.tools.samples import GAUSSIAN, Occurs, counterexample, isotropic_model, likely_events
from verify.statements.claims import Claim, Correction, Fault


def _cancelled(n: float, tau: float) -> tuple[float, float]:
    """Lower end of (10) for z = +-1, e_2 = -z / 2, Theta = 1, p = q = 1, C_0 = c_0 = 1, sigma_2 = 1/2; and H-hat."""
    design = Design(n=int(n), p=1, q=1, theta_norm=1.0, theta_least=1.0, sigma_2=0.5, tau=tau)
    return float(spectrum(design, positive_part=True).lower), 0.25


def _shrunk(m, s):
    """There 1 - sqrt(lambda_min(H-hat)) = 1/2; the lemma has it at most 1 - (1 - delta) (1 - psi) <= delta + psi, which
    is taken at n = 10^4 s, tau = 2.
    """
    delta = (1 + m.sqrt(m.number(2))) / (100 * m.sqrt(s))
    psi = (2 + m.log(m.number(2))) / (200 * m.sqrt(s) * (1 - delta) * (1 - delta))
    return 1 / (2 * (delta + psi))


def _shrunk_reduced(m, x):
    """The quotient times sqrt(x): delta and psi are multiples of it, but for the 1 - delta in psi."""
    Q = 1 + m.sqrt(m.number(2))
    left = 1 - Q * m.sqrt(x) / 100
    return 100 / (2 * Q + (2 + m.log(m.number(2))) / (left * left))


def _attained(rng: np.random.Generator) -> Iterator[Fact]:
    """The ends of (10) at the worst A and Psi of the norms that delta and psi allow."""
    for n, p, q, tau in ((3000, 1, 1, 0.5), (10**5, 2, 3, 2.0), (10**5, 3, 3, 1.0)):
        design = Design(n=n, p=p, q=q, theta_norm=3.0, theta_least=2.0, sigma_2=0.7, tau=tau)
        bounds = spectrum(design, GAUSSIAN)
        theta = np.eye(q, p) * np.array([2.0, *[3.0] * (p - 1)])
        for end, sign, entry in ((bounds.lower, -1, 0), (bounds.upper, 1, p - 1)):
            hat = theta if p > 1 or sign < 0 else 1.5 * theta
            hat = hat + sign * bounds.psi * (np.arange(q)[:, None] == entry) * (np.arange(p) == entry)
            values = (1 + sign * bounds.delta) ** 2 * np.linalg.svd(hat, compute_uv=False) ** 2
            yield Fact(f"p = {p}, q = {q}, end {sign:+d}", values.max() if sign > 0 else values.min(), end, 1e-12)


def _norms(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest singular values."""
    values = np.linalg.svd(matrices, compute_uv=False)
    return values[:, -1], values[:, 0]


def _sandwich(theta, error, root, *, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """lambda_min(A) (sigma_min - ||Psi||)_+^2 <= lambda(H-hat) <= ||A|| (||Theta|| + ||Psi||)^2, q = 3, p = 2."""
    R, Theta, Psi = root.reshape(-1, 3, 3), theta.reshape(-1, 3, 2), error.reshape(-1, 3, 2)
    A = np.swapaxes(R, 1, 2) @ R
    a, hat = np.linalg.eigvalsh(A), Theta + Psi
    h = np.linalg.eigvalsh(np.swapaxes(hat, 1, 2) @ A @ hat)
    (least, largest), moved = _norms(Theta), _norms(Psi)[1]
    if lower:
        return a[:, 0].clip(0) * np.maximum(least - moved, 0.0) ** 2, h[:, 0].clip(0)
    return h[:, -1], a[:, -1] * (largest + moved) ** 2


def _whitened_point() -> Iterator[Mapping[str, Any]]:
    """Both ends attained: A = I, Psi along Theta."""
    for share in (-0.5, 0.5):
        theta = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        yield {"theta": theta, "error": [share * entry for entry in theta], "root": list(np.eye(3).ravel())}


def _ends(*, lower: bool) -> Search:
    return Search(
        sides=partial(_sandwich, lower=lower),
        box={"theta": (Real(-1.0, 1.0), 6), "error": (Real(-1.0, 1.0), 6), "root": (Real(-1.0, 1.0), 9)},
        extremal=_whitened_point,
        vectorised=True,
        rounding=1e-7,
        impostors={"one per cent tighter": {"sides": Times(1.01, 1)}},
    )


def _spectra(share: float = 1.0) -> list[Event]:
    """The spectrum of H-hat within (10), C_1 large enough for psi < sigma_min(Theta) = 2."""
    constants = Constants(concentration=share * GAUSSIAN.concentration, product=share)

    def inside(model: LinearModel, tau: float) -> Occurs:
        bounds = spectrum(Design.of(model.theta, model.n, tau=tau), constants)
        return lambda arrays: (arrays["H_least"] >= bounds.lower) & (arrays["H_largest"] <= bounds.upper)

    sizes = ((500, 1, 1), (20_000, 5, 5), (10**8, 4, 20))
    return likely_events([isotropic_model(*size, scale=2.0, endogeneity=0.5) for size in sizes], inside)


LEM_D_6 = Claim(
    id="iv/lem-d.6",
    where="Lemma D.6",
    page=22,
    kind="inequality",
    statement=(
        "With probability at least $1 - 3 e^(-tau)$: $lambda_min (hat(H)) >= (1 - delta)^2 (sigma_min (Theta) - "
        "psi)^2$ and $lambda_max (hat(H)) <= (1 + delta)^2 (norm(Theta) + psi)^2$."
    ),
    hypotheses="Assumptions 1 and 2, $n >= C_1 p q Lambda^2$.",
    setting="$C_0 = c_0 = sigma_z = p = q = 1$.",
    checks=(
        counterexample(_cancelled),
        Unbounded(quotient=_shrunk, reduced=_shrunk_reduced, power=Fraction(1, 2)),
    ),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Where first-stage errors are correlated with $z$ they can cancel $Theta$: for $z = plus.minus 1$, "
            "$Theta = 1$, $epsilon_2 = -z\\/2$ one has $hat(H) = {larger}$ in every sample, while the lower end of "
            "Lemma D.6 is ${smaller:3}$ at $n = {n}$, $tau = {tau}$ and tends to 1."
        ),
        consequence=(
            "Inherited from Lemma D.3; it holds with $EE z epsilon_2^top = 0$ and $psi < sigma_min (Theta)$, without "
            "which the square of $sigma_min (Theta) - psi$ bounds nothing."
        ),
        root="iv/ass-2",
    ),
    correction=Correction(
        statement=(
            "Under Assumptions 1 and 2 with $EE z epsilon_2^top = 0$, and $n >= C_1 p q Lambda^2$ with $C_1$ so large "
            "that $psi < sigma_min (Theta)$: with probability at least $1 - 3 e^(-tau)$, $lambda_min (hat(H)) >= (1 - "
            "delta)^2 (sigma_min (Theta) - psi)^2$ and $lambda_max (hat(H)) <= (1 + delta)^2 (norm(Theta) + psi)^2$."
        ),
        ground="Lemmas D.2 and D.5 and Weyl's inequality, which is attained.",
        checks=(
            Agreement(facts=_attained, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
            _ends(lower=True),
            _ends(lower=False),
            Frequency(events=_spectra, impostors={"delta and psi a sixth": {"events": {"share": 1 / 6}}}),
        ),
    ),
)
