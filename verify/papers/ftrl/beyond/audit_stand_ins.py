"""Beyond the paper: objects of optax and Opacus as functions of gradients, with NumPy in the place of JAX and torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpbounds.audit import adapters
from verify.checks import Fact, Holds, refused


@contextmanager
def _modules(**modules: Any) -> Iterator[None]:
    """With these in the places of modules, dots written as two underscores; what was there comes back."""
    named = {name.replace("__", "."): module for name, module in modules.items()}
    held = {name: sys.modules.get(name) for name in named}
    sys.modules |= named
    try:
        yield
    finally:
        for name, module in held.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


def transformations(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Steps of an optax transformation, and the seeds that it is made with."""
    seeds: list[int] = []

    class Sums:
        def __init__(self, seed: int) -> None:
            self.seed = seed
            seeds.append(seed)

        def init(self, parameters: Any) -> Any:
            return parameters + self.seed

        def update(self, row: Any, state: Any) -> tuple[Any, Any]:
            return state + row, state + row

    with _modules(jax=SimpleNamespace(numpy=np), jax__numpy=np):
        rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, -4.0]])
        found = adapters.transformation(Sums, norm=2.0)(rows, 5)
        yield Fact("steps of a transformation, clipped", found, [[6.2, 6.6], [6.5, 7.0], [6.5, 5.0]])
        seeds.clear()
        for _ in range(40):
            adapters.transformation(Sums)(rows, None)
        yield Holds("seeds that are drawn lie below 2^31, and reach far", 2**26 < max(seeds) < 2**31)


class _Parameter:
    """As much of a torch parameter as a step touches; its gradient is set by the optimiser's `pre_step`."""

    def __init__(self, *shape: int, requires_grad: bool = True) -> None:
        self.shape, self.dtype, self.requires_grad = shape, "float32", requires_grad
        self.grad_sample, self.grad = np.zeros(0), SimpleNamespace()

    def numel(self) -> int:
        return int(np.prod(self.shape))


def optimizers(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """A step of an optimiser: each parameter has its own columns of each record."""
    told: dict[str, Any] = {}

    class Optimizer:
        def __init__(self, records: int) -> None:
            told["records"] = records
            self.params = [_Parameter(2, 3), _Parameter(4, requires_grad=False), _Parameter(1), _Parameter(2, 1)]

        def pre_step(self) -> None:
            for k, one in enumerate(self.params):
                if one.requires_grad:
                    assert one.grad_sample.dtype == "float32" and one.grad_sample.shape[1:] == one.shape
                    total = (k + 2) * one.grad_sample.sum(axis=0)
                    one.grad = SimpleNamespace(detach=lambda total=total: SimpleNamespace(numpy=lambda: total))

    torch = SimpleNamespace(
        set_num_threads=lambda number: told.update(threads=number),
        seed=lambda: told.update(seed=None),
        manual_seed=lambda seed: told.update(seed=seed),
        as_tensor=lambda part, dtype: np.asarray(part, dtype=dtype),
    )
    with _modules(torch=torch):
        rows = np.arange(2.0 * 9).reshape(2, 9) ** 2 - 50
        run = adapters.optimizer(Optimizer)
        sums = rows.sum(axis=0)
        for seed in (7, None):
            leaves = run(rows, seed)
            yield Fact(
                "a step's gradients", np.concatenate(leaves), [*(2 * sums[:6]), 4 * sums[6], *(5 * sums[7:])], 1e-6
            )
            yield Holds("a leaf for each that is trained", [len(leaf) for leaf in leaves] == [6, 1, 2])
            yield Holds("its records, threads and seed", told == {"records": 2, "threads": 1, "seed": seed})
        yield refused("a row of another length", "data", lambda: run(rows[:, :8], 7))
        yield refused("one record without its axis", "data", lambda: run(rows[0], 7))
