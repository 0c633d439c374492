"""Rows with their certificates in a file, and `dpbounds solve --check`, which proves them again without a solver.

All that is printed is computed again from the certificate. What the file says beside it must follow from that: other
words, numbers that say more than is proved, rows that claim a proof and have none are refused by name. That a nu or a
correlation is the best is not proved, and so not printed: the mechanism is what the noise is, its nu stands under nu.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from dpbounds.circle.balls import allowance
from dpbounds.ftrl.mechanisms import names_of
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise, recertify
from dpbounds.ftrl.strongly_convex.answers import UNPROVED, condition_number, contradiction, least_work
from verify.cli.console import print_json
from verify.cli.files import read, write
from verify.cli.solve.ftrl import methods_check
from verify.cli.solve.ftrl.rows import SIMULATED, Case, Row, row_of, show
from verify.running.store import strict

FORMAT = "dpbounds-bounds/1"
ALLOWED = "a file of bounds that dpbounds saved"
# What the proofs of a file may cost, in the units of `allowance`: about 25 rows with 41 multipliers, ten seconds.
MOST_WORK = 4_000_000
# Columns that are compared otherwise, or are not printed.
FREE = ("seconds", *SIMULATED, "failure", "mechanism")


def knows(file: str) -> bool:
    """Whether it is JSON with bounds of this topic, sound or not."""
    try:
        content = _read(Path(file))
    except DomainError:
        return False
    if not isinstance(content, Mapping):
        return True
    return content.get("format") == FORMAT or "program" in content or methods_check.is_stored(content)


def run(arguments: Namespace) -> int:
    """Prove every bound of the file again and print them; `DomainError` for the first that is not one."""
    path = Path(arguments.check)
    content = _read(path)
    if methods_check.is_stored(content):
        return methods_check.check(path, content, as_json=arguments.json)
    stored = _stored(path)
    proofs = [(f"row {number}", entry) for number, entry in enumerate(stored, 1) if _claims_proof(path, number, entry)]
    if not proofs:
        raise DomainError("check", path, ALLOWED, "it holds no certified bound, only what was saved without --certify")
    if sum(_least_work(entry["certificate"]) for _, entry in proofs) > MOST_WORK:
        held = f"the proofs of {len(proofs)} bounds would take too long; split the file"
        raise DomainError("check", path, "a file of bounds that can be proved in seconds", held)
    with allowance(MOST_WORK):
        rows = [_proved(path, place, entry) for place, entry in proofs]
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
        {**row, "certificate": found.data() if found is not None and found.is_certified else None}
        for row, found in solved
    ]
    rows = strict(rows)
    content = {"format": FORMAT, "checksum": _digest(rows), "rows": rows}
    write("save", file, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def _read(path: Path) -> Any:
    """The JSON of a file, whose keys stand once, whose texts can be printed and whose numbers are finite."""
    text = read("check", str(path), ALLOWED)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise DomainError("check", path, ALLOWED, " ".join(str(error).split())) from None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice")
    for text in (*content, *(value for value in content.values() if isinstance(value, str))):
        if not text.isprintable():
            raise ValueError(f"a control character in {text!a}")
    return content


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _stored(path: Path) -> list[Any]:
    """The rows of a file that `save` wrote; what Python stored, `ConvexBound.data()` or a list of them, likewise."""
    content = _read(path)
    if isinstance(content, Mapping) and content.get("format") == FORMAT:
        rows = content.get("rows")
        if content.get("checksum") != _digest(rows) or not isinstance(rows, list) or len(content) > 3:
            raise DomainError("check", path, ALLOWED, "its content was changed afterwards (checksum)")
    else:
        rows = [{"certificate": data} for data in (content if isinstance(content, list) else [content])]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping) or "certificate" not in row:
            raise DomainError("check", path, ALLOWED, f"row {number} is not a row with its certificate")
    return rows


def _claims_proof(path: Path, number: int, stored: Mapping[str, Any]) -> bool:
    """Whether a row has a proof; a row that has none must say so."""
    if stored["certificate"] is not None:
        return True
    if len(stored) > 1 and stored.get("status") not in UNPROVED:
        said = f"row {number}: status {stored.get('status')!r} without a certificate"
        raise DomainError("check", path, ALLOWED, said)
    return False


def _least_work(data: Any) -> int:
    """What a proof costs at the least; of other data nothing, which are refused later."""
    try:
        return least_work(len(data["multipliers"]))
    except (KeyError, TypeError):
        return 0


def _proved(path: Path, place: str, stored: Mapping[str, Any]) -> Row:
    """The row of one bound, from its certificate; the stored row must follow from it."""
    started = time.perf_counter()
    data = stored["certificate"]
    try:
        found = recertify(data)
        program, noise = found.program, Noise.from_data(data["noise"])
        if program.name == "paper":
            raise DomainError("program", "paper", "f or theta", "the expression as printed bounds nothing")
    except (ValueError, ArithmeticError, TypeError) as error:
        reason = " ".join(f"{place}: {error}".split())  # one line, whatever the file holds
        raise DomainError("check", path, ALLOWED, reason) from None
    names, kappa = names_of(noise.correlation), condition_number(program, stored.get("kappa"))
    case = Case(mechanism=names[0], kappa=kappa, program=program, noise=noise)
    row = row_of(case, found, time.perf_counter() - started)
    if len(stored) > 1:
        _compare(path, place, stored, row, names)
    return row


def _compare(path: Path, place: str, stored: Mapping[str, Any], row: Row, names: Sequence[str]) -> None:
    """Refuse a stored row that says anything else, or more, than the proved one."""
    if not set(row) - set(SIMULATED) <= set(stored) <= {*row, "certificate"}:
        raise DomainError("check", path, ALLOWED, f"{place}: its columns are not those of a row that was saved")
    if stored["mechanism"] not in names:
        said = f"{place}: mechanism {stored['mechanism']!r}, but its noise is that of {' or '.join(names)}"
        raise DomainError("check", path, ALLOWED, said)
    damping = [row["nu"], None] if stored["best_nu"] is None else [None, row["nu"]]
    said = contradiction(stored, row | dict(zip(("nu", "best_nu"), damping, strict=True)), FREE)
    if said:
        raise DomainError("check", path, ALLOWED, f"{place}: {said.replace('best_nu', 'nu')}")


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
