"""Appendix D.2.4: the traces behind the events of Proposition D.5, Lemmas D.9 and D.10."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from verify.checks import Agreement, Search, Within
from verify.checks.domains import Real, Whole
from verify.checks.impostors import Times
from verify.papers.ftrl.paper.sd_2_2_recursions import CONTRACTION, noise_responses, weighted_sums
from verify.papers.ftrl.paper.sf_6_helpers import TRACE_STEPS
from verify.papers.ftrl.tools.planar_systems import SYSTEM, extremal, systems, trace
from verify.papers.ftrl.tools.second_moments import wide
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]

# --- Lemma D.9 ---


def _searched(sides: Callable[..., Sides], points: Callable[[], Any], **impostors: Any) -> Search:
    """Over laws in the plane and lags 0 to 3."""
    return Search(
        sides=sides,
        box={**SYSTEM, "time": Whole(0, 3)},
        extremal=points,
        vectorised=True,
        impostors={name.replace("_", " "): {"sides": wrong} for name, wrong in impostors.items()},
        role="control",
    )


def _law_points() -> Iterator[Mapping[str, Any]]:
    """Extremal laws at both ends of the time."""
    for time in (0, 3):
        yield from extremal(time=time)


def _input_memory(time: np.ndarray, **law: np.ndarray) -> Sides:
    """E Tr W_{t,tau} = Tr P^k H and R^2 (1 - eta mu)^k, k = t - 1 - tau = time."""
    batch = systems(**law)
    M = batch.laws.covariance
    traces = [trace(M)]
    for _ in range(int(time.max())):
        M = batch.after_step(M)
        traces.append(trace(M))
    observed = np.array(traces)[time.astype(int), np.arange(len(time))]
    return observed, batch.laws.r_squared() * (1 - batch.x.min(axis=1)) ** time


LEM_D_9 = Claim(
    id="ftrl/lem-d.9",
    where="Lemma D.9",
    page=43,
    kind="inequality",
    statement='$EE op("Tr") W_(t, tau) <= R^2 (1 - eta mu)^(t - 1 - tau)$.',
    hypotheses="The setting of Theorem D.4.",
    setting="Searched over laws in the plane, lags up to 3.",
    remark=(
        "For $eta <= 1\\/R^2$, as Lemma F.18 asks and as Theorem D.4 means: its condition on $eta$ is printed upside "
        "down."
    ),
    checks=(TRACE_STEPS, _searched(_input_memory, _law_points, smaller_by_3_percent=Times(1, 0.97))),
    derivation=Derivation(
        text=(
            '$EE op("Tr") W_(t, tau) = op("Tr") cal(P)^k H$ with $k = t - 1 - tau$ independent factors, $cal(P) M = EE '
            'Q M Q$; each costs the factor $1 - eta mu$ (`ftrl/lem-f.18`, the check), and $op("Tr") H <= R^2$.'
        ),
        lemmas=("independence", "induction", "Jensen"),
    ),
)

# --- Lemma D.10 ---


def _expected_response(time: np.ndarray, power: int = 2, **law: np.ndarray) -> Sides:
    """E Tr U_{t,tau}, tau = time, from A_{k+1} = beta_{k+1} I + Q A_k and its mean, against d (sum)^power."""
    batch = systems(**law)
    beta, unit = batch.beta, np.eye(2)
    mean = wide(beta[:, 0]) * unit
    second, traces = mean @ mean, []
    for k in range(beta.shape[1]):
        if k:
            moved = batch.kept @ mean
            weight = wide(beta[:, k])
            second = weight**2 * unit + 2 * weight * moved + batch.after_step(second)
            mean = weight * unit + moved
        traces.append(trace(second))
    rows = np.arange(len(time))
    sums = weighted_sums(beta, batch.x.min(axis=1))
    return np.array(traces)[time.astype(int), rows], 2 * sums[rows, time.astype(int)] ** power


def _first_response(rng: np.random.Generator) -> Iterator[Within]:
    """tau = 0: U_(t, 0) = beta_0^2 I whatever the law, so that its trace is d beta_0^2; printed is d |beta_0|."""
    d, first = 2, 2.0
    response = first * np.eye(d)
    trace, bound = np.trace(response @ response.T), d * abs(first)
    yield Within("E Tr U over the printed bound at d = 2, tau = 0, beta_0 = 2", trace / bound, most=1.0)


LEM_D_10_A = Claim(
    id="ftrl/lem-d.10-a",
    where="Lemma D.10, first part",
    page=43,
    kind="inequality",
    statement='$EE op("Tr") U_(t, tau) <= d sum_(k <= tau) abs(beta_k) (1 - eta mu)^((tau - k)\\/2)$.',
    hypotheses="$eta <= 1\\/R^2$.",
    setting="Searched over laws in the plane, four weights.",
    checks=(Agreement(facts=_first_response, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Lemma D.10 bounds a quadratic trace by a linear sum: with $d = 2$, $tau = 0$, $beta_0 = 2$ it is $d "
            "beta_0^2$, ${observed}$ times the stated bound $d beta_0$."
        ),
        consequence="Its proof has the square, and so have the places that use it, after (78).",
    ),
    correction=Correction(
        statement=(
            'For $eta <= 1\\/R^2$, $EE op("Tr") U_(t, tau) <= d (sum_(k <= tau) abs(beta_k) (1 - eta mu)^((tau - '
            "k)\\/2))^2$."
        ),
        ground="As in the paper's proof: each factor $Q$ costs $sqrt(1 - eta mu)$ in mean square.",
        checks=(
            TRACE_STEPS,
            _searched(_expected_response, _law_points, smaller_by_3_percent=Times(1, 0.97), as_printed={"power": 1}),
        ),
        derivation=Derivation(
            text=(
                "$V_(t, tau) = sum_(k <= tau) beta_k Pi_(tau - k)$ with $Pi_n$ a product of $n$ independent $Q$, and "
                '$EE op("Tr") Pi_n Pi_n^top = op("Tr") cal(P)^n I <= d (1 - eta mu)^n$, a factor $1 - eta mu$ for each '
                '(`ftrl/lem-f.18`, the check). $(EE op("Tr") V V^top)^(1\\/2)$ is a norm.'
            ),
            lemmas=("independence", "induction", "triangle inequality"),
        ),
    ),
)


def _bounded_response(angles, upper, lower, beta) -> Sides:
    """Tr U_{t,4} for arbitrary 0 <= Q <= I with the given eigenvalues and axes, against d (sum |beta|)^2."""
    u = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    v = np.stack([-np.sin(angles), np.cos(angles)], axis=-1)
    Q = upper[..., None, None] * u[..., :, None] * u[..., None, :]
    Q = Q + lower[..., None, None] * v[..., :, None] * v[..., None, :]
    return noise_responses(Q, beta)[:, -1], 2 * np.abs(beta).sum(axis=1) ** 2


def _projections() -> Iterator[dict[str, Any]]:
    """Identities, and projections on axes that turn by a fixed angle."""
    for beta in ([1.0] * 5, [1.0, -0.9, 0.8, -0.7, 0.6], [0.0, 0.0, 0.0, 0.0, 1.0]):
        yield {"angles": [0.0] * 4, "upper": [1.0] * 4, "lower": [1.0] * 4, "beta": beta}
        for turn in (0.1, np.pi / 8, np.pi / 4):
            yield {"angles": turn * np.arange(4), "upper": [1.0] * 4, "lower": [0.0] * 4, "beta": beta}


LEM_D_10_B = Claim(
    id="ftrl/lem-d.10-b",
    where="Lemma D.10, second part",
    page=43,
    kind="inequality",
    statement='If all $Q_t succ.eq 0$: $op("Tr") U_(t, tau) <= d (sum_(k <= tau) abs(beta_k))^2$.',
    remark="For all $0 prec.eq Q_t prec.eq I$; also $norm(V)_2 <= sum abs(beta_k)$ by the triangle inequality.",
    setting="Searched over $d = 2$, $tau = 4$.",
    checks=(
        Search(
            sides=_bounded_response,
            box={
                "angles": (Real(0.0, np.pi), 4),
                "upper": (Real(0.0, 1.0), 4),
                "lower": (Real(0.0, 1.0), 4),
                "beta": (Real(-1.0, 1.0), 5),
            },
            extremal=_projections,
            vectorised=True,
            impostors={"0.97 d": {"sides": Times(1, 0.97)}},
            role="control",
        ),
        CONTRACTION,
    ),
    derivation=Derivation(
        text=(
            "$Q_t = I - eta x_t x_t^top succ.eq 0$ is $eta norm(x_t)^2 <= 1$, and then no $norm(Q_t v)$ exceeds "
            "$norm(v)$ (check; any $0 prec.eq Q_t prec.eq I$ will do). So $norm(V_(t, tau)) <= sum_(k <= tau) "
            'abs(beta_k)$ for $V_(t, tau) = sum_k beta_k Q dots.c Q$, and $op("Tr") V V^top <= d norm(V)^2$.'
        ),
        lemmas=("submultiplicativity", "triangle inequality"),
    ),
)
