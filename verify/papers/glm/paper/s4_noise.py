"""Algorithms 1 and 2, Appendix B: the noise of their messages, which are Gaussian location pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.glm import privacy
from verify.checks import Agreement, Fact, Search, Symbolic, Within
from verify.checks.domains import Real
from verify.papers.glm.paper.s3_preliminaries import CLASSICAL, CLASSICAL_TEXT
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- the message as a Gaussian location pair ---


def shift(first: tuple[np.ndarray, float], second: tuple[np.ndarray, float], gram: float, cross: float) -> float:
    """||difference of (upper triangle of x x^T, x y) in units of the noise||, record by record."""
    (x, y), (z, u) = first, second
    upper = np.triu_indices(len(x))
    moved = (np.outer(x, x) - np.outer(z, z))[upper] / gram
    return math.sqrt(float(moved @ moved) + float(np.sum((x * y - z * u) ** 2)) / cross**2)


def _records(rng: np.random.Generator, p: int, inputs: str) -> tuple[np.ndarray, float]:
    """A record on the unit sphere (or on the l1 sphere, sparse ones included), label on an end."""
    x = rng.standard_normal(p) * (rng.random(p) < 0.7)
    x[0] += 1e-3
    size = np.linalg.norm(x) if inputs == "l2" else np.abs(x).sum()
    return x / size, float(rng.choice([-1.0, 1.0]))


def _worst_pair(a1: float, a2: float, p: int, inputs: str) -> tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]:
    """The pair that attains the claimed mu: (a, b) against (b, a), two axes, or opposite records."""
    if inputs == "l1":
        if 2 / a2**2 >= 2 / a1**2:
            return (np.eye(p)[0], 1.0), (np.eye(p)[0], -1.0)
        return (np.eye(p)[0], 1.0), (np.eye(p)[1], 1.0)
    t = -min(a1**2 / (2 * a2**2), 1.0)
    angle = math.asin(t) / 2  # <(a, b), (b, a)> = 2 a b = sin(2 angle)
    x = np.zeros(p)
    x[:2] = math.cos(angle), math.sin(angle)
    z = x.copy()
    z[:2] = x[1], x[0]
    return (x, 1.0), (z, 1.0)


def sensitivities(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The release's mu: attained by an explicit pair, exceeded by none of many, opposite labels on the same side."""
    cases: tuple[tuple[int, privacy.Inputs], ...] = ((2, "l2"), (3, "l2"), (2, "l1"), (4, "l1"))
    for p, inputs in cases:
        for a1, a2 in ((1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (0.9, 0.7)):
            mu = factor * float(privacy.release_mu(a1, a2, radius=1.0, p=p, inputs=inputs))
            label = f"p = {p}, {inputs}, noises {a1:g}, {a2:g}"
            yield Fact(f"attained: {label}", shift(*_worst_pair(a1, a2, p, inputs), a1, a2), mu)
            most = max(shift(_records(rng, p, inputs), _records(rng, p, inputs), a1, a2) for _ in range(150))
            yield Within(f"not exceeded: {label}", most / mu, 0.0, 1 + 1e-9)
    unit = float(privacy.release_mu(1.0, 1.0, radius=1.0)) ** 2
    yield Fact("equal noises: mu^2 = 4.5 / a^2", unit * factor**2, 4.5, numbers={"squared": unit})
    scaled = privacy.release_mu(9.0, 3.0 * 5.0, radius=3.0, label_bound=5.0)
    yield Fact("radius 3, labels to 5", float(scaled) * factor, math.sqrt(4.5))
    yield Fact("only x y", float(privacy.release_mu(math.inf, 2.0, radius=1.0)) * factor, 1.0)
    line = [shift((np.array([1.0]), 1.0), (np.array([-s]), 1.0), 0.6, 1.0) for s in np.linspace(0, 1, 20_001)]
    yield Fact("p = 1", factor * float(privacy.release_mu(0.6, 1.0, radius=1.0, p=1)), max(line), 1e-7)


def _printed_delta(
    epsilon: float, delta: float, *, p: int = 2, inputs: privacy.Inputs = "l2", variance: float = 32.0
) -> float:
    """Exact delta of a message with the printed noise; `variance` in place of the 32."""
    scales = privacy.noise_scales(epsilon, delta, radius=1.0)
    factor = math.sqrt(variance / 32.0)
    return float(
        privacy.exact_delta(epsilon, factor * scales.gram, factor * scales.cross, radius=1.0, p=p, inputs=inputs)
    )


def within_bounds(
    epsilon: float, delta: float, *, variance: float = 32.0, inputs: privacy.Inputs = "l2"
) -> tuple[float, float]:
    """Exact delta of a message with the printed noise, against delta."""
    return _printed_delta(epsilon, delta, variance=variance, inputs=inputs), delta


def _noise(rng: np.random.Generator, *, variance: float = 32.0) -> Iterator[Fact | Within]:
    """32 from two releases at epsilon / 2 and delta / 2, each of sensitivity 2 in its own units."""
    for epsilon, delta in ((0.5, 1e-5), (1.0, 1e-6)):
        printed = privacy.noise_scales(epsilon, delta, radius=2.0, label_bound=3.0)
        classical = math.sqrt(2 * math.log(1.25 / (delta / 2))) * 2 / (epsilon / 2)
        yield Fact("noise of x x^T, radius 2", printed.gram**2 * variance / 32, (classical * 4) ** 2)
        yield Fact("noise of x y, radius 2, labels to 3", printed.cross**2 * variance / 32, (classical * 6) ** 2)
    for delta in (1e-2, 1e-5, 1e-6):
        end = float(privacy.printed_range(delta))
        ends = [_printed_delta(end * share, delta, variance=variance) / delta for share in (1 - 1e-9, 1 + 1e-9)]
        yield Within(f"delta just inside the range, over {delta:g}", ends[0], 0.0, 1.0)
        numbers = {f"end_{-math.log10(delta):.0f}": end}
        yield Within(f"delta just outside the range, over {delta:g}", ends[1], 1.0, numbers=numbers)


# --- every record within the bounds, every budget: two short proofs ---

_c, _y, _u = sympy.symbols("c y u", real=True)
_HALF = sympy.Rational(1, 2)


def _two_vectors() -> tuple[sympy.Matrix, sympy.Matrix]:
    """x and x' in the plane that they span."""
    x, z = (sympy.Matrix(sympy.symbols(f"{name}1 {name}2", real=True)) for name in "xz")
    return x, z


def _shifts(count: int = 2) -> Iterator[tuple[str, Any, Any]]:
    """The squared shifts of x x^T (all entries of a square, `count` of each off the diagonal) and of x y."""
    x, z = _two_vectors()
    moved = x * x.T - z * z.T
    whole = moved[0, 0] ** 2 + count * moved[0, 1] ** 2 + moved[1, 1] ** 2
    yield "shift of $x x^top$", whole, x.dot(x) ** 2 + z.dot(z) ** 2 - 2 * x.dot(z) ** 2
    step = _y * x - _u * z
    yield "shift of $x y$", step.dot(step), _y**2 * x.dot(x) + _u**2 * z.dot(z) - 2 * _y * _u * x.dot(z)


def _largest_shift(most: str = "9/2") -> Iterator[tuple[str, Any, Any]]:
    """What is left of 9/2 at ||x|| = ||x'|| = 1 and labels 1 and -1 or 1 and 1, c = |<x, x'>|."""
    left = sympy.Rational(most) - (2 - 2 * _c**2) - (2 + 2 * _c)
    yield "$9\\/2 - (2 - 2 c^2) - (2 + 2 c)$", left, 2 * (_c - _HALF) ** 2


SHIFT = Symbolic(
    residuals=_shifts,
    squares=_largest_shift,
    impostors={
        "off the diagonal counted once": {"residuals": {"count": 1}},
        "4.4 for 4.5": {"squares": {"most": "22/5"}},
    },
)

ALG_1_NOISE = Claim(
    id="glm/alg-1-noise",
    where="Algorithms 1 and 2, Appendix B",
    kind="privacy",
    statement=(
        "The variances $32 r^4 log(2.5\\/delta)\\/epsilon^2$ and $32 r^2 log(2.5\\/delta)\\/epsilon^2$ follow from "
        "Lemma 4 and composition."
    ),
    hypotheses="$norm(x) <= r$, $abs(y) <= 1$, $epsilon, delta < 1$",
    equation="Algorithm 1",
    setting=(
        "The joint message is a Gaussian location pair; its largest shift in closed form, attained by an explicit pair."
    ),
    remark=(
        "$32 = 2 dot (2 dot 2)^2$: two releases at $epsilon\\/2$ and $delta\\/2$, sensitivity 2 each (of $x x^T$ it is "
        "$sqrt(2)$). Jointly they cost $mu = epsilon sqrt({squared}\\/(32 log(2.5\\/delta)))$, and the noise is "
        "private up to $epsilon = {end_5:3}$ at $delta = 10^(-5)$."
    ),
    checks=(
        SHIFT,
        CLASSICAL,
        Agreement(facts=sensitivities, impostors={"mu 1 % off": {"facts": {"factor": 1.01}}}, role="control"),
        Agreement(facts=_noise, impostors={"16 in place of 32": {"facts": {"variance": 16.0}}}, role="control"),
        Search(
            sides=within_bounds,
            box={"epsilon": Real(0.01, 1.0, "log"), "delta": Real(1e-12, 0.99, "log")},
            evaluations=400,
            impostors={"2 in place of 32": {"sides": {"variance": 2.0}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "In units of the bounds $x x^top$ moves by at most $sqrt(2) <= 2$ (the square of the Frobenius norm is "
            "$norm(x)^4 + norm(x')^4 - 2 (x^top x')^2$ in the plane of $x$ and $x'$), and $x y$ by at most $2$. Lemma "
            "4 as corrected (`glm/lem-4`) at $epsilon\\/2 <= 1$, $delta\\/2 <= 1\\/2$ and sensitivity $2$ has the "
            "variance $2 log(1.25\\/(delta\\/2)) 2^2\\/(epsilon\\/2)^2 = 32 log(2.5\\/delta)\\/epsilon^2$; two such "
            "releases compose. "
        )
        + CLASSICAL_TEXT,
        lemmas=("Cauchy-Schwarz", "monotony", "privacy profile of the Gaussian mechanism", "basic composition"),
    ),
)
