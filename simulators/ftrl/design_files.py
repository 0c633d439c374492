"""Exported designs as files: NumPy archives of the arrays, and a JSON text with everything else. No pickles."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.exports import Export
from dpbounds.ftrl.design.participation import Participation
from dpbounds.ftrl.design.streams import NoiseStream
from dpbounds.values import Value

FORMAT = "dpbounds noise design 1"
ARRAYS = ("before", "after", "buf_decay", "output_scale", "coefficients")
_VALUES = ("sensitivity", "unscaled_sensitivity")
_NUMBERS = ("event_multiplier", "value", "unscaled_value")


@typed
def design_bytes(export: Export) -> bytes:
    """The archive: arrays under their names, `meta` a JSON text. The same bytes for the same design."""
    stream, participation = export.stream, export.participation
    meta: dict[str, Any] = {
        "format": FORMAT,
        "consumer": export.consumer,
        "adjacency": export.adjacency,
        "stream": {"name": stream.name, "steps": stream.steps, "form": stream.form},
        "participation": {
            "kind": participation.kind,
            "times": participation.times,
            "separation": participation.separation,
        },
        "noise_multiplier": export.noise_multiplier,
    }
    for name in _VALUES:
        value = getattr(export, name)
        meta[name] = {"number": float(value), "kind": value.kind, "source": value.source}
    meta |= {name: getattr(export, name) for name in _NUMBERS}
    arrays = {name: getattr(stream, name) for name in ARRAYS if getattr(stream, name) is not None}
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, meta=np.array(json.dumps(meta, sort_keys=True)), **arrays)
    return written.getvalue()


@typed
def read_design(path: str | Path) -> Export:
    """The design in a file that `dpbounds design ftrl --export` wrote. Raises `DomainError` for any other file."""
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
        meta = json.loads(str(content["meta"]))
        if meta["format"] != FORMAT:
            raise DomainError("design", path, f'a file of format "{FORMAT}"', f"this one is {meta['format']!r}")
        stream = NoiseStream(**meta["stream"], **{name: content[name] for name in ARRAYS if name in content})
        export = Export(
            consumer=meta["consumer"],
            stream=stream,
            participation=Participation(**meta["participation"]),
            **{name: _value(meta[name]) for name in _VALUES},
            **{name: meta[name] for name in _NUMBERS},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, DomainError):
            raise
        allowed = "a file written by dpbounds design ftrl --export"
        raise DomainError("design", path, allowed, f"reading it failed: {error}") from None
    return export


def _value(stored: dict[str, Any]) -> Value:
    return Value(float(stored["number"]), kind=stored["kind"], source=stored["source"])
