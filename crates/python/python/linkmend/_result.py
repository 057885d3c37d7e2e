"""What a study has found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from ._frame import Frame
from ._notebook import shown, timeless

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Result:
    """What a study has found.

    `result["frames_sent"]`, or `result.frames_sent`, is a value of the JSON that the command prints with `--json`; its
    unit is in its name. `tables` are what the command shows, `series` has values over time, `plots` are SVG files.
    """

    def __init__(self, native: _native.Result) -> None:
        self._native = native
        self._values: Any = None

    @property
    def values(self) -> Any:
        """Everything, as the command prints it with `--json`."""
        if self._values is None:
            self._values = json.loads(self._native.json)
        return self._values

    @property
    def json(self) -> str:
        """The same as text, byte for byte."""
        return self._native.json

    @property
    def tables(self) -> list[Frame]:
        """The tables that the command shows."""
        return [Frame(table) for table in self._native.tables]

    @property
    def series(self) -> dict[str, Frame]:
        """Values over time, by name."""
        return {name: Frame(table) for name, table in self._native.series}

    @property
    def plots(self) -> list[str]:
        """Its plots, each a complete SVG file."""
        return self._native.svgs

    def to_html(self) -> str:
        """A self-contained page with its tables and plots."""
        return self._native.page

    def frame(self) -> Frame:
        """Its most detailed table: a series if there is one, otherwise the first table."""
        return next(iter(self.series.values()), None) or self.tables[0]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """Its most detailed table as a `pyarrow.Table`, without a copy."""
        return self.frame().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Its most detailed table as a `pandas.DataFrame`."""
        return self.frame().to_pandas()

    def __getitem__(self, name: str | int) -> Any:
        return self.values[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not isinstance(self.values, dict) or name not in self.values:
            raise AttributeError(f"the result has no {name!r}; it has {', '.join(self._names())}")
        return self.values[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names()})

    def _names(self) -> list[str]:
        return list(self.values) if isinstance(self.values, dict) else []

    def __repr__(self) -> str:
        return timeless("\n".join(self._native.texts)).rstrip() or self._native.json

    def _repr_html_(self) -> str:
        return shown(self._native.htmls, self.plots)
