//! Traces as Parquet, with the columns of the CSV.

use super::{LossEvent, Trace, fault};
use crate::FileError;
use crate::topology::{LinkId, Topology};
use parquet::basic::Compression;
use parquet::data_type::{DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Row, RowAccessor};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const SCHEMA: &str =
    "message trace { required int64 time_s; required int64 link; required double loss_rate; }";
/// Key of the network that the trace was made for.
const NETWORK: &str = "network";

/// Writes a trace.
///
/// # Errors
/// If the file cannot be written.
pub fn write_parquet(trace: &Trace, topology: &Topology, file: File) -> Result<()> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let network = KeyValue { key: NETWORK.to_owned(), value: Some(topology.to_string()) };
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![network]))
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let integers = |value: fn(&LossEvent) -> i64| trace.events().iter().map(value).collect::<Vec<_>>();
    for column in [integers(|event| event.time_s as i64), integers(|event| i64::from(event.link.0))] {
        let mut writer = group.next_column()?.ok_or_else(too_few)?;
        writer.typed::<Int64Type>().write_batch(&column, None, None)?;
        writer.close()?;
    }
    let rates: Vec<f64> = trace.events().iter().map(|event| event.loss_rate).collect();
    let mut column = group.next_column()?.ok_or_else(too_few)?;
    column.typed::<DoubleType>().write_batch(&rates, None, None)?;
    column.close()?;
    group.close()?;
    writer.close()?;
    Ok(())
}

/// Reads a trace for a network. If it says which network it was made for, that must be this one.
///
/// # Errors
/// If the file is no Parquet of that schema or an event cannot be; with the row as the line.
pub fn read_parquet(path: &Path, topology: &Topology) -> std::result::Result<Trace, FileError> {
    let name = path.display().to_string();
    let form = |line, reason: String| FileError::Form { file: name.clone(), line, reason };
    let file = File::open(path).map_err(|source| FileError::Io { file: name.clone(), source })?;
    let reader = SerializedFileReader::new(file).map_err(|error| form(1, error.to_string()))?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let network = metadata.into_iter().flatten().find(|entry| entry.key == NETWORK);
    if let Some(network) = network.and_then(|entry| entry.value.as_ref())
        && *network != topology.to_string()
    {
        return Err(form(1, format!("the trace was made for another network: {network}, not {topology}")));
    }
    let mut events: Vec<LossEvent> = Vec::new();
    let mut previous_s = 0;
    let rows = reader.get_row_iter(None).map_err(|error| form(1, error.to_string()))?;
    for (index, row) in rows.enumerate() {
        let at = |reason: String| form(index + 1, reason);
        let event = row.and_then(|row| event(&row)).map_err(|error| at(error.to_string()))?;
        if let Some(reason) = fault(&event, topology.link_count(), previous_s) {
            return Err(at(reason));
        }
        previous_s = event.time_s;
        events.push(event);
    }
    Ok(Trace::new(events))
}

fn event(row: &Row) -> Result<LossEvent> {
    let negative = |_| ParquetError::General("time_s or link is negative or too large".to_owned());
    Ok(LossEvent {
        time_s: u64::try_from(row.get_long(0)?).map_err(negative)?,
        link: LinkId(u32::try_from(row.get_long(1)?).map_err(negative)?),
        loss_rate: row.get_double(2)?,
    })
}

fn too_few() -> ParquetError {
    ParquetError::General("the schema has too few columns".to_owned())
}
