"""Values of Python as the text that declarations expect."""

from __future__ import annotations

import os
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from ._data import Data

Value = Union[str, bool, int, float, "os.PathLike[str]", "Data", Iterable[object], None]
"""What a parameter takes: text with a unit, a number in the unit that its documentation names, a flag, a path, or data."""

UNITS = {"rate": "bit/s", "size": "B", "time": "s", "distance": "m", "attenuation": "dB"}
"""Units of numbers, for each quantity that has one."""


def written(value: object, quantity: str | None) -> str:
    """The value as text. Numbers get the unit of their quantity."""
    if isinstance(value, str):
        return value
    if hasattr(value, "linkmend_file"):
        return str(value.linkmend_file())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "__index__"):
        return f"{value.__index__()}{UNITS.get(quantity or '', '')}"
    if isinstance(value, float) or hasattr(value, "__float__"):
        return number(float(value)) + UNITS.get(quantity or "", "")  # type: ignore[arg-type]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable):
        return ",".join(written(part, quantity) for part in value)
    raise TypeError(f"{value!r} is neither text, nor a number, nor a path")


def number(value: float) -> str:
    """All digits, without an exponent: units follow it."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value.is_integer():
        return str(int(value))
    return format(Decimal(repr(value)), "f")
