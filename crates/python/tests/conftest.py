"""Fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import linkmend
import pytest
from hypothesis import settings
from sweep_common import GRID, SEEDS, digest, slow_run

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], str]:
    """The digest of the sweep of `slow_run` over `GRID` with one worker, by the size of partitions."""
    digests: dict[int, str] = {}

    def find(partition_units: int) -> str:
        if partition_units not in digests:
            out = Path(tmp_path_factory.mktemp("reference"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("linkmend._sweep.plan.PARTITION_UNITS", partition_units)
                linkmend.sweep(slow_run(), GRID, SEEDS, workers=1, out=out)
            digests[partition_units] = digest(out)
        return digests[partition_units]

    return find


@pytest.fixture
def small_partitions(monkeypatch: pytest.MonkeyPatch) -> int:
    """Partitions of 25 units."""
    monkeypatch.setattr("linkmend._sweep.plan.PARTITION_UNITS", 25)
    return 25
