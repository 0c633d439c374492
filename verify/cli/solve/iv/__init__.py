"""`dpbounds solve iv`."""

import importlib
from argparse import Namespace

from verify.cli.solve.iv.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """A row for each number of steps."""
    return importlib.import_module("verify.cli.solve.iv.solving").run(arguments)
