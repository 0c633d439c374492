"""Proposition 3.1, its proof in Appendix B, and what follows for the noise: the joint release of Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.privacy import gaussian_epsilon
from simulators.engine import Experiment
from simulators.iv import Settings
from verify.audit import gaussian_zcdp
from verify.checks import Agreement, Audit, Fact, GaussianPrivacy, Neighbours, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.iv.claims.output_laws import (
    Adversary,
    Mechanism,
    fixed,
    joint_shifts,
    log_likelihood_ratio,
    neighbours,
    opposite_records,
    random_records,
)

# --- Proposition 3.1 ---

CASES = ((1, 1, 0.5, 2.0), (1, 7, 1.0, 2.0), (3, 2, 4.0, 0.1), (5, 12, 0.2, 0.3), (4, 30, 0.01, 10.0))  # n, T, rho


def _joint_pairs(*, variance: float = 1.0, exact: bool = False) -> Iterator[Neighbours]:
    """All iterates, noise as in (4), against rho_1 + rho_2 or the exact cost rho_1/2 + (1 - 1/T) rho_2/2."""
    rng = np.random.default_rng(0)
    for n, T, rho1, rho2 in CASES:
        mechanism = Mechanism.calibrated(n, T, rho1, rho2, variance=variance, gamma1=2.0, gamma2=0.5)
        claimed = rho1 / 2 + (1 - 1 / T) * rho2 / 2 if exact else rho1 + rho2
        label = f"n = {n}, T = {T}, rho = ({rho1}, {rho2})"
        for q, p in ((1, 1), (3, 2)):
            shift, variances = joint_shifts(opposite_records(n, q, p), mechanism, rng)
            yield neighbours(f"{label}, opposite records, q = {q}, p = {p}", shift, variances, claimed)
            shift, variances = joint_shifts(random_records(rng, n, q, p), mechanism, rng)
            yield neighbours(f"{label}, random pair, q = {q}, p = {p}", shift, variances, claimed)


# n, T, rho: the splits of Figure 3, Figures 5, 10 and 11, and two of Figure 4; the cost does not depend on n.
FIGURES = (
    (6, 20, 1.0, 9.0),
    (6, 20, 5.0, 5.0),
    (6, 20, 9.0, 1.0),
    (6, 20, 1.0, 1.0),
    (6, 20, 0.1, 0.1),
    (6, 20, 10.0, 10.0),
    (6, 80, 0.1, 1000.0),
    (6, 80, 1000.0, 10.0),
)


def _figure_budgets(rng: np.random.Generator, share: float = 1.0) -> Iterator[Fact]:
    """What a figure's run spends on the worst pair, of its rho_1 + rho_2."""
    for n, T, rho1, rho2 in FIGURES:
        shift, variances = joint_shifts(opposite_records(n), Mechanism.calibrated(n, T, rho1, rho2), rng)
        spent = gaussian_zcdp(shift, np.diag(variances))
        label = f"T = {T}, rho = ({rho1:g}, {rho2:g}): {spent:.4g} spent of {rho1 + rho2:g}"
        yield Fact(label, spent, share * (rho1 / 2 + (1 - 1 / T) * rho2 / 2), 1e-9)


def _account(share: float = 1.0) -> Iterator[tuple[str, sympy.Expr]]:
    """sum_t Delta_i^2 / (2 lambda_i^2) with Delta_i = 2 gamma_i / n and (4), no data in beta's first, T = 1 + s."""
    s, n, rho1, rho2, gamma1, gamma2 = sympy.symbols("s n rho_1 rho_2 gamma_1 gamma_2", positive=True)
    T, cost = 1 + s, sympy.Integer(0)
    for rho, gamma, uses in ((rho1, gamma1, T), (rho2, gamma2, T - 1)):
        sensitivity = 2 * gamma / n
        cost += uses * sensitivity**2 / (2 * sensitivity**2 * T / rho)
    yield "rho_1 + rho_2 - cost", sympy.nsimplify(share) * (rho1 + rho2) - cost


AUDIT_DELTA, AUDIT_BUDGETS, AUDIT_RECORDS, AUDIT_STEPS = 0.02, (0.4, 0.4), 3, 4
FIGURE_5_BUDGETS, FIGURE_5_STEPS = (1.0, 1.0), 20


def _adversaries(
    *, noise: float = 1.0, clipped: bool = True, budgets: tuple[float, float] = AUDIT_BUDGETS, steps: int = AUDIT_STEPS
) -> tuple[Experiment, Experiment]:
    """Runs on the second and on the first of two opposite data sets."""
    mechanism = Mechanism.calibrated(AUDIT_RECORDS, steps, *budgets)
    factor = 1.0 if clipped else 100.0
    settings = Settings(
        steps=steps,
        eta=mechanism.eta,
        alpha=mechanism.alpha,
        gamma1=factor * mechanism.gamma1,
        gamma2=factor * mechanism.gamma2,
        lambda1=noise * mechanism.lambda1,
        lambda2=noise * mechanism.lambda2,
        record_paths=True,
    )
    drift = 1.0 / AUDIT_RECORDS
    first, second = (
        Experiment(
            algorithm=log_likelihood_ratio,
            problem=Adversary(data=fixed(data), drift1=drift, drift2=drift),
            settings=settings,
            block_trials=10_000,
        )
        for data in opposite_records(AUDIT_RECORDS)
    )
    return second, first


def _epsilon(rho: float) -> float:
    """Exact epsilon of a Gaussian mechanism with this rho."""
    return float(gaussian_epsilon(float(np.sqrt(2 * rho)), AUDIT_DELTA))


def _exact_cost(budgets: tuple[float, float], steps: int) -> float:
    """Of the joint release with the noise of (4)."""
    return budgets[0] / 2 + (1 - 1 / steps) * budgets[1] / 2


AUDIT_COST = _exact_cost(AUDIT_BUDGETS, AUDIT_STEPS)


def _audit(claimed_rho: float, sharpness: float, noise: float) -> Audit:
    """Against the epsilon that a Gaussian mechanism with the claimed rho has; the event is the best one at the exact
    cost.
    """
    return Audit(
        experiments=_adversaries(),
        output="ratio",
        threshold=_epsilon(AUDIT_COST),
        claimed_epsilon=_epsilon(claimed_rho),
        delta=AUDIT_DELTA,
        trials={"quick": 100_000, "full": 1_000_000},
        sharpness=sharpness,
        impostors={
            f"{noise} of the noise": {"experiments": _adversaries(noise=noise)},
            "no clipping": {"experiments": _adversaries(clipped=False)},
        },
    )


def _figure_audit(noise: float = 0.5) -> Audit:
    """Figure 5's run, T = 20 at budgets (1, 1), against the exact epsilon."""
    epsilon = _epsilon(_exact_cost(FIGURE_5_BUDGETS, FIGURE_5_STEPS))
    setting = {"budgets": FIGURE_5_BUDGETS, "steps": FIGURE_5_STEPS}
    return Audit(
        experiments=_adversaries(**setting),
        output="ratio",
        threshold=epsilon,
        claimed_epsilon=epsilon,
        delta=AUDIT_DELTA,
        trials={"quick": 50_000, "full": 500_000},
        sharpness=0.6,
        impostors={f"{noise} of the noise": {"experiments": _adversaries(noise=noise, **setting)}},
    )


def _printed_budget(factor: int) -> Iterator[tuple[str, sympy.Expr]]:
    """(4) substituted into factor (T / n^2) (gamma_1^2 / lambda_1^2 + gamma_2^2 / lambda_2^2)."""
    n, T, rho1, rho2, gamma1, gamma2 = sympy.symbols("n T rho_1 rho_2 gamma_1 gamma_2", positive=True)
    lambda1, lambda2 = (2 * gamma / n * sympy.sqrt(T / rho) for gamma, rho in ((gamma1, rho1), (gamma2, rho2)))
    stated = factor * T / n**2 * (gamma1**2 / lambda1**2 + gamma2**2 / lambda2**2)
    yield "rho_1 + rho_2 less the right side", rho1 + rho2 - stated


# --- Appendix B ---


def _clipped(gradients: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """One gradient per row, flattened."""
    norms = np.linalg.norm(gradients, axis=1)
    return gradients * np.minimum(1.0, gamma / np.maximum(norms, 1e-300))[:, None]


def _one_record(theta, beta, record, gamma1, gamma2):
    """Clipped gradients of one record (z in R^2, x in R^2, y) per row."""
    theta, z, x, y = theta.reshape(-1, 2, 2), record[:, :2], record[:, 2:4], record[:, 4]
    fitted = np.einsum("nij,ni->nj", theta, z)
    first = z[:, :, None] * (fitted - x)[:, None, :]
    second = fitted * (np.sum(fitted * beta, axis=1) - y)[:, None]
    return _clipped(first.reshape(-1, 4), gamma1), _clipped(second, gamma2)


def _sensitivity(theta, beta, own, other, gamma1, gamma2, n, factor: float = 2.0, clipping: bool = True):
    """The larger of the two changes of the average, each over its clip norm, when one record is replaced."""
    limits = (gamma1, gamma2) if clipping else (np.full_like(gamma1, 1e6), np.full_like(gamma2, 1e6))
    pairs = zip(_one_record(theta, beta, own, *limits), _one_record(theta, beta, other, *limits), strict=True)
    changes = [np.linalg.norm(a - b, axis=1) / n for a, b in pairs]
    return np.maximum(changes[0] / gamma1, changes[1] / gamma2), factor / n


def _opposite_point() -> list[dict[str, Any]]:
    record = [1.0, 0.0, 100.0, 0.0, 100.0]
    common = {"theta": [1.0, 0.0, 0.0, 1.0], "beta": [0.0, 0.0], "gamma1": 3.0, "gamma2": 0.5, "n": 7.0}
    return [{**common, "own": record, "other": [1.0, 0.0, -100.0, 0.0, -100.0]}]


def _per_iteration(parts: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """D_alpha = alpha Delta^2 / (2 lambda^2) of each release, Delta_i = 2 gamma_i / n, and T equal terms."""
    n, T, t = sympy.symbols("n T t", positive=True)
    gamma1, gamma2, lambda1, lambda2 = sympy.symbols("gamma_1 gamma_2 lambda_1 lambda_2", positive=True)
    one = sum((2 * gamma / n) ** 2 / (parts * scale**2) for gamma, scale in ((gamma1, lambda1), (gamma2, lambda2)))
    stated = 2 / n**2 * (gamma1**2 / lambda1**2 + gamma2**2 / lambda2**2)
    yield "one iteration", one - stated
    yield "T iterations", sympy.summation(one, (t, 1, T)) - T * stated


def _steps_from(start: float, *, variance: float = 1.0) -> Iterator[Neighbours]:
    """T iterations from Theta = start against T (2/n^2) (gamma_1^2 / lambda_1^2 + gamma_2^2 / lambda_2^2)."""
    rng = np.random.default_rng(1)
    for n, T in ((1, 1), (2, 3), (6, 20)):
        mechanism = Mechanism(
            n=n, steps=T, gamma1=1.5, gamma2=0.4, lambda1=0.3 * variance**0.5, lambda2=0.2 * variance**0.5
        )
        claimed = 2 * T / n**2 * ((1.5 / 0.3) ** 2 + (0.4 / 0.2) ** 2)
        shift, variances = joint_shifts(opposite_records(n), mechanism, rng, start=start)
        yield neighbours(f"n = {n}, T = {T}, from Theta = {start}", shift, variances, claimed)


def _both_starts(variance: float = 1.0) -> Iterator[Neighbours]:
    yield from _steps_from(0.0, variance=variance)
    yield from _steps_from(1.0, variance=variance)


# --- the noise scales ---


def _monotone(order: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Logarithmic derivatives of lambda = (2 gamma / n) sqrt(T / rho): constants with the signs of the slopes."""
    n, T, rho, gamma = sympy.symbols("n T rho gamma", positive=True)
    scale = 2 * gamma / n * sympy.sqrt(T / rho)
    yield "in gamma", gamma * sympy.diff(scale, gamma) / scale
    yield "in T", T * sympy.diff(scale, T) / scale
    yield "in n, sign changed", -order * n * sympy.diff(scale, n) / scale


def _doubling(factor: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    n, T, rho, gamma = sympy.symbols("n T rho gamma", positive=True)
    scale = 2 * gamma / n * sympy.sqrt(T / rho)
    yield "lambda at 2 gamma", scale.subs(gamma, 2 * gamma) - factor * scale


def _same_cost(rng: np.random.Generator, factor: float = 2.0) -> Iterator[Fact]:
    """The exact cost on opposite records with both clip norms and both scales doubled."""
    costs = []
    for gamma, scale in ((1.0, 0.4), (2.0, 0.4 * factor)):
        mechanism = Mechanism(n=3, steps=5, gamma1=gamma, gamma2=gamma, lambda1=scale, lambda2=scale)
        shift, variances = joint_shifts(opposite_records(3), mechanism, rng)
        costs.append(gaussian_zcdp(shift, np.diag(variances)))
    yield Fact("exact cost with clip norm and noise doubled, n = 3, T = 5", costs[1], costs[0], 1e-12)


CLAIMS = (
    Claim(
        id="iv/prop-3.1a",
        where="Proposition 3.1",
        kind="privacy",
        statement=(
            "With $lambda_i = (2 gamma_i)/n sqrt(T\\/rho_i)$ the release of all iterates of Algorithm 1 is $(rho_1 + "
            "rho_2)$-zCDP."
        ),
        hypotheses=(
            "One record replaced, $n$ public. The claim has a factor 2 to spare: the exact cost is $rho_1\\/2 + (1 - "
            "1\\/T) rho_2\\/2$, since $Theta^((0)) = 0$ makes the first gradient of $beta$ zero."
        ),
        checks=(
            GaussianPrivacy(
                pairs=_joint_pairs,
                impostors={"noise variance less by the factor 2.1": {"pairs": lambda: _joint_pairs(variance=1 / 2.1)}},
            ),
            Symbolic(nonnegative=_account, impostors={"0.49 of the sum": {"nonnegative": lambda: _account(0.49)}}),
            _audit(sum(AUDIT_BUDGETS), 0.4, 0.3),
        ),
    ),
    Claim(
        id="iv/prop-3.1b",
        where="Proposition 3.1",
        kind="identity",
        statement=(
            "For these $lambda_i$, $rho_1 + rho_2 = (2 T)/n^2 (gamma_1^2 \\/ lambda_1^2 + gamma_2^2 \\/ lambda_2^2)$."
        ),
        checks=(Symbolic(residuals=lambda: _printed_budget(2)),),
        correction=Correction(
            statement=(
                "$4 T \\/ n^2$ stands in place of $2 T \\/ n^2$; or $lambda_i = gamma_i/n sqrt(2 T \\/ rho_i)$, which "
                "would do. Under (4) the exact cost of the joint release is $rho_1\\/2 + (1 - 1\\/T) rho_2\\/2$."
            ),
            checks=(
                Symbolic(
                    residuals=lambda: _printed_budget(4),
                    impostors={"factor 3": {"residuals": lambda: _printed_budget(3)}},
                ),
                GaussianPrivacy(
                    pairs=lambda: _joint_pairs(exact=True),
                    impostors={"5 % less noise variance": {"pairs": lambda: _joint_pairs(exact=True, variance=0.95)}},
                ),
                _audit(AUDIT_COST, 0.7, 0.5),
                Agreement(
                    facts=_figure_budgets, impostors={"1 % less": {"facts": lambda rng: _figure_budgets(rng, 0.99)}}
                ),
                _figure_audit(),
            ),
        ),
    ),
    Claim(
        id="iv/prop-3.1-sens",
        where="App. B",
        kind="inequality",
        statement="The averaged clipped gradients have sensitivity $Delta_i = 2 gamma_i \\/ n$.",
        hypotheses="One record replaced, both data sets at the same $(Theta^((t)), beta^((t)))$; here $p = q = 2$.",
        checks=(
            Search(
                sides=_sensitivity,
                box={
                    "theta": (Real(-5.0, 5.0), 4),
                    "beta": (Real(-5.0, 5.0), 2),
                    "own": (Real(-10.0, 10.0), 5),
                    "other": (Real(-10.0, 10.0), 5),
                    "gamma1": Real(0.01, 100.0, "log"),
                    "gamma2": Real(0.01, 100.0, "log"),
                    "n": Whole(1, 1000, "log"),
                },
                extremal=_opposite_point,
                vectorised=True,
                impostors={
                    "1.95 in place of 2": {"sides": lambda **point: _sensitivity(**point, factor=1.95)},
                    "no clipping": {"sides": lambda **point: _sensitivity(**point, clipping=False)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/prop-3.1-step",
        where="App. B",
        kind="identity",
        statement=(
            "One iteration costs $2/n^2 (gamma_1^2 \\/ lambda_1^2 + gamma_2^2 \\/ lambda_2^2)$, $T$ iterations $T$ "
            "times that."
        ),
        hypotheses=(
            "Read as the cost from iterates that are not zero, and as a guarantee from zero, where the first gradient "
            "of $beta$ is 0. App. B writes $rho_1, rho_2$ for the per-iteration values."
        ),
        checks=(
            Symbolic(
                residuals=_per_iteration, impostors={"without the half": {"residuals": lambda: _per_iteration(1)}}
            ),
            GaussianPrivacy(
                pairs=_both_starts,
                impostors={"5 % less noise variance": {"pairs": lambda: _both_starts(0.95)}},
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.1",
        where="Remark 3.1",
        kind="identity",
        statement="At fixed $rho_i$ the scales $lambda_i$ increase in $gamma_i$ and $T$ and decrease in $n$.",
        hypotheses="Each with the others fixed.",
        checks=(Symbolic(nonnegative=_monotone, impostors={"increase in n": {"nonnegative": lambda: _monotone(-1)}}),),
    ),
    Claim(
        id="iv/sum-clip-double",
        where="published summary",
        kind="identity",
        statement="Doubling $gamma_i$ doubles the noise scale needed for the same privacy.",
        checks=(
            Symbolic(residuals=_doubling, impostors={"four times": {"residuals": lambda: _doubling(4)}}),
            Agreement(
                facts=_same_cost, impostors={"root of 2": {"facts": lambda rng: _same_cost(rng, float(np.sqrt(2)))}}
            ),
        ),
    ),
)
