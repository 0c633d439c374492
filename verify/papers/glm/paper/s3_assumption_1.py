"""Section 3, Assumption 1: which laws meet it, and what it asks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from verify.checks import Agreement, Fact, Within
from verify.papers.glm.tools.bounded_designs import signs
from verify.statements.claims import Claim


def conditional_moments(law: list[tuple[np.ndarray, float]], w: np.ndarray, j: int) -> dict[float, tuple[float, float]]:
    """E[v_j | rest] and E[v_j^2 | rest] for every value of the rest, sum_{k != j} w_k v_k."""
    groups: dict[float, list[tuple[float, float]]] = {}
    for x, chance in law:
        rest = round(float(np.delete(x * w, j).sum()), 12)
        groups.setdefault(rest, []).append((float(x[j]), chance))
    return {
        rest: tuple(sum(c * v**k for v, c in items) / sum(c for _, c in items) for k in (1, 2))
        for rest, items in groups.items()
    }  # type: ignore[return-value]


def _predicate(rng: np.random.Generator, *, scale: float = 1.0) -> Iterator[Fact | Within]:
    """Products meet (iii); signed axes do not; (ii) bounds the trace and so the least eigenvalue."""
    p, w = 3, np.array([0.5, -0.3, 0.8])
    product = [(np.array(x), 1 / 8) for x in itertools.product([1.0, -1.0], repeat=p)]
    axes = [(s * math.sqrt(p) * np.eye(p)[k], 1 / (2 * p)) for k in range(p) for s in (1.0, -1.0)]
    for name, law, ends in (("product of signs", product, (0.0, 1e-9)), ("signed axes", axes, (0.1, math.inf))):
        spreads = [np.ptp(list(conditional_moments(law, w, j).values()), axis=0).max() for j in range(p)]
        yield Within(f"{name}: spread of the conditional moments", float(max(spreads)), *ends)
    for p in (4, 16, 64):
        design = signs(p, 1.0 / p)
        yield Within(f"p = {p}: Tr Sigma over r^2", scale * p * design.variance, 0.0, 1.0)
        yield Fact(f"p = {p}: lambda = 1 / p^2", scale * design.variance, p**-2.0)


ASSUMP_1 = Claim(
    id="glm/assump-1",
    where="Assumption 1, footnote 1",
    kind="inequality",
    statement=(
        r"(i) $Sigma^(1\/2)$ diagonally dominant, (ii) $norm(x)_1 <= r$, (iii) $bb(E)[v_j | sum_(k != j) tilde(w)_k "
        "v_k]$ and $bb(E)[v_j^2 | ...]$ are deterministic."
    ),
    equation="Assumption 1",
    setting="By enumeration: products of signs, signed axes.",
    remark=(
        '(ii) gives $op("Tr") Sigma <= r^2$, so $lambda <= r^2\\/p$, and $lambda <= r^2\\/p^2$ for independent '
        "coordinates: it is never of order 1."
    ),
    checks=(Agreement(facts=_predicate, impostors={"5 times": {"facts": {"scale": 5.0}}}),),
)
