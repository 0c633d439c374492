"""Beyond the paper: the exact loss of a run with correlated noise, and the least that any correlation can reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import minimize

from dpbounds.ftrl.correlations import FiniteImpulse, MatrixCorrelation, nu
from dpbounds.ftrl.design import Objective, lower_bound, optimum, smoother
from dpbounds.ftrl.design.duality import refuse_degenerate
from dpbounds.ftrl.design.objective import largest_stable_rate
from dpbounds.ftrl.design.smoother import compressed, hat_diagonals, rational_root, streamed_bound
from verify.checks import Agreement, Fact, Holds, Search, Times, Within, refused, taken
from verify.checks.domains import Real, Whole
from verify.papers.ftrl.beyond.design_streams import streams
from verify.papers.ftrl.tools.design import heavy_ball_loss, random_mechanism, random_objective, weighted_loss
from verify.statements.claims import Claim

OURS = "beyond the paper"
SPECTRA = {
    "1/k": 1 / np.arange(1, 33),
    "1/k^2": 1 / np.arange(1, 33) ** 2,
    "flat": np.ones(32),
    "two levels": np.where(np.arange(32) < 4, 1.0, 0.01),
}


def _run(eigenvalues: list[float], steps: int, **settings: Any) -> Objective:
    return Objective(np.array(eigenvalues), steps, **settings)


# --- the loss ---


def _losses(rng: np.random.Generator, early: int = 0) -> Iterator[Fact]:
    """Objective.loss against second moments run forward, and G by its columns."""
    T = 11
    correlation = nu(0.1)
    decoder = correlation.matrix(T)
    gamma = float(np.linalg.norm(np.linalg.inv(decoder), axis=0).max())
    rho, clip = 0.7, 1.3
    for weights in ("mean", "final", "tail", rng.uniform(0, 1, T)):
        for m in (None, 1, 4):
            settings: dict[str, Any] = {"initial": [2.0, 0.5, 1.0], "weights": weights, "batch_size": m}
            sigma = 0.0 if m is None else 0.8
            run = _run([1.0, 0.3, 0.05], T, schedule=np.linspace(0.2, 0.02, T), sigma_sgd=sigma, **settings)
            variance = (gamma * clip / (m or 1)) ** 2 / (2 * rho)
            loss = run.loss(correlation, rho, clip_norm=clip)
            told = f"weights {weights if isinstance(weights, str) else 'given'}, m = {m or 'oo'}"
            yield Fact(told, loss.total / weighted_loss(run, decoder, variance, early=early), 1.0, 1e-12)
            quiet = weighted_loss(run, decoder, 0.0, early=early)
            yield Fact(f"without noise, {told}", (loss.bias + loss.sgd_noise) / quiet, 1.0, 1e-12)
    named = {"mean": np.full(11, 1 / 11), "final": np.eye(11)[-1], "tail": np.r_[np.zeros(9), 0.5, 0.5]}
    for name, omega in named.items():
        yield Fact(f"weights {name}", _run([1.0], 11, eta=0.1, weights=name).omega, omega, 1e-15)
    run = _run([1.0, 0.3], 37, eta=0.4, momentum=0.8, weights="tail", initial=0.3)
    total = run.loss(nu(0.1), rho).total
    gamma = float(np.linalg.norm(nu(0.1).encoder(37), axis=0).max())
    yield Fact("momentum", total / heavy_ball_loss(run, nu(0.1).matrix(37), gamma**2 / (2 * rho)), 1.0, 1e-12)
    for one in (run, random_objective(rng, 41)):
        columns = one.apply(np.eye(one.steps))
        told = f"mu = {one.momentum:g}"
        yield Fact(f"G by columns, {told}", columns, one.gram(), 1e-13)
        yield Fact(f"its diagonal, {told}", one.diagonal(), np.diag(columns), 1e-13)
        yield Fact(
            f"independent noise, {told}", one.noise_power(FiniteImpulse((1.3,))), 1.69 * np.trace(columns), 1e-12
        )


def _stability(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The largest learning rate: there one step has spectral radius 1, by eigenvalues of the whole matrix."""
    for m in (1, 2, 7):
        eigenvalues = rng.uniform(0.1, 1.0, 4)
        x = largest_stable_rate(eigenvalues, 1 / m) * eigenvalues
        step = np.diag((1 - x) ** 2 + x**2 / m) + np.outer(x, x) / m
        yield Fact(f"spectral radius, m = {m}", float(np.abs(np.linalg.eigvals(step)).max()), 1.0, 1e-10)
    yield from _refused()


def _refused() -> Iterator[Holds]:
    """Rates on both sides of where the step of one curvature, or second moments, no longer contract; settings that do
    not go together.
    """
    curvatures = [0.9, 0.25]
    kinds: tuple[dict[str, Any], ...] = ({"noiseless": True, "momentum": 0.6}, {"noiseless": True}, {"batch_size": 3})
    for settings in kinds:
        least, most = 0.1, 5.0
        for _ in range(40):  # by halving, on the eigenvalues of one step
            middle = (least + most) / 2
            least, most = (middle, most) if _radius(curvatures, middle, settings) < 1 else (least, middle)
        for share in (0.999, 1.001):
            for name, rates in (("eta", share * most), ("schedule", [0.1, share * most, 0.2])):
                label, given = f"{settings}: {name}, {share:g} of the largest", {name: rates, **settings}
                yield (
                    taken(label, lambda given=given: _run(curvatures, 3, **given))
                    if share < 1
                    else refused(label, name, lambda given=given: _run(curvatures, 3, **given))
                )
    for name, settings in (
        ("momentum", {"momentum": 0.2, "batch_size": 3}),
        ("sigma_sgd", {"sigma_sgd": 0.3, "noiseless": True}),
        ("weights", {"weights": [0.2, -0.1, 1.0]}),
        ("weights", {"weights": [0.0, 0.0, 0.0]}),
        ("initial", {"initial": [0.1, 0.2, 0.3]}),
        ("initial", {"initial": [0.1, -0.2]}),
    ):
        yield refused(f"{settings}", name, lambda settings=settings: _run(curvatures, 3, eta=0.1, **settings))


def _radius(curvatures: list[float], rate: float, settings: dict[str, Any]) -> float:
    """The spectral radius of a step of heavy ball, or of second moments with batches."""
    x = rate * np.array(curvatures)
    if "batch_size" in settings:
        m = settings["batch_size"]
        return float(np.abs(np.linalg.eigvals(np.diag((1 - x) ** 2 + x**2 / m) + np.outer(x, x) / m)).max())
    momentum = settings.get("momentum", 0.0)
    steps = [np.array([[1 - one, -rate * momentum], [one / rate, momentum]]) for one in x]
    return float(max(np.abs(np.linalg.eigvals(step)).max() for step in steps))


LOSS = Claim(
    id="ftrl/beyond-design-loss",
    where=f"{OURS}: exact loss of a run with designed noise",
    kind="identity",
    statement=(
        (
            "For averages of $m$ Gaussian examples and noise $B w$ the weighted loss $sum_t omega_t E F(theta_t)$ is "
            'bias + gradient noise + $N op("tr")(G B B^T)$ with $G_(s t) = eta_s eta_t sum_j z_j (t) product_(r=s+1)^t '
            "(1 - eta_r lambda_j)$, $s <= t$, $z$ the transposed recursion of second moments."
        ),
        "Learning rates at which one step does not contract are refused.",
    ),
    setting="Schedules, weights on the mean, the last 10 %, the last iterate and at random; heavy ball at $m = oo$.",
    checks=(
        Agreement(
            decides="a",
            facts=_losses,
            impostors={"weights one step early": {"facts": {"early": 1}}, "1e-4 off": {"facts": Times(1.0001)}},
        ),
        Agreement(decides="b", facts=_stability, impostors={"1e-4 off": {"facts": Times(1.0001)}}),
    ),
)


# --- duality ---


def _any_mechanism(seed: float, size: float, factor: float = 1.0) -> tuple[float, float]:
    """The bound against a random mechanism, or one near the best."""
    rng = np.random.default_rng(int(seed))
    run = random_objective(rng, int(rng.integers(1, 9)))
    if rng.random() < 0.5:
        mechanism = random_mechanism(rng, run.steps, size)
    else:
        best = optimum(run, tolerance=1e-4).mechanism.encoder(run.steps)
        encoder = best * (1.0 + 0.1 * size * rng.standard_normal(best.shape))
        mechanism = MatrixCorrelation("near the best", run.steps, np.linalg.inv(encoder), encoder)
    bound = lower_bound(run, certify=rng.random() < 0.2)
    columns = np.linalg.norm(mechanism.encoder(run.steps), axis=0).max()
    power = weighted_loss(run, mechanism.matrix(run.steps), 1.0)
    return factor * float(bound), float(columns**2 * power)


def _solved(rng: np.random.Generator, gap: float = 1e-5) -> Iterator[Fact]:
    """The optimum, valued by second moments run forward, is at most 1e-5 above the bound."""
    T = 48
    for name, spectrum in SPECTRA.items():
        for weights, rates in (("mean", 0.5), ("final", 0.1), ("tail", 0.1 * (1 - np.arange(T) / T))):
            m = None if weights == "mean" else 64
            kind: dict[str, Any] = {"eta": rates} if isinstance(rates, float) else {"schedule": rates}
            run = Objective(spectrum, T, weights=weights, batch_size=m, **kind)
            best = optimum(run)
            columns = np.linalg.norm(best.mechanism.encoder(T), axis=0)
            value = columns.max() ** 2 * weighted_loss(run, best.mechanism.matrix(T), 1.0)
            yield Fact(f"over the bound, {name}, {weights}", value / float(best.bound), 1.0 + gap / 2, gap / 2)
            yield Fact(f"its columns, {name}, {weights}", columns, np.ones(T), 1e-12)


def _by_search(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """At T = 4 a direct search over encoders with unit columns finds no less, and finds it."""
    run = _run([1.0, 0.2], 4, schedule=[0.5, 0.4, 0.3, 0.1], batch_size=3, weights=[0.1, 0.2, 0.3, 1.0])
    lower = np.tril_indices(4)

    def value(flat: np.ndarray) -> float:
        encoder = np.zeros((4, 4))
        encoder[lower] = flat
        encoder += np.eye(4)
        encoder /= np.linalg.norm(encoder, axis=0)
        return weighted_loss(run, np.linalg.inv(encoder), 1.0)

    found = min(minimize(value, 0.1 * rng.standard_normal(10), tol=1e-12).fun for _ in range(3))
    yield Fact("least value found over the bound", found / (factor * float(lower_bound(run))), 1.0, 3e-6)
    single = lower_bound(_run([1.0, 0.2], 1, eta=0.5))
    yield Fact("iterations where there is one q only", single.iterations, 1, 0)
    # Noiseless and final, one direction: only the last step's noise cannot be undone.
    alone = _run([0.7], 6, eta=0.3, weights="final")
    yield Fact("one direction, final, noiseless", float(lower_bound(alone)), factor * 0.5 * 0.3**2 * 0.7, 2e-6)
    # Two directions of a final loss hold as many steps, twice as many with momentum.
    for momentum, most in ((0.0, 2), (0.3, 4)):
        for steps in (most, most + 1):
            few = _run([0.9, 0.2], steps, eta=0.5, weights="final", noiseless=True, momentum=momentum)
            told = f"{steps} steps of two directions, mu = {momentum:g}"
            call = partial(refuse_degenerate, few)
            yield taken(told, call) if steps == most else refused(told, "weights", call)


BOUND = Claim(
    id="ftrl/beyond-design-bound",
    where=f"{OURS}: least loss of any correlation",
    kind="inequality",
    statement=(
        (
            'For every encoder $C$ and every $q >= 0$ of sum 1, $max_t norm(C e_t)^2 op("tr")(G (C^T C)^(-1)) >= '
            r'(op("tr") (Q^(1\/2) G Q^(1\/2))^(1\/2))^2$, $Q = op("diag") q$;'
        ),
        "at the best $q$ both sides meet.",
    ),
    checks=(
        Search(
            decides="a",
            sides=_any_mechanism,
            box={"seed": Whole(0, 10**9), "size": Whole(0, 1)},
            evaluations={"quick": 60, "full": 2000},
            impostors={"5 % more": {"sides": {"factor": 1.05}}},
        ),
        Agreement(decides="b", facts=_solved, impostors={"gap 1e-7": {"facts": {"gap": 1e-7}}}),
        Agreement(decides="b", facts=_by_search, impostors={"1e-4 off": {"facts": {"factor": 1.0001}}}),
    ),
)


def _nuclear(gram: np.ndarray, Q: np.ndarray) -> float:
    """||A Q^{1/2}||_* for G = A^T A, from the eigenvalues of G Q, which has those of Q^{1/2} G Q^{1/2}."""
    return float(np.sqrt(np.maximum(np.linalg.eigvals(gram @ Q).real, 0.0)).sum())


def _any_pattern(rng: np.random.Generator, T: int) -> np.ndarray:
    """E R_pi: random patterns with random correlation matrices on their steps."""
    Q = np.zeros((T, T))
    for weight in rng.dirichlet(np.ones(int(rng.integers(1, 6)))):
        rows = rng.standard_normal((T, int(rng.integers(1, T + 1))))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        chosen = np.diag((rng.random(T) < 0.7).astype(float))
        Q += weight * chosen @ rows @ rows.T @ chosen
    return Q


def _any_q(rng: np.random.Generator, T: int) -> np.ndarray:
    """Diagonal over four orders, or of random patterns."""
    return np.diag(10.0 ** rng.uniform(-4, 0, T)) if rng.random() < 0.5 else _any_pattern(rng, T)


def _concave(seed: float, share: float, power: float = 2.0) -> tuple[float, float]:
    """The squared norm at a mixture of two Q against the mixture of the squared norms."""
    rng = np.random.default_rng(int(seed))
    run = random_objective(rng, int(rng.integers(2, 9)))
    first, second = _any_q(rng, run.steps), _any_q(rng, run.steps)
    gram = run.gram()
    mixed = share * _nuclear(gram, first) ** power + (1.0 - share) * _nuclear(gram, second) ** power
    return mixed, _nuclear(gram, share * first + (1.0 - share) * second) ** power


def _monotone(seed: float, kept: float, factor: float = 1.0) -> tuple[float, float]:
    """The norm of the run with the first few eigenvalues against that with all of them, at the same Q."""
    rng = np.random.default_rng(int(seed))
    run = random_objective(rng, int(rng.integers(2, 9)))
    few = replace(run, eigenvalues=run.eigenvalues[: int(kept)], initial=None)
    Q = _any_q(rng, run.steps)
    return factor * _nuclear(few.gram(), Q), _nuclear(run.gram(), Q)


SHAPE = Claim(
    id="ftrl/beyond-design-concave-monotone",
    where=f"{OURS}: concavity behind the least loss",
    kind="inequality",
    statement=(
        "$norm(A Q^(1\\/2))_*^2$, $G = A^top A$, is concave in $Q >= 0$ (so is its root), and more eigenvalues do not "
        "lower it: a bound from some of them is one for all."
    ),
    setting="$Q$ diagonal over four orders, and mixtures of correlation matrices on random patterns.",
    checks=(
        Search(
            sides=_concave,
            box={"seed": Whole(0, 10**9), "share": Real(0.0, 1.0)},
            evaluations={"quick": 100, "full": 4000},
            impostors={"its power 2.2": {"sides": {"power": 2.2}}},
        ),
        Search(
            sides=_monotone,
            box={"seed": Whole(0, 10**9), "kept": Whole(1, 3)},
            evaluations={"quick": 60, "full": 2000},
            impostors={"5 % more": {"sides": {"factor": 1.05}}},
        ),
    ),
)


# --- in O(T) ---


def _streamed(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The smoother against dense matrices, at the same q."""
    for name, spectrum in SPECTRA.items():
        T = 150
        run = Objective(spectrum, T, schedule=0.3 * rng.uniform(0.5, 1.0, T), batch_size=64)
        q = rng.uniform(0.5, 2.0, T) / T
        root = np.sqrt(q)
        eigenvalues = np.linalg.eigvalsh(run.gram() * np.outer(root, root))
        dense = float(np.sum(np.sqrt(np.maximum(eigenvalues, 0.0))) ** 2)
        bound = streamed_bound(run, q=q, tolerance=1e-9)
        room = 1e-9 + 10 * bound.compression
        yield Fact(f"over the dense one, {name}", factor * float(bound) / dense, 1.0 - room, room + 1e-9)
        states = compressed(run)
        noise = np.array([1e-3, 1.0])[:, None] * rng.uniform(0.1, 1.0, T) * run.diagonal().max()
        hats = [np.diag(np.linalg.solve((run.gram() + np.diag(one)).T, run.gram().T)) for one in noise]
        yield Fact(f"hat diagonals, {name}", factor * hat_diagonals(states, noise), np.array(hats), 1e-4)
    # Near the largest stable rate 1 - eta lambda changes sign at every step, and eigenvalues lie far apart.
    for eta in (1.5, 1.95):
        run = Objective(np.array([1.0]), 60, eta=eta)
        q = np.geomspace(1e-4, 1.0, 60) / 10
        M = run.gram() * np.sqrt(np.outer(q, q))
        dense = float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(M), 0.0))) ** 2)
        over = factor * float(streamed_bound(run, q=q, tolerance=1e-9)) / dense
        yield Fact(f"over the dense one, eta lambda = {eta:g}", over, 1.0 - 5e-9, 6e-9)
    found = streamed_bound(Objective(SPECTRA["flat"], 60, eta=0.3), tolerance=1e-8)
    best = lower_bound(Objective(SPECTRA["flat"], 60, eta=0.3), tolerance=1e-8)
    yield Fact("best q of both", factor * float(found) / float(best), 1.0, 1e-6)
    yield from _search(factor)


def _search(factor: float) -> Iterator[Fact | Within]:
    """The search of the smoother, told exact diagonals: how far it ends below the best, and after how many steps."""
    run = Objective(np.array([0.9, 0.1]), 16, schedule=np.linspace(0.5, 0.1, 16), weights="final", batch_size=8)
    gram = run.gram()

    def diagonal(objective: Objective, states: Any, q: np.ndarray, tolerance: float = 1e-6) -> np.ndarray:
        eigenvalues, vectors = np.linalg.eigh(gram * np.sqrt(np.outer(q, q)))
        return vectors**2 @ np.sqrt(np.maximum(eigenvalues, 0.0))

    best = float(lower_bound(run, tolerance=1e-9))
    with mock.patch.object(smoother, "root_diagonal", diagonal):
        for tolerance in (1e-4, 1e-6):
            found = streamed_bound(run, tolerance=tolerance)
            yield Fact(f"its own search, to {tolerance:g}", factor * float(found) / best, 1.0, tolerance)
            yield Within(f"steps to {tolerance:g}", found.iterations, 3, 12)


def _below_the_root(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The rational function is below the root everywhere, and near it inside."""
    for ends, slack in (((1e-7, 1.0), 1e-6), ((3.0, 50.0), 1e-9), ((1e-10, 1e2), 1e-4)):
        shifts, weights = rational_root(*ends, slack=slack)
        x = np.exp(rng.uniform(np.log(ends[0]) - 20, np.log(ends[1]) + 20, 20_000))
        ratio = factor * np.sum(weights * np.sqrt(x)[:, None] / (x[:, None] + shifts), axis=1)
        inside = ratio[(x >= ends[0]) & (x <= ends[1])]
        yield Within(f"largest ratio to the root, {ends}", float(ratio.max()), most=1.0)
        yield Fact(f"smallest ratio inside, {ends}", float(inside.min()), 1.0 - slack / 2, 0.51 * slack + 1e-12)


STREAMED = Claim(
    id="ftrl/beyond-design-streamed-bound",
    where=f"{OURS}: least loss, streamed for long runs",
    kind="identity",
    statement=(
        "$sqrt(x) >= sum_i w_i x \\/ (x + s_i^2)$ on $x > 0$, and the diagonal of $G (G + s_i^2 Q^(-1))^(-1)$ comes "
        "from a Kalman filter run backward in time and a Bryson-Frazier smoother forward: the bound costs $O(T)$, and "
        "its search ends near the best $q$."
    ),
    checks=(
        Agreement(facts=_streamed, impostors={"0.1 % off": {"facts": {"factor": 1.001}}}),
        Agreement(facts=_below_the_root, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
        Agreement(facts=streams, impostors={"0.1 % off": {"facts": Times(1.001)}}),
    ),
)
