"""A model of how often corruption makes RDMA wait for a timeout."""

from __future__ import annotations

from ._studies import study

model = study("rdma model", "Compute how often each kind of timeout occurs, as published and exactly.")
plan = study("rdma plan", "Find the cheapest mechanisms that achieve a given rate of timeouts.")
check = study("rdma check", "Compare the model with the simulated transport.")

__all__ = ["check", "model", "plan"]
