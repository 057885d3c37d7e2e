//! `linkmend sim stress --series`: buffer levels over time.

use super::capture::simulate_every_event;
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend::written_file::{self, cannot_write};
use linkmend_quantity::Span;
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::BufferSeries;
use linkmend_sim::time::Time;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Default length of a step.
const STEP_DEFAULT: Span = Span(Duration::from_micros(1));
/// Longest step: no run lasts longer than half a day.
const STEP_MAX: Duration = Duration::from_secs(43_200);

/// Arguments of the series.
#[derive(Debug, Args)]
pub struct SeriesArgs {
    /// Write the levels of both buffers over time to this file (CSV: minimum, mean and maximum of each step); implies --full,
    /// because skipped time is not recorded
    #[arg(long, value_name = "FILE", help_heading = "Series")]
    series: Option<PathBuf>,
    /// Length of a step; doubled as often as needed to keep at most 100,000 steps
    #[arg(long, value_name = "TIME", requires = "series", default_value_t = STEP_DEFAULT, help_heading = "Series")]
    series_step: Span,
}

/// A file that will receive its series.
pub struct SeriesFile {
    path: PathBuf,
    file: File,
    /// Length of a step.
    pub step: Time,
}

impl SeriesArgs {
    /// Whether there is to be a series.
    pub fn is_asked_for(&self) -> bool {
        self.series.is_some()
    }

    /// Creates the file, if one is requested, and makes the run simulate every event. `config` must have been checked,
    /// so that no file is overwritten for an invalid run.
    ///
    /// # Errors
    /// [`UsageError`] if the step cannot be used; [`WriteError`](linkmend::written_file::WriteError).
    pub fn begin(&self, config: &mut LinksConfig) -> Result<Option<SeriesFile>> {
        let Some(path) = &self.series else { return Ok(None) };
        let step = self.series_step.0;
        if step.is_zero() || step > STEP_MAX {
            let text = format!("--series-step {}: must be above 0 and at most half a day", self.series_step);
            return Err(UsageError::new(text).into());
        }
        let file = written_file::create(path)?;
        simulate_every_event(config, "skipped time is not recorded");
        let step = Time::from_nanos(step.as_nanos() as u64);
        Ok(Some(SeriesFile { path: path.clone(), file, step }))
    }
}

impl SeriesFile {
    /// Writes the series.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, series: &BufferSeries) -> Result<()> {
        Ok(write(self.file, series).map_err(cannot_write(&self.path))?)
    }
}

fn write(out: impl Write, series: &BufferSeries) -> std::io::Result<()> {
    let mut out = csv::Writer::from_writer(out);
    let levels = |buffer: &str| ["min", "mean", "max"].map(|of| format!("{buffer}_buffer_{of}_bytes"));
    let names = ["at_ns", "length_ns"].map(str::to_owned).into_iter();
    out.write_record(names.chain(levels("tx")).chain(levels("rx")))?;
    for (tx, rx) in series.tx.samples().zip(series.rx.samples()) {
        let times = [tx.at - series.began, tx.length].map(|time| time.as_nanos().to_string()).into_iter();
        let levels = [tx, rx]
            .into_iter()
            .flat_map(|level| [level.min.to_string(), format!("{:.1}", level.mean), level.max.to_string()]);
        out.write_record(times.chain(levels))?;
    }
    out.flush()
}
