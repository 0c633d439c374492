"""Appendix A, Lemmas 29, 30 and 32: concentration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from simulators.engine import Experiment
from verify.checks import Agreement, Event, Frequency, Unbounded, Within
from verify.papers.glm.tools.matrices import Ensemble, Sines, covariance_errors, sine_suprema, symmetric_norms
from verify.statements.claims import Claim, Correction, Fault


def _covariances(*, constant: float = 6.0) -> tuple[Event, ...]:
    return tuple(
        Event(
            label=f"{law}, p = {p}, n = {n}",
            experiment=Experiment(
                algorithm=covariance_errors, problem=Ensemble(law=law, p=p, n=n), settings=None, block_trials=100
            ),
            occurs=lambda arrays, p=p, n=n: arrays["error"] <= constant * (math.sqrt(p / n) + p / n),
            at_least=1 - math.exp(-p),
        )
        for law in ("normal", "sign")
        for p, n in ((2, 4), (3, 300), (3, 1))
    )


def _one_row(m: Any, s: Any) -> Any:
    """n = 1, p = 4 s signs: ||x x^T - I|| = p - 1 for every draw, over sqrt(p / n) ||Sigma||, kappa = 1."""
    return (4 * s - 1) / m.sqrt(4 * s)


def _reduced_row(m: Any, x: Any) -> Any:
    """The quotient itself."""
    return 2 - x / 2


def _corrected_row(rng: np.random.Generator, *, linear: float = 1.0) -> Iterator[Within]:
    """The same p - 1 at n = 1 over 6 (sqrt(p / n) + p / n)."""
    for p in (4, 400):
        yield Within(f"the ratio at p = {p}, n = 1", (p - 1) / (6 * (math.sqrt(p) + linear * p)), 0.0, 1.0)


LEM_29 = Claim(
    id="glm/lem-29",
    where="Lemma 29",
    kind="mc-rate",
    statement="With probability $1 - e^(-p)$: $norm(X^top X\\/n - Sigma) <= C kappa^2 sqrt(p\\/n) norm(Sigma)$.",
    equation="Lemma 29",
    setting="Normal and sign entries, $Sigma = I$; $C = 6$ in the correction.",
    given={"wide": 400},
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "$n >= p$ is missing: for $n = 1$ and $x$ of signs $norm(x x^top - I) = p - 1$, ${small:3}$ times "
            "$sqrt(p\\/n)$ at $p = 4$ and ${large:3}$ times at $p = {wide}$."
        ),
        consequence="None: the lemma is used for $n$ and $m$ above $p$.",
    ),
    correction=Correction(
        statement=(
            "With probability $1 - e^(-p)$: $norm(X^top X\\/n - Sigma) <= C kappa^2 (sqrt(p\\/n) + p\\/n) norm(Sigma)$."
        ),
        ground="The norm of sub-Gaussian matrices (Vershynin, Theorem 4.6.1).",
        checks=(
            Frequency(
                events=_covariances,
                trials={"quick": 1500, "full": 15_000},
                impostors={"a sixth of C": {"events": {"constant": 0.8}}},
            ),
            Agreement(facts=_corrected_row, impostors={"without p / n": {"facts": {"linear": 0.0}}}),
        ),
    ),
    checks=(
        Unbounded(quotient=_one_row, reduced=_reduced_row, power=Fraction(1, 2), shown={"small": 1, "large": 100}),
    ),
)


def _norms(*, constant: float = 4.0) -> tuple[Event, ...]:
    return tuple(
        Event(
            label=f"{law}, p = {p}",
            experiment=Experiment(
                algorithm=symmetric_norms, problem=Ensemble(law=law, p=p), settings=None, block_trials=100
            ),
            occurs=lambda arrays, p=p: arrays["norm"] <= constant * math.sqrt(p),
            at_least=1 - math.exp(-0.3 * p),
        )
        for law in ("sign", "uniform", "normal")
        for p in (4, 12)
    )


LEM_30 = Claim(
    id="glm/lem-30",
    where="Lemma 30",
    kind="mc-rate",
    statement=(
        "$M$ symmetric with independent mean-zero entries bounded by 1: $norm(M)_2 <= C sqrt(p)$ with probability $1 "
        "- e^(-Omega(p))$."
    ),
    equation="Lemma 30",
    setting="$C = 4$, probability $1 - e^(-0.3 p)$; signs and uniform entries, and normal ones.",
    remark="The proof of Lemma 33 uses it for normal entries, which are not bounded; it holds for them too.",
    checks=(
        Frequency(
            events=_norms,
            trials={"quick": 1200, "full": 12_000},
            impostors={"C = 1": {"events": {"constant": 1.0}}},
        ),
    ),
)


def _sines(*, variance: float = 1e-12, radius: float = 1e10, bound: float | None = None) -> tuple[Event, ...]:
    problem = Sines(variance=variance, radius=radius, m=50)
    limit = bound or 2 * (radius * variance + 1.0) * math.sqrt(1 / problem.m)
    experiment = Experiment(algorithm=sine_suprema, problem=problem, settings=None, block_trials=20)
    label = f"g = sin, variance {variance:g}, |w| <= {radius:g}, m = 50"
    return (
        Event(
            label=label,
            experiment=experiment,
            occurs=lambda arrays: arrays["supremum"] <= limit,
            at_least=1 - math.exp(-1.0),
        ),
    )


def _narrow(*, share: float = 1.0) -> tuple[Event, ...]:
    """Radius times standard deviation at most 3: the root of the variance times the radius is what counts."""
    return tuple(
        event
        for variance, radius in ((1e-8, 3e4), (1.0, 3.0), (1e4, 0.03))
        for event in _sines(
            variance=variance, radius=radius, bound=share * 2 * (radius * math.sqrt(variance) + 1.0) * math.sqrt(1 / 50)
        )
    )


LEM_32 = Claim(
    id="glm/lem-32",
    where="Lemma 32",
    kind="inequality",
    statement=(
        "Sub-Gaussian $x$ with covariance $Sigma$, $abs(g) <= L$, $g$ $G$-Lipschitz: with probability $1 - e^(-p)$, "
        "$sup_(w in B^delta (tilde(w))) abs(1\\/m sum g(chevron.l x_i, w chevron.r) - bb(E) g) <= 2 {G "
        "(norm(tilde(w)) + delta) norm(Sigma) + L} sqrt(p\\/m)$."
    ),
    equation="Lemma 32",
    setting="$g = sin$, $p = 1$, $m = 50$, $x tilde cal(N)(0, sigma^2)$; the supremum on a grid, so a lower bound.",
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "The bound has $norm(Sigma)$ where $norm(Sigma)^(1\\/2)$ belongs (scale $x$ by $a$ and $w$ by $1\\/a$): "
            "with "
            "$sigma = 10^(-6)$ and a ball of radius $10^10$ it holds in ${hits}$ of ${trials}$ runs, stated "
            "${claimed:3}$ of them."
        ),
        consequence=(
            "None: (41) applies the lemma to the isotropic $v$, so that Lemmas 36 and 37 and Theorems 8 and 14 have "
            "$norm(Sigma)^(1\\/2)$ already."
        ),
    ),
    correction=Correction(
        statement=(
            "For $norm(Sigma)^(1\\/2) (norm(tilde(w)) + delta) G = O(L)$ the bound holds with $norm(Sigma)^(1\\/2)$ "
            "in place of $norm(Sigma)$."
        ),
        ground=(
            "The statement is about $v = Sigma^(-1\\/2) x$ and $Sigma^(1\\/2) w$, whose ball has radius at most "
            "$norm(Sigma)^(1\\/2) delta$."
        ),
        checks=(
            Frequency(
                events=_narrow,
                trials={"quick": 200, "full": 2000},
                impostors={"a tenth of the bound": {"events": {"share": 0.1}}},
            ),
        ),
    ),
    checks=(Frequency(events=_sines, trials={"quick": 60, "full": 400}),),
)
