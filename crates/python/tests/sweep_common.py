"""What the tests of sweeps share."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import linkmend

GRID: dict[str, list[Any]] = {"loss": [1e-4, 5e-4, 1e-3, 2e-3, 5e-3], "scheme": ["ordered", "non-blocking"]}
SEEDS = 8
UNITS = 80


def slow_run() -> linkmend.Run:
    """A run of some 50 ms."""
    return linkmend.Run(frames=60_000, full=True)


def quick_run() -> linkmend.Run:
    """A run that takes next to no time."""
    return linkmend.Run(frames=200)


def digest(folder: Path) -> str:
    """The SHA-256 of a folder's names and contents."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(str(path.relative_to(folder)).encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Waits until something holds, or fails."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def descendants(pid: int) -> Iterator[int]:
    """The processes below one of our own."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            yield child
            waiting.append(child)


def command(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def pool_workers(pid: int | None = None) -> list[int]:
    """The workers of a process pool below one of our own processes."""
    return [child for child in descendants(pid or os.getpid()) if "spawn_main" in command(child)]
