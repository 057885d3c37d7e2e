"""Sweeps that add seeds until intervals are narrow enough."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import linkmend
from hypothesis import given
from hypothesis import strategies as st
from linkmend._sweep.seeds import Seeds
from linkmend._sweep.student import relative_half_width
from sweep_common import digest

GRID = {"loss": [0.002, 0.01, 0.1]}
UNTIL = {"actual_loss_rate": 0.1}


def test_points_get_the_seeds_that_they_need(tmp_path: Path) -> None:
    run = linkmend.Run(frames=3000)
    result = linkmend.sweep(run, GRID, (3, 40), until=UNTIL, workers=2, out=tmp_path / "pool")
    with ThreadPoolExecutor(3) as executor:
        linkmend.sweep(run, GRID, (3, 40), until=UNTIL, executor=executor, chunk=2, out=tmp_path / "threads")
    assert digest(tmp_path / "pool") == digest(tmp_path / "threads")
    seeds = result.summary()["seeds"].to_pylist()
    assert len(result) == sum(seeds)
    assert seeds[0] > seeds[-1] >= 3, "rare losses need more seeds"
    rows = result.to_pandas()
    for point, count in enumerate(seeds):
        values = list(rows[rows["point"] == point]["actual_loss_rate"])
        assert list(rows[rows["point"] == point]["seed"]) == list(range(1, count + 1))
        assert count == 40 or relative_half_width(values) <= 0.1


def test_a_mean_of_zero_is_never_narrow_enough() -> None:
    result = linkmend.sweep(linkmend.Run(frames=100), {"loss": [0]}, (2, 6), until={"actual_loss_rate": 0.5}, workers=1)
    assert len(result) == 6


@given(least=st.integers(2, 50), more=st.integers(0, 1000))
def test_looks_reach_the_maximum(least: int, more: int) -> None:
    seeds = Seeds(range(1, least + more + 1), least, (("m", 0.1),))
    count, looks = least, 1
    while count < least + more:
        following = seeds.next_look(count)
        assert count < following <= least + more
        count, looks = following, looks + 1
    assert looks <= 2 + math.log((least + more) / least, 1.5)


def test_stopping_costs_little_coverage() -> None:
    """docs/sweeps.md says how much."""
    choose = random.Random(1)
    seeds = Seeds(range(1, 201), 5, (("m", 0.05),))
    covered = 0
    for _ in range(2000):
        values = [choose.gauss(1, 0.1) for _ in range(5)]
        while not seeds.enough([values]) and len(values) < 200:
            values += [choose.gauss(1, 0.1) for _ in range(seeds.next_look(len(values)) - len(values))]
        mean = sum(values) / len(values)
        covered += abs(mean - 1) <= relative_half_width(values) * mean
    assert 0.915 < covered / 2000 < 0.95


def test_intervals_cover_the_mean() -> None:
    choose = random.Random(1)
    covered = 0
    for _ in range(2000):
        values = [choose.gauss(1, 0.2) for _ in range(6)]
        mean = sum(values) / 6
        covered += abs(mean - 1) <= relative_half_width(values) * mean
    assert 0.935 < covered / 2000 < 0.965
