"""How many units one task takes."""

from __future__ import annotations

TARGET_SECONDS = 0.5
MOST_UNITS = 2048
_GROWTH = 8
_WEIGHT = 0.3


class ChunkSize:
    """Learns from completed tasks how many units take about half a second."""

    def __init__(self, fixed: int | None) -> None:
        self._fixed = fixed
        self._seconds: float | None = None
        self._largest = 1

    def observe(self, units: int, seconds: float) -> None:
        """A task of this many units took this long."""
        each = seconds / units
        self._seconds = each if self._seconds is None else (1 - _WEIGHT) * self._seconds + _WEIGHT * each
        self._largest = max(self._largest, units)

    def units(self, remaining: int, capacity: int) -> int:
        """The size of the next task; smaller towards the end, so that all workers end together."""
        if self._fixed is not None:
            return self._fixed
        if self._seconds is None:
            return 1
        wanted = int(TARGET_SECONDS / max(self._seconds, 1e-9))
        share = -(-remaining // (2 * capacity))
        return max(1, min(wanted, MOST_UNITS, _GROWTH * self._largest, share))
