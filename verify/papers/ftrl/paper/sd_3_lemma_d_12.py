"""Appendix D.3: the covariance of Noisy-FTRL started at the optimum, Lemma D.12: (82), (83), and that it grows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Symbolic
from verify.papers.ftrl.tools.planar_systems import STEPS, Sides, searched, started
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

ASSUMED = "Assumption C.2, $eta <= 1\\/R^2$, $beta in ell^2$."
SEARCHED = "Beside the proof: a search over laws in the plane, four weights, $t <= 30$."

# --- the responses to every input and every draw: exact rationals ---


class _Enumerated:
    """d = 2, three inputs with rational probabilities: expectations as sums over all sequences of inputs."""

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

    def covariance(self, t: int, residual: Fraction, noise: Fraction) -> np.ndarray:
        """S_t from theta*: the step (57) on what every residual and every draw contribute to theta'_t, path by path."""
        total = 0 * self.unit
        for path in itertools.product(self.inputs, repeat=t):
            residuals: list[np.ndarray] = []
            draws: list[np.ndarray] = []
            for s, (_, x) in enumerate(path):
                Q = self.unit - self.eta * np.outer(x, x)
                residuals = [*(Q @ part for part in residuals), self.eta * x]
                draws = [Q @ part for part in draws] + [0 * self.unit]
                draws = [part - self.eta * self.beta[s - k] * self.unit for k, part in enumerate(draws)]
            probability = math.prod((p for p, _ in path), start=Fraction(1))
            seen = sum((residual * np.outer(part, part) for part in residuals), 0 * self.unit)
            total = total + probability * sum((noise * part @ part.T for part in draws), seen)
        return total


def _rational(numbers: Any) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(numbers))


# --- Lemma D.12, (82) and (83) ---


def _response_formula(rng: np.random.Generator, *, diagonal: int = 1) -> Iterator[Fact]:
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
        found = case.noise_response(tau)
        traces = {"found": float(np.trace(found)), "stated": float(np.trace(stated))}
        yield Fact(f"E U_(t,{tau})", found, stated, 0, numbers=traces)


class _Symbols:
    """d = 1, two inputs u and v with probabilities in the ratio of squares; anything else is generic."""

    def __init__(self) -> None:
        first, second, u, v = sympy.symbols("p q u v", real=True)
        self.eta, self.residual, self.noise = sympy.symbols("eta s w", real=True)
        self.beta = sympy.symbols("b0:4", real=True)
        whole = first**2 + second**2
        self.inputs = [(first**2 / whole, u), (second**2 / whole, v)]

    def mean(self, value: Any) -> Any:
        """Of a function of one input."""
        return sum(p * value(x) for p, x in self.inputs)

    def paths(self, length: int) -> Iterator[tuple[Any, list[Any]]]:
        """Inputs from the latest to the oldest, with their probabilities."""
        for path in itertools.product(self.inputs, repeat=length):
            yield math.prod((p for p, _ in path), start=sympy.Integer(1)), [x for _, x in path]

    def response(self, path: Sequence[Any]) -> Any:
        """V of (65) after these inputs."""
        total, product = self.beta[len(path)], sympy.Integer(1)
        for k, x in enumerate(path):
            product = product * (1 - self.eta * x**2)
            total = total + self.beta[len(path) - 1 - k] * product
        return total

    def forcing(self, t: int) -> Any:
        """sum_(i, k <= t) beta_i beta_k (1 - eta H)^|i - k|."""
        mean, b = self.mean(lambda x: 1 - self.eta * x**2), self.beta
        return sum(b[i] * b[k] * mean ** abs(i - k) for i in range(t + 1) for k in range(t + 1))


def _response_counted(diagonal: int = 1) -> Iterator[tuple[Any, ...]]:
    """(82) for tau <= 2, the terms l = k of the double sum counted `diagonal` times."""
    case = _Symbols()
    b, one = case.beta, case.mean(lambda x: 1 - case.eta * x**2)
    two = case.mean(lambda x: (1 - case.eta * x**2) ** 2)
    for tau in range(3):
        stated = b[tau] ** 2 + sum(2 * b[tau] * b[k] * one ** (tau - k) for k in range(tau))
        for k, m in itertools.combinations_with_replacement(range(tau), 2):
            stated = stated + (diagonal if m == k else 2) * b[k] * b[m] * two ** (tau - m) * one ** (m - k)
        yield f"$EE U_(t, {tau})$", sum(p * case.response(path) ** 2 for p, path in case.paths(tau)), stated


RESPONSE = (
    "$EE U_(t, tau) = beta_tau^2 I + 2 beta_tau sum_(k < tau) beta_k (I - eta H)^(tau - k) + {last}$, $U_(t, tau) = "
    "V_(t, tau) V_(t, tau)^top$."
)

EQ_82 = Claim(
    id="ftrl/eq-82",
    where="Lemma D.12, (82)",
    page=46,
    equation="(82)",
    kind="identity",
    statement=RESPONSE.format(last="2 sum_(k < tau) sum_(l <= k) beta_k beta_l cal(P)^(tau - k) ((I - eta H)^(k - l))"),
    setting="Exact rationals: three inputs in the plane, four weights, $tau <= 3$.",
    checks=(Agreement(facts=lambda rng: _response_formula(rng, diagonal=2), closed=True),),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "(82) counts the terms $l = k$ of its double sum twice: for $x = (1, 1), (-1, 2), (0, -3)$ with "
            "probabilities $1\\/2, 1\\/3, 1\\/6$, $eta = 1\\/5$, $beta = (1, -1\\/2, ...)$, $tau = 1$ the trace is "
            "${found}$, the printed one ${stated}$."
        ),
        consequence="Nothing: the recursion (83) that follows is right.",
    ),
    correction=Correction(
        statement=RESPONSE.format(
            last=(
                "sum_(k < tau) beta_k^2 cal(P)^(tau - k) (I) + 2 sum_(k < tau) sum_(l < k) beta_k beta_l "
                "cal(P)^(tau - k) ((I - eta H)^(k - l))"
            )
        ),
        ground="The square of a sum has each square once.",
        checks=(
            Symbolic(residuals=_response_counted, impostors={"as printed": {"residuals": {"diagonal": 2}}}),
            Agreement(facts=_response_formula, impostors={"as printed": {"facts": {"diagonal": 2}}}, role="control"),
        ),
        derivation=Derivation(
            text=(
                "$V_(t, tau) = sum_(k <= tau) beta_k Pi_(tau - k)$, $Pi_n$ the product of the $n$ latest $Q$. For $l "
                "<= k$, $Pi_(tau - l) = Pi_(tau - k)$ times $k - l$ older factors, each of mean $I - eta H$ and "
                "independent of the others: $EE Pi_(tau - k) Pi_(tau - l)^top = cal(P)^(tau - k) ((I - eta H)^(k - "
                "l))$, symmetric. In $EE V V^top$ the terms with $k = tau$ have $cal(P)^0$, each pair $l < k$ comes "
                "twice and each $l = k$ once (the check counts them for one direction and $tau <= 2$)."
            ),
            lemmas=("independence", "linearity"),
        ),
    ),
)


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


def _crossed(past: int = 1) -> Iterator[tuple[Any, ...]]:
    """E theta'_t w_k^T = -eta sigma_w^2 R_k, R_k <- q R_k + beta_{t - k}: the squares of the weights and twice what the
    draws seen before leave, for t <= 3, against the double sum.
    """
    q, b = sympy.Symbol("q"), sympy.symbols("b0:4")
    R: list[Any] = []
    for t in range(4):
        crossed = sum(2 * past * b[t - k] * q * part for k, part in enumerate(R))
        double = sum(b[i] * b[k] * q ** abs(i - k) for i in range(t + 1) for k in range(t + 1))
        yield f"$t = {t}$", sum(b[k] ** 2 for k in range(t + 1)) + crossed, double
        R = [*(q * part + b[t - k] for k, part in enumerate(R)), b[0]]


EQ_83 = Claim(
    id="ftrl/eq-83",
    where="Lemma D.12, (83)",
    page=47,
    equation="(83)",
    kind="identity",
    statement=(
        "$S_(t + 1) = cal(P) S_t + eta^2 EE[xi^2 x x^top] + eta^2 sigma_w^2 sum_(tau, k <= t) beta_tau beta_k (I "
        "- eta H)^abs(tau - k)$, started at $theta^star$."
    ),
    setting="Exact rationals: three inputs in the plane, four weights, $t <= 3$.",
    checks=(
        Symbolic(residuals=_crossed, impostors={"no cross terms": {"residuals": {"past": 0}}}),
        Agreement(facts=_recursion, impostors={"no cross terms": {"facts": {"past": 0}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$theta'_(t + 1) = Q theta'_t + eta xi x - eta sum_(k <= t) beta_(t - k) w_k$, $Q = I - eta x x^top$. With "
            "$A = I - eta H = EE Q$ and $x$ independent of the past, $EE theta'_(t + 1) w_k^top = A EE theta'_t "
            "w_k^top - eta sigma_w^2 beta_(t - k) I$, so $EE theta'_t w_k^top = -eta sigma_w^2 R_k$, $R_k = sum_(s = "
            "k)^(t - 1) beta_(s - k) A^(t - 1 - s)$. Squared, $xi$ having mean 0, the step gives $cal(P) S_t + eta^2 "
            "EE xi^2 x x^top$ and $eta^2 sigma_w^2$ times $sum_(k <= t) beta_(t - k)^2 I + 2 sum_(k < t) beta_(t - k) "
            "A R_k$: with $j = t - k$, $i = s - k < j$ the terms are $2 beta_j beta_i A^(j - i)$, the double sum "
            "(checked for $t <= 3$)."
        ),
        lemmas=("independence", "induction"),
    ),
)


def _increments(rng: np.random.Generator, lag: int = 0) -> Iterator[Fact]:
    """S_{t+1} - S_t is eta^2 times the second moments of the responses to the oldest input and draw, hence >= 0: the
    later t have the law of those in S_t. The impostor takes responses of another age.
    """
    case, residual, noise = _Enumerated(), Fraction(2, 3), Fraction(5)
    S = [case.covariance(t, residual, noise) for t in range(5)]
    for t in range(4):
        age = max(t - lag, 0)
        squares = case.eta**2 * (residual * case.input_response(age) + noise * case.noise_response(age))
        yield Fact(f"S_{t + 1} - S_{t}", S[t + 1] - S[t], squares, 0)


MONOTONE = Agreement(facts=_increments, impostors={"one step younger": {"facts": {"lag": 1}}}, role="control")


def _oldest(sign: int = 1) -> Iterator[tuple[Any, ...]]:
    """S_{t+1} - S_t of (83), t <= 2, as the second moments of the responses to the oldest residual and draw."""
    case = _Symbols()
    S: list[Any] = [sympy.Integer(0)]
    for t in range(3):
        kept = case.mean(lambda x: (1 - case.eta * x**2) ** 2) * S[t]
        fresh = case.residual**2 * case.mean(lambda x: x**2) + sign * case.noise**2 * case.forcing(t)
        S.append(kept + case.eta**2 * fresh)
        squares = sum(p * (case.noise * case.response(path)) ** 2 for p, path in case.paths(t))
        for p, (oldest, *path) in case.paths(t + 1):
            left = math.prod((1 - case.eta * x**2 for x in path), start=oldest)
            squares = squares + p * (case.residual * left) ** 2
        yield f"$S_{t + 1} - S_{t}$", S[t + 1] - S[t], case.eta**2 * squares


OLDEST = Symbolic(squares=_oldest, impostors={"noise subtracted": {"squares": {"sign": -1}}})


def _monotone(sign: float = 1.0, **law: np.ndarray) -> Sides:
    """<v, S_t v> and <v, S_{t+1} v> from theta*, v the lowest eigenvector of the difference, at the t where it is
    lowest.
    """
    batch, start = started(law)
    S = np.array(list(batch.trajectory(0.0 * start, STEPS)))
    values, vectors = np.linalg.eigh(sign * (S[1:] - S[:-1]))
    v = vectors[..., 0]
    before, after = (np.einsum("tni,tnij,tnj->tn", v, part, v) for part in (S[:-1], S[1:]))
    worst, rows = np.argmin(values[..., 0], axis=0), np.arange(len(start))
    return (before if sign > 0 else after)[worst, rows], (after if sign > 0 else before)[worst, rows]


LEM_D_12_A = Claim(
    id="ftrl/lem-d.12-a",
    where="Lemma D.12(a)",
    page=45,
    kind="inequality",
    statement="$S_t = EE theta'_t theta'^top_t$ started at $theta^star$: $S_t prec.eq S_(t + 1)$.",
    hypotheses=ASSUMED,
    setting=f"$S_(t + 1) - S_t$ as a sum of second moments, in exact rationals. {SEARCHED}",
    checks=(OLDEST, MONOTONE, searched(_monotone, the_other_way={"sign": -1.0}).as_control()),
    derivation=Derivation(
        text=(
            "From $theta^star$, $theta'_t$ is the sum of the responses to the residuals $xi_s$ and to the draws $w_s$, "
            "$s < t$: matrices made of the inputs after $s$, times $xi_s x_s$ and $w_s$. All $xi_s$, $w_s$ have mean 0 "
            "and are independent of each other and of the inputs, so $S_t$ is the sum of the second moments of the "
            "responses, and that of age $t - s$ has the same law for every $t$. Those in $S_(t + 1)$ are those in "
            "$S_t$ and one more of age $t + 1$: $S_(t + 1) - S_t = eta^2 EE[dots] succ.eq 0$ (the check writes it as "
            "squares for one direction, $t <= 2$)."
        ),
        lemmas=("independence", "linearity"),
    ),
)
