"""The court that `mutants` go before: claims at quick level, in copies of this process in which a function is mistaken.

A copy has imported everything before the mistake is made, and exchanges the code of the functions that have it: what a
module computes while it is imported stays as it was.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

from threadpoolctl import threadpool_limits

from verify.running.executor import Serial
from verify.running.registry import claim_named
from verify.running.runner import Run
from verify.running.store import Store
from verify.statements.claims import Claim

# What a copy may take, in bytes: a mistake can ask for all there is.
MEMORY = 8 << 30
# Seconds between looks at which copy has ended.
LOOK_EVERY = 0.01
# How a copy ends in which there was nothing to exchange.
UNCHANGED = 2


@dataclass(frozen=True)
class Trial:
    """A file as it is with a mistake, the claims that judge it in this order, and for how many seconds at most."""

    name: str
    file: Path
    source: bytes
    claims: Sequence[str]
    patience: float


def changed(claim: Claim, folder: Path, *, seed: int = 0) -> str:
    """What changed, or "" for nothing: another word, or a computation that failed."""
    with Store(folder) as store:
        run = Run([claim], level="quick", seed=seed, store=store)
        run.compute(Serial(), resume=False)
        (decided,) = run.decide()
    if decided.failure:
        return decided.failure.strip().splitlines()[-1]
    return f"{decided.verdict.word}, reviewed was {claim.reviewed}" if decided.changed else ""


def load(root: Path, layers: Sequence[str]) -> None:
    """Import every module there, but those of software that is not installed."""
    for layer in layers:
        for file in sorted((root / layer).rglob("*.py")):
            name = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            with suppress(ImportError):
                importlib.import_module(name)


def judged(trials: Iterable[Trial], jobs: int) -> Iterator[tuple[Trial, str]]:
    """Each trial with what noticed the mistake, "" for nothing, as they end; `jobs` at a time."""
    running: dict[int, Trial] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for trial in trials:
                if len(running) == jobs:
                    yield _ended(running, Path(folder))
                running[_started(trial, Path(folder))] = trial
            while running:
                yield _ended(running, Path(folder))
        finally:
            for pid in running:
                _killed(pid)


def _started(trial: Trial, folder: Path) -> int:
    """The number of a process that judges, the leader of its group."""
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    signal.alarm(int(trial.patience) + 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())
    threadpool_limits(1)
    if not _mistaken(trial):
        os._exit(UNCHANGED)
    try:
        reason = _judgement(trial, folder / str(os.getpid()))
    except BaseException as error:  # whatever a mistake leads to, it ends here and is told
        reason = traceback.format_exception_only(error)[-1].strip()
    (folder / f"{os.getpid()}.txt").write_text(reason)
    os._exit(0)


def _judgement(trial: Trial, folder: Path) -> str:
    for number, name in enumerate(trial.claims):
        if reason := changed(claim_named(name), folder / str(number)):
            return f"{name}: {reason}"
    return ""


def _mistaken(trial: Trial) -> bool:
    """Give the functions of the file, wherever they are held, the code that they have in the mistaken source; whether
    there was any.
    """
    path = str(trial.file)
    mistaken = {_place(code): code for code in _codes(compile(trial.source, path, "exec", dont_inherit=True))}
    exchanged = False
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == path:
            code = mistaken.get(_place(thing.__code__), thing.__code__)
            if code != thing.__code__:
                thing.__code__ = code
                exchanged = True
    return exchanged


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _ended(running: dict[int, Trial], folder: Path) -> tuple[Trial, str]:
    """The next of these to end, taken out; one that left no word was killed: by its clock, or for its memory."""
    pid, status = _next(running)
    trial = running.pop(pid)
    _killed(pid)
    if status == UNCHANGED << 8:
        raise RuntimeError(f"no function of {trial.file} has changed: {trial.name}")
    told = folder / f"{pid}.txt"
    return trial, told.read_text() if told.exists() else "it hung, or died"


def _next(running: Iterable[int]) -> tuple[int, int]:
    """The first of these processes to end, and its status; others of this process are left to whom they belong."""
    while True:
        for pid in running:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return ended, status
        time.sleep(LOOK_EVERY)


def _killed(pid: int) -> None:
    """The process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
