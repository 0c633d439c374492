"""Mechanisms, coefficients and domains from files and words, as the command line takes them.

>>> box = domain_of("4x2,0,1")
>>> box.shape, float(box.high[0]), law_in_words("laplace:2").scale.tolist()
((4, 2), 1.0, [2.0])
"""

from __future__ import annotations

import ast
import importlib.util
import io
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.audit.coefficients import Coefficients, coefficients_of
from dpbounds.audit.laws import NoiseLaw, gaussian, laplace, law_of
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.exports import design_of
from dpbounds.ftrl.design.participation import Participation
from simulators.audit.domains import Box

_PLACE = "FILE.py:NAME, a function run(data, seed) of that file"
_DOMAIN = 'a shape with bounds, such as "4x2,0,1" or "4x2,0,1,integer", or a .npy file with an example data set'
_LAW = '"gaussian", "gaussian:STD", "laplace", "laplace:B", "discrete" or "unknown"'
_ARRAYS = "an export of dpbounds design ftrl, or a .npz with coefficients and noise_multiplier"


@typed
@dataclass(frozen=True)
class InFile:
    """A function of a Python file that is loaded in the process that runs it, and nowhere else."""

    file: Path
    name: str

    def load(self) -> Callable[..., Any]:
        """The function; whatever the file raises."""
        spec = importlib.util.spec_from_file_location("audited", self.file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["audited"] = module
        sys.path.insert(0, str(self.file.parent))
        spec.loader.exec_module(module)
        return getattr(module, self.name)

    def __call__(self, data: Any, seed: int | None) -> Any:
        """One call of the loaded function."""
        return self.load()(data, seed)


@typed
def mechanism_in(place: str) -> InFile:
    """What "FILE.py:NAME" names, parsed but not run. Raises `DomainError` for no file, or one that is not Python."""
    text, _, name = place.rpartition(":")
    file = Path(text)
    if not text or not name.isidentifier() or file.suffix != ".py":
        raise DomainError("mechanism", place, _PLACE)
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise DomainError("mechanism", place, _PLACE, " ".join(str(error).split())) from None
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    bound |= {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    if name not in bound:
        raise DomainError("mechanism", place, _PLACE, f"{file} binds no {name}")
    return InFile(file.resolve(), name)


@typed
def domain_of(words: str) -> Any:
    """A `Box` from "4x2,0,1", or a list with the example in a .npy file. Raises `DomainError` for anything else."""
    if words.endswith(".npy"):
        try:
            return [np.load(words, allow_pickle=False)]
        except (OSError, ValueError, EOFError) as error:
            raise DomainError("domain", words, _DOMAIN, " ".join(str(error).split())) from None
    shape, *rest = words.split(",")
    integer = rest[-1:] == ["integer"]
    try:
        sizes = tuple(int(size) for size in shape.split("x"))
        bounds = [float(bound) for bound in rest[: len(rest) - integer]]
    except ValueError:
        raise DomainError("domain", words, _DOMAIN) from None
    if len(bounds) not in (0, 2):
        raise DomainError("domain", words, _DOMAIN)
    return Box(shape=sizes, integer=integer, **dict(zip(("low", "high"), bounds, strict=False)))  # pyright: ignore


@typed
def law_in_words(words: str) -> NoiseLaw:
    """A law from "gaussian:1.5" and the like. Raises `DomainError` for anything else."""
    family, _, scale = words.partition(":")
    if not scale:
        return law_of(family)
    try:
        number = float(scale)
    except ValueError:
        raise DomainError("law", words, _LAW) from None
    if family not in ("gaussian", "laplace"):
        raise DomainError("law", words, _LAW)
    return gaussian(scale=number) if family == "gaussian" else laplace(number)


@typed
def coefficients_in(content: bytes, name: str) -> tuple[Coefficients, str]:
    """Noise coefficients from the bytes of a file, and the adjacency they are for: an exported design (which says how
    often a record takes part), or arrays `coefficients` and `noise_multiplier`, with `steps`, `times`, `separation`.

    Raises `DomainError` for any other bytes.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DomainError("coefficients", name, _ARRAYS, str(error)) from None
    if "meta" in found:
        design = design_of(content, name=name)
        made = coefficients_of(
            design.stream.encoder(),
            design.stream.steps,
            noise_multiplier=design.noise_multiplier,
            participation=design.participation,
        )
        return made, design.adjacency
    if not {"coefficients", "noise_multiplier"} <= set(found):
        raise DomainError("coefficients", name, _ARRAYS, f"this one has {', '.join(sorted(found)) or 'nothing'}")
    steps = found.get("steps", np.array(len(np.atleast_1d(found["coefficients"]))))
    times, separation = (int(found.get(key, 1)) for key in ("times", "separation"))
    participation = Participation.min_separation(times, separation) if times > 1 else Participation.single()
    made = coefficients_of(
        found["coefficients"],
        int(steps),
        noise_multiplier=float(found["noise_multiplier"]),
        participation=participation,
    )
    return made, ""
