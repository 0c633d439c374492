"""Beyond the paper: clipped runs and their forecasts, what stands for records of a law, the search for clip norms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.special import chdtri, ndtri

from dpbounds.gaussian_norm import norm_cdf
from dpbounds.iv import Moments, TwoStageBudget
from dpbounds.iv.clipping import Records, clipped_run, clipping_at, clipping_spread, longest_run, model_records
from dpbounds.iv.forecast import Forecaster
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.leading_order import GaussianLaw
from dpbounds.iv.suggestions import _Curve, suggested_clip_norms
from verify.checks import Agreement, Fact, Holds, Times, refused, taken
from verify.papers.iv.beyond.planning import COVARIANCE, THETA, small_data
from verify.statements.claims import Claim

_OFF = {"1e-6 off": {"facts": Times(1.000001)}}

# --- runs and nodes ---

STEPS = 150


def _longest(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """At most 1e9 products a run: m (2 k + 8) p for each of m records; of a law 2 * 8192 nodes."""
    m, q, p = 40_000, 5, 3
    Z = np.random.default_rng(2).standard_normal((m, q))
    X = Z @ np.eye(q, p) * [1.0, 0.8, 1.3]
    records, moments = Records.of(Z, X, X.sum(axis=1)), Moments.of(Z, X, X.sum(axis=1))
    problem, longest = General(moments=moments, eta=0.5, alpha=0.4), int(1e9 / (m * (2 * q + 8) * p))
    yield Fact("steps at most, a data set", longest_run(records), longest, 0.0)
    for steps in (longest, longest + 1):
        call = partial(clipped_run, records, problem, steps, math.inf, math.inf)
        yield taken("the longest", call) if steps == longest else refused("one step more", "steps", call)
    law = Isotropic(singular_values=np.array([1.4, 0.7]), beta=np.ones(2), q=4, eta=0.5, alpha=0.4)
    yield Fact("steps at most, a law", longest_run(model_records(law, 1.0, 0.5)), int(1e9 / (2 * 8192 * 12 * 2)), 0.0)


def _runs(rng: np.random.Generator) -> Iterator[Fact]:
    """Every step of a run that settles, record by record: iterates, and the shares of gradients that are clipped."""
    data, (eta, alpha), (gamma1, gamma2) = small_data(), (0.5, 0.9), (1.6, 1.1)
    records, moments = Records.of(data.Z, data.X, data.Y), Moments.of(data.Z, data.X, data.Y)
    found = clipped_run(records, General(moments=moments, eta=eta, alpha=alpha), STEPS, gamma1, gamma2)
    path, shares = [(np.zeros((3, 2)), np.zeros(2))], []
    for _ in range(STEPS):
        theta, beta = path[-1]
        fitted = data.Z @ theta
        first = data.Z[:, :, None] * (fitted - data.X)[:, None]
        second = fitted * (fitted @ beta - data.Y)[:, None]
        lengths = np.linalg.norm(first, axis=(1, 2)), np.linalg.norm(second, axis=1)
        shares.append([np.mean(lengths[0] > gamma1), np.mean(lengths[1] > gamma2)])
        first /= np.maximum(1, lengths[0] / gamma1)[:, None, None]
        second /= np.maximum(1, lengths[1] / gamma2)[:, None]
        path.append((theta - eta * first.mean(axis=0), beta - alpha * second.mean(axis=0)))
    yield Fact("clipped run: Theta", found.theta, np.array([theta for theta, _ in path]), 1e-8)
    yield Fact("clipped run: beta", found.beta, np.array([beta for _, beta in path]), 1e-8)
    yield Fact("clipped run: shares", np.column_stack([found.clipped_theta, found.clipped_beta]), np.array(shares))


def _at_the_end(rng: np.random.Generator) -> Iterator[Fact]:
    """Shares that are clipped at noisy iterates, each record with its own draws."""
    m, n, T, target = 300, 70, 6, np.array([0.7, -1.6])
    drift, s = COVARIANCE @ THETA, np.array([1.4, 0.7])
    moments = Moments(A=COVARIANCE, G=drift, b=drift @ target, n=9)
    law = GaussianLaw(np.array([0.5, -1.2]), np.array([[0.4, 0.1], [0.1, 0.2]]))
    budget = TwoStageBudget(rho1=0.4, rho2=0.7, gamma1=4.0, gamma2=3.0)
    values, vectors = np.linalg.eigh(law.covariance)
    of_theta, of_beta = np.random.default_rng(1).standard_normal((2, m, 2))
    for problem, A, theta in (
        (Isotropic(singular_values=s, beta=target, q=5, eta=0.6, alpha=0.4), np.eye(2), np.diag(s) + 0.1),
        (General(moments=moments, eta=0.6, alpha=0.3), COVARIANCE, THETA + 0.1),
    ):
        Z = rng.standard_normal((m, len(A))) @ np.linalg.cholesky(A).T
        lengths = np.sqrt(np.sum(Z**2, axis=1) + (rng.chisquare(3, m) if len(A) == 2 else 0.0))
        X = Z @ theta + 0.6 * rng.standard_normal((m, 2))
        Y = X @ target + 0.9 * rng.standard_normal(m)
        V = 0.36 * np.sum([np.linalg.matrix_power(np.eye(len(A)) - 0.6 * A, 2 * i) for i in range(T)], axis=0)
        clipped = np.zeros(2)
        for i, (z, length, x, y) in enumerate(zip(Z, lengths, X, Y, strict=True)):
            own = math.sqrt(float(z @ V @ z)) if len(A) == 3 else length * math.sqrt(float(V[0, 0]))
            fitted = z @ theta + 2 * 4.0 / n * math.sqrt(T / 0.4) * own * of_theta[i]
            e = fitted @ (law.mean + vectors @ (np.sqrt(values) * of_beta[i])) - y
            clipped += [length * np.linalg.norm(fitted - x) > 4, np.linalg.norm(fitted) * abs(e) > 3]
        records = Records(instruments=Z, lengths=lengths, regressors=X, outcome=Y, law=len(A) == 2)
        found = clipping_at(records, problem, budget, theta=theta, law=law, n=n, steps=T)
        yield Fact(f"shares at the end, {type(problem).__name__}", found[:2], clipped / m)


def _forecast(rng: np.random.Generator) -> Iterator[Fact]:
    """A forecast at T = 9 from the clipped run, the expansion and what other data change, for a law and a data set."""
    data, T, budget = small_data(), 9, TwoStageBudget(rho1=70.0, rho2=20.0, gamma1=3.0, gamma2=2.0)
    moments, records = Moments.of(data.Z, data.X, data.Y), Records.of(data.Z, data.X, data.Y)
    law = Isotropic(singular_values=np.array([1.4, 0.7]), beta=np.array([0.7, -1.6]), q=5, eta=0.6, alpha=0.3)
    for n, problem, given in ((300, law, None), (45, General(moments=moments, eta=0.6, alpha=0.3), records)):
        forecaster = Forecaster(problem=problem, n=n, sigma_1=0.9, sigma_2=0.6, records=given)
        label = f"forecast, n = {n}"
        one, two = 2 * 3 / n * math.sqrt(T / 70), 2 * 2 / n * math.sqrt(T / 20)
        order = forecaster.expansion([1, T])
        found, run = forecaster.forecast(budget, T, order, 1), clipped_run(forecaster.nodes, problem, T, 3.0, 2.0)
        F, N = order.first[1], order.second[1]
        shift, moved = one**2 * order.shift[1], run.beta[T] - order.noiseless[1]
        end = GaussianLaw(run.beta[T] + shift, one**2 * F + two**2 * N)
        at = clipping_at(forecaster.nodes, problem, budget, theta=run.theta[T], law=end, n=n, steps=T)
        off, covariance = end.mean - problem.beta, end.covariance + at.spread + forecaster.sampled(T)
        stated = {
            "noiseless": np.linalg.norm(order.noiseless[1] - problem.beta),
            "first_noise": one * math.sqrt(np.trace(F)),
            "second_noise": two * math.sqrt(np.trace(N)),
            "shift": np.linalg.norm(shift),
            "clip_shift": math.sqrt(moved @ moved + np.trace(at.spread)),
            "rms": math.sqrt(off @ off + np.trace(covariance)),
        }
        for name, value in stated.items():
            yield Fact(f"{label}: {name}", getattr(found, name), float(value), 1e-11)
        yield Fact(f"{label}: offset", found.offset, off, 1e-11)
        yield Fact(f"{label}: covariance", found.covariance, covariance, 1e-11)
        inside = float(norm_cdf(off, covariance, float(found.median or 0)))
        yield Fact(f"{label}: half within the median", inside, 0.5, 1e-7)
        yield Fact(f"{label}: shares", [found.clipped_theta, found.clipped_beta], at[:2], 0.0)
        if given is None:
            v = 0.36 * (1 - 0.4 ** (2 * T)) / (1 - 0.16)
            noise = (math.sqrt(2) + math.sqrt(5)) * one * math.sqrt(v) / 0.7
            yield Fact(f"{label}: noise in Theta", found.theta_noise, noise, 1e-11)


def _nodes(rng: np.random.Generator) -> Iterator[Fact]:
    """Records of a law from the fractions of 1/2 + i sqrt(prime): z, e_2, e_1 and what is left of ||z||², in pairs."""
    law = Isotropic(singular_values=np.array([1.4, 0.7]), beta=np.array([0.7, -1.6]), q=5, eta=0.5, alpha=0.4)
    drift = COVARIANCE @ THETA
    moments = Moments(A=COVARIANCE, G=drift, b=drift @ [0.7, -1.6], n=9)
    for problem, theta, root, primes in (
        (law, np.diag([1.4, 0.7]), np.eye(2), (2, 3, 5, 7, 11, 13)),
        (General(moments=moments, eta=0.5, alpha=0.3), THETA, np.linalg.cholesky(COVARIANCE), (2, 3, 5, 7, 11, 13, 17)),
    ):
        found, k = model_records(problem, 0.9, 0.6), len(root)
        label, half = f"nodes of {type(problem).__name__}", len(found.outcome) // 2
        shares = (0.5 + np.arange(1, half + 1)[:, None] * np.sqrt(primes)) % 1
        normals = ndtri(shares[:, :-1])
        z = normals[:, :k] @ root.T
        rest = chdtri(5 - 2, 1 - shares[:, -1]) if problem is law else 0.0
        e2, e1 = 0.6 * normals[:, k : k + 2], 0.9 * normals[:, k + 2]
        yield Fact(f"{label}: z", found.instruments, np.vstack([z, z]), 1e-11)
        lengths = np.sqrt(np.sum(z**2, axis=1) + rest)
        yield Fact(f"{label}: ||z||", found.lengths, np.concatenate([lengths, lengths]), 1e-9)
        x = np.vstack([z @ theta + e2, z @ theta - e2])
        yield Fact(f"{label}: x", found.regressors, x, 1e-11)
        yield Fact(f"{label}: y", found.outcome, x @ [0.7, -1.6] + np.concatenate([e1, -e1]), 1e-11)


# --- the search ---

# Steps that are enough for the best T, and budgets.
LAST = 40
CASES = ((900.0, 90.0, "paper"), (4e5, 3e5, "tight"), (12.0, 20.0, "tight"), (5.0, 40.0, "paper"))


def _levels(Z: np.ndarray, X: np.ndarray, Y: np.ndarray, moments: Moments) -> list[list[float]]:
    """By stage: a fifth above the longest gradient at the start or at 2SLS, and quantiles at 2SLS."""
    fitted, lengths = Z @ moments.theta_hat, np.linalg.norm(Z, axis=1)
    first = [lengths * np.linalg.norm(rows, axis=1) for rows in (X, fitted - X)]
    second = [np.linalg.norm(fitted, axis=1) * np.abs(e) for e in (Y, fitted @ moments.beta_hat - Y)]
    shares = (0.001, 0.003, 0.01, 0.02, 0.04, 0.07)
    return [
        [1.2 * float(max(start.max(), end.max())), *(float(np.quantile(end, 1 - share)) for share in shares)]
        for start, end in (first, second)
    ]


class _Tried:
    """The least error of clip norms over T up to `last`, and its T, from the clipped run and the expansion."""

    def __init__(self, forecaster: Forecaster, budget: TwoStageBudget, last: int, a: np.ndarray) -> None:
        """`a`: eigenvalues of the second moments of the instruments."""
        problem, T = forecaster.problem, np.arange(1, last + 1)
        self.forecaster, self.last, self.T = forecaster, last, T
        uses = (T, T) if budget.calibration == "paper" else (T / 2, (T - 1) / 2)
        parts = zip(uses, (budget.rho1, budget.rho2), strict=True)
        self.units = [2 / forecaster.n * np.sqrt(used / rho) for used, rho in parts]
        v = a * np.cumsum(problem.eta**2 * (1 - problem.eta * a) ** (2 * T[:, None] - 2), axis=0)
        p, least = len(problem.beta), float(min(problem.singular_values))
        self.in_theta = (np.sqrt(p * v.max(axis=1)) + np.sqrt(v.sum(axis=1))) / least
        self.law = forecaster.expansion(T.tolist())
        self.traces = [np.trace(part, axis1=1, axis2=2) for part in (self.law.first, self.law.second)]

    def __call__(self, pair: list[float]) -> tuple[float, int]:
        one, two = pair[0] * self.units[0], pair[1] * self.units[1]
        nodes, problem = self.forecaster.nodes, self.forecaster.problem
        run = clipped_run(nodes, problem, self.last, *pair)
        off = run.beta[1:] + one[:, None] ** 2 * self.law.shift - problem.beta
        squares = np.sum(off**2, axis=1) + one**2 * self.traces[0] + two**2 * self.traces[1]
        squares[one * self.in_theta > 0.3] = math.inf
        spread = float(np.trace(clipping_spread(nodes, problem, pair[0], pair[1], self.forecaster.n)))
        return math.sqrt(squares.min() + spread), int(self.T[np.argmin(squares)])


def _search(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The search again: quantiles of gradients at 2SLS, one stage after the other, the T of least error where noise in
    Theta is within its limit.
    """
    data = small_data()
    records, moments = Records.of(data.Z, data.X, data.Y), Moments.of(data.Z, data.X, data.Y)
    problem = General(moments=moments, eta=0.8, alpha=0.7)
    levels, a = _levels(data.Z, data.X, data.Y, moments), np.linalg.eigvalsh(moments.A)
    forecaster = Forecaster(problem=problem, n=45, sigma_1=1.0, sigma_2=1.0, records=records)
    for rho1, rho2, calibration in CASES:
        budget = TwoStageBudget(rho1=rho1, rho2=rho2, calibration=calibration)  # type: ignore[arg-type]
        tried, label = _Tried(forecaster, budget, LAST, a), f"rho = {rho1:g} and {rho2:g}, {calibration}"
        curve = _Curve(forecaster, budget)
        for pair in ([levels[0][0], levels[1][4]], [levels[0][5], levels[1][0]]):
            yield Fact(f"least error and its T of a pair, {label}", curve.least(*pair), tried(pair), 1e-11)
        if rho1 < 100:
            continue  # no prediction is reliable
        pair = [stage[0] for stage in levels]
        for stage in (0, 1, 0):
            pair = min(([*pair[:stage], level, *pair[stage + 1 :]] for level in levels[stage]), key=tried)
        found = suggested_clip_norms(forecaster, budget)
        assert found is not None and found.forecast.rms is not None
        yield Fact(f"clip norms, {label}", [found.gamma1, found.gamma2], pair, 1e-11)
        yield Fact(f"error and T, {label}", [found.forecast.rms, found.steps], tried(pair), 1e-11)
    none = suggested_clip_norms(forecaster, TwoStageBudget(rho1=1e-4, rho2=900.0))
    yield Holds("nothing where noise in Theta is beyond its limit at every T", none is None)
    yield from _of_a_law()


def _of_a_law() -> Iterator[Fact]:
    """For a population other records count too; T up to what the run settles in, at least 20 and at most 400."""
    budget = TwoStageBudget(rho1=9.0, rho2=4.0)
    for eta, last in ((0.9, 49), (0.1, 400), (1.0, 20)):
        s = np.array([1.4, 1.1]) if eta < 1 else np.array([1.0, 1.0])
        problem = Isotropic(singular_values=s, beta=np.array([0.6, -1.3]), q=4, eta=eta, alpha=0.6 if eta < 1 else 0.99)
        forecaster = Forecaster(problem=problem, n=400, sigma_1=0.9, sigma_2=0.6)
        curve = _Curve(forecaster, budget)
        yield Fact(f"T that are tried, eta = {eta:g}", curve.steps, list(range(1, last + 1)), 0.0)
        if last == 49:
            tried = _Tried(forecaster, budget, last, np.ones(4))
            forecaster.run(60, 3.0, 2.0)  # a longer run, of which the search takes what it asks for
            yield Fact("least error and its T, a law", curve.least(3.0, 2.0), tried([3.0, 2.0]), 1e-11)


SEARCH = Claim(
    id="iv/beyond-clip-norm-search",
    where="clipped runs, forecasts and the search for clip norms",
    kind="algorithm",
    statement=(
        (
            "A clipped run is that of its definition until it settles and after, with the shares of gradients clipped "
            "on its way and at noisy ends, is refused beyond $10^9$ products, and a forecast is made of it, of the "
            "expansion and of what other data change;"
        ),
        "nodes for the records of a law are normal quantiles of Kronecker's sequence, in pairs of opposite errors;",
        (
            "clip norms are searched among quantiles of the gradients, one stage after the other, for the least "
            "predicted error at the $T$ where noise in $Theta$ is within its limit."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_longest, impostors=_OFF),
        Agreement(decides="a", facts=_runs, impostors=_OFF),
        Agreement(decides="a", facts=_at_the_end, impostors=_OFF),
        Agreement(decides="a", facts=_forecast, impostors=_OFF),
        Agreement(decides="b", facts=_nodes, impostors=_OFF),
        Agreement(decides="c", facts=_search, impostors=_OFF),
    ),
)
