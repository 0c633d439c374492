"""Beyond the paper: where the searches for designs end, by values from the definition; steps towards the best q."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from dpbounds import AccuracyError
from dpbounds.ftrl.design import Objective, Participation, fit_bands, fit_monotone_blt, fit_scaled_blt, repeated
from dpbounds.ftrl.design.acceleration import FAINTEST_LOG, FARTHEST, MEMORY, STEP, Anderson
from dpbounds.ftrl.design.fitting import SHARPNESS, fit_minimax_blt
from dpbounds.ftrl.design.repeated import Blocks, repeated_bound, repeated_optimum
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.papers.ftrl.beyond.design_dense import dense_searches
from verify.papers.ftrl.beyond.design_fits import fits
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.tools.design_problems import impulse_gram
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
STEPS = 14
LAMBDA = np.array([0.9, 0.25])


# --- fits ---


def _run(rates: np.ndarray, omega: np.ndarray, examples: int) -> tuple[Objective, np.ndarray]:
    """With its Gram matrix from the definition."""
    run = Objective(LAMBDA, STEPS, schedule=rates, weights=omega, batch_size=examples)
    return run, impulse_gram(LAMBDA, rates, omega, examples)


def _encoder(c: np.ndarray) -> np.ndarray:
    padded = np.concatenate([c, np.zeros(STEPS - len(c))])
    return np.array([[padded[s - t] if s >= t else 0.0 for t in range(STEPS)] for s in range(STEPS)])


def _blt(logs: np.ndarray) -> np.ndarray:
    """1, sum_i w_i phi_i^(t-1), from the logarithms of decays and scales."""
    decays, scales = np.exp(np.split(logs, 2))
    return np.concatenate([[1.0], scales @ decays[:, None] ** np.arange(STEPS - 1)])


def _logs(blt: Any) -> np.ndarray:
    return np.log([*blt.buf_decay, *blt.output_scale])


def _unit_columns(gram: np.ndarray, C: np.ndarray) -> float:
    """The logarithm of tr (G (C^T C)^{-1}), C with columns of length 1."""
    C = C / np.linalg.norm(C, axis=0)
    return float(np.log(np.trace(gram @ np.linalg.inv(C.T @ C))))


def _left(value: Callable[[np.ndarray], float], at: np.ndarray, size: float = 1e-3) -> np.ndarray:
    """A step of Newton's method by differences: how far the minimum is; not a number where there is none nearby."""
    moves = size * np.eye(len(at))
    slope = np.array([value(at + a) - value(at - a) for a in moves]) / (2 * size)
    bends = np.array(
        [[value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b) for a in moves] for b in moves]
    ) / (4 * size**2)
    return -np.linalg.solve(bends, slope) if np.linalg.eigvalsh(bends)[0] > 0 else np.full(len(at), np.nan)


def _fits(rng: np.random.Generator, moved: float = 0.0) -> Iterator[Fact | Holds | Within]:
    """One buffer, and few bands: the next step of Newton's method is nothing, on values from the definition."""
    t = np.arange(STEPS) / STEPS
    fast, slow = 0.6 - 0.35 * t, 0.3 - 0.15 * t
    run, gram = _run(fast, (0.2 + t) ** 3, 3)
    apart, its_gram = _run(slow, 0.5 + t, 2)
    three = Participation.min_separation(3, 5)

    def repeated_value(logs: np.ndarray) -> float:
        C = _encoder(_blt(logs))
        column = np.sum([np.concatenate([np.zeros(5 * i), C[: STEPS - 5 * i, 0]]) for i in range(3)], axis=0)
        return float(np.log(np.trace(its_gram @ np.linalg.inv(C.T @ C)) * (column @ column)))

    alone, monotone = fit_scaled_blt(run, 1, rows=False), fit_monotone_blt(apart, three, 1)
    searches: dict[str, tuple[Callable[[np.ndarray], float], np.ndarray]] = {
        "BLT": (lambda logs: _unit_columns(gram, _encoder(_blt(logs))), _logs(alone.blt)),
        "monotone BLT": (repeated_value, _logs(monotone)),
    }
    for bands in (2, 3):
        made = fit_bands(run, bands).toeplitz.inverse_coefficients(STEPS)
        yield Fact(f"{bands} bands: the others", [made[0], *made[bands:]], [1.0] + [0.0] * (STEPS - bands), 0)
        searches[f"{bands} bands"] = (
            lambda tail: _unit_columns(gram, _encoder(np.concatenate([[1.0], tail]))),
            made[1:bands],
        )
    for label, (value, at) in searches.items():
        left = _left(value, at + moved)
        yield Within(f"{label}: farthest from the least value", float(np.abs(left).max()), 0.0, 1e-4)
    yield Fact("one band", fit_bands(run, 1).encoder(STEPS), np.eye(STEPS), 0)
    yield Holds("label of a BLT without rows", alone.label == "BLT, 1 buffers" and alone.row_scale is None)
    nothing = fit_scaled_blt(run, 0).encoder(STEPS), fit_monotone_blt(apart, three, 0).encoder(STEPS)
    yield Fact("no buffers", nothing, [np.eye(STEPS)] * 2, 0)
    yield from _rows(run, gram, apart, its_gram, moved)
    heavy = Objective(LAMBDA, STEPS, 0.2, noiseless=True, momentum=0.5)
    yield refused("a BLT for momentum", "momentum", lambda: fit_scaled_blt(heavy, 1))
    yield refused("seven buffers for 14 steps", "buffers", lambda: fit_scaled_blt(run, 7))
    yield refused("no bands", "bands", lambda: fit_bands(run, 0))


def _shapes(rates: np.ndarray) -> np.ndarray:
    """Powers of log (1 - t / T), t / T, log eta_t."""
    t = np.arange(STEPS) / STEPS
    left = np.log(1 - t)
    return np.column_stack([left, left**2 / 5, left**3 / 30, t, np.log(rates / rates[0])])


def _rows(
    run: Objective, gram: np.ndarray, other: Objective, its_gram: np.ndarray, moved: float
) -> Iterator[Fact | Holds | Within]:
    """Scaled rows: log r in the span of its shapes, slopes of nothing at the end; of two runs the SHARPNESS-norm."""
    shapes, references = _shapes(run.learning_rates), np.array([0.92, 0.81])
    both, weights = fit_minimax_blt([run, other], references, 1)
    for label, made, grams, scales in (
        ("scaled BLT", fit_scaled_blt(run, 1), [gram], np.ones(1)),
        ("minimax BLT", both, [gram, its_gram], references),
    ):
        rows = np.log(np.asarray(made.row_scale))
        point = np.linalg.lstsq(shapes, rows, rcond=None)[0]
        yield Fact(f"{label}: log r by its shapes", shapes @ point, rows)
        yield Holds(f"{label}: its name", made.label == f"{label}, 1 buffers")

        def ratios(at: np.ndarray, grams=grams, scales=scales) -> np.ndarray:
            C = np.exp(shapes @ at[2:])[:, None] * _encoder(_blt(at[:2]))
            return np.exp([_unit_columns(one, C) for one in grams]) / scales

        at = np.concatenate([_logs(made.blt), point]) + moved
        moves = 1e-4 * np.eye(len(at))
        logs = [[np.log(np.linalg.norm(ratios(at + side * e), SHARPNESS)) for side in (1, -1)] for e in moves]
        slopes = np.array([above - below for above, below in logs]) / 2e-4
        yield Within(f"{label}: largest slope at the end", float(np.abs(slopes).max()), 0.0, 5e-3)
    powers = ratios(at) ** SHARPNESS
    yield Fact("minimax BLT: weights", weights, powers / powers.sum(), 1e-8)


# --- steps ---


def _linear(steps: int, faint: float = 0.0) -> tuple[Anderson, np.ndarray, Callable[[Anderson, float], np.ndarray]]:
    """A search whose plain move is linear in log q - log q*, with the fixed point q* and hat over the norm."""
    rng = np.random.default_rng(steps)
    centred = np.eye(steps) - 1.0 / steps
    basis = np.linalg.qr(rng.standard_normal((steps, steps)))[0]
    contraction = centred @ (basis * rng.uniform(0.3, 0.5, steps)) @ basis.T @ centred
    aim = 0.3 * rng.standard_normal(steps)

    def hat(search: Anderson, norm: float) -> np.ndarray:
        return norm * search.weights * np.exp(contraction @ (aim - np.log(search.weights)))

    return Anderson.at(np.exp(0.1 * rng.standard_normal(steps))), np.exp(aim) / np.exp(aim).sum(), hat


def _steps(rng: np.random.Generator, moved: float = 1.0) -> Iterator[Fact | Holds | Within]:
    """First steps by hand; after as many as there are directions a linear search is at its end; steps that lose."""
    first, hat, then = Anderson.uniform(3), np.array([0.5, 0.3, 0.4]), np.array([0.7, 0.2, 0.4])
    yield Fact("from q = 1/T", first.weights, np.full(3, 1 / 3))
    for given in ([0.2, 0.6], [0.5e308, 1.5e308]):
        yield Fact("q of any sum", Anderson.at(np.array(given)).weights, [0.25, 0.75], 1e-10)
    first.step(hat, 1.2)
    move = STEP * np.log(hat / 1.2 * 3)
    yield Fact("a first step", first.weights, moved * np.exp(move) / np.exp(move).sum())
    first.step(then, 1.3)
    place = move - move.max()
    turned = STEP * np.log(then / 1.3 / (np.exp(place) / np.exp(place).sum()))
    change = turned - move
    mixed = (then * change) @ turned / ((then * change) @ change)
    logs = place + turned - np.clip((place + change) * mixed, -FARTHEST, FARTHEST)
    taken = first.weights
    yield Fact("a second step, extrapolated", taken, moved * np.exp(logs) / np.exp(logs).sum(), 1e-11)
    first.step(np.array([0.1, 0.3, 0.8]), 1.2)  # a loss: from q a plain step, no matter which hat
    yield Fact("a step that lost, taken back", first.weights, moved * then / 1.3)
    yield Within("it had gone elsewhere", float(np.abs(taken - then / 1.3).max()), 0.01)
    q, hat = first.weights, np.array([0.6, 0.3, 0.4])
    first.step(hat, 1.31)
    stated = q * (hat / 1.31 / q) ** STEP
    yield Fact("afresh from there", first.weights, moved * stated / stated.sum())
    for size in (3, MEMORY + 1):
        search, end, hat_of = _linear(size)
        for number in range(size + 1):
            norm = 1.0 + 0.1 * number
            search.step(hat_of(search, norm), norm)
            off = float(np.abs(np.log(search.weights / end)).max())
            if number == size - 2:
                yield Within(f"{size} weights, a step too early: off", off, 1e-9)
        yield Fact(f"{size} weights: the end", search.weights, moved * end, 1e-11)
    yield from _reach(moved)


def _reach(moved: float) -> Iterator[Fact | Within]:
    """Moves that nearly repeat extrapolate by e^FARTHEST at most; weights end e^FAINTEST_LOG below the largest."""
    search, growths = Anderson.uniform(2), (0.2, 0.1999)
    for norm, growth in zip((1.0, 2.0), growths, strict=True):
        before = search.weights
        search.step(norm * before * np.exp(np.array([-growth / 2, growth / 2])), norm)
    # where both stood the larger weight is 1: it has not moved yet, and is not extrapolated beyond its step
    stated = np.log(before[1] / before[0]) + STEP * growths[1] / 2 + FARTHEST
    yield Fact("a far extrapolation", np.log(search.weights[1] / search.weights[0]), moved * stated, 1e-9)
    search = Anderson.at(np.array([1.0, 0.0, 1e-3]))
    yield Fact("a weight of 0", np.log(search.weights[1] / search.weights[0]), moved * FAINTEST_LOG)
    search.step(np.array([1.0, 0.0, 1e-20]), 1.0)
    faint = np.log(search.weights[1:] / search.weights[0])
    yield Fact("a faint one", faint, moved * np.full(2, FAINTEST_LOG))


# --- several participations ---


def _patterns(rows: np.ndarray, q: np.ndarray, T: int) -> np.ndarray:
    """Q, entry by entry: q_o times the cosine of two rows, where two steps have the offset o."""
    b, k, _ = rows.shape
    Q = np.zeros((T, T))
    for o in range(b):
        for i in range(k):
            for j in range(k):
                if o + max(i, j) * b < T:
                    one, two = rows[o, i], rows[o, j]
                    Q[o + i * b, o + j * b] = q[o] * (one @ two) / np.linalg.norm(one) / np.linalg.norm(two)
    return Q


def _root(matrix: np.ndarray) -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T


def _norm(gram: np.ndarray, Q: np.ndarray) -> float:
    """tr (Q^{1/2} G Q^{1/2})^{1/2}."""
    half = _root(Q)
    return float(np.trace(_root(half @ gram @ half)))


def _bounds(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Nuclear norms and best mechanisms at a given Q by square roots of matrices; what a bound says of itself."""
    draws = np.random.default_rng(4)
    T, k, b = 5, 2, 3
    root = draws.standard_normal((T, T + 2))
    gram = root @ root.T
    rows, logs = draws.standard_normal((b, k, k)), np.array([0.3, -0.5, 0.9])
    q = np.exp(logs) / np.exp(logs).sum()
    Q, blocks = _patterns(rows, q, T), Blocks(gram, k, b)
    norm, by_rows, by_logs = blocks.norm(rows, logs)
    yield Fact("nuclear norm", norm, _norm(gram, Q), 1e-9)
    yield Fact("Q of its factor", blocks.best_factor @ blocks.best_factor.T, Q, 1e-12)
    for label, slope, at in (("rows", by_rows, 0), ("weights", by_logs, 1)):
        numeric = np.zeros(slope.shape)
        for place in np.ndindex(slope.shape):
            sides = []
            for sign in (1e-5, -1e-5):
                moved = [rows.copy(), logs.copy()]
                moved[at][place] += sign
                sides.append(_norm(gram, _patterns(moved[0], np.exp(moved[1]) / np.exp(moved[1]).sum(), T)))
            numeric[place] = (sides[0] - sides[1]) / 2e-5
        yield Fact(f"its slopes by {label}", slope, numeric, 1e-6)
    less, *_ = blocks.norm(rows, np.array([20.0, 0.0, 0.0]))
    yield Within("another of a smaller norm", less / norm, 0.0, 0.99)
    yield Fact("the best is kept, both are counted", [blocks.best, blocks.evaluations], [norm, 2], 1e-15)
    alike = np.broadcast_to(rows[:, :1], rows.shape)
    plain, large = (Blocks(scale * gram, k, b).norm(alike, logs) for scale in (1.0, 1e8))
    yield Fact("slopes by weights where epochs are alike, in other units", large[2], 1e4 * plain[2], 1e-9)
    first = np.eye(T)[0] + np.eye(T)[b]
    for units in (1.0, 1e8):  # what rounding leaves of the other eigenvalues would add a part in 10^8
        one, turned, slope = Blocks(units * gram, k, b).norm(alike, np.array([800.0, 0.0, 0.0]))
        yield Fact(f"a Q of rank 1: norm, units {units:g}", one, float(np.sqrt(units * first @ gram @ first)), 1e-12)
        yield Fact(f"a Q of rank 1: slopes by weights, units {units:g}", slope, np.zeros(3), 1e-9 * units)
        yield Fact(f"a Q of rank 1: slopes by rows, units {units:g}", turned, np.zeros((b, k, k)), 1e-9 * units)
    yield from _best_mechanism(gram, blocks.best_factor, Q)
    yield from _told()


def _best_mechanism(gram: np.ndarray, factor: np.ndarray, Q: np.ndarray) -> Iterator[Fact | Holds]:
    """C^T C = X(Q), C lower triangular; where Q has no rank, roots of eigenvalues of 1e-13 of the largest."""
    half = _root(Q)
    inverse = np.linalg.inv(half)
    made = repeated._encoder(gram, factor)
    yield Fact("X(Q)", made.T @ made, inverse @ _root(half @ gram @ half) @ inverse, 1e-8)
    yield Holds("a causal mechanism", bool((np.triu(made, 1) == 0).all() and (np.diag(made) > 0).all()))
    lower = np.linalg.cholesky(gram)
    thin = factor.copy()
    thin[:, 1:] = 0.0
    eigenvalues = np.linalg.eigvalsh(lower.T @ thin @ thin.T @ lower)
    made = repeated._encoder(gram, thin) @ np.linalg.inv(lower).T
    found = np.linalg.eigvalsh(made.T @ made)
    stated = np.maximum(eigenvalues, repeated.PUSHING * eigenvalues[-1])[::-1] ** -0.5
    yield Fact("X of a Q of rank 1", found, stated, 1e-6)


def _told() -> Iterator[Fact | Holds | Within]:
    """The diagonal of Q, evaluations; what is refused."""
    run = Objective(np.array([0.9, 0.25]), 7, schedule=np.linspace(0.6, 0.2, 7), batch_size=3)
    for label, participation, even in (
        ("cyclic", Participation.cyclic(2, 4), False),
        ("twice, 3 apart", Participation.min_separation(2, 3), True),
    ):
        with mock.patch.object(Blocks, "norm", autospec=True, side_effect=Blocks.norm) as counted:
            bound = repeated_bound(run, participation)
        yield Fact(f"{label}: evaluations", bound.iterations, counted.call_count + even, 0)
        yield Within(f"{label}: some of them", counted.call_count, 5)
        if even:  # T / k = 3.5 is less than the 4 steps of a cycle
            yield Fact(f"{label}: diagonal of Q", bound.dual, np.full(7, 1 / 3.5))
            yield Fact(f"{label}: bound", float(bound), _norm(run.gram(), np.eye(7) / 3.5) ** 2, 1e-9)
        else:
            yield Fact(f"{label}: diagonal of Q, summed over offsets", float(bound.dual[:4].sum()), 1.0)
            yield Fact(f"{label}: the same in both epochs", bound.dual[4:], bound.dual[:3])
        yield Holds(f"{label}: kind", bound.value.kind == "lower" and np.isnan(bound.gap) and bound.compression == 0)
    cyclic = Participation.cyclic(2, 4)
    solved = repeated_optimum(run, cyclic, tolerance=1e-2)
    encoder = solved.mechanism.encoder(7)
    yield Fact("optimum: C B", encoder @ solved.mechanism.matrix(7), np.eye(7), 1e-12)
    yield Holds("optimum: its name", solved.mechanism.name == "cyclic optimum (T=7)")
    squares = np.abs(encoder.T @ encoder)
    largest = max(squares[o::4, o::4].sum() for o in range(4))
    value = largest * np.trace(run.gram() @ np.linalg.inv(encoder.T @ encoder))
    yield Fact("optimum: value", float(solved.value), float(value), 1e-10)
    try:
        repeated_optimum(run, cyclic, tolerance=0.9 * solved.gap)
        ended = True
    except AccuracyError:
        ended = False
    yield Holds("a gap that is not reached", not ended)
    yield refused(
        "patterns that are not cyclic",
        "participation",
        lambda: repeated_optimum(run, Participation.min_separation(2, 4)),
    )
    long = Objective(np.array([0.9]), 513, 0.3, batch_size=3)
    yield refused("513 steps", "steps", lambda: repeated_optimum(long, Participation.cyclic(2, 257)))
    noiseless = Objective(np.array([0.9]), 7, 0.3, noiseless=True, weights="final")
    yield refused("an optimum that is not attained", "weights", lambda: repeated_optimum(noiseless, cyclic))


SEARCHES = Claim(
    id="ftrl/beyond-design-searches",
    where=f"{OURS}: searches for designs",
    kind="algorithm",
    statement=(
        (
            "BLTs of one buffer, with scaled rows or without, for one loss, for the worst of two, or for several "
            "participations, and few bands end where their cost, from its definition, has no slope;"
        ),
        (
            "steps towards the best $q$ begin with $q$ times a power of $X$, take back what loses, and end a linear "
            "search after as many steps as there are directions;"
        ),
        (
            "nuclear norms for cyclic patterns and the mechanism of a $Q$ are those of matrix square roots, and bounds "
            "tell the diagonal of $Q$ and the evaluations that they took;"
        ),
        (
            "fits and dense searches begin, stay and stop where they are said to, and the nearest coefficients are "
            "nearest."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_fits, impostors={"half a percent beside": {"facts": {"moved": 0.005}}}),
        Agreement(decides="b", facts=_steps, impostors={"1 % off": {"facts": {"moved": 1.01}}}),
        Agreement(decides="c", facts=_bounds, impostors=_OFF),
        Agreement(decides="d", facts=fits, impostors=_OFF),
        Agreement(decides="d", facts=dense_searches, impostors=_OFF),
    ),
)
