"""Executors on which a sweep runs: its own process pool, or one that the user has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, Protocol

from .errors import SweepError, SweepValueError
from .pool import OwnPool, available_processors, is_broken
from .worker import Job, Outcome, Unit, measure_units


class Backend(Protocol):
    """Runs tasks of units."""

    def capacity(self) -> int:
        """How many tasks can run concurrently."""
        ...

    def submit(self, job: Job, units: Sequence[Unit]) -> Future[Outcome]:
        """Starts a task."""
        ...

    def renew(self, lost: BaseException) -> None:
        """Makes tasks possible again after one was lost, or raises an error if that is impossible."""
        ...

    def abort(self) -> None:
        """Stops running tasks as far as possible."""
        ...

    def close(self) -> None:
        """Ends what the sweep started itself."""
        ...


def open_backend(executor: Any, workers: int | None) -> Backend:
    """The backend for the argument `executor` of a sweep."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise SweepValueError(f"workers={workers!r}: must be a whole number from 1")
    if executor is None:
        return OwnPool(workers or available_processors())
    if executor == "ray" or getattr(executor, "__name__", None) == "ray":
        from .ray_executor import RayExecutor

        return Given(RayExecutor(), workers)
    if hasattr(executor, "get_executor"):
        return Given(executor.get_executor(retries=0, pure=False), workers, _dask_capacity(executor))
    if isinstance(executor, Executor) or callable(getattr(executor, "submit", None)):
        return Given(executor, workers)
    raise SweepValueError(
        f"executor is a {type(executor).__name__}: it must be None, a concurrent.futures.Executor, "
        'a client of Dask, or "ray"'
    )


class Given:
    """An executor of the user, which stays open."""

    def __init__(self, executor: Any, workers: int | None, capacity: Any = None) -> None:
        self._executor = executor
        self._workers = workers
        self._measure = capacity or (lambda: _capacity(executor))
        self._measured = (0.0, 1)
        self._running: set[Future[Outcome]] = set()

    def capacity(self) -> int:
        if self._workers is not None:
            return self._workers
        measured_at, capacity = self._measured
        if time.monotonic() > measured_at + _REFRESH_SECONDS or not measured_at:
            capacity = max(1, self._measure())
            self._measured = (time.monotonic(), capacity)
        return capacity

    def submit(self, job: Job, units: Sequence[Unit]) -> Future[Outcome]:
        try:
            future: Future[Outcome] = self._executor.submit(measure_units, job, units)
        except BrokenExecutor as error:
            raise _broken(error) from error
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def renew(self, lost: BaseException) -> None:
        if is_broken(self._executor):
            raise _broken(lost) from lost

    def abort(self) -> None:
        for future in list(self._running):
            future.cancel()
        stop = getattr(self._executor, "abort_tasks", None)
        if callable(stop):
            stop()

    def close(self) -> None:
        pass


_REFRESH_SECONDS = 5.0


def _broken(lost: BaseException) -> SweepError:
    return SweepError(f"the executor is broken ({lost}): repeat the call with a new one")


def _capacity(executor: Any) -> int:
    for name in ("capacity", "num_workers", "_max_workers"):
        value = getattr(executor, name, None)
        if callable(value):
            value = value()
        if isinstance(value, int) and value > 0:
            return value
    return available_processors()


def _dask_capacity(client: Any) -> Any:
    return lambda: sum(client.nthreads().values())
