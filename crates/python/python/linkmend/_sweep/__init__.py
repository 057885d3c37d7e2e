"""Runs at many points, with many seeds, on one machine or many."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkmend import _native

from .._run import Run
from .columns import Columns
from .errors import SweepError, SweepValueError
from .executors import open_backend
from .folder import Folder
from .plan import Plan
from .points import Grid, read_points
from .progress import Progress, reporting
from .ray_executor import RayExecutor
from .result import Files, InMemory, SweepResult, read_sweep
from .scheduler import Scheduler
from .seeds import SeedsArgument, read_seeds
from .store import Memory, Store
from .worker import Job, file_digest

__all__ = ["RayExecutor", "SweepError", "SweepResult", "SweepValueError", "read_sweep", "sweep"]


def sweep(
    run: Run,
    grid: Grid,
    seeds: SeedsArgument = 1,
    *,
    executor: Any = None,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress = None,
    until: Mapping[str, float] | None = None,
    chunk: int | None = None,
) -> SweepResult:
    """Runs `run` at every point of `grid` with every seed.

    `grid` maps parameters to lists of values, of which every combination is a point, or is a list of points,
    each a mapping. `seeds` is a number N (seeds 1 to N), or the seeds themselves. All points are checked
    before anything runs.

    `executor` is None (a process pool on this machine), a `concurrent.futures.Executor` (such as a thread
    pool, or mpi4py's `MPIPoolExecutor`), a client of Dask, or `"ray"` (or `RayExecutor(...)` for options of
    its tasks). `workers` is the number of processes of the pool, or of tasks that an executor runs
    concurrently, if it does not say so itself.

    With `out`, a folder, results are written to Parquet files there. They are a function of the run, grid,
    seeds and versions only, whatever the executor. If a sweep is interrupted, repeat the call: it goes on
    where it was. Without `out`, results stay in memory.

    With `until`, a mapping from metrics to relative half-widths such as `{"effective_loss_rate": 0.05}`, and
    `seeds=(minimum, maximum)`, each point runs until the 95 % intervals of these means are narrow enough.

    `progress` is True (a bar of tqdm), or a function that is called with the numbers of units that are done
    and in total. `chunk` sets the number of units per task, which is otherwise chosen such that a task takes
    half a second.

    Raises `SweepValueError` (a `ValueError`) for invalid arguments, and `SweepError` if a run fails, naming
    its point and seed, or if `out` holds something else.
    """
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1):
        raise SweepValueError(f"chunk={chunk!r}: must be a whole number from 1")
    described = _native.metrics()
    plan = _plan(run, grid, seeds, until, tuple(metric["name"] for metric in described))
    job = Job.of(plan.base, plan.points.names, plan.metrics, _files(plan))
    columns = Columns(plan, job.identity, described)
    if out is None:
        memory = Memory(columns)
        _run(plan, job, memory, executor, workers, progress, chunk)
        return SweepResult(InMemory(list(memory.partitions.values())), plan.varied)
    path = Path(out)
    folder = Folder(path, _description(plan, job), columns, plan.metrics)
    try:
        _run(plan, job, folder, executor, workers, progress, chunk)
    finally:
        folder.close()
    return SweepResult(Files(path), plan.varied)


def _plan(
    run: Run,
    grid: Grid,
    seeds: SeedsArgument,
    until: Mapping[str, float] | None,
    metrics: tuple[str, ...],
) -> Plan:
    points = read_points(run, grid)
    return Plan(dict(run.parameters), points, read_seeds(seeds, until, metrics), metrics)


def _run(
    plan: Plan,
    job: Job,
    store: Store,
    executor: Any,
    workers: int | None,
    progress: Progress,
    chunk: int | None,
) -> None:
    backend = open_backend(executor, workers)
    with reporting(progress) as report:
        Scheduler(plan, job, store, backend, chunk).run(report)
    backend.close()


def _description(plan: Plan, job: Job) -> dict[str, Any]:
    """What the results are a function of."""
    return {
        "files": dict(job.files),
        "linkmend": job.identity,
        "metrics": list(plan.metrics),
        "partition_units": plan.partition_units,
        "points": plan.points.describe(),
        "run": dict(plan.base),
        "seeds": plan.seeds.describe(),
        "varied": list(plan.varied),
    }


def _files(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The files that parameters name, with the SHA-256 of their contents."""
    texts = set(plan.base.values())
    for name in plan.points.names:
        texts.update(text for text in plan.points.texts(name) if text is not None)
    return tuple((text, file_digest(text)) for text in sorted(texts) if os.path.isfile(text))
