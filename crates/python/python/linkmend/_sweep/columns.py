"""The columns of a sweep's results, and their conversion to Arrow."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import SweepError
from .plan import Plan
from .points import Text

if TYPE_CHECKING:
    import pyarrow

_TRUTH = {"yes": True, "no": False}


def import_pyarrow() -> Any:
    """The module pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise SweepError("results as Arrow or Parquet need pyarrow: pip install pyarrow") from error
    return pyarrow


class Columns:
    """Builds a table from the rows of one partition.

    The columns are `point`, the varied parameters, `seed`, then each metric with the ends of its 95 %
    interval (`_low`, `_high`); the metadata of all three say `metric`. They
    depend only on the plan. What was not measured is null.
    """

    def __init__(self, plan: Plan, identity: str, metrics: Iterable[Mapping[str, Any]]) -> None:
        self._plan = plan
        self._arrow = import_pyarrow()
        self._kinds = [_kind(plan.points.texts(name)) for name in plan.points.names]
        described = {metric["name"]: metric for metric in metrics}
        pa = self._arrow
        fields = [pa.field("point", pa.int64(), nullable=False)]
        fields += [pa.field(name, _arrow_type(pa, kind)) for name, kind in zip(plan.varied, self._kinds, strict=True)]
        fields.append(pa.field("seed", pa.uint64(), nullable=False))
        for name in plan.metrics:
            metadata = _metadata(described[name])
            fields += [pa.field(name + end, pa.float64(), metadata=metadata) for end in ("", "_low", "_high")]
        about = {"linkmend": identity, "parameters": json.dumps(dict(plan.base), sort_keys=True)}
        self.schema: pyarrow.Schema = pa.schema(fields, metadata=about)

    def table(self, rows: Mapping[int, bytes]) -> pyarrow.Table:
        """The rows of units in the order of the mapping."""
        pa = self._arrow
        places = [self._plan.point_and_seed(unit) for unit in rows]
        points = [point for point, _ in places]
        arrays = [pa.array(points, pa.int64())]
        values = [self._plan.points[point] for point in points]
        for position, kind in enumerate(self._kinds):
            arrays.append(pa.array([_convert(kind, row[position]) for row in values], _arrow_type(pa, kind)))
        arrays.append(pa.array([seed for _, seed in places], pa.uint64()))
        arrays += self._measured(rows)
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _measured(self, rows: Mapping[int, bytes]) -> list[Any]:
        pa = self._arrow
        width = 3 * len(self._plan.metrics)
        packed = array("d", b"".join(rows.values()))
        null = pa.scalar(None, pa.float64())
        arrays = []
        for column in range(width):
            buffer = pa.py_buffer(packed[column::width].tobytes())
            values = pa.Array.from_buffers(pa.float64(), len(rows), [None, buffer])
            arrays.append(pa.compute.if_else(pa.compute.is_nan(values), null, values))
        return arrays


def _kind(texts: Iterable[Text]) -> type:
    """The narrowest of bool, int, float and str that can represent all texts of a parameter."""
    kinds = {_kind_of(text) for text in texts if text is not None}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else str


def _kind_of(text: str) -> type:
    if text in _TRUTH:
        return bool
    try:
        return int if abs(int(text)) < 2**63 else float
    except ValueError:
        pass
    try:
        float(text)
    except ValueError:
        return str
    return float


def _convert(kind: type, text: Text) -> Any:
    if text is None:
        return None
    return _TRUTH[text] if kind is bool else kind(text)


def _arrow_type(pa: Any, kind: type) -> Any:
    return {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}[kind]


def _metadata(metric: Mapping[str, Any]) -> dict[str, str]:
    described = {key: str(metric[key]) for key in ("label", "quantity", "unit") if metric.get(key)}
    return {**described, "metric": str(metric["name"])}
