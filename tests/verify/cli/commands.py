"""The command line in a process of its own: forked from this one, whose modules are loaded, or started afresh."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path

from verify.cli import main
from verify.running.registry import index_of, topics

SCRIPT = "import sys; from verify.cli import main; sys.exit(main())"
SECONDS = 300
NOWHERE = Path(os.devnull), Path(os.devnull)


def dpbounds(*arguments: str, cwd: Path, before: Callable[[], object] | None = None) -> subprocess.CompletedProcess:
    """`dpbounds ARGUMENTS` in `cwd`, without the seconds that a fresh interpreter takes to load it and the claims."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "out"), Path(folder, "err")
        child = started(*arguments, cwd=cwd, files=files, before=before)
        child.join(SECONDS)
        if child.exitcode is None:
            child.kill()
            raise subprocess.TimeoutExpired(arguments, SECONDS)
        return subprocess.CompletedProcess(arguments, child.exitcode, *(file.read_text() for file in files))


def started(
    *arguments: str, cwd: Path, files: tuple[Path, Path] = NOWHERE, before: Callable[[], object] | None = None
) -> BaseProcess:
    """The same while it runs, in a process group of its own; output and errors go to `files`, `before` is called in it
    first.
    """
    _load()
    child = multiprocessing.get_context("fork").Process(target=_run, args=(arguments, cwd, *files, before))
    child.start()
    os.setpgid(child.pid or 0, child.pid or 0)
    return child


@cache
def _load() -> None:
    """All claims and their index, here: what is forked from here has them, and has no text compiled (the threads of
    Typst do not live on in a fork).
    """
    for name, topic in topics().items():
        assert topic.claims and index_of(name)


def fresh(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """The same in an interpreter that has loaded nothing."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=SECONDS)


def _run(arguments: tuple[str, ...], cwd: Path, out: Path, err: Path, before: Callable[[], object] | None) -> None:
    """In the child: output to files, as a shell would, and warnings and interrupts as outside tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    for file, stream, name in ((out, 1, "stdout"), (err, 2, "stderr")):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
        setattr(sys, name, os.fdopen(stream, "w", encoding="utf-8", closefd=False))
    warnings.resetwarnings()
    if before is not None:
        before()
    try:
        status = main(arguments)
    except SystemExit as end:  # argparse
        status = end.code
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)
