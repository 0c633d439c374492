"""Files that commands read and write: of bounded size, refused before the work, and never half-written."""

from __future__ import annotations

import os
from pathlib import Path

from dpbounds import DomainError
from verify.running.store import write_whole

# Bytes that are read: more than any file of bounds, weights or matrices that can be used.
LARGEST = 4_000_000


def check_folder(option: str, folder: str) -> None:
    """`DomainError` in the name of the option unless files can be written into the folder, which may be a new one."""
    path = Path(folder)
    if "\0" in folder or not os.path.lexists(path):
        check_target(option, folder)
    elif not path.is_dir() or not os.access(path, os.W_OK):
        raise DomainError(option, path, "a folder that can be written")


def check_target(option: str, file: str | None) -> None:
    """`DomainError` in the name of the option unless the file can be written. What is there and is no regular file,
    such as a device, would be replaced by one.
    """
    if file is None:
        return
    path = Path(file)
    if "\0" in file:
        raise DomainError(option, file.replace("\0", "\\0"), "a file that can be written")
    try:
        folder, regular = path.parent.is_dir(), path.is_file() or not path.exists()
    except OSError as error:  # a name that is too long
        raise DomainError(option, path, "a file that can be written", " ".join(str(error).split())) from None
    if not folder:
        raise DomainError(option, path, "a file in a folder that exists")
    if not regular or not all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists()):
        raise DomainError(option, path, "a file that can be written")


def read(option: str, file: str, allowed: str, most: int = LARGEST) -> str:
    """The text of a file of at most so many bytes; `DomainError` in the name of the option says what is `allowed`."""
    try:
        return read_bytes(option, file, allowed, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DomainError(option, Path(file), allowed, " ".join(str(error).split())) from None


def read_bytes(option: str, file: str, allowed: str, most: int = LARGEST) -> bytes:
    """The same without a meaning."""
    try:
        if Path(file).exists() and not Path(file).is_file():
            raise DomainError(option, Path(file), f"{allowed}, a regular file")
        with Path(file).open("rb") as opened:
            content = opened.read(most + 1)
    except DomainError:
        raise
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise DomainError(option, Path(file), allowed, " ".join(str(error).split())) from None
    if len(content) > most:
        raise DomainError(option, Path(file), f"{allowed} of at most {most} bytes")
    return content


def write(option: str, file: str, content: bytes) -> None:
    """Write the whole file, or leave the old one as it was."""
    try:
        write_whole(Path(file).resolve(), content)
    except (OSError, RuntimeError) as error:  # the latter for a link to itself
        said = getattr(error, "strerror", "") or str(error)
        raise DomainError(option, Path(file), "a file that can be written", said) from None
