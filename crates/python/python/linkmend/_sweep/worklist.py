"""Which unit runs next, and which partitions are complete."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Container
from math import isnan

from .plan import Plan

Rows = dict[int, bytes]
"""Packed rows by unit."""


class _Partition:
    """A partition that has begun."""

    def __init__(self, missing: int) -> None:
        self.missing = missing
        self.rows: Rows = {}


class _Trial:
    """A point that may stop early: how many of its seeds it runs for now, and how many are there."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.measured = 0


class Worklist:
    """Hands out units in order, and collects their rows.

    `take` until it returns fewer units than requested, `handle` each row as it arrives, and `poll_complete`
    after both. Units that `known` has rows for are not handed out. Partitions in `done` are left out. At any
    time, only the partitions of units that were handed out are in memory.
    """

    def __init__(self, plan: Plan, done: Container[int], known: Callable[[int], Rows]) -> None:
        self._plan = plan
        self._done = done
        self._read_known = known
        self._known: Rows = {}
        self._next = 0
        self._more: deque[int] = deque()
        self._open: dict[int, _Partition] = {}
        self._complete: deque[tuple[int, Rows]] = deque()
        self._trials: dict[int, _Trial] = {}
        self.resolved = 0
        """Units that have been measured, or that their points do not need."""

    def take(self, count: int) -> list[int]:
        """The next units to run, at most `count`; fewer if only units that are running can add any."""
        taken: list[int] = []
        while len(taken) < count:
            unit = self._pop()
            if unit is None:
                break
            row = self._known.pop(unit, None)
            if row is None:
                taken.append(unit)
            else:
                self.handle(unit, row)
        return taken

    def handle(self, unit: int, row: bytes) -> None:
        """Takes the row of a unit that was handed out."""
        number = unit // self._plan.partition_units
        self._open[number].rows[unit] = row
        self._resolve(number, 1)
        if self._plan.seeds.until:
            self._judge(unit // self._plan.per_point, number)

    def poll_complete(self) -> tuple[int, Rows] | None:
        """A partition all of whose rows are there, once."""
        return self._complete.popleft() if self._complete else None

    @property
    def remaining(self) -> int:
        """The maximum number of units that have not been resolved."""
        return self._plan.units - self.resolved

    def _pop(self) -> int | None:
        if self._more:
            return self._more.popleft()
        while self._next < self._plan.units:
            unit = self._next
            if unit % self._plan.partition_units == 0 and not self._begin(unit // self._plan.partition_units):
                continue
            self._next += 1
            point, index = divmod(unit, self._plan.per_point)
            if index == 0 and self._plan.seeds.until:
                self._trials[point] = _Trial(self._plan.seeds.least)
            if index < self._plan.seeds.least:
                return unit
        return None

    def _begin(self, number: int) -> bool:
        """Begins a partition, or passes over it if it is done."""
        units = self._plan.partition(number)
        if number in self._done:
            self.resolved += len(units)
            self._next = units.stop
            return False
        self._open[number] = _Partition(len(units))
        self._known.update(self._read_known(number))
        return True

    def _judge(self, point: int, number: int) -> None:
        trial = self._trials[point]
        trial.measured += 1
        if trial.measured < trial.target:
            return
        first = point * self._plan.per_point
        if trial.target < self._plan.per_point and not self._enough(first, trial.target, number):
            begin = trial.target
            trial.target = self._plan.seeds.next_look(begin)
            self._more.extend(range(first + begin, first + trial.target))
            return
        del self._trials[point]
        if trial.target < self._plan.per_point:
            self._resolve(number, self._plan.per_point - trial.target)

    def _enough(self, first: int, count: int, number: int) -> bool:
        rows = self._open[number].rows
        columns = [self._plan.metrics.index(name) for name, _ in self._plan.seeds.until]
        values: list[list[float]] = [[] for _ in columns]
        for unit in range(first, first + count):
            row = array("d", rows[unit])
            for kept, column in zip(values, columns, strict=True):
                value = row[3 * column]
                if not isnan(value):
                    kept.append(value)
        return self._plan.seeds.enough(values)

    def _resolve(self, number: int, units: int) -> None:
        self.resolved += units
        partition = self._open[number]
        partition.missing -= units
        if partition.missing == 0:
            self._complete.append((number, dict(sorted(partition.rows.items()))))
            del self._open[number]
