//! Traces as CSV: `time_s,link,loss_rate`, one event a line.

use super::{LossEvent, Trace, fault};
use crate::FileError;
use crate::topology::{LinkId, Topology};
use std::io::{BufRead, ErrorKind, Write};

const HEADER: &str = "time_s,link,loss_rate";
/// Begins the comment that says which network the trace was made for.
const NETWORK: &str = "network:";

/// Reads a trace for a network; `file` is what messages call it. If it says which network it was made for, that must be
/// this one.
///
/// # Errors
/// If a line is not of that form or an event cannot be; with the line.
pub fn read_csv(reader: impl BufRead, file: &str, topology: &Topology) -> Result<Trace, FileError> {
    let mut events: Vec<LossEvent> = Vec::new();
    let mut previous_s = 0;
    let mut has_header = false;
    for (index, line) in reader.lines().enumerate() {
        let form = |reason| FileError::Form { file: file.to_owned(), line: index + 1, reason };
        let line = line.map_err(|source| match source.kind() {
            ErrorKind::InvalidData => form("not UTF-8 text".to_owned()),
            _ => FileError::Io { file: file.to_owned(), source },
        })?;
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
        let event = parse(line).map_err(form)?;
        if let Some(reason) = fault(&event, topology.link_count(), previous_s) {
            return Err(form(reason));
        }
        previous_s = event.time_s;
        events.push(event);
    }
    if !has_header {
        let reason = format!("the first line is not {HEADER}; the file is empty");
        return Err(FileError::Form { file: file.to_owned(), line: 1, reason });
    }
    Ok(Trace::new(events))
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
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time_s, link, loss_rate] = fields[..] else {
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
    writeln!(writer, "{HEADER}")?;
    for LossEvent { time_s, link, loss_rate } in trace.events() {
        writeln!(writer, "{time_s},{},{loss_rate:e}", link.0)?;
    }
    Ok(())
}
