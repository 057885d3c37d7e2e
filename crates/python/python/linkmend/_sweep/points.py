"""The points of a sweep: which parameters vary, and their values at each point."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._run import Run
from .errors import SweepValueError

Text: TypeAlias = "str | None"
"""A parameter's value as canonical text; None if it is not set."""

Grid: TypeAlias = "Mapping[str, Any] | Sequence[Mapping[str, Any]]"

_ERRORS_SHOWN = 5


@dataclass(frozen=True)
class Points:
    """All points, in order: a cross product, whose last parameter varies fastest, or a list."""

    names: tuple[str, ...]
    axes: tuple[tuple[Text, ...], ...] | None
    listed: tuple[tuple[Text, ...], ...]

    def __len__(self) -> int:
        if self.axes is None:
            return len(self.listed)
        return math.prod(len(axis) for axis in self.axes)

    def __getitem__(self, point: int) -> tuple[Text, ...]:
        if self.axes is None:
            return self.listed[point]
        values: list[Text] = []
        for axis in reversed(self.axes):
            point, index = divmod(point, len(axis))
            values.append(axis[index])
        return tuple(reversed(values))

    def texts(self, name: str) -> Iterator[Text]:
        """All values of one parameter; those of an axis once each."""
        position = self.names.index(name)
        if self.axes is not None:
            return iter(self.axes[position])
        return (values[position] for values in self.listed)

    def describe(self) -> dict[str, Any]:
        """What identifies these points in a manifest."""
        if self.axes is not None:
            return {"axes": dict(zip(self.names, map(list, self.axes), strict=True))}
        digest = hashlib.sha256()
        for values in self.listed:
            digest.update(json.dumps(values).encode() + b"\n")
        return {"listed": len(self.listed), "names": list(self.names), "sha256": digest.hexdigest()}

    def name(self, point: int) -> str:
        """A point in an error message."""
        pairs = zip(self.names, self[point], strict=True)
        values = ", ".join(f"{name}={text}" for name, text in pairs if text is not None)
        return f"point {point} ({values})" if values else f"point {point}"


def read_points(run: Run, grid: Grid) -> Points:
    """Checks every point of a grid; raises `SweepValueError`, which names the invalid ones."""
    if isinstance(grid, Mapping):
        return _cross(run, {name: _values(name, values) for name, values in grid.items()})
    if isinstance(grid, str) or not isinstance(grid, Sequence):
        raise SweepValueError(
            f"grid is a {type(grid).__name__}: it must map parameters to lists, or be a list of mappings"
        )
    return _listed(run, grid)


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise SweepValueError(f"{name}={values!r}: a grid needs a list of values, such as [{values!r}]")
    found = tuple(_plain(value) for value in values)
    if not found:
        raise SweepValueError(f"{name}=[]: a grid needs at least one value for each parameter")
    return found


def _plain(value: Any) -> Any:
    """A Python value for a scalar of NumPy, which has `item`."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value


def _cross(run: Run, axes: dict[str, tuple[Any, ...]]) -> Points:
    names = tuple(axes)
    texts: list[list[Text]] = [[None] * len(values) for values in axes.values()]
    checks = _Checks(run, math.prod(len(values) for values in axes.values()))
    for point, indices in enumerate(itertools.product(*(range(len(values)) for values in axes.values()))):
        values = {name: axes[name][index] for name, index in zip(names, indices, strict=True)}
        parameters = checks.parameters(point, values)
        if parameters is not None:
            for axis, name, index in zip(texts, names, indices, strict=True):
                axis[index] = parameters.get(name)
    checks.finish()
    return Points(names, tuple(tuple(axis) for axis in texts), ())


def _listed(run: Run, grid: Sequence[Mapping[str, Any]]) -> Points:
    if not grid:
        raise SweepValueError("the grid is empty: it needs at least one point")
    for point, values in enumerate(grid):
        if not isinstance(values, Mapping):
            raise SweepValueError(f"point {point} is {values!r}: a list of points needs a mapping for each")
    names = tuple(dict.fromkeys(name for values in grid for name in values))
    checks = _Checks(run, len(grid))
    listed: list[tuple[Text, ...]] = []
    for point, values in enumerate(grid):
        parameters = checks.parameters(point, {name: _plain(value) for name, value in values.items()})
        if parameters is not None:
            listed.append(tuple(parameters.get(name) for name in names))
    checks.finish()
    return Points(names, None, tuple(listed))


class _Checks:
    """Validates points, and collects the first errors."""

    def __init__(self, run: Run, points: int) -> None:
        self._run = run
        self._points = points
        self._invalid = 0
        self._shown: list[str] = []

    def parameters(self, point: int, values: Mapping[str, Any]) -> Mapping[str, str] | None:
        if "seed" in values:
            raise SweepValueError("seed cannot be in a grid: pass seeds=N or seeds=[...] instead")
        try:
            return self._run.replace(**values).parameters
        except (ValueError, TypeError) as error:
            self._invalid += 1
            if len(self._shown) < _ERRORS_SHOWN:
                pairs = ", ".join(f"{name}={value!r}" for name, value in values.items())
                self._shown.append(f"  point {point} ({pairs}): {error}")
            return None

    def finish(self) -> None:
        if not self._invalid:
            return
        hidden = self._invalid - len(self._shown)
        rest = [f"  and {hidden} more"] if hidden else []
        verb = "is" if self._invalid == 1 else "are"
        head = f"{self._invalid} of {self._points} points {verb} invalid; nothing has run:"
        raise SweepValueError("\n".join([head, *self._shown, *rest]))
