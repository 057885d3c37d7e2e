"""Functions that set a few keywords of a study."""

from __future__ import annotations

from typing import Any

from ._result import Result
from ._studies import study
from ._text import Value

stress = study("sim stress", "Send frames at line rate over one corrupting link, and measure what the paper measured.")
flows = study("sim flows", "Run flows between hosts over a corrupting link, and measure their completion times.")
links = study("sim links", "Send frames over several links, or over one in both directions or both classes.")
timeline = study("sim timeline", "Run one endless flow over a link that begins to corrupt, and is protected later.")


def throughput(duration: Value = "1s", **keywords: Any) -> Result:
    """Run one endless flow for this time, and measure its throughput: `flows` without `load` and `trials`."""
    return flows(duration=duration, **keywords)


def collective(operation: Value = "all-reduce-ring", **keywords: Any) -> Result:
    """Run a collective operation of a training job on all hosts: `flows(collective=operation)`."""
    return flows(collective=operation, **keywords)


class Llr:
    """Ultra Ethernet's Link Layer Retry: `llr(...)` is `stress(scheme="llr", ...)`; `llr.plan` derives its registers."""

    plan = staticmethod(study("sim llr plan", "Derive the parameters of a port from its link, and show each step."))

    def __call__(self, **keywords: Any) -> Result:
        """Send frames at line rate over one link with LLR."""
        return stress(scheme="llr", **keywords)


llr = Llr()
