"""Which seeds run at each point, and when a point has enough of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias

from .errors import SweepValueError
from .student import relative_half_width

SeedsArgument: TypeAlias = "int | Iterable[int]"

_LARGEST = 2**64 - 1


@dataclass(frozen=True)
class Seeds:
    """The seeds of every point in order, of which each point runs at least the first `least`.

    With `until`, a point stops as soon as the relative half-width of each named metric's 95 % interval is at
    most the given number. This is checked after `least` seeds, then each time that the number of seeds has
    grown by half, so it depends only on the point's own results in the order of the seeds.
    """

    values: Sequence[int]
    least: int
    until: tuple[tuple[str, float], ...] = ()

    def next_look(self, count: int) -> int:
        """The number of seeds after which a point that has run `count` is checked again."""
        return min(len(self.values), count + (count + 1) // 2)

    def enough(self, metrics: Sequence[Sequence[float]]) -> bool:
        """Whether these values of the metrics in `until`, in the order of the seeds, are sufficient."""
        pairs = zip(metrics, self.until, strict=True)
        return all(relative_half_width(values) <= width for values, (_, width) in pairs)

    def describe(self) -> dict[str, Any]:
        """What identifies these seeds in a manifest."""
        values = self.values
        shown: Any = {"from": values[0], "to": values[-1]} if isinstance(values, range) else list(values)
        return {"values": shown, "least": self.least, "until": dict(self.until)}


def read_seeds(seeds: SeedsArgument, until: Mapping[str, float] | None, metrics: Sequence[str]) -> Seeds:
    """Checks the arguments `seeds` and `until` of a sweep."""
    if until:
        least, most = _bounds(seeds)
        return Seeds(range(1, most + 1), least, tuple(sorted(_widths(until, metrics))))
    values = _values(seeds)
    return Seeds(values, len(values))


def _values(seeds: SeedsArgument) -> Sequence[int]:
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if seeds < 1:
            raise SweepValueError(f"seeds={seeds}: the number of seeds must be at least 1")
        return range(1, seeds + 1)
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, Iterable):
        raise SweepValueError(f"seeds={seeds!r}: must be a number of seeds, or the seeds themselves")
    values = tuple(_seed(value) for value in seeds)
    if not values:
        raise SweepValueError("seeds=[]: at least one seed is needed")
    if len(set(values)) < len(values):
        raise SweepValueError("seeds contain a number twice: the same seed gives the same results")
    return values


def _seed(value: object) -> int:
    try:
        seed = -1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        seed = -1
    if not 0 <= seed <= _LARGEST:
        raise SweepValueError(f"seeds contain {value!r}: a seed is a whole number from 0 to 2^64 - 1")
    return seed


def _bounds(seeds: SeedsArgument) -> tuple[int, int]:
    bounds = tuple(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)) else ()
    if len(bounds) != 2 or not all(type(bound) is int for bound in bounds) or not 2 <= bounds[0] <= bounds[1]:
        raise SweepValueError(
            f"seeds={seeds!r}: with until, seeds must be (minimum, maximum), with a minimum of at least 2"
        )
    return bounds[0], bounds[1]


def _widths(until: Mapping[str, float], metrics: Sequence[str]) -> Iterable[tuple[str, float]]:
    for name, width in until.items():
        if name not in metrics:
            raise SweepValueError(f"until={{{name!r}: ...}}: these runs do not measure {name}")
        if isinstance(width, bool) or not isinstance(width, (int, float)) or not width > 0:
            raise SweepValueError(f"until={{{name!r}: {width!r}}}: must be a relative half-width above 0, such as 0.05")
        yield name, float(width)
