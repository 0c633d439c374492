"""Mechanisms of every form that is exported, and how generated modules are loaded."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl.design import Bands, Blt, Export, Objective, ScaledBlt, spectral, unit_columns
from dpbounds.ftrl.design.exports import exported_files

STEPS = 18
BLT = Blt((0.97, 0.8, 0.3), (0.1, 0.15, 0.2))
ROWS = 1.0 + 0.5 * np.linspace(0.0, 1.0, STEPS) ** 2
OBJECTIVE = Objective(np.array([1.0, 0.5, 0.2, 0.1]), STEPS, 0.3)
DESIGNS = {
    "independent": correlations.independent(),
    "BLT": BLT,
    "BLT, unit columns": unit_columns(BLT, STEPS),
    "scaled BLT": ScaledBlt(BLT, STEPS, ROWS),
    "bands": Bands((1.0, 0.5, 0.2)),
    "bands of both signs, unit columns": unit_columns(Bands((2.0, -0.7, 0.3)), STEPS),
    "spectral, unit columns": unit_columns(spectral(OBJECTIVE), STEPS),
    "nu": correlations.nu(0.1),
    "dense bands": correlations.banded(STEPS, 4),
    "dense": correlations.from_matrix(np.tril(0.5 + np.random.default_rng(0).random((STEPS, STEPS)) / 9)),
}


def written(design: Export, path: Path) -> list[Path]:
    """The files of an export, modules first."""
    contents = {Path(name): content for name, content in exported_files(design, str(path)).items()}
    for file, content in contents.items():
        file.write_bytes(content)
    return list(reversed(contents))


def loaded(file: Path) -> ModuleType:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def covariance_scores(noise: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """z-scores of the empirical covariance over steps of `noise` (T, N), N independent Gaussian copies of mean 0.

    An entry has variance (S_tt S_ss + S_ts^2) / N.
    """
    diagonal = np.diag(expected)
    deviation = np.sqrt((np.outer(diagonal, diagonal) + expected**2) / noise.shape[1])
    return (noise @ noise.T / noise.shape[1] - expected) / deviation
