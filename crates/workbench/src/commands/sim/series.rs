//! `linkmend sim stress --series`: buffer levels over time.

use super::capture::simulate_every_event;
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend::written_file::{self, cannot_write};
use linkmend_quantity::Span;
use linkmend_report::{Axis, Cell, Column, Panel, Series, Table, Timeline, Unit};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::BufferSeries;
use linkmend_sim::time::Time;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Default length of a step.
const STEP_DEFAULT: Span = Span(Duration::from_micros(1));
/// Longest step: no run lasts longer than half a day.
const STEP_MAX: Duration = Duration::from_secs(43_200);
const NANOS_PER_SECOND: f64 = 1e9;

/// Arguments of the series.
#[derive(Debug, Args)]
pub struct SeriesArgs {
    /// Write the levels of both buffers over time to this file (CSV: minimum, mean and maximum of each step); implies --full,
    /// because skipped time is not recorded
    #[arg(long, value_name = "FILE", help_heading = "Series")]
    series: Option<PathBuf>,
    /// Length of a step; doubled as often as needed to keep at most 100,000 steps. Without --series, the levels are part
    /// of the JSON [default: 1us]
    #[arg(long, value_name = "TIME", help_heading = "Series")]
    series_step: Option<Span>,
}

/// A series in the making.
pub struct Levels {
    /// The file that will receive it.
    file: Option<(PathBuf, File)>,
    /// Length of a step.
    pub step: Time,
}

impl SeriesArgs {
    /// Whether there is to be a series.
    pub fn is_asked_for(&self) -> bool {
        self.series.is_some() || self.series_step.is_some()
    }

    /// Creates the file, if one is requested, and makes the run simulate every event. `config` must have been checked,
    /// so that no file is overwritten for an invalid run.
    ///
    /// # Errors
    /// [`UsageError`] if the step cannot be used, or nobody receives the series;
    /// [`WriteError`](linkmend::written_file::WriteError).
    pub fn begin(&self, config: &mut LinksConfig, prints_json: bool) -> Result<Option<Levels>> {
        if !self.is_asked_for() {
            return Ok(None);
        }
        let span = self.series_step.unwrap_or(STEP_DEFAULT);
        let wrong = |requirement: &str| UsageError::new(format!("--series-step {span}: {requirement}"));
        if span.0.is_zero() || span.0 > STEP_MAX {
            return Err(wrong("must be above 0 and at most half a day").into());
        }
        if self.series.is_none() && !prints_json {
            return Err(wrong("requires --series FILE, or --json").into());
        }
        let file = self
            .series
            .as_ref()
            .map(|path| Ok::<_, linkmend::failure::Error>((path.clone(), written_file::create(path)?)));
        simulate_every_event(config, "skipped time is not recorded");
        Ok(Some(Levels { file: file.transpose()?, step: span.into() }))
    }
}

impl Levels {
    /// Writes the series, or returns it if there is no file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, series: &BufferSeries) -> Result<Option<Table>> {
        let Some((path, file)) = self.file else { return Ok(Some(table(series))) };
        write(file, series).map_err(cannot_write(&path))?;
        Ok(None)
    }
}

/// The mean level of both buffers over time, with the range within each step.
pub fn plot(levels: &Table) -> Timeline {
    let columns: BTreeMap<&str, Vec<f64>> = levels
        .columns()
        .map(|(name, _, cells)| (name, cells.filter_map(Cell::as_number).collect()))
        .collect();
    let of = |name: String| columns.get(name.as_str()).map_or(&[][..], Vec::as_slice);
    let series = |buffer: &str, which: &str| {
        let levels = of(format!("{buffer}_buffer_{which}"));
        of("at".to_owned()).iter().copied().zip(levels.iter().copied()).collect::<Vec<_>>()
    };
    [("tx", "Tx buffer"), ("rx", "Rx buffer")].into_iter().fold(
        Timeline::new("Levels of both buffers").time(Axis::new("time", Unit::Second)),
        |plot, (buffer, name)| {
            let panel = Panel::new(Axis::new(name, Unit::Byte).with_zero());
            let panel = panel.series(Series::step("most", series(buffer, "max")));
            plot.panel(panel.series(Series::step("mean", series(buffer, "mean"))))
        },
    )
}

/// A row for each step.
fn table(series: &BufferSeries) -> Table {
    let table = ["at", "length"]
        .into_iter()
        .fold(Table::new("levels"), |table, name| table.column(Column::number(name, Unit::Second)));
    let names = ["tx", "rx"]
        .into_iter()
        .flat_map(|buffer| ["min", "mean", "max"].map(|of| format!("{buffer}_buffer_{of}")));
    let table = names.fold(table, |table, name| table.column(Column::number(name, Unit::Byte)));
    series.tx.samples().zip(series.rx.samples()).fold(table, |table, (tx, rx)| {
        let times = [tx.at - series.began, tx.length].map(|time| time.as_nanos() / NANOS_PER_SECOND);
        let levels = [tx, rx].into_iter().flat_map(|level| [level.min as f64, level.mean, level.max as f64]);
        table.row(times.into_iter().chain(levels).map(Cell::number))
    })
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
