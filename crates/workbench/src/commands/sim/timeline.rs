//! `linkmend sim timeline`: one flow over a link that begins to corrupt, and is protected some time later.

use super::flows::ThreadArgs;
use super::parameters::{ParameterArgs, Preset, usage};
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::{Context, Interrupted, Result};
use linkmend::written_file::{self, cannot_write};
use linkmend_quantity::Span;
use linkmend_report::{Axis, Cell, Column, Panel, Report, Section, Series, Table, Timeline, Tone, Unit};
use linkmend_sim::parameters::Runs;
use linkmend_sim::timeline::{self, Phase, Sample, TimelineConfig, TimelineReport};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 100;
const GIGA: f64 = 1e9;

/// One flow without an end, whose link begins to corrupt.
#[derive(Debug)]
pub struct Protected;

impl Preset for Protected {
    const RUNS: Runs = Runs::ENDLESS;
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[
        ("transport", "dctcp"),
        ("speed", "25G"),
        ("scheme", "ordered"),
        ("loss", "1e-3"),
        ("duration", "1s"),
    ];
    const HELP: &'static [(&'static str, &'static str)] = &[
        ("duration", "How long the flow sends"),
        ("scheme", "Protection to enable at the corrupting link: ordered or non-blocking"),
        ("loss", "Share of frames that the link in the middle corrupts from --corruption-at on"),
    ];
}

/// Arguments of `linkmend sim timeline`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim timeline
      DCTCP at 25G: Figure 9a, with all times divided by ten.

  linkmend sim timeline --speed 100G --no-backpressure --series fig9b.csv
      Without backpressure (Figure 9b). At 25G, the Rx buffer has time to empty after each loss.

  linkmend sim timeline --transport bbr --speed 10G --report fig21b.html
      BBR (Figure 21b), as a page with plots.

  linkmend sim timeline --corruption-at 2s --protection-at 7s --duration 10s \\
    --sample 100ms
      The paper's times: about 10 seconds.

The effective link speed is measured separately, by line-rate traffic over the same link. The summary leaves out the \
first half of each phase, in which the flow adapts.")]
pub struct TimelineArgs {
    #[command(flatten)]
    parameters: ParameterArgs<Protected>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// When the link begins to corrupt frames
    #[arg(long, value_name = "TIME", default_value_t = milliseconds(200), help_heading = "Timeline")]
    corruption_at: Span,
    /// When its protection is enabled
    #[arg(long, value_name = "TIME", default_value_t = milliseconds(700), help_heading = "Timeline")]
    protection_at: Span,
    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value_t = milliseconds(10), help_heading = "Timeline")]
    sample: Span,
    /// Write the samples to this file (CSV)
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Write plots of the samples to this file (HTML)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

fn milliseconds(count: u64) -> Span {
    Span(Duration::from_millis(count))
}

impl TimelineArgs {
    fn config(&self) -> Result<TimelineConfig> {
        let config = TimelineConfig {
            flows: self.parameters.parameters().flows(Path::new("")).map_err(usage)?,
            corruption_at: self.corruption_at.into(),
            protection_at: self.protection_at.into(),
            sample: self.sample.into(),
        };
        config.validate().map_err(usage)?;
        Ok(config)
    }

    fn title(&self) -> String {
        let parameters = self.parameters.parameters();
        let backpressure = match parameters.no_backpressure {
            Some(true) => " without backpressure",
            _ => "",
        };
        format!(
            "one {} flow at {}: loss {} from {} on, {}{backpressure} from {} on, seed {}",
            parameters.text("transport"),
            parameters.text("speed"),
            parameters.text("loss"),
            self.corruption_at,
            parameters.text("scheme"),
            self.protection_at,
            parameters.seed.unwrap_or(1)
        )
    }
}

impl Study for TimelineArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let config = self.config()?;
        let file = |path: &Option<PathBuf>| -> Result<Option<(PathBuf, File)>> {
            let Some(path) = path else { return Ok(None) };
            Ok(Some((path.clone(), written_file::create(path)?)))
        };
        let series = file(&self.series)?;
        let page = file(&self.report)?;
        watch.begin(2 * config.samples(), "{bar:30} {percent:>3} %  [{left}]");
        let report = timeline::run(&config, self.threads.count(2), watch.stop()?, &|| watch.advance());
        let hint = "a shorter --duration takes less time";
        let interrupted = || Interrupted::error("interrupted before the run had ended", hint);
        let report = report.map_err(usage)?.ok_or_else(interrupted)?;
        let title = self.title();
        let samples = samples(&report);
        if let Some((path, file)) = series {
            write(&path, file, &samples.to_csv())?;
        }
        if let Some((path, file)) = page {
            write(&path, file, &html(&title, &report)?)?;
        }
        let found = Found::new(&report, TABLE_WIDTH, vec![summary(title, &report)])?;
        Ok(found.plots([plot(&report)]).series("samples", samples))
    }
}

fn write(path: &Path, mut file: File, text: &str) -> Result<()> {
    Ok(std::io::Write::write_all(&mut file, text.as_bytes()).map_err(cannot_write(path))?)
}

/// A value of a phase, and how it is shown.
type Row = (&'static str, Unit, fn(&Phase) -> f64);

const ROWS: [Row; 11] = [
    ("goodput", Unit::BitPerSecond, |phase| phase.goodput_gbps * GIGA),
    ("effective link speed", Unit::BitPerSecond, |phase| phase.effective_link_speed_gbps * GIGA),
    ("retransmissions by the host per second", Unit::Count, |phase| phase.retransmissions_per_s),
    ("queue before the link, mean", Unit::Byte, |phase| phase.queue_bytes.mean),
    ("queue before the link, maximum", Unit::Byte, |phase| phase.queue_bytes.max as f64),
    ("Tx buffer, mean", Unit::Byte, |phase| phase.tx_buffer_bytes.mean),
    ("Tx buffer, maximum", Unit::Byte, |phase| phase.tx_buffer_bytes.max as f64),
    ("Rx buffer, mean", Unit::Byte, |phase| phase.rx_buffer_bytes.mean),
    ("Rx buffer, maximum", Unit::Byte, |phase| phase.rx_buffer_bytes.max as f64),
    ("frames dropped by it per second", Unit::Count, |phase| phase.rx_buffer_overflows_per_s),
    ("pauses per second", Unit::Count, |phase| phase.pauses_per_s),
];

fn summary(title: String, report: &TimelineReport) -> Table {
    let phases = [report.healthy, report.corrupting, report.protected];
    let table = ["healthy", "corrupting", "protected"]
        .into_iter()
        .fold(Table::new(title).column(Column::text("")), |table, phase| {
            table.column(Column::text(phase).align(linkmend_report::Alignment::Right))
        });
    ROWS.into_iter().fold(table, |table, (name, unit, value)| {
        let cells =
            phases.map(|phase| phase.map_or(Cell::text(""), |phase| Cell::quantity(value(&phase), unit)));
        table.row([Cell::text(name)].into_iter().chain(cells))
    })
}

/// A value of a sample, and how it is shown.
type SampleColumn = (&'static str, Unit, fn(&Sample) -> f64);

const COLUMNS: [SampleColumn; 17] = [
    ("goodput", Unit::BitPerSecond, |sample| sample.goodput_gbps * GIGA),
    ("effective link speed", Unit::BitPerSecond, |sample| sample.effective_link_speed_gbps * GIGA),
    ("retransmissions", Unit::Count, |sample| sample.retransmissions as f64),
    ("timeouts", Unit::Count, |sample| sample.timeouts as f64),
    ("queue, mean", Unit::Byte, |sample| sample.queue_bytes.mean),
    ("queue, maximum", Unit::Byte, |sample| sample.queue_bytes.max as f64),
    ("Tx buffer, mean", Unit::Byte, |sample| sample.tx_buffer_bytes.mean),
    ("Tx buffer, maximum", Unit::Byte, |sample| sample.tx_buffer_bytes.max as f64),
    ("Rx buffer, mean", Unit::Byte, |sample| sample.rx_buffer_bytes.mean),
    ("Rx buffer, maximum", Unit::Byte, |sample| sample.rx_buffer_bytes.max as f64),
    ("frames corrupted", Unit::Count, |sample| sample.frames_corrupted as f64),
    ("copies", Unit::Count, |sample| sample.copies_sent as f64),
    ("Rx buffer overflows", Unit::Count, |sample| sample.rx_buffer_overflows as f64),
    ("frames dropped", Unit::Count, |sample| sample.frames_dropped as f64),
    ("frames marked", Unit::Count, |sample| sample.frames_marked as f64),
    ("pauses", Unit::Count, |sample| sample.pauses as f64),
    ("share of time paused", Unit::Share, |sample| sample.paused_share),
];

/// All samples: a row for each.
fn samples(report: &TimelineReport) -> Table {
    let table = COLUMNS
        .into_iter()
        .fold(Table::new("").column(Column::number("until", Unit::Second)), |table, (name, unit, _)| {
            table.column(Column::number(name, unit))
        });
    report.samples.iter().fold(table, |table, sample| {
        let values = COLUMNS.into_iter().map(|(_, _, value)| Cell::number(value(sample)));
        table.row([Cell::number(sample.at_s)].into_iter().chain(values))
    })
}

/// A series of a plot.
type Drawn = (&'static str, fn(&Sample) -> f64);

fn plot(report: &TimelineReport) -> Timeline {
    let begin = |index: usize| index.checked_sub(1).map_or(0.0, |before| report.samples[before].at_s);
    let course = |value: fn(&Sample) -> f64| {
        report.samples.iter().enumerate().map(move |(index, sample)| (begin(index), value(sample)))
    };
    let panel = |name: &str, unit, values: &[Drawn]| {
        values.iter().fold(Panel::new(Axis::new(name, unit).with_zero()), |panel, (name, value)| {
            panel.series(Series::step(*name, course(*value)))
        })
    };
    let level = |name: &str, mean: fn(&Sample) -> f64, max: fn(&Sample) -> f64| {
        panel(name, Unit::Byte, &[("most", max), ("mean", mean)])
    };
    Timeline::new("Healthy, corrupting, protected")
        .time(Axis::new("time", Unit::Second))
        .panel(panel(
            "rate",
            Unit::BitPerSecond,
            &[("effective link speed", COLUMNS[1].2), ("goodput", COLUMNS[0].2)],
        ))
        .panel(level("queue before the link", COLUMNS[4].2, COLUMNS[5].2))
        .panel(level("Rx buffer", COLUMNS[8].2, COLUMNS[9].2))
        .panel(level("Tx buffer", COLUMNS[6].2, COLUMNS[7].2))
        .panel(panel("retransmissions by the host", Unit::Count, &[("retransmissions", COLUMNS[2].2)]))
        .panel(panel("pauses", Unit::Count, &[("pauses", COLUMNS[15].2)]))
        .phase(report.corruption_at_s, "corruption starts", Tone::Bad)
        .phase(report.protection_at_s, "protection starts", Tone::Good)
}

fn html(title: &str, report: &TimelineReport) -> Result<String> {
    let page = Report::new("linkmend sim timeline")
        .subtitle(title)
        .fact("Seed", report.seed.to_string())
        .fact("Version", env!("CARGO_PKG_VERSION"))
        .section(Section::new("Over time").plot(plot(report)))
        .section(Section::new("Phases").table(summary(String::new(), report)));
    let raw = Section::new("Raw results")
        .json("All of it as JSON", report)
        .context("cannot serialise the report")?;
    Ok(page.section(raw).to_html())
}
