"""Studies from Python and from the command line: the same numbers, errors that name what is wrong, and an interpreter that lives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import linkmend
import pytest
from hypothesis import given
from hypothesis import strategies as st

PROGRAM = os.environ.get("LINKMEND") or shutil.which("linkmend")


def command(*arguments: str) -> Any:
    """What the program prints with --json."""
    if PROGRAM is None:
        pytest.skip("######## SKIPPED: the command line, which LINKMEND=PATH names ########")
    # `reproduce` writes its report into the current folder.
    with tempfile.TemporaryDirectory() as folder:
        line = [PROGRAM, *arguments, "--json"]
        out = subprocess.run(line, capture_output=True, text=True, check=True, cwd=folder).stdout
    return json.loads(out)


def same(found: Any, expected: Any) -> None:
    """Compares to the last bit."""
    assert json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize(
    ("study", "keywords", "line"),
    [
        (linkmend.stress, {"loss": 1e-3, "frames": 50_000, "seed": 7}, "sim stress --loss 1e-3 --frames 50k --seed 7"),
        (
            linkmend.stress,
            {"speed": 400_000_000_000, "distance": 100, "scheme": "non-blocking", "frames": "50k", "mean_burst": 2.5},
            "sim stress --speed 400G --distance 100m --scheme non-blocking --frames 50k --mean-burst 2.5",
        ),
        (linkmend.llr, {"speed": "400G", "frames": "20k"}, "sim stress --scheme llr --speed 400G --frames 20k"),
        (
            linkmend.flows,
            {"trials": 300, "size": 24_387, "scheme": "ordered"},
            "sim flows --trials 300 --size 24387B --scheme ordered",
        ),
        (
            linkmend.flows,
            {"trials": 50, "pause": 0.001, "threads": 1},
            "sim flows --trials 50 --pause 1ms --threads 1",
        ),
        (linkmend.throughput, {"duration": "5ms", "speed": "10G"}, "sim flows --duration 5ms --speed 10G"),
        (
            linkmend.collective,
            {"size": "1MB", "topology": "leaf-spine:leaves=2,spines=2,hosts=2"},
            "sim flows --collective all-reduce-ring --size 1MB --topology leaf-spine:leaves=2,spines=2,hosts=2",
        ),
        (linkmend.links, {"hops": 2, "frames": "2k"}, "sim links --hops 2 --frames 2k"),
        (
            linkmend.timeline,
            {"duration": "10ms", "corruption_at": "2ms", "protection_at": 0.005, "sample": "1ms", "speed": "10G"},
            "sim timeline --duration 10ms --corruption-at 2ms --protection-at 5ms --sample 1ms --speed 10G",
        ),
        (linkmend.llr.plan, {"speed": 400e9, "cable": 50}, "sim llr plan --speed 400G --cable 50m"),
        (
            linkmend.fleet.simulate,
            {"topology": "fat-tree:k=8", "days": 30, "strategy": "protect+corropt"},
            "fleet simulate --topology fat-tree:k=8 --days 30 --strategy protect+corropt",
        ),
        (
            linkmend.fleet.deploy,
            {"topology": "fat-tree:k=4", "days": 30, "seeds": 2},
            "fleet deploy --topology fat-tree:k=4 --days 30 --seeds 2",
        ),
        (linkmend.rdma.model, {"loss": 0.01, "mechanisms": "all"}, "rdma model --loss 0.01 --mechanisms all"),
        (linkmend.rdma.plan, {"wanted": 1e-4, "size": "1024B"}, "rdma plan --wanted 1e-4 --size 1024B"),
    ],
)
def test_numbers_are_those_of_the_command_line(study: Any, keywords: dict[str, Any], line: str) -> None:
    same(study(**keywords).values, command(*line.split()))


def test_an_experiment_is_reproduced_with_its_tables_plots_and_points() -> None:
    found = linkmend.reproduce("fig8", quick=True)
    same(found.values, command("reproduce", "fig8", "--quick"))
    assert found.plots and len(found.series["fig8"]) > 1
    assert "Published" in repr(found)
    both = linkmend.reproduce("fig8", "table3", quick=True)
    assert [experiment["id"] for experiment in both["experiments"]] == ["fig8", "table3"]
    with pytest.raises(linkmend.ParameterError, match="no experiment `fig88`"):
        linkmend.reproduce("fig88")


def test_documentation_examples_hold() -> None:
    import doctest

    import linkmend._run

    for module in (linkmend, linkmend.data, linkmend._run):
        assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_a_plan_takes_links_and_a_network_from_python() -> None:
    corrupting = linkmend.data.Corrupting({"switch0--switch2": 1e-3, 17: 1e-5})
    plan = linkmend.fleet.plan(topology="fat-tree:k=4", links=corrupting)
    same(plan.values, command("fleet", "plan", "--topology", "fat-tree:k=4", "--links", corrupting.linkmend_file()))


@pytest.mark.parametrize(
    ("keywords", "parameter", "says"),
    [
        ({"loss": 2}, "loss", "a number from 0 to 1"),
        ({"loss": float("nan")}, "loss", "a number from 0 to 1"),
        ({"scheme": "both"}, "scheme", "must be one of none, ordered"),
        ({"speed": "100"}, "speed", "has no unit"),
        ({"speed": "0G"}, "speed", "must be"),
        ({"mean_burst": 2, "bit_errors": True}, "mean_burst", "cannot be combined with"),
        ({"losses": "/nonexistent"}, "losses", "cannot be read"),
        ({"frames": 0}, "frames", "at least one"),
        ({"seed": -1}, "seed", "invalid digit"),
    ],
)
def test_errors_name_parameter_value_and_requirement(keywords: dict[str, Any], parameter: str, says: str) -> None:
    with pytest.raises(linkmend.ParameterError) as caught:
        linkmend.stress(**keywords)
    error = caught.value
    assert error.parameter == parameter
    assert says in error.requirement
    assert str(error).startswith(f"{parameter} = {error.value}: ")


def test_keywords_that_do_not_exist_are_named_with_those_that_do() -> None:
    with pytest.raises(TypeError, match=r"no keyword 'los'; did you mean .*loss"):
        linkmend.stress(los=1e-3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="losses: the text is empty"):
        linkmend.stress(losses="")
    with pytest.raises(TypeError, match="must be True or False"):
        linkmend.stress(full="no")  # type: ignore[arg-type]


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["1e-3", "100G", "0", "-1"]),
)
NAMES = sorted(
    parameter["name"] for parameter in linkmend.parameters() if parameter["name"] not in ("topology", "program")
)


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=4))
def test_nothing_aborts_the_interpreter(keywords: dict[str, Any]) -> None:
    # A run that is valid must be short.
    try:
        linkmend.Run(**{**keywords, "variant": None})
    except (linkmend.ParameterError, TypeError, ValueError):
        pass


def test_the_levels_over_time_are_a_series_that_arrow_takes() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    found = linkmend.stress(frames="20k", series_step="1us")
    levels = pyarrow.table(found)
    assert levels.num_rows == len(found["levels"]["at"])
    assert max(found["levels"]["rx_buffer_max"]) == max(levels["rx_buffer_max"].to_pylist())
    assert levels.schema.field("rx_buffer_max").metadata == {b"unit": b"B"}
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(found.frame()).height == levels.num_rows
    assert found.to_pandas().shape == levels.shape
    assert "Rx buffer" in found.plots[0]


def test_the_columns_of_a_table_have_names_of_their_own() -> None:
    rows = linkmend.stress(frames="10k").to_pandas()
    assert list(rows.columns) == ["name", "value"]
    assert "effective speed" in set(rows["name"])
    # A table without columns has no rows, but is a table.
    nothing = linkmend.fleet.plan(topology="fat-tree:k=4", links=linkmend.data.Corrupting({}))
    assert all(len(table) >= 0 for table in nothing.tables)


def test_the_last_step_of_progress_is_the_last_one() -> None:
    seen: list[tuple[int, int]] = []
    linkmend.stress(frames="100k", progress=lambda done, steps: seen.append((done, steps)))
    assert seen[-1] == (100_000, 100_000)


def test_a_notebook_gets_tables_and_plots() -> None:
    found = linkmend.timeline(duration="10ms", corruption_at="2ms", protection_at="5ms", sample="1ms", speed="10G")
    shown = found._repr_html_()
    assert "goodput" in shown
    assert "<svg" in shown
    assert found.plots[0].startswith("<svg")
    assert len(found.series["samples"]) == len(found["samples"])


def test_progress_is_shown_and_ctrl_c_interrupts_within_a_second() -> None:
    program = (
        "import linkmend, sys\n"
        "try: linkmend.stress(frames='100G', full=True, progress=lambda done, steps: print(done, steps, flush=True))\n"
        "except KeyboardInterrupt: sys.exit(42)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.split()[1] == "100000000000"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        process.stdout.read()
        assert process.wait(timeout=30) == 42
        assert time.monotonic() - began < 10


def test_the_lock_of_the_interpreter_is_released() -> None:
    import threading

    counted = 0
    is_over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not is_over.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    linkmend.stress(frames="200k", full=True)
    linkmend._native.measure([("frames", "200k"), ("full", "yes")], 1)
    is_over.set()
    thread.join()
    assert counted > 10


def test_a_study_that_fails_says_why() -> None:
    with pytest.raises(linkmend.StudyError, match="cannot read /nonexistent"):
        linkmend.fleet.plan(topology="fat-tree:k=4", links="/nonexistent")
