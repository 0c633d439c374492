"""Step sizes: Remarks 3.2 and 3.3, Section 4. Where the terms of (7) meet (Remark 3.7) is in `regimes`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Inequality, Symbolic
from verify.claims import Claim
from verify.domains import Real
from verify.iv.claims.setups import Setup

# --- Remark 3.2 ---


def _population_contraction(most: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """1 - (1 - eta)² and 1 - (1 - alpha h)², h an eigenvalue of Theta'Theta, with eta = most / (1 + s), alpha = most /
    (||Theta||² (1 + s)), h = ||Theta||² / (1 + t).
    """
    s, t = sympy.symbols("s t", positive=True)
    for name, rate in (("Theta", most / (1 + s)), ("beta", most / ((1 + s) * (1 + t)))):
        yield f"factor of {name} below 1", 1 - (1 - rate) ** 2


def _population_gradients() -> Iterator[tuple[str, sympy.Expr]]:
    """p = q = 1: E z(z Theta_t - x) and E Theta z(z Theta beta_t - y), E z² = 1, errors uncorrelated with z."""
    z2, theta, beta, theta_t, beta_t, cross = sympy.symbols("z2 Theta beta Theta_t beta_t cross")
    first = z2 * theta_t - (z2 * theta + cross)
    second = theta * (z2 * theta * beta_t - (z2 * theta * beta + cross * beta + cross))
    isotropic = {z2: 1, cross: 0}
    yield "first stage", first.subs(isotropic) - (theta_t - theta)
    yield "second stage", second.subs(isotropic) - theta**2 * (beta_t - beta)


def _limits_of_condition(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(3) with delta and psi of (10) as n grows; a, b, c stand for what does not depend on n."""
    n, a, b, norm, least = sympy.symbols("n a b norm least", positive=True)
    delta = a / sympy.sqrt(n)
    psi = b / (sympy.sqrt(n) * (1 - delta) ** 2)
    lower, upper = (1 - delta) ** 2 * (least - psi) ** 2, (1 + delta) ** 2 * (norm + psi) ** 2
    yield "eta", sympy.limit(2 / (1 + delta) ** 2, n, sympy.oo) - 2
    yield "alpha", sympy.limit(4 / (2 * upper + lower), n, sympy.oo) - 4 / (2 * norm**2 + share * least**2)


# --- Remark 3.3 ---


def _optimal_rates(hundredths: int = 100) -> Iterator[tuple[str, sympy.Expr]]:
    """Both branches at the stated step sizes equal the stated rates; and at every step size the mean of the branches
    1 - a x and b x - 1 with weights b / (a + b), a / (a + b) is (b - a) / (a + b), so their maximum is no less.
    """
    low, high, delta, x = sympy.symbols("low high delta x", positive=True)
    stages = {
        "beta": (low / 2, high + low / 2, 2 / (high + low), high / (high + low)),
        "Theta": ((1 - delta) ** 2, (1 + delta) ** 2, 1 / (1 + delta**2), 2 * delta / (1 + delta**2)),
    }
    for name, (a, b, best, rate) in stages.items():
        yield f"kappa_{name}, lower branch", 1 - sympy.Rational(hundredths, 100) * best * a - rate
        yield f"kappa_{name}, upper branch", sympy.Rational(hundredths, 100) * best * b - 1 - rate
        yield f"kappa_{name}, weighted mean", (b * (1 - a * x) + a * (b * x - 1)) / (a + b) - rate
    yield "eta", 2 / ((1 + delta) ** 2 + (1 - delta) ** 2) - 1 / (1 + delta**2)
    yield "kappa_Theta", (4 * delta) / ((1 + delta) ** 2 + (1 - delta) ** 2) - 2 * delta / (1 + delta**2)


def _admissible() -> Iterator[tuple[str, sympy.Expr]]:
    """The stated step sizes are below the limits (3); delta = 1 / (1 + s)."""
    low, high, s = sympy.symbols("low high s", positive=True)
    delta = 1 / (1 + s)
    yield "alpha", 4 / (2 * high + low) - 2 / (high + low)
    yield "eta", 2 / (1 + delta) ** 2 - 1 / (1 + delta**2)


# --- Section 4 ---


def _experiment_steps(share: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """kappa_Theta = 1 - ((1 - d) / (1 + d))² and kappa_beta = 2 g / (2 g + g-lower) at half of the limits (3)."""
    delta, low, high = sympy.symbols("delta low high", positive=True)
    eta, alpha = 1 / (1 + delta) ** 2, 2 / (2 * high + low)
    yield "eta is half of the limit", share * eta - 2 / (1 + delta) ** 2
    yield "alpha is half of the limit", share * alpha - 4 / (2 * high + low)
    yield "kappa_Theta, upper branch", 1 - eta * (1 + delta) ** 2
    yield "kappa_beta, upper branch", 1 - alpha * (2 * high + low) / 2
    yield "kappa_Theta", 1 - eta * (1 - delta) ** 2 - 4 * delta / (1 + delta) ** 2
    yield "kappa_beta", 1 - alpha * low / 2 - 2 * high / (2 * high + low)


def _experiment_rates(rng: np.random.Generator, numerator: float = 2.0) -> Iterator[Fact]:
    """kappa of (10), and the true rate, at the drawn Theta of the figures, delta = psi = 0."""
    for dimension, seed in ((5, 0), (5, 1), (5, 3), (20, 2), (50, 0)):
        setup = Setup(dimension=dimension, seed=seed)
        h = np.linalg.eigvalsh(setup.model.theta.T @ setup.model.theta)
        eta, alpha = setup.step_sizes
        kappa, true = max(abs(1 - alpha * h[0] / 2), abs(1 - alpha * (2 * h[-1] + h[0]) / 2)), 1 - alpha * h[0]
        where = f"p = {dimension}, seed {seed}, true rate {true:.4f}"
        yield Fact(f"kappa, {where}", kappa, numerator * h[-1] / (2 * h[-1] + h[0]), 1e-12)
        yield Fact(f"eta, p = {dimension}, seed {seed}", eta, 1.0, 1e-12)


CLAIMS = (
    Claim(
        id="iv/rem-3.2a",
        where="Remark 3.2",
        kind="identity",
        statement=(
            "Population 2S-GD converges monotonically if $0 < eta_(G D) < 2$ and $0 < alpha_(G D) < 2 \\/ "
            "norm(Theta)^2$."
        ),
        hypotheses=(
            "$EE z z^top = I$, errors uncorrelated with $z$; the $beta$-step uses the data-generating $Theta$, of rank "
            "$p$. Monotonically: both error norms shrink by a fixed factor in every step."
        ),
        checks=(
            Symbolic(
                residuals=_population_gradients,
                nonnegative=_population_contraction,
                impostors={"limits 3": {"nonnegative": lambda: _population_contraction(3)}},
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.2b",
        where="Remark 3.2",
        kind="identity",
        statement=(
            "With infinitely many samples (3) becomes $0 < eta < 2$, $0 < alpha < 4 \\/ (2 norm(Theta)^2 + sigma_min^2 "
            "(Theta))$."
        ),
        checks=(
            Symbolic(
                residuals=_limits_of_condition,
                impostors={"twice sigma_min²": {"residuals": lambda: _limits_of_condition(2)}},
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.2c",
        where="Remark 3.2",
        kind="inequality",
        statement="That condition on $alpha$ is slightly tighter than $alpha_(G D) < 2 \\/ norm(Theta)^2$.",
        hypotheses=(
            "Slightly: by at most a third. The ratio of the limits is $2 \\/ (2 + s^2)$, $s = sigma_min \\/ "
            "norm(Theta)$: 2/3 where all singular values are equal, 1 for $s -> 0$."
        ),
        checks=(
            Inequality(
                smaller=lambda m, s: m.number("0.6666"),
                larger=lambda m, s: 2 / (2 + s**2),
                box={"s": Real(1e-9, 1.0, "log")},
                impostors={"by 33 % at most": {"smaller": lambda m, s: m.number("0.67")}},
            ),
            Inequality(
                smaller=lambda m, s: 2 / (2 + s**2),
                larger=lambda m, s: m.number(1),
                box={"s": Real(1e-9, 1.0, "log")},
                impostors={"by 1 % always": {"larger": lambda m, s: m.number("0.99")}},
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.3",
        where="Remark 3.3, (8)",
        kind="identity",
        statement=(
            "$kappa$ is least at $eta^star = 2/((1 + delta)^2 + (1 - delta)^2)$, $alpha^star = 2/(overline(gamma) "
            "+ underline(gamma))$, where $kappa_beta^star = overline(gamma)/(overline(gamma) + underline(gamma))$, "
            "$kappa_Theta^star = ((1 + delta)^2 - (1 - delta)^2)/((1 + delta)^2 + (1 - delta)^2)$ and $kappa^star$ "
            "is the larger."
        ),
        hypotheses=(
            "$kappa$ of (10). Not the true rate of 2S-GD, which is $(overline(gamma) - underline(gamma)) \\/ "
            "(overline(gamma) + underline(gamma))$ at best."
        ),
        checks=(
            Symbolic(
                residuals=_optimal_rates,
                nonnegative=_admissible,
                impostors={"steps 1 % longer": {"residuals": lambda: _optimal_rates(101)}},
            ),
        ),
    ),
    Claim(
        id="iv/step-exp",
        where="Section 4",
        kind="number",
        statement=(
            "All experiments take $tau = 5$, $eta = 1 \\/ (1 + delta)^2$, $alpha = 2 \\/ (2 overline(gamma) + "
            "underline(gamma))$."
        ),
        hypotheses=(
            "Half of the limits (3), so admissible: $kappa_Theta = 4 delta \\/ (1 + delta)^2$ and $kappa_beta = 2 "
            "overline(gamma) \\/ (2 overline(gamma) + underline(gamma))$, at least 2/3. For $p = q = 50$, seed 0, "
            "$delta = psi = 0$ that is $1 - 2.5 dot 10^(-5)$: 20 iterations do nothing in some directions."
        ),
        checks=(
            Symbolic(
                residuals=_experiment_steps, impostors={"the limits": {"residuals": lambda: _experiment_steps(1)}}
            ),
            Agreement(
                facts=_experiment_rates,
                impostors={"gamma-upper once": {"facts": lambda rng: _experiment_rates(rng, 1.0)}},
            ),
        ),
    ),
)
