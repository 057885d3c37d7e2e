"""Data from Python as parameters: losses, flow sizes, networks and traces from NumPy arrays or networkx graphs.

Each object is stored once as a file, named after its content, in the folder `LINKMEND_DATA` [default: linkmend in the
user's cache directory], and stands for that file wherever a parameter takes one. Workers on other machines need the same
folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._text import plain

if TYPE_CHECKING:
    import networkx

Numbers = Iterable[Any]
"""A NumPy array, or anything else that yields numbers."""


class Data:
    """The content of a file."""

    suffix = ".txt"

    def __init__(self, text: str) -> None:
        self._text = text

    def linkmend_file(self) -> str:
        """The file that holds it, which is written if it is not there."""
        content = self._text.encode()
        folder = Path(os.environ.get("LINKMEND_DATA") or _cache())
        path = folder / f"{type(self).__name__.lower()}-{hashlib.sha256(content).hexdigest()[:32]}{self.suffix}"
        if not path.exists() or path.read_bytes() != content:
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise OSError(
                    f"the folder of data, {folder}, cannot be made ({error}); LINKMEND_DATA names another"
                ) from None
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(content)
            os.replace(file.name, path)
        return str(path)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Data) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"<linkmend.data.{type(self).__name__}: {len(self._text.splitlines())} lines>"


class Losses(Data):
    """Which frames a link corrupts: the numbers of the frames, from 0, or a mask with a truth value for each frame.

    >>> import linkmend
    >>> linkmend.stress(losses=linkmend.data.Losses([3, 7]), frames=1000, scheme="none").frames_lost
    2
    """

    def __init__(self, frames: Numbers) -> None:
        listed = _plain(frames)
        if listed and all(isinstance(value, bool) for value in listed):
            numbers = [number for number, is_lost in enumerate(listed) if is_lost]
        else:
            numbers = sorted({_whole(value, "the number of a frame") for value in listed})
        super().__init__("".join(f"{number}\n" for number in numbers))


class FlowSizes(Data):
    """A distribution of flow sizes: sizes in bytes, and for each the share of flows that are not longer.

    Sizes between two points are equally likely. `FlowSizes.of(sample)` is the distribution of measured sizes.
    """

    suffix = ".csv"

    def __init__(self, sizes: Numbers, shares: Numbers) -> None:
        points = list(zip(_plain(sizes), _plain(shares), strict=True))
        if points and math.isclose(points[-1][1], 1, rel_tol=1e-9):
            # Sums of shares are rounded.
            points[-1] = (points[-1][0], 1.0)
        super().__init__("".join(f"{float(size)!r},{float(share)!r}\n" for size, share in points))

    @classmethod
    def of(cls, sample: Numbers) -> FlowSizes:
        """The distribution of measured sizes: each is as likely as it was frequent."""
        measured = sorted(_whole(value, "a size in bytes") for value in _plain(sample))
        if not measured:
            raise ValueError("the sample has no sizes")
        sizes: list[float] = []
        shares: list[float] = []
        for number, size in enumerate(measured, start=1):
            if not sizes or sizes[-1] != size:
                # A step: no size between two measured ones occurs.
                sizes += [float(size), float(size)]
                shares += [(number - 1) / len(measured), number / len(measured)]
            else:
                shares[-1] = number / len(measured)
        return cls(sizes, shares)


class Topology(Data):
    """A network: a networkx graph whose nodes are switches and hosts.

    Switches have the attribute `layer` (0 for the ToRs), hosts `host=True`; edges may have `speed` ("100G") and `length`
    ("30m"). Edges without a speed have the `default_speed`, or else that of the run.
    """

    suffix = ".json"

    def __init__(self, graph: networkx.Graph[Any], default_speed: str | None = None) -> None:
        if graph.is_directed():
            raise ValueError("the graph is directed: links carry both directions; use graph.to_undirected()")
        is_host = {node: bool(of.get("host")) for node, of in graph.nodes(data=True)}
        switches: list[dict[str, Any]] = []
        for node, of in graph.nodes(data=True):
            if is_host[node]:
                if graph.degree(node) == 0:
                    raise ValueError(f"host {node!r} has no link")
                continue
            if "layer" not in of:
                raise ValueError(f"node {node!r} has neither `layer` nor `host`: which of the two is it?")
            pod = {"pod": str(of["pod"])} if "pod" in of else {}
            switches.append({"name": str(node), "layer": int(of["layer"]), **pod})
        links, hosts = [], []
        for one, other, of in graph.edges(data=True):
            more = {name: str(of[name]) for name in ("speed", "length") if name in of}
            if is_host[one] and is_host[other]:
                raise ValueError(f"{one!r} and {other!r} are both hosts: a link has a switch at one end at least")
            if is_host[one] or is_host[other]:
                host, switch = (one, other) if is_host[one] else (other, one)
                hosts.append({"name": str(host), "to": str(switch), **more})
            else:
                links.append({"from": str(one), "to": str(other), **more})
        network = {"switches": switches, "links": links, "hosts": hosts}
        if default_speed is not None:
            network["default_speed"] = default_speed  # type: ignore[assignment]
        super().__init__(json.dumps(network, indent=1))


class Trace(Data):
    """When links of a fleet begin to corrupt frames: times in seconds, numbers of links, and loss rates."""

    suffix = ".csv"

    def __init__(self, times: Numbers, links: Numbers, loss_rates: Numbers) -> None:
        rows = sorted(
            (_whole(time, "a time in whole seconds"), _whole(link, "the number of a link"), float(loss))
            for time, link, loss in zip(_plain(times), _plain(links), _plain(loss_rates), strict=True)
        )
        super().__init__("time_s,link,loss_rate\n" + "".join(f"{time},{link},{loss!r}\n" for time, link, loss in rows))


class Experiment(Data):
    """The text of an experiment file, for `linkmend.experiment`; docs/simulator.md describes such files.

    >>> import linkmend
    >>> file = linkmend.data.Experiment('''
    ... id = "mine"
    ... title = "Loss rates"
    ... source = "our own"
    ... [base]
    ... frames = "10k"
    ... [[sweep]]
    ... loss = [1e-4, 1e-3]
    ... ''')
    >>> len(linkmend.experiment(file).series["mine"])
    2
    """

    suffix = ".toml"


class Corrupting(Data):
    """Links that corrupt frames now, for `linkmend.fleet.plan`: a loss rate for each link, by its number or name."""

    suffix = ".csv"

    def __init__(self, loss_rates: Mapping[Any, float]) -> None:
        rows = "".join(f"{link},{float(loss)!r}\n" for link, loss in loss_rates.items())
        super().__init__("link,loss_rate\n" + rows)


def _plain(values: Numbers) -> Sequence[Any]:
    """The values as objects of Python: NumPy's have a method that converts them at once."""
    convert: Callable[[], Any] | None = getattr(values, "tolist", None)
    return [plain(value) for value in (convert() if convert else values)]


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not math.isfinite(value) or int(value) != value or value < 0:
        raise ValueError(f"{value!r} is not {what}: it must be a whole number, 0 or more")
    return int(value)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "linkmend"
