"""`dpbounds solve ftrl --method`: bounds for first-order methods, a row per method, noise and class."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from dpbounds.errors import positive
from dpbounds.ftrl.mechanisms import search_of
from dpbounds.ftrl.methods import LinearMethod, MethodBound, bound_method, check_converges, named_method, recheck
from dpbounds.ftrl.strongly_convex import Noise
from dpbounds.ftrl.strongly_convex.programs import least_curvature
from dpbounds.showing import Side, rounded
from verify.cli.console import print_json, print_table, progress
from verify.cli.files import write
from verify.cli.solve.ftrl.budgets import budgets, sentences
from verify.cli.solve.ftrl.mechanisms import fixed_correlation
from verify.cli.solve.ftrl.show import print_sentences
from verify.running.store import strict

Row = dict[str, Any]

ALLOWED = "a file of bounds that dpbounds saved"
COLUMNS = ("method", "mechanism", "kappa", "eta", "rho", "rate", "lower", "upper", "ratio", "every_noise")
COLUMNS += ("adversarial", "standard_error", "statement", "status", "seconds")
ENDS = ("lower", "upper", "ratio", "every_noise", "rate", "adversarial", "standard_error")
DIGITS = 5
MEASURES = {"f": "F - F*", "distance": "|x - theta*|^2", "gradient": "|grad F|^2"}


def run(arguments: Namespace) -> int:
    """Solve, save and print; 3 if a row could not be computed."""
    cases = list(_cases(arguments))
    rows, found = [], []
    with progress("solve") as show_progress:
        for done, (row, noise, method, options) in enumerate(cases):
            label = f"{row['method']}, {row['mechanism']}, kappa = {row['kappa']:g}, eta = {row['eta']:g}"
            show_progress(done, len(cases), label)
            started = time.perf_counter()
            try:
                bound = bound_method(noise, method, **options)
                row |= _found(bound)
                found.append(bound)
                if arguments.adversarial:
                    row |= _adversary(noise, method, bound)
            except DomainError:  # a range that only the theory knows: exit status 2, not a row that failed
                raise
            except (ValueError, ArithmeticError, MemoryError) as error:
                row |= {"status": "failed", "failure": f"{label}: {error}"}
            rows.append({**row, "seconds": round(time.perf_counter() - started, 3)})
    if arguments.save is not None and found:
        content = [bound.data() for bound in found if bound.is_certified]
        write("save", arguments.save, (json.dumps(strict(content), indent=1, allow_nan=False) + "\n").encode())
    if arguments.json:
        print_json(rows)
    else:
        _show(rows, arguments)
    failures = [row["failure"] for row in rows if row["failure"]]
    for failure in failures:
        print(f"dpbounds: {failure}", file=sys.stderr)
    return 3 if failures else 0


def _cases(arguments: Namespace) -> Iterator[tuple[Row, Noise, LinearMethod, dict[str, Any]]]:
    """What is asked for each row, every argument in its range."""
    if arguments.kappa is None:
        raise DomainError("kappa", None, "given with --method", "mu = L / kappa")
    if arguments.save is not None and not arguments.certify:
        raise DomainError("save", arguments.save, "given with --certify", "only bounds with a proof are saved")
    L = positive("L", 1.0 if arguments.L is None else arguments.L)
    for mechanism in arguments.mechanism:
        if search_of(mechanism, arguments.nu):
            allowed = "sgd, damped-anti-pgd or coefficients with --method"
            raise DomainError("mechanism", mechanism, allowed, "the program needs noise of finite memory")
    asked = itertools.product(arguments.kappa, arguments.eta, budgets(arguments), arguments.method, arguments.mechanism)
    for kappa, eta, budget, name, mechanism in asked:
        mu = least_curvature(L, kappa)
        taken = arguments.momentum if name in ("heavy-ball", "nesterov") else None
        method = named_method(name, eta=eta, mu=mu, momentum=taken).output(arguments.output or "x")
        if arguments.average is not None:
            method = method.averaged(decay=arguments.average)
        check_converges(method, mu, L)
        noise = Noise(
            correlation=fixed_correlation(mechanism, arguments, eta * mu),
            rho=budget.rho,
            d=1 if arguments.dimension is None else arguments.dimension,
            clip_norm=arguments.clip_norm,
            sigma_sgd=arguments.sigma_sgd,
        )
        row = {"method": name, "mechanism": mechanism, "kappa": kappa, "eta": eta, "rho": budget.rho}
        row |= {"measure": arguments.measure or "f", "average": arguments.average, "output": arguments.output or "x"}
        row |= dict.fromkeys((*ENDS, "statement", "status", "failure"))
        options = {"mu": mu, "L": L, "measure": row["measure"], "certify": arguments.certify}
        if arguments.memory is not None:
            options["memory"] = arguments.memory
        yield row, noise, method, options


def _found(bound: MethodBound) -> Row:
    return {
        "lower": float(bound.lower),
        "upper": float(bound.value),
        "ratio": bound.ratio,
        "every_noise": float(bound.lower_every_noise),
        "rate": bound.method.rate(bound.mu, bound.L),
        "statement": bound.statement,
        "status": "certified" if bound.is_certified else "estimate",
    }


def _adversary(noise: Noise, method: LinearMethod, bound: MethodBound) -> Row:
    """The error of the worst loss found, in runs that the search has not seen."""
    search = importlib.import_module("simulators.ftrl").adversarial_method_lower
    found = search(noise, method, mu=bound.mu, L=bound.L, measure=bound.measure)
    return {"adversarial": float(found.value), "standard_error": found.standard_error}


def _show(rows: Sequence[Row], arguments: Namespace) -> None:
    """The table, and below it what its columns are."""
    shown = [_rounded(row) for row in rows]
    hidden = {name for name in ("rho",) if len({row[name] for row in rows}) == 1}
    print_table(shown, [name for name in COLUMNS if name not in hidden and any(row[name] is not None for row in rows)])
    print()
    what = MEASURES[rows[0]["measure"]]
    about = [
        f"lower <= sup of the mean of {what} over mu-strongly convex, L-smooth F, mu = L / kappa, <= upper, for draws "
        "independent of the past. lower: the worst quadratic. ratio: upper / lower.",
        "rate: of the slowest quadratic. every_noise: no noise of the same privacy is below, an estimate.",
        "statement: of the limit of the mean, or of its average over time.",
    ]
    if any(row["adversarial"] is not None for row in rows):
        about.append("adversarial: the largest mean in simulations of losses with piecewise-linear gradients.")
    status = {row["status"] for row in rows}
    if "certified" in status:
        about.append("certified: both proved in fractions; lower is rounded down, upper and ratio up.")
    if "estimate" in status:
        about.append("estimate: floating point, nothing is proved (--certify does).")
    print_sentences([*about, *sentences(list(budgets(arguments)))])


def _rounded(row: Row) -> Row:
    """To the digits of the table, the lower ends downwards, the others upwards."""
    sides: dict[str, Side] = {
        "lower": "lower",
        "every_noise": "lower",
        "upper": "upper",
        "ratio": "upper",
        "rate": "nearest",
        "adversarial": "nearest",
        "standard_error": "nearest",
    }
    return {
        name: rounded(value, sides[name], DIGITS) if name in sides and value is not None else value
        for name, value in row.items()
    }


def is_stored(content: Any) -> bool:
    """Whether the content of a file is bounds of methods, sound or not."""
    entries = content if isinstance(content, list) else [content]
    return bool(entries) and all(isinstance(entry, Mapping) and entry.get("kind") == "storage" for entry in entries)


def check(path: Path, content: Any, *, as_json: bool) -> int:
    """Prove every bound of the file again and print them; `DomainError` for the first that is not one."""
    rows = []
    for number, entry in enumerate(content if isinstance(content, list) else [content], 1):
        started = time.perf_counter()
        try:
            found = recheck(entry)
        except (ValueError, ArithmeticError, TypeError) as error:
            reason = " ".join(f"bound {number}: {error}".split())
            raise DomainError("check", path, ALLOWED, reason) from None
        row = {"method": found.method.name, "mechanism": found.noise.correlation.name, "measure": found.measure}
        row |= {"kappa": found.kappa, "L": found.L, "rho": found.noise.rho}
        rows.append({**row, **_found(found), "seconds": round(time.perf_counter() - started, 3)})
    if as_json:
        print_json(rows)
        return 0
    columns = ("method", "mechanism", "measure", "kappa", "L", "rho", "lower", "upper", "ratio", "statement", "status")
    print_table([_rounded(row) for row in rows], columns)
    said = "1 bound" if len(rows) == 1 else f"{len(rows)} bounds"
    print(f"{path}: {said} certified again, from the storage functions alone.")
    return 0
