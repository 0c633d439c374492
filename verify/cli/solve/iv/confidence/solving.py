"""`dpbounds solve iv --confidence`: check what is asked, release, draw, save and print."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from typing import Any

from dpbounds import DomainError
from verify.cli.console import print_json
from verify.cli.solve.files import check_target, write
from verify.cli.solve.iv.confidence import asked as questions
from verify.running.store import strict

Row = dict[str, Any]


def run(arguments: Namespace) -> int:
    """A release and its set with --csv, what to expect without."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    found = questions.asked(arguments)
    if arguments.csv is None:
        return importlib.import_module("verify.cli.solve.iv.confidence.planning").run(arguments, found)
    for name in ("n", "deviation"):
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out with --csv")
    rooms = {name: importlib.import_module(f"verify.cli.solve.iv.confidence.{name}") for name in ("noise", "records")}
    noise = rooms["noise"].source(found)
    records = rooms["records"].load(found, arguments.csv, drop_missing=arguments.drop_missing)
    if found.design == "s":
        return importlib.import_module("verify.cli.solve.iv.confidence.signs").run(arguments, found, records, noise)
    return _moments(arguments, found, records, noise)


def _moments(arguments: Namespace, found: questions.Asked, records: Any, noise: Any) -> int:
    rooms = {name: importlib.import_module(f"verify.cli.solve.iv.confidence.{name}") for name in _ROOMS}
    released = rooms["releasing"].release(found, records, noise)
    row = rooms["answers"].answer(found, records, released)
    try:
        if arguments.plot is not None:
            rooms["plot"].save(arguments.plot, found, released, row)
        finish(arguments, [row])
    finally:  # a full disk does not cost the budget that was spent
        print_json([row]) if arguments.json else rooms["show"].show(found, records, released, row)
    return 0


def finish(arguments: Namespace, rows: list[Row]) -> None:
    """The rows as a file."""
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())


_ROOMS = ("releasing", "answers", "plot", "show")
