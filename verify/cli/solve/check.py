"""Rows with their certificates in a file, and `dpbounds solve --check`, which proves them again without a solver."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise, recertify
from verify.cli.console import print_json
from verify.cli.solve.files import write
from verify.cli.solve.strongly_convex_rows import SIMULATED, Case, Row, is_certified, row_of, show
from verify.store import strict

FORMAT = "dpbounds-bounds/1"
ALLOWED = "a file of bounds that dpbounds saved"
# A stored number may differ by this much from the one found again on another machine.
REPRODUCED = 1e-7
# Not compared: the time, a difference that may be all rounding, and what no certificate proves.
FREE = ("seconds", "gap", *SIMULATED, "failure")


def run(arguments: Namespace) -> int:
    """Prove every bound of the file again and print them; `DomainError` for the first that is not one."""
    if arguments.check is None:
        print("dpbounds solve: TOPIC or --check FILE is needed (see dpbounds solve --help)", file=sys.stderr)
        return 2
    path = Path(arguments.check)
    stored = _stored(path)
    rows = [_proved(path, f"row {number}", entry) for number, entry in enumerate(stored, 1) if _claims_proof(entry)]
    if not rows:
        raise DomainError("check", path, ALLOWED, "it holds no certified bound, only what was saved without --certify")
    if arguments.json:
        print_json(rows)
        return 0
    show(rows)
    rest = f"; {len(stored) - len(rows)} rows of the file never had a proof" if len(stored) > len(rows) else ""
    said, whose = ("1 bound", "its") if len(rows) == 1 else (f"{len(rows)} bounds", "their")
    print(f"{path}: {said} certified again, from {whose} multipliers alone{rest}.")
    return 0


def save(file: str, solved: Sequence[tuple[Row, ConvexBound | None]]) -> None:
    """Write the rows, those that are proved with what proves them; the whole file or nothing."""
    rows = [
        {**row, "certificate": found.data() if found is not None and is_certified(found) else None}
        for row, found in solved
    ]
    rows = strict(rows)
    content = {"format": FORMAT, "checksum": _digest(rows), "rows": rows}
    write("save", file, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def _stored(path: Path) -> list[Any]:
    """The rows of a file that `save` wrote; what Python stored, `ConvexBound.data()` or a list of them, likewise."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DomainError("check", path, ALLOWED, str(error)) from None
    if isinstance(content, Mapping) and content.get("format") == FORMAT:
        rows = content.get("rows")
        if content.get("checksum") != _digest(rows) or not isinstance(rows, list):
            raise DomainError("check", path, ALLOWED, "its content was changed afterwards (checksum)")
    else:
        rows = [{"certificate": data} for data in (content if isinstance(content, list) else [content])]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping) or "certificate" not in row:
            raise DomainError("check", path, ALLOWED, f"row {number} is not a row with its certificate")
    return rows


def _claims_proof(stored: Mapping[str, Any]) -> bool:
    return stored["certificate"] is not None or stored.get("status") == "certified"


def _proved(path: Path, place: str, stored: Mapping[str, Any]) -> Row:
    """The row of one bound, from its certificate; the stored row must agree."""
    started = time.perf_counter()
    data = stored["certificate"]
    try:
        with np.errstate(all="ignore"):  # of wrong data; what is proved does not rest on floats
            found = recertify(data)
        program, noise = found.program, Noise.from_data(data["noise"])
        mechanism = stored.get("mechanism", data["noise"]["correlation"]["kind"])
    except (ValueError, ArithmeticError, TypeError) as error:
        reason = " ".join(f"{place}: {error}".split())  # one line, whatever the file holds
        raise DomainError("check", path, ALLOWED, reason) from None
    search = "nu" if stored.get("best_nu") is not None else None
    kappa = program.L / program.mu
    case = Case(mechanism=str(mechanism), kappa=kappa, program=program, noise=noise, search=search)
    row = row_of(case, found, time.perf_counter() - started)
    for name, value in row.items():
        if name in stored and name not in FREE and not _agree(stored[name], value):
            raise DomainError("check", path, ALLOWED, f"{place}: {name} is not what its certificate proves")
    return row


def _agree(stored: Any, proved: Any) -> bool:
    numbers = all(isinstance(value, (int, float)) for value in (stored, proved))
    return math.isclose(stored, proved, rel_tol=REPRODUCED) if numbers else stored == proved


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
