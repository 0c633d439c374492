"""Beyond the paper: what several participations of one record cost, and the least that any correlation can reach."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from dpbounds.ftrl.correlations import Correlation, MatrixCorrelation, from_coefficients, nu, optimal_counting
from dpbounds.ftrl.design import Objective, Participation, best, lower_bound, optimum, sensitivity
from dpbounds.ftrl.design.duality import spacing
from dpbounds.ftrl.design.participation import encoder_sensitivity
from dpbounds.ftrl.design.smoother import streamed_bound
from verify.checks import Agreement, Fact, Holds, Search, Times, Within
from verify.checks.domains import Whole
from verify.papers.ftrl.tools.design import (
    patterns,
    random_mechanism,
    random_objective,
    searched_sensitivity,
    weighted_loss,
)
from verify.statements.claims import Claim

OURS = "beyond the paper"
# The alternating ones; rule (i) on signed coefficients is too small for them.
SIGNED = (1.0, -0.9, 0.3)
# Non-negative, but not non-increasing, and wider than the separation.
UNEVEN = (1.0, 0.2, 0.6, 0.1, 0.5, 0.3, 0.2, 0.4)


def _made(kind: str, times: int, separation: int) -> Participation:
    if kind == "cyclic":
        return Participation.cyclic(times, separation)
    return Participation.min_separation(times, separation)


def _by_brute_force(correlation: Correlation, T: int, kind: str, k: int, b: int, rng: np.random.Generator) -> float:
    return searched_sensitivity(correlation.encoder(T), list(patterns(kind, T, k, b)), rng)


def _encoded(c: tuple[float, ...], T: int) -> Correlation:
    """The correlation whose encoder has these first coefficients."""
    series = np.zeros(T)
    for t in range(T):
        series[t] = ((1.0 if t == 0 else 0.0) - sum(c[i] * series[t - i] for i in range(1, min(len(c), t + 1)))) / c[0]
    return from_coefficients(series, allow_unstable_inverse=True)


def _exact(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Rules (i), (ii) and (iii) where they say `exact`."""
    cases: list[tuple[str, Correlation, int, str, int, int]] = [
        ("(i)", optimal_counting(), 13, "min-separation", 4, 3),
        ("(i), the last pattern cut short", nu(0.1), 11, "cyclic", 4, 3),
        ("(i)", nu(0.3), 9, "min-separation", 2, 4),
        ("(ii)", _encoded(SIGNED, 11), 11, "min-separation", 3, 3),
        ("(ii), dense", _scaled(SIGNED, 10, rng), 10, "min-separation", 3, 4),
        ("(iii), two epochs", _encoded(SIGNED, 8), 8, "cyclic", 2, 4),
        ("(iii), two epochs, dense", random_mechanism(rng, 9), 9, "cyclic", 2, 5),
        # Cut by the horizon: the third use is possible for the first offsets only.
        ("(i), cut short", nu(0.1), 8, "min-separation", 3, 3),
        ("(ii), cut short", _encoded(SIGNED, 8), 8, "cyclic", 3, 3),
        ("(iii), cut short", _encoded(UNEVEN, 8), 8, "cyclic", 3, 3),
        ("(iii), two epochs, cut short", _encoded((1.0, -0.9, 0.3, 0.2, -0.5, 0.4), 7), 7, "cyclic", 2, 4),
        ("(iii), cut short, dense", _dense(_encoded(UNEVEN, 8), 8), 8, "cyclic", 3, 3),
        ("one participation", random_mechanism(rng, 7), 7, "min-separation", 1, 3),
    ]
    for label, correlation, T, kind, k, b in cases:
        found = sensitivity(correlation, T, _made(kind, k, b))
        yield Holds(f"rule {label} says that it is exact", found.kind == "exact")
        yield Fact(
            f"{label}: T = {T}, k = {k}, b = {b}", float(found), _by_brute_force(correlation, T, kind, k, b, rng), 1e-7
        )
    known = float(sensitivity(optimal_counting(), 13, Participation.min_separation(4, 3))) ** 2
    yield Fact("square root of the prefix sum, T = 13, b = 3, k = 4", known, 14.1657956, 1e-8)


def _upper(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Where an upper bound is told: (iv) by the largest coefficients that follow, (v) by all patterns; epochs."""
    T, c = 8, np.array([1.0, -0.9, 0.3, 0.2, -0.5, 0.4, 0.1, -0.05])
    lags = np.subtract.outer(np.arange(T), np.arange(T))
    whole = np.where(lags >= 0, c[np.abs(lags)], 0.0)
    later = [max(abs(c[t:])) for t in range(T)]
    total = [sum(later[t - i * 2] for i in range(3) if t >= i * 2) for t in range(T)]
    found = encoder_sensitivity(whole, Participation.min_separation(3, 2))
    yield Holds("rule (iv)", found.kind == "upper" and "(iv)" in found.source)
    yield Fact("rule (iv): sensitivity", float(found), float(np.linalg.norm(total)))
    other = whole + np.diag(np.linspace(0.2, 1.1, T))
    sizes = np.abs(other.T @ other)
    for k, b in ((3, 2), (2, 3), (3, 1)):
        made = list(patterns("min-separation", T, k, b))
        through = [max(sizes[i, list(one)].sum() for one in made if i in one) for i in range(T)]
        square = max(sum(through[i] for i in one) for one in made)
        found = encoder_sensitivity(other, Participation.min_separation(k, b))
        yield Holds(f"rule (v), k = {k}, b = {b}", found.kind == "upper" and "(v)" in found.source)
        yield Fact(f"rule (v), k = {k}, b = {b}: sensitivity", float(found) ** 2, float(square))
    for epochs, steps, separation, stated in (
        (1, 10, None, Participation.single()),
        (3, 10, None, Participation.cyclic(3, 4)),
        (3, 12, None, Participation.cyclic(3, 4)),
        (3, 10, 2, Participation.min_separation(3, 2)),
    ):
        found_of = Participation.of_epochs(epochs, steps, separation)
        yield Holds(f"{epochs} epochs in {steps} steps, separation {separation}", found_of == stated)


def _signs_and_rounding(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Signed cycles that cost most from their second step on; what rounding leaves of zeros, in any units."""
    del rng
    c = np.array([1.0, -0.9, -0.9, -0.9, -0.9, 0.6, -0.9, -0.9])
    lags = np.subtract.outer(np.arange(8), np.arange(8))
    whole = np.where(lags >= 0, c[np.abs(lags)], 0.0)
    sums = [float(np.abs(whole[:, o::2].T @ whole[:, o::2]).sum()) for o in range(2)]
    yield Holds("the second offset costs more", sums[1] > 1.1 * sums[0])
    for label, encoder in (("Toeplitz", whole), ("dense", whole * np.r_[np.ones(7), 1.0 + 1e-14])):
        found = encoder_sensitivity(encoder, Participation.cyclic(4, 2))
        yield Fact(f"{label}: rule (iii), the largest sum", float(found) ** 2, max(sums))
    bands = np.diag([1.0, 2.0, 3.0, 1.5, 0.5, 2.5]) - np.diag([0.5, 0.2, 0.1, 0.4, 0.3], -1)
    bands[5, 0] = 1e-17
    for units in (1e-9, 1.0, 1e9):
        falling = units * np.array([1.0, 0.5, 0.2, -1e-17, 0.0, 0.0])
        places = np.subtract.outer(np.arange(6), np.arange(6))
        found = encoder_sensitivity(
            np.where(places >= 0, falling[np.abs(places)], 0.0), Participation.min_separation(2, 2)
        )
        yield Holds(f"rounding, units {units:g}: rule (i)", found.kind == "exact" and "(i)" in found.source)
        yield Fact(f"rounding, units {units:g}: sensitivity", float(found) / units, np.sqrt(2.98))  # 1, .5, 1.2, .5, .2
        found = encoder_sensitivity(units * bands, Participation.min_separation(2, 3))
        yield Holds(f"rounding, units {units:g}: rule (ii)", found.kind == "exact" and "(ii)" in found.source)
        yield Fact(f"rounding, units {units:g}: columns 3 and 6", float(found) / units, np.sqrt(9.01 + 6.25))


def _dense(correlation: Correlation, T: int) -> Correlation:
    """The same without its structure."""
    encoder = correlation.encoder(T)
    return MatrixCorrelation("dense", T, np.linalg.inv(encoder), encoder)


def _scaled(c: tuple[float, ...], T: int, rng: np.random.Generator) -> Correlation:
    """Bands with columns of different lengths, dense."""
    mechanism = random_mechanism(rng, T, 0.0)
    scale = rng.uniform(0.5, 1.5, T)
    encoder = _encoded(c, T).encoder(T) * scale
    return type(mechanism)("scaled bands", T, np.linalg.inv(encoder), encoder)


def _never_below(seed: float, factor: float = 1.0) -> tuple[float, float]:
    """Any correlation, any pattern: what brute force reaches is at most the sensitivity that is told."""
    rng = np.random.default_rng(int(seed))
    T, k = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    b = int(rng.integers(1, max(2, (T - 1) // max(k - 1, 1)) + 1))
    kind = "cyclic" if k * b >= T and rng.random() < 0.7 else "min-separation"
    if (k - 1) * b + 1 > T:
        k, kind = 1, "min-separation"
    if rng.random() < 0.5:
        correlation: Correlation = random_mechanism(rng, T)
    else:
        correlation = _encoded((1.0, *rng.uniform(-1, 1, int(rng.integers(1, T)))), T)
    told = sensitivity(correlation, T, _made(kind, k, b))
    return factor * _by_brute_force(correlation, T, kind, k, b, rng), float(told) * (1 + 1e-9)


def _understated(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Rule (i) on signed coefficients is too small: opposite gradients in overlapping columns add up."""
    T, k, b = 6, 3, 1
    correlation = _encoded(SIGNED, T)
    shifted = sum(np.pad(correlation.encoder(T)[:, 0], (i * b, 0))[:T] for i in range(k))
    reached = _by_brute_force(correlation, T, "min-separation", k, b, rng)
    stated = float(sensitivity(correlation, T, Participation.min_separation(k, b)))
    share = float(np.linalg.norm(shifted)) / (factor * reached)
    yield Within("rule (i) on (1, -.9, .3) over what brute force reaches", share, most=0.5)
    yield Within("the sensitivity stated over what brute force reaches", stated / (factor * reached), least=1 - 1e-9)


SENSITIVITY = Claim(
    id="ftrl/beyond-design-sensitivity",
    where=f"{OURS}: sensitivity under several participations",
    kind="identity",
    statement=(
        (
            "With $k$ participations $b$ or more apart, non-negative non-increasing coefficients have $s^2 = "
            "norm(sum_(i<k) S^(i b) c)^2$, at most $b$ bands the largest sum of $k$ squared column norms;"
        ),
        (
            "two epochs of $b$ steps in a fixed order the largest $norm(C e_t)^2 + norm(C e_(t+b))^2 + 2 abs(e_t^T C^T "
            "C e_(t+b))$."
        ),
        "Elsewhere the sensitivity told is an upper bound.",
    ),
    remark="For $c = (1, {second}, {third})$, $k = 3$, $b = 1$ the first rule is less than half of the truth.",
    given={"second": SIGNED[1], "third": SIGNED[2]},
    checks=(
        Agreement(decides="ab", facts=_exact, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Search(
            decides="c",
            sides=_never_below,
            box={"seed": Whole(0, 10**9)},
            evaluations={"quick": 60, "full": 1000},
            impostors={"1 % less": {"sides": {"factor": 1.01}}},
        ),
        Agreement(decides="c", facts=_upper, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(decides="ab", facts=_signs_and_rounding, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(decides="c", facts=_understated, impostors={"a tenth": {"facts": {"factor": 0.1}}}),
    ),
)


# --- bounds ---


def _any_mechanism(seed: float, factor: float = 1.0) -> tuple[float, float]:
    """The bound for k participations against random mechanisms and the cyclic optimum disturbed, s by brute force."""
    rng = np.random.default_rng(int(seed))
    k, b = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    T = int(rng.integers((k - 1) * b + 1, k * b + 1))
    kind = "cyclic" if rng.random() < 0.5 else "min-separation"
    run, participation = random_objective(rng, T), _made(kind, k, b)
    mechanism = random_mechanism(rng, T, 0.5 * rng.random())
    if rng.random() < 0.6:
        encoder = optimum(run, Participation.cyclic(k, b), tolerance=0.3).mechanism.encoder(T)
        encoder = encoder * (1.0 + 0.02 * rng.standard_normal(encoder.shape))
        mechanism = type(mechanism)("near the cyclic optimum", T, np.linalg.inv(encoder), encoder)
    reached = _by_brute_force(mechanism, T, kind, k, b, rng) ** 2 * weighted_loss(run, mechanism.matrix(T), 1.0)
    return factor * float(lower_bound(run, participation)), reached


def _cyclic_solved(rng: np.random.Generator, gap: float = 2e-5) -> Iterator[Fact | Within]:
    """The cyclic optimum: its value, by second moments run forward and absolute sums, within 2e-5 of the bound."""
    for name, spectrum in (("1/k", 1 / np.arange(1, 17)), ("two levels", np.r_[np.ones(3), np.full(13, 0.01)])):
        for T, k, b in ((48, 2, 24), (48, 4, 12), (8, 3, 3)):
            run = Objective(spectrum, T, eta=0.3, batch_size=32)
            solved = optimum(run, Participation.cyclic(k, b), tolerance=1e-3)
            encoder = solved.mechanism.encoder(T)
            squares = np.abs(encoder.T @ encoder)
            largest = max(squares[o::b, o::b].sum() for o in range(b))
            value = largest * weighted_loss(run, solved.mechanism.matrix(T), 1.0)
            label = f"{name}, T = {T}, k = {k}"
            yield Fact(f"over the bound, {label}", value / float(solved.bound), 1.0 + gap / 2, gap / 2)
            certified = float(lower_bound(run, Participation.cyclic(k, b), certify=True))
            share = certified / float(solved.bound)
            yield Within(
                f"certified over the bound, {label}", share, least=0.9 if k * b == T else 0.85, most=1.0 + 1e-9
            )
            if k * b == T:
                apart = float(lower_bound(run, Participation.min_separation(k, b)))
                yield Fact(f"min-separation has no smaller bound, {label}", apart / float(solved.bound), 1.0, 1e-5)
    # Twice in 5 steps, 2 apart: more steps can be used at once than by cyclic patterns, 3 apart.
    five, apart = Objective(np.array([1.0, 0.4]), 5, eta=0.5), Participation.min_separation(2, 2)
    shares = float(lower_bound(five, apart)) / float(lower_bound(five, apart, certify=True))
    yield Within("bound over the certified one, twice in 5 steps", shares, least=1.0 - 1e-9)
    # Beyond dense matrices Q = I / b: the nuclear norm at q = 1 / T, times T / b.
    long = Objective(np.ones(1), 2050, eta=0.5)
    alone = float(streamed_bound(long, q=np.full(2050, 1 / 2050)))
    found = float(lower_bound(long, Participation.cyclic(2, 1025)))
    yield Fact("two epochs of 1025 steps, R = I", found, 2.0 * alone, 1e-6)


def _even(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The largest probability with which random patterns can use every step alike, by linear programming over all
    patterns of at most k steps: one over the spacing c of Q = I / c.
    """
    for T, k, b in ((5, 2, 2), (5, 3, 2), (6, 2, 2), (7, 2, 3), (7, 3, 2), (8, 3, 2), (8, 2, 4), (9, 4, 2)):
        for kind in ("min-separation", "cyclic") if k * b >= T else ("min-separation",):
            used = np.array([np.isin(np.arange(T), steps) for steps in patterns(kind, T, k, b)]).T
            # Largest p with sum_pi weight_pi [t in pi] >= p at all t, weights of sum 1.
            above = np.column_stack([-used.astype(float), np.ones(T)])
            whole = np.append(np.ones(used.shape[1]), 0.0)[None, :]
            aim = np.append(np.zeros(used.shape[1]), -1.0)
            found = linprog(aim, A_ub=above, b_ub=np.zeros(T), A_eq=whole, b_eq=[1.0])
            label = f"1 / c, {kind}, T = {T}, k = {k}, b = {b}"
            yield Fact(label, factor / float(spacing(_made(kind, k, b), T)), -found.fun, 1e-9)


def _certified(seed: float, factor: float = 1.0) -> tuple[float, float]:
    """The certified bound where fewer participations than fit, against the fitted noise, valued by brute force."""
    rng = np.random.default_rng(int(seed))
    k, b = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    T = int(rng.integers((k - 1) * b + 1, k * b + 4))
    run, participation = random_objective(rng, T), Participation.min_separation(k, b)
    mechanism = best(run, participation, buffers=1).mechanism
    reached = _by_brute_force(mechanism, T, "min-separation", k, b, rng) ** 2
    power = weighted_loss(run, mechanism.matrix(T), 1.0)
    return factor * float(lower_bound(run, participation, certify=True)), reached * power


REPEATED = Claim(
    id="ftrl/beyond-design-repeated-bound",
    where=f"{OURS}: least loss under several participations",
    kind="inequality",
    statement=(
        (
            "For every mixture $Q$ of $k times k$ correlation matrices on the steps $o, o + b, ...$, every mechanism "
            r'has $s(C)^2 op("tr")(G (C^T C)^(-1)) >= (op("tr") (Q^(1\/2) G Q^(1\/2))^(1\/2))^2$, for cyclic '
            "participation and for separation $b$;"
        ),
        "for cyclic participation the best $Q$ gives the best mechanism.",
        (
            r"$Q = I \/ c$ is such a mixture for $c = b$, for separation $b$ for $c = max(b, T \/ k)$, and for no "
            "smaller $c$."
        ),
    ),
    checks=(
        Search(
            decides="a",
            sides=_any_mechanism,
            box={"seed": Whole(0, 10**9)},
            evaluations={"quick": 40, "full": 1000},
            impostors={"20 % more": {"sides": {"factor": 1.2}}},
        ),
        Agreement(decides="b", facts=_cyclic_solved, impostors={"gap 1e-8": {"facts": {"gap": 1e-8}}}),
        Agreement(decides="c", facts=_even, impostors={"1 % more": {"facts": {"factor": 1.01}}}),
        Search(
            decides="a",
            sides=_certified,
            box={"seed": Whole(0, 10**9)},
            evaluations={"quick": 30, "full": 500},
            impostors={"a third more": {"sides": {"factor": 1.33}}},
        ),
    ),
)
