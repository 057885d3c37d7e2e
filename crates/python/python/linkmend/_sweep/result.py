"""The results of a sweep."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .columns import import_pyarrow
from .errors import SweepError
from .folder import read_manifest
from .student import t_quantile

if TYPE_CHECKING:
    import pandas
    import pyarrow

_ROWS_SHOWN = 10


class _Source(Protocol):
    @property
    def schema(self) -> pyarrow.Schema: ...

    def rows(self) -> int: ...

    def measured(self) -> set[str]:
        """The columns that are not null everywhere."""
        ...

    def tables(self, columns: list[str]) -> Iterator[pyarrow.Table]: ...


class SweepResult:
    """One row for each point and seed, in their order: a table for Arrow and everything that reads it.

    The columns are `point`, the varied parameters, `seed`, and each metric with the ends of its 95 % interval
    (`_low` and `_high`). Fields state their unit. What a run did not measure is null; what no run measured is
    left out here, but not in the files.
    """

    def __init__(self, source: _Source, varied: tuple[str, ...]) -> None:
        self._source = source
        self._varied = varied

    @cached_property
    def _columns(self) -> list[str]:
        measured = self._source.measured() | {"point", "seed", *self._varied}
        return [name for name in self._source.schema.names if name in measured]

    def _tables(self) -> Iterator[pyarrow.Table]:
        return self._source.tables(self._columns)

    def __len__(self) -> int:
        return self._source.rows()

    def to_arrow(self) -> pyarrow.Table:
        """All rows in memory, as a `pyarrow.Table`."""
        pa = import_pyarrow()
        table: pyarrow.Table = pa.concat_tables(list(self._tables()))
        return table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Streams the rows, one partition after the other, without loading them all."""
        batches = (batch for table in self._tables() for batch in table.to_batches())
        schema = self._source.schema
        schema = import_pyarrow().schema([schema.field(name) for name in self._columns], schema.metadata)
        reader = import_pyarrow().RecordBatchReader.from_batches(schema, batches)
        stream: object = reader.__arrow_c_stream__(requested_schema)
        return stream

    def to_pandas(self) -> pandas.DataFrame:
        """All rows in memory, as a `pandas.DataFrame`."""
        return self.to_arrow().to_pandas()

    def summary(self) -> pyarrow.Table:
        """One row for each point: the number of seeds, and the mean of each metric over them.

        `_low` and `_high` are the ends of the mean's 95 % interval, from Student's t distribution over the
        seeds; they are null for fewer than two seeds. `_seeds` is added if a metric was not measured with
        every seed.
        """
        return _summarise(import_pyarrow(), self.to_arrow(), self._varied)

    def _repr_html_(self) -> str:
        table = next(iter(self._tables())).slice(0, _ROWS_SHOWN)
        shown = [name for name in table.column_names if table[name].null_count < len(table)]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in shown) + "</tr>"
            for row in table.select(shown).to_pylist()
        )
        rest = f"<p>{len(self)} rows</p>" if len(self) > len(table) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def __repr__(self) -> str:
        return f"SweepResult({len(self)} rows; varied: {', '.join(self._varied) or 'nothing'})"


def read_sweep(path: str | Path) -> SweepResult:
    """The results in the folder of a complete sweep."""
    folder = Path(path)
    manifest = read_manifest(folder)
    if not manifest["complete"]:
        raise SweepError(f"{folder} holds an incomplete sweep: repeat the call that started it to go on")
    return SweepResult(Files(folder), tuple(manifest["sweep"]["varied"]))


class InMemory:
    """Tables in memory."""

    def __init__(self, tables: list[pyarrow.Table]) -> None:
        self._kept = tables

    @property
    def schema(self) -> pyarrow.Schema:
        return self._kept[0].schema

    def rows(self) -> int:
        return sum(map(len, self._kept))

    def measured(self) -> set[str]:
        return {
            name
            for table in self._kept
            for name, column in zip(table.column_names, table.columns, strict=True)
            if column.null_count < len(table)
        }

    def tables(self, columns: list[str]) -> Iterator[pyarrow.Table]:
        return (table.select(columns) for table in self._kept)


class Files:
    """The files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: list[Mapping[str, Any]] = read_manifest(folder)["partitions"]
        self._parquet = import_pyarrow().parquet

    @property
    def schema(self) -> pyarrow.Schema:
        schema: pyarrow.Schema = self._parquet.read_schema(self._path(self._entries[0]))
        return schema

    def rows(self) -> int:
        return sum(entry["rows"] for entry in self._entries)

    def measured(self) -> set[str]:
        found: set[str] = set()
        for entry in self._entries:
            metadata = self._parquet.read_metadata(self._path(entry))
            for group in map(metadata.row_group, range(metadata.num_row_groups)):
                for column in map(group.column, range(metadata.num_columns)):
                    if column.statistics is None or column.statistics.null_count < group.num_rows:
                        found.add(column.path_in_schema)
        return found

    def tables(self, columns: list[str]) -> Iterator[pyarrow.Table]:
        for entry in self._entries:
            yield self._parquet.read_table(self._path(entry), columns=columns, partitioning=None)

    def _path(self, entry: Mapping[str, Any]) -> Path:
        return self._folder / str(entry["file"])


def _summarise(pa: Any, table: pyarrow.Table, varied: tuple[str, ...]) -> pyarrow.Table:
    metrics = [field.name for field in table.schema if _metric(field) == field.name]
    deviation = pa.compute.VarianceOptions(ddof=1)
    wanted: list[tuple[Any, ...]] = [("seed", "count")]
    wanted += [(name, "min") for name in varied]
    for name in metrics:
        wanted += [(name, "mean"), (name, "stddev", deviation), (name, "count")]
    grouped = pa.TableGroupBy(table, "point", use_threads=False).aggregate(wanted).sort_by("point")
    columns = {"point": grouped["point"]}
    columns.update((name, grouped[f"{name}_min"]) for name in varied)
    columns["seeds"] = grouped["seed_count"]
    for name in metrics:
        columns.update(_interval(pa, grouped, name))
    return pa.table(columns)


def _metric(field: pyarrow.Field) -> str:
    """The metric that a column belongs to."""
    return str((field.metadata or {}).get(b"metric", b"").decode())


def _interval(pa: Any, grouped: Any, name: str) -> Mapping[str, Any]:
    """Columns for the mean of a metric."""
    mean, deviation, counts = (grouped[f"{name}_{kind}"] for kind in ("mean", "stddev", "count"))
    quantiles = [t_quantile(count - 1) / count**0.5 if count > 1 else None for count in counts.to_pylist()]
    half = pa.compute.multiply(deviation, pa.chunked_array([pa.array(quantiles, pa.float64())]))
    low, high = pa.compute.subtract(mean, half), pa.compute.add(mean, half)
    columns = {name: mean, f"{name}_low": low, f"{name}_high": high}
    if counts != grouped["seed_count"]:
        columns[f"{name}_seeds"] = counts
    return columns


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
