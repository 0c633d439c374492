"""Lemmas D.6 to D.8: the spectrum of H-hat, the error of 2SLS and its residual."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from dpbounds.iv import Constants, Design, lemmas, spectrum
from verify.checks import (
    Agreement,
    Case,
    Event,
    Fact,
    Frequency,
    Means,
    MonteCarlo,
    Rate,
    Search,
    Times,
)
from verify.claims import Claim, Correction, Fault
from verify.domains import Real, Whole
from verify.iv.tools import rationals, reference
from verify.iv.tools.rationals import TwoStage
from verify.iv.tools.samples import drawn, isotropic_design, isotropic_model

Sides = tuple[np.ndarray, np.ndarray]
ROOT_TWO = math.sqrt(2.0)
GAUSSIAN = Constants(concentration=ROOT_TWO)


# --- Lemma D.6 ---


def _cancelled(n: float, tau: float) -> tuple[float, float]:
    """Lower end of (10) for z = +-1, e_2 = -z / 2, Theta = 1, p = q = 1, C_0 = c_0 = 1, sigma_2 = 1/2; and H-hat."""
    design = Design(n=int(n), p=1, q=1, theta_norm=1.0, theta_least=1.0, sigma_2=0.5, tau=tau)
    return float(spectrum(design, positive_part=True).lower), 0.25


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


def _sandwich(theta, error, root, *, lower: bool) -> Sides:
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
    events = []
    constants = Constants(concentration=share * ROOT_TWO, product=share)
    for n, p, q in ((500, 1, 1), (20_000, 5, 5), (10**8, 4, 20)):
        model = isotropic_model(n, p, q, scale=2.0, endogeneity=0.5)
        for tau in (2.0, 4.0):
            bounds = spectrum(Design.of(model.theta, n, tau=tau), constants)
            events.append(
                Event(
                    label=f"n = {n}, p = {p}, q = {q}, tau = {tau}",
                    experiment=drawn(model),
                    occurs=lambda arrays, bounds=bounds: (
                        (arrays["H_least"] >= bounds.lower) & (arrays["H_largest"] <= bounds.upper)
                    ),
                    at_least=1 - 3 * math.exp(-tau),
                )
            )
    return events


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
        Search(
            sides=_cancelled,
            box={"n": Whole(100, 10**12, "log"), "tau": Real(1.2, 10.0)},
            extremal=lambda: [{"n": 10_000.0, "tau": 2.0}],
            evaluations=100,
        ),
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


# --- Lemma D.7 ---


def _weakened(decades: float) -> Iterator[tuple[str, float]]:
    """Median of |beta_hat - beta| over sqrt(q) (tau + log q) / sqrt(n) for e_2 = -(1 - c) z, Theta = sigma_1 = 1.

    z = +-1: x = c z and beta_hat - beta = z'e_1 / (n c) is N(0, 1 / (n c^2)); c = 10^-decades, tau = 2.
    """
    c, n = 10.0**-decades, 10**6
    yield "c -> 0", float(ndtri(0.75)) / c / math.sqrt(n) / lemmas.estimator_rate(isotropic_design(n, tau=2.0))


def _two_stage(root, fitted, product) -> tuple[np.ndarray, ...]:
    """Spectra of A and H-hat, beta_hat - beta and Z'r / n for Z'E_1 / n = `product`, q = 3, p = 2, by the definitions.

    `root` gives A, `fitted` the matrix A^{1/2} theta_hat; singular values are at least 0.05.
    """
    vectors, values, _ = np.linalg.svd(root.reshape(-1, 3, 3))
    half = (vectors * np.maximum(values, 0.05)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    left, lengths, right = np.linalg.svd(fitted.reshape(-1, 3, 2), full_matrices=False)
    theta_hat = np.linalg.solve(half, (left * np.maximum(lengths, 0.05)[:, None, :]) @ right)
    A, transposed = half @ half, np.swapaxes(theta_hat, 1, 2)
    H = transposed @ A @ theta_hat
    error = np.linalg.solve(H, transposed @ product[..., None])
    residual = (A @ theta_hat @ error)[..., 0] - product
    return np.linalg.eigvalsh(A), np.linalg.eigvalsh(H), error[..., 0], residual


def _estimator_bound(**box: np.ndarray) -> Sides:
    """||beta_hat - beta|| against ||Z'E_1|| / (n sqrt(lambda_min(A) lambda_min(H-hat)))."""
    a, h, error, _ = _two_stage(**box)
    return np.linalg.norm(error, axis=1), np.linalg.norm(box["product"], axis=1) / np.sqrt(a[:, 0] * h[:, 0])


def _residual_bound(**box: np.ndarray) -> Sides:
    """||Z'r|| against sqrt(||A|| / lambda_min(A)) ||Z'E_1||: A^{-1/2} Z'r is a projection of -A^{-1/2} Z'E_1."""
    a, _, _, residual = _two_stage(**box)
    length = np.linalg.norm(box["product"], axis=1)
    return np.linalg.norm(residual, axis=1), np.sqrt(a[:, -1] / a[:, 0]) * length


def _bounded(sides: Callable[..., Sides], product: list[float]) -> Search:
    """Equality for A = I, theta_hat = [I; 0] and the product given."""
    point = {"root": list(np.eye(3).ravel()), "fitted": [1.0, 0.0, 0.0, 1.0, 0.0, 0.0], "product": product}
    return Search(
        sides=sides,
        box={"root": (Real(-1.0, 1.0), 9), "fitted": (Real(-1.0, 1.0), 6), "product": (Real(-1.0, 1.0), 3)},
        extremal=lambda: [point],
        vectorised=True,
        rounding=1e-7,
        impostors={"one per cent less": {"sides": Times(1, 0.99)}},
    )


def _limit(design: Design) -> float:
    """c_0 sigma_1 sqrt(q) (tau + log 2q) / (sqrt(n) (1 - delta)^2 (sigma_min - psi)), c_0 = sigma_1 = 1."""
    bounds = spectrum(design, GAUSSIAN)
    shrunk = (1 - bounds.delta) ** 2 * (design.theta_least - bounds.psi)
    return math.sqrt(design.q / design.n) * (design.tau + math.log(2 * design.q)) / shrunk


def _same_order(decades: float) -> Iterator[tuple[str, float]]:
    """The corrected bound over the printed rate, in each of n, q and tau."""
    far = 10.0**decades
    for label, n, q, tau in (
        ("n", 1e8 * far, 3, 2.0),
        ("q", 1e12 * far**3, 3 * far, 2.0),
        ("tau", 1e12 * far**3, 3, far),
    ):
        design = isotropic_design(int(n), 1, int(q), tau)
        yield f"{label} -> oo", _limit(design) / lemmas.estimator_rate(design)


def _half_power(decades: float) -> Iterator[tuple[str, float]]:
    return ((label, ratio * 10.0 ** (decades / 2)) for label, ratio in _same_order(decades))


def _estimators(factor: float = 1.0) -> list[Event]:
    """||beta_hat - beta|| <= `_limit`."""
    events = []
    for n, p, q in ((400, 1, 1), (40_000, 5, 5), (10**6, 2, 20)):
        model = isotropic_model(n, p, q, scale=2.0, endogeneity=0.8)
        for tau in (2.0, 4.0):
            limit = factor * _limit(Design.of(model.theta, n, tau=tau))
            events.append(
                Event(
                    label=f"n = {n}, p = {p}, q = {q}, tau = {tau}",
                    experiment=drawn(model),
                    occurs=lambda arrays, limit=limit: arrays["estimator"] <= limit,
                    at_least=1 - 4 * math.exp(-tau),
                )
            )
    return events


def _sharp_estimators(factor: float = 1.1) -> list[Event]:
    """||beta_hat - beta|| <= 1.1 sigma_1 (sqrt(p) + sqrt(2 tau)) / (sigma_min sqrt(n)), n = 10^6, Theta = 2 [I; 0]."""
    events = []
    for p, q in ((1, 1), (1, 40), (10, 10), (10, 40)):
        limit = factor * (math.sqrt(p) + 2.0) / (2.0 * 1e3)
        events.append(
            Event(
                label=f"n = 10^6, p = {p}, q = {q}, tau = 2",
                experiment=drawn(isotropic_model(10**6, p, q, scale=2.0, endogeneity=0.8)),
                occurs=lambda arrays, limit=limit: arrays["estimator"] <= limit,
                at_least=1 - math.exp(-2.0),
            )
        )
    return events


LEM_D_7 = Claim(
    id="iv/lem-d.7",
    where="Lemma D.7",
    page=22,
    kind="mc-rate",
    statement=(
        "With probability at least $1 - 4 e^(-tau)$: $norm(hat(beta) - beta) <= O(sqrt(q) (tau + log q) \\/ sqrt(n))$."
    ),
    hypotheses=(
        "Assumptions 1 and 2, $n >= C_1 p q Lambda^2$; the constant depends on $Theta$, $beta$ and the $sigma$'s."
    ),
    setting="$p = q = 1$, $n = 10^6$, $tau = 2$, $sigma_1 = 1$; exact medians.",
    checks=(Rate(ratios=_weakened, relation="upper"),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "First-stage errors correlated with $z$ can weaken the instrument below what $Theta$ says: for $z = "
            "plus.minus 1$, $Theta = 1$, $epsilon_2 = -(1 - c) z$ the median of $|hat(beta) - beta|$ over the rate of "
            "Lemma D.7 grows as $1\\/c$, from ${first:3}$ to ${last:3}$ as $c$ falls by ${decades}$ decades, with "
            "$Theta$, $beta$ and all $sigma$'s bounded."
        ),
        consequence=(
            "Inherited from Lemma D.3; with $EE z epsilon_2^top = 0$ it holds, for large $n$ with $sqrt(p)$ for "
            "$sqrt(q)$."
        ),
        root="iv/ass-2",
    ),
    correction=Correction(
        statement=(
            "Under Assumptions 1 and 2 with $EE z epsilon_2^top = 0$, and $psi < sigma_min (Theta)$: with probability "
            "at least $1 - 4 e^(-tau)$, $norm(hat(beta) - beta) <= c_0 sigma_z sigma_1 sqrt(q) (tau + log 2 q) \\/ "
            "(sqrt(n) (1 - delta)^2 (sigma_min (Theta) - psi))$; for large $n$ it is of order $sigma_1 sqrt(p) \\/ "
            "(sigma_min (Theta) sqrt(n))$."
        ),
        ground=(
            "$norm(hat(beta) - beta) <= norm(Z^top E_1) \\/ (n sqrt(lambda_min (A) lambda_min (hat(H))))$, which is "
            "attained, and Lemmas D.3 and D.6."
        ),
        checks=(
            _bounded(_estimator_bound, [1.0, 0.0, 0.0]),
            Rate(ratios=_same_order, relation="theta", impostors={"half a power of q more": {"ratios": _half_power}}),
            Frequency(events=_estimators, impostors={"an eighth": {"events": {"factor": 0.125}}}),
            Frequency(
                events=_sharp_estimators,
                trials={"quick": 500, "full": 20_000},
                impostors={"half": {"events": {"factor": 0.55}}},
            ),
        ),
    ),
)


def _decomposed(rng: np.random.Generator, sign: int = 1) -> Iterator[Fact]:
    """beta_hat - beta and Z'r from E_1 and E_2, in fractions."""
    for q, p in ((3, 2), (2, 2), (3, 1)):
        Z, X, Y = reference.rational_records(rng, 7, q, p)
        estimates = TwoStage(reference.Records(Z, X, Y))
        beta, theta = rationals.rationals(rng, p), rationals.rationals(rng, q, p)
        E1, E2 = Y - X @ beta, X - Z @ theta
        H = estimates.theta_hat.T @ estimates.A @ estimates.theta_hat
        projected = X.T @ Z @ rationals.inverse(Z.T @ Z) @ Z.T @ E1
        error = estimates.beta_hat - beta
        yield Fact(f"beta_hat - beta, q = {q}, p = {p}", error, sign * rationals.inverse(H) @ projected / len(Y), 0)
        gram = Z.T @ Z
        stated = gram @ (estimates.theta_hat - theta) @ estimates.beta_hat + gram @ theta @ error
        yield Fact(f"Z'r, q = {q}, p = {p}", Z.T @ estimates.r, stated - sign * Z.T @ (E2 @ beta + E1), 0)


def _facts_of(rng: np.random.Generator, name: str, sign: int = 1) -> Iterator[Fact]:
    return (fact for fact in _decomposed(rng, sign) if fact.label.startswith(name))


LEM_D_7_ID = Claim(
    id="iv/lem-d.7-id",
    where="App. E.7",
    page=30,
    kind="identity",
    statement="$hat(beta) - beta = 1/n hat(H)^(-1) X^top Z (Z^top Z)^(-1) Z^top E_1$.",
    checks=(
        Agreement(
            facts=partial(_facts_of, name="beta_hat"),
            impostors={"other sign": {"facts": {"sign": -1}}},
        ),
    ),
)

EQ_50 = Claim(
    id="iv/eq-50",
    where="App. E.8",
    page=31,
    equation="(50)",
    kind="identity",
    statement=(
        "$Z^top r = Z^top Z (hat(Theta) - Theta) hat(beta) + Z^top Z Theta (hat(beta) - beta) - Z^top (E_2 beta + "
        "E_1)$."
    ),
    checks=(
        Agreement(facts=partial(_facts_of, name="Z'r"), impostors={"sign of the errors": {"facts": {"sign": -1}}}),
    ),
)


# --- Lemma D.8 ---


def _residuals(constant: float = 2.0) -> list[Event]:
    """||Z'r|| <= 2 sqrt(npq) Lambda, n >= pq Lambda^2."""
    events = []
    for n, p, q in ((200, 2, 2), (1000, 2, 5), (10**6, 1, 10), (10_000, 3, 24)):
        model = isotropic_model(n, p, q, endogeneity=0.5)
        for tau in (2.0, 4.0):
            limit = constant * float(lemmas.residual_rate(Design.of(model.theta, n, tau=tau))) / n
            events.append(
                Event(
                    label=f"n = {n}, p = {p}, q = {q}, tau = {tau}",
                    experiment=drawn(model),
                    occurs=lambda arrays, limit=limit: arrays["residual"] <= limit,
                    at_least=1 - 3 * math.exp(-tau),
                )
            )
    return events


def _sargan(lost: int = 1) -> list[Case]:
    """E r'P_Z r / sigma_1^2 = q - p for errors independent of X and Z."""
    return [
        Case(
            label=f"r'P_Z r, n = {n}, p = {p}, q = {q}",
            experiment=drawn(isotropic_model(n, p, q), 4000),
            output="sargan",
            predicted=lambda p=p, q=q: float(q - lost * p),
            relative_std=math.sqrt(2 / (q - p)),
        )
        for n, p, q in ((200, 2, 5), (10**6, 1, 10), (1000, 3, 24))
    ]


def _residual_rates(rng: np.random.Generator) -> Iterator[Fact]:
    """The printed rate is Lemma D.3's, without the 2 in its logarithm: it bounds Z'E_2."""
    for n, p, q, tau in ((50, 1, 1, 3.0), (400, 2, 5, 1.0), (400, 5, 5, 9.0)):
        design = isotropic_design(n, p, q, tau)
        stated = lemmas.product_bound(design) - math.log(2.0) * math.sqrt(n * p * q)
        yield Fact(f"n = {n}, p = {p}, q = {q}", lemmas.residual_rate(design), stated, 1e-12)


LEM_D_8 = Claim(
    id="iv/lem-d.8",
    where="Lemma D.8",
    page=22,
    kind="mc-rate",
    statement="With probability at least $1 - 3 e^(-tau)$: $norm(Z^top r) <= O(sqrt(n p q) Lambda)$.",
    hypotheses="$n >= C_1 p q Lambda^2$.",
    setting="$C_1 = 1$, the constant of the bound 2, Gaussian samples with $EE z epsilon_2^top = 0$.",
    remark=(
        "Far from sharp: $norm(Z^top r) <= sqrt(norm(A) \\/ lambda_min (A)) norm(Z^top E_1)$, of order $sqrt(n (q - "
        "p))$; $r^top P_Z r \\/ sigma_1^2$ is $chi^2$ with $q - p$ degrees of freedom for errors independent of $X$, "
        "and $Z^top r = 0$ for $q = p$."
    ),
    checks=(
        _bounded(_residual_bound, [0.0, 0.0, 1.0]),
        Frequency(events=_residuals, impostors={"constant 0.15": {"events": {"constant": 0.15}}}),
        MonteCarlo(
            means=Means(cases=_sargan),
            resolution={"quick": 0.08, "full": 0.02, "paper": 0.01},
            impostors={"q degrees of freedom": {"means": Means(cases=partial(_sargan, lost=0))}},
        ),
        Agreement(facts=_residual_rates, impostors={"2 % off": {"facts": Times(1.02)}}),
    ),
)
