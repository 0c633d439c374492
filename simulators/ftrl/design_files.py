"""Exported designs read from files: what a module that `dpbounds design ftrl --export opacus` wrote begins with.

>>> from dpbounds.ftrl.design import Blt, export
>>> from dpbounds.ftrl.design.exports import archive
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     file = Path(folder) / "noise.npz"
...     size = file.write_bytes(archive(export(Blt((0.5,), (0.25,)), 8, "npz", rho=0.5)))
...     read_design(file).rho
0.5
"""

from __future__ import annotations

from pathlib import Path

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.exports import Export, design_of


@typed
def read_design(path: str | Path) -> Export:
    """The design in a file that `dpbounds design ftrl --export` wrote. Raises `DomainError` for any other file."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise DomainError("design", path, "a file that can be read", " ".join(str(error).split())) from None
    return design_of(content, name=str(path))
