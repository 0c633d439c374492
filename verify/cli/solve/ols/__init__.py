"""`dpbounds solve ols`."""

import importlib
from argparse import Namespace

from verify.cli.solve.ols.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """A row for each method under each accounting."""
    return importlib.import_module("verify.cli.solve.ols.solving").run(arguments)
