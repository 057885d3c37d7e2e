"""Long sweeps, which run if LINKMEND_ACCEPTANCE=1."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import linkmend
import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("LINKMEND_ACCEPTANCE") != "1", reason="takes ten minutes; set LINKMEND_ACCEPTANCE=1"
)

POINTS = int(os.environ.get("LINKMEND_ACCEPTANCE_POINTS", "1000000"))
MOST_MEMORY_MIB = 3000


def test_a_million_points_on_dask_with_killed_workers(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    side = max(2, round(POINTS**0.5))
    grid = {
        "loss": [1e-7 * (1 + index) for index in range(side)],
        "reverse_loss": [1e-7 * index for index in range(side)],
    }
    units = side * side
    killed: list[int] = []
    start = time.monotonic()
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill_some(done: int, total: int) -> None:
            if done > units * (len(killed) + 1) // 4 and len(killed) < 3:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[-1], signal.SIGKILL)

        run = linkmend.Run(frames=1)
        result = linkmend.sweep(run, grid, executor=client, out=tmp_path, progress=kill_some)
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{units} points in {seconds:.0f} s, {len(killed)} workers killed, peak memory {peak:.0f} MiB")
    assert len(killed) == 3
    assert peak < MOST_MEMORY_MIB
    assert len(result) == units
    following = 0
    for entry in json.loads((tmp_path / "manifest.json").read_text())["partitions"]:
        points = _points(tmp_path / entry["file"])
        assert points == list(range(following, following + len(points)))
        following += len(points)
    assert following == units


def _points(path: Path) -> list[int]:
    from pyarrow import parquet

    points: list[int] = parquet.read_table(path, columns=["point"])["point"].to_pylist()
    return points
