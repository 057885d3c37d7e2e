"""Networks of many links over time: which of them to disable, protect and repair."""

from __future__ import annotations

from ._functions import functions

simulate, plan, deploy, show = functions("fleet")

__all__ = ["deploy", "plan", "show", "simulate"]
