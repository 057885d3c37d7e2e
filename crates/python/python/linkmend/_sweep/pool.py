"""A process pool on this machine, which outlives its workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any

from .errors import SweepError
from .worker import Job, Outcome, Unit, measure_units


class OwnPool:
    """A process pool, which is replaced if a worker dies."""

    def __init__(self, workers: int) -> None:
        if _is_starting():
            raise SweepError(_GUARD)
        self._workers = workers
        self._works = False
        self._starts = 0
        self._pool = self._start()

    def capacity(self) -> int:
        return self._workers

    def submit(self, job: Job, units: Sequence[Unit]) -> Future[Outcome]:
        try:
            future = self._pool.submit(measure_units, job, units)
        except BrokenExecutor as error:
            self.renew(error)
            future = self._pool.submit(measure_units, job, units)
        future.add_done_callback(self._note)
        return future

    def renew(self, lost: BaseException) -> None:
        if is_broken(self._pool):
            self._pool.shutdown(wait=False)
            if self._starts >= _STARTS_WITHOUT_RESULT and not self._works:
                raise SweepError(_CANNOT_START) from lost
            self._pool = self._start()

    def abort(self) -> None:
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()

    def close(self) -> None:
        self._pool.shutdown()

    def _start(self) -> ProcessPoolExecutor:
        self._starts += 1
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, context, initializer=_begin_worker)

    def _note(self, future: Future[Outcome]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._works = True


_STARTS_WITHOUT_RESULT = 2
_CANNOT_START = (
    "the process pool lost its workers twice before any result; their messages say why. "
    'A script that sweeps needs `if __name__ == "__main__":`'
)
_GUARD = (
    "a sweep that starts processes was called while a worker imported the script: "
    'put the call below `if __name__ == "__main__":`, or pass executor=ThreadPoolExecutor()'
)


def _is_starting() -> bool:
    """Whether this process is a worker that imports the main module."""
    return getattr(multiprocessing.process.current_process(), "_inheriting", False)


def _begin_worker() -> None:
    """Leaves Ctrl-C to the parent, and ends if the parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def is_broken(pool: Executor) -> bool:
    """Whether a process pool has lost a worker and can run nothing more."""
    return bool(getattr(pool, "_broken", False))


def available_processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
