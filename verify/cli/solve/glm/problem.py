"""What `dpbounds solve glm` is asked, every argument in its range."""

from __future__ import annotations

import csv
import math
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import count, positive, within
from dpbounds.glm import LINKS, scale
from dpbounds.glm.answers import Question
from verify.cli.solve.files import read

MOST_P, MOST_ENTRIES, MOST_BYTES = 500, 10**8, 10**9
MATRIX = "a file with p lines of p numbers, separated by commas or spaces"
RECORDS = "a CSV file with a header and a column of numbers for each coordinate"


@dataclass(frozen=True, kw_only=True)
class Design:
    """Sigma, the number of public records if a file says it, what was assumed or read off."""

    covariance: np.ndarray
    m: int | None
    said: str
    longest: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The question, and what was assumed for it; `clipped`: bounds of the user's own, that records may exceed."""

    question: Question
    said: tuple[str, ...]
    clipped: bool


def asked(arguments: Namespace) -> Asked:
    """`DomainError` names the first argument that is out of its range."""
    link = LINKS[arguments.link]
    design = _design(arguments)
    p = len(design.covariance)
    n = count("n", arguments.n, p + 1, f"more records than coordinates, p = {p}")
    delta = n**-1.1 if arguments.delta is None else within("delta", arguments.delta, "[1e-290, 1)")
    if arguments.target is not None:
        within("target", arguments.target, "(0, 1]")
    radius = design.longest if arguments.radius is None else positive("radius", arguments.radius)
    if radius < design.longest and arguments.beyond == "refuse":
        remedy = "--beyond clip shortens the records that exceed it"
        raise DomainError("radius", radius, f"at least {design.longest:.6g}, what the public records reach", remedy)
    w, size = _weights(arguments, design.covariance)
    question = Question(
        link=link,
        w=w,
        covariance=design.covariance,
        n=n,
        m=_public(arguments, design, n),
        epsilon=positive("epsilon", arguments.epsilon),
        delta=delta,
        failure=arguments.failure,
        noise=arguments.noise,
        radius=arguments.radius,
        label_bound=arguments.label_bound,
    )
    _refuse_small_label_bound(question)
    own = [name for name in ("radius", "label_bound") if getattr(arguments, name) is not None]
    said = [f"Assumed: x Gaussian, {design.said}; w* in equal parts, {size}."]
    if own:
        said.append(
            f"The prediction leaves out what clipping to {' and '.join(own)} does to the records; --simulate clips."
        )
    return Asked(question=question, said=tuple(said), clipped=bool(own))


def _refuse_small_label_bound(question: Question) -> None:
    """Labels 0 and 1 fit no bound below 1."""
    if question.label_bound is not None and question.link.labels != "real" and question.label_bound < 1:
        allowed = "at least 1"
        raise DomainError(
            "label_bound", question.label_bound, allowed, f"labels of the {question.link.name} link reach it"
        )


def _public(arguments: Namespace, design: Design, n: int) -> int:
    if design.m is not None:
        if arguments.m is not None and arguments.m != design.m:
            raise DomainError("m", arguments.m, f"{design.m} or left out", "the file of --public says it")
        return design.m
    return n if arguments.m is None else count("m", arguments.m, 0)


def _weights(arguments: Namespace, covariance: np.ndarray) -> tuple[np.ndarray, str]:
    """w* in equal parts, of the size that is given one way or the other."""
    direction = np.full(len(covariance), 1.0 / math.sqrt(len(covariance)))
    if arguments.ols_size is None:
        size = positive("w_norm", 1.0 if arguments.w_norm is None else arguments.w_norm)
        return size * direction, f"||w*|| = {size:g}"
    if arguments.w_norm is not None:
        raise DomainError("ols_size", arguments.ols_size, "left out with --w-norm", "either says how large w* is")
    try:
        t = abs(scale.inverse(arguments.link, arguments.ols_size))
    except DomainError as error:
        raise DomainError("ols_size", error.value, error.allowed, error.remedy) from None
    w = t / math.sqrt(float(direction @ covariance @ direction)) * direction
    return w, f"||w*|| = {float(np.linalg.norm(w)):.6g} as |Sigma^1/2 w_ols| = {arguments.ols_size:g}"


# --- covariances ---


def _design(arguments: Namespace) -> Design:
    files = [name for name in ("covariance", "public") if getattr(arguments, name) is not None]
    if len(files) == 2:
        raise DomainError("covariance", arguments.covariance, "left out with --public", "its records say it")
    if files:
        if arguments.variance is not None:
            raise DomainError("variance", arguments.variance, f"left out with --{files[0]}", "the file says it")
        found = _from_file(arguments.covariance) if files == ["covariance"] else _from_records(arguments.public)
        if arguments.p is not None and arguments.p != len(found.covariance):
            raise DomainError(
                "p", arguments.p, f"{len(found.covariance)} or left out", f"the file of --{files[0]} says it"
            )
        return found
    if arguments.p is None:
        raise DomainError("p", None, "given without --covariance and --public")
    p = count("p", arguments.p, most=MOST_P)
    variance = positive("variance", 1.0 if arguments.variance is None else arguments.variance)
    return Design(covariance=variance * np.eye(p), m=None, said=f"of covariance {variance:g} I")


def _from_file(file: str) -> Design:
    lines = [line.replace(",", " ").split() for line in read("covariance", file, MATRIX).splitlines() if line.strip()]
    try:
        matrix = np.array([[float(part) for part in line] for line in lines])
    except ValueError as error:
        raise DomainError("covariance", Path(file), MATRIX, " ".join(str(error).split())) from None
    if len(lines) > MOST_P:
        raise DomainError("covariance", f"{len(lines)} lines", f"at most {MOST_P}")
    matrix = scale.positive_definite("covariance", matrix)
    return Design(covariance=(matrix + matrix.T) / 2, m=None, said=f"of the covariance in {Path(file).name}")


def _from_records(file: str) -> Design:
    """Sigma_m = mean of x x^T, as the paper has it; x has mean 0."""
    rows = _records(file)
    m, p = rows.shape
    if m < p:
        raise DomainError("m", m, f"at least p = {p}", "fewer public records have a singular covariance")
    matrix = scale.positive_definite("covariance of --public", rows.T @ rows / m)
    said = f"of the second moments of the {m} records in {Path(file).name}"
    return Design(covariance=matrix, m=m, said=said, longest=float(np.linalg.norm(rows, axis=1).max()))


def _records(file: str) -> np.ndarray:
    rows: list[list[float]] = []
    try:
        if Path(file).stat().st_size > MOST_BYTES:
            raise DomainError("public", Path(file), f"{RECORDS}, of at most {MOST_BYTES} bytes")
        with Path(file).open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.reader(opened, strict=True)
            names = [name.strip() for name in next(reader, [])]
            if not 0 < len(names) <= MOST_P:
                raise DomainError("public", f"{len(names)} columns", f"from 1 to {MOST_P}")
            for line in reader:
                if line:
                    rows.append(_numbers(line, names, reader.line_num))
                if len(rows) * len(names) > MOST_ENTRIES:
                    raise DomainError("public", Path(file), f"at most {MOST_ENTRIES // len(names)} records")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DomainError("public", Path(file), RECORDS, " ".join(str(error).split())) from None
    except ValueError as error:  # a name with a null byte
        if isinstance(error, DomainError):
            raise
        raise DomainError("public", file.replace("\0", "\\0"), RECORDS) from None
    if not rows:
        raise DomainError("public", Path(file), "a CSV file with records", "it has none")
    return np.array(rows)


def _numbers(line: list[str], names: list[str], number: int) -> list[float]:
    if len(line) != len(names):
        raise DomainError(f"line {number} of --public", f"{len(line)} values", f"one for each of {len(names)} columns")
    values = []
    for text, name in zip(line, names, strict=True):
        try:
            values.append(float(text))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            remedy = "leave out records with missing values, code text as numbers"
            raise DomainError(
                f"column {name}, line {number} of --public", text.strip() or "nothing", "a number", remedy
            )
    return values
