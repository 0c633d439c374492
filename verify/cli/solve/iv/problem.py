"""What `dpbounds solve iv` is asked: every argument in its range before anything is computed."""

from __future__ import annotations

import csv
import io
import json
import math
from argparse import Namespace
from dataclasses import fields
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import positive, within
from dpbounds.iv import Constants, Design, Question, Spectrum, experiment_step_sizes, spectrum, theorem_step_limits
from dpbounds.iv.answers import MOST
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.moments import finite_array
from dpbounds.iv.noiseless import StepSizes
from verify.cli.solve.files import read

SIZES = ("rho1", "rho2", "gamma1", "gamma2", "sigma_z", "tau")
MATRIX = "a file with q rows of p numbers, as JSON lists or as CSV without a header"
# Singular values of Theta below this share of the largest are rounding.
LEAST_SHARE = 1e-11


def question(arguments: Namespace) -> Question:
    """`DomainError` names the first argument that is out of its range."""
    _check_sizes(arguments)
    singular_values, basis = _theta(arguments)
    constants = _constants(arguments.constant or [])
    design = Design(
        n=arguments.n,
        p=arguments.p,
        q=arguments.q,
        theta_norm=float(singular_values[0]),
        theta_least=float(singular_values[-1]),
        **{name: getattr(arguments, name) for name in ("sigma_z", "sigma_2", "tau")},
    )
    steps = _step_sizes(arguments, spectrum(design, constants))
    beta = basis @ _beta(arguments, basis)
    return Question(
        design=design,
        population=Isotropic(singular_values=singular_values, beta=beta, q=arguments.q, **steps._asdict()),
        constants=constants,
        **{name: getattr(arguments, name) for name in ("rho1", "rho2", "gamma1", "gamma2", "sigma_1")},
        **{name: getattr(arguments, name) for name in ("delta", "adjacency", "calibration")},
    )


def _check_sizes(arguments: Namespace) -> None:
    p, q = arguments.p, arguments.q
    _whole("p", p, 1)
    _whole("q", q, p, f"p = {p}: 2SLS needs as many instruments as regressors")
    _whole("n", arguments.n, q, f"q = {q}: with fewer records than instruments Z'Z is singular")
    for steps in arguments.T or []:
        _whole("T", steps, 1)
    for name in SIZES:
        value = getattr(arguments, name)
        if value is not None and not (name.startswith("rho") and value == math.inf):
            within(name, value, "[1e-12, 1e12]", "inf stands for no noise" if name.startswith("rho") else "")
    for name in ("sigma_1", "sigma_2"):
        within(name, getattr(arguments, name), "[0, 1e12]")
    within("delta", arguments.delta, "[1e-300, 1)")


def _whole(name: str, value: int, least: int, why: str = "") -> None:
    if not least <= value <= MOST[name]:
        raise DomainError(name, value, f"a whole number from {least} to {MOST[name]}", f"least is {why}" * bool(why))


def _constants(given: list[str]) -> Constants:
    """delta = psi = 0 unless asked otherwise: with unit constants psi exceeds sigma_min in most settings of use."""
    names = [field.name for field in fields(Constants)]
    values = {"concentration": 0.0, "product": 0.0}
    for text in given:
        name, _, number = text.partition("=")
        if name not in names:
            raise DomainError("constant", text, f"NAME=VALUE with NAME one of {', '.join(names)}")
        try:
            value = float(number)
        except ValueError:
            raise DomainError(f"constant {name}", number, "a real number") from None
        values[name] = within(f"constant {name}", value, "[0, 1e12]")
    return Constants(**values)


def _step_sizes(arguments: Namespace, bounds: Spectrum) -> StepSizes:
    """Those given must be in the range of eq. (3), which the theorem asks for."""
    limits = dict(zip(("eta", "alpha"), theorem_step_limits(bounds), strict=True))
    formulas = {"eta": "2 / (1 + delta)²", "alpha": "4 / (2 gamma-upper + gamma-lower)"}
    chosen = experiment_step_sizes(bounds)._asdict()
    for name, limit in limits.items():
        value = getattr(arguments, name)
        if value is not None and not positive(name, value) < limit:
            raise DomainError(name, value, f"below {formulas[name]} = {limit:.6g}", "iv eq. (3)")
        chosen[name] = float(chosen[name] if value is None else value)
    return StepSizes(**chosen)


def _theta(arguments: Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of Theta, largest first, and V' with the right singular vectors as rows."""
    p, given = arguments.p, arguments.singular_values
    if arguments.theta is None:
        values = [1.0] if given is None else [within("singular_values", value, "[1e-12, 1e12]") for value in given]
        if len(values) not in (1, p):
            raise DomainError("singular_values", f"{len(values)} numbers", f"one number or p = {p}")
        values = np.broadcast_to(values, p)
        order = np.argsort(-values, kind="stable")
        return values[order], np.eye(p)[order]
    if given is not None:
        raise DomainError("singular_values", given, "left out with --theta", "the matrix has its own")
    _, values, basis = np.linalg.svd(_matrix(arguments.theta, arguments.q, p), full_matrices=False)
    if not values[-1] > LEAST_SHARE * values[0]:
        found = f"a matrix with least singular value {values[-1]:.3g}"
        raise DomainError("theta", found, f"of rank p = {p}", "each regressor needs an instrument of its own")
    return values, basis


def _matrix(file: str, q: int, p: int) -> np.ndarray:
    """The numbers of the file, all finite and the largest in the range of --singular-values."""
    text = read("theta", file, MATRIX)
    try:
        rows = _json_rows(text) if file.lower().endswith(".json") else _csv_rows(text)
        matrix = finite_array("theta", rows, 2)
    except (ValueError, OverflowError, RecursionError, csv.Error) as error:
        raise DomainError("theta", Path(file), MATRIX, " ".join(str(error).split())) from None
    if matrix.shape != (q, p):
        held = f"it holds {matrix.shape[0]} rows of {matrix.shape[1]}, but q = {q}, p = {p}"
        raise DomainError("theta", Path(file), MATRIX, held)
    within("theta", float(np.abs(matrix).max()), "[1e-12, 1e12]", "the largest entry")
    return matrix


def _json_rows(text: str) -> list[list[float]]:
    rows = json.loads(text)
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError("no list of lists")
    if not all(type(entry) in (int, float) for row in rows for entry in row):
        raise ValueError("an entry is not a number")
    return [[float(entry) for entry in row] for row in rows]


def _csv_rows(text: str) -> list[list[float]]:
    """Empty lines are left out, as at the end of a file."""
    return [[float(entry) for entry in row] for row in csv.reader(io.StringIO(text)) if row]


def _beta(arguments: Namespace, basis: np.ndarray) -> np.ndarray:
    p, given = arguments.p, arguments.beta
    if given is None:
        return basis.T @ np.full(p, 1 / math.sqrt(p))
    if len(given) != p:
        raise DomainError("beta", f"{len(given)} numbers", f"p = {p} numbers")
    return np.array([within(f"beta[{i}]", value, "[-1e12, 1e12]") for i, value in enumerate(given)])
