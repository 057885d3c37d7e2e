"""Measures what simulated flows cost on small fat trees, and predicts what they cost on large ones.

    python flow_cost.py measure costs.json --linkmend target/release/linkmend
    python flow_cost.py plan costs.json --k 48 --flows 1e9

Measuring takes some minutes, and needs an idle machine and numpy. docs/sweeps.md describes the model.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from linkmend._sweep.student import t_quantile

KS = (4, 6, 8, 12, 16)
LOADS = (0.1, 0.3, 0.6)
SIZES = (1_000, 24_387, 200_000)
HELD_OUT = ((24, 0.3, 24_387), (48, 0.3, 24_387))
CROWDED = (12, 0.3, 24_387, 40_000)
SPEED = 100e9
SEGMENT = 1448
EVENTS = 1.5e6


@dataclass(frozen=True)
class Cost:
    """What one more flow costs at a point: the difference between a longer and a shorter run."""

    k: int
    load: float
    size: int
    flows: int
    microseconds: float
    events: float
    bytes: float
    fixed_seconds: float
    fixed_bytes: float


class Measured(NamedTuple):
    """Processor time, flows, events and peak memory of a run; the faster of two is the lesser."""

    seconds: float
    flows: int
    events: int
    bytes: int


def hosts(k: int) -> int:
    """The hosts of a fat tree."""
    return k**3 // 4


def run(linkmend: str, k: int, load: float, size: int, flows: float) -> Measured:
    """Simulates about this many flows in a process of its own."""
    rate = hosts(k) * SPEED * load / (8 * size)
    arguments = [linkmend, "sim", "flows", "--topology", f"fat-tree:k={k}", "--speed", "100G", "--json"]
    arguments += ["--load", str(load), "--size", f"{size}B", "--loss", "1e-3"]
    arguments += ["--duration", f"{max(1, round(1e9 * flows / rate))}ns"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        report = json.loads(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Measured(
        seconds=used.ru_utime + used.ru_stime,
        flows=(report["fct_us"] or {"count": 0})["count"],
        events=report["events"],
        bytes=used.ru_maxrss * 1024,
    )


def measure(path: Path, linkmend: str, passes: int) -> None:
    """Measures all points, those that are held out, and how much several runs slow each other down.

    Each point runs with some flows and with four times as many. Everything is repeated, and the faster run
    counts, because whatever else the machine does can only slow a run down.
    """
    points = [(k, load, size) for k in KS for load in LOADS for size in SIZES]
    points += HELD_OUT
    fastest: dict[tuple[int, float, int], tuple[Measured, Measured]] = {}
    slower = math.inf
    for _ in range(passes):
        for k, load, size in points:
            flows = max(4 * hosts(k), EVENTS / (10 * math.ceil(size / SEGMENT)))
            runs = run(linkmend, k, load, size, flows), run(linkmend, k, load, size, 4 * flows)
            before = fastest.get((k, load, size), runs)
            fastest[k, load, size] = min(before[0], runs[0]), min(before[1], runs[1])
            print(f"k={k} load={load} size={size}: {runs[1].seconds:.2f} s", flush=True)
        alone, together = crowded(linkmend, 1), crowded(linkmend, os.cpu_count() or 1)
        slower = min(slower, together / alone)
    costs = [asdict(difference(*point, *fastest[point])) for point in points]
    report = {"costs": costs, "runs_together": os.cpu_count(), "slower": slower}
    path.write_text(json.dumps(report, indent=1) + "\n")


def difference(k: int, load: float, size: int, short: Measured, long: Measured) -> Cost:
    """What the additional flows of the longer run cost, for each of them."""
    more = long.flows - short.flows
    seconds, memory = (long.seconds - short.seconds) / more, (long.bytes - short.bytes) / more
    return Cost(
        k=k,
        load=load,
        size=size,
        flows=long.flows,
        microseconds=1e6 * seconds,
        events=(long.events - short.events) / more,
        bytes=memory,
        fixed_seconds=short.seconds - seconds * short.flows,
        fixed_bytes=short.bytes - memory * short.flows,
    )


def crowded(linkmend: str, copies: int) -> float:
    """Processor seconds of each of several runs at the same time."""
    with ThreadPoolExecutor(copies) as executor:
        seconds = [executor.submit(run, linkmend, *CROWDED) for _ in range(copies)]
        return sum(each.result().seconds for each in seconds) / copies


Array = npt.NDArray[np.float64]


def terms(k: int, load: float, size: int) -> list[float]:
    """The terms of the model, of which the logarithm of the cost is a linear function."""
    frames, network = math.log(math.ceil(size / SEGMENT)), math.log(hosts(k))
    return [1.0, network, frames, frames**2, network * frames, load, load * frames]


class Model:
    """A linear model by least squares, with prediction intervals."""

    def __init__(self, costs: Iterable[Cost]) -> None:
        kept = list(costs)
        self._x: Array = np.array([terms(cost.k, cost.load, cost.size) for cost in kept])
        y: Array = np.log([cost.microseconds for cost in kept])
        self.weights: Array = np.asarray(np.linalg.lstsq(self._x, y, rcond=None)[0], dtype=np.float64)
        residuals = y - self._x @ self.weights
        self.degrees = len(kept) - self._x.shape[1]
        self.deviation = math.sqrt(float(residuals @ residuals) / self.degrees)

    def predict(self, k: int, load: float, size: int) -> tuple[float, float, float]:
        """Microseconds per flow, and the ends of the 95 % prediction interval for one measurement."""
        x: Array = np.array(terms(k, load, size))
        leverage = float(x @ np.linalg.inv(self._x.T @ self._x) @ x)
        half = t_quantile(self.degrees) * self.deviation * math.sqrt(1 + leverage)
        middle = float(x @ self.weights)
        return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def plan(path: Path, k: int, load: float, size: int, flows: float) -> None:
    """Prints the check of the model, and its prediction."""
    report = json.loads(path.read_text())
    costs = [Cost(**cost) for cost in report["costs"]]
    small = [cost for cost in costs if cost.k in KS]
    model = Model(small)
    print(f"{len(small)} points, k = {KS[0]} to {KS[-1]}; residual factor {math.exp(model.deviation):.3f}")
    for cost in costs:
        if cost.k not in KS:
            middle, low, high = model.predict(cost.k, cost.load, cost.size)
            inside = "inside" if low <= cost.microseconds <= high else "OUTSIDE"
            print(f"held out, k = {cost.k}: measured {cost.microseconds:.1f} us per flow, ", end="")
            print(f"predicted {middle:.1f} ({low:.1f} to {high:.1f}): {inside}")
            print(f"  memory {cost.fixed_bytes / 1e9:.2f} GB and {cost.bytes:.0f} bytes per flow, ", end="")
            print(f"{cost.events:.0f} events per flow, {cost.flows} flows in the longer run")
    for largest in KS[2:-1]:
        _check_smaller(small, largest)
    middle, low, high = model.predict(k, load, size)
    hours = [flows * cost / 1e6 / 3600 for cost in (middle, low, high)]
    print(f"k = {k}, load {load}, {size} B: {middle:.0f} us per flow ({low:.0f} to {high:.0f})")
    print(f"{flows:.0f} flows: {hours[0]:.1f} core hours ({hours[1]:.1f} to {hours[2]:.1f})")
    print(f"{report['runs_together']} runs at the same time: {report['slower']:.2f} times the processor time each")


def _check_smaller(costs: list[Cost], largest: int) -> None:
    """How well the points up to one size predict the larger ones."""
    model = Model(cost for cost in costs if cost.k <= largest)
    beyond = [cost for cost in costs if cost.k > largest]
    pairs = [(cost.microseconds, model.predict(cost.k, cost.load, cost.size)) for cost in beyond]
    inside = sum(low <= measured <= high for measured, (_, low, high) in pairs)
    ratios = [math.log(measured / middle) for measured, (middle, _, _) in pairs]
    print(
        f"from k <= {largest}: {inside} of {len(beyond)} larger points inside their intervals; "
        f"measured / predicted {math.exp(float(np.mean(ratios))):.2f} "
        f"({math.exp(min(ratios)):.2f} to {math.exp(max(ratios)):.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures and predicts the cost of flows.")
    commands = parser.add_subparsers(required=True, dest="command")
    measuring = commands.add_parser("measure")
    measuring.add_argument("costs", type=Path)
    measuring.add_argument("--linkmend", default="linkmend")
    measuring.add_argument("--passes", type=int, default=3)
    planning = commands.add_parser("plan")
    planning.add_argument("costs", type=Path)
    planning.add_argument("--k", type=int, default=48)
    planning.add_argument("--load", type=float, default=0.3)
    planning.add_argument("--size", type=int, default=24_387)
    planning.add_argument("--flows", type=float, default=1e9)
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.costs, arguments.linkmend, arguments.passes)
    else:
        plan(arguments.costs, arguments.k, arguments.load, arguments.size, arguments.flows)


if __name__ == "__main__":
    main()
