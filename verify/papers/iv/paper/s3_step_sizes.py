"""Step sizes: Remarks 3.2 and 3.3, and what the experiments of Section 4 take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from scipy.optimize import minimize_scalar

from dpbounds.iv import (
    Design,
    experiment_step_sizes,
    optimal_step_sizes,
    spectrum,
    theorem_rates,
    theorem_step_limits,
)
from dpbounds.iv.noiseless import population_limits
from verify.checks import Agreement, Fact, Inequality, Symbolic, Times, Within
from verify.checks.domains import Real
from verify.papers.iv.tools.setups import Setup
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Remark 3.2 ---


def _population_contraction(most: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """1 - (1 - eta)² and 1 - (1 - alpha h)², h an eigenvalue of Theta'Theta, with eta = most / (1 + s), alpha = most /
    (||Theta||² (1 + s)), h = ||Theta||² / (1 + t).
    """
    s, t = sympy.symbols("s t", positive=True)
    for name, rate in (("Theta", most / (1 + s)), ("beta", most / ((1 + s) * (1 + t)))):
        yield f"factor of {name} below 1", 1 - (1 - rate) ** 2


def _population_gradients() -> Iterator[tuple[Any, ...]]:
    """p = q = 1: E z(z Theta_t - x) and E Theta z(z Theta beta_t - y), E z² = 1, errors uncorrelated with z."""
    z2, theta, beta, theta_t, beta_t, cross = sympy.symbols("z2 Theta beta Theta_t beta_t cross")
    first = z2 * theta_t - (z2 * theta + cross)
    second = theta * (z2 * theta * beta_t - (z2 * theta * beta + cross * beta + cross))
    isotropic = {z2: 1, cross: 0}
    yield "first stage", first.subs(isotropic), theta_t - theta
    yield "second stage", second.subs(isotropic), theta**2 * (beta_t - beta)


def _descent_limits(rng: np.random.Generator) -> Iterator[Fact]:
    """The slowest factors 1 - eta and 1 - alpha h are -1 at the limits, h the largest eigenvalue of Theta'Theta."""
    for q, p in ((1, 1), (3, 2), (6, 6)):
        theta = rng.standard_normal((q, p))
        limits, h = population_limits(theta), np.linalg.eigvalsh(theta.T @ theta)
        yield Fact(f"eta, q = {q}, p = {p}", 1 - float(limits.eta), -1.0)
        yield Fact(f"alpha, q = {q}, p = {p}", float(np.min(1 - limits.alpha_descent * h)), -1.0)


REM_3_2A = Claim(
    id="iv/rem-3.2a",
    where="Remark 3.2",
    page=6,
    kind="identity",
    statement=(
        "Population 2S-GD converges monotonically if $0 < eta_(G D) < 2$ and $0 < alpha_(G D) < 2 \\/ norm(Theta)^2$."
    ),
    hypotheses="Assumption 2; the $beta$-step uses the data-generating $Theta$, of rank $p$.",
    remark="Monotonically: both error norms shrink by a fixed factor in every step.",
    checks=(
        Symbolic(
            residuals=_population_gradients,
            nonnegative=_population_contraction,
            impostors={"limits 3": {"nonnegative": {"most": 3}}},
        ),
        Agreement(facts=_descent_limits, role="control", impostors={"1 % longer": {"facts": Times(1.01)}}),
    ),
    derivation=Derivation(
        text=(
            "$EE z z^top = I$, so that the steps are affine with the linear parts $(1 - eta) I$ and $I - alpha "
            "Theta^top Theta$; in an orthonormal basis the second has the factors $1 - alpha h$ with $0 < sigma_min^2 "
            "(Theta) <= h <= norm(Theta)^2$. Below the limits $1 - (1 - eta)^2$ and $1 - (1 - alpha h)^2$ are proved "
            "to be quotients of polynomials with nonnegative coefficients, not 0, hence positive, and there are "
            "finitely many."
        ),
        lemmas=("spectral theorem", "linearity"),
    ),
)


def _limits_of_condition(share: int = 1) -> Iterator[tuple[Any, ...]]:
    """(3) with delta and psi of (10) as n grows; a, b, c stand for what does not depend on n."""
    n, a, b, norm, least = sympy.symbols("n a b norm least", positive=True)
    delta = a / sympy.sqrt(n)
    psi = b / (sympy.sqrt(n) * (1 - delta) ** 2)
    lower, upper = (1 - delta) ** 2 * (least - psi) ** 2, (1 + delta) ** 2 * (norm + psi) ** 2
    yield "eta", sympy.limit(2 / (1 + delta) ** 2, n, sympy.oo), 2
    yield "alpha", sympy.limit(4 / (2 * upper + lower), n, sympy.oo), 4 / (2 * norm**2 + share * least**2)


def _many_records(rng: np.random.Generator, share: float = 1.0) -> Iterator[Fact]:
    """The limits (3) at n = 10^16 against those of the population; the ratio of the two limits on alpha."""
    for q, p in ((1, 1), (3, 2), (6, 6)):
        theta = rng.standard_normal((q, p))
        found, stated = theorem_step_limits(spectrum(Design.of(theta, 10**16))), population_limits(theta)
        h = np.linalg.eigvalsh(theta.T @ theta)
        yield Fact(f"eta, q = {q}, p = {p}", float(found.eta), float(stated.eta), 1e-6)
        yield Fact(f"alpha, q = {q}, p = {p}", float(found.alpha), share * float(stated.alpha_paper), 1e-4)
        yield Fact(f"ratio, q = {q}, p = {p}", float(stated.ratio), 4 / (2 * h[-1] + h[0]) / (2 / h[-1]))


REM_3_2B = Claim(
    id="iv/rem-3.2b",
    where="Remark 3.2",
    page=6,
    kind="identity",
    statement=(
        "With infinitely many samples (3) becomes $0 < eta < 2$, $0 < alpha < 4 \\/ (2 norm(Theta)^2 + sigma_min^2 "
        "(Theta))$."
    ),
    checks=(
        Symbolic(residuals=_limits_of_condition, impostors={"twice sigma_min²": {"residuals": {"share": 2}}}),
        Agreement(facts=_many_records, role="control", impostors={"1 % off": {"facts": {"share": 1.01}}}),
    ),
    derivation=Derivation(
        text=(
            "In (10) $delta = a\\/sqrt(n)$ and $psi = b\\/(sqrt(n) (1 - delta)^2)$, where $a$ and $b$ do not depend on "
            "$n$. With these both limits of (3) are proved to tend to what is stated."
        ),
    ),
)

REM_3_2C = Claim(
    id="iv/rem-3.2c",
    where="Remark 3.2",
    page=6,
    kind="inequality",
    statement="That condition on $alpha$ is slightly tighter than $alpha_(G D) < 2 \\/ norm(Theta)^2$.",
    remark=(
        "Slightly: by at most a third. The ratio of the limits is $2 \\/ (2 + s^2)$, $s = sigma_min \\/ norm(Theta)$: "
        "$2\\/3$ where all singular values are equal, 1 for $s -> 0$."
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
            impostors={"by 1 % always": {"larger": Times("0.99")}},
        ),
    ),
)

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


def _least_rates(rng: np.random.Generator, steps: float = 1.0) -> Iterator[Fact]:
    """kappa_Theta and kappa_beta of (10) at the step sizes (8), against minimisers over each step size."""
    for _ in range(5):
        delta, lower, upper = rng.uniform(0.05, 0.95), rng.uniform(0.1, 1.0), rng.uniform(1.0, 30.0)
        bounds = spectrum(Design(n=1000, p=1, q=1, theta_norm=1.0, theta_least=1.0))
        bounds = bounds._replace(delta=delta, lower=lower, upper=upper)
        eta, alpha = (steps * size for size in optimal_step_sizes(bounds))
        found = theorem_rates(bounds, eta, alpha)
        limits = theorem_step_limits(bounds)
        for name, limit, rate in (
            ("Theta", limits.eta, lambda x, bounds=bounds: float(theorem_rates(bounds, x, 1.0).theta)),
            ("beta", limits.alpha, lambda x, bounds=bounds: float(theorem_rates(bounds, 1.0, x).beta)),
        ):
            least: Any = minimize_scalar(rate, bounds=(0.0, limit), method="bounded", options={"xatol": 1e-12 * limit})
            label = f"kappa_{name}, delta = {delta:.3f}, gamma = {lower:.3f} to {upper:.3f}"
            yield Fact(label, float(getattr(found, name.lower())), float(least.fun), 1e-7)
        yield Fact("the larger", float(found.overall), float(max(found.theta, found.beta)), 0)
        closed = upper / (upper + lower), 2 * delta / (1 + delta**2)
        yield Fact("closed forms", [float(found.beta), float(found.theta)], closed, 1e-12)


REM_3_3 = Claim(
    id="iv/rem-3.3",
    where="Remark 3.3",
    page=7,
    equation="(8)",
    kind="identity",
    statement=(
        "$kappa$ is least at $eta^star = 2/((1 + delta)^2 + (1 - delta)^2)$, $alpha^star = 2/(overline(gamma) "
        "+ underline(gamma))$, where $kappa_beta^star = overline(gamma)/(overline(gamma) + underline(gamma))$, "
        "$kappa_Theta^star = ((1 + delta)^2 - (1 - delta)^2)/((1 + delta)^2 + (1 - delta)^2)$ and $kappa^star$ "
        "is the larger."
    ),
    hypotheses="$kappa$ of (10).",
    remark=(
        "Not the true rate of 2S-GD, which is $(overline(gamma) - underline(gamma)) \\/ (overline(gamma) + "
        "underline(gamma))$ at best."
    ),
    checks=(
        Symbolic(
            residuals=_optimal_rates,
            nonnegative=_admissible,
            impostors={"steps 1 % longer": {"residuals": {"hundredths": 101}}},
        ),
        Agreement(facts=_least_rates, role="control", impostors={"steps 1 % longer": {"facts": {"steps": 1.01}}}),
    ),
    derivation=Derivation(
        text=(
            "Each stage has a rate $max(abs(1 - a x), abs(1 - b x))$, $x$ its step size and $0 < a <= b$ the ends in "
            "(10). It is at least the mean of $1 - a x$ and $b x - 1$ with weights $b\\/(a + b)$ and $a\\/(a + b)$, "
            "which is proved to be the stated rate, and equal to it at the stated step size, where both branches are. "
            "$kappa$ is the larger of the two rates, each a function of its own step size."
        ),
    ),
)

# --- Section 4 ---


def _experiment_steps(share: int = 2) -> Iterator[tuple[Any, ...]]:
    """kappa_Theta = 1 - ((1 - d) / (1 + d))² and kappa_beta = 2 g / (2 g + g-lower) at half of the limits (3)."""
    delta, low, high = sympy.symbols("delta low high", positive=True)
    eta, alpha = 1 / (1 + delta) ** 2, 2 / (2 * high + low)
    yield "eta is half of the limit", share * eta, 2 / (1 + delta) ** 2
    yield "alpha is half of the limit", share * alpha, 4 / (2 * high + low)
    yield "kappa_Theta, upper branch", 1, eta * (1 + delta) ** 2
    yield "kappa_beta, upper branch", 1, alpha * (2 * high + low) / 2
    yield "kappa_Theta", 1 - eta * (1 - delta) ** 2, 4 * delta / (1 + delta) ** 2
    yield "kappa_beta", 1 - alpha * low / 2, 2 * high / (2 * high + low)


def _experiment_rates(rng: np.random.Generator, numerator: float = 2.0) -> Iterator[Fact]:
    """kappa of (10), and the true rate, at the drawn Theta of the figures, delta = psi = 0."""
    for dimension, seed in ((5, 0), (5, 1), (5, 3), (20, 2), (50, 0)):
        setup = Setup(dimension=dimension, seed=seed)
        h = np.linalg.eigvalsh(setup.model.theta.T @ setup.model.theta)
        eta, alpha = experiment_step_sizes(setup.bounds)
        kappa = float(theorem_rates(setup.bounds, eta, alpha).overall)
        where = f"p = {dimension}, seed {seed}, true rate {1 - alpha * h[0]:.4f}"
        yield Fact(f"kappa, {where}", kappa, numerator * h[-1] / (2 * h[-1] + h[0]))
        yield Fact(f"eta, p = {dimension}, seed {seed}", eta, 1.0)
        yield Fact(f"step sizes of the runs, p = {dimension}, seed {seed}", setup.step_sizes, [eta, alpha])


WIDE, STEPS, KEPT = 50, 20, 0.99


def _slow_direction(rng: np.random.Generator, dimension: int = WIDE) -> Iterator[Within]:
    """What is left of the error of the slowest direction after the steps of the experiments, three draws."""
    for seed in (0, 1, 2):
        setup = Setup(dimension=dimension, seed=seed)
        least = float(np.linalg.eigvalsh(setup.model.theta.T @ setup.model.theta)[0])
        left = (1 - setup.step_sizes[1] * least) ** STEPS
        yield Within(f"share left in the slowest direction, p = {dimension}, seed {seed}", left, KEPT, 1.0)


STEP_EXP = Claim(
    id="iv/step-exp",
    where="Section 4",
    page=8,
    kind="number",
    statement=(
        "All experiments take $tau = 5$, $eta = 1 \\/ (1 + delta)^2$, $alpha = 2 \\/ (2 overline(gamma) + "
        "underline(gamma))$."
    ),
    remark=(
        "Half of the limits (3), so admissible: $kappa_Theta = 4 delta \\/ (1 + delta)^2$ and $kappa_beta = 2 "
        "overline(gamma) \\/ (2 overline(gamma) + underline(gamma))$, at least $2\\/3$. For $p = q = {wide}$ the "
        "slowest direction keeps ${kept}$ of its error or more in ${steps}$ iterations."
    ),
    given={"wide": WIDE, "steps": STEPS, "kept": KEPT},
    setting="Parameters drawn with our seeds, $delta = psi = 0$.",
    checks=(
        Symbolic(residuals=_experiment_steps, impostors={"the limits": {"residuals": {"share": 1}}}),
        Agreement(facts=_experiment_rates, impostors={"gamma-upper once": {"facts": {"numerator": 1.0}}}),
        Agreement(facts=_slow_direction, impostors={"p = q = 5": {"facts": {"dimension": 5}}}),
    ),
)
