"""Properties of the parts of a sweep."""

from __future__ import annotations

import itertools
import random
from array import array
from pathlib import Path

import linkmend
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linkmend._sweep import plan as plans
from linkmend._sweep.chunks import MOST_UNITS, ChunkSize
from linkmend._sweep.journal import Journal
from linkmend._sweep.plan import Plan
from linkmend._sweep.points import Points, read_points
from linkmend._sweep.seeds import Seeds
from linkmend._sweep.student import t_quantile
from linkmend._sweep.worklist import Worklist

axes = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), max_size=4)


@given(axes)
def test_points_are_numbered_like_a_product(values: list[list[str]]) -> None:
    names = tuple(f"p{index}" for index in range(len(values)))
    points = Points(names, tuple(map(tuple, values)), ())
    assert [points[index] for index in range(len(points))] == list(itertools.product(*values))


@given(
    st.lists(st.floats(0, 0.5), min_size=1, max_size=5),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=3),
)
def test_a_grid_and_the_list_of_its_points_are_the_same(losses: list[float], frames: list[int]) -> None:
    run = linkmend.Run()
    crossed = read_points(run, {"loss": losses, "frames": frames})
    listed = read_points(run, [{"loss": loss, "frames": count} for loss in losses for count in frames])
    assert [crossed[index] for index in range(len(crossed))] == list(listed.listed)


@given(
    points=st.integers(1, 8),
    least=st.integers(2, 4),
    more=st.integers(0, 12),
    partition=st.integers(1, 40),
    adaptive=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_every_unit_is_collected_once(
    points: int, least: int, more: int, partition: int, adaptive: bool, seed: int
) -> None:
    most = least + more
    seeds = Seeds(range(1, most + 1), least, (("m", 0.1),)) if adaptive else Seeds(range(1, most + 1), most)
    described = Points(("p",), (tuple(map(str, range(points))),), ())
    plan = Plan({}, described, seeds, ("m",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "PARTITION_UNITS", partition)
        whole = _collect(plan, random.Random(0), {}, {})
        choose = random.Random(seed)
        done = {number: rows for number, rows in whole.items() if choose.random() < 0.3}
        known = {unit: row for rows in whole.values() for unit, row in rows.items() if choose.random() < 0.5}
        assert _collect(plan, choose, done, known) == whole
    units = [unit for rows in whole.values() for unit in rows]
    assert len(units) == len(set(units))
    if not adaptive:
        assert sorted(units) == list(range(plan.units))


def _collect(
    plan: Plan, choose: random.Random, done: dict[int, dict[int, bytes]], known: dict[int, bytes]
) -> dict[int, dict[int, bytes]]:
    """Runs a work list whose rows arrive in random order."""
    work = Worklist(plan, done, lambda number: {u: known[u] for u in plan.partition(number) if u in known})
    collected = dict(done)
    running: list[int] = []
    while True:
        running += work.take(choose.randint(1, 5))
        while (complete := work.poll_complete()) is not None:
            collected[complete[0]] = dict(complete[1])
        if not running:
            break
        unit = running.pop(choose.randrange(len(running)))
        value = random.Random(unit).uniform(1, 1.5)
        work.handle(unit, array("d", [value, value, value]).tobytes())
    assert work.remaining == 0
    return dict(sorted(collected.items()))


@given(rows=st.lists(st.binary(min_size=24, max_size=24), max_size=5), cut=st.integers(0, 200))
def test_a_journal_survives_a_kill_at_any_byte(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], cut: int
) -> None:
    folder = Path(tmp_path_factory.mktemp("journal"))
    journal = Journal(folder, 24)
    journal.append(3, enumerate(rows))
    path = folder / "000003.rows"
    path.write_bytes(path.read_bytes()[:cut])
    kept = min(len(rows), cut // 36)
    assert journal.read(3) == dict(enumerate(rows[:kept]))
    journal.append(3, [(99, b"x" * 24)])
    assert journal.read(3) == {**dict(enumerate(rows[:kept])), 99: b"x" * 24}


@given(rows=st.lists(st.binary(min_size=24, max_size=24), min_size=1, max_size=5), place=st.integers(0))
def test_a_journal_ends_at_a_damaged_record(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], place: int
) -> None:
    folder = Path(tmp_path_factory.mktemp("journal"))
    journal = Journal(folder, 24)
    journal.append(0, enumerate(rows))
    path = folder / "000000.rows"
    contents = bytearray(path.read_bytes())
    place %= len(contents)
    contents[place] ^= 1
    path.write_bytes(contents)
    assert journal.read(0) == dict(enumerate(rows[: place // 36]))


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 10)), max_size=20), st.integers(0, 10**6))
def test_chunks_are_bounded(observed: list[tuple[int, float]], remaining: int) -> None:
    chunks = ChunkSize(None)
    for units, seconds in observed:
        chunks.observe(units, seconds)
        assert 1 <= chunks.units(remaining, 4) <= MOST_UNITS


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062047362), (2, 4.3026527297), (5, 2.5705818356), (30, 2.0422724563), (2000, 1.9611508258)],
)
def test_quantiles_are_those_of_tables(degrees: int, quantile: float) -> None:
    assert t_quantile(degrees) == pytest.approx(quantile, rel=1e-9)
