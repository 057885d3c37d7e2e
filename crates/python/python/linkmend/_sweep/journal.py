"""Rows of partitions that are not complete, kept on disk until they are."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

_HEAD = struct.Struct("<QI")


class Journal:
    """One file of records per partition: unit, checksum, row.

    A process that is killed leaves at most its last record incomplete; reading stops there.
    """

    def __init__(self, folder: Path, row_width: int) -> None:
        self._folder = folder
        self._row_width = row_width

    def append(self, partition: int, rows: Iterable[tuple[int, bytes]]) -> None:
        """Adds rows of a partition."""
        self._folder.mkdir(exist_ok=True)
        records = b"".join(_HEAD.pack(unit, _checksum(unit, row)) + row for unit, row in rows)
        with open(self._path(partition), "ab") as file:
            file.write(records)

    def read(self, partition: int) -> dict[int, bytes]:
        """The rows of a partition, and cuts off what follows an incomplete record."""
        path = self._path(partition)
        rows: dict[int, bytes] = {}
        if not path.exists():
            return rows
        with open(path, "r+b") as file:
            valid = 0
            while (record := file.read(_HEAD.size + self._row_width)) and self._take(record, rows):
                valid += len(record)
            file.truncate(valid)
        return rows

    def remove(self, partition: int) -> None:
        """Forgets a partition."""
        self._path(partition).unlink(missing_ok=True)

    def close(self) -> None:
        """Removes the folder of a sweep that is complete."""
        if self._folder.exists():
            self._folder.rmdir()

    def _path(self, partition: int) -> Path:
        return self._folder / f"{partition:06d}.rows"

    def _take(self, record: bytes, rows: dict[int, bytes]) -> bool:
        if len(record) < _HEAD.size + self._row_width:
            return False
        unit, checksum = _HEAD.unpack_from(record)
        row = record[_HEAD.size :]
        if _checksum(unit, row) != checksum:
            return False
        rows[unit] = row
        return True


def _checksum(unit: int, row: bytes) -> int:
    return zlib.crc32(row, zlib.crc32(struct.pack("<Q", unit)))
