"""Values of Python as the text that declarations expect."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol, SupportsFloat, SupportsIndex, Union, runtime_checkable

if TYPE_CHECKING:
    from .data import Data

Value = Union[str, bool, int, float, "os.PathLike[str]", "Data", Iterable[object], None]
"""What a parameter takes: text with a unit, a number in the unit that its documentation names, a flag, a path, or data."""


@runtime_checkable
class Stored(Protocol):
    """Data that stands for a file, such as those of `linkmend.data`."""

    def linkmend_file(self) -> str:
        """The file."""


Path = Union[str, "os.PathLike[str]", Stored]
Number = str | float
"""What keywords take that name files, and those that have a quantity; stubs use them."""

UNITS = {"rate": "bit/s", "size": "B", "time": "s", "distance": "m", "attenuation": "dB"}
"""Units of numbers, for each quantity that has one."""


def written(value: object, quantity: str | None) -> str:
    """The value as text. Numbers get the unit of their quantity."""
    value = plain(value)
    if isinstance(value, str):
        if not value:
            raise ValueError("the text is empty; leave the keyword out, or give None")
        return value
    if isinstance(value, Stored):
        return value.linkmend_file()
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = UNITS.get(quantity or "", "")
    if isinstance(value, SupportsIndex) and not hasattr(value, "shape"):
        return f"{value.__index__()}{unit}"
    if isinstance(value, SupportsFloat) and not hasattr(value, "shape"):
        return number(float(value)) + unit
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, dict)) and getattr(value, "ndim", 1) == 1:
        return ",".join(written(part, quantity) for part in value)
    raise TypeError(f"{value!r} is neither text, nor a number, nor a path, nor data of linkmend.data")


def texted(name: str, value: object, quantity: str | None) -> str:
    """The value of this keyword as text; errors name it."""
    try:
        return written(value, quantity)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def plain(value: object) -> object:
    """The value as an object of Python, if it is one of NumPy's numbers or truth values."""
    item = getattr(value, "item", None)
    if item is None or getattr(value, "shape", None) != ():
        return value
    return item()


def number(value: float) -> str:
    """All digits, without an exponent: units follow it."""
    if not math.isfinite(value):
        return str(value)
    if value.is_integer():
        return str(int(value))
    return format(Decimal(repr(value)), "f")
