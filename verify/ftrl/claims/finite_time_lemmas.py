"""Appendix D.2.4: Lemmas D.9 and D.10, the traces behind the events of Theorem D.4."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from verify.checks import Inequality, Search
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.ftrl.claims import finite_time_moments as exact

Sides = tuple[np.ndarray, np.ndarray]


def _input_memory(time: np.ndarray, factor: float = 1.0, **law: np.ndarray) -> Sides:
    """E Tr W_{t,tau} = Tr P^k H and R^2 (1 - eta mu)^k, k = t - 1 - tau = time."""
    batch = exact.systems(**law)
    M = exact.diagonal(batch.laws.eigenvalues)
    traces = [exact.trace(M)]
    for _ in range(int(time.max())):
        M = exact.after_step(batch, M)
        traces.append(exact.trace(M))
    observed = np.array(traces)[time.astype(int), np.arange(len(time))]
    return observed, factor * batch.laws.r_squared() * (1 - batch.eta * exact.smallest(batch)) ** time


def _expected_response(time: np.ndarray, power: int = 2, factor: float = 1.0, **law: np.ndarray) -> Sides:
    """E Tr U_{t,tau}, tau = time, from A_{k+1} = beta_{k+1} I + Q A_k and its mean, against d (sum)^power."""
    batch = exact.systems(**law)
    beta, unit = batch.beta, np.eye(2)
    mean = exact.wide(beta[:, 0]) * unit
    second, traces = mean @ mean, []
    for k in range(beta.shape[1]):
        if k:
            moved = (1.0 - batch.x)[:, :, None] * mean
            weight = exact.wide(beta[:, k])
            second = weight**2 * unit + 2 * weight * moved + exact.after_step(batch, second)
            mean = weight * unit + moved
        traces.append(exact.trace(second))
    rows = np.arange(len(time))
    sums = exact.weighted_sums(beta, batch.eta * exact.smallest(batch))
    return np.array(traces)[time.astype(int), rows], factor * 2 * sums[rows, time.astype(int)] ** power


def _bounded_response(angles, upper, lower, beta, factor: float = 1.0) -> Sides:
    """Tr U_{t,4} for arbitrary 0 <= Q <= I with the given eigenvalues and axes, against d (sum |beta|)^2."""
    u = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    v = np.stack([-np.sin(angles), np.cos(angles)], axis=-1)
    Q = upper[..., None, None] * u[..., :, None] * u[..., None, :]
    Q = Q + lower[..., None, None] * v[..., :, None] * v[..., None, :]
    return exact.noise_responses(Q, beta)[:, -1], 2 * factor * np.abs(beta).sum(axis=1) ** 2


def _projections() -> Iterator[dict[str, Any]]:
    """Identities, and projections on axes that turn by a fixed angle."""
    for beta in ([1.0] * 5, [1.0, -0.9, 0.8, -0.7, 0.6], [0.0, 0.0, 0.0, 0.0, 1.0]):
        yield {"angles": [0.0] * 4, "upper": [1.0] * 4, "lower": [1.0] * 4, "beta": beta}
        for turn in (0.1, np.pi / 8, np.pi / 4):
            yield {"angles": turn * np.arange(4), "upper": [1.0] * 4, "lower": [0.0] * 4, "beta": beta}


def _law_points() -> Iterator[Mapping[str, Any]]:
    """Extremal laws at both ends of the time."""
    for time in (0, 3):
        for point in exact.extremal():
            yield {**{name: point[name] for name in LAW}, "time": time}


def _large_first_weight() -> Iterator[Mapping[str, Any]]:
    """beta = (2, 0, 0, 0), tau = 0."""
    for point in _law_points():
        yield {**point, "beta": [2.0, 0.0, 0.0, 0.0], "time": 0}


LAW = {name: exact.BOX[name] for name in ("second", "atoms", "weights", "fraction", "beta", "noise", "residual")}


def _searched(sides: Callable[..., Sides], extremal=_law_points, **wrong: float) -> Search:
    """Over laws in the plane and lags 0 to 3; each impostor changes one argument of `sides`."""
    impostors = {
        f"{name} {value:g}": {"sides": lambda name=name, value=value, **law: sides(**{name: value}, **law)}
        for name, value in wrong.items()
    }
    return Search(
        sides=sides, box={**LAW, "time": Whole(0, 3)}, extremal=extremal, vectorised=True, impostors=impostors
    )


CLAIMS = (
    Claim(
        id="ftrl/lem-d.9",
        where="Lemma D.9",
        kind="inequality",
        statement='$EE op("Tr") W_(t, tau) <= R^2 (1 - eta mu)^(t - 1 - tau)$.',
        hypotheses=(
            "The setting of Theorem D.4, which as printed admits every $eta <= c R^2 ell$. Tried on $d = 1$, $x = "
            "plus.minus 1$, $tau = t - 2$: the left side is $(1 - eta)^2$."
        ),
        checks=(
            Inequality(
                smaller=lambda m, eta: m.power(1 - eta, 2),
                larger=lambda m, eta: 1 - eta,
                box={"eta": Real(0.01, 10.0, "log")},
            ),
        ),
        correction=Correction(
            statement="for $eta <= 1\\/R^2$, as Lemma F.18 asks.",
            checks=(_searched(_input_memory, factor=0.97),),
        ),
    ),
    Claim(
        id="ftrl/lem-d.10-a",
        where="Lemma D.10, first part",
        kind="inequality",
        statement='$EE op("Tr") U_(t, tau) <= d sum_(k <= tau) abs(beta_k) (1 - eta mu)^((tau - k)\\/2)$.',
        hypotheses="$eta <= 1\\/R^2$.",
        checks=(_searched(lambda **law: _expected_response(power=1, **law), extremal=_large_first_weight),),
        correction=Correction(
            statement="$<= d (sum_(k <= tau) abs(beta_k) (1 - eta mu)^((tau - k)\\/2))^2$, as the proof has it.",
            checks=(_searched(_expected_response, factor=0.97, power=1),),
        ),
    ),
    Claim(
        id="ftrl/lem-d.10-b",
        where="Lemma D.10, second part",
        kind="inequality",
        statement='If all $Q_t succ.eq 0$: $op("Tr") U_(t, tau) <= d (sum_(k <= tau) abs(beta_k))^2$.',
        hypotheses="For all $0 prec.eq Q_t prec.eq I$; also $norm(V)_2 <= sum abs(beta_k)$ by the triangle inequality.",
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
                impostors={"0.97 d": {"sides": lambda **path: _bounded_response(factor=0.97, **path)}},
            ),
        ),
    ),
)
