"""Folders with results: what is refused, repaired and continued."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import linkmend
import pyarrow
import pytest
from linkmend import _native
from linkmend._sweep import worker
from sweep_common import digest, quick_run

GRID: dict[str, list[Any]] = {"loss": [0.01, 0.02, 0.1]}
SEEDS = 20


def run_here(out: Path, grid: Any = None, seeds: Any = SEEDS, run: Any = None) -> linkmend.SweepResult:
    """A sweep in threads, which see what a test patches."""
    with ThreadPoolExecutor(2) as executor:
        return linkmend.sweep(run or quick_run(), grid or GRID, seeds, executor=executor, out=out)


def test_the_manifest_lists_all_files(small_partitions: int, tmp_path: Path) -> None:
    run_here(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["complete"]
    assert manifest["sweep"]["linkmend"] == _native.identity()
    assert list(map(float, manifest["sweep"]["points"]["axes"]["loss"])) == GRID["loss"]
    assert [entry["rows"] for entry in manifest["partitions"]] == [25, 25, 10]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest.json",
        *(entry["file"] for entry in manifest["partitions"]),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": SEEDS + 1}, "its seeds is"),
        ({"grid": {"loss": [0.01]}}, "its points is"),
        ({"grid": [{"loss": 0.01}, {"loss": 0.02}, {"loss": 0.1}]}, "its points is"),
        ({"run": linkmend.Run(frames=201)}, "its run is"),
    ],
    ids=str,
)
def test_another_sweep_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    run_here(tmp_path)
    before = digest(tmp_path)
    with pytest.raises(linkmend.SweepError, match=f"holds another sweep: {message}.*Choose another folder"):
        run_here(tmp_path, **change)
    assert digest(tmp_path) == before


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(tmp_path)
    monkeypatch.setattr(_native, "identity", lambda: "another")
    with pytest.raises(linkmend.SweepError, match=r"its linkmend is .*, not another"):
        run_here(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(pyarrow, "__version__", "0.1")
    with pytest.raises(linkmend.SweepError, match=r"its pyarrow is .*, not 0.1"):
        run_here(tmp_path)


def test_files_that_parameters_name_belong_to_the_sweep(tmp_path: Path) -> None:
    losses, out = tmp_path / "losses.txt", tmp_path / "out"
    losses.write_text("3\n")
    run = linkmend.Run(frames=200, losses=losses)
    run_here(out, {"copies": [1]}, run=run)

    class ChangesTheFile(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            losses.write_text("5\n")
            return super().submit(function, *arguments, **named)

    worker._mismatch.cache_clear()
    with (
        ChangesTheFile(1) as executor,
        pytest.raises(linkmend.SweepError, match=r"losses.txt has other contents on the worker"),
    ):
        linkmend.sweep(run, {"copies": [2]}, executor=executor)
    with pytest.raises(linkmend.SweepError, match="another sweep: its files is"):
        run_here(out, {"copies": [1]}, run=run)


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(linkmend.SweepError, match=r"contains thesis.tex"):
        run_here(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(linkmend.SweepError, match="not the manifest of a sweep"):
        run_here(tmp_path)


def test_two_sweeps_cannot_write_to_one_folder(tmp_path: Path) -> None:
    def second(done: int, total: int) -> None:
        with pytest.raises(linkmend.SweepError, match="in use by another sweep"):
            run_here(tmp_path)

    linkmend.sweep(quick_run(), GRID, workers=1, out=tmp_path, progress=second)


def test_damaged_and_missing_files_are_computed_again(small_partitions: int, tmp_path: Path) -> None:
    run_here(tmp_path)
    before = digest(tmp_path)
    (tmp_path / "part-000000.parquet").write_bytes(b"damaged")
    (tmp_path / "part-000002.parquet").unlink()
    (tmp_path / ".part-000002.parquet.tmp").write_bytes(b"incomplete")
    run_here(tmp_path)
    assert digest(tmp_path) == before


def test_an_incomplete_sweep_cannot_be_read_but_goes_on(
    small_partitions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(tmp_path / "whole")
    measure, calls = _native.measure, 0

    def fail_at_40(parameters: Any, seed: int) -> Any:
        nonlocal calls
        calls += 1
        if calls == 40:
            raise RuntimeError("no more memory")
        return measure(parameters, seed)

    monkeypatch.setattr(_native, "measure", fail_at_40)
    with (
        pytest.raises(linkmend.SweepError, match=r"point 1 \(loss=0.02\), seed 20: no more memory"),
        ThreadPoolExecutor(1) as executor,
    ):
        linkmend.sweep(quick_run(), GRID, SEEDS, executor=executor, out=tmp_path / "part")
    with pytest.raises(linkmend.SweepError, match="holds an incomplete sweep"):
        linkmend.read_sweep(tmp_path / "part")
    calls = 100
    run_here(tmp_path / "part")
    assert calls == 100 + 60 - 39, "units that were recorded are not measured again"
    assert digest(tmp_path / "part") == digest(tmp_path / "whole")
