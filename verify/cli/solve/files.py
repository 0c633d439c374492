"""Files that `dpbounds solve` writes: refused before the work where they cannot be, and never half-written."""

from __future__ import annotations

import os
from pathlib import Path

from dpbounds import DomainError
from verify.store import write_whole


def check_target(option: str, file: str | None) -> None:
    """`DomainError` in the name of the option unless the file can be written."""
    if file is None:
        return
    path = Path(file)
    if not path.parent.is_dir():
        raise DomainError(option, Path(file), "a file in a folder that exists")
    regular = path.is_file() or not path.exists()
    if not regular or not all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists()):
        raise DomainError(option, Path(file), "a file that can be written")


def write(option: str, file: str, content: bytes) -> None:
    """Write the whole file, or leave the old one as it was."""
    try:
        write_whole(Path(file).resolve(), content)
    except OSError as error:
        raise DomainError(option, Path(file), "a file that can be written", error.strerror or str(error)) from None
