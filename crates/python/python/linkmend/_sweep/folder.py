"""Results in a folder: Parquet files, and a manifest that says what they are."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from .columns import Columns, import_pyarrow
from .errors import SweepError
from .journal import Journal
from .worker import file_digest, row_width

MANIFEST = "manifest.json"
_FORMAT = 1


class Folder:
    """Stores partitions as files that depend on nothing but the sweep.

    Files are written under another name, and renamed when they are complete. The folder is locked until
    `close`, so that two processes cannot write to it.
    """

    def __init__(self, path: Path, sweep: Mapping[str, Any], columns: Columns, metrics: tuple[str, ...]) -> None:
        self.path = path
        self._columns = columns
        self._arrow = import_pyarrow()
        self._sweep = {**sweep, "format": _FORMAT, "pyarrow": self._arrow.__version__}
        self._journal = Journal(path / "journal", row_width(metrics))
        self._lock = _lock(path)
        try:
            self._partitions = self._open()
        except BaseException:
            self.close()
            raise

    @property
    def done(self) -> Container[int]:
        return self._partitions

    def known(self, partition: int) -> dict[int, bytes]:
        return self._journal.read(partition)

    def keep(self, partition: int, rows: Iterable[tuple[int, bytes]]) -> None:
        self._journal.append(partition, rows)

    def write(self, partition: int, rows: Mapping[int, bytes]) -> None:
        name = f"part-{partition:06d}.parquet"
        table = self._columns.table(rows)
        temporary = self.path / f".{name}.tmp"
        self._arrow.parquet.write_table(table, temporary, compression="zstd")
        digest = file_digest(str(temporary))
        _settle(temporary, self.path / name)
        self._partitions[partition] = {"file": name, "rows": len(rows), "sha256": digest}
        self._write_manifest(complete=False)
        self._journal.remove(partition)

    def finish(self) -> None:
        self._journal.close()
        self._write_manifest(complete=True)

    def close(self) -> None:
        """Unlocks the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self) -> dict[int, dict[str, Any]]:
        manifest = self.path / MANIFEST
        if not manifest.exists():
            strangers = sorted(entry.name for entry in self.path.iterdir() if not entry.name.endswith(".tmp"))
            if strangers:
                raise SweepError(
                    f"{self.path} contains {strangers[0]}, but no {MANIFEST}: choose an empty or new folder"
                )
            self._partitions = {}
            self._write_manifest(complete=False)
            return {}
        recorded = read_manifest(self.path)
        difference = _difference(recorded["sweep"], self._sweep)
        if difference:
            raise SweepError(
                f"{self.path} holds another sweep: {difference}. "
                "Choose another folder, delete this one, or repeat its call with the same versions"
            )
        partitions = {int(entry.pop("partition")): entry for entry in recorded["partitions"]}
        intact = {number: entry for number, entry in partitions.items() if self._is_intact(entry)}
        for number in intact:
            self._journal.remove(number)
        return intact

    def _is_intact(self, entry: Mapping[str, Any]) -> bool:
        path = self.path / entry["file"]
        return path.exists() and file_digest(str(path)) == str(entry["sha256"])

    def _write_manifest(self, complete: bool) -> None:
        partitions = [{"partition": number, **entry} for number, entry in sorted(self._partitions.items())]
        manifest = {"sweep": self._sweep, "partitions": partitions, "complete": complete}
        temporary = self.path / f".{MANIFEST}.tmp"
        temporary.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        _settle(temporary, self.path / MANIFEST)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a folder, or an error that names it."""
    try:
        manifest: dict[str, Any] = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(manifest["sweep"], dict) and isinstance(manifest["partitions"], list):
            return manifest
    except OSError as error:
        raise SweepError(f"{path} is not the folder of a sweep: {error}") from error
    except (ValueError, KeyError, TypeError):
        pass
    raise SweepError(f"{path / MANIFEST} is not the manifest of a sweep: choose another folder")


def _difference(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """The first difference between two descriptions of sweeps."""
    wanted = json.loads(json.dumps(wanted))
    for key in sorted({*recorded, *wanted}, key=lambda key: (key not in ("linkmend", "pyarrow"), key)):
        if recorded.get(key) != wanted.get(key):
            return f"its {key} is {_short(recorded.get(key))}, not {_short(wanted.get(key))}"
    return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 200 else text[:200] + "..."


def _settle(temporary: Path, path: Path) -> None:
    """Renames a file once its contents are on disk."""
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)


def _lock(path: Path) -> int | None:
    """Creates and locks a folder; the kernel unlocks it if the process is killed."""
    path.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            return descriptor  # the file system has no locks
        os.close(descriptor)
        message = f"{path} is in use by another sweep: wait for it, or choose another folder"
        raise SweepError(message) from error
    return descriptor
