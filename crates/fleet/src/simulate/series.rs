//! The time series of a run, as CSV.

use super::Step;
use crate::network::Metrics;
use std::io::{self, Write};

/// Writes two rows for every event: the metrics before it and those after it.
#[derive(Debug)]
pub struct SeriesWriter<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> SeriesWriter<W> {
    /// Writes the names of the columns.
    ///
    /// # Errors
    /// That of the writer.
    pub fn new(writer: W) -> io::Result<SeriesWriter<W>> {
        let mut writer = csv::Writer::from_writer(writer);
        writer.write_record(["time_s"].iter().chain(&Metrics::names()))?;
        Ok(SeriesWriter { writer })
    }

    /// Writes the rows of an event.
    ///
    /// # Errors
    /// That of the writer.
    pub fn write(&mut self, step: &Step) -> io::Result<()> {
        self.writer.write_record(row(step.time_s, &step.before))?;
        Ok(self.writer.write_record(row(step.time_s, &step.after))?)
    }

    /// Flushes the rows that are left.
    ///
    /// # Errors
    /// That of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn row(time_s: u64, metrics: &Metrics) -> [String; 11] {
    [
        time_s.to_string(),
        format!("{:e}", metrics.total_penalty),
        format!("{:e}", metrics.total_effective_penalty),
        metrics.avg_paths_per_tor.to_string(),
        metrics.min_paths_per_tor.to_string(),
        metrics.avg_pod_capacity_gbps.to_string(),
        metrics.min_pod_capacity_gbps.to_string(),
        format!("{:e}", metrics.max_loss_rate),
        metrics.disabled_links.to_string(),
        metrics.corrupting_links.to_string(),
        metrics.max_protected_links_per_pipe.to_string(),
    ]
}
