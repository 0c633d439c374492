"""Appendix C, (22) to (28): the choice of T_0 and T."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.iv import (
    Design,
    Moments,
    Spectrum,
    lemmas,
    spectrum,
    theorem_rates,
    whitened_moments,
)
from verify.checks import Agreement, Fact, Identity, Inequality, Rate, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools.samples import isotropic_design
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- (22) ---


def _forgotten(m, kappa, g, d, t):
    """kappa^{T_0} ||theta_hat|| at the T_0 of (22) before rounding up, in its second form; g = gamma-lower."""
    ratio = (m.sqrt(1 + g / (2 * d**2 * t**2)) - 1) / 2
    return m.exp(m.log(kappa) * (m.log(ratio) / m.log(kappa))) * t


def _half_tolerance(m, kappa, g, d, t):
    return lemmas.tolerance(t, g / (2 * d**2)) / 2


def _first_step(kappa: float, norm: float, tolerance: float) -> int:
    """Least T_0 with kappa^{T_0} ||theta_hat|| <= eps-bar / 2, by trying."""
    step = 0
    while kappa**step * norm > tolerance / 2:
        step += 1
    return step


def _rounded_up(rng: np.random.Generator, late: int = 0) -> Iterator[Fact]:
    """t_0(n) is the least such step, at random designs with delta < 1 and psi < sigma_min."""
    for _ in range(200):
        least = float(rng.uniform(0.5, 2.0))
        design = Design(n=10**6, p=1, q=2, theta_norm=least * float(rng.uniform(1, 3)), theta_least=least, tau=3.0)
        bounds, norm = spectrum(design), design.theta_norm * float(rng.uniform(0.9, 1.1))
        kappa = float(theorem_rates(bounds, float(rng.uniform(0.1, 1.9)), 0.1).theta)
        tolerance = math.sqrt(norm**2 + bounds.lower / (2 * (1 + bounds.delta) ** 2)) - norm
        label = f"kappa = {kappa:.4f}, ||theta_hat|| = {norm:.4f}, eps-bar = {tolerance:.4f}"
        yield Fact(label, _first_step(kappa, norm, tolerance), lemmas.burn_in(bounds, norm, kappa) + late, 0)


def _two_forms(parts: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """eps-bar / (2 ||theta_hat||) in both forms; g = gamma-lower, d = 1 + delta."""
    g, d, t = sympy.symbols("g d t", positive=True)
    tolerance = sympy.sqrt(t**2 + g / (2 * d**2)) - t
    yield "in units of ||theta_hat||", tolerance / (parts * t) - (sympy.sqrt(1 + g / (2 * d**2 * t**2)) - 1) / 2


EQ_22 = Claim(
    id="iv/eq-22",
    where="App. C, (22)",
    page=19,
    equation="(22)",
    kind="identity",
    statement=(
        "$kappa_Theta^(T_0) norm(hat(Theta)) <= overline(epsilon)\\/2$ for $T_0 >= t_0 (n) = "
        "ceil(log_(kappa_Theta) overline(epsilon)/(2 norm(hat(Theta)))) = ceil(log_(kappa_Theta) 1/2 (sqrt(1 + "
        "underline(gamma) / (2 (1 + delta)^2 norm(hat(Theta))^2)) - 1))$."
    ),
    hypotheses="$0 < kappa_Theta < 1$; then $t_0 (n)$ is the least such step.",
    checks=(
        Identity(
            left=_forgotten,
            right=_half_tolerance,
            box={
                "kappa": Real(1e-6, 1 - 1e-6, "logit"),
                "g": Real(1e-3, 1e3, "log"),
                "d": Real(1.0, 2.0),
                "t": Real(1e-2, 1e2, "log"),
            },
            lost=12,
            role="control",
            impostors={"a third": {"right": Times("2/3")}},
        ),
        Symbolic(residuals=_two_forms, impostors={"a third": {"residuals": {"parts": 3}}}),
        Agreement(facts=_rounded_up, role="control", impostors={"a step late": {"facts": {"late": 1}}}),
    ),
    derivation=Derivation(
        text=(
            "$overline(epsilon)\\/(2 norm(hat(Theta)))$, $overline(epsilon)$ of (13), is proved to be $1/2 (sqrt(1 + "
            "underline(gamma) \\/ (2 (1 + delta)^2 norm(hat(Theta))^2)) - 1)$. $kappa_Theta^(T_0) <= "
            "overline(epsilon)\\/(2 norm(hat(Theta)))$ if and only if $T_0$ is at least the logarithm of the right "
            "side to the base $kappa_Theta < 1$, and among whole numbers the least is that rounded up."
        ),
        lemmas=("monotony",),
    ),
)

# --- the limit of t_0(n) ---

STEPS = (0.1, 0.3, 0.5, 0.9, 1.1, 1.5, 1.9)


def _late(eta: float, norm: float, least: float, n: int) -> int:
    """t_0 at n records, Theta_hat = Theta, by trying."""
    bounds: Spectrum = spectrum(Design(n=n, p=1, q=1, theta_norm=norm, theta_least=least, tau=1.0))
    tolerance = math.sqrt(norm**2 + bounds.lower / (2 * (1 + bounds.delta) ** 2)) - norm
    return _first_step(float(theorem_rates(bounds, eta, 0.1).theta), norm, tolerance)


def _printed_limit(rng: np.random.Generator) -> Iterator[Fact]:
    """The root over the -1 as well, base 1 - eta."""
    for eta, least in ((0.5, 1.0), (0.1, 0.5)):
        stated = math.log(math.sqrt(1 + least**2 / 2 - 1) / 2) / math.log(1 - eta)
        label = f"t_0 at n = 10^40, eta = {eta}, sigma_min / ||Theta|| = {least}"
        yield Fact(label, _late(eta, 1.0, least, 10**40), stated)


def _limit(rng: np.random.Generator, base: float | None = None) -> Iterator[Fact]:
    """Rounded up, base |1 - eta|, by the theory; 1 at eta = 1."""
    for eta in STEPS:
        for least in (1.0, 0.3):
            limit = math.ceil(lemmas.burn_in_limit(base or eta, 1.0, least))
            yield Fact(f"eta = {eta}, sigma_min / ||Theta|| = {least}", _late(eta, 1.0, least, 10**40), limit, 0)
    yield Fact("eta = 1", _late(1.0, 1.0, 0.3, 10**12), 1, 0)


def _limits(inside: int = 0) -> Iterator[tuple[Any, ...]]:
    """With delta and psi of (10) as n grows; a and b stand for what does not depend on n."""
    n, a, b, norm, least = sympy.symbols("n a b norm least", positive=True)
    eta = sympy.Symbol("eta", positive=True)
    delta = a / sympy.sqrt(n)
    psi = b / (sympy.sqrt(n) * (1 - delta) ** 2)
    square = (1 - delta) ** 2 * (least - psi) ** 2 / (2 * (1 + delta) ** 2 * norm**2)
    limit = sympy.limit(square, n, sympy.oo)
    stated = sympy.sqrt(1 - inside + least**2 / (2 * norm**2)) - 1 + inside
    yield "under the logarithm", (sympy.sqrt(1 + limit) - 1) / 2, stated / 2
    for sign in (1, -1):
        yield "contraction", sympy.limit(1 - eta * (1 + sign * delta) ** 2, n, sympy.oo), 1 - eta


EQ_22_LIMIT = Claim(
    id="iv/eq-22-limit",
    where="App. C, below (25)",
    page=20,
    kind="identity",
    statement=("$t_0 (n) -> log_(1 - eta) (1/2 sqrt(1 + (sigma_min (Theta)^2)/(2 norm(Theta)^2) - 1))$ as $n -> oo$."),
    checks=(Agreement(facts=_printed_limit, closed=True),),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "Below (25) the root of the limit of $t_0 (n)$ covers the $-1$ of (22): for $eta = 1\\/2$ and equal "
            "singular values of $Theta$ it is printed as ${predicted}$, while $t_0 (n) = {observed}$ for all large $n$."
        ),
        consequence="Nothing falls: $t_0 (n)$ is bounded by a constant all the same.",
    ),
    correction=Correction(
        statement=(
            "As $n -> oo$, $t_0 (n) -> ceil(log_(abs(1 - eta)) 1/2 (sqrt(1 + (sigma_min (Theta)^2)/(2 norm(Theta)^2)) "
            "- 1))$ unless that logarithm is a whole number, and $t_0 (n) -> 1$ for $eta = 1$."
        ),
        ground="In (22) $delta -> 0$, $underline(gamma) -> sigma_min (Theta)^2$ and $kappa_Theta -> abs(1 - eta)$.",
        checks=(
            Symbolic(residuals=_limits, impostors={"as printed": {"residuals": {"inside": 1}}}),
            Agreement(facts=_limit, role="control", impostors={"base 1/2": {"facts": {"base": 0.5}}}),
        ),
        derivation=Derivation(
            text=(
                "With $delta = a\\/sqrt(n)$ and $psi = b\\/(sqrt(n) (1 - delta)^2)$ of (10) and $norm(hat(Theta)) -> "
                "norm(Theta)$ the number under the logarithm in (22) is proved to tend to the stated one, which is in "
                "$(0, 1)$, and $kappa_Theta$ to $abs(1 - eta)$. So the logarithm tends to the stated one, and rounded "
                "up it is constant in the end unless that is whole; for $eta = 1$ it tends to 0 from above, and "
                "rounded up to 1."
            ),
        ),
    ),
)

# --- (24) ---


# sqrt(log q) over sqrt(q) is at most ROOT, and R over sqrt(p) Q³ at most 1 + ROOT; the best of both is at q = e.
ROOT = 0.61


def _dimension(p: int, q: int, tau: float, constant: float = 1 + ROOT) -> tuple[float, float]:
    """R and `constant` sqrt(p) Q³."""
    design = isotropic_design(100, int(p), max(int(p), int(q)), tau)
    return float(lemmas.noise_dimension(design)), constant * math.sqrt(design.p) * design.Q**3


def _dimension_by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """R at p = q = 1 and p = 4, q = 9, tau = 1."""
    for p, q, stated in ((1, 1, 8.0), (4, 9, 16 * (6 + 2 * math.sqrt(1 + math.log(4))))):
        yield Fact(f"p = {p}, q = {q}", float(lemmas.noise_dimension(isotropic_design(100, p, q, 1.0))), stated)


def _slope(power: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """The derivative of log(q) / q, negative beyond e."""
    q = sympy.Symbol("q", positive=True)
    yield "slope of log(q) / q", sympy.diff(sympy.log(q) / q, q) - (1 - sympy.log(q)) / q**power


LOGARITHM = Inequality(
    smaller=lambda m, q: m.log(q),
    larger=lambda m, q: m.number(str(ROOT)) ** 2 * q,
    box={"q": Real(1.0, 1e300, "log")},
    impostors={"0.36": {"larger": lambda m, q: m.number("0.36") * q}},
)

EQ_24 = Claim(
    id="iv/eq-24",
    where="App. C, (24)",
    page=19,
    equation="(24)",
    kind="inequality",
    statement="$R(tau) = Q^2 (sqrt(p q) + sqrt(p (log p + tau))) lt.tilde sqrt(p) Q^3$.",
    hypotheses="$p <= q$.",
    remark=(
        "With constant ${constant}$: $sqrt(log p + tau) <= sqrt(log q) + sqrt(tau)$ and $log q <= {root}^2 q$. The "
        "best over real numbers is $1 + 1\\/sqrt(e) = {best}$, at $p = q = e$, $tau -> 0$."
    ),
    given={"constant": 1 + ROOT, "root": ROOT, "best": 1 + math.exp(-0.5)},
    checks=(
        LOGARITHM,
        Symbolic(residuals=_slope, impostors={"q": {"residuals": {"power": 1}}}),
        Search(
            sides=_dimension,
            role="control",
            box={"p": Whole(1, 10**6, "log"), "q": Whole(1, 10**6, "log"), "tau": Real(1e-9, 1e9, "log")},
            extremal=lambda: [{"p": 3, "q": 3, "tau": 1e-9}],
            evaluations=1000,
            impostors={"constant 1.6": {"sides": {"constant": 1.6}}},
        ),
        Agreement(facts=_dimension_by_hand, role="control", impostors={"1 % more": {"facts": Times(1.01)}}),
    ),
    derivation=Derivation(
        text=(
            "With $a = 0.61$, $log q <= a^2 q$ is certified for $1 <= q <= 10^300$, and beyond $log(q)\\/q$ falls: its "
            "derivative is proved to be $(1 - log q)\\/q^2$. So $sqrt(log p + tau) <= sqrt(log q) + sqrt(tau) <= a "
            "sqrt(q) + sqrt(tau)$ for $p <= q$, and $R <= sqrt(p) Q^2 ((1 + a) sqrt(q) + sqrt(tau)) <= (1 + a) sqrt(p) "
            "Q^3$."
        ),
        lemmas=("monotony",),
    ),
)

# --- (26) to (28) ---


def _composed(keep: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(16) from C_2 on, started at c (1 + x): at most K (1 + x), K = c² + c ((E + S)(1 + E) + 1), x the noise.

    kappa^(T - C_2) = 1 / (1 + w), eps = E - u, sqrt(pq) Lambda / sqrt(n) = S - v. And (26) from (17) by (25).
    """
    c, x, w, eps, u, s, v = sympy.symbols("c x w epsilon u s v", positive=True)
    E, S = eps + u, s + v
    start = c * lemmas.settled_rate(x)
    bound = c * lemmas.second_stage_rate(start / (1 + w), eps, s, x)
    yield "(27)", (keep * c**2 + c * ((E + S) * (1 + E) + 1)) * lemmas.settled_rate(x) - bound
    steps, largest = sympy.symbols("C_2 r", positive=True)
    bound = lemmas.burn_in_rate(steps, largest, eps, s, x)
    yield "(26)", (keep + (1 + E) * steps * (largest + S)) * lemmas.settled_rate(x) - bound


def _final(keep: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(16) at T~_0 with (27): kappa_beta^{T/2} c (1 + x) + ..., eps = kappa_Theta^{T/2} + mu <= E; K times (28).

    kappa_beta^{T/2} = 1 / (1 + w).
    """
    c, x, w, forgotten, mu, u, s = sympy.symbols("c x w k mu u s", positive=True)
    eps, start = forgotten + mu, 1 / (1 + w)
    E = eps + u
    bound = lemmas.second_stage_rate(start * c * lemmas.settled_rate(x), eps, s, x)
    yield "(28)", (c + keep + E) * lemmas.final_rate(start, forgotten, mu, s, x) - bound


def _root_mean_squares(decades: float, *, with_noise: bool = True) -> Iterator[tuple[str, float]]:
    """Exact RMS of e_beta at several steps over 1 + lambda_2 (sqrt(p) + sqrt(tau)); A = I, eta = 1, q = 3, p = 2."""
    design = isotropic_design(100, 2, 3, 1.0)
    moments = Moments(A=np.eye(3), G=np.eye(3, 2), b=np.array([1.0, -0.5, 0.7]), n=100)
    for direction in (-1, 1):
        lambda2 = 10.0 ** (direction * decades)
        found = whitened_moments(moments, alpha=0.5, lambda1=0.2, lambda2=lambda2, steps=40)
        errors = np.sqrt(found.mean_squared_error(moments.beta_hat))
        for step in (4, 20, 40):
            stated = lemmas.settled_rate(lemmas.second_noise_rate(design, lambda2) if with_noise else 0.0)
            yield f"step {step}, lambda_2 {'small' if direction < 0 else 'large'}", float(errors[step] / stated)


def _sizes(rng: np.random.Generator) -> Iterator[Fact]:
    """What goes into (16) and (28), by hand: p = 4, q = 9, tau = 9."""
    design = isotropic_design(100, 4, 9, 9.0)
    mu = 0.5 * (6 + 2 * math.sqrt(9 + math.log(4)))
    yield Fact("mu", float(lemmas.first_noise_rate(design, 0.5)), mu)
    yield Fact("lambda_2 (sqrt(p) + sqrt(tau))", float(lemmas.second_noise_rate(design, 0.5)), 2.5)
    yield Fact("(16)", lemmas.second_stage_rate(1.0, 2.0, 3.0, 5.0), 1 + 2 * 3 + 3 * 3 + 5)
    yield Fact("(17)", lemmas.burn_in_rate(4, 3.0, 2.0, 0.5, 5.0), 1 + 3 * 4 * 3 + 0.5 * 3 * 4 + 5)
    yield Fact("(28)", lemmas.final_rate(1.0, 2.0, 4.0, 8.0, 16.0), 31.0)


EQ_26_27 = Claim(
    id="iv/eq-26-27",
    where="App. C, (26), (27)",
    page=20,
    equation="(27)",
    kind="inequality",
    statement=(
        "$norm(e_beta^((C_2))) lt.tilde 1 + lambda_2 (sqrt(p) + sqrt(tau))$, and likewise at $tilde(T)_0 = "
        "max{T\\/2, C_2}$."
    ),
    hypotheses="(6), (16), (17), (25) with a common constant $c$, $t_0 (n) <= C_2$.",
    remark=(
        "The bound need not decrease, as the paper says, but applied from $C_2$ on (16) keeps it within a constant "
        "multiple."
    ),
    checks=(
        Symbolic(nonnegative=_composed, impostors={"without the start": {"nonnegative": {"keep": 0}}}),
        Rate(
            ratios=_root_mean_squares,
            role="control",
            relation="upper",
            extents=(0.5, 1.0, 2.0, 4.0),
            per_extent=4,
            impostors={"without lambda_2": {"ratios": {"with_noise": False}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "(25) has $epsilon <= E$ and $norm(e_Theta^((k))) <= r$ before $C_2$, (6) $sqrt(p q) Lambda\\/sqrt(n) <= "
            "S$, all constants. With these (17) at $T_0 = C_2$ is proved to be at most a constant times $1 + lambda_2 "
            "(sqrt(p) + sqrt(tau))$, and so is (16) at any later step from $C_2$ on, $kappa_beta < 1$."
        ),
    ),
)

EQ_28 = Claim(
    id="iv/eq-28",
    where="App. C, (28)",
    page=20,
    equation="(28)",
    kind="inequality",
    statement=(
        "$norm(e_beta^((T))) lt.tilde kappa_beta^(T\\/2) + kappa_Theta^(T\\/2) + mu + lambda_2 (sqrt(p) + sqrt(tau)) + "
        "(sqrt(p q) Lambda)/sqrt(n)$, $mu = lambda_1 (sqrt(p q) + sqrt(p (log p + tau)))$."
    ),
    hypotheses="(16) at $tilde(T)_0$, (27), $epsilon lt.tilde kappa_Theta^(T\\/2) + mu lt.tilde 1$.",
    checks=(
        Symbolic(nonnegative=_final, impostors={"constant 1 less": {"nonnegative": {"keep": 0}}}),
        Agreement(facts=_sizes, role="control", impostors={"1 % more": {"facts": Times(1.01)}}),
    ),
    derivation=Derivation(
        text=(
            "(16) from $tilde(T)_0$ with (27) for its start and $epsilon = kappa_Theta^(T\\/2) + mu <= E$ is proved to "
            "be at most $c + 1 + E$ times (28), $c$ the constant of (27). The constant $c'$ of $epsilon lt.tilde "
            "kappa_Theta^(T\\/2) + mu$ enters at most squared; and $kappa_beta^(T - tilde(T)_0)$ is "
            "$kappa_beta^(T\\/2)$, or for $T < 2 C_2$ at most $1 <= kappa_beta^(-C_2) kappa_beta^(T\\/2)$, which is a "
            "constant more."
        ),
    ),
)

# --- App. C (iii) ---


def _budgets(constant: int = 4) -> Iterator[tuple[str, sympy.Expr]]:
    n, T, gamma1, gamma2, rho1, rho2 = sympy.symbols("n T gamma_1 gamma_2 rho_1 rho_2", positive=True)
    scales = [2 * gamma / n * sympy.sqrt(T / rho) for gamma, rho in ((gamma1, rho1), (gamma2, rho2))]
    spent = T / n**2 * (gamma1**2 / scales[0] ** 2 + gamma2**2 / scales[1] ** 2)
    yield "rho_1 + rho_2", rho1 + rho2 - constant * spent


APP_C_III = Claim(
    id="iv/app-c-iii",
    where="App. C, item (iii)",
    page=15,
    kind="identity",
    statement="$rho_1 + rho_2 = O(T/n^2 (gamma_1^2/lambda_1^2 + gamma_2^2/lambda_2^2))$.",
    remark="From (4), with constant exactly 4 (Proposition 3.1 prints an equality with 2).",
    checks=(Symbolic(residuals=_budgets, impostors={"constant 2": {"residuals": {"constant": 2}}}),),
)
