"""Linkmend's simulator and fleet studies.

Links that corrupt frames retransmit them locally, within microseconds, so that hosts never notice. This package simulates
such links, hosts behind them, and fleets of links, with the code that guards real ones.

>>> import linkmend
>>> result = linkmend.stress(speed="100G", loss=1e-3, scheme="ordered", frames="1M", seed=1)
>>> result.frames_undelivered
0

`stress`, `flows`, `links`, `timeline`, `throughput`, `collective` and `llr` simulate links; `fleet` simulates and plans
networks of many links; `rdma` has a model of timeouts. `Run` is one run, and `sweep` measures many of them.
"""

from __future__ import annotations

from . import data, fleet, rdma
from ._declared import metrics, parameters
from ._frame import Frame
from ._native import ParameterError, StudyError, __version__
from ._presets import collective, experiment, flows, links, llr, reproduce, stress, throughput, timeline
from ._result import Result
from ._run import Measured, Run
from ._sweep import RayExecutor, SweepError, SweepResult, SweepValueError, read_sweep, sweep

# An error that names no parameter says so.
for _name in ("parameter", "value", "requirement", "hint"):
    setattr(ParameterError, _name, None)

__all__ = [
    "Frame",
    "Measured",
    "ParameterError",
    "RayExecutor",
    "Result",
    "Run",
    "StudyError",
    "SweepError",
    "SweepResult",
    "SweepValueError",
    "__version__",
    "collective",
    "data",
    "experiment",
    "fleet",
    "flows",
    "links",
    "llr",
    "metrics",
    "parameters",
    "rdma",
    "read_sweep",
    "reproduce",
    "stress",
    "sweep",
    "throughput",
    "timeline",
]
