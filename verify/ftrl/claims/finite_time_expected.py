"""Appendix D.3: expected bounds on Noisy-FTRL, Theorem D.11 and Lemma D.12."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from verify.checks import Agreement, Fact, Search
from verify.claims import Claim, Correction
from verify.ftrl.claims import finite_time_moments as exact
from verify.ftrl.claims import moments
from verify.ftrl.claims.law_batches import Systems

Sides = tuple[np.ndarray, np.ndarray]
ASSUMED = "Assumption C.2, $eta <= 1\\/R^2$, $beta in ell^2$; searched over laws in the plane, four weights."
STEPS = 30

# --- Theorem D.11, Lemma D.12, (84): searches over laws, weights and times ---


def _batch(law: dict[str, np.ndarray]) -> tuple[Systems, np.ndarray, np.ndarray, np.ndarray]:
    """The systems, theta'_0, mu and L."""
    start = law.pop("start")
    batch = exact.systems(**law)
    return batch, start, exact.smallest(batch), batch.laws.eigenvalues.max(axis=1)


def _nearest(observed: np.ndarray, claimed: np.ndarray) -> Sides:
    """Of (times, n) pairs the one with the smallest ratio, for each instance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(observed > 0, claimed / observed, np.inf)
    rows = np.arange(observed.shape[1])
    worst = np.argmin(ratio, axis=0)
    return observed[worst, rows], claimed[worst, rows]


def _convergence(factor: float = 1.0, cross: float = 1.0, **law: np.ndarray) -> Sides:
    """E F(theta_t) - F* against factor (a + b + 2 cross sqrt(a b)), a = kappa e^{-eta mu t} Delta_0, b = F_inf."""
    batch, start, mu, L = _batch(law)
    stationary = 0.5 * batch.doubled_suboptimality()
    gaps = np.array([exact.gap(batch, S) for S in exact.second_moments(batch, start, STEPS)])
    decay = np.exp(-batch.eta * mu * np.arange(STEPS + 1)[:, None])
    forgotten = L / mu * decay * gaps[0]
    return _nearest(gaps, factor * (forgotten + stationary + 2 * cross * np.sqrt(forgotten * stationary)))


def _without_cross_term(factor: float = 1.0, **law: np.ndarray) -> Sides:
    """The sharper bound a + b."""
    return _convergence(factor, cross=0.0, **law)


def _monotone(sign: float = 1.0, **law: np.ndarray) -> Sides:
    """<v, S_t v> and <v, S_{t+1} v> from theta*, v the lowest eigenvector of the difference, at the t where it is
    lowest.
    """
    batch, start, _, _ = _batch(law)
    S = np.array(list(exact.second_moments(batch, 0.0 * start, STEPS)))
    values, vectors = np.linalg.eigh(sign * (S[1:] - S[:-1]))
    v = vectors[..., 0]
    before, after = (np.einsum("tni,tnij,tnj->tn", v, part, v) for part in (S[:-1], S[1:]))
    worst, rows = np.argmin(values[..., 0], axis=0), np.arange(len(start))
    return (before if sign > 0 else after)[worst, rows], (after if sign > 0 else before)[worst, rows]


def _trace_bound(factor: float = 1.0, **law: np.ndarray) -> Sides:
    """Tr S_t at t = 30 and in the limit, from theta*."""
    batch, start, mu, _ = _batch(law)
    last = list(exact.second_moments(batch, 0.0 * start, STEPS))[-1]
    traces = np.array([exact.trace(last), exact.trace(batch.second_moments())])
    power, inverse = np.sum(batch.beta**2, axis=1), np.sum(1.0 / batch.laws.eigenvalues, axis=1)
    residual = batch.eta * batch.laws.r_squared() * batch.residual
    bound = factor / mu * (2.0 * batch.noise * power * inverse + residual)
    return _nearest(traces, np.broadcast_to(bound, traces.shape))


def _forgetting(factor: float = 1.0, rate: float = 1.0, **law: np.ndarray) -> Sides:
    """E ||hat theta_t||_H^2 against L e^{-eta mu t} n_0^2."""
    batch, start, mu, L = _batch(law | {"noise": 0.0 * law["noise"], "residual": 0.0 * law["residual"]})
    gaps = np.array([2.0 * exact.gap(batch, S) for S in exact.second_moments(batch, start, STEPS)])
    decay = np.exp(-rate * batch.eta * mu * np.arange(STEPS + 1)[:, None])
    return _nearest(gaps, factor * L * decay * np.sum(start**2, axis=1))


def _two_norms(factor: float = 1.0, **law: np.ndarray) -> Sides:
    """L ||theta'_0||^2 and (L / mu) ||theta'_0||_H^2."""
    batch, start, mu, L = _batch(law)
    weighted = np.sum(batch.laws.eigenvalues * start**2, axis=1)
    return L * np.sum(start**2, axis=1), factor * L / mu * weighted


def _searched(sides: Callable[..., Sides], **wrong: float) -> Search:
    """Over the box of `finite_time_moments`; each impostor changes one argument of `sides`."""
    impostors = {
        f"{name} {value:g}": {"sides": lambda name=name, value=value, **law: sides(**{name: value}, **law)}
        for name, value in wrong.items()
    }
    return Search(sides=sides, box=exact.BOX, extremal=_points, vectorised=True, impostors=impostors)


def _points() -> Iterator[Mapping[str, Any]]:
    """Extremal laws with noise alone, residuals alone and nothing but the start."""
    for noise, residual in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)):
        yield from exact.extremal(noise=noise, residual=residual)


def _limits(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """S_t at large t: the solution of the stationary equation, from any start; and for 3000 slowly falling weights."""
    for law in moments.examples((1.0, 0.3)):
        eta = 1.0 / law.r_squared()
        for beta in ((1.0,), (1.0, -0.9), (0.5, 1.0, 0.7)):
            limit = factor * moments.stationary(law, eta, beta, 0.7, 0.2)
            for start in (np.zeros(2), np.array([3.0, -2.0])):
                S = moments.trajectory(law, eta, beta, 0.7, 0.2, 400, start)
                yield Fact(f"S_400, {law.name} inputs, beta = {beta}, start {start}", S[-1], limit, 1e-10)
    slow = (1.0 + np.arange(3000)) ** -0.6
    yield Fact("S_6000, d = 1, signs, weights (1 + k)^(-0.6)", _line(slow, 6000), factor * _line_limit(slow), 1e-8)


def _line(beta: np.ndarray, steps: int) -> float:
    """d = 1, signs, eta = 1/2: theta_{t+1} = theta_t / 2 - w~_t / 2; the squared responses to each draw add up."""
    responses = np.convolve(0.5 * beta, 0.5 ** np.arange(60))[:steps]
    return float(np.sum(responses**2))


def _line_limit(beta: np.ndarray) -> float:
    """The same from the autocorrelation of beta: eta^2 / (1 - 1/4) sum_k r_|k| 2^{-|k|}."""
    sums = [float(beta[lag:] @ beta[: len(beta) - lag]) * 0.5**lag * (2 if lag else 1) for lag in range(60)]
    return 0.25 / 0.75 * sum(sums)


# --- (82), (83): exact rationals ---


class _Enumerated:
    """d = 2, two or three inputs with rational probabilities: expectations as sums over all sequences of inputs."""

    def __init__(self) -> None:
        F = Fraction
        self.eta, self.beta = F(1, 5), [F(1), F(-1, 2), F(1, 3), F(2)]
        self.inputs = [(F(1, 2), _rational([1, 1])), (F(1, 3), _rational([-1, 2])), (F(1, 6), _rational([0, -3]))]
        self.unit = _rational([[1, 0], [0, 1]])
        self.H = sum((p * np.outer(x, x) for p, x in self.inputs), 0 * self.unit)
        self.steps = [(p, self.unit - self.eta * np.outer(x, x)) for p, x in self.inputs]

    def after_step(self, M: np.ndarray, times: int = 1) -> np.ndarray:
        """P^times M."""
        for _ in range(times):
            M = sum((p * (Q @ M @ Q) for p, Q in self.steps), 0 * self.unit)
        return M

    def mean_power(self, k: int) -> np.ndarray:
        """(I - eta H)^k."""
        result = self.unit
        for _ in range(k):
            result = result @ (self.unit - self.eta * self.H)
        return result

    def paths(self, length: int) -> Iterator[tuple[Fraction, Sequence[np.ndarray]]]:
        """All sequences Q_{t-1}, Q_{t-2}, ... with their probabilities."""
        for path in itertools.product(self.steps, repeat=length):
            yield math.prod((p for p, _ in path), start=Fraction(1)), [Q for _, Q in path]

    def noise_response(self, tau: int) -> np.ndarray:
        """E V_{t,tau} V_{t,tau}^T by the definition (65)."""
        total = 0 * self.unit
        for p, path in self.paths(tau):
            V, product = self.beta[tau] * self.unit, self.unit
            for k, Q in enumerate(path):
                product = product @ Q
                V = V + self.beta[tau - 1 - k] * product
            total = total + p * V @ V.T
        return total

    def input_response(self, tau: int) -> np.ndarray:
        """E W_{t,t-1-tau}."""
        total = 0 * self.unit
        for p, path in self.paths(tau):
            product = self.unit
            for Q in path:
                product = product @ Q
            total = total + p * product @ self.H @ product.T
        return total


def _rational(numbers: Any) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(numbers))


def _response_formula(rng: np.random.Generator, *, diagonal: int) -> Iterator[Fact]:
    """(82), the terms l = k of the double sum counted `diagonal` times."""
    case = _Enumerated()
    b = case.beta
    for tau in range(4):
        stated = b[tau] ** 2 * case.unit
        for k in range(tau):
            stated = stated + 2 * b[tau] * b[k] * case.mean_power(tau - k)
            for m in range(k + 1):
                count = diagonal if m == k else 2
                stated = stated + count * b[k] * b[m] * case.after_step(case.mean_power(k - m), tau - k)
        yield Fact(f"E U_(t,{tau})", case.noise_response(tau), stated, 0)


def _recursion(rng: np.random.Generator, past: int = 1) -> Iterator[Fact]:
    """(83) for S_t summed up from the responses to every input and every draw, sigma_s^2 = 2/3, sigma_w^2 = 5; the
    impostor forgets the cross terms.
    """
    case, residual, noise = _Enumerated(), Fraction(2, 3), Fraction(5)
    S, b = 0 * case.unit, case.beta
    for t in range(4):
        after = S + case.eta**2 * (residual * case.input_response(t) + noise * case.noise_response(t))
        forcing = sum(
            (
                b[i] * b[k] * case.mean_power(abs(i - k)) * (1 if i == k else past)
                for i in range(t + 1)
                for k in range(t + 1)
            ),
            0 * case.unit,
        )
        stated = case.after_step(S) + case.eta**2 * (residual * case.H + noise * forcing)
        yield Fact(f"S_{t + 1}", after, stated, 0)
        S = after


CLAIMS = (
    Claim(
        id="ftrl/thm-d.11",
        where="Theorem D.11",
        kind="inequality",
        statement=(
            "$EE[F(theta_t) - F^star] <= (sqrt(L\\/mu dot.c e^(-eta mu t) (F(theta_0) - F^star)) + sqrt(F_oo))^2$, "
            "and $F_oo$ does not depend on $theta_0$."
        ),
        hypotheses=(
            f"{ASSUMED} The first root covers the whole product, as in the last line of the proof. The cross term is "
            "not needed: the parts of Property D.2 are uncorrelated."
        ),
        checks=(
            _searched(_convergence, factor=0.97),
            _searched(_without_cross_term, factor=0.97),
            Agreement(facts=_limits, impostors={"1e-9 off": {"facts": lambda rng: _limits(rng, 1 + 1e-9)}}),
        ),
    ),
    Claim(
        id="ftrl/lem-d.12-a",
        where="Lemma D.12(a)",
        kind="inequality",
        statement="$S_t = EE theta'_t theta'^top_t$ started at $theta^star$: $S_t prec.eq S_(t + 1)$.",
        hypotheses=ASSUMED,
        checks=(_searched(_monotone, sign=-1.0),),
    ),
    Claim(
        id="ftrl/lem-d.12-b",
        where="Lemma D.12(b)",
        kind="number",
        statement="$S_t$ converges.",
        hypotheses=(
            "Assumption C.2, $eta <= 1\\/R^2$, $beta in ell^2$. It follows from (a) and the trace bound; tried at "
            "$eta = 1\\/R^2$ for four laws."
        ),
        checks=(Agreement(facts=_limits, impostors={"1e-9 off": {"facts": lambda rng: _limits(rng, 1 + 1e-9)}}),),
    ),
    Claim(
        id="ftrl/lem-d.12-tr",
        where="Lemma D.12, last display of the proof",
        kind="inequality",
        statement=(
            '$op("Tr") S_t <= 1\\/mu dot.c (2 sigma_w^2 norm(beta)_2^2 op("Tr")[H^(-1)] + eta R^2 sigma_s^2)$ for '
            "all $t$."
        ),
        hypotheses=ASSUMED,
        checks=(_searched(_trace_bound, factor=0.3),),
    ),
    Claim(
        id="ftrl/eq-82",
        where="Lemma D.12, (82)",
        kind="identity",
        statement=(
            "$EE U_(t, tau) = beta_tau^2 I + 2 beta_tau sum_(k < tau) beta_k (I - eta H)^(tau - k) + 2 sum_(k < tau) "
            "sum_(l <= k) beta_k beta_l cal(P)^(tau - k) ((I - eta H)^(k - l))$."
        ),
        checks=(Agreement(facts=lambda rng: _response_formula(rng, diagonal=2)),),
        correction=Correction(
            statement="the terms $l = k$ of the last sum count once, not twice.",
            checks=(
                Agreement(
                    facts=lambda rng: _response_formula(rng, diagonal=1),
                    impostors={"as printed": {"facts": lambda rng: _response_formula(rng, diagonal=2)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/eq-83",
        where="Lemma D.12, (83)",
        kind="identity",
        statement=(
            "$S_(t + 1) = cal(P) S_t + eta^2 EE[xi^2 x x^top] + eta^2 sigma_w^2 sum_(tau, k <= t) beta_tau beta_k (I "
            "- eta H)^abs(tau - k)$."
        ),
        hypotheses="Started at $theta^star$.",
        checks=(Agreement(facts=_recursion, impostors={"no cross terms": {"facts": lambda rng: _recursion(rng, 0)}}),),
    ),
    Claim(
        id="ftrl/eq-84",
        where="Theorem D.11, proof, (84)",
        kind="inequality",
        statement=(
            "$EE norm(hat(theta)_t)_H^2 <= L e^(-eta mu t) norm(theta'_0)^2 <= L\\/mu dot.c e^(-eta mu t) "
            "norm(theta'_0)_H^2$."
        ),
        hypotheses=ASSUMED,
        checks=(_searched(_forgetting, factor=0.97, rate=2.5), _searched(_two_norms, factor=0.97)),
    ),
)
