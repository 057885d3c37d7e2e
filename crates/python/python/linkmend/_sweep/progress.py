"""Shows how far a sweep is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Progress: TypeAlias = "bool | Callable[[int, int], None] | None"


@contextmanager
def reporting(progress: Progress) -> Iterator[Callable[[int, int], None]]:
    """A function for the units that are done, and their maximum.

    True shows a bar of tqdm, if that is installed; a function is called itself.
    """
    if callable(progress):
        yield progress
        return
    bar = _bar() if progress else None
    if bar is None:
        yield lambda done, total: None
        return

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    with bar:
        yield show


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(unit="run", smoothing=0.05)
