"""Exported designs as bytes: a NumPy archive of the arrays, and a JSON text with everything else. No pickles.

>>> from dpbounds.ftrl.design.exports.records import export
>>> from dpbounds.ftrl.design.mechanisms import Blt
>>> written = archive(export(Blt((0.5,), (0.25,)), 8, "npz", rho=0.5))
>>> design_of(written).stream.buf_decay.tolist()
[0.5]
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.exports.records import Export
from dpbounds.ftrl.design.participation import Participation
from dpbounds.ftrl.design.streams import NoiseStream
from dpbounds.values import Value

FORMAT = "dpbounds noise design 1"
ARRAYS = ("before", "after", "buf_decay", "output_scale", "coefficients")
_VALUES = ("sensitivity", "unscaled_sensitivity")
_NUMBERS = ("event_multiplier", "value", "unscaled_value")
# Left out by files that are older than these.
_SETTINGS = ("batch_size", "clip_norm")
_ALLOWED = "a file written by dpbounds design ftrl --export"


@typed
def archive(export: Export) -> bytes:
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
    meta |= {name: getattr(export, name) for name in (*_NUMBERS, *_SETTINGS)}
    arrays = {name: getattr(stream, name) for name in ARRAYS if getattr(stream, name) is not None}
    if export.learning_rates is not None:
        arrays["learning_rates"] = export.learning_rates
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, meta=np.array(json.dumps(meta, sort_keys=True)), **arrays)
    return written.getvalue()


@typed
def design_of(content: bytes, *, name: str = "design") -> Export:
    """The design in an archive; `name` is what an error calls it. Raises `DomainError` for any other bytes."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
        meta = json.loads(str(found["meta"]))
        if meta["format"] != FORMAT:
            raise DomainError("design", name, f'a file of format "{FORMAT}"', f"this one is {meta['format']!r}")
        return Export(
            consumer=meta["consumer"],
            stream=NoiseStream(**meta["stream"], **{key: found[key] for key in ARRAYS if key in found}),
            participation=Participation(**meta["participation"]),
            **{key: _value(meta[key]) for key in _VALUES},
            **{key: meta[key] for key in _NUMBERS},
            **{key: meta.get(key) for key in _SETTINGS},
            learning_rates=found.get("learning_rates"),
        )
    except DomainError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise DomainError("design", name, _ALLOWED, f"reading it failed: {error}") from None


def _value(stored: dict[str, Any]) -> Value:
    return Value(float(stored["number"]), kind=stored["kind"], source=stored["source"])
