"""Lemmas D.6 to D.8: the spectrum of H-hat, the error of 2SLS and its residual."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from dpbounds.iv import Constants, Design, lemmas, spectrum
from simulators.iv import LinearModel
from verify.checks import Agreement, Case, Event, Fact, Frequency, Inequality, Means, MonteCarlo, Rate, Search
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.iv.claims import rationals, reference
from verify.iv.claims.random_matrices import ROOT_TWO, UNCORRELATED
from verify.iv.claims.rationals import TwoStage
from verify.iv.claims.samples import drawn, isotropic_model

Sides = tuple[np.ndarray, np.ndarray]
GAUSSIAN = Constants(concentration=ROOT_TWO)


def _design(model: LinearModel, tau: float) -> Design:
    return Design.of(model.theta, model.n, tau=tau)


# --- Lemma D.6 ---


def _cancelled(m, n, tau):
    """Lower end of (10) for e_2 = -z / 2, Theta = 1, p = q = 1, C_0 = c_0 = 1, sigma_2 = 1/2; H-hat = 1/4."""
    delta = (1 + m.sqrt(tau)) / m.sqrt(n)
    psi = (tau + m.log(m.number(2))) / 2 / m.sqrt(n) / m.power(1 - delta, 2)
    return m.power(1 - delta, 2) * m.power(m.maximum(1 - psi, m.number(0)), 2)


def _norms(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest singular values."""
    values = np.linalg.svd(matrices, compute_uv=False)
    return values[:, -1], values[:, 0]


def _sandwich(theta, error, root, *, lower: bool, factor: float = 1.0) -> Sides:
    """lambda_min(A) (sigma_min - ||Psi||)_+^2 <= lambda(H-hat) <= ||A|| (||Theta|| + ||Psi||)^2, q = 3, p = 2."""
    R, Theta, Psi = root.reshape(-1, 3, 3), theta.reshape(-1, 3, 2), error.reshape(-1, 3, 2)
    A = np.swapaxes(R, 1, 2) @ R
    a, hat = np.linalg.eigvalsh(A), Theta + Psi
    h = np.linalg.eigvalsh(np.swapaxes(hat, 1, 2) @ A @ hat)
    (least, largest), moved = _norms(Theta), _norms(Psi)[1]
    if lower:
        return factor * a[:, 0].clip(0) * np.maximum(least - moved, 0.0) ** 2, h[:, 0].clip(0)
    return h[:, -1], a[:, -1] * (largest + moved) ** 2 / factor


def _whitened_point() -> Iterator[Mapping[str, Any]]:
    """Both ends attained: A = I, Psi along Theta."""
    for share in (-0.5, 0.5):
        theta = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        yield {"theta": theta, "error": [share * entry for entry in theta], "root": list(np.eye(3).ravel())}


def _ends(*, lower: bool) -> Search:
    return Search(
        sides=lambda **box: _sandwich(lower=lower, **box),
        box={"theta": (Real(-1.0, 1.0), 6), "error": (Real(-1.0, 1.0), 6), "root": (Real(-1.0, 1.0), 9)},
        extremal=_whitened_point,
        vectorised=True,
        rounding=1e-7,
        impostors={"one per cent tighter": {"sides": lambda **box: _sandwich(lower=lower, factor=1.01, **box)}},
    )


def _spectra(constants: Constants) -> list[Event]:
    """The spectrum of H-hat within (10), C_1 large enough for psi < sigma_min(Theta) = 2."""
    events = []
    for n, p, q in ((500, 1, 1), (20_000, 5, 5), (10**8, 4, 20)):
        model = isotropic_model(n, p, q, scale=2.0, endogeneity=0.5)
        for tau in (2.0, 4.0):
            bounds = spectrum(_design(model, tau), constants)
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


# --- Lemma D.7 ---


def _weakened(decades: float) -> Iterator[tuple[str, float]]:
    """Median of |beta_hat - beta| over sqrt(q) (tau + log q) / sqrt(n) for e_2 = -(1 - c) z, Theta = sigma_1 = 1.

    z = +-1: x = c z and beta_hat - beta = z'e_1 / (n c) is N(0, 1 / (n c^2)); c = 10^-decades, tau = 2.
    """
    c, tau = 10.0**-decades, 2.0
    yield "c -> 0", float(ndtri(0.75)) / c / tau


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


def _estimator_bound(factor: float = 1.0, **box: np.ndarray) -> Sides:
    """||beta_hat - beta|| against ||Z'E_1|| / (n sqrt(lambda_min(A) lambda_min(H-hat)))."""
    a, h, error, _ = _two_stage(**box)
    return np.linalg.norm(error, axis=1), factor * np.linalg.norm(box["product"], axis=1) / np.sqrt(a[:, 0] * h[:, 0])


def _residual_bound(factor: float = 1.0, **box: np.ndarray) -> Sides:
    """||Z'r|| against sqrt(||A|| / lambda_min(A)) ||Z'E_1||: A^{-1/2} Z'r is a projection of -A^{-1/2} Z'E_1."""
    a, _, _, residual = _two_stage(**box)
    length = np.linalg.norm(box["product"], axis=1)
    return np.linalg.norm(residual, axis=1), factor * np.sqrt(a[:, -1] / a[:, 0]) * length


def _bounded(sides: Callable[..., Sides], product: list[float]) -> Search:
    """Equality for A = I, theta_hat = [I; 0] and the product given."""
    point = {"root": list(np.eye(3).ravel()), "fitted": [1.0, 0.0, 0.0, 1.0, 0.0, 0.0], "product": product}
    return Search(
        sides=sides,
        box={"root": (Real(-1.0, 1.0), 9), "fitted": (Real(-1.0, 1.0), 6), "product": (Real(-1.0, 1.0), 3)},
        extremal=lambda: [point],
        vectorised=True,
        rounding=1e-7,
        impostors={"one per cent less": {"sides": lambda **box: sides(factor=0.99, **box)}},
    )


def _estimators(factor: float = 1.0) -> list[Event]:
    """||beta_hat - beta|| <= sqrt(q) (tau + log 2q) / (sqrt(n) (1 - delta)^2 (sigma_min - psi)): c_0 = sigma_1 = 1."""
    events = []
    for n, p, q in ((400, 1, 1), (40_000, 5, 5), (10**6, 2, 20)):
        model = isotropic_model(n, p, q, scale=2.0, endogeneity=0.8)
        for tau in (2.0, 4.0):
            bounds = spectrum(_design(model, tau), GAUSSIAN)
            shrunk = (1 - bounds.delta) ** 2 * (2.0 - bounds.psi)
            limit = factor * math.sqrt(q / n) * (tau + math.log(2 * q)) / shrunk
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


# --- Lemma D.8 ---


def _residuals(constant: float = 2.0) -> list[Event]:
    """||Z'r|| <= 2 sqrt(npq) Lambda, n >= pq Lambda^2."""
    events = []
    for n, p, q in ((200, 2, 2), (1000, 2, 5), (10**6, 1, 10), (10_000, 3, 24)):
        model = isotropic_model(n, p, q, endogeneity=0.5)
        for tau in (2.0, 4.0):
            limit = constant * float(lemmas.residual_rate(_design(model, tau))) / n
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


PROJECTED = (
    "In fact $norm(Z^top r) <= sqrt(norm(A) \\/ lambda_min (A)) norm(Z^top E_1)$, of order $sqrt(n (q - p))$: $r^top "
    "P_Z r \\/ sigma_1^2$ is $chi^2$ with $q - p$ degrees of freedom for errors independent of $X$, and $Z^top r = 0$ "
    "for $q = p$."
)

CLAIMS = (
    Claim(
        id="iv/lem-d.6",
        where="Lemma D.6",
        kind="inequality",
        statement=(
            "With probability at least $1 - 3 e^(-tau)$: $lambda_min (hat(H)) >= (1 - delta)^2 (sigma_min (Theta) - "
            "psi)^2$ and $lambda_max (hat(H)) <= (1 + delta)^2 (norm(Theta) + psi)^2$."
        ),
        hypotheses=(
            "Assumptions 1 and 2, $n >= C_1 p q Lambda^2$. Tried on $z = plus.minus 1$, $epsilon_2 = -z\\/2$, $Theta = "
            "1$, $C_0 = c_0 = 1$, where $hat(H) = 1\\/4$ for every $n$."
        ),
        checks=(
            Inequality(
                smaller=_cancelled,
                larger=lambda m, n, tau: m.number("1/4"),
                box={"n": Real(100.0, 1e12, "log"), "tau": Real(1.2, 10.0)},
            ),
        ),
        correction=Correction(
            statement=f"{UNCORRELATED}, and $C_1$ is large enough for $psi < sigma_min (Theta)$.",
            checks=(
                _ends(lower=True),
                _ends(lower=False),
                Frequency(
                    events=lambda: _spectra(GAUSSIAN),
                    impostors={
                        "delta and psi a sixth": {
                            "events": lambda: _spectra(Constants(concentration=ROOT_TWO / 6, product=1 / 6)),
                        },
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.7",
        where="Lemma D.7",
        kind="mc-rate",
        statement=(
            "With probability at least $1 - 4 e^(-tau)$: $norm(hat(beta) - beta) <= O(sqrt(q) (tau + log q) \\/ "
            "sqrt(n))$."
        ),
        hypotheses=(
            "Assumptions 1 and 2, $n >= C_1 p q Lambda^2$; the constant depends on $Theta$, $beta$ and the $sigma$'s. "
            "Tried on $z = plus.minus 1$, $Theta = 1$, $epsilon_2 = -(1 - c) z$ with small $c$."
        ),
        checks=(Rate(ratios=_weakened, relation="upper"),),
        correction=Correction(
            statement=(
                f"{UNCORRELATED}: at most $c_0 sigma_z sigma_1 sqrt(q) (tau + log 2 q) \\/ (sqrt(n) (1 - delta)^2 "
                "(sigma_min (Theta) - psi))$; for large $n$ of order $sigma_1 sqrt(p) \\/ (sigma_min (Theta) sqrt(n))$."
            ),
            checks=(
                _bounded(_estimator_bound, [1.0, 0.0, 0.0]),
                Frequency(events=_estimators, impostors={"an eighth": {"events": lambda: _estimators(0.125)}}),
                Frequency(
                    events=_sharp_estimators,
                    trials={"quick": 500, "full": 20_000},
                    impostors={"half": {"events": lambda: _sharp_estimators(0.55)}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.7-id",
        where="App. E.7",
        kind="identity",
        statement="$hat(beta) - beta = 1/n hat(H)^(-1) X^top Z (Z^top Z)^(-1) Z^top E_1$.",
        checks=(
            Agreement(
                facts=lambda rng: _facts_of(rng, "beta_hat"),
                impostors={"other sign": {"facts": lambda rng: _facts_of(rng, "beta_hat", -1)}},
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.8",
        where="Lemma D.8",
        kind="mc-rate",
        statement="With probability at least $1 - 3 e^(-tau)$: $norm(Z^top r) <= O(sqrt(n p q) Lambda)$.",
        hypotheses=f"$n >= C_1 p q Lambda^2$, here $C_1 = 1$ and constant 2. {PROJECTED}",
        checks=(
            _bounded(_residual_bound, [0.0, 0.0, 1.0]),
            Frequency(events=_residuals, impostors={"constant 0.15": {"events": lambda: _residuals(0.15)}}),
            MonteCarlo(
                means=Means(cases=_sargan),
                resolution={"quick": 0.08, "full": 0.02, "paper": 0.01},
                impostors={"q degrees of freedom": {"means": Means(cases=lambda: _sargan(0))}},
            ),
        ),
    ),
    Claim(
        id="iv/eq-50",
        where="App. E.8, (50)",
        kind="identity",
        statement=(
            "$Z^top r = Z^top Z (hat(Theta) - Theta) hat(beta) + Z^top Z Theta (hat(beta) - beta) - Z^top (E_2 beta + "
            "E_1)$."
        ),
        checks=(
            Agreement(
                facts=lambda rng: _facts_of(rng, "Z'r"),
                impostors={"sign of the errors": {"facts": lambda rng: _facts_of(rng, "Z'r", -1)}},
            ),
        ),
    ),
)
