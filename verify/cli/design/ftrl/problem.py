"""The run that `dpbounds design ftrl` is asked about: objective, participation and budget, from the command line."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import count
from dpbounds.ftrl.design import Objective, Participation, learning_rates
from dpbounds.ftrl.design.best import DEFAULT_RHO
from dpbounds.ftrl.design.exports.files import file_names
from dpbounds.ftrl.design.objective import LARGEST_STATE, start_in_equal_parts
from verify.cli.design.ftrl.arguments import FORMATS, SCHEDULES
from verify.cli.files import check_target
from verify.cli.solve.ftrl.spectra import numbers, spectra

SOURCES = ("decay", "eigenvalues", "spectrum")
# Options that belong to one of the two jobs.
RUN = ("steps", "eta", "schedule", "batch_size", "weights", "min_separation", "bound_seconds")
RUN_FLAGS = ("noiseless", "unknown_spectrum", "certify")
PLAN = ("n", "batch_sizes", "schedules", "features", "outcome", "clip_norms", "work")
# What records say, in place of an option.
OF_RECORDS = ("decay", "eigenvalues", "spectrum", "dimension", "initial", "sigma_sgd")
NUMBERS = "a file with one number for each step, CSV or text, or .npy with a list of floats"
# That the designed noise keeps, by default.
BUFFERS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A given run; `schedule` is the name of the learning rates, "file" where they were read."""

    objective: Objective
    participation: Participation
    schedule: str


def check(arguments: Namespace) -> None:
    """Options that do not go together, and files that cannot be written, before anything is computed."""
    strange, kept = (
        ((*RUN, *RUN_FLAGS), "with --plan") if arguments.plan else ((*PLAN, "no_amplification"), "without --plan")
    )
    for name in strange:
        value = getattr(arguments, name)
        if value is not None and value is not False:
            raise DomainError(name, value, f"left out {kept}")
    if arguments.features is not None:
        for name in OF_RECORDS:
            if getattr(arguments, name) not in (None, 0.0):
                raise DomainError(name, getattr(arguments, name), "left out with --features", "the records say it")
    needed = (
        ()
        if arguments.saved is not None
        else ("steps",)
        if not arguments.plan
        else ()
        if arguments.features is not None
        else ("n", "initial")
    )
    for name in needed:
        if getattr(arguments, name) is None:
            raise DomainError(name, None, "given with --plan" if arguments.plan else "given, or else --plan")
    if (arguments.export is None) != (arguments.out is None):
        missing = "out" if arguments.out is None else "export"
        allowed = "a file, with --export" if missing == "out" else f"one of {', '.join(FORMATS)}, with --out"
        raise DomainError(missing, None, allowed)
    _check_files(arguments)


def _check_files(arguments: Namespace) -> None:
    """Names that differ and can be written; beside a module for a library stands its archive."""
    files = [(name, getattr(arguments, name)) for name in ("save", "plot") if getattr(arguments, name) is not None]
    if arguments.out is not None:
        files += [("out", file) for file in file_names(arguments.export, arguments.out)]
    for number, (name, file) in enumerate(files):
        if any(Path(file) == Path(other) for _, other in files[:number]):
            raise DomainError(name, file, "a file of its own", "it is named twice")
        check_target(name, file)


def eigenvalues_of(arguments: Namespace) -> np.ndarray:
    """From whichever option describes them."""
    return spectra(arguments, SOURCES)[0][1]


def start_of(arguments: Namespace, eigenvalues: np.ndarray) -> float:
    """Squared start distance along each eigenvector."""
    return start_in_equal_parts(0.0 if arguments.initial is None else arguments.initial, len(eigenvalues))


def buffers_of(arguments: Namespace, most: int = BUFFERS) -> int:
    """As asked for; else 4, or the `most` that fit."""
    return min(BUFFERS, most) if arguments.buffers is None else count("buffers", arguments.buffers)


def budget_of(arguments: Namespace) -> dict[str, Any]:
    """The budget of the whole run as Python takes it: rho = 1/2 where none is named."""
    rho, epsilon = arguments.rho, arguments.epsilon
    if rho is not None and epsilon is not None:
        raise DomainError("epsilon", epsilon, "left out with --rho", "give one of the two")
    if rho is None and epsilon is None:
        rho = DEFAULT_RHO
    return {"rho": rho, "epsilon": epsilon, "delta": arguments.delta}


def residuals_of(arguments: Namespace) -> float | None:
    """Of sampled gradients, for what is said of momentum: rows know heavy ball with exact ones."""
    sampled = arguments.momentum > 0 and arguments.noiseless and arguments.batch_size is not None
    return arguments.sigma_sgd if sampled else None


def run_of(arguments: Namespace) -> Run:
    """A given run; `DomainError` for whatever does not describe one."""
    eigenvalues = eigenvalues_of(arguments)
    remedy = "merge near eigenvalues, or take fewer steps"
    steps = count("steps", arguments.steps, most=LARGEST_STATE // len(eigenvalues), remedy=remedy)
    schedule, rates = _rates(arguments, steps)
    weights = arguments.objective or "mean"
    if arguments.weights is not None:
        if arguments.objective is not None:
            raise DomainError("weights", arguments.weights, "left out with --objective", "give one of the two")
        weights = numbers("weights", arguments.weights, NUMBERS)
    objective = Objective(
        eigenvalues,
        steps,
        eta=arguments.eta if schedule == "constant" else None,
        schedule=None if schedule == "constant" else rates,
        weights=weights,
        batch_size=1 if arguments.batch_size is None else arguments.batch_size,
        noiseless=arguments.noiseless,
        momentum=arguments.momentum,
        initial=start_of(arguments, eigenvalues),
        sigma_sgd=arguments.sigma_sgd if residuals_of(arguments) is None else 0.0,
    )
    participation = _participation(arguments)
    participation.checked(steps)
    return Run(
        objective=objective,
        participation=participation,
        schedule=schedule,
    )


def _rates(arguments: Namespace, steps: int) -> tuple[str, np.ndarray]:
    name = arguments.schedule or "constant"
    if name in SCHEDULES:
        if arguments.eta is None:
            raise DomainError("eta", None, "given with --steps", "or the learning rates with --schedule FILE")
        return name, learning_rates(name, arguments.eta, steps)
    if arguments.eta is not None:
        allowed = f"one of {', '.join(SCHEDULES)} with --eta"
        raise DomainError("schedule", name, allowed, "a file has the learning rates themselves")
    return "file", numbers("schedule", name, f"one of {', '.join(SCHEDULES)} or {NUMBERS}")


def _participation(arguments: Namespace) -> Participation:
    if len(arguments.epochs) > 1:
        raise DomainError("epochs", arguments.epochs, "one number for a given run", "several are for --plan")
    epochs, separation = count("epochs", arguments.epochs[0]), arguments.min_separation
    if separation is not None:
        if epochs == 1:
            raise DomainError("min_separation", separation, "left out with one epoch", "it is for --epochs K")
        most, remedy = max(arguments.steps // epochs, 1), f"{epochs} epochs have {arguments.steps} steps in all"
        count("min_separation", separation, most=most, remedy=remedy)
    return Participation.of_epochs(epochs, arguments.steps, separation)
