"""Searches for the best q with dense matrices: when they end, what they tell; mechanisms where roots are 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

from dpbounds import AccuracyError
from dpbounds.ftrl.design import Objective, dense
from dpbounds.ftrl.design.dense import DenseDual, dense_dual, dense_optimum
from dpbounds.ftrl.design.watching import Watch
from verify.checks import Fact, Holds

T = 3
# Its trace is the value of every mechanism whose eigenvectors are the axes.
GRAM = np.diag([1.0, 2.0, 3.0])


def dense_searches(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Searches told their norms; then values and mechanisms of given roots and vectors."""
    del rng
    yield from _ends()
    yield from _gaps()
    yield from _two_searches()
    yield from _mechanisms()


def _told(
    norms: Sequence[float], tolerance: float, *, value: float = 1e9, plain: bool = False, watch: Watch | None = None
) -> tuple[DenseDual, int]:
    """A search that finds these norms one after the other, then the last; how often it asked."""
    asked: list[np.ndarray] = []

    def decompose(gram: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(q)
        return norms[min(len(asked), len(norms)) - 1] * q, np.eye(T)

    gram = GRAM * value / np.trace(GRAM)
    with mock.patch.object(dense, "singular_values", decompose if plain else dense.singular_values):
        found = dense_dual(gram, tolerance, decompose=decompose, start=np.array([0.2, 0.3, 0.5]), watch=watch)
    return found, len(asked)


def _ends() -> Iterator[Fact | Holds]:
    """After ten steps that gain less than a hundredth of the tolerance; after 150; at once where time is up."""
    for label, norms, tolerance, steps, best in (
        ("nothing gained", [2.0], 0.5, 12, 2.0),
        ("gains of half a hundredth", [np.sqrt(1.0 + 0.0024 * k) for k in range(40)], 0.5, 12, np.sqrt(1.0264)),
        ("gains of a hundredth", [np.sqrt(1.0051**k) for k in range(6)], 0.5, 17, np.sqrt(1.0051**5)),
        ("the same of large norms", [np.sqrt(1e4 * 1.0051**k) for k in range(6)], 0.5, 17, np.sqrt(1e4 * 1.0051**5)),
        ("a gain, and no more", [1.0, 0.9, 0.9, 1.1], 0.5, 15, 1.1),
        ("gains at the tenth step", [*[1.0] * 10, 1.1], 0.5, 22, 1.1),
        ("gains at the last step", [*[1.0] * 11, 1.1], 0.5, 23, 1.1),
        ("losses after a gain", [1.0, 1.1, 0.5], 0.5, 13, 1.1),
        ("always gains", [1.1**k for k in range(200)], 0.01, 150, 1.1**149),
    ):
        found, asked = _told(norms, tolerance, value=1e30)
        yield Fact(f"{label}: steps", [found.bound.iterations, asked], [steps, steps], 0)
        yield Fact(f"{label}: bound", float(found.bound), best**2, 1e-12)
        yield Holds(f"{label}: no mechanism", found.encoder is None)
    told: list[tuple[int, int]] = []
    found, _ = _told([1.0], 0.5, watch=Watch(seconds=1e-9, progress=lambda done, all, what: told.append((done, all))))
    yield Fact("no time left: steps, progress", [found.bound.iterations, *told[0]], [1, 1, 150], 0)


def _gaps() -> Iterator[Fact | Holds]:
    """A mechanism within the tolerance ends it; so does what no q exceeds, where singular values are not graded."""
    for value, steps in ((150.0 - 1e-7, 1), (150.0 + 1e-7, 12)):
        found, _ = _told([10.0], 0.5, value=value)
        label = f"a value of {value:.10g} over a bound of 100"
        yield Holds(label, (found.encoder is not None) is (steps == 1))
        # hat / q is the norm, so that no q exceeds its square
        yield Fact(f"{label}: gap, steps", [1 + found.gap, found.bound.iterations], [1.0, steps])
    found, _ = _told([1.0], 0.5, value=5.0, plain=True)
    yield Fact("what no q exceeds ends a plain search", [found.bound.iterations, 1 + found.gap], [1, 1.0])
    start = np.array([0.2, 0.3, 0.5])

    def uneven(gram: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([5.0, 3.0, 2.0]), np.eye(T)

    for tolerance, steps in ((2.05, 12), (2.0625, 1), (2.1, 1)):
        held = mock.patch.object(dense.Anderson, "step", lambda *_: None)
        with mock.patch.object(dense, "singular_values", uneven), held:
            found = dense_dual(1e3 * GRAM, tolerance, decompose=uneven, start=start)
        # the largest of hat / q is 25, the norm 10: (35/2)^2 over 10^2
        yield Fact(f"what no q exceeds, to {tolerance:g}", [1 + found.gap, found.bound.iterations], [3.0625, steps])
    yield Fact("the q of a bound", found.dual, start)


def _two_searches() -> Iterator[Holds]:
    """A second search with graded singular values goes on where the first has ended, if that has no mechanism."""
    run = Objective(np.array([0.9, 0.3]), 5, 0.4, batch_size=3)
    real, q = dense_dual(run.gram(), 1e-9), np.linspace(1.0, 2.0, 5) / 7.5
    bare = DenseDual(bound=mock.Mock(dual=q, iterations=7, gap=0.5), encoder=None)
    for label, answers in (("one", [real]), ("two", [bare, real]), ("none", [bare, bare])):
        with mock.patch.object(dense, "dense_dual", side_effect=answers) as asked:
            try:
                made = dense_optimum(run, 1e-9)
            except AccuracyError as error:
                made = error
        second = [call.kwargs for call in asked.call_args_list[1:]]
        yield Holds(f"{label}: searches", len(asked.call_args_list) == len(answers))
        graded: Any = [{"decompose": dense.graded_singular_values, "start": bare.dual}] if len(answers) > 1 else []
        yield Holds(f"{label}: how", second == graded)
        yield Holds(f"{label}: what is said", isinstance(made, AccuracyError) is (label == "none"))


def _mechanisms() -> Iterator[Fact]:
    """Of roots down to 0, which are raised to 1e-15 of the largest, in any units."""
    draws = np.random.default_rng(3)
    vectors, root = np.linalg.qr(draws.standard_normal((4, 4)))[0], draws.standard_normal((4, 4))
    gram = root @ root.T
    for size in (1e-4, 1.0, 1e4):
        for label, shares in (("of full rank", [1.0, 0.5, 0.25, 0.125]), ("of rank 3", [1.0, 0.5, 0.25, 0.0])):
            roots = size * np.array(shares)
            raised = np.maximum(roots, 1e-15 * size)
            N = (vectors * raised) @ vectors.T
            lengths = np.sqrt(np.diag(N))
            inverse = (vectors / raised) @ vectors.T * np.outer(lengths, lengths)
            where = f"{label}, in units of {size:g}"
            yield Fact(f"value, {where}", dense._primal_value(gram, roots, vectors), np.trace(gram @ inverse), 1e-9)
            C = dense._primal_encoder(roots, vectors)
            yield Fact(f"C^T C, {where}", C.T @ C, N / np.outer(lengths, lengths), 1e-12)
            yield Fact(f"above the diagonal, {where}", np.triu(C, 1), np.zeros((4, 4)), 0)
            sizes = 0.5 * np.log(raised).sum() - np.log(lengths).sum()
            yield Fact(f"log det C, {where}", np.log(np.diag(C)).sum(), sizes, 1e-7)
    for q in (np.full(4, 0.25), np.array([0.1, 0.2, 0.3, 0.4])):
        for size in (1e-6, 1e6):
            stated = np.linalg.svd(np.sqrt(q)[:, None] * size * root, compute_uv=False)
            values, found = dense.singular_values(size**2 * gram, q)
            yield Fact(f"singular values in units of {size:g}, q = {q}", values, stated[::-1], 1e-9)
            again = (found * values**2) @ found.T
            yield Fact(f"their vectors in units of {size:g}", again, size**2 * gram * np.sqrt(np.outer(q, q)), 1e-9)
    flat, _ = dense.singular_values(np.ones((3, 3)), np.full(3, 1 / 3))
    yield Fact("of a matrix of rank 1", flat, [0.0, 0.0, 1.0], 1e-9)
