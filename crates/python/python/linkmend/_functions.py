"""The functions of studies, by their modules: for each its study, and what it does."""

from __future__ import annotations

from ._studies import StudyFunction

FUNCTIONS = {
    "_presets": {
        "stress": (
            "sim stress",
            "Send frames at line rate over one corrupting link, and measure what the paper measured.",
        ),
        "flows": ("sim flows", "Run flows between hosts over a corrupting link, and measure their completion times."),
        "links": ("sim links", "Send frames over several links, or over one in both directions or both classes."),
        "experiment": ("sim run", "Run an experiment file: one run or a sweep, with plots and comparisons."),
        "reproduce": ("reproduce", 'Reproduce published evaluations, and compare the results: `reproduce("fig11")`.'),
        "timeline": (
            "sim timeline",
            "Run one endless flow over a link that begins to corrupt, and is protected later.",
        ),
    },
    "llr": {"plan": ("sim llr plan", "Derive the parameters of a port from its link, and show each step.")},
    "fleet": {
        "simulate": ("fleet simulate", "Simulate a network over a trace of corrupting links, and evaluate a strategy."),
        "plan": (
            "fleet plan",
            "Decide what to do about corrupting links now: which to disable, protect and repair first.",
        ),
        "deploy": ("fleet deploy", "Rank pods by the loss that upgrading them would prevent."),
        "show": ("fleet show", "Show how a network file is interpreted."),
    },
    "rdma": {
        "model": ("rdma model", "Compute how often each kind of timeout occurs, as published and exactly."),
        "plan": ("rdma plan", "Find the cheapest mechanisms that achieve a given rate of timeouts."),
        "check": ("rdma check", "Compare the model with the simulated transport."),
    },
}


def functions(module: str) -> list[StudyFunction]:
    """Those of a module, in their order."""
    return [StudyFunction(*of) for of in FUNCTIONS[module].values()]
