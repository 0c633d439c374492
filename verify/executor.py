"""The only parallel interface: where tasks are computed. The numbers do not depend on it.

Every executor gives (index, outcome) pairs as tasks end, in any order. Linear algebra runs on one thread everywhere:
the number of threads changes the order of additions and with it the last bits.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from dpbounds import DomainError
from dpbounds.errors import count
from verify.topics import topics

Work = Callable[[Any], Any]


class Executor(Protocol):
    """Computes `work(item)` for every item."""

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Pairs (index of the item, result) as they are ready; `work` must be importable and must not raise."""
        ...


class Serial:
    """In this process, one after the other."""

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """In the order of the items."""
        with threadpool_limits(1):
            for index, item in enumerate(items):
                yield index, work(item)


class Processes:
    """A pool of worker processes on this machine."""

    def __init__(self, jobs: int) -> None:
        self.jobs = count("jobs", jobs)

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As they end; on an exception or interruption here the workers are stopped and what is not ready is
        dropped.
        """
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=_start_worker)
        try:
            futures = {pool.submit(work, item): index for index, item in enumerate(items)}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for process in list(pool._processes.values()):
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


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
        """As they end."""
        from distributed import as_completed as dask_completed

        futures = {
            self.client.submit(_on_one_thread, work, item, pure=False): index for index, item in enumerate(items)
        }
        for future in dask_completed(list(futures)):
            yield futures[future], future.result()


def default_jobs() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_one_thread(work: Work, item: Any) -> Any:
    with threadpool_limits(1):
        return work(item)


def _start_worker() -> None:
    """One thread for linear algebra; the parent handles Ctrl-C; no worker outlives a killed parent.

    The claims are loaded here, so that no task's time contains it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    topics()
