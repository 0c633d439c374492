"""Corollaries D.14, D.15 and Section 2.3(b) as printed, where they fail, and what Theorem D.13 gives instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpbounds.ftrl.linear_regression.bounds import NU_CONSTANT
from verify.checks import Inequality, Rate, Search
from verify.claims import Correction
from verify.domains import Real, Whole

Sides = tuple[np.ndarray, np.ndarray]

READING = (
    "Hidden constants are universal, the polylogarithm is $log^10 T$, $cal(E)$ has probability $1 - p$. Tried on $H = "
    "I$, $d = 2T$, $sigma_s = 0$, $rho = d^3\\/2$ ($J = 2$): $T$ inputs leave half of the directions unseen, so that "
    "no method gets below about $norm(theta'_0)^2\\/4$."
)
MISSING = "(the limit $1\\/(C R^2 ell)$ of the learning rate)"


def _unseen(decades: float, mechanism: str, exponential: float) -> Iterator[tuple[str, float]]:
    """A lower bound on E[(F - F*) 1_E] for every learning rate of Thm D.13 (c = 4, C = 1, p = 0.01), over the printed
    bound.

    Half of theta'_0 is orthogonal to all T inputs and is moved by noise alone, whose norm is at most (2 l^3 gamma^2 /
    T)^{1/2} ||theta'_0||.
    """
    T, p = 10.0 ** (10.0 + 8.0 * decades), 0.01
    log_term = np.log(T / p)
    noise = np.sqrt(2.0 * log_term**3 * (np.log(20.0 * T * log_term) / 2.0) / T)
    value = 0.5 * (np.sqrt(0.5 - p) - noise) ** 2
    power, extent = (1, log_term**5) if mechanism == "DP-SGD" else (2, log_term**7 * np.log(2.0))
    forgotten = exponential * np.exp(-T / (1e3 * 2.0 * extent))
    yield f"{mechanism} on H = I, d = 2T, rho = d^3/2", value / (forgotten + 2.0 / T**power * np.log(T) ** 10)


def printed(mechanism: str, *, section: bool) -> Rate:
    """The printed bound as an upper rate; Section 2.3 leaves out the exponential."""
    return Rate(ratios=lambda decades: _unseen(decades, mechanism, 0.0 if section else 1.0), relation="upper")


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


def _sgd(constant: float = 40.0, with_limit: bool = True, **parameters: np.ndarray) -> Sides:
    """Thm D.13(c) at eta = min{eta_max, log(..) / (mu T)}, with F_inf at most eta / (2 (2 - eta R^2)) (sigma^2 Tr H + d
    G^2 / (2 rho)), against the corrected Cor D.14.
    """
    a = _Problem(**parameters)
    privacy = a.mu * a.rho / (8.0 * a.C**2 * a.r_squared**2 * a.d * a.log_term**5)
    logarithm = np.maximum(1.0, np.log(a.rho * a.T / (a.d * a.effective**2)))
    eta = np.minimum(np.minimum(a.largest, privacy), logarithm / (a.mu * a.T))
    stationary = eta / (2.0 * (2.0 - eta * a.r_squared)) * (a.residual * a.trace + a.d * a.noise(eta) / 2.0)
    extent = 72.0 * a.C**2 * a.J * a.log_term**5
    forgotten = a.exponential(extent) if with_limit else 2.0 * a.kappa * a.initial * np.exp(-a.T / extent)
    return a.bound(eta, stationary), forgotten + constant * a.C**2 * a.log_term**5 * logarithm * a.polynomial(a.d)


def _ftrl(constant: float = 30.0, with_limit: bool = True, **parameters: np.ndarray) -> Sides:
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
    scale = 72.0 * a.C**2 * a.J * a.log_term**5
    extent = 4.0 * scale * np.log(8.0 + 8.0 * scale)
    forgotten = a.exponential(extent) if with_limit else 2.0 * a.kappa * a.initial * np.exp(-a.T / extent)
    logs = a.log_term**5 * np.log(8.0 * a.T) ** 2 * logarithm**2
    polynomial = a.polynomial(a.kappa * a.effective / a.T)
    return a.bound(eta, stationary / (2.0 - eta * a.r_squared)), forgotten + constant * a.C**2 * logs * polynomial


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
            "without T >= kappa d_e l": {"sides": lambda **parameters: sides(with_limit=False, **parameters)},
            "half the constant": {"sides": lambda **parameters: sides(constant=wrong, **parameters)},
        },
    )


# Is x = y / (4 log(8 + 8/y)) admissible in Thm D.13, 4 x gamma^2(x) <= y, given gamma^2 <= 0.49 log(8 / x)?
ADMISSIBLE = Inequality(
    smaller=lambda m, y: m.number("0.49") * m.log(32 * m.log(8 + 8 / y) / y),
    larger=lambda m, y: m.log(8 + 8 / y),
    box={"y": Real(1e-300, 1e6, "log")},
    impostors={"factor 1.2": {"smaller": lambda m, y: m.number("1.2") * m.log(32 * m.log(8 + 8 / y) / y)}},
)

SGD = Correction(
    statement=(
        "for all $T >= 2$ the first term is $2 kappa (F(theta_0) - F^star) exp(-min{T\\/(72 C^2 J ell^5), T\\/(3 C "
        f"kappa d_e ell)}})$ {MISSING}, the second is as printed with $40 C^2 ell^5 max{{1, log(rho T)}}$ in place of "
        "the polylogarithm of $T$; $ell = log(T\\/p)$, $C >= 4$ that of Theorem D.13, $c = 4C$. So besides "
        "$T\\/ell^5 >= c J$ it takes $T\\/ell >= c kappa d_e$."
    ),
    checks=(_search(_sgd, 20.0),),
)
FTRL = Correction(
    statement=(
        "for all $T >= 2$ the first term is $2 kappa (F(theta_0) - F^star) exp(-min{T\\/(4 S log(8 + 8 S)), T\\/(3 "
        f"C kappa d_e ell)}})$ with $S = 72 C^2 J ell^5$ {MISSING}, the second is as printed with $30 C^2 ell^5 "
        "log^2(8 T) max{1, log(rho T^2)}^2$ in place of the polylogarithm of $T$; $ell = log(T\\/p)$, $C >= 4$, $c "
        "= 4C$."
    ),
    checks=(_search(_ftrl, 15.0), ADMISSIBLE),
)
