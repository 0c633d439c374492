"""Gaussian sketches without sketching: all that algorithms see of k rows N(0, M) is a Wishart matrix.

X~'X~ / k = N V N' in law for any N with N N' = M, V ~ Wishart_d(I, k) / k. Three ways to V⁻¹v, of one law:
- `action`: V⁻¹v alone, from d + 2 draws (below);
- `wishart`: V by Bartlett's triangle, d²/2 draws;
- `explicit`: the k x n sketch itself, to test the other two.

>>> triangles = bartlett(np.random.default_rng(0), trials=5, d=3, k=10)
>>> triangles.shape
(5, 3, 3)
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, choice, count
from simulators.engine import trial_count

Sketch = Literal["action", "wishart", "explicit"]
# Numbers in one array of draws: 1 GiB.
MOST_DRAWS = 1 << 27


@typed
def bartlett(generator: np.random.Generator, trials: int, d: int, k: int) -> np.ndarray:
    """Lower triangles T (trials, d, d) with T T' ~ Wishart_d(I, k): T_ii² chi-squared with k - i + 1 degrees of
    freedom, i = 1..d, normals below. Raises `DomainError` for k < d, where T T' is singular.
    """
    enough(k, d)
    trials, d, k = trial_count(trials), int(d), int(k)
    room(trials, d, d)
    T = np.tril(generator.standard_normal((trials, d, d)), -1)
    T[:, np.arange(d), np.arange(d)] = np.sqrt(generator.chisquare(k - np.arange(d), size=(trials, d)))
    return T


@formula
def inverse_action(generator: np.random.Generator, vectors: np.ndarray, k: int) -> np.ndarray:
    """V⁻¹v, V ~ Wishart_d(I, k)/k fresh for every v of `vectors` (trials, d): exact in law, O(d) each.

    Rotate v onto the last axis. Bartlett's triangle gives V⁻¹v = (k/q)(v - |v| T₁⁻ᵀt) with q ~ chi²(k-d+1), t ~ N(0, I)
    of dimension d - 1 and T₁T₁' ~ Wishart(k): T₁⁻ᵀt is spherical and of squared length chi²(d-1)/chi²(k-d+2), so it is
    in law a normal vector orthogonal to v over the root of s ~ chi²(k-d+2).
    """
    trials, d = vectors.shape
    enough(k, d)
    q = generator.chisquare(k - d + 1, size=(trials, 1))
    s = generator.chisquare(k - d + 2, size=(trials, 1))
    g = generator.standard_normal((trials, d))
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    direction = vectors / np.where(length > 0, length, 1.0)
    g -= np.sum(g * direction, axis=1, keepdims=True) * direction
    return (k / q) * (vectors + length * g / np.sqrt(s))


@formula
def wishart_solve(T: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(T T')⁻¹v for triangles (trials, d, d) and vectors (trials, d)."""
    inner = np.linalg.solve(T, vectors[..., None])
    return np.linalg.solve(np.swapaxes(T, 1, 2), inner)[..., 0]


@formula
def explicit_gram(generator: np.random.Generator, rows: np.ndarray, eta: np.ndarray, k: int) -> np.ndarray:
    """X~'X~ (trials, d, d) of X~ = S X + eta xi with S (k, n) and xi (k, d) drawn entry by entry; `rows` (n, d), eta
    (trials,). One trial at a time: S is large.
    """
    n, d = rows.shape
    k = count("k", k)
    room(k, n)
    grams = np.empty((len(eta), d, d))
    for trial, scale in enumerate(eta):
        sketch = generator.standard_normal((k, n)) @ rows + scale * generator.standard_normal((k, d))
        grams[trial] = sketch.T @ sketch
    return grams


def enough(k: int, d: int) -> None:
    """k rows of a sketch for d columns: with fewer its Gram matrix has no inverse."""
    if count("k", k) < count("d", d):
        raise DomainError("k", k, f"at least d = {d}", "the sketched Gram matrix has no inverse: take a larger k")


def room(*shape: int) -> None:
    """Draws of this shape fit into memory."""
    if math.prod(int(size) for size in shape) > MOST_DRAWS:
        raise DomainError("shape", shape, f"an array of at most {MOST_DRAWS} draws", "fewer trials at a time")


def sketch_choice(sketch: str) -> None:
    """One of the three ways."""
    choice("sketch", sketch, get_args(Sketch))
