"""Errors of sweeps."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep that cannot start or go on; the message says why, and how to proceed."""


class SweepValueError(SweepError, ValueError):
    """A grid, seed or option that is not valid; nothing has run."""
