"""Beyond the paper: what Algorithm 1 costs exactly, under every adjacency, and a way to release beta alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import sympy

from dpbounds.iv import (
    Calibration,
    Enforced,
    TwoStageBudget,
    joint_cost,
    joint_gdp,
    noise_scales,
    projected_noise_scale,
    projected_sensitivities,
    release_cost,
    unnoised_sensitivity,
)
from dpbounds.iv.pairs import beta_only_pair, joint_pair
from dpbounds.privacy import Adjacency, gaussian_delta
from verify.checks import Agreement, Fact, GaussianPrivacy, Neighbours, Search, Symbolic, Times
from verify.checks.audit import gaussian_zcdp
from verify.checks.domains import Whole
from verify.papers.iv.tools.output_laws import Mechanism, joint_shifts, neighbours, opposite_records, random_records
from verify.papers.iv.tools.reference import Records, clip, gradients
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- the cost of all iterates ---

ADJACENCIES: tuple[Adjacency, ...] = get_args(Adjacency)


def _attained(rng: np.random.Generator) -> Iterator[Fact]:
    """The law of the release on two data sets that attain the cost, whose one record that is not 0 is (e_1, K e_1, K);
    then with the noise calibrated to it.
    """
    pair = joint_pair(3, q=2, p=3, magnitude=7.0)
    for data, K in zip(pair, (7.0, -7.0), strict=True):
        record = np.concatenate([data.Z[-1], data.X[-1], data.Y[-1:]])
        yield Fact(f"the record with K = {K:g}", record, [1.0, 0.0, K, 0.0, 0.0, K], 0)
        yield Fact("other records", np.abs(np.column_stack(list(data))[:-1]), np.zeros((2, 6)), 0)
    turned: dict[Adjacency, tuple[float, float | None]] = {
        "replace-one": (0.0, -0.6), "zero-out": (-0.3, 0.0), "add-remove": (-0.3, None)
    }  # fmt: skip
    for adjacency, (first, last) in turned.items():
        turning = beta_only_pair(3, shift=0.6, magnitude=9.0, adjacency=adjacency)
        for data, end in zip(turning, (0.6, last), strict=True):
            ends = {None: [], 0.0: [(0.0, 0.0, 0.0)]}.get(end, [(1.0, end, 9.0)])
            shown = [(1.0, first, 9.0), (1.0, 0.0, 9.0), *ends]
            yield Fact(f"records whose first stage turns, {adjacency}", np.column_stack(list(data)), shown, 0)
    for adjacency in ADJACENCIES:
        for n, T, rho1, rho2 in ((1, 1, 0.5, 2.0), (4, 2, 0.3, 0.9), (7, 5, 2.0, 0.4)):
            label = f"{adjacency}, n = {n}, T = {T}"
            given = Mechanism(n=n, steps=T, gamma1=1.3, gamma2=0.4, lambda1=0.7, lambda2=0.2)
            cost = joint_cost(replace(given, adjacency=adjacency), n, T)
            spent = _spent(given, adjacency, rng)
            yield Fact(f"{label}: cost", spent, float(cost), 1e-9)
            mu = float(joint_gdp(replace(given, adjacency=adjacency), n, T))
            yield Fact(f"{label}: mu", mu, float(np.sqrt(2 * spent)), 1e-9)
            stated: dict[Calibration, float] = {
                "tight": rho1 + (T > 1) * rho2,
                "paper": rho1 / 2 + (1 - 1 / T) * rho2 / 2,
            }
            for calibration, promised in stated.items():
                scales = noise_scales(
                    TwoStageBudget(
                        rho1=rho1, rho2=rho2, gamma1=1.3, gamma2=0.4, calibration=calibration, adjacency=adjacency
                    ),
                    n,
                    T,
                )
                # In its first step beta has no data, and the tight scale for T = 1 is 0.
                lambda1, lambda2 = float(scales.lambda1), float(scales.lambda2) or 1.0
                calibrated = Mechanism(n=n, steps=T, gamma1=1.3, gamma2=0.4, lambda1=lambda1, lambda2=lambda2)
                found = _spent(calibrated, adjacency, rng)
                yield Fact(f"{label}: spent with the {calibration} calibration", found, promised, 1e-9)


def _spent(mechanism: Mechanism, adjacency: Adjacency, rng: np.random.Generator) -> float:
    pair = opposite_records(mechanism.n, 2, 1, adjacency)
    shift, variances = joint_shifts(pair, mechanism, rng)
    return gaussian_zcdp(shift, np.diag(variances))


def _random_pairs(variance: float = 1.0) -> Iterator[Neighbours]:
    """No pair costs more: heavy-tailed records of which one is replaced, zeroed or taken away, and the worst pair."""
    rng = np.random.default_rng(4)
    for adjacency in ADJACENCIES:
        for n, T in ((1, 2), (3, 6)):
            mechanism = Mechanism(n=n, steps=T, gamma1=0.6, gamma2=1.1, lambda1=0.5, lambda2=0.3)
            claimed = float(joint_cost(replace(mechanism, adjacency=adjacency), n, T))
            pairs = [_changed(random_records(rng, n, 2, 2), adjacency) for _ in range(3)]
            for name, pair in (("worst", opposite_records(n, 2, 2, adjacency)), *(("random", pair) for pair in pairs)):
                shift, variances = joint_shifts(pair, mechanism, rng)
                yield neighbours(f"{adjacency}, n = {n}, T = {T}, {name}", shift, variance * variances, claimed)


def _changed(pair: tuple[Records, Records], adjacency: Adjacency) -> tuple[Records, Records]:
    """The first data set, and its neighbour under this adjacency."""
    first, replaced = pair
    if adjacency == "replace-one":
        return first, replaced
    if adjacency == "zero-out":
        return first, first.without(0, (0.0, 0.0, 0.0))
    return first, Records(*(part[1:] for part in first))


def _profile(rng: np.random.Generator) -> Iterator[Fact]:
    """delta(epsilon) of the release on the worst pair, by quadrature along the shift of its law."""
    mechanism = Mechanism(n=3, steps=4, gamma1=1.0, gamma2=0.8, lambda1=0.9, lambda2=0.6)
    shift, variances = joint_shifts(opposite_records(3), mechanism, rng)
    distance = float(np.sqrt(np.sum(shift**2 / variances)))
    x = np.linspace(-14, 14 + distance, 200_001)
    mu = float(joint_gdp(mechanism, 3, 4))
    for epsilon in (0.1, 1.0, 3.0):
        gain = np.exp(-((x - distance) ** 2) / 2) - np.exp(epsilon - x**2 / 2)
        delta = float(np.sum(np.maximum(gain, 0)) * (x[1] - x[0]) / np.sqrt(2 * np.pi))
        yield Fact(f"delta at epsilon = {epsilon}", delta, float(gaussian_delta(mu, epsilon)), 1e-7)


def _account(less: int = 1) -> Iterator[tuple[Any, ...]]:
    """The sum over T releases of Theta and T - 1 of beta, in zCDP and in squares of mu; what the scales spend."""
    n, T, c, rho1, rho2 = sympy.symbols("n T c rho_1 rho_2", positive=True)
    gamma1, gamma2, lambda1, lambda2 = sympy.symbols("gamma_1 gamma_2 lambda_1 lambda_2", positive=True)
    parts = ((T, gamma1, lambda1), (T - less, gamma2, lambda2))
    cost = sympy.Add(*(release_cost(n, uses, gamma, scale, c) for uses, gamma, scale in parts))
    stated = c**2 / (2 * n**2) * (T * gamma1**2 / lambda1**2 + (T - 1) * gamma2**2 / lambda2**2)
    yield "zCDP", cost, stated
    yield "mu", sum(uses * (c * gamma / (n * scale)) ** 2 for uses, gamma, scale in parts), 2 * stated
    tight = {lambda1: c * gamma1 / n * sympy.sqrt(T / (2 * rho1))}
    tight |= {lambda2: c * gamma2 / n * sympy.sqrt((T - 1) / (2 * rho2))}
    yield "spent", cost.subs(tight) - rho1, rho2


BEYOND_JOINT_COST = Claim(
    id="iv/beyond-joint-cost",
    where="beyond Proposition 3.1",
    kind="privacy",
    statement=(
        (
            r"The release of all iterates of Algorithm 1 costs exactly $c^2/(2 n^2) (T gamma_1^2 \/ lambda_1^2 + (T - "
            r"1) gamma_2^2 \/ lambda_2^2)$ zCDP, $c = 2$ if a record is replaced, $c = 1$ if it is zeroed or taken "
            "away, and is $mu$-GDP with $mu$ the root of twice the cost;"
        ),
        (
            r"$lambda_1 = c gamma_1/n sqrt(T \/ (2 rho_1))$ and $lambda_2 = c gamma_2/n sqrt((T - 1) \/ (2 rho_2))$ "
            "spend exactly $rho_1 + rho_2$."
        ),
    ),
    hypotheses=(
        "$n$ public; where a record is taken away, $n$ is that of the larger data set and stays the divisor. $T >= 2$ "
        "where scales are calibrated."
    ),
    checks=(
        Symbolic(decides="ab", residuals=_account, impostors={"T for T - 1": {"residuals": {"less": 0}}}),
        Agreement(decides="ab", role="control", facts=_attained, impostors={"1 % less": {"facts": Times(0.99)}}),
        GaussianPrivacy(
            decides="a",
            role="control",
            pairs=_random_pairs,
            impostors={"2 % less noise variance": {"pairs": {"variance": 0.98}}},
        ),
        Agreement(decides="a", role="control", facts=_profile, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
    derivation=Derivation(
        text=(
            "A record moves the average of $n$ gradients of norm at most $gamma_i$ by at most $c gamma_i\\/n$, given "
            "the past, and the first gradient of $beta$ is 0: the sums over the releases, and what the scales spend, "
            "are proved to be as stated. They are attained in the limit by one record $(z, x, y)$ with $x$ and $y$ "
            "growing, changed to $(z, -x, -y)$, zeroed or taken away: its clipped gradients have length $gamma_i$ with "
            "a probability that tends to 1, since $Theta^top z$ is not 0 after the first step, and each release then "
            "is normal with the full shift."
        ),
        lemmas=(
            "triangle inequality",
            "Rényi divergence of normal laws",
            "zCDP of a sum",
            "GDP of a sum",
            "data processing",
        ),
    ),
)

# --- beta alone, with a first stage that cannot move far ---

N, STEPS = 4, 4
BOUNDS = Enforced(instrument=1.5, outcome=2.0, theta=1.2, beta=0.8)
NORMS, ETA = TwoStageBudget(gamma1=0.6, gamma2=0.5), 2 / 1.5**2


def _ball(vector: np.ndarray, radius: float) -> np.ndarray:
    return clip(vector, radius)


def _projected(records: np.ndarray) -> Records:
    """Rows (z in R^2, x in R^2, y), z and y brought into their bounds."""
    rows = np.reshape(records, (-1, 5))
    Z = np.array([_ball(z, BOUNDS.instrument) for z in rows[:, :2]])
    return Records(Z, rows[:, 2:4], np.clip(rows[:, 4], -BOUNDS.outcome, BOUNDS.outcome))


def _moves(records: np.ndarray, other: np.ndarray, betas: np.ndarray) -> tuple[list[float], list[float]]:
    """How far the averaged gradients of beta, and Theta, are apart at each step of two runs with the same betas."""
    own = _projected(records)
    (z,), (x,), (y,) = _projected(other)
    pair, thetas = (own, own.without(0, (z, x, y))), [np.zeros((2, 2)), np.zeros((2, 2))]
    moved, apart = [], []
    for beta in np.reshape(betas, (STEPS, 2)):
        used = _ball(beta, BOUNDS.beta)
        both = [
            gradients(data, theta, used, NORMS.gamma1, NORMS.gamma2) for data, theta in zip(pair, thetas, strict=True)
        ]
        moved.append(float(np.linalg.norm(both[0][1] - both[1][1])))
        apart.append(float(np.linalg.norm(thetas[0] - thetas[1])))
        thetas = [_ball(theta - ETA * first, BOUNDS.theta) for theta, (first, _) in zip(thetas, both, strict=True)]
    return moved, apart


def _within_sensitivities(adversary: float) -> tuple[float, float]:
    """The largest move over its bound, of gradients and of Theta, against 1; adversary 0 moves Theta all the way."""
    rng = np.random.default_rng(int(adversary))
    records, other = rng.uniform(-6, 6, 5 * N), rng.uniform(-6, 6, 5)
    if adversary == 0:
        other = np.array([0.5, 0.0, 50.0, 0.0, 0.0])
        records, other = np.tile(other, N), other * [1, 1, -1, 1, 1]
    moved, apart = _moves(records, other, rng.uniform(-2, 2, 2 * STEPS))
    bounds = projected_sensitivities(NORMS, N, STEPS, eta=ETA, enforced=BOUNDS)
    drifts = 2 * ETA * NORMS.gamma1 / N * np.arange(STEPS)
    shares = [move / bound for move, bound in zip((*moved[1:], *apart[1:]), (*bounds[1:], *drifts[1:]), strict=True)]
    return max(*shares, float(moved[0] > 0)), 1.0


def _sensitivities_by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """Numbers by hand at gamma_1 = gamma_2 = 1, eta = 0.1, all bounds 1, n = 100: (c / 100)(1 + 0.3 t) up to the "
    "cap."""
    unit = Enforced(instrument=1.0, outcome=1.0, theta=1.0, beta=1.0)
    common: dict[str, Any] = {"eta": 0.1, "enforced": unit}
    for adjacency in ADJACENCIES:
        factor, cap = (2.0, 2.0) if adjacency == "replace-one" else (1.0, 1.99)
        budget = TwoStageBudget(gamma1=1.0, gamma2=1.0, rho2=0.3, adjacency=adjacency)
        found = projected_sensitivities(budget, 100, 4, **common)
        stated = [0.0, *(factor / 100 * (1 + 0.3 * t) for t in (1, 2, 3))]
        yield Fact(f"Delta_0 ... Delta_3, {adjacency}", found, stated, 1e-12)
        scale = projected_noise_scale(budget, 100, 4, **common)
        yield Fact(
            f"lambda_2 for rho_2 = 0.3, {adjacency}", float(scale), float(np.linalg.norm(stated) / 0.6**0.5), 1e-12
        )
        long = projected_sensitivities(budget, 100, 2000, **common)
        yield Fact(
            f"cap, {adjacency}", [long[-1], unnoised_sensitivity(100, 1.0, adjacency=adjacency)], [cap] * 2, 1e-12
        )
    wide = Enforced(instrument=2.0, outcome=3.0, theta=0.5, beta=0.25)
    found = projected_sensitivities(TwoStageBudget(gamma1=0.6, gamma2=0.5), 10, 2, eta=0.2, enforced=wide)
    yield Fact(
        "Delta_1 at B_z = 2, B_y = 3, B_Theta = 1/2, B_beta = 1/4", found[1], 0.2 * (0.5 + 0.2 * 0.6 * 7.0), 1e-12
    )


BEYOND_PROJECTED = Claim(
    id="iv/beyond-projected",
    where="beyond Lemma F.1",
    kind="privacy",
    statement=(
        "If $norm(z) <= B_z$ and $abs(y) <= B_y$ are enforced, the gradients of $Theta$ clipped at $gamma_1$, $Theta$ "
        "and $beta$ projected to $norm(Theta) <= B_Theta$ and $norm(beta) <= B_beta$, and $eta <= 2 \\/ B_z^2$, then "
        "one record moves the averaged gradient of $beta$ in step $t$ by at most $Delta_t = 2/n (gamma_2 + eta gamma_1 "
        "t B_z (2 B_z B_Theta B_beta + B_y))$, $Delta_0 = 0$, and $Theta^((t))$ by at most $2 eta gamma_1 t \\/ n$: "
        "without noise in the first stage $lambda_2^2 = sum_t Delta_t^2 \\/ (2 rho_2)$ suffices for $beta$ alone."
    ),
    setting="$p = q = 2$, $n = 4$, $T = 4$, records and released $beta$ chosen by an adversary.",
    checks=(
        Search(
            sides=_within_sensitivities,
            box={"adversary": Whole(1, 10**9)},
            extremal=lambda: [{"adversary": 0}],
            evaluations={"quick": 300, "full": 20_000},
            impostors={"2 % less": {"sides": Times(1, 0.98)}},
        ),
        Agreement(facts=_sensitivities_by_hand, impostors={"1 % less": {"facts": Times(0.99)}}),
    ),
)
