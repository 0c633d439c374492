"""Lemmas D.7 and D.8: the error of 2SLS and its residual."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import sympy

from dpbounds.iv import Design, lemmas, spectrum
from simulators.iv import LinearModel
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
    Symbolic,
    Times,
    Unbounded,
)
from verify.checks.domains import Real
from verify.papers.iv.tools import rationals, reference
from verify.papers.iv.tools.rationals import TwoStage
from verify.papers.iv.tools.samples import (
    GAUSSIAN,
    Occurs,
    isotropic_design,
    isotropic_model,
    likely_events,
    moment_draws,
)
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]


# --- Lemma D.7 ---


def _weakened(m, s):
    """Median of |beta_hat - beta| over sqrt(q) (tau + log q) / sqrt(n) for e_2 = -(1 - c) z, Theta = sigma_1 = 1.

    z = +-1: x = c z and beta_hat - beta = z'e_1 / (n c) is N(0, 1 / (n c^2)); c = 1 / s, tau = 2, whatever n.
    """
    return m.ndtri(m.number("3/4")) * s / 2


def _weakened_reduced(m, x):
    """The quotient is proportional to s."""
    return m.ndtri(m.number("3/4")) / 2


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
                    experiment=moment_draws(model),
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
                experiment=moment_draws(isotropic_model(10**6, p, q, scale=2.0, endogeneity=0.8)),
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
    setting="$p = q = 1$, $tau = 2$, $sigma_1 = 1$; exact medians.",
    checks=(Unbounded(quotient=_weakened, reduced=_weakened_reduced, shown={"first": 1, "last": 10**8}),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "First-stage errors correlated with $z$ can weaken the instrument below what $Theta$ says: for $z = "
            "plus.minus 1$, $Theta = 1$, $epsilon_2 = -(1 - c) z$ the median of $|hat(beta) - beta|$ over the rate of "
            "Lemma D.7 grows as $1\\/c$, from ${first:3}$ at $c = 1$ to ${last:3}$ at $c = 10^(-8)$, with $Theta$, "
            "$beta$ and all $sigma$'s bounded."
        ),
        consequence=(
            "Inherited from Lemma D.3; with $EE z epsilon_2^top = 0$ it holds, for large $n$ with $sqrt(p)$ for "
            "$sqrt(q)$."
        ),
        root="iv/ass-2",
    ),
    correction=Correction(
        statement=(
            (
                "Under Assumptions 1 and 2 with $EE z epsilon_2^top = 0$, and $psi < sigma_min (Theta)$: with "
                "probability at least $1 - 4 e^(-tau)$, $norm(hat(beta) - beta) <= c_0 sigma_z sigma_1 sqrt(q) (tau + "
                r"log 2 q) \/ (sqrt(n) (1 - delta)^2 (sigma_min (Theta) - psi))$;"
            ),
            r"for large $n$ it is of order $sigma_1 sqrt(p) \/ (sigma_min (Theta) sqrt(n))$.",
        ),
        ground=(
            "$norm(hat(beta) - beta) <= norm(Z^top E_1) \\/ (n sqrt(lambda_min (A) lambda_min (hat(H))))$, which is "
            "attained, and Lemmas D.3 and D.6."
        ),
        checks=(
            _bounded(_estimator_bound, [1.0, 0.0, 0.0]).deciding("a"),
            Rate(
                decides="b",
                ratios=_same_order,
                relation="theta",
                impostors={"half a power of q more": {"ratios": _half_power}},
            ),
            Frequency(decides="a", events=_estimators, impostors={"an eighth": {"events": {"factor": 0.125}}}),
            Frequency(
                decides="b",
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


def _error(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """beta_hat - beta, matrices of any size as letters that do not commute; F = X'P_Z, H = F X = n H-hat."""
    H, projected, beta = sympy.symbols("H FE beta", commutative=False)
    yield "beta_hat - beta", H**-1 * (H * beta + projected) - beta - sign * H**-1 * projected


def _residual(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Z'r for X = Z Theta + E_2, Y = X beta + E_1; turned = Z'."""
    names = "turned Z theta theta_hat beta beta_hat E_1 E_2"
    turned, Z, theta, theta_hat, beta, beta_hat, E1, E2 = sympy.symbols(names, commutative=False)
    residual = turned * (Z * theta_hat * beta_hat - (Z * theta + E2) * beta - E1)
    gram = turned * Z
    stated = gram * (theta_hat - theta) * beta_hat + gram * theta * (beta_hat - beta)
    yield "Z'r", residual - stated + sign * turned * (E2 * beta + E1)


LEM_D_7_ID = Claim(
    id="iv/lem-d.7-id",
    where="App. E.7",
    page=30,
    kind="identity",
    statement="$hat(beta) - beta = 1/n hat(H)^(-1) X^top Z (Z^top Z)^(-1) Z^top E_1$.",
    checks=(
        Symbolic(residuals=_error, impostors={"other sign": {"residuals": {"sign": -1}}}),
        Agreement(
            facts=partial(_facts_of, name="beta_hat"),
            role="control",
            impostors={"other sign": {"facts": {"sign": -1}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "$n hat(H) = X^top P_Z X$ and $hat(beta) = (X^top P_Z X)^(-1) X^top P_Z (X beta + E_1)$ by Definition 2.3, "
            "$P_Z = Z (Z^top Z)^(-1) Z^top$; the rest is proved for matrices of any size."
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
        Symbolic(residuals=_residual, impostors={"sign of the errors": {"residuals": {"sign": -1}}}),
        Agreement(
            facts=partial(_facts_of, name="Z'r"),
            role="control",
            impostors={"sign of the errors": {"facts": {"sign": -1}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "With $r = Z hat(Theta) hat(beta) - Y$, $Y = X beta + E_1$ and $X = Z Theta + E_2$ it is proved for "
            "matrices of any size, with letters that do not commute."
        ),
    ),
)


# --- Lemma D.8 ---


def _residuals(constant: float = 2.0) -> list[Event]:
    """||Z'r|| <= 2 sqrt(npq) Lambda, n >= pq Lambda^2."""

    def below(model: LinearModel, tau: float) -> Occurs:
        limit = constant * float(lemmas.residual_rate(Design.of(model.theta, model.n, tau=tau))) / model.n
        return lambda arrays: arrays["residual"] <= limit

    sizes = ((200, 2, 2), (1000, 2, 5), (10**6, 1, 10), (10_000, 3, 24))
    return likely_events([isotropic_model(*size, endogeneity=0.5) for size in sizes], below)


def _sargan(lost: int = 1) -> list[Case]:
    """E r'P_Z r / sigma_1^2 = q - p for errors independent of X and Z."""
    return [
        Case(
            label=f"r'P_Z r, n = {n}, p = {p}, q = {q}",
            experiment=moment_draws(isotropic_model(n, p, q), 4000),
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
