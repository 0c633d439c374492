"""`dpbounds solve --check FILE`: bounds of a saved file, proved again by the topic that wrote it."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace

from dpbounds import DomainError
from verify.statements.topics import topics


def run(arguments: Namespace) -> int:
    """The first topic that knows the file checks it; a file that none knows is refused by the first that checks."""
    if arguments.check is None:
        print("dpbounds solve: TOPIC or --check FILE is needed (see dpbounds solve --help)", file=sys.stderr)
        return 2
    checkers = [importlib.import_module(topic.check) for topic in topics().values() if topic.check]
    if not checkers:
        raise DomainError("check", arguments.check, "left out", "no topic saves bounds with their proofs")
    known = [checker for checker in checkers if checker.knows(arguments.check)]
    return (known or checkers)[0].run(arguments)
