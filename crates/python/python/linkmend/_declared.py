"""The declarations of parameters and metrics."""

from __future__ import annotations

import functools
from typing import Any

from . import _native


@functools.cache
def by_name() -> dict[str, dict[str, Any]]:
    """The parameters of runs, by name."""
    return {parameter["name"]: parameter for parameter in _native.parameters()}


def parameters() -> list[dict[str, Any]]:
    """The parameters of runs: name, label, quantity, help, section, words, and the kinds of runs that have it."""
    return [{**parameter, "name": parameter["name"].replace("-", "_")} for parameter in by_name().values()]


def metrics() -> list[dict[str, Any]]:
    """What runs measure: name, label, quantity and unit."""
    return _native.metrics()
