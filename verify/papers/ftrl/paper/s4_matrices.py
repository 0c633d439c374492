"""Section 4, Table 3: the mechanisms that are matrices, and the table by counting operations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from dpbounds.ftrl import correlations
from simulators.noise import correlate, tree_noise
from verify.checks import Agreement, Fact, Holds, Rate, Search, Times, Within
from verify.checks.domains import Real
from verify.papers.ftrl.tools import prefix_sums
from verify.statements.claims import Claim

SIZES = (1, 2, 7, 8, 13, 16)
DECODERS: tuple[prefix_sums.Decoder, ...] = ("plain", "honaker")


def _columns(encoder: np.ndarray) -> dict[tuple[int, int], int]:
    """Which draw belongs to which interval of steps."""
    supports = [np.flatnonzero(row) for row in encoder]
    return {(int(support[0]), int(support[-1]) + 1): number for number, support in enumerate(supports)}


def _covariance(correlation: correlations.Correlation, T: int, own: int | None = None) -> np.ndarray:
    """Of the noise of the first T steps."""
    steps = own or getattr(correlation, "steps", T)
    B = correlation.matrix(steps)[:T]
    return B @ B.T


def _tree_facts(rng: np.random.Generator, *, swapped: bool = False) -> Iterator[Fact | Within]:
    """The library's decoder is what the stream computes; B C = I; causal; sensitivity; operations; anytime."""
    for T in SIZES:
        for decoder in DECODERS:
            made = correlations.tree_aggregation(T, decoder=decoder)
            B, C = made.matrix(T), made.encoder(T)
            columns, unit = _columns(C), np.eye(len(C))
            streamed = DECODERS[1 - DECODERS.index(decoder)] if swapped else decoder
            steps = list(prefix_sums.tree_stream(T, streamed, lambda a, b, c=columns, u=unit: u[c[a, b]]))
            yield Fact(f"B as streamed, {decoder}, T = {T}", np.array([noise for noise, _ in steps]), B, 1e-12)
            yield Fact(f"B C, {decoder}, T = {T}", B @ C, np.eye(T), 1e-12)
            late = [abs(B[t, number]) for (_, stop), number in columns.items() for t in range(min(stop - 1, T))]
            yield Fact(f"weight of later draws, {decoder}, T = {T}", max(late, default=0.0), 0.0, 1e-14)
            yield Fact(f"gamma_T^2, {decoder}, T = {T}", made.sensitivity(T) ** 2, float(T.bit_length()), 1e-12)
            most = max(operations for _, operations in steps)
            yield Within(f"vectors of a step, {decoder}, T = {T}", most, most=3 * T.bit_length())
            longer = correlations.tree_aggregation(21, decoder=decoder)
            yield Fact(f"anytime, {decoder}, T = {T}", _covariance(longer, T), B @ B.T, 1e-12)


def _from_below(rng: np.random.Generator) -> Iterator[Fact]:
    """A node's estimate has the least variance among unbiased ones from the node and what lies under it."""
    for level in range(5):
        T = 2**level
        encoder = correlations.tree_aggregation(T).encoder(T)
        least = float(np.sum(np.linalg.inv(encoder.T @ encoder)))
        prefix = correlations.tree_aggregation(T, decoder="honaker").matrix(T).sum(axis=0)
        yield Fact(f"variance of the estimate of a node of {T} steps", float(prefix @ prefix), least, 1e-12)


def _streamed_tree(rng: np.random.Generator) -> Iterator[Fact]:
    """The simulator's stream, one draw per step in memory of O(log T): a linear map of its draws, with the covariance
    of the tree decoded step by step.
    """
    for T, block in ((1, 64), (2, 1), (13, 4), (70, 8), (70, 64)):
        noise = np.concatenate(list(tree_noise(T, T + 20, np.random.default_rng(3), block=block)))
        draws = np.random.default_rng(3).standard_normal((T, T + 20))
        unit = {interval: row for row, interval in enumerate(prefix_sums.dyadic_intervals(T))}
        rows = np.eye(len(unit))
        B = np.array([step for step, _ in prefix_sums.tree_stream(T, "plain", lambda a, b, r=rows, u=unit: r[u[a, b]])])
        M = np.linalg.lstsq(draws.T, noise.T, rcond=None)[0].T
        yield Fact(f"noise is causal in its draws, T = {T}", np.abs(np.triu(M, 1)).max(initial=0.0), 0.0, 1e-12)
        yield Fact(f"covariance, T = {T}, blocks of {block}", M @ M.T, B @ B.T, 1e-10)


MECH_TREEAGG = Claim(
    id="ftrl/mech-treeagg",
    where="Table 3, row 2",
    page=8,
    kind="algorithm",
    statement="Honaker/TreeAgg has a lower-triangular $B$, is anytime and costs $O(log T)$ per step.",
    setting="Binary trees with the plain decoder and with Honaker's estimates from below, built and streamed.",
    remark=("Lower triangular: a step uses draws of complete nodes only, of which there are up to $2 T - 1$."),
    checks=(
        Agreement(facts=_tree_facts, impostors={"the other decoder": {"facts": {"swapped": True}}}),
        Agreement(facts=_from_below, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(facts=_streamed_tree, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- full Honaker ---


def _full_honaker_facts(rng: np.random.Generator, *, noise: float = 0.0) -> Iterator[Fact | Within]:
    """B C = I with the least covariance among all such B; not causal, not anytime; the matrix in O(T^2)."""
    for T in (2, 5, 8):
        made = correlations.full_honaker(T)
        C = made.encoder(T)
        B = made.matrix(T) + noise * np.eye(T, len(C))
        yield Fact(f"B C, T = {T}", B @ C, np.eye(T), 1e-12)
        others = [correlations.tree_aggregation(T, decoder=decoder).matrix(T) for decoder in DECODERS]
        others += [B + rng.normal(size=B.shape) @ (np.eye(len(C)) - C @ np.linalg.pinv(C)) for _ in range(5)]
        gains = [np.linalg.eigvalsh(other @ other.T - B @ B.T).min() for other in others]
        yield Within(f"noise that other decoders add, T = {T}", min(gains), -1e-12)
        late = max(abs(B[t, k]) for (_, stop), k in _columns(C).items() for t in range(stop - 1))
        yield Within(f"largest weight of a later draw, T = {T}", late, 0.1)
        columns, unit = _columns(C), np.eye(len(C))
        if T & (T - 1) == 0:
            passes = [prefix_sums.two_passes(T, lambda a, b, u=u, c=columns: u[c[a, b]]) for u in unit]
            yield Fact(f"B by two passes, T = {T}", np.array([column for column, _ in passes]).T, B, 1e-12)
            operations = sum(count for _, count in passes)
            yield Within(f"operations for B, T = {T}", operations, most=14 * T**2)
    leading = [_covariance(correlations.full_honaker(T), 4) for T in (4, 8)]
    yield Within("difference of the noise of 4 steps at T = 4 and T = 8", np.abs(leading[0] - leading[1]).max(), 1e-3)


MECH_FULLHONAKER = Claim(
    id="ftrl/mech-fullhonaker",
    where="Table 3, row 6",
    page=8,
    kind="algorithm",
    statement=(
        "Full Honaker has an arbitrary $B$, made in $O(T^2)$;",
        "it costs $O(T^2)$ per step and is not anytime.",
    ),
    setting="$B = C^+$ of the tree, the least-squares decoder.",
    remark="Upper bounds: a step takes $2 T - 1$ weights, so its entry has a factor $T$ to spare.",
    checks=(
        Agreement(decides="ab", facts=_full_honaker_facts, impostors={"another decoder": {"facts": {"noise": 1e-6}}}),
    ),
)

# --- FFT ---


def _fft_facts(rng: np.random.Generator, *, power: float = 1.0) -> Iterator[Fact | Within]:
    for T in (1, 2, 8, 16):
        made = correlations.fft_mechanism(T)
        prefix = np.cumsum(made.matrix(T), axis=0)
        yield Fact(f"B~ C = A, T = {T}", prefix @ made.encoder(T), np.tri(T), 1e-12)
        in_time = np.array([prefix_sums.fft_noise(unit)[0] for unit in np.eye(2 * T)]).T
        yield Fact(f"noise by FFT, T = {T}", in_time @ in_time.T, prefix @ prefix.T, 1e-12)
        toeplitz = np.abs(in_time[1:, 1:] - in_time[:-1, :-1]).max(initial=0.0)
        yield Fact(f"B~ constant along diagonals, T = {T}", toeplitz, 0.0, 1e-12)
        mean = np.mean(np.abs(prefix_sums.circulant_root(T)) ** (2 * power))
        yield Fact(f"gamma_T^2, T = {T}", made.sensitivity(T) ** 2, mean, 1e-12)
        count = prefix_sums.fft_noise(np.zeros(2 * T))[1]
        yield Within(f"multiplications of the FFT, T = {T}", count, most=8 * T * T.bit_length())
    leading = [_covariance(correlations.fft_mechanism(T), 4) for T in (4, 8)]
    ratio = leading[0] / leading[1]
    yield Within("spread of the noise of 4 steps at T = 4 over that at T = 8", np.ptp(ratio), 0.01)


MECH_FFT = Claim(
    id="ftrl/mech-fft",
    where="Table 3, row 5",
    page=8,
    kind="algorithm",
    statement="The FFT mechanism is Toeplitz, not anytime, made in $O(1)$, and costs $O(T log^2 T)$.",
    setting="Root of the $2 T$-circulant that holds $A$; multiplications counted for all steps together.",
    remark=(
        "Toeplitz is $tilde(B) = A B$ in draws over time; $B$ itself differs from that in its first row. $O(T log T)$ "
        "multiplications suffice."
    ),
    checks=(Agreement(facts=_fft_facts, impostors={"sensitivity of the squared root": {"facts": {"power": 2.0}}}),),
)

# --- the semidefinite program ---


def _optimal_facts(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """By hand at T <= 2, where X = ((1, x), (x, 1)) with x^2 - 3 x + 1 = 0; feasible; optimal by weak duality."""
    for T, value in ((1, 1.0), (2, (3 + np.sqrt(5)) / 2)):
        yield Fact(f"least error, T = {T}", correlations.optimal_prefix_sum(T).prefix_error(T), factor * value, 1e-8)
    for T in (2, 3, 8, 20):
        made = correlations.optimal_prefix_sum(T)
        C, A = made.encoder(T), np.tri(T)
        yield Fact(f"B C, T = {T}", made.matrix(T) @ C, np.eye(T), 1e-10)
        yield Fact(f"above the diagonal, T = {T}", np.abs(np.triu(C, 1)).max(), 0.0, 1e-14)
        yield Fact(f"column norms, T = {T}", np.linalg.norm(C, axis=0), np.ones(T), 1e-10)
        error = np.sum((A @ np.linalg.inv(C)) ** 2)
        v = np.sum((A @ np.linalg.inv(C) @ np.linalg.inv(C.T)) ** 2, axis=0)
        dual = 2 * np.linalg.svd(A * np.sqrt(v), compute_uv=False).sum() - v.sum()
        yield Fact(f"dual value, T = {T}", factor * dual, error, 1e-6)


@lru_cache(maxsize=1)
def _least_error() -> float:
    return correlations.optimal_prefix_sum(4).prefix_error(4)


def _any_factor(entries: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The optimum at T = 4 against any lower-triangular C with unit columns, rows of ten entries."""
    C = np.zeros((len(entries), 4, 4))
    C[:, *np.tril_indices(4)] = entries
    C[:, range(4), range(4)] = np.exp(C[:, range(4), range(4)])
    C /= np.linalg.norm(C, axis=1, keepdims=True)
    error = np.sum((np.tri(4) @ np.linalg.inv(C)) ** 2, axis=(1, 2))
    return np.full(len(entries), factor * _least_error()), error


def _banded(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """With all bands the optimum; with fewer no better, feasible, and no better by small changes inside the band."""
    T = 6
    best = correlations.optimal_prefix_sum(T).prefix_error(T)
    yield Fact("least error with all bands", correlations.banded(T, T).prefix_error(T), best, 1e-5)
    for bands in (1, 2, 4):
        made = correlations.banded(T, bands)
        C = made.encoder(T)
        yield Fact(f"B C, {bands} bands", made.matrix(T) @ C, np.eye(T), 1e-10)
        yield Fact(f"outside {bands} bands", np.abs(np.tril(C, -bands)).max(initial=0.0), 0.0, 1e-14)
        yield Fact(f"column norms, {bands} bands", np.linalg.norm(C, axis=0), np.ones(T), 1e-10)
        band = np.tril(np.ones((T, T))) * (1 - np.tril(np.ones((T, T)), -bands))
        others = C + 1e-2 * band * rng.normal(size=(50, T, T))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        errors = np.sum((np.tri(T) @ np.linalg.inv(others)) ** 2, axis=(1, 2))
        error = made.prefix_error(T)
        yield Within(f"error near {bands} bands over theirs", errors.min() / error, 1 - 1e-9)
        yield Within(f"error of {bands} bands over the least", error / best, 1 - 1e-9)


MECH_ME = Claim(
    id="ftrl/mech-me",
    where="Table 3, row 7",
    page=8,
    kind="algorithm",
    statement=(
        "ME takes $B = C^(-1)$ from a semidefinite program: least $norm(A C^(-1))_F^2$ at participation sensitivity at "
        "most 1."
    ),
    setting="One participation: $norm(C_(:, t))_2 <= 1$ for all $t$; by hand at $T <= 2$, by duality up to $T = 20$.",
    remark="At $T = 2$ the least error is $(3 + sqrt(5)) \\/ 2$.",
    checks=(
        Agreement(facts=_optimal_facts, impostors={"1 % less": {"facts": {"factor": 0.99}}}),
        Search(
            sides=_any_factor,
            box={"entries": (Real(-1.0, 1.0), 10)},
            vectorised=True,
            impostors={"1 % more": {"sides": {"factor": 1.01}}},
        ),
        Agreement(facts=_banded, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- restarts ---


def _restarts(rng: np.random.Generator, shift: int = 0) -> Iterator[Fact | Within]:
    """Noise of S fresh runs on consecutive draws, sensitivity of one run, (3), and no more weights per step."""
    T = 24
    for base in (correlations.nu(0.1), correlations.optimal_counting(), correlations.anti_pgd()):
        for S in (1, 2, 6):
            made, draws = correlations.restarted(base, T, S), rng.normal(size=(T, 2))
            fresh = [correlate(base, part) for part in np.split(np.roll(draws, shift, axis=0), S)]
            yield Fact(f"noise, {made.name}", correlate(made, draws), np.concatenate(fresh), 1e-12)
            gamma = np.linalg.norm(np.linalg.inv(made.matrix(T)), axis=0).max()
            yield Fact(f"gamma, {made.name}", gamma, base.sensitivity(T // S), 1e-12)
            error = gamma**2 * np.sum((np.tri(T) @ np.kron(np.eye(S), base.matrix(T // S))) ** 2)
            yield Fact(f"(3), {made.name}", made.sensitivity(T) ** 2 * made.prefix_error(T), error, 1e-12)
            weights = [int(np.count_nonzero(B, axis=1).max()) for B in (made.matrix(T), base.matrix(T))]
            yield Within(f"weights per step, {made.name}", weights[0], most=weights[1])


MECH_XS = Claim(
    id="ftrl/mech-xs",
    where="Section 4, suffix x S",
    page=9,
    kind="algorithm",
    statement=(
        "Restarting $S$ times makes $B$ block diagonal with blocks of length $T \\/ S$, costs no more per step, and "
        "$S$ can be chosen by (3)."
    ),
    checks=(Agreement(facts=_restarts, impostors={"draws one step late": {"facts": {"shift": 1}}}),),
)

# --- Table 3 ---

# Decades at which log2 T doubles, up to T = 2^12.
DOUBLINGS = tuple(np.log10(2.0) * k for k in (1.5, 3, 6, 12))


def _power_of_two(decades: float) -> int:
    return 2 ** round(decades * np.log2(10))


def _costs(decades: float, *, tree_logs: int = 1, sequence_power: float = 1.0) -> Iterator[tuple[str, float]]:
    """Operations on vectors in the dearest step, or to make B, over the entry of the table."""
    T = _power_of_two(decades)
    logs = 1 + np.log2(T)
    yield "DP-SGD", float(np.count_nonzero(correlations.independent().coefficients(T)))
    for decoder in ("plain", "honaker"):
        most = max(operations for _, operations in prefix_sums.tree_stream(T, decoder, lambda a, b: 0.0))
        yield f"TreeAgg, {decoder}", most / logs**tree_logs
    for made in (correlations.optimal_counting(), correlations.nu(0.001)):
        yield made.name, np.count_nonzero(made.coefficients(T)) / T**sequence_power
    yield "FFT, all steps", prefix_sums.fft_noise(np.zeros(2 * T))[1] / (T * logs**2)
    yield "Full Honaker", (2 * T - 1) / T**2
    yield "Full Honaker, generation", prefix_sums.two_passes(T, lambda a, b: 0.0)[1] * (2 * T - 1) / T**2
    yield "ME", T / T**2


def _anytime(rng: np.random.Generator, *, trees: bool = True) -> Iterator[Holds]:
    """Whether the law of the noise of 4 steps, up to its scale, is that of the mechanism made for T = 8."""
    answers = {
        "DP-SGD": (lambda T: correlations.independent(), True),
        "TreeAgg": (lambda T: correlations.tree_aggregation(T, decoder="honaker"), trees),
        "Optimal CC": (lambda T: correlations.optimal_counting(), True),
        "nu-DP-FTRL": (lambda T: correlations.nu(0.1), True),
        "FFT": (correlations.fft_mechanism, False),
        "Full Honaker": (correlations.full_honaker, False),
        "ME": (correlations.optimal_prefix_sum, False),
    }
    for label, (make, anytime) in answers.items():
        short, long = (_covariance(make(T), 4, T) for T in (4, 8))
        same = np.allclose(short / short[0, 0], long / long[0, 0], rtol=1e-9, atol=1e-12)
        yield Holds(f"{label} is {'' if anytime else 'not '}anytime", bool(same) == anytime)


TAB_3 = Claim(
    id="ftrl/tab-3",
    where="Table 3",
    page=8,
    kind="mc-rate",
    statement=(
        "Anytime: DP-SGD, TreeAgg, Optimal CC, $nu$-DP-FTRL;",
        "not FFT, Full Honaker, ME.",
        (
            "Cost of making $B$ and of a step: $1, 1$, $1, log T$, $1, T$, $1, T$, $1, T log^2 T$, $T^2, T^2$, for ME "
            "a step $T^2$."
        ),
    ),
    setting=(
        "Vectors combined; making $B$ is what must be done before the first step, $nu$ given. FFT is counted for all "
        "steps together."
    ),
    remark=(
        "As upper bounds: a step of Full Honaker and ME takes $2 T - 1$ and $T$ weights, at most twice those of "
        "$nu$-DP-FTRL, so $T^2$ is not sharp. The $T^3$ for making ME's $B$ is that of a solver which the paper does "
        "not name, and is left out."
    ),
    checks=(
        Agreement(decides="ab", facts=_anytime, impostors={"trees not anytime": {"facts": {"trees": False}}}),
        Rate(
            decides="c",
            ratios=_costs,
            relation="upper",
            extents=DOUBLINGS,
            impostors={
                "trees in O(1)": {"ratios": {"tree_logs": 0}},
                "sequences in O(sqrt T)": {"ratios": {"sequence_power": 0.5}},
            },
        ),
    ),
)
