"""Networks of many links over time: which of them to disable, protect and repair."""

from __future__ import annotations

from ._studies import study

simulate = study("fleet simulate", "Simulate a network over a trace of corrupting links, and evaluate a strategy.")
plan = study("fleet plan", "Decide what to do about corrupting links now: which to disable, protect and repair first.")
deploy = study("fleet deploy", "Rank pods by the loss that upgrading them would prevent.")
show = study("fleet show", "Show how a network file is interpreted.")

__all__ = ["deploy", "plan", "show", "simulate"]
