"""Mechanisms whose true privacy is known: five broken ones, their right twins, and healthy rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbounds.audit import Box, gaussian, laplace
from dpbounds.privacy import gaussian_mu


@dataclass(frozen=True)
class Row:
    """A mechanism, what it claims and what is true: the least epsilon at the claim's delta."""

    name: str
    run: Callable[..., Any]
    claim: Any
    true: float
    adjacency: str = "zero-out"
    domain: Any = None
    law: Any = "unknown"
    settings: dict[str, Any] = field(default_factory=dict)


def gram_diagonal(low: float, high: float, epsilon: float, *, right: bool) -> Callable[..., Any]:
    """The diagonal of X'X with Laplace noise for squares of numbers in [low, high]; the wrong one uses low twice."""

    def run(data, seed):
        clipped = np.clip(data, low, high)
        ends = [abs(low), abs(high)] if right else [abs(low), abs(low)]
        scale = data.shape[1] * max(ends) ** 2 / epsilon
        return np.sum(clipped**2, axis=0) + scale * np.random.default_rng(seed).laplace(size=data.shape[1])

    return run


def noisy_sum(scale: float, size: int, *, clip: float = 1.0, family: str = "normal") -> Callable[..., Any]:
    """The sum of records clipped to an l2 norm, with independent noise."""

    def run(data, seed):
        norms = np.linalg.norm(data, axis=1, keepdims=True)
        total = (data * np.minimum(1.0, clip / np.maximum(norms, 1e-300))).sum(axis=0)
        return total + scale * getattr(np.random.default_rng(seed), family)(size=size)

    return run


def leaves(split: bool) -> Callable[..., Any]:
    """Two leaves of one shape, the record clipped over both, noise from one key or from two."""

    def run(data, seed):
        norms = np.linalg.norm(data, axis=1, keepdims=True)
        total = (data / np.maximum(norms, 1.0)).sum(axis=0)
        half = len(total) // 2
        keys = ((seed, 0), (seed, 1)) if split else ((seed, 0), (seed, 0))
        noise = [np.random.default_rng(key).standard_normal(half) for key in keys]
        return {"kernel": total[:half] + noise[0], "gate": total[half:] + noise[1]}

    return run


def tensors(whole: bool, number: int = 10, size: int = 40) -> Callable[..., Any]:
    """Ten tensors with unit noise, clipped to norm 1 together or each by itself."""

    def run(data, seed):
        parts = data.reshape(len(data), number, size)
        axes = (1, 2) if whole else (2,)
        norms = np.sqrt(np.sum(parts**2, axis=axes, keepdims=True))
        total = (parts / np.maximum(norms, 1.0)).sum(axis=0).ravel()
        return total + np.random.default_rng(seed).standard_normal(number * size)

    return run


def counted(scale: float) -> Callable[..., Any]:
    """A count with Laplace noise."""

    def run(data, seed):
        return data.sum() + scale * np.random.default_rng(seed).laplace()

    return run


def sparse_vector(epsilon: float, *, right: bool = True) -> Callable[..., Any]:
    """Lyu et al., Algorithm 1, at c = 1 with queries of sensitivity 1: one answer "above", then silence."""

    def run(data, seed):
        rng = np.random.default_rng(seed)
        threshold = rng.laplace(scale=2 / epsilon)
        answers = np.zeros(len(data))
        for place, query in enumerate(data):
            noise = rng.laplace(scale=4 / epsilon) if right else 0.0
            if query + noise >= 0.5 + threshold:
                answers[place] = 1.0
                break
        return answers

    return run


CLAIMED = math.log(3) / 2
MU = float(gaussian_mu(10.0, 1e-5))
CLASSICAL = math.sqrt(2 * math.log(1.25 / 1e-5)) / 10
EPSILON_OF_ONE = 4.8865541175
REALS = Box(shape=(3, 8))
WIDE = Box(shape=(1, 20_000))

BROKEN = (
    Row(
        "gram diagonal, (0, 1)",
        gram_diagonal(0.0, 1.0, 1 / 300, right=False),
        1 / 300,
        math.inf,
        "replace-one",
        Box(shape=(20, 2), low=0, high=1),
        laplace(),
    ),
    Row(
        "classical sigma at 10",
        noisy_sum(CLASSICAL, 20_000),
        (10.0, 1e-5),
        10.39,
        domain=WIDE,
        law=gaussian(scale=CLASSICAL),
    ),
    Row("one key", leaves(False), (4.8866, 1e-6), math.inf, domain=Box(shape=(3, 400)), law=gaussian(1.0)),
    Row("clipped by tensor", tensors(False), (4.8866, 1e-6), 19.42, domain=Box(shape=(3, 400)), law=gaussian(1.0)),
    Row(
        "half for double",
        counted(CLAIMED),
        CLAIMED,
        1 / CLAIMED,
        "replace-one",
        Box(shape=(5,), low=0, high=1),
        laplace(),
    ),
)
TWINS = (
    Row(
        "gram diagonal, (-1, 1)",
        gram_diagonal(-1.0, 1.0, 1 / 300, right=False),
        1 / 300,
        1 / 300,
        "replace-one",
        Box(shape=(20, 2), low=-1, high=1),
        laplace(),
    ),
    Row("analytic sigma at 10", noisy_sum(1 / MU, 20_000), (10.0, 1e-5), 10.0, domain=WIDE, law=gaussian(scale=1 / MU)),
    Row("two keys", leaves(True), (4.8866, 1e-6), EPSILON_OF_ONE, domain=Box(shape=(3, 400)), law=gaussian(1.0)),
    Row(
        "clipped together", tensors(True), (4.8866, 1e-6), EPSILON_OF_ONE, domain=Box(shape=(3, 400)), law=gaussian(1.0)
    ),
    Row("double", counted(1 / CLAIMED), CLAIMED, CLAIMED, "replace-one", Box(shape=(5,), low=0, high=1), laplace()),
)
