"""`dpbounds solve glm`."""

import importlib
from argparse import Namespace

from verify.cli.solve.glm.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """A row for each estimator under each calibration."""
    return importlib.import_module("verify.cli.solve.glm.solving").run(arguments)
