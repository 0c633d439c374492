"""Running a mechanism in a process that can be ended: time and memory limits, captured output, its own random state.

What comes back are numbers, never objects: the mechanism's process is not trusted with more.

>>> with Runner(lambda data, seed: data.sum() + seed, seconds=20.0) as runner:
...     [float(one.values[0]) for one in runner.run([np.ones(3)], [(0, 1), (0, 2)])]
[4.0, 5.0]
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import multiprocessing
import os
import random
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, positive

# Bytes that a mechanism may take beyond what is there when it starts, and characters kept of what it prints.
MEMORY, PRINTED = 2 << 30, 2000
# Numbers of one output, and how often a process that died is started again.
LARGEST_OUTPUT, MOST_DEATHS = 20_000_000, 2
# Seconds and bytes after which answers are handed over, and calls as long as the others after which one is stuck.
_PAUSE, _FULL, _STUCK = 0.02, 1 << 22, 20
Status = Literal["ran", "raised", "died", "slow"]
# Of what a mechanism may return: kinds of NumPy's types that are numbers or truth values.
_KINDS = "biuf"


@dataclass(frozen=True, eq=False)
class Outcome:
    """One call: `values` flattened, their `shape`, sizes of their `leaves`, `dtype`; or what went wrong, in words."""

    status: Status
    values: np.ndarray | None = None
    shape: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()
    dtype: str = ""
    words: str = ""

    @property
    def ran(self) -> bool:
        """Whether there are values, all finite."""
        return self.values is not None and bool(np.isfinite(self.values).all())

    @property
    def form(self) -> str:
        """What a reader sees without looking at numbers: shape, an error, values that are not finite."""
        if self.values is None:
            return f"{self.status}: {self.words}"
        return f"shape {self.shape}" + ("" if self.ran else ", not finite")


@typed
class Runner:
    """A process that calls `mechanism(data, seed)`, or `mechanism(data)`, until `seconds` have passed since the start.

    Before a seeded call the global states of `random` and `numpy.random` are set from the seed, so that a mechanism
    that draws from them repeats. With seed None neither is: the mechanism runs as shipped. Use as a context. Raises
    `DomainError` for a limit that is not above 0, and where processes cannot be forked or may have no children.
    """

    def __init__(self, mechanism: Callable[..., Any], *, seconds: float, memory: float = MEMORY) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise DomainError("mechanism", mechanism, "run where processes can be forked", "use Linux or WSL")
        if multiprocessing.current_process().daemon:
            raise DomainError("mechanism", mechanism, "run in a process that may have children", "no worker of a Pool")
        self.mechanism, self.memory = mechanism, int(positive("memory", memory))
        self.deadline = time.monotonic() + positive("seconds", seconds)
        self.calls, self.deaths, self.printed = 0, 0, ""
        self.failure = ""
        self._process: Any = None
        self._pipe: Any = None
        self._alone = False
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  closed with the runner

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._output.close()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def usable(self) -> bool:
        """Whether further calls can be made."""
        return self.left > 0 and self.deaths <= MOST_DEATHS

    def run(self, data: Sequence[Any], jobs: Sequence[tuple[int, int | None]], *, until: float = 0.0) -> list[Outcome]:
        """Outcomes of the jobs (number of the data set, seed), in order, as far as time allows.

        Stops early when no more than `until` seconds are left. A job whose process dies or runs out of time is the
        last one but for a new start.
        """
        done: list[Outcome] = []
        while len(done) < len(jobs) and self.left > until and self.usable:
            if self._process is None:
                self._start()
            rest = jobs[len(done) :]
            done += self._batch(data, rest[:1] if self._alone else rest, until)
            if done and done[-1].status in ("died", "slow"):
                self.failure = done[-1].form
        return done

    def _batch(self, data: Sequence[Any], jobs: Sequence[tuple[int, int | None]], until: float) -> list[Outcome]:
        done: list[Outcome] = []
        asked = heard = time.monotonic()
        try:
            self._pipe.send((list(data), list(jobs)))
            while len(done) < len(jobs):
                if not self._pipe.poll(max(0.0, self.left - until)):
                    waited = time.monotonic() - heard
                    self._end()
                    if _stuck(waited, heard - asked, len(done)):
                        done.append(Outcome("slow", words=f"no answer in {waited:.2g} s"))
                    return done
                heard = time.monotonic()
                answers = _decoded(self._pipe.recv_bytes(1 << 31))
                done += answers
                self.calls += len(answers)  # at once: whatever ends the batch, these have come
        except (EOFError, OSError):
            reason = self._reason()
            # Answers not yet handed over are lost with the process: which call ended it is seen one by one.
            self._alone = len(jobs) - len(done) > 1
            if not self._alone:
                self.deaths += 1
                done.append(Outcome("died", words=f"its process ended: {reason}"))
        return done

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        arguments = (other, self._pipe, self.mechanism, self.memory, self._output.fileno())
        self._process = context.Process(target=_serve, args=arguments, daemon=False)
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Threads of this process do not live on in the child, which calls the mechanism alone.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        other.close()

    def _reason(self) -> str:
        self._process.join(1.0)
        code = self._process.exitcode
        self._end()
        if code is not None and code < 0:
            return f"signal {signal.Signals(-code).name}"
        return f"exit status {code}"

    def _end(self) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its own children with it
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()
        self._process = self._pipe = None
        self._output.seek(0)
        said = self._output.read(4 * PRINTED).decode("utf-8", "replace")
        self._output.seek(0)
        self._output.truncate()
        self.printed = (self.printed + said)[:PRINTED]


def _stuck(waited: float, answered: float, number: int) -> bool:
    """Whether time is up within a call that is not like the others, so many answered in so many seconds: else it is up
    between calls.
    """
    return waited > _STUCK * answered / max(number, 1) + 4 * _PAUSE


def _serve(pipe: Any, other: Any, mechanism: Callable[..., Any], memory: int, output: int) -> None:
    """The child: reads jobs, answers each with bytes, until its parent goes away."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    other.close()
    for stream in (1, 2):
        os.dup2(output, stream)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    for name, number in (("stdout", 1), ("stderr", 2)):
        setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(memory)
    warnings.simplefilter("ignore")
    mechanism = _loaded(mechanism)
    seeded = _takes_seed(mechanism)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            data, jobs = pipe.recv()
            answers, since = bytearray(), time.monotonic()
            for number, seed in jobs:
                answer = _called(mechanism, data[number], seed, seeded)
                answers += struct.pack("<Q", len(answer)) + answer
                if time.monotonic() - since > _PAUSE or len(answers) > _FULL:
                    pipe.send_bytes(answers)
                    answers, since = bytearray(), time.monotonic()
                if os.fstat(output).st_size > 4 * PRINTED:
                    os.ftruncate(output, 4 * PRINTED)
                    os.lseek(output, 4 * PRINTED, os.SEEK_SET)
            if answers:
                pipe.send_bytes(answers)
    os._exit(0)


def _loaded(mechanism: Any) -> Callable[..., Any]:
    """The function itself where it stands in a file; one that says so if the file cannot be loaded."""
    if not hasattr(mechanism, "load"):
        return mechanism
    try:
        return mechanism.load()
    except (Exception, SystemExit) as error:  # whatever a stranger's file raises
        problem = error

        def broken(data: Any, seed: Any) -> Any:
            raise problem

        return broken


def _limit(memory: int) -> None:
    import resource

    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        taken = pages * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _called(mechanism: Callable[..., Any], data: Any, seed: int | None, seeded: bool) -> bytes:
    copied = {name: array.copy() for name, array in data.items()} if isinstance(data, Mapping) else data.copy()
    state = None if seed is None else seed % 2**32
    random.seed(state)
    np.random.seed(state)  # noqa: NPY002  the mechanism's global state, not ours
    try:
        return _encoded(mechanism(copied, seed) if seeded else mechanism(copied))
    except (Exception, SystemExit) as error:  # whatever a stranger's code raises is what there is to report
        words = " ".join(str(error).split())[:300]
        return b"e" + f"{type(error).__name__}{': ' if words else ''}{words}".encode()


def _takes_seed(mechanism: Callable[..., Any]) -> bool:
    """Whether there is a second argument to give by position."""
    try:
        parameters = inspect.signature(mechanism).parameters.values()
    except (TypeError, ValueError):
        return True
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    open_ended = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)
    return open_ended or sum(one.kind in kinds for one in parameters) > 1


def _encoded(result: Any) -> bytes:
    """Values, shape, leaves and type; the mechanism's own words if it returns something else than numbers."""
    leaves = list(result.values()) if isinstance(result, Mapping) else result
    if isinstance(leaves, (list, tuple)) and leaves and all(np.ndim(leaf) > 0 for leaf in leaves):
        arrays = [np.asarray(leaf) for leaf in leaves]
    else:
        arrays = [np.asarray(leaves)]
    for array in arrays:
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"it returns {type(result).__name__}, not numbers")
    if sum(array.size for array in arrays) > LARGEST_OUTPUT:
        raise ValueError(f"it returns more than {LARGEST_OUTPUT} numbers")
    header = _header(tuple(array.shape for array in arrays), tuple(array.dtype for array in arrays))
    bodies = [array.astype(float, order="C", copy=False).tobytes() for array in arrays]
    return b"".join([b"a", struct.pack("<I", len(header)), header, *bodies])


@lru_cache(maxsize=8)
def _header(shapes: tuple[tuple[int, ...], ...], dtypes: tuple[np.dtype, ...]) -> bytes:
    narrow = next((dtype.name for dtype in dtypes if dtype.itemsize < 8 and dtype.kind == "f"), "")
    header = {
        "shape": [list(shape) for shape in shapes] if len(shapes) > 1 else list(next(iter(shapes), ())),
        "leaves": [math.prod(shape) for shape in shapes],
        "dtype": narrow or dtypes[0].name,
    }
    return json.dumps(header).encode()


def _decoded(message: bytes) -> list[Outcome]:
    found, at = [], 0
    while at < len(message):
        (length,) = struct.unpack_from("<Q", message, at)
        found.append(_outcome(message[at + 8 : at + 8 + length]))
        at += 8 + length
    return found


def _outcome(answer: bytes) -> Outcome:
    if answer[:1] == b"e":
        return Outcome("raised", words=answer[1:].decode("utf-8", "replace"))
    (length,) = struct.unpack_from("<I", answer, 1)
    header = json.loads(answer[5 : 5 + length])
    values = np.frombuffer(answer[5 + length :], dtype=float)
    shape = tuple(tuple(one) if isinstance(one, list) else int(one) for one in header["shape"])
    return Outcome("ran", values, shape, tuple(header["leaves"]), header["dtype"])  # pyright: ignore[reportArgumentType]
