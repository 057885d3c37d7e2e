"""Sweeps whose workers are killed, and sweeps that are interrupted themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import linkmend
import pytest
from sweep_common import GRID, SEEDS, digest, is_running, pool_workers, slow_run, wait_for

Reference = Callable[[int], str]

SCRIPT = """
import sys
from sweep_common import GRID, SEEDS, slow_run
import linkmend
from linkmend._sweep import plan

if __name__ == "__main__":
    plan.PARTITION_UNITS = 25
    try:
        linkmend.sweep(slow_run(), GRID, SEEDS, workers=2, out=sys.argv[1])
    except KeyboardInterrupt:
        sys.exit(17)
"""


def test_a_killed_worker_of_the_pool_loses_nothing(reference: Reference, small_partitions: int, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if done > 30 and not killed:
            killed.append(pool_workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    linkmend.sweep(slow_run(), GRID, SEEDS, workers=2, out=tmp_path, progress=kill_one)
    assert killed
    assert digest(tmp_path) == reference(small_partitions)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_goes_on(
    reference: Reference, small_partitions: int, tmp_path: Path, number: signal.Signals
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    out = tmp_path / "out"
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen([sys.executable, script, out], env={**os.environ, "PYTHONPATH": path})
    wait_for(lambda: list(out.glob("part-*")) and any(file.stat().st_size for file in out.glob("journal/*.rows")))
    workers = pool_workers(child.pid)
    assert workers
    child.send_signal(number)
    assert child.wait(30) == (17 if number == signal.SIGINT else -number)
    wait_for(lambda: not any(map(is_running, workers)))
    seen: list[int] = []
    linkmend.sweep(slow_run(), GRID, SEEDS, workers=2, out=out, progress=lambda done, total: seen.append(done))
    assert seen[0] > 25, "the sweep did not start again"
    assert digest(out) == reference(small_partitions)


def test_a_script_without_a_guard_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text('import linkmend\nlinkmend.sweep(linkmend.Run(), {"loss": [0.1]}, workers=1)\n')
    child = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True, timeout=60)
    assert child.returncode != 0
    assert "needs `if __name__" in child.stderr.splitlines()[-1]
    assert "called while a worker imported the script" in child.stderr


def test_ctrl_c_cancels_what_runs() -> None:
    timers = [threading.Timer(1, signal.raise_signal, [signal.SIGINT])]

    def interrupt(done: int, total: int) -> None:
        if timers:
            timers.pop().start()

    with pytest.raises(KeyboardInterrupt):
        linkmend.sweep(slow_run().replace(frames="1000M"), GRID, SEEDS, workers=2, progress=interrupt)
    wait_for(lambda: not pool_workers(), seconds=10)
