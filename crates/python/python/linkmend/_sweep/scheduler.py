"""Runs the units of a sweep on a backend."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from queue import Empty, SimpleQueue

from .chunks import ChunkSize
from .errors import SweepError
from .executors import Backend
from .plan import Plan
from .store import Store
from .worker import Job, Outcome, row_width
from .worklist import Worklist

_TASKS_PER_WORKER = 2
_SIGNAL_SECONDS = 0.5
_FAILURES_BEFORE_ALONE = 2
_FAILURES = 4


@dataclass
class _Task:
    """Units that run together, and how often their worker was lost."""

    units: Sequence[int]
    failures: int = 0


class Scheduler:
    """Keeps a bounded number of tasks in flight, and stores their rows.

    A task whose worker was lost runs again. After two losses, each of its units runs with no other in
    flight, which shows whether that unit is the cause; after four, the sweep fails and names it.
    """

    def __init__(self, plan: Plan, job: Job, store: Store, backend: Backend, chunk: int | None) -> None:
        self._plan = plan
        self._job = job
        self._store = store
        self._backend = backend
        self._work = Worklist(plan, store.done, store.known)
        self._chunks = ChunkSize(chunk)
        self._row_width = row_width(plan.metrics)
        self._in_flight: dict[Future[Outcome], _Task] = {}
        self._again: deque[_Task] = deque()
        self._alone: deque[_Task] = deque()
        self._finished: SimpleQueue[Future[Outcome]] = SimpleQueue()

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Runs until all partitions are stored; on any error, tasks in flight are cancelled."""
        try:
            while True:
                self._fill()
                self._write_complete()
                progress(self._work.resolved, self._plan.units)
                if not self._in_flight:
                    break
                self._handle(self._wait())
                self._handle_more()
        except BaseException:
            self._backend.abort()
            raise
        assert self._work.remaining == 0
        self._store.finish()

    def _fill(self) -> None:
        limit = _TASKS_PER_WORKER * self._backend.capacity()
        while len(self._in_flight) < limit and (task := self._next_task()):
            units = [self._plan.unit(unit) for unit in task.units]
            future = self._backend.submit(self._job, units)
            self._in_flight[future] = task
            future.add_done_callback(self._finished.put)

    def _next_task(self) -> _Task | None:
        if self._alone:
            return None if self._in_flight else self._alone.popleft()
        if self._again:
            return self._again.popleft()
        size = self._chunks.units(self._work.remaining, self._backend.capacity())
        units = self._work.take(size)
        return _Task(units) if units else None

    def _wait(self) -> Future[Outcome]:
        """The next task that is finished; looks for Ctrl-C in between, which may have reached another thread."""
        while True:
            try:
                return self._finished.get(timeout=_SIGNAL_SECONDS)
            except Empty:
                continue

    def _handle_more(self) -> None:
        try:
            while True:
                self._handle(self._finished.get_nowait())
        except Empty:
            pass

    def _handle(self, future: Future[Outcome]) -> None:
        task = self._in_flight.pop(future)
        try:
            outcome = future.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (cancellations of some executors are no Exception)
            self._lost(task, error)
            return
        count = len(outcome.rows) // self._row_width
        rows = [
            (unit, outcome.rows[index * self._row_width : (index + 1) * self._row_width])
            for index, unit in enumerate(task.units[:count])
        ]
        for partition, group in groupby(rows, lambda row: row[0] // self._plan.partition_units):
            self._store.keep(partition, list(group))
        if outcome.failure is not None:
            failed = self._plan.name(task.units[count])
            raise SweepError(f"{failed}: {outcome.failure.message} ({outcome.failure.kind})")
        for unit, row in rows:
            self._work.handle(unit, row)
        self._chunks.observe(count, outcome.seconds)

    def _lost(self, task: _Task, error: BaseException) -> None:
        self._backend.renew(error)
        failures = task.failures + 1
        if failures >= _FAILURES:
            raise SweepError(
                f"{self._plan.name(task.units[0])}: the worker was lost {failures} times "
                f"({type(error).__name__}: {error}). It may have run out of memory"
            ) from error
        if failures < _FAILURES_BEFORE_ALONE:
            self._again.append(_Task(task.units, failures))
        else:
            self._alone.extend(_Task([unit], failures) for unit in task.units)

    def _write_complete(self) -> None:
        while (complete := self._work.poll_complete()) is not None:
            self._store.write(*complete)
