"""Spectra of the input covariance for `dpbounds solve ftrl`: two eigenvalues, a power law, a list or a file."""

from __future__ import annotations

import io
import math
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import all_moderate
from dpbounds.ftrl import linear_regression as regression
from simulators.tables import number_rows
from verify.cli.files import read_bytes

SOURCES = ("kappa", "decay", "eigenvalues", "spectrum")
# A row of a table of this many takes a few seconds.
MOST_EIGENVALUES = 100_000
ALLOWED = "a file of positive eigenvalues, CSV or text with one number a line, or .npy with a list of floats"
# How NumPy's files begin.
NPY = b"\x93NUMPY"


def spectra(arguments: Namespace, sources: Sequence[str] = SOURCES) -> list[tuple[float, np.ndarray]]:
    """(kappa, eigenvalues) from whichever option describes them; `DomainError` unless exactly one of `sources` does."""
    given = [name for name in sources if getattr(arguments, name) is not None]
    if len(given) != 1:
        shown = " and ".join(f"--{name}" for name in given) or "none"
        raise DomainError("spectrum", shown, f"exactly one of {', '.join(f'--{name}' for name in sources)}")
    (source,) = given
    dimension = _dimension(source, arguments.dimension)
    if source == "kappa":
        found = [_geometric(kappa, dimension) for kappa in arguments.kappa]
    elif source == "decay":
        found = [regression.power_law(dimension, arguments.decay)]
    else:
        found = [arguments.eigenvalues if source == "eigenvalues" else _from_file(arguments.spectrum)]
    checked = [_checked(source, spectrum) for spectrum in found]
    return [(regression.condition_number(spectrum), spectrum) for spectrum in checked]


def _dimension(source: str, given: int | None) -> int:
    """As given; two with --kappa alone, and 0 where the eigenvalues are counted."""
    if source in ("eigenvalues", "spectrum"):
        if given is not None:
            raise DomainError("dimension", given, f"left out with --{source}", "these are counted")
        return 0
    if given is None:
        if source == "decay":
            raise DomainError("dimension", None, "given with --decay", "--d says how many eigenvalues")
        return 2
    if not 1 <= given <= MOST_EIGENVALUES:
        raise DomainError("dimension", given, f"a whole number from 1 to {MOST_EIGENVALUES}")
    return given


def _geometric(kappa: float, dimension: int) -> np.ndarray:
    if kappa > 1 and dimension < 2:
        raise DomainError("dimension", dimension, "at least 2 with --kappa", "one eigenvalue has condition number 1")
    return regression.geometric(dimension, kappa)


def _checked(source: str, values: object) -> np.ndarray:
    spectrum = all_moderate(source if source in ("eigenvalues", "spectrum") else "eigenvalues", values)
    if len(spectrum) > MOST_EIGENVALUES:
        raise DomainError(source, f"{len(spectrum)} numbers", f"at most {MOST_EIGENVALUES}")
    return spectrum


def _from_file(file: str) -> np.ndarray:
    return numbers("spectrum", file, ALLOWED)


def numbers(option: str, file: str, allowed: str) -> np.ndarray:
    """The numbers of a file, CSV or text or .npy; all that is read is bounded. `DomainError` in the option's name."""
    content = read_bytes(option, file, allowed)
    try:
        return _npy(content) if content.startswith(NPY) else _text(content.decode("utf-8-sig"))
    except ValueError as error:
        raise DomainError(option, Path(file), allowed, " ".join(str(error).split())[:200]) from None


def _npy(content: bytes) -> np.ndarray:
    """A list of real numbers in NumPy's format, whose header must agree with the length of the file."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = header(stream)
    if kind.kind not in "iuf" or sum(length != 1 for length in shape) > 1:
        raise ValueError(f"it holds an array of shape {shape} and type {kind}")
    body = content[stream.tell() :]
    if math.prod(shape) * kind.itemsize != len(body):
        raise ValueError("its header does not agree with its length")
    return np.frombuffer(body, kind).astype(float)


def _text(text: str) -> np.ndarray:
    """Numbers in a column or a row."""
    rows = number_rows(text)
    if not rows or min(len(rows), max(map(len, rows))) > 1:
        raise ValueError("it holds no single column or row of numbers")
    return np.array([number for row in rows for number in row])
