"""`dpbounds solve iv --confidence`: a private estimate with a confidence set that holds."""

from verify.cli.solve.iv.confidence.arguments import add_arguments

__all__ = ["add_arguments"]
