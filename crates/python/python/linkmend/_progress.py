"""Progress of long calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Step = Callable[[int, int], object]
Progress: TypeAlias = bool | Step | None
"""`True` for a bar of tqdm if it is there, or a function that gets the steps done and all steps."""


@contextmanager
def watched(progress: Progress, title: str) -> Iterator[Step | None]:
    """What is to be called with the steps done and all steps."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is not True:
        raise TypeError(f"progress = {progress!r}: must be True, False or a function of the steps done and all steps")
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield None
            return
        with tqdm(desc=title, unit_scale=True, leave=False) as bar:

            def show(done: int, steps: int) -> None:
                bar.total = steps
                bar.update(done - bar.n)

            yield show
