"""`dpbounds solve iv`: check what is asked, compute the rows, save, draw and print them."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace

from dpbounds import DomainError
from dpbounds.iv.answers import Answer, answer
from verify.cli.console import print_json
from verify.cli.solve.files import check_target, write
from verify.cli.solve.iv.problem import question
from verify.cli.solve.iv.show import show
from verify.store import strict


def run(arguments: Namespace) -> int:
    """A row for each number of steps."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    found = answer(question(arguments), arguments.T or [])
    try:
        _write(arguments, found)
    finally:  # a full disk does not cost the numbers
        print_json(found.rows) if arguments.json else show(found)
    return 0


def _write(arguments: Namespace, found: Answer) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(found.rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.iv.plot").save(arguments.plot, found)
