"""Where results go: memory, or a folder."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from .columns import Columns

if TYPE_CHECKING:
    import pyarrow


class Store(Protocol):
    """Takes rows as they are measured, and partitions as they are completed."""

    @property
    def done(self) -> Container[int]:
        """Partitions that are stored already."""
        ...

    def known(self, partition: int) -> dict[int, bytes]:
        """Rows of a partition that is not complete, from an earlier run."""
        ...

    def keep(self, partition: int, rows: Iterable[tuple[int, bytes]]) -> None:
        """Keeps new rows of a partition that is not complete."""
        ...

    def write(self, partition: int, rows: Mapping[int, bytes]) -> None:
        """Stores a complete partition."""
        ...

    def finish(self) -> None:
        """All partitions are stored."""
        ...


class Memory:
    """Keeps tables in memory."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.partitions: dict[int, pyarrow.Table] = {}

    @property
    def done(self) -> Container[int]:
        return self.partitions

    def known(self, partition: int) -> dict[int, bytes]:
        return {}

    def keep(self, partition: int, rows: Iterable[tuple[int, bytes]]) -> None:
        pass

    def write(self, partition: int, rows: Mapping[int, bytes]) -> None:
        self.partitions[partition] = self._columns.table(rows)

    def finish(self) -> None:
        self.partitions = dict(sorted(self.partitions.items()))
