"""`dpbounds fit glm`."""

import importlib
from argparse import Namespace

from verify.cli.fit.glm.arguments import add_arguments

__all__ = ["add_arguments", "run"]


def run(arguments: Namespace) -> int:
    """Messages from records, or a model from messages."""
    return importlib.import_module("verify.cli.fit.glm.fitting").run(arguments)
