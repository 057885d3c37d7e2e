//! Traces as Parquet, with the same columns as the CSV.

mod claims;
mod panics;

use super::{EventList, LossEvent, Trace};
use crate::FileError;
use bytes::Bytes;
use linkmend_topology::{LinkId, Topology};
use parquet::basic::{Compression, Type};
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
const COLUMNS: [(&str, Type); 3] =
    [("time_s", Type::INT64), ("link", Type::INT64), ("loss_rate", Type::DOUBLE)];
/// Key of the metadata that names the network of the trace.
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

/// Reads a trace for a network. If the file names the network that it was made for, it must be this one.
///
/// # Errors
/// If the file is not Parquet with that schema, claims to hold more than it can, or has an impossible event; with the
/// row as the line.
pub fn read_parquet(path: &Path, topology: &Topology) -> std::result::Result<Trace, FileError> {
    let file = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => parse_parquet(bytes, &file, topology),
        Err(source) => Err(FileError::Io { file, source }),
    }
}

/// Reads the content of such a file; `file` is the name to use in messages.
///
/// # Errors
/// As [`read_parquet`].
pub fn parse_parquet(
    content: Vec<u8>,
    file: &str,
    topology: &Topology,
) -> std::result::Result<Trace, FileError> {
    // The library looks up dictionary values by any number that the file contains, and panics beyond the dictionary's
    // end.
    let read = panics::catch_panic(|| read_rows(content, file, topology));
    read.unwrap_or_else(|| {
        let reason = damaged("its values cannot be decoded").to_string();
        Err(FileError::Form { file: file.to_owned(), line: 1, reason })
    })
}

fn read_rows(content: Vec<u8>, file: &str, topology: &Topology) -> std::result::Result<Trace, FileError> {
    let form = |line, reason: String| FileError::Form { file: file.to_owned(), line, reason };
    let reader = open(content.into()).map_err(|error| form(1, error.to_string()))?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let network = metadata.into_iter().flatten().find(|entry| entry.key == NETWORK);
    if let Some(network) = network.and_then(|entry| entry.value.as_ref())
        && *network != topology.to_string()
    {
        return Err(form(1, format!("the trace was made for another network: {network}, not {topology}")));
    }
    let mut events = EventList::new(topology.link_count());
    let rows = reader.get_row_iter(None).map_err(|error| form(1, error.to_string()))?;
    for (index, row) in rows.enumerate() {
        let at = |reason: String| form(index + 1, reason);
        let event = row.and_then(|row| event(&row)).map_err(|error| at(error.to_string()))?;
        events.push(event).map_err(at)?;
    }
    Ok(events.finish())
}

/// Opens a file whose sizes have been checked.
fn open(content: Bytes) -> Result<SerializedFileReader<Bytes>> {
    if let Some(footer) = footer(&content) {
        claims::check_footer(footer).map_err(|claim| damaged(claim.0))?;
    }
    let reader = SerializedFileReader::new(content.clone())?;
    let columns = reader.metadata().file_metadata().schema_descr();
    let found = columns.columns().iter().map(|column| (column.name(), column.physical_type()));
    if !found.eq(COLUMNS) || columns.columns().iter().any(|column| column.max_rep_level() > 0) {
        let message = "its columns are not time_s and link (int64) and loss_rate (double), in this order";
        return Err(ParquetError::General(message.to_owned()));
    }
    for column in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let range = usize::try_from(start).ok().zip(usize::try_from(column.compressed_size()).ok());
        let pages = range.and_then(|(start, length)| content.get(start..start.checked_add(length)?));
        let pages = pages.ok_or_else(|| damaged("a column lies outside the file"))?;
        claims::check_pages(pages).map_err(|claim| damaged(claim.0))?;
    }
    Ok(reader)
}

/// The footer: the bytes before its length and the mark at the end of the file.
fn footer(content: &[u8]) -> Option<&[u8]> {
    let (rest, end) = content.split_last_chunk::<8>()?;
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize;
    rest.get(rest.len().checked_sub(length)?..)
}

fn damaged(reason: &str) -> ParquetError {
    ParquetError::General(format!("the file is damaged: {reason}"))
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
