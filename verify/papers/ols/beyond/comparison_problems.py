"""Beyond the paper: what all methods are compared on, an assumed design or a data set, and what is read off it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from dpbounds.ols import AssumedDesign, bounded_data, compare
from dpbounds.ols.risk import LARGEST_NOISE, NoiseLaw, within_leading_order
from simulators.ols import assumed_records, rehearsals, scaled_records
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

DESIGNS = (
    AssumedDesign(n=2000, d=3),
    AssumedDesign(n=900, d=5, lambda_min=2.0, theta_norm=0.7, residual=0.1),
    AssumedDesign(n=400, d=1, lambda_min=20.0),
    AssumedDesign(n=500, d=2, spectrum=(60.0, 30.0), residual=0.0),
)
C_X, C_Y = 2.0, 3.0


def _designs(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Eigenvalues in geometric progression with the sum n/4, theta* in equal parts, ||Y||² by Pythagoras."""
    for design in map(replace, DESIGNS):  # a copy computes its eigenvalues itself
        label, values, gram = f"n = {design.n}, d = {design.d}", design.eigenvalues, design.gram
        if design.spectrum is None:
            yield Fact(f"tr X'X, {label}", float(values.sum()), factor * design.n / 4, 1e-9)
            ratios = values[1:] / values[:-1]
            yield Fact(f"one ratio, {label}", ratios, np.full(design.d - 1, ratios[:1].sum()), 1e-9)
        if design.lambda_min is not None and design.d > 1:
            yield Fact(f"the least, {label}", float(values[0]), factor * design.lambda_min, 1e-12)
        theta, part = np.linalg.solve(gram.A, gram.b), factor * design.theta_norm / math.sqrt(design.d)
        squared = float(gram.b @ theta) + design.n * design.residual
        yield Fact(f"theta*, {label}", theta, np.full(design.d, part), 1e-12)
        yield Fact(f"||Y||², {label}", gram.y_squared, factor * squared, 1e-12)


def _raw() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((300, 3)) * (1.5, 0.5, 0.01)
    return X, X @ (1.0, -2.0, 3.0) + rng.standard_normal(300)


def _by_hand(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Record by record: shortened to the bounds, then divided by them."""
    rows = [x / max(math.sqrt(sum(x**2)), C_X) for x in X]
    return np.array(rows), np.array([min(max(y, -C_Y), C_Y) / C_Y for y in Y])


def _data(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Records in units of their bounds, and what is read off them."""
    X, Y = _raw()
    clipped = bounded_data(X, Y, row_bound=C_X, outcome_bound=C_Y, beyond="clip")
    rows, outcome = _by_hand(X, Y)
    yield Fact("rows", clipped.regressors, factor * rows, 1e-12)
    yield Fact("outcomes", clipped.outcome, factor * outcome, 1e-12)
    yield Fact("bounds that records exceed", clipped.shortened, ("row_bound", "outcome_bound"), 0)
    own = bounded_data(X, Y)
    longest, largest = max(math.sqrt(sum(x**2)) for x in X), max(map(abs, Y.tolist()))
    yield Fact("own bounds", [own.row_bound, own.outcome_bound], [factor * longest, factor * largest], 1e-12)
    yield Fact("bounds that none exceed", own.shortened, (), 0)
    for label, data, A, b, squared in (
        ("clipped", clipped, rows.T @ rows, rows.T @ outcome, float(outcome @ outcome)),
        ("own bounds", own, X.T @ X / longest**2, X.T @ Y / longest / largest, float(Y @ Y) / largest**2),
    ):
        gram = data.gram
        yield Fact(f"X'X, {label}", gram.A, factor * A, 1e-10)
        yield Fact(f"X'Y, {label}", gram.b, factor * b, 1e-10)
        yield Fact(f"||Y||² and n, {label}", [gram.y_squared, gram.n], [factor * squared, len(Y)], 1e-12)
        yield Fact(f"||X theta*||², {label}", gram.signal, factor * float(b @ np.linalg.solve(A, b)), 1e-8)
        yield Fact(f"theta*, {label}", data.theta_star, factor * np.linalg.solve(A, b), 1e-8)


def _tables(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Risks in the data's units, per record and over that of theta = 0; the same at other budgets."""
    X, Y = _raw()
    found = compare(bounded_data(X, Y), 1.0)
    fit = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    zero = float(fit @ fit)
    scale = max(abs(Y)) ** 2
    residual = float((Y - fit) @ (Y - fit)) / 300 / scale
    yield Fact("mean residual", found.regime.features.mean_residual, factor * residual, 1e-9)
    longest = max(math.sqrt(sum(x**2)) for x in X)
    joint = np.linalg.svd(np.column_stack([X / longest, Y / max(abs(Y))]), compute_uv=False)[-1] ** 2
    yield Fact("lambda^XY", found.regime.features.joint_lambda_min, factor * joint, 1e-9)
    yield Fact("delta and failure", [found.delta, found.failure], [300.0**-2, 300.0**-2 / 10], 1e-12)
    for row, compared in zip(found.table(), found.rows, strict=True):
        risk = factor * scale * float(compared.risk)
        label = f"{compared.method}, {compared.accounting}"
        yield Fact(
            label, [row["risk"], row["risk_per_record"], row["over_zero"]], [risk, risk / 300, risk / zero], 1e-8
        )
        first = compared.accounting == "tight" and compared.method == found.recommended.method
        yield Holds(f"recommended where it should be, {label}", row["recommended"] == first)
    curves = found.curves(3)
    for place, epsilon in enumerate((0.1, 1.0, 10.0)):
        for one in compare(found.problem, epsilon, found.delta, accountings=("tight",)).rows:
            at, risks = curves[one.method]
            label = f"{one.method} at epsilon = {epsilon:g}"
            yield Fact(label, [at[place], risks[place]], [epsilon, factor * scale * float(one.risk)], 1e-9)


def _larger_budgets(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """The first doubling of epsilon at which some method has at most half the risk of theta = 0, six at most."""
    for design, start in (
        (AssumedDesign(n=300, d=20), 0.05),
        (AssumedDesign(n=300, d=20), 0.2),
        (AssumedDesign(n=30, d=5), 0.001),
    ):
        found = compare(design.gram, start)
        yield Holds(f"nothing is useful, n = {design.n}, epsilon = {start:g}", not found.useful)
        label = f"n = {design.n}, epsilon = {start:g}"
        doubled = (2.0**power * start for power in range(1, 7))
        first = next((epsilon for epsilon in doubled if _best(design, epsilon)[1] <= 0.5), 64 * start)
        yield Fact(f"epsilon, {label}", found.worthwhile_epsilon, factor * first, 1e-12)
        method, share = _best(design, first)
        worthwhile = "zero" if found.worthwhile is None else found.worthwhile.method
        yield Fact(f"method, {label}", worthwhile, method if share <= 0.5 else "zero", 0)
    few = compare(AssumedDesign(n=30, d=5).gram, 0.001)
    yield Holds("where nothing is useful that is said", "None of these is useful" in few.remedy)


@cache
def _best(design: AssumedDesign, epsilon: float) -> tuple[str, float]:
    """The method, and its predicted risk over that of theta = 0."""
    rows = compare(design.gram, epsilon, accountings=("tight",)).rows
    best = min(rows, key=lambda row: (6 if row.method == "PRN" else 1) * float(row.risk))
    return best.method, float(best.risk) / design.gram.signal


def _records(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """Records of the design: rows of one length, X'X on its diagonal, residuals of one size; those of the data."""
    for design in DESIGNS[:3]:
        label, records = f"n = {design.n}, d = {design.d}", assumed_records(design, seed=3)
        yield Fact(f"diagonal of X'X, {label}", np.diag(records.gram), factor * design.eigenvalues, 1e-9)
        size = np.linalg.norm(records.regressors, axis=1)
        yield Fact(f"lengths, {label}", size, np.full(design.n, factor * 0.5), 1e-9)
        residuals = np.abs(records.outcome - records.regressors @ design.theta)
        yield Fact(f"residuals, {label}", residuals, np.full(design.n, factor * math.sqrt(design.residual)), 1e-9)
        products = records.gram / np.sqrt(np.outer(design.eigenvalues, design.eigenvalues))
        # 6 deviations of a mean of n products of signs.
        yield Within(
            f"correlations, {label}", float(np.abs(products - np.eye(design.d)).max()), most=6 / math.sqrt(design.n)
        )
    X, Y = _raw()
    data = bounded_data(X, Y, row_bound=C_X, outcome_bound=C_Y, beyond="clip")
    rows, outcome = _by_hand(X, Y)
    records = scaled_records(data)
    yield Fact("records of the data", records.regressors, factor * rows, 1e-12)
    yield Fact("outcomes of the data", records.outcome, factor * outcome, 1e-12)
    runs = rehearsals(compare(data, 1.0), records)
    yield Holds("every method but theta = 0 is simulated", set(runs) == _simulated_pairs())


def _simulated_pairs() -> set[tuple[str, str]]:
    methods = ("IHM", "IHM-ridge", "LinMix", "AdaSSP", "AdaSSP-iso", "DP-GD")
    both = {(method, accounting) for method in methods for accounting in ("tight", "experiments")}
    return both | {("PRN", "tight"), ("TAP", "tight")}


def _reliable(rng: np.random.Generator, limit: float = LARGEST_NOISE) -> Iterator[Holds]:
    """AdaSSP's leading order is relied on where the noise matrix, as drawn, is below 0.4 of the least eigenvalue of A
    and the mean ridge, on both sides.
    """
    d, draws = 40, 20
    upper = np.triu(rng.standard_normal((draws, d, d)), 1)
    diagonal = rng.standard_normal((draws, d))[:, :, None] * np.eye(d)
    gram = AssumedDesign(n=1000, d=d, spectrum=(10.0,) * d).gram
    ridge = NoiseLaw(np.array([0.0, 4.0]), np.array([0.25, 0.75]))
    for iso in (False, True):
        drawn = upper / math.sqrt(2) if iso else upper
        size = float(np.linalg.norm(drawn + np.swapaxes(drawn, 1, 2) + diagonal, 2, axis=(1, 2)).mean())
        for share in (0.35, 0.5, 0.9):
            found = within_leading_order(gram, ridge=ridge, gram=share * 13.0 / size, iso=iso)
            word = "relied on" if share <= limit else "not relied on"
            label = f"AdaSSP{', iso' if iso else ''} is {word} where the noise is {share} of the least eigenvalue"
            yield Holds(label, found == (share <= limit))


MORE = {"0.1 % more": {"facts": {"factor": 1.001}}}

BEYOND_COMPARISON_PROBLEMS = Claim(
    id="ols/beyond-comparison-problems",
    where="Beyond the paper: what the methods are compared on",
    kind="identity",
    statement=(
        (
            r"What the methods are compared on: a design of $n$ rows of length $1\/2$ with a geometric spectrum, or "
            "records divided by their bounds;"
        ),
        "risks of the comparison in units of the data, over that of $theta = 0$, at other budgets;",
        "and the records that are simulated.",
    ),
    setting="Four designs, and 300 records of 3 columns with bounds of their own and with bounds that some exceed.",
    checks=(
        Agreement(decides="a", facts=_designs, impostors=MORE),
        Agreement(decides="a", facts=_data, impostors=MORE),
        Agreement(decides="b", facts=_tables, impostors=MORE),
        Agreement(decides="b", facts=_larger_budgets, impostors=MORE),
        Agreement(decides="c", facts=_records, impostors=MORE),
        Agreement(decides="b", facts=_reliable, impostors={"a limit of 1": {"facts": {"limit": 1.0}}}),
    ),
)
