"""The module that is written for jax_privacy, run on dense matrices in place of that library's."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import toeplitz

from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Participation
from dpbounds.ftrl.design.exports import export, exported_files
from verify.checks import Fact, Holds


def _lower(coefficients: np.ndarray, steps: int) -> np.ndarray:
    """The lower triangular Toeplitz matrix of these coefficients."""
    return toeplitz(np.pad(coefficients, (0, max(0, steps - len(coefficients))))[:steps], np.zeros(steps))


def _filters(steps: int) -> dict[str, Any]:
    """Each filter of jax_privacy by its definition, the streaming matrix a dense one."""

    def of(C: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(inverse_as_streaming_matrix=lambda: np.linalg.inv(C))

    def blt(*, buf_decay: list[float], output_scale: list[float], dtype: type) -> SimpleNamespace:
        lags = np.power.outer(np.array(buf_decay, dtype), np.arange(steps - 1))
        return of(_lower(np.concatenate([[1.0], np.array(output_scale, dtype) @ lags]), steps))

    def banded(*, params: np.ndarray) -> SimpleNamespace:
        C = np.zeros((steps, steps))
        for i, k in np.ndindex(params.shape):
            if i + k < steps:
                C[i + k, i] = params[i, k]
        return of(C / np.linalg.norm(C, axis=0))

    def scaled(inverse: np.ndarray, *, row_scale: np.ndarray | None, col_scale: np.ndarray | None) -> np.ndarray:
        rows = np.ones(steps) if row_scale is None else row_scale
        return rows[:, None] * inverse * (1.0 if col_scale is None else col_scale)

    return {
        "buffered_toeplitz": SimpleNamespace(BufferedToeplitz=SimpleNamespace(build=blt)),
        "toeplitz": SimpleNamespace(inverse_as_streaming_matrix=lambda c: np.linalg.inv(_lower(c, steps))),
        "banded": SimpleNamespace(ColumnNormalizedBanded=banded),
        "streaming_matrix": SimpleNamespace(scale_rows_and_columns=scaled),
    }


def jax_module_facts(
    mechanisms: Mapping[str, Correlation], scaled: tuple[str, ...], steps: int
) -> Iterator[Fact | Holds]:
    """The matrix of the module, which has only what it imports; what it says of a record."""
    jax = SimpleNamespace(config=SimpleNamespace(jax_enable_x64=True), ensure_compile_time_eval=nullcontext)
    at_hand = {**_filters(steps), "jax": jax, "jnp": np, "np": np, "Path": Path}
    for name, mechanism in mechanisms.items():
        with tempfile.TemporaryDirectory() as folder:
            written = exported_files(export(mechanism, steps, "jax-privacy", rho=0.3), str(Path(folder) / "noise.py"))
            for file, content in written.items():
                Path(file).write_bytes(content)
            tree = ast.parse(written[str(Path(folder) / "noise.py")])
            imported = {
                alias.asname or alias.name
                for node in tree.body
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            kept: list[ast.stmt] = [
                node
                for node in tree.body
                if isinstance(node, ast.Assign) or (isinstance(node, ast.FunctionDef) and node.name == "noising_matrix")
            ]
            space: dict[str, Any] = {key: one for key, one in at_hand.items() if key in imported}
            space["__file__"] = str(Path(folder) / "noise.py")
            exec(compile(ast.Module(kept, []), "noise.py", "exec"), space)
            yield Fact(f"jax_privacy's module, {name}", space["noising_matrix"](), mechanism.matrix(steps), 1e-12)
            needs = name in scaled or "dense" in name
            yield Holds(
                f"scalings are imported where there are some, {name}", ("streaming_matrix" in imported) is needs
            )
    for participation, often in (
        (Participation.single(), "once at most"),
        (Participation.min_separation(2, 4), "2 times at most, at least 4 steps apart"),
        (Participation.cyclic(2, 5), "2 times at most, exactly 5 steps apart"),
    ):
        design = export(mechanisms["BLT"], 10, "jax-privacy", rho=0.3, participation=participation)
        said = exported_files(design, "noise.py")["noise.py"].decode()
        yield Holds(f"what is said of a record: {often}", f"A record takes part {often}; no Poisson" in said)
