"""Pictures that `dpbounds solve` draws: SVG, PDF or PNG, as the file's name says."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.results import Picture

SUFFIXES = (".svg", ".pdf", ".png")
# Inches.
WIDTH = 4.2


def picture_file(file: str) -> str:
    """The name if it ends as a picture's does."""
    if not file.lower().endswith(SUFFIXES):
        raise argparse.ArgumentTypeError(f"{file!r} does not end in {', '.join(SUFFIXES)}")
    return file


def drawn(shown: Picture, suffix: str) -> bytes:
    """The picture in the format that the file name asks for."""
    from reports import standalone

    return standalone.drawn(shown, WIDTH, suffix.removeprefix("."))
