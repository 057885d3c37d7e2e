//! Tables as Arrow streams (the Arrow PyCapsule interface), which pandas, Polars, DuckDB and pyarrow take without a copy.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use linkmend_report::{Cell, Content, Table};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table with named columns of numbers or texts.
#[pyclass(frozen, module = "linkmend")]
pub struct Frame {
    batch: RecordBatch,
}

impl Frame {
    /// The rows of a table, with the unit of each column among its metadata.
    pub fn of(table: &Table) -> PyResult<Frame> {
        let columns = table.columns().map(|(name, unit, cells)| {
            let cells: Vec<&Cell> = cells.collect();
            let is_text = cells.iter().any(|cell| matches!(cell.content(), Content::Text(_)));
            let array: ArrayRef = if is_text {
                Arc::new(cells.iter().map(|cell| text(cell.content())).collect::<StringArray>())
            } else {
                Arc::new(cells.iter().map(|cell| cell.as_number()).collect::<Float64Array>())
            };
            (name, unit.base_symbol(), array)
        });
        let columns =
            named(columns.collect()).into_iter().map(|(name, unit, array)| column(&name, unit, array));
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
        let title = [("title", table.title())];
        let schema = Schema::new_with_metadata(fields, title);
        let rows = RecordBatchOptions::new().with_row_count(Some(table.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(schema), arrays, &rows);
        batch.map(|batch| Frame { batch }).map_err(failed)
    }
}

/// A column before it is a field: its heading, its unit and its values.
type Headed<'a, N> = (N, &'a str, ArrayRef);

/// Gives each column a name of its own. Tables that people read have none over the first column, and none over a single value.
fn named<'a>(columns: Vec<Headed<'a, &str>>) -> Vec<Headed<'a, String>> {
    let mut names: Vec<String> = Vec::new();
    let columns = columns.into_iter().enumerate().map(|(place, (heading, unit, array))| {
        let heading = match (heading, place) {
            ("", 0) => "name",
            ("", _) => "value",
            (heading, _) => heading,
        };
        let alike = names.iter().filter(|name| *name == heading).count();
        names.push(heading.to_owned());
        let name = if alike == 0 { heading.to_owned() } else { format!("{heading} {}", alike + 1) };
        (name, unit, array)
    });
    columns.collect()
}

fn column(name: &str, unit: &str, array: ArrayRef) -> (Field, ArrayRef) {
    let field = Field::new(name, array.data_type().clone(), true);
    (if unit.is_empty() { field } else { field.with_metadata([("unit", unit)]) }, array)
}

fn text(cell: &Content) -> Option<String> {
    match cell {
        Content::Text(text) => Some(text.clone()),
        Content::Number { value, .. } => Some(value.to_string()),
        Content::Missing => None,
    }
}

fn failed(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Frame {
    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The units of the columns, empty for those without one.
    #[getter]
    fn units(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.metadata().get("unit").cloned().unwrap_or_default())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column, as Python objects.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let Some(array) = self.batch.column_by_name(name) else { return Ok(None) };
        let list = match array.data_type() {
            DataType::Float64 => {
                let numbers = array.as_any().downcast_ref::<Float64Array>();
                numbers
                    .map(|numbers| numbers.iter().collect::<Vec<Option<f64>>>().into_pyobject(py))
                    .transpose()?
            }
            _ => {
                let texts = array.as_any().downcast_ref::<StringArray>();
                texts
                    .map(|texts| texts.iter().collect::<Vec<Option<&str>>>().into_pyobject(py))
                    .transpose()?
            }
        };
        Ok(list.map(|list| list.into_any().unbind()))
    }
}
