"""Compares a sweep of the smallest runs in a process pool with a loop over the same runs.

    python sweep_overhead.py [--points 20000] [--workers 1]

Prints the time per point of both, and their difference, which is to stay below one millisecond. With `--dask`, the
sweep runs on a local cluster instead, and writes files: 1,000,000 points are the acceptance length.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from importlib import import_module
from typing import Any

import linkmend
from linkmend import _native

MOST_MS = 1.0


def smallest() -> linkmend.Run:
    """A run of a single frame."""
    return linkmend.Run(frames=1)


def grid(points: int) -> dict[str, list[float]]:
    """About this many points."""
    side = max(1, round(points**0.5))
    return {"loss": [1e-5 * (1 + index) for index in range(side)], "reverse_loss": [1e-6 * i for i in range(side)]}


def in_a_loop(points: dict[str, list[float]]) -> float:
    """Seconds to measure all points one after the other, without anything else."""
    texts = [
        [("frames", "1"), ("loss", str(loss)), ("reverse-loss", str(reverse))]
        for loss in points["loss"]
        for reverse in points["reverse_loss"]
    ]
    start = time.perf_counter()
    for parameters in texts:
        _native.measure(parameters, 1)
    return time.perf_counter() - start


def in_a_sweep(run: linkmend.Run, points: dict[str, list[float]], **options: Any) -> float:
    """Seconds of a sweep, including its checks, the start of processes, and its files."""
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        result = linkmend.sweep(run, points, out=out, **options)
        seconds = time.perf_counter() - start
        assert len(result) == len(points["loss"]) * len(points["reverse_loss"])
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--dask", action="store_true")
    arguments = parser.parse_args()
    run, points = smallest(), grid(arguments.points)
    count = len(points["loss"]) * len(points["reverse_loss"])
    if arguments.dask:
        distributed: Any = import_module("distributed")
        with (
            distributed.LocalCluster(n_workers=arguments.workers, threads_per_worker=1) as cluster,
            distributed.Client(cluster) as client,
        ):
            seconds = in_a_sweep(run, points, executor=client, progress=True)
        print(f"{count} points in {seconds:.1f} s: {1e3 * seconds / count:.3f} ms each")
    else:
        loop = 1e3 * in_a_loop(points) / count
        swept = 1e3 * in_a_sweep(run, points, workers=arguments.workers) / count
        overhead = swept - loop / arguments.workers
        print(f"{count} points: loop {loop:.3f} ms, sweep {swept:.3f} ms, overhead {overhead:.3f} ms per point")
        assert overhead < MOST_MS, f"more than {MOST_MS} ms"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this process {peak:.0f} MiB")


if __name__ == "__main__":
    main()
