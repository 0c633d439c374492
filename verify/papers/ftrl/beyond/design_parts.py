"""Beyond the paper: parts of designs and plans, each by its definition: sensitivities, singular values, short runs,
sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy.linalg import toeplitz

from dpbounds.ftrl.correlations import independent, optimal_counting
from dpbounds.ftrl.design import Objective, Participation, best, optimum, plan
from dpbounds.ftrl.design.acceleration import Anderson
from dpbounds.ftrl.design.amplification import _orders
from dpbounds.ftrl.design.budget import Budget
from dpbounds.ftrl.design.clipped import by_direction, forecast
from dpbounds.ftrl.design.clipped.expectations import GaussianInputs
from dpbounds.ftrl.design.clipped.results import ClippedForecast, refreshed
from dpbounds.ftrl.design.dense import graded_singular_values
from dpbounds.ftrl.design.fitting import LARGEST_RUN, _shortened, fit_coefficients, fit_minimax_blt, most_buffers
from dpbounds.ftrl.design.logistic import logistic_minimum
from dpbounds.ftrl.design.noise_kinds import OF_A_RUN, UNCORRELATED
from dpbounds.ftrl.design.objective import Loss
from dpbounds.ftrl.design.participation import encoder_sensitivity
from dpbounds.ftrl.design.prefix_sums import LONG, prefix_sum
from dpbounds.ftrl.design.tuning import Training
from dpbounds.ftrl.methods import momentum_gain
from dpbounds.values import Kind, Value
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.beyond.plan_sentences import sentences
from verify.papers.ftrl.tools.design import patterns
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}


# --- noise ---


def _noise(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Sensitivities by all patterns; singular values that span many orders; long prefix sums; nothing to fit."""
    T = 6
    whole = toeplitz([1.0, -0.5, 0.3, -0.1, 0.05, 0.0], np.zeros(T))
    other = whole.copy()
    other[5, 3] = 2.0
    for label, C in (("Toeplitz", whole), ("not Toeplitz", other)):
        for participation in (Participation.single(), Participation.min_separation(2, 3), Participation.cyclic(2, 3)):
            found = encoder_sensitivity(C, participation)
            sums = [
                float(np.linalg.norm(C[:, pattern] @ signs))
                for pattern in _patterns(participation, T)
                for signs in itertools.product((1.0, -1.0), repeat=len(pattern))
            ]
            where = f"{label}, {participation.kind}"
            yield Within(f"{where}: stated over the largest", float(found) / max(sums), 1.0 - 1e-12, 1.5)
            if found.kind == "exact":
                yield Fact(f"{where}: exact", float(found), max(sums), 1e-12)
    A = np.array([[1.0, 0, 0, 0], [0.5, 1, 0, 0], [-0.3, 0.4, 1, 0], [0.2, 0.1, -0.6, 1]])
    q = np.array([1.0, 1e-9, 1e-20, 1e-31])
    values, vectors = graded_singular_values(A.T @ A, q)
    yield Fact("graded singular values: their logarithms", np.log(values), np.log(_singular_values(A, q)), 1e-9)
    yield Fact("their vectors are orthogonal", vectors.T @ vectors, np.eye(4), 1e-9)
    yield Fact("Anderson's start", Anderson.at(np.array([0.25, 0.75, 0.0])).weights, [0.25, 0.75, 0.0], 1e-9)
    steps = LONG + 88
    stated = np.linalg.norm(optimal_counting().inverse_coefficients(steps))
    long = prefix_sum(steps, Participation.single())
    repeated = prefix_sum(steps, Participation.min_separation(2, 250))
    yield Fact("a long prefix sum: columns", float(long.sensitivity(steps)), 1.0, 1e-6)
    yield Within("without unit columns", float(repeated.sensitivity(steps)) / float(stated), 0.97, 1.03)
    least = optimum(Objective(np.array([1.0, 0.2]), 20, eta=0.4))
    twice = optimum(Objective(np.array([1.0, 0.2]), 6, eta=0.4), Participation.cyclic(2, 3), tolerance=1e-3)
    for label, one in (("an optimum", least), ("one of two passes", twice)):
        yield Fact(f"gap of {label}", 1.0 + one.gap, float(one.value) / float(one.bound), 1e-12)
    run = Objective(np.array([1.0, 0.2]), 1, eta=0.5)
    _, weights = fit_minimax_blt([run, run, run], np.ones(3), 0)
    yield Fact("weights where nothing is fitted", weights, np.full(3, 1 / 3))
    for c in ([1.0, 0.5, 0.0, 0.0, 0.0], [2.0, 1.0, 0.5, 0.25, 0.125], [3.0, 0.0, 0.0]):
        fitted = fit_coefficients(np.array(c), 1).inverse_coefficients(len(c))
        yield Fact(f"a buffer that follows {c}", fitted, np.array(c) / c[0], 1e-4)
    for size, most in ((1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (40, 16)):
        yield Fact(f"buffers that {size} steps can hold", most_buffers(size), most, 0.0)
    T = LARGEST_RUN + 476
    schedule, omega = np.linspace(0.5, 0.1, T), np.linspace(1.0, 3.0, T) ** 2
    shorter = _shortened(Objective(np.array([1.0]), T, schedule=schedule, weights=omega))
    share = np.arange(LARGEST_RUN) / LARGEST_RUN
    yield Fact("a shorter run: steps", shorter.steps, LARGEST_RUN, 0.0)
    yield Fact("its rates, at the same shares of the run", shorter.learning_rates, 0.5 - 0.4 * share, 2e-3)
    sums = np.cumsum(np.asarray(shorter.weights, dtype=float))
    yield Fact(
        "its weights, summed", sums, np.interp(share + 1 / LARGEST_RUN, np.arange(1, T + 1) / T, np.cumsum(omega)), 2e-3
    )


def _patterns(participation: Participation, T: int) -> list[tuple[int, ...]]:
    if participation.times == 1:
        return [(t,) for t in range(T)]
    return list(patterns(participation.kind, T, participation.times, participation.separation))


def _singular_values(A: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Of A Q^{1/2}, from determinants of its minors in fractions: sigma_1^2 ... sigma_k^2 = sum of squared minors of
    order k, to the ratio of neighbours, which is below 1e-8."""
    from fractions import Fraction

    rows = [[Fraction(x) for x in row] for row in A.tolist()]
    products = []
    for k in range(1, 5):
        total = Fraction(0)
        for columns in itertools.combinations(range(4), k):
            weight = math.prod(Fraction(float(q[c])) for c in columns)
            for chosen in itertools.combinations(range(4), k):
                total += weight * _determinant([[rows[r][c] for c in columns] for r in chosen]) ** 2
        products.append(total)
    ratios = [products[0], *(b / a for a, b in itertools.pairwise(products))]
    return np.sqrt([float(ratio) for ratio in ratios])


def _determinant(rows: list[list[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    return sum(
        (-1) ** c * rows[0][c] * _determinant([row[:c] + row[c + 1 :] for row in rows[1:]]) for c in range(len(rows))
    )


# --- forecasts with clipping ---


def _forecasts(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """One pass without replacement by its exact variance; moments by direction by hand; looks; a far minimum."""
    z = np.random.default_rng(2).standard_normal(200)
    z = z - z.mean()
    schedule = np.linspace(0.5, 0.2, 6)
    for steps in (6, 10):
        eta = np.resize(schedule, steps)
        run = forecast(
            np.ones((200, 1)), z, correlation=independent(), schedule=eta, clip_norm=1e6, noise_multiplier=0.0,
            batch_size=20, order="fixed", initial=np.array([1.5]),
        )  # fmt: skip
        shares = [eta[t] * np.prod(1 - eta[t + 1 :]) for t in range(steps)]
        spread = float(z @ z) / 199 * (sum(a**2 for a in shares) / 20 - sum(shares) ** 2 / 200)
        yield Fact(f"{steps} steps of one pass: bias", run.biases[-1], (1.5 * np.prod(1 - eta)) ** 2 / 2, 1e-9)
        yield Fact(f"{steps} steps of one pass: sampling", run.samplings[-1], spread / 2, 0.05)
    yield from _excursions()
    yield from _sums()
    for order, momentum in (("fresh", 0.0), ("poisson", 0.0), ("fixed", 0.3), ("poisson", 0.4)):
        yield from _by_direction(order, momentum)
    inputs = GaussianInputs(np.array([1.0, 0.3]), 2.0)
    for value, ones in zip(inputs.at(0.0), (np.ones(2), np.ones(2), 0.0), strict=True):
        yield Fact("without residuals nothing is clipped", value, ones, 0.0)
    marked = refreshed(1000, 200)
    yield Holds("all steps of few", bool(refreshed(200, 200).all()))
    yield Holds("all steps of fewer than are always looked at", bool(refreshed(6, 4).all()))
    yield Holds("the first and the last", bool(marked[:8].all() and marked[-1]))
    yield Within("looks", int(marked.sum()), 120, 200)
    gaps = np.diff(np.flatnonzero(marked))
    yield Within("the widest gap", int(gaps.max()), 1, 11)
    yield Within("looks in the first tenth", int(marked[:100].sum()), 40, 60)
    X = np.array([[8.0, 1.0], [-9.0, 1.0], [7.0, 1.0], [0.5, 1.0], [-0.5, 1.0], [30.0, 1.0]])
    y = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    theta = logistic_minimum(X, y)
    gradient = X.T @ (1 / (1 + np.exp(-X @ theta)) - y) / len(y)
    yield Within("gradient at a minimum that Newton's first steps miss", float(np.abs(gradient).max()), 0.0, 1e-6)


def _excursions() -> Iterator[Fact]:
    """Two steps on many records of two very different lengths, where the noise of the first moves the iterate far: each
    batch then deviates more, by the fourth moment of the lengths less the square of the second.
    """
    x = np.repeat([0.3, 3.0], [180, 20])
    z = np.random.default_rng(6).standard_normal(200)
    z = z - x * (x @ z) / (x @ x)
    h, fourth, (first, second), m, deviation = float(np.mean(x**2)), float(np.mean(x**4)), (0.6, 0.4), 10, 3.0
    run = forecast(
        x[:, None], z, correlation=independent(), schedule=np.array([first, second]), clip_norm=1e6, batch_size=m,
        noise_multiplier=deviation * m / 1e6, order="fixed", initial=np.array([1.5]), n=10**7,
    )  # fmt: skip
    privacy = (first * deviation) ** 2
    at_start = float(np.var(x * (1.5 * x - z))) / m * first**2
    spread = privacy + at_start
    moved = (float(np.var(x * (1.5 * (1 - first * h) * x - z))) + (fourth - h**2) * spread) / m
    sampling = [at_start, (1 - second * h) ** 2 * at_start + second**2 * moved]
    yield Fact("excursions: privacy", run.privacies[0], h * privacy / 2, 1e-9)
    yield Fact("excursions: sampling", run.samplings, h * np.array(sampling) / 2, 0.15)


def _sums() -> Iterator[Fact]:
    """What a forecast adds up, by hand: the last step, the largest noise, weights that differ."""
    run = ClippedForecast(
        biases=np.array([0.7, 0.3, 0.11]),
        privacies=np.array([0.05, 0.9, 0.23]),
        samplings=np.array([0.02, 0.4, 0.37]),
        share_clipped=np.array([0.5, 0.2, 0.1]),
    )
    yield Fact("the last step", [run.bias, run.privacy, run.sampling, float(run.loss)], [0.11, 0.23, 0.37, 0.71], 1e-15)
    yield Fact("an excursion", run.excursion, 0.9, 0.0)
    weighted = 0.2 * 0.77 + 3.0 * 1.6 + 0.5 * 0.71
    yield Fact("a weighted loss", run.weighted(np.array([0.2, 3.0, 0.5])), weighted, 1e-14)


def _by_direction(order: str, momentum: float) -> Iterator[Fact]:
    """Without clipping: left of the start, and the variance of sampling, as covariances of (theta, v) in each
    direction."""
    spectrum, start, sigma, n, m = np.array([1.0, 0.25]), np.array([4.0, 1.0]), 0.5, 40, 4
    eta = np.array([0.4, 0.3, 0.2, 0.35, 0.3, 0.2, 0.25, 0.4, 0.3, 0.1, 0.2, 0.3])
    found = by_direction(
        spectrum, correlation=independent(), schedule=eta, clip_norm=1e9, noise_multiplier=1e-9, batch_size=m,
        order=order, n=None if order == "fresh" else n, initial=start, sigma_sgd=sigma, momentum=momentum,
    )  # fmt: skip
    left, speed, spread, floor = np.ones(2), np.zeros(2), [np.zeros((2, 2)) for _ in range(2)], np.zeros(2)
    share = 1.0 if order == "fresh" else 1 - m / n
    rows = []
    # One draw of privacy noise has the variance of 1e-9 clip norms over the batch.
    privacy, private = [np.zeros((2, 2)) for _ in range(2)], (1.0 / m) ** 2
    for rate in eta:
        total = left**2 * start + [S[0, 0] + P[0, 0] for S, P in zip(spread, privacy, strict=True)] + floor
        variance = sigma**2 + spectrum @ total
        for j, h in enumerate(spectrum):
            white = h * variance + (h**2 * total[j] if order == "poisson" else 0.0)
            step = np.array([[1 - rate * h, -rate * momentum], [h, momentum]])
            push = np.array([-rate, 1.0])
            spread[j] = step @ spread[j] @ step.T + np.outer(push, push) * white * share / m
            privacy[j] = step @ privacy[j] @ step.T + np.outer(push, push) * private
        speed = momentum * speed + spectrum * left
        left = left - rate * speed
        if order != "fresh":
            floor = sigma**2 / n * (1 - left) ** 2 / spectrum
        own = [S[0, 0] for S in spread]
        rows.append([spectrum @ (left**2 * start) / 2, spectrum @ (own + floor) / 2])
    label = f"by direction, {order}, momentum {momentum:g}"
    yield Fact(f"{label}: bias", found.biases, [bias for bias, _ in rows], 1e-6)
    yield Fact(f"{label}: sampling", found.samplings, [sampling for _, sampling in rows], 1e-6)


# --- what is said ---


def _sentences(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Passes, sensitivities, momentum's rate and gradients; clip norms and clipping of plans."""
    for epochs, words in ((1, "for one pass over"), (3, "for all 3 passes over")):
        yield Holds(f"{epochs} passes", words in Budget.of(rho=0.5).sentence(epochs))
    for epochs, sizes in ((1, [16, 64, 256, 1024, 4096]), (3, [64, 256, 1024, 4096, 16384])):
        training = Training(eigenvalues=np.array([0.9, 0.2]), n=100_000, rho=0.5, initial=1.0, epochs=epochs)
        yield Fact(f"batch sizes of 100,000 records, {epochs} passes", list(training.batch_sizes), sizes, 0.0)
    orders = list(range(2, 65))
    while orders[-1] < 8192:
        orders.append(math.ceil(1.1 * orders[-1]))
    yield Fact("Renyi orders: all to 64, then by a tenth to 8192", _orders(), orders, 0.0)
    settings: dict[str, Any] = {"eigenvalues": np.array([2.0, 0.02]), "steps": 8, "weights": "final", "batch_size": 500}
    settings["noiseless"] = True
    run = Objective(**settings, eta=0.2, momentum=0.5)
    found = best(run, residuals=0.1, rho=1e-3)
    radius = max(abs(np.linalg.eigvals([[1.5 - 0.2 * h, -0.5], [1.0, 0.0]])).max() for h in (2.0, 0.02))
    yield Fact("rate of momentum", found.rate_of_momentum, 1 - radius, 1e-9)
    assert found.sampled is not None
    yield Holds("what is said of its gradients", found.sampled.sentence in found.sentences)
    noise = found.sampled.noise.scaled(2.0, 2 * found.variance)
    gain = momentum_gain(1 - radius, 100.0, gradient_noise=noise)
    yield Holds("what is said of its gain", gain is not None and gain.sentence in found.sentences)
    others = {
        "none": (Objective(**settings, eta=0.15), Participation.single()),
        "of a schedule": (
            Objective(**settings, schedule=np.linspace(0.15, 0.1, 8), momentum=0.5),
            Participation.single(),
        ),
        "of several passes": (run, Participation.cyclic(2, 4)),
        "of one curvature": (
            Objective(np.array([0.5, 0.5]), 8, noiseless=True, eta=0.2, momentum=0.5),
            Participation.single(),
        ),
    }
    for label, (objective, participation) in others.items():
        design = replace(found, objective=objective, participation=participation)
        yield Holds(f"no rate of momentum {label}", design.rate_of_momentum is None)
    bare = replace(found, objective=others["none"][0], residuals=None)
    yield Holds("gradients of which nothing is given", bare.sampled is None)
    said = "The sensitivity of some row is an upper bound"
    kinds: tuple[Kind, ...] = ("exact", "upper")
    for kind in kinds:
        row = replace(bare.rows[0], sensitivity=Value(1.0, kind=kind, source=""))
        bare._known.update(dict.fromkeys(OF_A_RUN, row))
        yield Holds(f"a sensitivity that is {kind}", any(said in one for one in bare.sentences) is (kind == "upper"))
    planned = plan(np.ones(2), 64, initial=1.0, rho=1.0, batch_sizes=(4,), buffers=1, amplification=False)
    for label, factor in (("as compared", 1.0), ("of another size", 1.4)):
        rows = tuple(
            replace(row, population=row.expected * (factor if row.kind in UNCORRELATED else 1.0))
            for row in planned.rows
        )
        said = list(replace(planned, rows=rows)._on_fresh_records())
        yield Holds(f"on fresh records a loss {label}", len(said) == (factor > 1))
        if said:
            alone, noise = (
                min(row.expected for row in rows if (row.kind in UNCORRELATED) is kind) for kind in (True, False)
            )
            yield Holds("the ratio on them", f"ratio is {noise / (factor * alone):.3g}: 64 records" in said[0])
    yield Holds("one number of passes leaves none to choose", planned.passes == ())
    for ratio, words in ((0.5, "take"), (0.93, "probably"), (0.99, "level")):
        rows = tuple(
            replace(row, loss=Loss(1.0 if row.kind in UNCORRELATED else ratio, 0.0, 0.0)) for row in planned.rows
        )
        said = [replace(planned, rows=rows, momentum=momentum).verdict for momentum in (0.0, 0.5)]
        yield Holds(
            f"{ratio:g} of the loss, also with momentum", said == [words, "probably" if words == "take" else words]
        )
    own = planned.training.clip_norm
    for clip, share in ((own, 0.2), (own, 0.6), (2 * own, 0.2)):
        clipped = cast(Any, SimpleNamespace(share_clipped=np.array([share, share])))
        rows = tuple(replace(row, clipped=clipped, clip_norm=clip) for row in planned.rows)
        words = list(replace(planned, rows=rows)._assumed())
        norms = any("Clip norms are the best" in one for one in words)
        often = any("a larger clip norm may be better" in one for one in words)
        yield Holds(
            f"clip norm {clip / own:g} of its own, {share:g} clipped", (norms, often) == (clip != own, share > 0.3)
        )


PARTS = Claim(
    id="ftrl/beyond-design-parts",
    where=f"{OURS}: parts of designs and plans",
    kind="number",
    statement=(
        (
            "Sensitivities of matrices are not below those of any pattern, singular values keep their digits over many "
            "orders, and long runs are shortened at the same shares;"
        ),
        (
            "without clipping forecasts of one pass have the variance of sampling without replacement, and those by "
            "direction the second moments of their recursion, and losses are sums of their parts;"
        ),
        (
            "what designs and plans say of rows, passes, batch sizes, momentum, sensitivities and clipping is so, and "
            "a plan hands on what it is given."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_noise, impostors=_OFF),
        Agreement(decides="b", facts=_forecasts, impostors=_OFF),
        Agreement(decides="c", facts=_sentences, impostors=_OFF),
        Agreement(decides="c", facts=sentences, impostors=_OFF),
    ),
)
