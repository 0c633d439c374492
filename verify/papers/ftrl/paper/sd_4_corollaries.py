"""Appendix D.4: Corollaries D.14 and D.15, the guarantees of DP-SGD and nu-DP-FTRL with clipping."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from dpbounds.ftrl import correlations, finite_time
from dpbounds.ftrl.finite_time import Mechanism
from dpbounds.ftrl.linear_regression import Regression, suboptimality
from dpbounds.ftrl.linear_regression.bounds import NU_CONSTANT
from verify.checks import Inequality, Search
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim, Correction, Fault

Sides = tuple[np.ndarray, np.ndarray]

# --- what Theorem D.13 gives: the corollaries with constants ---

# In front of C^2 J l^5 in the exponent, of the two polynomial terms, and of the budget of the single exponential.
EXTENT, SGD, FTRL, SMALL = 72.0, 40.0, 30.0, 24.0


class _Problem:
    """Spectrum, budget and horizon of a search, and the parameters of Thm D.13 with c = 4 C; R^2 = r Tr H, J."""

    def __init__(self, kappa, share, d, r, rho, T, p, distance, residual, C, L) -> None:
        self.kappa = np.where(d > 1, kappa, 1.0)
        self.effective = 1.0 + (d - 1.0) * np.maximum(share, 1.0 / self.kappa)
        self.d, self.rho, self.T, self.C, self.log_term = d, rho, T, C, np.log(T / p)
        self.mu, self.trace, self.distance, self.residual = L / self.kappa, L * self.effective, distance, residual
        self.r_squared, self.largest = r * self.trace, 1.0 / (C * r * self.trace * self.log_term)
        self.J = self.kappa**2 * self.effective**2 * d / rho
        self.initial = L * distance / 2.0  # F(theta_0) - F* at most

    def noise(self, eta: np.ndarray) -> np.ndarray:
        """G^2 / rho."""
        scale = np.maximum(self.distance, eta * self.r_squared * self.residual / self.mu)
        scale = np.maximum(scale, self.residual / self.r_squared)
        return (4.0 * self.C * self.r_squared) ** 2 * scale * self.log_term**5 / self.rho

    def bound(self, eta: np.ndarray, stationary: np.ndarray) -> np.ndarray:
        """Part (c) of Thm D.13 at t = T."""
        return 2.0 * self.kappa * np.exp(-eta * self.mu * self.T) * self.initial + 2.0 * stationary

    def exponential(self, privacy_extent: np.ndarray) -> np.ndarray:
        """2 kappa Delta_0 exp(-T min{1 / (3 C kappa d_e l), 1 / privacy_extent})."""
        extent = np.maximum(3.0 * self.C * self.kappa * self.effective * self.log_term, privacy_extent)
        return 2.0 * self.kappa * self.initial * np.exp(-self.T / extent)

    def polynomial(self, dimension: np.ndarray) -> np.ndarray:
        """kappa d_e (dimension (Tr(H) n^2 + sigma^2) / (rho T) + sigma^2 / T)."""
        signal = dimension * (self.trace * self.distance + self.residual) / self.rho
        return self.kappa * self.effective * (signal + self.residual) / self.T


def _sgd(constant: float = SGD, with_limit: bool = True, **parameters: np.ndarray) -> Sides:
    """Thm D.13(c) at eta = min{eta_max, log(..) / (mu T)}, with F_inf at most eta / (2 (2 - eta R^2)) (sigma^2 Tr H + d
    G^2 / (2 rho)), against the corrected Cor D.14.
    """
    a = _Problem(**parameters)
    privacy = a.mu * a.rho / (8.0 * a.C**2 * a.r_squared**2 * a.d * a.log_term**5)
    logarithm = np.maximum(1.0, np.log(a.rho * a.T / (a.d * a.effective**2)))
    eta = np.minimum(np.minimum(a.largest, privacy), logarithm / (a.mu * a.T))
    stationary = eta / (2.0 * (2.0 - eta * a.r_squared)) * (a.residual * a.trace + a.d * a.noise(eta) / 2.0)
    extent = EXTENT * a.C**2 * a.J * a.log_term**5
    forgotten = a.exponential(extent) if with_limit else 2.0 * a.kappa * a.initial * np.exp(-a.T / extent)
    return a.bound(eta, stationary), forgotten + constant * a.C**2 * a.log_term**5 * logarithm * a.polynomial(a.d)


BOX = {
    "kappa": Real(1.0, 1e8, "log"),
    "share": Real(1e-8, 1.0, "log"),
    "d": Whole(1, 10**8, "log"),
    "r": Real(1.0, 3.0),
    "rho": Real(1e-8, 1e12, "log"),
    "T": Whole(2, 10**15, "log"),
    "p": Real(1e-12, 0.99, "log"),
    "distance": Real(1e-12, 1e12, "log"),
    "residual": Real(1e-12, 1e12, "log"),
    "C": Real(4.0, 1e3, "log"),
    "L": Real(1e-6, 1e6, "log"),
}


def _search(sides: Callable[..., Sides], wrong: float) -> Search:
    return Search(
        sides=sides,
        box=BOX,
        vectorised=True,
        evaluations={"quick": 30_000, "full": 300_000},
        impostors={
            "without T >= kappa d_e l": {"sides": {"with_limit": False}},
            "half the constant": {"sides": {"constant": wrong}},
        },
    )


def _small_budget(sides: Callable[..., Sides]) -> Search:
    """The one exponential suffices for rho <= 24 C kappa d_e d l^4; the box has rho in parts of that."""

    def limited(rho: np.ndarray, beyond: float = 1.0, **parameters: np.ndarray) -> Sides:
        a = _Problem(rho=np.ones_like(rho), **parameters)
        limit = beyond * SMALL * a.C * a.kappa * a.effective * a.d * a.log_term**4
        return sides(rho=rho * limit, with_limit=False, **parameters)

    return Search(
        sides=limited,
        box={**BOX, "rho": Real(1e-12, 1.0, "log")},
        vectorised=True,
        evaluations={"quick": 20_000, "full": 200_000},
        impostors={"a thousand times the budget": {"sides": {"beyond": 1e3}}},
    )


SGD_SEARCH = _search(_sgd, 20.0)

# --- Corollary D.14 ---

# T and p of the counterexample.
STEPS, FAILURE = 20, 0.1


def _stuck(rho: float, mechanism: Mechanism) -> tuple[float, float]:
    """d = 1, H = 1, sigma_s = 0, theta'_0 = 1, T = 20, p = 0.1, c = C = 1: a lower bound on E[(F - F*) 1_E] for every
    learning rate of Theorem D.13, and the printed bound with log^10 T.

    Where all x_t^2 <= 30, nothing is clipped (but with probability e^{-10^6}). Without noise E theta'^2 falls with eta,
    by 1 - 2 eta + 3 eta^2 in each step; the noise takes away at most its own root mean square, which grows with eta.
    """
    T, p, one, rho = STEPS, FAILURE, np.ones(1), float(rho)
    horizon = finite_time.Horizon(eigenvalues=one, steps=T, failure=p, initial_distance=1.0)
    eta = float(finite_time.largest_learning_rate(mechanism, horizon, rho))
    clip_norm = float(finite_time.clip_norm(horizon, eta))
    correlation = correlations.nu(eta) if mechanism == "nu" else correlations.independent()
    noise = 2.0 * suboptimality(correlation, Regression(eigenvalues=one, eta=eta, rho=rho, clip_norm=clip_norm))
    moments = np.array([1.0, 1.0, 3.0]) * special.gammainc([0.5, 1.5, 2.5], 15.0)
    kept = moments @ [1.0, -2.0 * eta, eta**2]
    least = 0.5 * max(kept ** (T / 2) - noise**0.5, 0.0) ** 2
    printed = finite_time.finite_time_rate(mechanism, horizon, rho, log_factor=np.log(T) ** 10)
    return least, float(printed)


def _printed(mechanism: Mechanism) -> Search:
    return Search(
        sides=lambda rho: _stuck(rho, mechanism),
        box={"rho": Real(1e6, 1e12, "log")},
        extremal=lambda: [{"rho": 1e8}],
        evaluations=30,
    )


READING = "Hidden constants are 1, the polylogarithm is $log^10 T$."
UNSEEN = (
    "forgets the learning-rate limit $eta <= 1\\/(C R^2 ell)$ of Theorem D.13 and the factor $F(theta_0) - F^star$: "
    "with $d = 1$, $H = theta'_0 = 1$, $sigma_s = 0$, $T = {steps}$, $p = {failure}$, constants 1 and polylog $= "
    "log^10 T$, at $rho = {rho}$ every admissible step leaves an error of at least ${smaller:2}$, the printed bound is "
    "${larger:2}$"
)

COR_D_14 = Claim(
    id="ftrl/cor-d.14",
    where="Corollary D.14",
    page=49,
    kind="mc-rate",
    statement=(
        "For $T\\/ell^5 >= c J$, $J = kappa^2 d_e^2 d\\/rho$, DP-SGD with a suitable $eta$ reaches "
        '$EE[(F(theta_T) - F^star) bold(1)_cal(E)] <= L\\/mu exp(-T\\/(c J ell^5)) + kappa d_e (d op("Tr")[H] '
        'norm(theta\'_0)^2\\/(rho T) + d sigma_s^2\\/(rho T) + sigma_s^2\\/T) op("polylog") T$.'
    ),
    hypotheses="The setting of Theorem D.13, $ell = log(T\\/p)$.",
    setting=READING,
    checks=(_printed("independent"),),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=f"Corollary D.14 {UNSEEN} and vanishes as $rho -> oo$.",
        consequence=(
            "$T$ must also be large against $kappa d_e ell$. Times $F(theta_0) - F^star$ the printed exponential "
            "stands for $rho <= {small} C kappa d_e d ell^4$, and Section 2.3(b) stands with the problem fixed."
        ),
    ),
    correction=Correction(
        statement=(
            (
                r"For all $T >= 2$, with $ell = log(T\/p)$, $J = kappa^2 d_e^2 d\/rho$, $C >= 4$ that of Theorem D.13 "
                "and $c = 4 C$, DP-SGD with a suitable $eta$ reaches $EE[(F(theta_T) - F^star) bold(1)_cal(E)] <= 2 "
                r"kappa (F(theta_0) - F^star) exp(-min{{T\/({extent} C^2 J ell^5), T\/(3 C kappa d_e ell)}}) + {sgd} "
                'C^2 ell^5 max{{1, log(rho T)}} kappa d_e (d op("Tr")[H] norm(theta\'_0)^2\\/(rho T) + d sigma_s^2\\/'
                r"(rho T) + sigma_s^2\/T)$;"
            ),
            "for $rho <= {small} C kappa d_e d ell^4$ the first term of the minimum suffices.",
        ),
        ground=(
            r"Theorem D.13(c) at $eta = min{{eta_max, log(...) \/ (mu T)}}$, with $F_oo$ at most $eta \/ (2 (2 - eta "
            r'R^2)) dot.c (sigma_s^2 op("Tr") H + d G^2 \/ (2 rho))$.'
        ),
        checks=(SGD_SEARCH.deciding("a"), _small_budget(_sgd).deciding("b")),
    ),
    given={"steps": STEPS, "failure": FAILURE, "extent": EXTENT, "sgd": SGD, "small": SMALL},
)

# --- Corollary D.15 ---


def _ftrl(constant: float = FTRL, with_limit: bool = True, **parameters: np.ndarray) -> Sides:
    """Likewise nu-DP-FTRL, F_inf <= 2 / (2 - eta R^2) Tr(H) (eta sigma^2 / 4 + eta^2 G^2 log^2(8 / nu) / (2 rho log^2
    8)), against the corrected Cor D.15; the limit on eta is that of `ADMISSIBLE`.
    """
    a = _Problem(**parameters)
    y = a.mu**2 * a.rho / (8.0 * a.C**2 * a.r_squared**2 * a.d * a.log_term**5)
    privacy = y / (4.0 * a.mu * np.log(8.0 + 8.0 / y))
    logarithm = np.maximum(1.0, np.log(a.rho * a.T**2 / (a.kappa * a.effective**3)))
    eta = np.minimum(np.minimum(a.largest, privacy), logarithm / (a.mu * a.T))
    damping = np.log(8.0 / (eta * a.mu)) ** 2
    stationary = 2.0 * a.trace * (eta * a.residual / 4.0 + NU_CONSTANT * eta**2 * a.noise(eta) * damping)
    scale = EXTENT * a.C**2 * a.J * a.log_term**5
    extent = 4.0 * scale * np.log(8.0 + 8.0 * scale)
    forgotten = a.exponential(extent) if with_limit else 2.0 * a.kappa * a.initial * np.exp(-a.T / extent)
    logs = a.log_term**5 * np.log(8.0 * a.T) ** 2 * logarithm**2
    polynomial = a.polynomial(a.kappa * a.effective / a.T)
    return a.bound(eta, stationary / (2.0 - eta * a.r_squared)), forgotten + constant * a.C**2 * logs * polynomial


# Is x = y / (4 log(8 + 8/y)) admissible in Thm D.13, 4 x gamma^2(x) <= y, given gamma^2 <= 0.49 log(8 / x)?
ADMISSIBLE = Inequality(
    smaller=lambda m, y: m.number("0.49") * m.log(32 * m.log(8 + 8 / y) / y),
    larger=lambda m, y: m.log(8 + 8 / y),
    box={"y": Real(1e-300, 1e6, "log")},
    impostors={"factor 1.2": {"smaller": lambda m, y: m.number("1.2") * m.log(32 * m.log(8 + 8 / y) / y)}},
)


FTRL_SEARCH = _search(_ftrl, 15.0)

COR_D_15 = Claim(
    id="ftrl/cor-d.15",
    where="Corollary D.15",
    page=50,
    kind="mc-rate",
    statement=(
        "For $T\\/ell^7 >= c J log(c J)$, $nu$-DP-FTRL with suitable $nu$, $eta$ reaches $L\\/mu exp(-T\\/(c J "
        'ell^7 log J)) + kappa d_e (kappa d_e op("Tr")[H] norm(theta\'_0)^2\\/(rho T^2) + kappa d_e '
        'sigma_s^2\\/(rho T^2) + sigma_s^2\\/T) op("polylog") T$.'
    ),
    hypotheses="The setting of Theorem D.13, $ell = log(T\\/p)$, $J = kappa^2 d_e^2 d\\/rho$.",
    setting=f"{READING} $log J$ is read as at least 1.",
    checks=(_printed("nu"),),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=f"Corollary D.15 {UNSEEN}.",
        consequence=(
            "As for Corollary D.14: $T$ must also be large against $kappa d_e ell$; the dependence on $T$, $d_e$ and "
            "$kappa$ stands."
        ),
        root="ftrl/cor-d.14",
    ),
    correction=Correction(
        statement=(
            (
                r"For all $T >= 2$, with $ell = log(T\/p)$, $S = {extent} C^2 ell^5 kappa^2 d_e^2 d\/rho$, $C >= 4$ "
                "that of Theorem D.13 and $c = 4 C$, $nu$-DP-FTRL with $nu = eta mu$ and a suitable $eta$ reaches "
                r"$EE[(F(theta_T) - F^star) bold(1)_cal(E)] <= 2 kappa (F(theta_0) - F^star) exp(-min{{T\/(4 S log(8 + "
                r"8 S)), T\/(3 C kappa d_e ell)}}) + {ftrl} C^2 ell^5 log^2(8 T) max{{1, log(rho T^2)}}^2 kappa d_e "
                '(kappa d_e op("Tr")[H] norm(theta\'_0)^2\\/(rho T^2) + kappa d_e sigma_s^2\\/(rho T^2) + '
                r"sigma_s^2\/T)$;"
            ),
            "for $rho <= {small} C kappa d_e d ell^4$ the first term of the minimum suffices.",
        ),
        ground=(
            r"Theorem D.13(c) at $eta = min{{eta_max, log(...) \/ (mu T)}}$ with Theorem 2.2 for $F_oo$, its constant "
            "explicit."
        ),
        checks=(FTRL_SEARCH.deciding("a"), ADMISSIBLE.deciding("a"), _small_budget(_ftrl).deciding("b")),
    ),
    given={"steps": STEPS, "failure": FAILURE, "extent": EXTENT, "ftrl": FTRL, "small": SMALL},
)
