"""`dpbounds solve iv`."""

import importlib
from argparse import Namespace

from verify.cli.solve.iv.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """A row for each number of steps, or a confidence set."""
    room = "verify.cli.solve.iv.confidence.solving" if arguments.confidence else "verify.cli.solve.iv.solving"
    return importlib.import_module(room).run(arguments)
