"""A process that judges one item after the other, with its memory and the time of each item limited.

A worker that dies or does not come back is replaced. Time is that of the processor: a busy machine judges alike.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, TypeVar

SECONDS, MEMORY = 30.0, 4 * 2**30
Item = TypeVar("Item")
Verdict = TypeVar("Verdict")


class Overtime(BaseException):
    """The time of an item is over."""


def judged(
    items: Iterable[Item], judge: Callable[[Item, float], Verdict], seconds: float = SECONDS
) -> Iterator[tuple[Item, Verdict | str]]:
    """Each item with what `judge` (a module's function) says of it, or "no end in time" or "crash"."""
    worker: Any = None
    link: Any = None
    for item in items:
        if worker is None:
            worker, link = _start(judge, seconds)
        link.send(item)
        try:
            # More than the time itself: the alarm comes late where compiled code does not return.
            verdict = link.recv() if link.poll(4 * seconds + 20) else "no end in time"
        except EOFError:
            verdict = "crash"
        if isinstance(verdict, str):
            worker.kill()
            worker = None
        yield item, verdict
    if worker is not None:
        link.send(None)
        worker.join(5)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """`Overtime` after so many seconds of this process."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _start(judge: Callable[[Any, float], Any], seconds: float) -> tuple[Any, Connection]:
    context = multiprocessing.get_context("spawn")
    link, other = context.Pipe()
    worker = context.Process(target=_work, args=(other, judge, seconds), daemon=True)
    worker.start()
    other.close()
    return worker, link


def _work(link: Connection, judge: Callable[[Any, float], Any], seconds: float) -> None:
    def overtime(*_: object) -> None:
        raise Overtime

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, overtime)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    while (item := link.recv()) is not None:
        link.send(judge(item, seconds))
