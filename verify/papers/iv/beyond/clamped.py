"""Beyond the paper: what clipping residuals does to an instrument's moment, and the set stretched by what it may be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import bdtrik
from scipy.stats import expon, norm
from scipy.stats import t as student

from dpbounds.iv.clamped import RhoLimits, attenuation, attenuation_limits, clipped_shares, limits, stretch
from dpbounds.iv.confidence import (
    ClippedCounts,
    MomentRelease,
    anderson_rubin_curve,
    confidence_set,
    point_estimate,
    split_level,
    stretched_curve,
    stretched_point,
    stretched_set,
)
from verify.checks import Agreement, Fact, Holds, Symbolic, Times, Within
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- the factor that clipping leaves ---


def _paths(sides: int = 2) -> Iterator[tuple[str, Any]]:
    """Of a path from e to e + d, what clipping leaves of its length: m. Where it starts and ends, in positive symbols;
    m >= 0, m <= d, m >= d (1 - [end above] - [start below]), m <= d (1 - [start above] - [end below]).
    """
    import sympy

    p, q, C = sympy.symbols("p q C", positive=True)
    for label, left, d, (start_above, start_below, end_above, end_below) in (
        ("below", 0, p, (0, 1, 0, 1)),
        ("from below inside", q, p + q, (0, 1, 0, 0)),
        ("from below above", 2 * C, p + 2 * C + q, (0, 1, 1, 0)),
        ("inside", p, p, (0, 0, 0, 0)),
        ("from inside above", p, p + q, (0, 0, 1, 0)),
        ("above", 0, p, (1, 0, 1, 0)),
    ):
        yield f"{label}: not longer", d - left
        yield f"{label}: not turned", left
        yield f"{label}: least", left - d * (1 - end_above - (start_below if sides == 2 else 0))
        yield f"{label}: most", d * (1 - start_above - end_below) - left


def _moments() -> Iterator[tuple[Any, ...]]:
    """Binary z: E (z - P) r = P (1 - P) (E[r | 1] - E[r | 0]); the ratio of two attenuated moments, and at it."""
    import sympy

    P, r0, r1, zx, delta, outcome, regressor = sympy.symbols("P r0 r1 zx delta lambda_y lambda_x", positive=True)
    yield "moment of two arms", P * (1 - P) * r1 + (1 - P) * (0 - P) * r0, P * (1 - P) * (r1 - r0)
    t = outcome / regressor * delta
    yield "ratio of the moments", outcome * delta * zx / (regressor * zx), t
    yield "moment at the ratio", outcome * delta * zx - t * regressor * zx


def _discrete_facts(rng: np.random.Generator, sides: int = 2) -> Iterator[Within | Fact]:
    """Laws on a few points, enumerated: lambda of (e, D) within its limits, for two arms and for more values of z."""
    for number in range(60):
        atoms, sign = 4, (1, -1)[number % 2]
        weights, e = rng.dirichlet(np.ones(atoms)), rng.normal(0, 2, atoms)
        constant = number % 3 == 0
        D = np.full(atoms, 1.3) if constant else rng.uniform(0, 2, atoms)
        mean, H = float(weights @ D), 1.0 if constant else float(D.max() / (weights @ D))
        delta, C = sign * rng.uniform(0.2, 2), rng.uniform(0.3, 3)
        z, chances = (np.arange(2.0), np.array([0.6, 0.4])) if number < 40 else (np.arange(4.0) ** 2, np.full(4, 0.25))
        moved = e[:, None] + delta * D[:, None] * z
        r, centred = np.clip(moved, -C, C), z - chances @ z
        value = float(weights @ r @ (chances * centred)) / (delta * mean * float(chances @ (centred * z)))
        yield Within(f"lambda, law {number}", value, -1e-12, 1 + 1e-12)
        if len(z) > 2:
            continue
        above, below = (np.minimum(weights @ (side * moved >= C), 1.0) for side in (1, -1))
        low, high = attenuation_limits(above, below if sides == 2 else np.zeros(2), H)
        yield Within(f"lambda less its lower limit, law {number}", value - low, least=-1e-12)
        yield Within(f"its upper limit less lambda, law {number}", high - value, least=-1e-12)


def _law_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The shipped average against E[clip(e + s) - clip(e)] / s by its density, and shares by theirs."""
    laws: dict[str, Any] = {"normal": norm(), "exponential": expon(-1), "t": student(3)}
    for name, law in laws.items():
        for C, s, centre in ((1.0, 0.5, 0.0), (2.0, 1.0, 0.6), (1.5, -0.8, 0.0), (0.7, 4.0, -0.3)):
            found, shares = attenuation(law, C, s, centre), clipped_shares(law, C, s, centre)

            reach = C + abs(s) + abs(centre)  # beyond, both ends of the path are clipped on one side
            e = np.linspace(max(float(law.ppf(0)), -reach), reach, 100_001)
            gain = np.clip(e - centre + s, -C, C) - np.clip(e - centre, -C, C)
            brute = float(np.trapezoid(gain * law.pdf(e), e))
            label = f"{name}, C = {C:g}, s = {s:g}, centre {centre:g}"
            yield Fact(f"lambda, {label}", found.value, brute / s, 1e-6)
            above = [1 - law.cdf(C + centre - at) for at in (0.0, s)]
            below = [law.cdf(centre - C - at) for at in (0.0, s)]
            yield Fact(f"shares, {label}", [*shares.above, *shares.below], [*above, *below], 1e-9)
            yield Fact(f"lower limit, {label}", found.lower, max(0.0, 1 - max(above) - max(below)), 1e-12)
            yield Fact(f"upper limit, {label}", found.upper, 1 - min(above) - min(below), 1e-12)
    yield Fact("no shift", attenuation(norm(), 1.2, 0.0).value, math.erf(1.2 / math.sqrt(2)), 1e-12)
    # A path of 1000 widths of the clip, and a law that is narrow beside both: 2 C of it, C from the middle on.
    for centre, s, inside in (
        (0.0, 3e3, 1.5),
        (-40.0, 3e3, 0.0),
        (40.0, 3e3, 3.0),
        (-40.0, -3e3, 3.0),
        (0.0, -3e3, 1.5),
    ):
        value = attenuation(norm(700, 1e-6), 1.5, s, 700 + centre).value
        yield Fact(f"a narrow law, s = {s:g}, centre {centre:g}", value, inside / 3e3, 1e-9)
    for unit in (1e-5, 1e5):
        value = attenuation(norm(0, 2 * unit), unit, 3 * unit).value
        yield Fact(f"in units of {unit:g}", value, _normal_average(2.0, 1.0, 3.0), 1e-9)


def _normal_average(deviation: float, C: float, s: float) -> float:
    """lambda of a normal law: the integral of its distribution function is x Phi(x) + phi(x)."""

    def integral(x: float) -> float:
        return x * NormalDist().cdf(x) + NormalDist().pdf(x)

    ends = [integral((side * C - at) / deviation) for side in (1, -1) for at in (0.0, s)]
    return (ends[0] - ends[1] - ends[2] + ends[3]) * deviation / s


ATTENUATION = Claim(
    id="iv/beyond-clamped-attenuation",
    where="private confidence sets, clamped values",
    kind="number",
    statement=(
        (
            'For $z$ independent of $(e, D)$, $D >= 0$, any law of the two, and $r = op("clip")(e + delta D z, '
            "plus.minus C)$ the moment is $EE tilde(z) r = lambda delta EE tilde(z) x$ with $0 <= lambda <= 1$, where "
            "$x = x_0 + D z$ and $tilde(z) = w(z) - EE w(z)$, $w$ increasing;"
        ),
        (
            "for $z$ in ${0, 1}$ and constant $D$, with shares $f_a^plus$ of $r$ at $C$ and $f_a^minus$ at $-C$ in the "
            "arms $z = a$, $1 - max f^plus - max f^minus <= lambda <= 1 - min f^plus - min f^minus$;"
        ),
        "for $D <= H EE D$, $lambda >= 1 - H (max f^plus + max f^minus)$;",
        (
            "with $x$ clamped too, $EE tilde(z) r = t EE tilde(z) tilde(x)$ exactly for $t = delta lambda_y \\/ "
            "lambda_x$;"
        ),
        "for constant $D$ and $s = delta D$, $lambda = 1\\/s integral_0^s PP(abs(e + u) <= C) d u$.",
    ),
    checks=(
        Symbolic(
            decides="abcd",
            residuals=_moments,
            nonnegative=_paths,
            impostors={"one side forgotten": {"nonnegative": {"sides": 1}}},
        ),
        Agreement(
            decides="abc",
            role="control",
            facts=_discrete_facts,
            impostors={"one side forgotten": {"facts": {"sides": 1}}},
        ),
        Agreement(decides="e", facts=_law_facts, impostors={"1e-5 off": {"facts": Times(1 + 1e-5)}}),
    ),
    derivation=Derivation(
        text=(
            'Let $m = op("clip")(e + d) - op("clip")(e)$ be what clipping leaves of a path of length $d = delta D$ '
            "(for $delta < 0$ turn signs). In all six cases of where it starts and ends it is proved that $0 <= m <= "
            "d$ and that $d (1 - [e + d > C] - [e < -C]) <= m <= d (1 - [e > C] - [e + d < -C])$. (a) By pairs, $EE "
            "tilde(z) r = 1\\/2 EE (w(z) - w(z')) (r(z) - r(z'))$, where given $z, z'$ the second factor has the mean "
            "of an $m$ with $d = delta D (z - z')$: between $0$ and $delta EE D$ times $z - z'$. (b), (c) Both moments "
            "are $PP(z = 1) PP(z = 0)$ times a difference of the arms, so that $lambda delta EE D = EE m$; $e + d > C$ "
            "is $r = C$ in the arm $1$, $e < -C$ is $r = -C$ in the arm $0$, and $D <= H EE D$ inside the expectation "
            "gives (c), $H = 1$ the first half of (b). For constant $D$ the upper bound of $m$ gives the second. (d) "
            "(a) for $r$ and for $tilde(x)$, and the ratio."
        ),
        lemmas=("linearity", "independence", "monotony"),
    ),
)

# --- limits from counts ---


def _limits_by_hand(table: Any, N: Any, s: float, alpha: float, H: float, s_N: float) -> tuple[float, float]:
    """One number at a time, with another normal quantile."""
    tables = np.reshape(table, (-1, 2, 2))
    k = NormalDist().inv_cdf(1 - alpha / (8 * len(tables)))
    found = []
    for one in tables:
        ends = np.zeros((2, 2, 2))
        for side, arm in itertools.product((0, 1), (0, 1)):
            own, share = N[arm], N[arm] / sum(N)
            raw = one[side][arm] / own
            h = min(max(raw, 0.0), 1.0)
            sd = math.sqrt((h - share * h * h + 1 / own) / own + (s * s + h * h * s_N * s_N) / own**2)
            ends[side][arm] = [min(max(raw - k * sd, 0), 1), min(max(raw + k * sd, 0), 1)]
        low = max(0.0, 1 - H * (ends[0, :, 1].max() + ends[1, :, 1].max()))
        high = 1.0 if H > 1 else 1 - ends[0, :, 0].min() - ends[1, :, 0].min()
        found.append((low, high))
    (low, high), other = found[0], found[1] if len(found) > 1 else (1.0, 1.0)
    return low / other[1], high / other[0] if other[0] else math.inf


def _limit_facts(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """The formula term by term; how often it holds where shares are known."""
    one, two = [[300.0, 800.0], [50.0, 20.0]], [[[30.0, 80.0], [5.0, -4.0]], [[12.0, 9.0], [0.0, 3.0]]]
    for table, N, s, alpha, H, s_N in (
        (one, (10_000.0, 10_000.0), 21.1, 0.005, 1.0, 0.0),
        (one, (14_000.0, 3_000.0), 9.0, 0.01, 2.5, 12.0),
        (two, (900.0, 1_100.0), 7.72, 0.005, 1.0, 0.0),
        (two, (900.0, 1_100.0), 7.72, 0.005, 1.7, 15.0),
        ([[880.0, 990.0], [5.0, 5.0]], (900.0, 1_000.0), 3.0, 0.01, 1.0, 0.0),
    ):
        found = limits(table, N, s, alpha, heterogeneity=H, arm_scale=s_N)
        yield Fact(
            f"limits, {len(np.ravel(table))} counts, H = {H:g}", found, _limits_by_hand(table, N, s, alpha, H, s_N)
        )
    bare = limits([[40.0, 40.0], [0.0, 0.0]], 1e12, 0.0, 0.01)
    yield Fact("hardly any share", bare, (1.0, 1.0), 1e-4)


def _held_facts(rng: np.random.Generator, known: float = 1.0) -> Iterator[Within]:
    """How often the limits hold for normal residuals, as a binomial law would have it at the stated level at worst."""
    trials, n, alpha, noise = 4_000, 600, 0.02, 80.0
    law, C, s, P = norm(), 1.0, 0.5, 0.4
    true, shares = attenuation(law, C, s).value, clipped_shares(law, C, s)
    arms = np.array([1 - P, P])
    cells = np.concatenate([np.array(shares.above) * arms, np.array(shares.below) * arms])
    counts = rng.multinomial(n, [*cells, 1 - cells.sum()], size=trials)[:, :4].reshape(-1, 2, 2)
    noisy = counts + noise * rng.standard_normal(counts.shape)
    found = (limits(table, n * arms, known * noise, alpha) for table in noisy)
    held = sum(low <= true <= high for low, high in found)
    yield Within("share of limits that hold", held / trials, least=_least(trials, 1 - alpha) / trials)


def _least(trials: int, chance: float) -> float:
    """What a binomial number is above but for `ALPHA`."""
    return math.floor(float(bdtrik(ALPHA, trials, chance)))


ALPHA = 1e-11

LIMITS = Claim(
    id="iv/beyond-clamped-limits",
    where="private confidence sets, clamped values",
    kind="number",
    statement=(
        (
            "From noisy counts the limits of $rho = lambda_y \\/ lambda_x$ take each share $h = $ count$\\/N$ with "
            "the deviation $sqrt((h (1 - P h) + 1\\/N)\\/N + (s^2 + h^2 s_N^2)\\/N^2)$, $P$ its arm's share of the "
            "records, and the normal quantile at $1 - alpha$ over their number, lower and upper;"
        ),
        "they hold together with probability at least $1 - alpha$.",
    ),
    setting="For the second clause: $n = 600$, $alpha = 0.02$, counts of about 50 with noise of deviation 80.",
    checks=(
        Agreement(decides="a", facts=_limit_facts, impostors={"1e-4 off": {"facts": Times(1.0001)}}),
        Agreement(
            decides="b",
            facts=_held_facts,
            alpha=ALPHA,
            impostors={"noise of the counts forgotten": {"facts": {"known": 0.01}}},
        ),
    ),
)

# --- the union ---

PIECES: dict[str, tuple[tuple[float, float], ...]] = {
    "right": ((0.1, 0.3),),
    "around": ((-0.2, 0.1),),
    "left": ((-0.4, -0.1),),
    "complement": ((-math.inf, -0.1), (0.2, math.inf)),
    "complement of what is right": ((-math.inf, 0.5), (0.55, math.inf)),
    "two": ((-0.8, -0.3), (0.4, 0.5)),
    "two that meet": ((0.3, 0.4), (0.42, 0.6)),
    "half": ((0.2, math.inf),),
    "to zero": ((-0.3, 0.0),),
    "line": ((-math.inf, math.inf),),
    "empty": (),
}


def _union_facts(rng: np.random.Generator, both: bool = False) -> Iterator[Fact]:
    """Membership, point by point: whether rho (beta - b0) is in S for some rho of a fine grid. `both`: the impostor."""
    for name, pieces in PIECES.items():
        for low, high in ((0.85, 1.0), (0.5, 0.9), (0.3, 2.5), (1.0, 1.0), (0.0, 0.8), (0.4, math.inf)):
            b0 = float(rng.uniform(-1, 1))
            found = stretch(pieces, low, low if both and low else high, b0)
            ends = np.array([end for piece in found for end in piece if math.isfinite(end)])
            points = b0 + np.concatenate([rng.uniform(-3, 3, 300), rng.standard_cauchy(60)])
            if ends.size:
                points = points[np.min(np.abs(points[:, None] - ends), axis=1) > 2e-3]
            rho = np.unique(np.append(np.geomspace(max(low, 1e-7), min(high, 1e7), 6_001), [low]))
            t = rho * (points - b0)[:, None]
            inside = np.zeros(len(points), dtype=bool)
            for left, right in pieces:
                inside |= ((t >= left) & (t <= right)).any(axis=1)
            own = np.array([any(left <= point <= right for left, right in found) for point in points])
            yield Fact(f"{name}, rho from {low:g} to {high:g}: points that differ", int(np.sum(inside != own)), 0, 0)


def _set_facts(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """The set of releases of every shape: built from its parts by hand, and the curve accepted on it alone."""
    for shape, first in (("interval", (30.0, 25.0)), ("complement", (24.0, 5.0)), ("line", (3.0, 1.0))):
        release = MomentRelease(
            first=np.array(first),
            second=np.array([[40.0, 8.0], [8.0, 30.0]]),
            first_scale=2.0,
            second_scale=3.0,
            n=900,
            outcome_weight=1.5,
            regressor_weights=np.full(1, 0.5),
            adjacency="replace-one",
        )
        for per_arm in ((400.0, 500.0), (40_000.0, 50_000.0)):
            counts = ClippedCounts(np.array([[30.0, 60.0], [4.0, 1.0]]) * per_arm[0] / 400, 5.0, per_arm, 2.0, 1.0)
            b0, level = 0.4, 0.9
            rho = limits(counts.table, per_arm, 5.0, 0.1 * (1 - level), arm_scale=2.0)
            found, plain = stretched_set(release, counts, b0, level), confidence_set(release, 1 - 0.9 * (1 - level))
            by_hand = stretch(plain.pieces, rho.least, rho.most, b0)
            label = f"{shape}, {sum(per_arm):g} records"
            yield Fact(f"ends: {label}", np.arctan(found.pieces), np.arctan(by_hand), 1e-12)
            points = np.tan(rng.uniform(-1.5, 1.5, 400))
            curve = stretched_curve(release, rho, b0, points, level)
            accepted = curve.statistic <= curve.critical
            yield Holds(f"curve: {label}", bool((accepted == [point in found for point in points]).all()))
            middle = (rho.least + rho.most) / 2
            point = stretched_point(release, rho, b0)
            yield Fact(f"point: {label}", point, b0 + point_estimate(release) / middle, 1e-12)
            yield Holds(f"point in the set: {label}", point in found)
    yield from _loud_facts()
    endless = stretched_point(release, RhoLimits(0.5, math.inf), 0.0)
    yield Fact("point without an upper limit", endless, point_estimate(release), 1e-12)
    yield Fact("levels", split_level(0.95), (0.955, 0.005), 1e-12)


def _loud_facts() -> Iterator[Holds | Within]:
    """With noise that dominates the variance the critical value is another one at each rho: many of them are tried."""
    rng, rho = np.random.default_rng(0), np.geomspace(0.4, 3.0, 300)
    accepted, stated = [], []
    for _ in range(150):
        root = rng.standard_normal((3, 2)) * [3.0, 0.6]
        release = MomentRelease(
            first=rng.standard_normal(2) * 15,
            second=root.T @ root,
            first_scale=1.0,
            second_scale=float(rng.uniform(0.5, 30)),
            n=900,
            outcome_weight=1.5,
            regressor_weights=np.full(1, 0.5),
            adjacency="replace-one",
        )
        beta = float(rng.standard_normal() * 4)
        curve = stretched_curve(release, RhoLimits(0.4, 3.0), 0.0, [beta], 0.9)
        every = anderson_rubin_curve(release, beta * rho, split_level(0.9).test)
        least = float(np.min(every.statistic - every.critical))
        if abs(least) > 0.1:
            accepted.append(bool(curve.statistic[0] <= curve.critical[0]))
            stated.append(least <= 0)
    yield Holds("loud noise: accepted where some admissible rho is", accepted == stated)
    yield Within("loud noise: share accepted", sum(stated) / len(stated), 0.1, 0.95)


STRETCH = Claim(
    id="iv/beyond-clamped-set",
    where="private confidence sets, clamped values",
    kind="algorithm",
    statement=(
        (
            "For a set $S$ of $t = rho (beta - b_0)$ the union of $b_0 + S\\/rho$ over $rho$ in $[rho_1, rho_2]$ has "
            "in place of a piece $[l, u]$ the piece from $l\\/rho_2$ if $l > 0$, else $l\\/rho_1$, to $u\\/rho_1$ if "
            "$u > 0$, else $u\\/rho_2$, and is the line if $rho_1 = 0$ and $S$ holds $0$;"
        ),
        (
            "the set of $beta$ at level $1 - alpha$ is that of $t$ at level $1 - 0.9 alpha$, stretched by limits of "
            "$rho$ that hold together with probability $1 - 0.1 alpha$."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_union_facts, impostors={"one rho for both ends": {"facts": {"both": True}}}),
        Agreement(decides="b", facts=_set_facts, impostors={"1e-4 off": {"facts": Times(1.0001)}}),
    ),
)
