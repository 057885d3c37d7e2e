"""Sweeps: their results, the same with every executor."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import linkmend
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linkmend import _native
from sweep_common import GRID, SEEDS, UNITS, digest, quick_run, slow_run

Reference = Callable[[int], str]


@pytest.mark.parametrize("options", [{"workers": 2}, {"workers": 3, "chunk": 7}], ids=str)
def test_process_pools_write_the_same_bytes(
    reference: Reference, small_partitions: int, tmp_path: Path, options: dict[str, Any]
) -> None:
    linkmend.sweep(slow_run(), GRID, SEEDS, out=tmp_path, **options)
    assert digest(tmp_path) == reference(small_partitions)


def test_threads_write_the_same_bytes(reference: Reference, small_partitions: int, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        linkmend.sweep(slow_run(), GRID, SEEDS, executor=executor, out=tmp_path)
    assert digest(tmp_path) == reference(small_partitions)


class Unreliable(Executor):
    """Completes tasks in random order, of which it loses some."""

    def __init__(self, seed: int, losses: int) -> None:
        self._random = random.Random(seed)
        self._losses = losses
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    capacity = 3

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._wake:
            self._waiting.append((future, lambda: function(*arguments, **named)))
            self._wake.notify()
        return future

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting)
                future, task = self._waiting.pop(self._random.randrange(len(self._waiting)))
            if not future.set_running_or_notify_cancel():
                continue
            if self._losses and self._random.random() < 0.3:
                self._losses -= 1
                future.set_exception(ConnectionError("worker lost"))
            else:
                future.set_result(task())


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    losses=st.integers(0, 3),
    chunk=st.one_of(st.none(), st.integers(1, 9)),
    until=st.sampled_from([None, {"actual_loss_rate": 0.4}]),
)
def test_neither_order_nor_losses_change_the_results(
    small_partitions: int, seed: int, losses: int, chunk: int | None, until: dict[str, float] | None
) -> None:
    seeds = (2, 9) if until else 5
    run = linkmend.Run(frames=3000)
    grid: dict[str, list[Any]] = {"loss": [0.01, 0.02, 0.1], "scheme": ["ordered", "none"]}
    found = linkmend.sweep(run, grid, seeds, executor=Unreliable(seed, losses), chunk=chunk, until=until)
    with ThreadPoolExecutor(1) as executor:
        expected = linkmend.sweep(run, grid, seeds, executor=executor, until=until)
    assert found.to_arrow().equals(expected.to_arrow(), check_metadata=True)


class SecondPointKills(Executor):
    """Loses every task with the second point."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if any(values == ("2e-3",) for values, _ in arguments[1]):
            future.set_exception(ConnectionError("worker lost"))
        else:
            future.set_result(function(*arguments, **named))
        return future


def test_a_unit_whose_workers_are_always_lost_is_named() -> None:
    with pytest.raises(linkmend.SweepError, match=r"point 1 \(loss=2e-3\), seed 7: .* lost 4 times"):
        linkmend.sweep(quick_run(), {"loss": [0.001, 0.002]}, [7], executor=SecondPointKills(), chunk=2)


def test_rows_are_the_measured_values() -> None:
    run = quick_run()
    grid: dict[str, list[Any]] = {"loss": [0.01, 0.1], "speed": ["25G", "100G"]}
    table = linkmend.sweep(run, grid, [3, 1], workers=1).to_arrow()
    rows = table.to_pylist()
    expected = [(p, loss, speed, seed) for p, (loss, speed) in enumerate(_product(grid)) for seed in (3, 1)]
    assert [(row["point"], row["loss"], row["speed"], row["seed"]) for row in rows] == expected
    for row in rows:
        point = run.replace(loss=row["loss"], speed=row["speed"])
        for name, (value, low, high) in point.measure(row["seed"]).items():
            assert (row[name], row.get(f"{name}_low"), row.get(f"{name}_high")) == (value, low, high)


def _product(grid: dict[str, list[Any]]) -> list[tuple[Any, Any]]:
    return [(loss, speed) for loss in grid["loss"] for speed in grid["speed"]]


def test_results_can_be_read_by_other_tools(small_partitions: int, tmp_path: Path) -> None:
    result = linkmend.sweep(quick_run(), {"loss": [0.01, 0.02, 0.1]}, 12, workers=1, out=tmp_path)
    table = result.to_arrow()
    assert len(result) == len(table) == 36
    assert pa.RecordBatchReader.from_stream(result).read_all().equals(table)
    assert result.to_pandas()["loss"].nunique() == 3
    assert linkmend.read_sweep(tmp_path).to_arrow().equals(table)
    assert table.schema.field("effective_speed_gbps").metadata[b"unit"]
    assert "<table>" in result._repr_html_() and "36 rows" in result._repr_html_()


def test_a_summary_has_the_mean_of_each_point() -> None:
    result = linkmend.sweep(linkmend.Run(frames=2000), {"loss": [0.01, 0.1]}, 5, workers=1)
    summary = result.summary().to_pandas()
    rows = result.to_pandas()
    assert list(summary["seeds"]) == [5, 5]
    for point in (0, 1):
        values = rows[rows["point"] == point]["actual_loss_rate"]
        half = 2.7764451052 * values.std() / 5**0.5
        found = summary.loc[point, ["actual_loss_rate_low", "actual_loss_rate_high"]]
        assert list(found) == pytest.approx([values.mean() - half, values.mean() + half])


def test_a_parameter_and_a_metric_may_have_the_same_name(tmp_path: Path) -> None:
    result = linkmend.sweep(linkmend.Run(frames=2000), {"copies": [1, 2]}, 2, workers=1, out=tmp_path)
    rows = linkmend.read_sweep(tmp_path).to_pandas()
    assert list(rows["parameter_copies"]) == [1, 1, 2, 2]
    assert list(result.summary().to_pandas()["copies"]) == list(rows.groupby("point")["copies"].mean())


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    linkmend.sweep(quick_run(), GRID, SEEDS, workers=1, progress=lambda *counts: seen.append(counts))
    assert seen == sorted(seen) and seen[-1] == (UNITS, UNITS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"grid": {"loss": [0.1, 2, "x"]}},
            r"2 of 3 points.*\n.*point 1 \(loss=2\).*\n.*point 2 \(loss='x'\)",
        ),
        ({"grid": {"nothing": [1]}}, "nothing"),
        ({"grid": {"loss": 0.1}}, r"such as \[0.1\]"),
        ({"grid": {"loss": []}}, "at least one value"),
        ({"grid": []}, "at least one point"),
        ({"grid": "loss"}, "must map parameters"),
        ({"grid": {"seed": [1]}}, "pass seeds="),
        ({"seeds": 0}, "seeds=0"),
        ({"seeds": [1, 1]}, "twice"),
        ({"seeds": [-1]}, "-1"),
        ({"seeds": "many"}, "many"),
        ({"seeds": 3, "until": {"actual_loss_rate": 0.1}}, r"\(minimum, maximum\)"),
        ({"seeds": (2, 3), "until": {"nothing": 0.1}}, "nothing"),
        ({"seeds": (2, 3), "until": {"actual_loss_rate": 0}}, "above 0"),
        ({"workers": 0}, "workers=0"),
        ({"chunk": 0}, "chunk=0"),
        ({"executor": 3}, "executor is a int"),
    ],
    ids=str,
)
def test_invalid_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(linkmend.SweepError, match=f"(?s){message}") as error:
        linkmend.sweep(**{"run": quick_run(), "grid": {"loss": [0.1]}, "workers": 1, **arguments})
    assert isinstance(error.value, ValueError)


def test_seeds_and_values_may_be_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    found = linkmend.sweep(
        quick_run(), {"loss": numpy.array([0.01, 0.1])}, numpy.arange(3), executor=ThreadPoolExecutor(1)
    )
    expected = linkmend.sweep(quick_run(), {"loss": [0.01, 0.1]}, [0, 1, 2], executor=ThreadPoolExecutor(1))
    assert found.to_arrow().equals(expected.to_arrow())


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "identity", lambda: "another")
    with pytest.raises(linkmend.SweepError, match=r"the worker has .*, and the sweep another"):
        linkmend.sweep(quick_run(), {"loss": [0.1]}, workers=1)
