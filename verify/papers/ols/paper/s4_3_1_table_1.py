"""Section 4.3: Table 1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import sympy

from dpbounds.ols import Features, bounds, regime
from verify.checks import Agreement, Fact, Holds, Search, Symbolic
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


class Row(NamedTuple):
    """A row of Table 1 as printed."""

    multiplier: float
    scale: float
    eigenvalue: float
    additional: float


def _rows(data: Features, epsilon: float, delta: float, failure: float, T: int, C_Y: float) -> dict[str, Row]:
    """Written from the table."""
    log_delta, theta = math.log(1 / delta), data.theta_squared
    assp = math.sqrt(data.d * math.log(data.d**2 / failure) * log_delta) / epsilon
    mix = math.sqrt(max(data.d, math.log(1 / failure)) * log_delta) / epsilon
    hess = math.sqrt(T * max(data.d, math.log(T / failure)) * log_delta) / epsilon
    ratio = data.residual / (data.joint_lambda_min * (1 + theta))
    return {
        "AdaSSP": Row(assp, theta + C_Y**2, assp / data.lambda_min, 0.0),
        "LinMix": Row(mix, (1 + theta) * (1 + C_Y**2), ratio, data.residual - data.joint_lambda_min * (1 + theta)),
        "IHM": Row(hess, theta + C_Y**2, hess / data.lambda_min, 4.0**-T * data.signal),
    }


# epsilon, delta, failure, T, C_Y, lambda^X, lambda^XY over its largest value, L(theta*), ||X theta*||², ||theta*||²
CASES = (
    (0.5, 1e-6, 1e-7, 3, 1.0, 0.3, 0.2, 5.0, 20.0, 1.5),
    (2.0, 1e-4, 1e-5, 2, 0.4, 900.0, 0.9, 5000.0, 700.0, 0.3),
    (1.0, 1e-8, 1e-9, 4, 3.0, 40.0, 0.7, 800.0, 90.0, 4.0),
    (8.0, 1e-3, 1e-2, 1, 1.5, 2.0, 1.0, 60.0, 9.0, 0.02),
)
DIMENSIONS = (1, 6, 40)


def _data(case: tuple[float, ...], d: int) -> Features:
    *_, least, share, residual, signal, theta = case
    joint = share * min(least, residual / (1 + theta))
    return Features(
        n=10_000, d=d, lambda_min=least, joint_lambda_min=joint, residual=residual, signal=signal, theta_squared=theta
    )


def _assembled(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Each row of the table against (14), (15), (4): the eigenvalue term counts in the second branch, the additional
    term of linear mixing in the first; and `regime` has the same entries.
    """
    for case in CASES:
        epsilon, delta, failure, T, C_Y = case[0], case[1], case[2], int(case[3]), case[4]
        for d in DIMENSIONS:
            data = _data(case, d)
            printed = _rows(data, epsilon, delta, failure, T, C_Y)
            found = regime(data, epsilon, delta, failure=failure, steps=T, outcome_bound=C_Y)
            proved = _proved(data, epsilon, delta, failure, T, C_Y)
            for one in found.guarantees:
                row = printed[one.method]
                level = row.multiplier * (1 + C_Y**2) if one.method == "LinMix" else row.multiplier
                second = (data.joint_lambda_min if one.method == "LinMix" else data.lambda_min) >= level
                additional = 0.0 if one.method == "LinMix" and second else row.additional
                total = row.multiplier * row.scale * (row.eigenvalue if second else 1.0) + additional
                label = f"{one.method}, epsilon = {epsilon:g}, d = {d}, branch {1 + second}"
                yield Fact(label, [proved[one.method], one.total], [factor * total] * 2, 1e-12)
                parts = [one.multiplier, one.scale, one.eigenvalue_term, one.additional]
                stated = [row.multiplier, row.scale, row.eigenvalue if second else 1.0, additional]
                yield Fact(f"entries, {label}", np.array(parts) + 1, np.array(stated) + 1, 1e-12)


def _proved(data: Features, epsilon: float, delta: float, failure: float, T: int, C_Y: float) -> dict[str, float]:
    """(14), (15) and (4)."""
    assp = bounds.adassp_multiplier(epsilon, delta, failure, data.d)
    mix = bounds.mixing_multiplier(epsilon, delta, failure, data.d)
    hess = bounds.hessian_multiplier(epsilon, delta, failure, data.d, T)
    return {
        "AdaSSP": float(bounds.adassp(assp, data, outcome_bound=C_Y)),
        "LinMix": float(bounds.linear_mixing(mix, data, outcome_bound=C_Y)),
        "IHM": float(bounds.hessian_mixing(hess, data, steps=T, outcome_bound=C_Y)),
    }


def _properties(rng: np.random.Generator, size: float = 1.0) -> Iterator[Fact | Holds]:
    """What Section 4.3 names, at data that have it and data that just have not; and the least guarantee."""
    mix = math.sqrt(max(4, math.log(1e6)) * math.log(1e5))
    level, theta = 2 * mix, 1.0
    common = {"n": 10_000, "d": 4, "signal": 10.0}
    cases = {
        "favourable to LinMix": (
            Features(lambda_min=0.9, joint_lambda_min=0.1, residual=1.0, theta_squared=1.0, **common),
            "01000",
        ),
        "large residual": (_large_residual(level, theta, 1.01 * size, common), "10000"),
        "residual just not large": (_large_residual(level, theta, 0.99 * size, common), "01000"),
        "conditioned in X alone": (
            Features(lambda_min=1e4, joint_lambda_min=0.99 * size * level, residual=1e3, theta_squared=1.0, **common),
            "10110",
        ),
        "conditioned in both": (
            Features(lambda_min=1e4, joint_lambda_min=1.01 * size * level, residual=1e3, theta_squared=1.0, **common),
            "10100",
        ),
        "small theta": (
            Features(lambda_min=0.9, joint_lambda_min=0.1, residual=1.0, theta_squared=0.09, **common),
            "00001",
        ),
        "lambda^X = 1": (
            Features(lambda_min=1.0, joint_lambda_min=0.1, residual=1.0, theta_squared=1.0, **common),
            "00000",
        ),
        "large theta": (
            Features(lambda_min=0.9, joint_lambda_min=0.1, residual=1.2, theta_squared=11.0, **common),
            "00000",
        ),
    }
    names = ("large_residual", "for_linear_mixing", "well_conditioned", "only_x_conditioned", "small_theta")
    for label, (data, flags) in cases.items():
        found = regime(data, 1.0, 1e-5, failure=1e-6)
        yield Fact(label, [bool(getattr(found, name)) for name in names], [flag == "1" for flag in flags], 0)
        totals = {one.method: one.total for one in found.guarantees}
        yield Fact(f"expected, {label}", found.expected, min(totals, key=totals.__getitem__), 0)
    # C_Y = 2: small below .4, about equal from .4 to 40.
    for theta, small, mixing in ((0.39, True, False), (0.41, False, True), (39.0, False, True), (41.0, False, False)):
        data = Features(lambda_min=0.9, residual=1.0, theta_squared=theta, **common)
        found = regime(data, 1.0, 1e-5, failure=1e-6, outcome_bound=2.0)
        yield Holds(f"C_Y = 2, {theta:g}: small or not", found.small_theta is small)
        yield Holds(f"C_Y = 2, {theta:g}: for LinMix or not", found.for_linear_mixing is mixing)
    # Well-conditioned for the larger of gamma_ASSP (27 at d = 4, 12 at d = 1) and gamma_hess, which is 22.
    hess = math.sqrt(3 * math.log(3e6) * math.log(1e5))
    for d, larger in ((4, math.sqrt(4 * math.log(16e6) * math.log(1e5))), (1, hess)):
        for factor in (0.99, 1.01):
            data = Features(lambda_min=factor * size * larger, residual=1e3, theta_squared=1.0, **common | {"d": d})
            found = regime(data, 1.0, 1e-5, failure=1e-6)
            label = f"d = {d}, lambda^X at {factor:g} of what is asked for"
            yield Holds(label, found.well_conditioned is (factor > 1) and found.only_x_conditioned is (factor > 1))
    # (15) there: both sides of lambda^XY = 5 gamma_mix.
    for factor, below in ((0.99, True), (1.01, False)):
        joint, residual = factor * size * 5 * mix, 1e5
        data = Features(lambda_min=1e4, joint_lambda_min=joint, residual=residual, theta_squared=0.3, **common)
        (row,) = (
            one for one in regime(data, 1.0, 1e-5, failure=1e-6, outcome_bound=2.0).guarantees if one.method == "LinMix"
        )
        term, more = (1.0, residual - joint * 1.3) if below else (residual / (joint * 1.3), 0.0)
        told = [row.eigenvalue_term, row.additional, row.scale]
        for name, one, stated in zip(("term", "additional", "scale"), told, (term, more, 6.5), strict=True):
            yield Fact(f"C_Y = 2, {factor:g}: {name}", one, stated, 1e-12)


def _large_residual(level: float, theta: float, share: float, common: dict[str, Any]) -> Features:
    return Features(
        lambda_min=0.9, joint_lambda_min=0.1, residual=share * level * (1 + theta), theta_squared=theta, **common
    )


def _sides_of_table(joint: float, least: float, theta: float, rest: float, factor: float = 1.0) -> tuple[Any, Any]:
    """0 <= the additional term of LinMix, 1 <= its eigenvalue term, for all that Proposition 3 allows."""
    residual = rest + np.maximum(joint, 0) * (1 + theta)
    additional = residual - factor * joint * (1 + theta)
    term = residual / (joint * (1 + theta))
    return np.maximum(-additional, 1 - term), 1e-12 * residual


def _entries(*, extra: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """Multiplier times scale times eigenvalue term and additional term against (14), (15), (4), branch by branch; t =
    ||theta*||².
    """
    g, t, C_Y, lam, L, rest = sympy.symbols("g t C_Y lambda L S", positive=True)
    of_x, of_both = t + C_Y**2, (1 + t) * (1 + C_Y**2)
    level = g * (1 + C_Y**2)
    for label, more in (("AdaSSP", sympy.Integer(0)), ("IHM", rest)):
        yield f"{label}, first branch", g * of_x + more - (more + g * (C_Y**2 + t) * (1 + extra))
        yield f"{label}, second branch", g * of_x * g / lam + more - (more + g * (C_Y**2 + t) * g / lam)
    yield "LinMix, first branch", g * of_both + L - lam * (1 + t) - (level * (1 + t) + L - lam * (1 + t))
    yield "LinMix, second branch", g * of_both * L / (lam * (1 + t)) - level * L / lam


def _entries_signs() -> Iterator[tuple[str, sympy.Expr]]:
    """L = lambda^XY (1 + t) + c, by Proposition 3."""
    t, lam, c = sympy.symbols("t lambda c", positive=True)
    yield "additional term of LinMix", lam * (1 + t) + c - lam * (1 + t)
    yield "its eigenvalue term less 1", (lam * (1 + t) + c) / (lam * (1 + t)) - 1


TAB_1 = Claim(
    id="ols/tab1",
    where="Table 1",
    equation="Table 1",
    kind="identity",
    statement=(
        "Guarantee = multiplier $times$ scale $times$ eigenvalue term + additional term.",
        r'AdaSSP: $gamma_"ASSP"$, $norm(theta^*)^2 + C_Y^2$, $gamma_"ASSP" \/ lambda^X_min$, 0.',
        (
            r'LinMix: $gamma_"mix"$, $(1 + norm(theta^*)^2) (1 + C_Y^2)$, $L(theta^*) \/ (lambda^(X Y)_min (1 + '
            "norm(theta^*)^2))$, $L(theta^*) - lambda^(X Y)_min (1 + norm(theta^*)^2)$."
        ),
        r'IHM: $gamma_"hess"$, $norm(theta^*)^2 + C_Y^2$, $gamma_"hess" \/ lambda^X_min$, $4^(-T) norm(X theta^*)^2$.',
    ),
    remark=(
        "Branch by branch: the eigenvalue term is that of the second branch and 1 in the first, the additional term of "
        "LinMix that of the first; by Proposition 3 it is not negative and its eigenvalue term at least 1. Section 4.3 "
        "writes $C^2$ for $C_Y^2$ in the scale of (4), which is equal for $C = C_Y$."
    ),
    checks=(
        Symbolic(
            decides="abcd",
            residuals=_entries,
            nonnegative=_entries_signs,
            impostors={"twice the scale": {"residuals": {"extra": 1}}},
        ),
        Agreement(
            decides="abcd",
            facts=_assembled,
            impostors={"0.1 % more": {"facts": {"factor": 1.001}}},
            role="control",
        ),
        Agreement(
            decides="a", facts=_properties, impostors={"a level 3 % higher": {"facts": {"size": 1.03}}}, role="control"
        ),
        Search(
            decides="c",
            sides=_sides_of_table,
            box={
                "joint": Real(1e-3, 1e3, "log"),
                "least": Real(1e-3, 1e3, "log"),
                "theta": Real(0.0, 10.0),
                "rest": Real(0.0, 10.0),
            },
            vectorised=True,
            impostors={"1 % more of lambda": {"sides": {"factor": 1.01}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "With the eigenvalue term in the second branch, 1 in the first, and the additional term of LinMix in the "
            "first, the products are (14), (15) and (4) with constants 1, term by term; Proposition 3 "
            "(`ols/prop-3`) gives the two signs."
        ),
    ),
)
