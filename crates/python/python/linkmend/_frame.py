"""Tables of results."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Frame:
    """A table of a result: named columns of numbers or texts.

    It implements the Arrow PyCapsule interface, so that pyarrow, pandas, Polars and DuckDB take it without a copy.
    """

    def __init__(self, native: _native.Frame) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._native.column_names

    @property
    def units(self) -> dict[str, str]:
        """The units of the columns that have one."""
        return {name: unit for name, unit in zip(self.column_names, self._native.units, strict=True) if unit}

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, name: str) -> list[Any]:
        column = self._native.column(name)
        if column is None:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(map(repr, self.column_names))}")
        return column

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.column_names
        for values in zip(*(self[name] for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def to_arrow(self) -> pyarrow.Table:
        """The table as a `pyarrow.Table`, without a copy."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a `pandas.DataFrame`."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.column_names})

    def __repr__(self) -> str:
        return f"<linkmend.Frame: {len(self)} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        shown = 20
        titles = (f"{name} ({unit})" if (unit := self.units.get(name)) else name for name in self.column_names)
        head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
        rows = [
            "".join(f"<td>{html.escape(cell(value))}</td>" for value in row.values())
            for row, _ in zip(self, range(shown), strict=False)
        ]
        more = f"<p>{len(self) - shown} more rows</p>" if len(self) > shown else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{'</tr><tr>'.join(rows)}</tr></tbody></table>{more}"


def cell(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
