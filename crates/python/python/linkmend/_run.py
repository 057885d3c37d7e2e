"""A run: parameters of a link, hosts and traffic, which can be varied and measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _native
from ._declared import by_name
from ._studies import near
from ._text import Stored, Value, texted


class Measured(NamedTuple):
    """A value, and the ends of its 95 % interval if it has one."""

    value: float
    low: float | None
    high: float | None


class Run:
    """A run, described by its parameters as an experiment file describes one (`linkmend sim run`).

    Without `transport`, a generator sends at line rate over one link, or generators send over several links; with one,
    hosts send flows. `linkmend.parameters()` lists the parameters. A run does not change; `replace` makes another one.

    >>> import linkmend
    >>> run = linkmend.Run(speed="100G", loss=1e-3, scheme="ordered", frames="100k")
    >>> run.measure(seed=1)["frames_undelivered"].value
    0.0
    """

    __slots__ = ("_data", "_parameters")

    def __init__(self, **parameters: Value) -> None:
        self._data = {name: value for name, value in parameters.items() if isinstance(value, Stored)}
        for name in parameters:
            if key(name) not in by_name():
                raise TypeError(
                    f"there is no parameter {name!r}; {near(name, [other.replace('-', '_') for other in by_name()])}"
                )
        given = [(name, value) for name, value in parameters.items() if value is not None]
        texts = [(key(name), texted(name, value, quantity(name))) for name, value in given]
        self._parameters = tuple(_native.canonical(texts))
        _native.check(list(self._parameters))

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that are set, as text."""
        return {name.replace("-", "_"): value for name, value in self._parameters}

    def replace(self, **changes: Value) -> Run:
        """The same run with other values; `None` removes a parameter."""
        merged: dict[str, Value] = {**self.parameters, **self._data, **changes}
        return Run(**merged)

    def measure(self, seed: int = 1) -> dict[str, Measured]:
        """Runs once, and returns what was measured, by the names of `linkmend.metrics()`."""
        rows = _native.measure(list(self._parameters), seed)
        return {name: Measured(value, low, high) for name, value, low, high in rows}

    def to_toml(self) -> str:
        """The `[base]` of an experiment file for `linkmend sim run`."""
        lines = [f"{name} = {json.dumps(value)}" for name, value in self._parameters]
        return "\n".join(["[base]", *lines, ""])

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.parameters, self._data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash(self._parameters)

    def __repr__(self) -> str:
        return f"Run({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"


def _restored(parameters: Mapping[str, str], data: Mapping[str, Any]) -> Run:
    return Run(**{**parameters, **data})


def key(name: str) -> str:
    """The name of a parameter in declarations."""
    return name.replace("_", "-")


def quantity(name: str) -> str | None:
    """What the parameter of this name measures."""
    declared = by_name().get(key(name))
    return declared["quantity"] if declared else None
