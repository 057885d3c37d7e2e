"""What runs on workers. It needs `linkmend` and nothing else."""

from __future__ import annotations

import hashlib
import math
import time
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from linkmend import _native

Unit: TypeAlias = "tuple[tuple[str | None, ...], int]"
"""The values of the varied parameters, and a seed."""


class Job(NamedTuple):
    """What all units of a sweep have in common; parameters have the names that the native module expects."""

    base: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    metrics: tuple[str, ...]
    identity: str
    files: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls, base: Mapping[str, str], names: Sequence[str], metrics: tuple[str, ...], files: tuple[tuple[str, str], ...]
    ) -> Job:
        """A job of this version."""
        written = tuple((_declared(name), text) for name, text in base.items())
        return cls(written, tuple(map(_declared, names)), metrics, _native.identity(), files)


def _declared(name: str) -> str:
    return name.replace("_", "-")


class Failure(NamedTuple):
    """The unit after the last row failed."""

    kind: str
    message: str


class Outcome(NamedTuple):
    """Rows of measured values, packed one after the other, and how long they took."""

    seconds: float
    rows: bytes
    failure: Failure | None


def measure_units(job: Job, units: Sequence[Unit]) -> Outcome:
    """Measures units in order, until the first that fails."""
    start = time.perf_counter()
    rows = bytearray()
    failure = _mismatch(job.identity, job.files)
    index = _index(job.metrics)
    base = dict(job.base)
    for values, seed in units if failure is None else ():
        try:
            rows += _row(index, _parameters(base, job.names, values), seed)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 (a panic of the native module is no Exception)
            failure = Failure(type(error).__name__, str(error))
            break
    return Outcome(time.perf_counter() - start, bytes(rows), failure)


def row_width(metrics: Sequence[str]) -> int:
    """The bytes of a row: value and interval of each metric."""
    return 3 * 8 * len(metrics)


def _parameters(base: dict[str, str], names: tuple[str, ...], values: tuple[str | None, ...]) -> list[tuple[str, str]]:
    changed = base.copy()
    for name, text in zip(names, values, strict=True):
        if text is None:
            changed.pop(name, None)
        else:
            changed[name] = text
    return list(changed.items())


def _row(index: dict[str, int], parameters: list[tuple[str, str]], seed: int) -> bytes:
    row = array("d", [math.nan]) * (3 * len(index))
    for name, value, low, high in _native.measure(parameters, seed):
        position = index[name]
        row[position] = value
        if low is not None and high is not None:
            row[position + 1] = low
            row[position + 2] = high
    return row.tobytes()


@lru_cache(maxsize=8)
def _index(metrics: tuple[str, ...]) -> dict[str, int]:
    return {name: 3 * position for position, name in enumerate(metrics)}


@lru_cache(maxsize=8)
def _mismatch(identity: str, files: tuple[tuple[str, str], ...]) -> Failure | None:
    """Why this worker would not compute the same results."""
    if _native.identity() != identity:
        return Failure("other version", f"the worker has {_native.identity()}, and the sweep {identity}")
    for path, digest in files:
        try:
            found = file_digest(path)
        except OSError as error:
            return Failure("missing file", f"the worker cannot read {path}: {error.strerror}")
        if found != digest:
            return Failure("other file", f"{path} has other contents on the worker")
    return None


def file_digest(path: str) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
