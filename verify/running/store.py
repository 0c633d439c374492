"""Task results on disk: append-only, keyed by content, safe against a kill at any moment.

A store is a folder. Each run appends JSON lines to a journal of its own shard, so that runs of different shards never
touch the same file; reading joins all journals. The last line of a journal may be cut off by a kill: it is dropped and
computed again. So is a damaged line anywhere else, which is said (`damaged`). A file without a record is none of ours,
and an error.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Mapping
from io import RawIOBase
from pathlib import Path
from typing import Any
from weakref import WeakSet

from dpbounds import DomainError

REMEDY = "move the damaged file away, or choose another folder with --store"
# Bytes of a results file or a journal that are read: far more than all claims at all levels give.
LARGEST = 400_000_000


def key_of(content: Any, code: str) -> str:
    """The key of a task: a hash of what determines its result, including the code that computes it."""
    return _digest(json.dumps([content, code], sort_keys=True))


# How every record begins: with its checksum.
_OPENING = '{"check": "'


class Store:
    """A folder of journals, opened for one run (or one shard of it)."""

    def __init__(self, folder: Path, shard: str = "") -> None:
        """Raise `DomainError` if the folder cannot be written, is damaged, or another run is writing the same
        journal.
        """
        self.folder = folder
        self.damaged: list[str] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.records = self._read()
            self._journal = self._open(folder / f"tasks{shard}.jsonl")
            _STORES.add(self)
        except OSError as error:
            raise DomainError("store", folder, "a folder that can be read and written", str(error)) from None

    def append(self, key: str, result: Mapping[str, Any], seconds: float) -> None:
        """Add one result; on disk when this returns (a crash of the machine may lose the last second)."""
        text = json.dumps({"key": key, "seconds": round(seconds, 4), "result": result}, sort_keys=True)
        line = f'{_OPENING}{_digest(text)}", {text[1:]}\n'.encode()
        try:
            written = self._journal.write(line)
            if written != len(line):
                raise OSError("no space left")
        except OSError as error:
            raise DomainError("store", self.folder, "a folder with room for the results", str(error)) from None
        self.records[key] = json.loads(text)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        """Push the journal to the device and release it."""
        os.fsync(self._journal.fileno())
        self._journal.close()

    def _read(self) -> dict[str, dict[str, Any]]:
        records: dict[str, dict[str, Any]] = {}
        for path in sorted(self.folder.glob("tasks*.jsonl")):
            lines = read_bounded(path).split(b"\n")[:-1]  # what follows the last newline is cut off or empty
            parsed = [_parsed(line) for line in lines]
            broken = [number for number, record in enumerate(parsed, start=1) if record is None]
            if broken and len(broken) == len(parsed) and not any(line.startswith(_OPENING.encode()) for line in lines):
                raise DomainError(f"line {broken[0]} of the store", path, "a record that dpbounds wrote", REMEDY)
            records |= {record["key"]: record for record in parsed if record is not None}
            self.damaged += [f"line {number} of {path} is damaged; what it held is computed again" for number in broken]
        return records

    def _open(self, path: Path) -> RawIOBase:
        """Cut off what a kill left of the last line, then append without a buffer: a line is written whole or not."""
        journal = path.open("ab", buffering=0)
        try:
            _lock(journal, path)
            journal.truncate(path.read_bytes().rfind(b"\n") + 1)
        except BaseException:
            journal.close()
            raise
        return journal


# Those of this process: its copies let go of their journals, whose locks would else outlive it.
_STORES: WeakSet[Store] = WeakSet()


def _let_go() -> None:
    for store in _STORES:
        store._journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def read_bounded(path: Path) -> bytes:
    """The content of a file of at most `LARGEST` bytes; a larger one is an `OSError`, as one that cannot be read."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"larger than {LARGEST} bytes")
    return content


def write_json(path: Path, content: Any) -> None:
    """Write a whole file or leave the old one as it was."""
    try:
        write_whole(path, (json.dumps(strict(content), indent=1, sort_keys=True, allow_nan=False) + "\n").encode())
    except OSError as error:
        raise DomainError("store", path, "a file that can be written", str(error)) from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, or leave the old one as it was: when the disk is full (`OSError`), and when interrupted."""
    partial = path.with_name(f".dpbounds-{os.getpid()}.partial")  # never longer than file names may be
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    """The content of a file, or None if there is no such file; `DomainError` if it is not JSON."""
    try:
        return json.loads(read_bounded(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise DomainError("store", path, "a JSON file that dpbounds wrote", f"{REMEDY} ({error})") from None


def strict(content: Any) -> Any:
    """JSON without the three numbers JSON lacks: they become "inf", "-inf", "nan"."""
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    if isinstance(content, Mapping):
        return {str(key): strict(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [strict(value) for value in content]
    return content


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None if it is not what `append` wrote."""
    try:
        record = json.loads(line)
        check = record.pop("check")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    return record if check == _checksum(record) and {"key", "result", "seconds"} <= set(record) else None


def _checksum(record: Mapping[str, Any]) -> str:
    return _digest(json.dumps(record, sort_keys=True))


def _lock(file: Any, path: Path) -> None:
    """One writer per journal; the system releases the lock when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: the user must not start two runs on one store
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        remedy = "wait for it to end, choose another folder with --store, or split the work with --shard"
        raise DomainError("store", path, "a journal that no other run is writing", remedy) from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
