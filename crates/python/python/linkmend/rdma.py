"""A model of how often corruption makes RDMA wait for a timeout."""

from __future__ import annotations

from ._functions import functions

model, plan, check = functions("rdma")

__all__ = ["check", "model", "plan"]
