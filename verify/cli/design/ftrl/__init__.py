"""`dpbounds design ftrl`."""

import importlib
from argparse import Namespace

from verify.cli.design.ftrl.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """One row per mechanism: for a given run, or with --plan each tuned for itself; or a saved design exported."""
    module = "exported" if arguments.saved is not None else "planned" if arguments.plan else "designed"
    return importlib.import_module(f"verify.cli.design.ftrl.{module}").run(arguments)
