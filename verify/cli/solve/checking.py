"""`dpbounds solve --check FILE`: bounds of a saved file, proved again by the topic that wrote it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType

from dpbounds import DomainError
from verify.running.registry import module_of, topics


def run(arguments: Namespace) -> int:
    """The first topic that knows the file checks it; a file that none knows is refused by the first that checks."""
    if arguments.check is None:
        print("dpbounds solve: TOPIC or --check FILE is needed (see dpbounds solve --help)", file=sys.stderr)
        return 2
    checkers = list(_checkers())
    if not checkers:
        raise DomainError("check", arguments.check, "left out", "no topic saves bounds with their proofs")
    known = [checker for checker in checkers if checker.knows(arguments.check)]
    return (known or checkers)[0].run(arguments)


def _checkers() -> Iterator[ModuleType]:
    for topic in topics().values():
        if topic.check:
            with suppress(DomainError):  # of a package that cannot be loaded, which is said in the end
                yield module_of(topic, "check")
