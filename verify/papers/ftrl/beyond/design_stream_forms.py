"""Noise as what draws it: recursions in buffers, in bands or in all draws; bands of dense matrices; what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpbounds.ftrl.correlations import Correlation, tree_aggregation
from dpbounds.ftrl.correlations.matrices import MatrixCorrelation
from dpbounds.ftrl.design import Bands, Blt, ScaledToeplitz
from dpbounds.ftrl.design.streams import NoiseStream, StateSpace, noise_stream, state_space
from verify.checks import Fact, Holds, refused, taken


def stream_forms(mechanisms: Mapping[str, Correlation], scaled: tuple[str, ...], T: int) -> Iterator[Fact | Holds]:
    """Recursions draw B w, in as few numbers as they can."""
    few, many = (Bands((2.0, *(-0.3 / (k + 1) for k in range(b - 1)))) for b in (T // 2, T // 2 + 1))
    rows = 2.0 - np.linspace(0.0, 1.0, T) ** 2
    more = {"few bands": few, "few bands, scaled": ScaledToeplitz(few, T, rows), "many bands": many}
    sizes = {"BLT": 3, "BLT with unit columns": 3, "scaled BLT": 3, "bands": 2, "bands, scaled": 2}
    sizes |= {"few bands": T // 2 - 1, "few bands, scaled": T // 2 - 1}
    for name, mechanism in {**mechanisms, **more}.items():
        space = state_space(mechanism, T)
        yield Fact(f"the recursion, {name}", _run(space), mechanism.matrix(T), 1e-12)
        yield Fact(f"numbers that it keeps, {name}", space.size, sizes.get(name, T), 0)
        yield Holds(f"whether they move by themselves, {name}", (space.transition is not None) == (name in sizes))
        states = np.arange(2.0 * space.size).reshape(space.size, 2)
        moved = states if space.transition is None else space.transition @ states
        yield Fact(f"states of several coordinates, {name}", space.advanced(states), moved)
        if name in scaled:
            yield refused(f"fewer steps, {name}", "steps", lambda mechanism=mechanism: noise_stream(mechanism, T - 1))
    yield from _dense(T)
    yield from _given()


def _run(space: StateSpace) -> np.ndarray:
    """The noise of unit impulses, step by step."""
    T = len(space.own)
    state, noise = np.zeros((space.size, T)), np.zeros((T, T))
    for t, draw in enumerate(np.eye(T)):
        noise[t] = space.own[t] * draw + space.read[t] @ state
        state = (state if space.transition is None else space.transition @ state) + np.outer(space.write[t], draw)
    return noise


def _matrix(C: np.ndarray) -> MatrixCorrelation:
    return MatrixCorrelation("given", len(C), np.linalg.inv(C), C)


def _dense(T: int) -> Iterator[Fact | Holds]:
    """Entries of 1e-14 of the largest are rounding, in any units; above the diagonal nothing else may stand."""
    for size in (1e-4, 1.0, 1e4):
        C = size * (np.eye(T) + 0.5 * np.eye(T, k=-1))
        for share, bands in ((0.5e-14, 2), (2e-14, 4)):
            C[5, 2] = share * size
            stream = noise_stream(_matrix(C), T)
            yield Fact(f"bands, {share:g} of entries of {size:g}", stream.bands, bands, 0)
            yield Fact(f"C, {share:g} of entries of {size:g}", stream.encoder(), C, 1e-14)
        for share in (0.5e-14, 2e-14):
            above, decoder = np.eye(T) * size, np.eye(T) / size
            above[3, 4], decoder[3, 4] = -share * size, share / size
            one = MatrixCorrelation("given", T, decoder, above)
            calls = {"stream": lambda one=one: noise_stream(one, T), "recursion": lambda one=one: state_space(one, T)}
            for kind, call in calls.items():
                label = f"a {kind} with {share:g} of {size:g} above the diagonal"
                yield taken(label, call) if share < 1e-14 else refused(label, "correlation", call)
    yield refused("a stream of several draws a step", "correlation", lambda: noise_stream(tree_aggregation(4), 4))
    yield refused("a recursion of several draws a step", "correlation", lambda: state_space(tree_aggregation(4), 4))
    wide = noise_stream(Blt((0.5,), (0.25,)), 4097)
    yield refused("a dense matrix of 4097 steps", "steps", wide.encoder)


def _given() -> Iterator[Fact | Holds]:
    """Parts of a stream that fit one another, and those that do not."""
    ones, two = np.ones(3), np.array([0.5, 0.25])
    parts: dict[str, Any] = {"name": "one", "steps": 3, "form": "toeplitz", "before": ones, "after": ones}
    plain = NoiseStream(**parts, coefficients=two)
    rows = np.array([[1.0, 0.5], [2.0, 0.25], [4.0, 8.0]])
    columns = NoiseStream(**{**parts, "form": "columns"}, coefficients=rows)
    blt = NoiseStream(**{**parts, "form": "blt"}, buf_decay=two, output_scale=two)
    yield Fact("C of columns", columns.encoder(), [[1.0, 0, 0], [0.5, 2.0, 0], [0, 0.25, 4.0]], 0)
    yield Fact("C of coefficients", plain.encoder(), [[0.5, 0, 0], [0.25, 0.5, 0], [0, 0.25, 0.5]], 0)
    yield Fact("coefficients of decays", blt.toeplitz_coefficients(), [1.0, 0.75, 0.3125])
    yield Fact(
        "arrays and bands", [(one.buffers, one.bands) for one in (plain, columns, blt)], [(1, 2), (1, 2), (2, 3)], 0
    )
    for name in ("before", "after"):
        yield Holds(
            f"a scaling {name}", replace(plain, **{name: np.array([1.0, 1.0, 2.0])}).scaled and not plain.scaled
        )
        for label, scale in (("0", [1.0, 0.0, 1.0]), ("infinite", [1.0, np.inf, 1.0]), ("short", [1.0, 1.0])):
            given = {name: np.array(scale)}
            yield refused(f"a scaling {name} that is {label}", name, lambda given=given: replace(plain, **given))
    yield refused("Toeplitz coefficients of columns", "form", columns.toeplitz_coefficients)
    for label, parameter, given in (
        ("another form", "form", {"form": "dense"}),
        ("no coefficients", "form", {"coefficients": None}),
        ("decays beside them", "form", {"buf_decay": two, "output_scale": two}),
        ("coefficients for a BLT", "form", {"form": "blt"}),
        ("rows of coefficients", "coefficients", {"coefficients": rows}),
        ("no rows of them", "coefficients", {"form": "columns"}),
        ("two rows of three", "coefficients", {"form": "columns", "coefficients": rows[:2]}),
        ("none of them", "coefficients", {"coefficients": np.zeros(0)}),
        ("0 on the diagonal", "coefficients", {"coefficients": np.array([0.0, 1.0])}),
        ("infinite ones", "coefficients", {"coefficients": np.array([1.0, np.inf])}),
    ):
        yield refused(label, parameter, lambda given=given: replace(plain, **given))
    yield refused("a scale more than decays", "output_scale", lambda: replace(blt, output_scale=np.append(two, 0.1)))
    yield refused("decays without scales", "form", lambda: replace(blt, output_scale=None))
