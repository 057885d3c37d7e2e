"""Functions that set a few keywords of a study."""

from __future__ import annotations

from typing import Any

from ._functions import functions
from ._result import Result
from ._text import Value

stress, flows, links, experiment, reproduce, timeline = functions("_presets")


def throughput(duration: Value = "1s", **keywords: Any) -> Result:
    """Run one endless flow for this time, and measure its throughput: `flows` without `load` and `trials`."""
    return flows(duration=duration, **keywords)


def collective(operation: Value = None, **keywords: Any) -> Result:
    """Run a collective operation of a training job on all hosts: `flows(collective=operation)`.

    Unless there is a `program`, the operation is `all-reduce-ring`.
    """
    if operation is None and keywords.get("program") is None:
        operation = "all-reduce-ring"
    return flows(collective=operation, **keywords)


class Llr:
    """Ultra Ethernet's Link Layer Retry: `llr(...)` is `stress(scheme="llr", ...)`; `llr.plan` derives its registers."""

    plan = staticmethod(functions("llr")[0])

    def __call__(self, **keywords: Any) -> Result:
        """Send frames at line rate over one link with LLR."""
        if keywords.pop("scheme", "llr") != "llr":
            raise TypeError("llr() has the scheme `llr`: use stress(scheme=...) for another one")
        return stress(scheme="llr", **keywords)


llr = Llr()
