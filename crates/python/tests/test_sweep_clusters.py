"""Sweeps on clusters of Dask and Ray that run here, and lose workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import linkmend
import pytest
from sweep_common import GRID, SEEDS, command, descendants, digest, quick_run, slow_run

Reference = Callable[[int], str]


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    """A client of a cluster with three processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[Any]:
    """Ray on this machine, with three processors."""
    ray = pytest.importorskip("ray")
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=3, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    yield ray
    ray.shutdown()


def test_dask_with_a_killed_worker(
    dask_client: Any, reference: Reference, small_partitions: int, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if done > 30 and not killed:
            killed.append(next(iter(dask_client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    linkmend.sweep(slow_run(), GRID, SEEDS, executor=dask_client, out=tmp_path, progress=kill_one)
    assert killed
    assert digest(tmp_path) == reference(small_partitions)


def test_dask_through_its_executor(dask_client: Any) -> None:
    found = linkmend.sweep(quick_run(), GRID, 3, executor=dask_client.get_executor(), workers=3)
    expected = linkmend.sweep(quick_run(), GRID, 3, workers=1)
    assert found.to_arrow().equals(expected.to_arrow())


def test_ray_with_a_killed_worker(
    ray_cluster: Any, reference: Reference, small_partitions: int, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if done > 30 and not killed:
            ours = [pid for pid in descendants(os.getpid()) if command(pid).startswith("ray::measure_units")]
            if ours:
                killed.append(ours[0])
                os.kill(ours[0], signal.SIGKILL)

    linkmend.sweep(slow_run(), GRID, SEEDS, executor="ray", out=tmp_path, progress=kill_one)
    assert killed
    assert digest(tmp_path) == reference(small_partitions)


def test_ray_that_does_not_repeat_tasks(
    ray_cluster: Any, reference: Reference, small_partitions: int, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_some(done: int, total: int) -> None:
        if done > 30 * (len(killed) + 1) and len(killed) < 2:
            ours = [pid for pid in descendants(os.getpid()) if command(pid).startswith("ray::measure_units")]
            if ours:
                killed.append(ours[0])
                os.kill(ours[0], signal.SIGKILL)

    executor = linkmend.RayExecutor(max_retries=0)
    linkmend.sweep(slow_run(), GRID, SEEDS, executor=executor, out=tmp_path, progress=kill_some)
    assert killed
    assert digest(tmp_path) == reference(small_partitions)
