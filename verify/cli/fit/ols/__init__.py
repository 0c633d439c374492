"""`dpbounds fit ols`."""

import importlib
from argparse import Namespace

from verify.cli.fit.ols.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """One release, written to a file and shown."""
    return importlib.import_module("verify.cli.fit.ols.fitting").run(arguments)
