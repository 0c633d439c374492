"""`dpbounds solve ftrl`."""

import importlib
from argparse import Namespace

from verify.cli.solve.ftrl.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """One row per problem, learning rate, budget and mechanism."""
    return importlib.import_module("verify.cli.solve.ftrl.exact").run(arguments)
