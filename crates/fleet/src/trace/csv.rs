//! Traces as CSV: `time_s,link,loss_rate`, one event on each line.

use super::{EventList, LossEvent, Trace};
use crate::FileError;
use linkmend_topology::{LinkId, Topology};
use std::io::{BufRead, Write};

const HEADER: &str = "time_s,link,loss_rate";
/// Prefix of the comment that names the network for which the trace was made.
const NETWORK: &str = "network:";

/// Reads a trace for a network; `file` is the name to use in messages. If the file names the network that it was made
/// for, it must be this one.
///
/// # Errors
/// If a line is not of that form or an event is impossible; with the line.
pub fn read_csv(reader: impl BufRead, file: &str, topology: &Topology) -> Result<Trace, FileError> {
    let mut events = EventList::new(topology.link_count());
    let mut has_header = false;
    for (index, line) in reader.lines().enumerate() {
        let form = |reason| FileError::Form { file: file.to_owned(), line: index + 1, reason };
        let line = line.map_err(|source| FileError::line(source, file, index + 1))?;
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            check_network(comment, topology).map_err(form)?;
            continue;
        }
        if !has_header {
            if line != HEADER {
                return Err(form(format!("the first line is not {HEADER}")));
            }
            has_header = true;
            continue;
        }
        if line.is_empty() {
            continue;
        }
        parse(line).and_then(|event| events.push(event)).map_err(form)?;
    }
    if !has_header {
        let reason = format!("the first line is not {HEADER}; the file is empty");
        return Err(FileError::Form { file: file.to_owned(), line: 1, reason });
    }
    Ok(events.finish())
}

/// Refuses a trace that names another network.
fn check_network(comment: &str, topology: &Topology) -> Result<(), String> {
    match comment.trim().strip_prefix(NETWORK) {
        Some(network) if network.trim() != topology.to_string() => {
            Err(format!("the trace was made for another network: {}, not {topology}", network.trim()))
        }
        _ => Ok(()),
    }
}

fn parse(line: &str) -> Result<LossEvent, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .buffer_capacity(line.len())
        .from_reader(line.as_bytes());
    let mut fields = csv::StringRecord::new();
    reader.read_record(&mut fields).map_err(|error| error.to_string())?;
    let (3, Some(time_s), Some(link), Some(loss_rate)) =
        (fields.len(), fields.get(0), fields.get(1), fields.get(2))
    else {
        return Err(format!("{} fields where {HEADER} has 3", fields.len()));
    };
    Ok(LossEvent {
        time_s: time_s.parse().map_err(|_| format!("time_s {time_s} is not a whole number of seconds"))?,
        link: LinkId(link.parse().map_err(|_| format!("link {link} is not a link number"))?),
        loss_rate: loss_rate.parse().map_err(|_| format!("loss rate {loss_rate} is not a number"))?,
    })
}

/// Writes a trace.
///
/// # Errors
/// If the writer fails.
pub fn write_csv(trace: &Trace, topology: &Topology, writer: &mut impl Write) -> std::io::Result<()> {
    writeln!(writer, "# {NETWORK} {topology}")?;
    let mut writer = csv::Writer::from_writer(writer);
    writer.write_record(HEADER.split(','))?;
    for LossEvent { time_s, link, loss_rate } in trace.events() {
        writer.write_record([time_s.to_string(), link.0.to_string(), format!("{loss_rate:e}")])?;
    }
    writer.flush()
}
