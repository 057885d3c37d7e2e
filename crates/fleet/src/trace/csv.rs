//! Traces as CSV: `time_s,link,loss_rate`, one event a line.

use super::{LossEvent, Trace, TraceError, fault};
use crate::topology::LinkId;
use std::io::{BufRead, Write};

const HEADER: &str = "time_s,link,loss_rate";

/// Reads a trace for a network with so many links; `file` is what messages call it.
///
/// # Errors
/// If a line is not of that form or an event cannot be; with the line.
pub fn read_csv(reader: impl BufRead, file: &str, links: usize) -> Result<Trace, TraceError> {
    let mut events: Vec<LossEvent> = Vec::new();
    let mut previous_s = 0;
    for (index, line) in reader.lines().enumerate() {
        let form = |reason| TraceError::Form { file: file.to_owned(), line: index + 1, reason };
        let line = line.map_err(|source| TraceError::Io { file: file.to_owned(), source })?;
        let line = line.trim();
        if index == 0 {
            if line != HEADER {
                return Err(form(format!("the first line is not {HEADER}")));
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let event = parse(line).map_err(form)?;
        if let Some(reason) = fault(&event, links, previous_s) {
            return Err(form(reason));
        }
        previous_s = event.time_s;
        events.push(event);
    }
    Ok(Trace::new(events))
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
pub fn write_csv(trace: &Trace, writer: &mut impl Write) -> std::io::Result<()> {
    writeln!(writer, "{HEADER}")?;
    for LossEvent { time_s, link, loss_rate } in trace.events() {
        writeln!(writer, "{time_s},{},{loss_rate:e}", link.0)?;
    }
    Ok(())
}
