"""Appendix D.4: Corollaries D.14 and D.15, the guarantees of DP-SGD and nu-DP-FTRL with clipping."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import sympy
from scipy import special

from dpbounds.ftrl import correlations, finite_time
from dpbounds.ftrl.finite_time import Mechanism
from dpbounds.ftrl.linear_regression import suboptimality
from dpbounds.ftrl.linear_regression.bounds import NU_CONSTANT
from verify.checks import Agreement, Fact, Inequality, Search, Symbolic
from verify.checks.impostors import Times
from verify.claims import Claim, Correction, Fault
from verify.domains import Real, Whole
from verify.ftrl.tools.weights import telescoping

Sides = tuple[np.ndarray, np.ndarray]
NU = {"nu": Real(1e-300, 1.0, "log")}

# --- what Theorem D.13 gives: the corollaries with constants ---


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
        limit = beyond * 24.0 * a.C * a.kappa * a.effective * a.d * a.log_term**4
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


def _stuck(rho: float, mechanism: Mechanism) -> tuple[float, float]:
    """d = 1, H = 1, sigma_s = 0, theta'_0 = 1, T = 20, p = 0.1, c = C = 1: a lower bound on E[(F - F*) 1_E] for every
    learning rate of Theorem D.13, and the printed bound with log^10 T.

    Where all x_t^2 <= 30, nothing is clipped (but with probability e^{-10^6}). Without noise E theta'^2 falls with eta,
    by 1 - 2 eta + 3 eta^2 in each step; the noise takes away at most its own root mean square, which grows with eta.
    """
    T, p, one, rho = 20, 0.1, np.ones(1), float(rho)
    eta = float(finite_time.largest_learning_rate(mechanism, one, rho, steps=T, failure=p))
    clip_norm = float(finite_time.clip_norm(one, eta, steps=T, failure=p, initial_distance=1.0))
    correlation = correlations.nu(eta) if mechanism == "nu" else correlations.independent()
    noise = 2.0 * suboptimality(correlation, one, eta, rho, clip_norm=clip_norm)
    moments = np.array([1.0, 1.0, 3.0]) * special.gammainc([0.5, 1.5, 2.5], 15.0)
    kept = moments @ [1.0, -2.0 * eta, eta**2]
    least = 0.5 * max(kept ** (T / 2) - noise**0.5, 0.0) ** 2
    printed = finite_time.finite_time_rate(
        mechanism, one, rho, steps=T, failure=p, initial_distance=1.0, log_factor=np.log(T) ** 10
    )
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
    "with $d = 1$, $H = theta'_0 = 1$, $sigma_s = 0$, $T = 20$, $p = 0.1$, constants 1 and polylog $= log^10 T$, at "
    "$rho = {rho}$ every admissible step leaves an error of at least ${smaller:2}$, the printed bound is ${larger:2}$"
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
            "stands for $rho <= 24 C kappa d_e d ell^4$, and Section 2.3(b) stands with the problem fixed."
        ),
    ),
    correction=Correction(
        statement=(
            "For all $T >= 2$, with $ell = log(T\\/p)$, $J = kappa^2 d_e^2 d\\/rho$, $C >= 4$ that of Theorem D.13 and "
            "$c = 4 C$, DP-SGD with a suitable $eta$ reaches $EE[(F(theta_T) - F^star) bold(1)_cal(E)] <= 2 kappa "
            "(F(theta_0) - F^star) exp(-min{T\\/(72 C^2 J ell^5), T\\/(3 C kappa d_e ell)}) + 40 C^2 ell^5 max{1, "
            'log(rho T)} kappa d_e (d op("Tr")[H] norm(theta\'_0)^2\\/(rho T) + d sigma_s^2\\/(rho T) + '
            "sigma_s^2\\/T)$; for $rho <= 24 C kappa d_e d ell^4$ the first term of the minimum suffices."
        ),
        ground="Theorem D.13(c) at $eta = min{eta_max, log(...) \\/ (mu T)}$, with $F_oo$ at most $eta \\/ (2 (2 - eta "
        'R^2)) dot.c (sigma_s^2 op("Tr") H + d G^2 \\/ (2 rho))$.',
        checks=(SGD_SEARCH, _small_budget(_sgd)),
    ),
)

# --- Corollary D.15 ---


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
            "For all $T >= 2$, with $ell = log(T\\/p)$, $S = 72 C^2 ell^5 kappa^2 d_e^2 d\\/rho$, $C >= 4$ that of "
            "Theorem D.13 and $c = 4 C$, $nu$-DP-FTRL with $nu = eta mu$ and a suitable $eta$ reaches $EE[(F(theta_T) "
            "- F^star) bold(1)_cal(E)] <= 2 kappa (F(theta_0) - F^star) exp(-min{T\\/(4 S log(8 + 8 S)), T\\/(3 C "
            'kappa d_e ell)}) + 30 C^2 ell^5 log^2(8 T) max{1, log(rho T^2)}^2 kappa d_e (kappa d_e op("Tr")[H] '
            "norm(theta'_0)^2\\/(rho T^2) + kappa d_e sigma_s^2\\/(rho T^2) + sigma_s^2\\/T)$; for $rho <= 24 C kappa "
            "d_e d ell^4$ the first term of the minimum suffices."
        ),
        ground="Theorem D.13(c) at $eta = min{eta_max, log(...) \\/ (mu T)}$ with Theorem 2.2 for $F_oo$, its constant "
        "explicit.",
        checks=(FTRL_SEARCH, ADMISSIBLE, _small_budget(_ftrl)),
    ),
)


def _gamma_squared(m, nu):
    return m.integral_inverse(nu) / (2 * m.pi)


def _units(corrected: bool = True) -> Iterator[tuple[str, sympy.Expr]]:
    """Each term when inputs and residuals are multiplied by a, the learning rate by a^{-2}: bounds on F gain a^2."""
    a, L, mu, R2, eta, n2, s2, rho, d, T, gap = sympy.symbols("a L mu R2 eta n2 s2 rho d T D", positive=True)
    scaled = {symbol: a**2 * symbol for symbol in (L, mu, R2, s2, gap)} | {eta: eta / a**2}

    def residual(term: sympy.Expr, gain: sympy.Expr) -> sympy.Expr:
        return term.subs(scaled, simultaneous=True) / term - gain

    yield "(87), first term", residual(L / mu * (gap if corrected else 1), a**2)
    yield "(87), second term", residual(eta * s2 * R2, a**2)
    yield "(87), third term", residual(eta**2 * R2**3 * n2 / rho, a**2)
    largest = mu * rho / (R2**2 * d) if corrected else eta * rho / (R2 * d)
    yield "limit on eta log^2(1 / (eta mu))", residual(largest, a**-2)
    yield "limit on eta", residual(mu * rho / (R2**2 * d), a**-2)
    yield "result, initial distance", residual(R2**3 * n2 / (rho * mu**2 * T**2), a**2)
    middle = R2**2 * s2 / (rho * mu * T) if corrected else R2**2 * s2 / (rho * mu**2 * T**2)
    yield "result, sigma_s^2 / rho", residual(middle / (mu * T), a**2)
    yield "result, sigma_s^2", residual(s2 * R2 / (mu * T), a**2)


def _middle_term(factor: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """R^4 sigma^2 / (rho mu T) over R^2 sigma^2 is R^2 / (rho mu T): at most 1 for R^2 <= 3 Tr H, T >= 3 J."""
    r, s, k, e, f, rho, mu = sympy.symbols("r s k e f rho mu", positive=True)
    kappa, effective, d = 1 + k, 1 + e, 1 + f
    R2, T = 3 * kappa * mu * effective / (1 + r), factor * kappa**2 * effective**2 * d / rho * (1 + s)
    yield "middle term of the result below the last", 1 - R2 / (rho * mu * T)


def _third_step(m, ell, v):
    """log^2(1 / x) at x = 1 / (130 * 184 X l^7 log X), log X = 1 + v (l - 1)."""
    u = 1 + v * (ell - 1)
    return m.power(m.log(m.number(130 * 184)) + u + 7 * m.log(ell) + m.log(u), 2)


COR_D_15_PROOF = Claim(
    id="ftrl/cor-d.15-proof",
    where="Corollary D.15, proof, (87) and below",
    page=50,
    equation="(87)",
    kind="inequality",
    statement=(
        "The chain from (87), $L\\/mu e^(-mu eta T) + eta sigma_s^2 R^2 + eta^2 R^2 G^2 rho^(-1) log^2 1\\/(eta "
        'mu)$, over the limit $eta log^2 1\\/(eta mu) <= eta rho\\/(c R^2 d ell^5)$, to $(op("polylog") T)/(mu '
        "T) ((R^6 norm(theta'_0)^2)/(rho mu T) + (R^4 sigma_s^2)/(rho mu^2 T^2) + sigma_s^2 R^2)$."
    ),
    setting=(
        "Both sides must scale alike when inputs and residuals are multiplied by $a$ and $eta$ by $a^(-2)$; $G^2$ "
        "stands for $R^4 norm(theta'_0)^2$."
    ),
    checks=(Symbolic(residuals=lambda: _units(corrected=False)),),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "The chain of (87) is not homogeneous: with inputs and residuals multiplied by $a$ and $eta$ by $a^(-2)$ "
            "every term must gain $a^2$, but the first term of (87), which lacks $F(theta_0) - F^star$, gains $1$; the "
            "limit on $eta log^2 1\\/(eta mu)$ has $eta rho\\/(R^2 d)$ for $mu rho\\/(R^4 d)$, and the result "
            "$R^4 sigma_s^2\\/(rho mu^2 T^2)$ for $R^4 sigma_s^2\\/(rho mu T)$."
        ),
        consequence="With these three repaired the chain goes through.",
    ),
    correction=Correction(
        statement=(
            "The first term of (87) is $L\\/mu e^(-mu eta T) (F(theta_0) - F^star)$; the limit is $eta log^2 1\\/(eta "
            "mu) <= mu rho\\/(11.5 C^2 R^4 d ell^5)$, enough while $eta mu <= 1\\/4$; the middle term of the result is "
            "$R^4 sigma_s^2\\/(rho mu T)$, never above the last for $T >= 3 J$; and with $X = R^4 d\\/(mu^2 "
            "rho)$ the last limit on $eta$ asks for $1 <= log X <= ell$."
        ),
        ground="Dimensions, and $gamma_oo^2 norm(beta)_1^2 <= 1.43 log^2 1\\/nu$ for $nu <= 1\\/4$.",
        checks=(
            Symbolic(
                residuals=_units,
                nonnegative=_middle_term,
                impostors={
                    "as printed": {"residuals": {"corrected": False}},
                    "T >= J": {"nonnegative": {"factor": 1}},
                },
            ),
            Inequality(
                smaller=lambda m, nu: _gamma_squared(m, nu) * m.power(2 - m.sqrt(nu), 2),
                larger=lambda m, nu: m.number("1.43") * m.power(m.log(1 / nu), 2),
                box={"nu": Real(1e-300, 0.25, "log")},
                impostors={"2 % less": {"larger": Times("0.98")}},
            ),
            Inequality(
                smaller=_third_step,
                larger=lambda m, ell, v: 130 * ell**2 * (1 + v * (ell - 1)),
                box={"ell": Real(1.0, 1e6, "log"), "v": Real(0.0, 1.0)},
                impostors={"l^6": {"larger": lambda m, ell, v: 130 * ell * (1 + v * (ell - 1)) / 8}},
            ),
        ),
    ),
)


def _absolute_sums(rng: np.random.Generator) -> Iterator[Fact]:
    """||beta||_1^2 from 100 / nu weights."""
    for nu in (0.002, 0.05, 0.5, 0.95):
        observed = float(np.sum(np.abs(correlations.nu(nu).coefficients(round(100 / nu)))))
        yield Fact(f"squared norm at nu = {nu}", observed**2, (2.0 - nu**0.5) ** 2, 1e-12)


COR_D_15_L1 = Claim(
    id="ftrl/cor-d.15-l1",
    where="Corollary D.15, below (87)",
    page=50,
    kind="inequality",
    statement="$norm(hat(beta)^nu)_1^2 <= 4$ for $0 < nu < 1$.",
    setting="Through $sum_(k <= n) abs(binom(1\\/2, k)) < 2$.",
    remark="The norm is $2 - sqrt(nu)$, so that 4 is the limit as $nu -> 0$.",
    checks=(
        Symbolic(residuals=telescoping, impostors={"ratio 1 / (2 (n + 2))": {"residuals": {"shift": 1}}}),
        Agreement(facts=_absolute_sums, impostors={"1e-10 off": {"facts": Times(1 + 1e-10)}}),
    ),
)

COR_D_15_GAMMA = Claim(
    id="ftrl/cor-d.15-gamma",
    where="Corollary D.15, below (87)",
    page=50,
    kind="inequality",
    statement="$gamma_oo^2 <= 5 log 1\\/(eta mu)$ for $hat(beta)^nu$ with $nu = eta mu$.",
    remark=(
        "For $eta mu <= 0.8173$, which the corollary's learning rate, at most $1\\/(C R^2 ell)$, ensures; for all $eta "
        "mu < 1$ one has $gamma_oo^2 <= 0.49 log(8\\/(eta mu))$."
    ),
    checks=(
        Inequality(
            smaller=_gamma_squared,
            larger=lambda m, nu: 5 * m.log(1 / nu),
            box={"nu": Real(1e-300, 0.8173, "log")},
            impostors={"0.1 % less": {"larger": Times("0.999")}},
        ),
        Inequality(
            smaller=_gamma_squared,
            larger=lambda m, nu: m.number("0.49") * m.log(8 / nu),
            box=NU,
            impostors={"2 % less": {"larger": Times("0.98")}},
        ),
    ),
)
