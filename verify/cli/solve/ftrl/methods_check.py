"""`dpbounds solve --check` on bounds of `dpbounds solve ftrl --method`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from dpbounds.ftrl.methods import recheck
from verify.cli.console import print_json, print_table
from verify.cli.solve.ftrl.methods_show import found_row, rounded_row

ALLOWED = "a file of bounds that dpbounds saved"
COLUMNS = ("method", "mechanism", "measure", "kappa", "L", "rho", "lower", "upper", "ratio", "statement", "status")


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
        rows.append({**row, **found_row(found), "seconds": round(time.perf_counter() - started, 3)})
    if as_json:
        print_json(rows)
        return 0
    print_table([rounded_row(row) for row in rows], COLUMNS)
    said = "1 bound" if len(rows) == 1 else f"{len(rows)} bounds"
    print(f"{path}: {said} certified again, from the storage functions alone.")
    return 0
