"""Plots of schemes with matplotlib, in one style, and SVG files whose bytes depend only on what they show.

>>> from linkmend import plotting
>>> figure, (axes,) = plotting.figure(x="loss rate", y="goodput (Gbit/s)")
>>> plotting.line(axes, [1e-5, 1e-3], [23.5, 6.7], "none")
>>> plotting.save(figure, "goodput.svg")  # doctest: +SKIP
goodput.svg
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install matplotlib", name=error.name) from error

__all__ = ["SCHEMES", "Appearance", "Drawing", "figure", "legend", "line", "save"]


class Appearance(NamedTuple):
    """How a scheme is drawn."""

    label: str
    color: str
    marker: str


SCHEMES = {
    "none": Appearance("unprotected", "#cf4f00", "o"),
    "ordered": Appearance("LinkGuardian, ordered", "#0067a8", "s"),
    "non-blocking": Appearance("LinkGuardian, non-blocking", "#008566", "^"),
    "llr": Appearance("LLR", "#a3487f", "D"),
    "selective": Appearance("selective retry (bound)", "#6a737d", "x"),
    "wharf": Appearance("Wharf", "#b98300", "v"),
    "parity": Appearance("repair in time", "#5b5fc7", "P"),
}
"""How each scheme is drawn: the same label, colour and marker in every plot."""

STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e1e5ea",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "none",
    "svg.hashsalt": "linkmend",
}


def figure(*titles: str, x: str, y: str, size: tuple[float, float] | None = None) -> tuple[Figure, list[Axes]]:
    """A figure with one plot for each title, side by side, or with one plot without a title.

    `x` and `y` are the labels of the axes, with their units; `size` is in inches.
    """
    count = max(len(titles), 1)
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=size or (3.2 + 3.0 * count, 3.4), layout="constrained")
        plots = list(drawn.subplots(1, count, squeeze=False)[0])
        for plot, title in zip(plots, titles or ("",), strict=True):
            plot.set_title(title)
            plot.set_xlabel(x)
        plots[0].set_ylabel(y)
    return drawn, plots


def line(axes: Axes, x: Sequence[float], y: Sequence[float], scheme: str, **properties: Any) -> None:
    """Draws the values of a scheme. `properties` are those of `Axes.plot`, and take precedence."""
    label, color, marker = SCHEMES[scheme]
    axes.plot(x, y, **{"label": label, "color": color, "marker": marker, **properties})


def legend(axes: Axes, **properties: Any) -> None:
    """A legend without a frame. `properties` are those of `Axes.legend`; with `below=True`, it is below the whole figure."""
    if properties.pop("below", False):
        handles, labels = axes.get_legend_handles_labels()
        figure = axes.get_figure(root=True)
        assert figure is not None
        figure.legend(
            handles,
            labels,
            **{"loc": "outside lower center", "frameon": False, "ncols": 4, "fontsize": 9, **properties},
        )
    else:
        axes.legend(**{"frameon": False, "fontsize": 9, **properties})


class Drawing:
    """A saved plot, which notebooks show."""

    def __init__(self, path: Path, svg: str) -> None:
        self.path, self.svg = path, svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return str(self.path)


def save(figure: Figure, path: str | os.PathLike[str]) -> Drawing:
    """Saves the figure as SVG, and returns it for a notebook to show.

    The file has no date, and its identifiers are hashes of what they name, so the same figure gives the same bytes with
    the same version of matplotlib. Minor ticks are left out, to keep files small.
    """
    out = io.StringIO()
    metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    for axes in figure.axes:
        axes.minorticks_off()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata=metadata)
    svg = "\n".join(text for line in out.getvalue().splitlines() if (text := line.strip())) + "\n"
    Path(path).write_text(svg, encoding="utf-8")
    return Drawing(Path(path), svg)
