"""Designs as bytes: a NumPy archive of the arrays and a JSON text with everything else, or one JSON text. No pickles.

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

FORMAT, SAVED = "dpbounds noise design 1", "dpbounds-design/2"
ARRAYS = ("before", "after", "buf_decay", "output_scale", "coefficients")
_VALUES = ("sensitivity", "unscaled_sensitivity")
_NUMBERS = ("event_multiplier", "value", "unscaled_value")
# Left out by files that are older than these.
_SETTINGS = ("batch_size", "clip_norm")
_ALLOWED = "a file written by dpbounds design ftrl --save or --export"


@typed
def archive(export: Export) -> bytes:
    """The archive: arrays under their names, `meta` a JSON text. The same bytes for the same design."""
    meta = {"format": FORMAT, **_described(export)}
    written = io.BytesIO()
    np.savez(written, allow_pickle=False, meta=np.array(json.dumps(meta, sort_keys=True)), **_arrays(export))
    return written.getvalue()


@typed
def saved(export: Export) -> dict[str, Any]:
    """The same as JSON takes it, arrays as lists: what `--save` keeps of the designed noise."""
    return {**_described(export), **{name: array.tolist() for name, array in _arrays(export).items()}}


def _described(export: Export) -> dict[str, Any]:
    """Everything but arrays."""
    stream, participation = export.stream, export.participation
    meta: dict[str, Any] = {
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
    return meta | {name: getattr(export, name) for name in (*_NUMBERS, *_SETTINGS)}


def _arrays(export: Export) -> dict[str, np.ndarray]:
    arrays = {name: getattr(export.stream, name) for name in ARRAYS} | {"learning_rates": export.learning_rates}
    return {name: array for name, array in arrays.items() if array is not None}


@typed
def design_of(content: bytes, *, name: str = "design") -> Export:
    """The design in an archive, or in a file of `--save`; `name` is what an error calls it.

    Raises `DomainError` for any other bytes.
    """
    try:
        meta, found = _saved(content) if content[:1] == b"{" else _archived(content)
        if meta["format"] not in (FORMAT, SAVED):
            raise DomainError("design", name, f'a file of format "{FORMAT}"', f"this one is {meta['format']!r}")
        return Export(
            consumer=meta["consumer"],
            stream=NoiseStream(**{**meta["stream"], **{key: found[key] for key in ARRAYS if key in found}}),
            participation=Participation(**meta["participation"]),
            learning_rates=found.get("learning_rates"),
            **_numbers(meta),
        )
    except DomainError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise DomainError("design", name, _ALLOWED, f"reading it failed: {error}") from None
    except RecursionError:
        raise DomainError("design", name, _ALLOWED, "reading it failed: lists within lists") from None


def _numbers(meta: dict[str, Any]) -> dict[str, Any]:
    values = {key: _value(meta[key]) for key in _VALUES} | {key: meta[key] for key in _NUMBERS}
    return values | {key: meta.get(key) for key in _SETTINGS}


def _archived(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        found = {key: arrays[key] for key in arrays.files}
    return json.loads(str(found["meta"])), found


def _saved(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    whole = json.loads(content)
    meta = {"format": whole["format"], **whole["designed"]}
    known = (*ARRAYS, "learning_rates")
    return meta, {key: np.asarray(meta[key], dtype=float) for key in known if key in meta}


def _value(stored: dict[str, Any]) -> Value:
    return Value(float(stored["number"]), kind=stored["kind"], source=stored["source"])
