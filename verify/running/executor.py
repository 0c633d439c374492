"""The only parallel interface: where tasks are computed. The numbers do not depend on it.

Every executor gives (index, outcome) pairs as tasks end, in any order. Linear algebra runs on one thread everywhere:
the number of threads changes the order of additions and with it the last bits.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from dpbounds import DomainError
from dpbounds.errors import count

Work = Callable[[Any], Any]
# Of tasks sent to a cluster together: so few that each thread gets `BATCHES` lots, and at most so many.
BATCHES, LARGEST_BATCH = 8, 50
# Parameters of glibc's `mallopt`: the free memory that is kept, and the number of blocks outside of the heap.
TRIM_THRESHOLD, KEPT, MMAP_MAX = -1, 1 << 30, -4


class Executor(Protocol):
    """Computes `work(item)` for every item; a context that frees its workers in the end."""

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Pairs (index of the item, result) as they are ready; `work` must be importable and must not raise."""
        ...

    def __enter__(self) -> Executor: ...

    def __exit__(self, *_: object) -> None: ...


class Serial:
    """In this process, one after the other."""

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """In the order of the items."""
        with threadpool_limits(1):
            for index, item in enumerate(items):
                yield index, work(item)

    def __enter__(self) -> Serial:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to free."""


class Processes:
    """A pool of worker processes on this machine, started by the first work and kept for the next.

    On Linux they are copies of this process, and have what it has loaded and planned; elsewhere they load it again.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = count("jobs", jobs)
        self._pool: ProcessPoolExecutor | None = None

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As they end; on an exception or interruption here the workers are stopped and what is not ready is
        dropped.
        """
        if not items:
            return
        if self._pool is None:
            context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
            self._pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=_start_worker)
        try:
            with warnings.catch_warnings():
                # Python warns of threads, which a copy lacks: those here draw the progress or wait for linear algebra.
                warnings.simplefilter("ignore", DeprecationWarning)
                futures = {self._pool.submit(work, item): index for index, item in enumerate(items)}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for process in list(self._pool._processes.values()):
                process.terminate()
            self.__exit__()
            raise

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class Dask:
    """A dask.distributed cluster at an address such as tcp://host:8786 (extra `dask`)."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise DomainError(
                "scheduler", address, "nothing unless dask is installed", "pip install 'dpbounds[dask]'"
            ) from None
        try:
            self.client = Client(address, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            raise DomainError("scheduler", address, "the address of a running dask scheduler", str(error)) from None

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As they end, some at a time: a task takes milliseconds, sending it as long."""
        from distributed import as_completed as dask_completed

        if not items:
            return
        known: Any = self.client.nthreads()
        threads = sum(known.values()) or 1
        size = max(1, min(LARGEST_BATCH, len(items) // (threads * BATCHES)))
        starts = range(0, len(items), size)
        futures = {
            self.client.submit(_on_one_thread, work, items[start : start + size], pure=False): start for start in starts
        }
        for future in dask_completed(list(futures)):
            yield from enumerate(future.result(), futures[future])

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; its workers are not ours."""
        self.client.close()


def default_jobs() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_one_thread(work: Work, items: Sequence[Any]) -> list[Any]:
    with threadpool_limits(1):
        return [work(item) for item in items]


def _start_worker() -> None:
    """One thread for linear algebra; freed memory is kept; the parent handles Ctrl-C; no worker outlives a killed
    parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    _keep_memory()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def _keep_memory() -> None:
    """Up to `KEPT` bytes that arrays have freed stay with the worker: each page that the system gives anew costs a
    fault, which made up a third of the time of simulations in a virtual machine. Where there is no glibc, nothing.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no glibc; no C library by this name
        return
    mallopt(TRIM_THRESHOLD, KEPT)
    mallopt(MMAP_MAX, 0)
