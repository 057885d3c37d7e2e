"""A sweep's units, and how they are divided into partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .points import Points
from .seeds import Seeds
from .worker import Unit

PARTITION_UNITS = 8192
"""Rows of a full partition, which is one file. Changing it changes the bytes of every result."""


@dataclass(frozen=True)
class Plan:
    """Numbers the units: unit `u` is point `u // len(seeds)` with seed `u % len(seeds)`.

    A partition holds consecutive units. If points may stop early, it holds whole points.
    """

    base: Mapping[str, str]
    points: Points
    seeds: Seeds
    metrics: tuple[str, ...]

    @property
    def units(self) -> int:
        """The maximum number of units."""
        return len(self.points) * self.per_point

    @property
    def per_point(self) -> int:
        """The maximum number of units of a point."""
        return len(self.seeds.values)

    @property
    def partition_units(self) -> int:
        """The number of units of all partitions but the last."""
        if not self.seeds.until:
            return PARTITION_UNITS
        return max(1, PARTITION_UNITS // self.per_point) * self.per_point

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return -(-self.units // self.partition_units)

    @property
    def varied(self) -> tuple[str, ...]:
        """The columns of the varied parameters: their names, unless a metric has the same (`copies`, `failures`)."""
        return tuple(f"parameter_{name}" if name in self.metrics else name for name in self.points.names)

    def partition(self, number: int) -> range:
        """The units of a partition."""
        first = number * self.partition_units
        return range(first, min(self.units, first + self.partition_units))

    def point_and_seed(self, unit: int) -> tuple[int, int]:
        """A unit's point and seed."""
        point, index = divmod(unit, self.per_point)
        return point, self.seeds.values[index]

    def unit(self, unit: int) -> Unit:
        """What a worker has to know of a unit."""
        point, seed = self.point_and_seed(unit)
        return self.points[point], seed

    def name(self, unit: int) -> str:
        """A unit in an error message."""
        point, seed = self.point_and_seed(unit)
        return f"{self.points.name(point)}, seed {seed}"
