//! The time series of a run, as CSV.

use super::Step;
use crate::network::Metrics;
use std::io::{self, Write};

/// Writes two rows for every event: the metrics before it and those after it.
#[derive(Debug)]
pub struct SeriesWriter<W> {
    writer: W,
}

impl<W: Write> SeriesWriter<W> {
    /// Writes the names of the columns.
    ///
    /// # Errors
    /// That of the writer.
    pub fn new(mut writer: W) -> io::Result<SeriesWriter<W>> {
        writeln!(writer, "time_s,{}", Metrics::names().join(","))?;
        Ok(SeriesWriter { writer })
    }

    /// Writes the rows of an event.
    ///
    /// # Errors
    /// That of the writer.
    pub fn write(&mut self, step: &Step) -> io::Result<()> {
        row(&mut self.writer, step.time_s, &step.before)?;
        row(&mut self.writer, step.time_s, &step.after)
    }

    /// Flushes the rows that are left.
    ///
    /// # Errors
    /// That of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn row(writer: &mut impl Write, time_s: u64, metrics: &Metrics) -> io::Result<()> {
    writeln!(
        writer,
        "{time_s},{:e},{:e},{},{},{},{},{:e},{},{},{}",
        metrics.total_penalty,
        metrics.total_effective_penalty,
        metrics.avg_paths_per_tor,
        metrics.min_paths_per_tor,
        metrics.avg_pod_capacity_gbps,
        metrics.min_pod_capacity_gbps,
        metrics.max_loss_rate,
        metrics.disabled_links,
        metrics.corrupting_links,
        metrics.max_protected_links_per_pipe
    )
}
