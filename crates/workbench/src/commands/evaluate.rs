//! `linkmend corruptd evaluate`: how good detection is.

use crate::commands::progress;
use crate::commands::shown;
use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Interrupted, Result};
use linkmend::interrupt;
use linkmend::output::remark;
use linkmend::written_file;
use linkmend_monitor::config::DetectionConfig;
use linkmend_monitor::evaluation::{Evaluation, EvaluationOptions, evaluate};
use linkmend_quantity::LossRate;
use linkmend_report::quantity::{count, duration, loss_rate};
use linkmend_report::{Alignment, Axis, Cell, Column, Report, Scatter, Section, Series, Table, Tone, Unit};
use std::path::PathBuf;
use std::time::Duration;

/// Width of tables where there is no terminal.
const WIDTH: usize = 120;
const LINK_YEARS_MOST: f64 = 10_000.0;

/// Arguments of `linkmend corruptd evaluate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend corruptd evaluate                          # a minute; writes linkmend-corruptd.html
  linkmend corruptd evaluate --false-alarm 1e-9       # the cost of more certainty
  linkmend corruptd evaluate --losses 1e-6 --years 1  # one loss rate only

A 100G link with frames of 1,518 B starts to corrupt frames between two polls, and the time until this is detected is \
measured. Healthy links corrupt frames too (the standard allows 1e-12 of all bits), and the number of false alarms is counted. \
The results are compared with those of the paper's rule, a share of 1e-8 of the most recent 100 million frames. Loss rates \
predicted from FEC counters are compared with the actual loss rates of the links.")]
pub struct EvaluateArgs {
    /// Loss rates of links that start to corrupt frames [default: 2e-8 to 1e-2]
    #[arg(long, value_name = "RATE,...", value_delimiter = ',')]
    losses: Vec<LossRate>,
    /// Runs per loss rate, 1 to 100,000
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Link-years for which healthy links are monitored, above 0, at most 10,000
    #[arg(long, value_name = "YEARS", default_value_t = 4.0, value_parser = link_years)]
    years: f64,
    /// Seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    detection: DetectionConfig,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Path of the HTML report
    #[arg(long, value_name = "FILE", default_value = "linkmend-corruptd.html")]
    report: PathBuf,
    /// Write no HTML report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
}

fn link_years(text: &str) -> Result<f64, String> {
    let years: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of years"))?;
    if years > 0.0 && years <= LINK_YEARS_MOST {
        Ok(years)
    } else {
        Err(format!("{years} is not above 0 and at most {LINK_YEARS_MOST}"))
    }
}

/// Executes the command.
pub fn execute(arguments: &EvaluateArgs) -> Result<()> {
    let usual = EvaluationOptions::default();
    let settings = arguments.detection.settings()?;
    let losses: Vec<f64> = arguments.losses.iter().map(|loss| loss.0).filter(|&loss| loss > 0.0).collect();
    let options = EvaluationOptions {
        settings,
        seed: arguments.seed,
        losses: if losses.is_empty() { usual.losses } else { losses },
        runs: arguments.runs as usize,
        link_years: arguments.years,
        ..usual
    };
    let workers = threads(arguments.threads);
    let stop = interrupt::flag()?;
    let bar = progress::bar(options.parts() as u64, "{bar:30} {percent} %  [{elapsed} elapsed]");
    bar.enable_steady_tick(Duration::from_millis(200));
    let evaluation = evaluate(&options, workers, &stop, &|| bar.inc(1));
    bar.finish_and_clear();
    let Some(evaluation) = evaluation else {
        let hint = "use fewer --years, --runs or --losses to save time";
        return Err(Interrupted::error("interrupted before it finished", hint));
    };
    shown::json_or_tables(arguments.json, &evaluation, WIDTH, |of| {
        vec![detection(of), false_alarms(of), codewords(of), codeword_alarms(of), forecasts(of)]
    })?;
    if !arguments.no_report {
        let path = &arguments.report;
        written_file::write_private(path, page(&evaluation)?)?;
        remark(&format!("report: {}\n", path.display()));
    }
    Ok(())
}

fn time(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "> 1 day".to_owned(), duration)
}

/// A table whose first column is text, and whose others are aligned as numbers.
fn table(title: &'static str, first: &'static str, others: &[&'static str]) -> Table {
    let others = others.iter().map(|name| Column::text(*name).align(Alignment::Right));
    others.fold(Table::new(title).column(Column::text(first)), Table::column)
}

fn detection(evaluation: &Evaluation) -> Table {
    let columns = ["load of 100G", "found", "median", "95 %", "paper's rule"];
    let mut table = table("Time to detect a link that starts to corrupt frames", "loss rate", &columns);
    for cell in &evaluation.detection {
        table.push_row([
            Cell::text(loss_rate(cell.loss_rate)),
            Cell::text(format!("{} %", cell.load * 100.0)),
            Cell::text(format!("{} of {}", cell.found, cell.runs)),
            Cell::text(time(cell.median_s)),
            Cell::text(time(cell.p95_s)),
            Cell::text(time(cell.paper_median_s)),
        ]);
    }
    table.note("Polls are one second apart. The paper's rule decides on a single corrupted frame.")
}

fn false_alarms(evaluation: &Evaluation) -> Table {
    let columns =
        ["load of 100G", "link-years", "alarms", "per link-year", "interval (95 %)", "paper's rule"];
    let mut table = table("Healthy links reported as corrupting", "loss rate", &columns);
    for cell in &evaluation.false_alarms {
        let (low, high) = cell.interval;
        table.push_row([
            Cell::text(loss_rate(cell.background)),
            Cell::text(format!("{} %", cell.load * 100.0)),
            Cell::text(format!("{}", cell.link_years)),
            Cell::text(count(cell.alarms as f64)),
            Cell::text(format!("{:.2}", cell.per_link_year)),
            Cell::text(format!("{low:.2} to {high:.2}")),
            Cell::text(count(cell.paper_per_link_year)),
        ]);
    }
    table.note("Alarms per link-year. A link counts as corrupting at a loss rate of 1e-8, but not at these.")
}

fn codewords(evaluation: &Evaluation) -> Table {
    let columns =
        ["codewords", "loss rate", "load", "found", "median", "oracle", "frames alone", "early warning"];
    let mut table = table("Time to detect on ports that count uncorrectable codewords", "port", &columns);
    let median = |seconds: Option<f64>| seconds.map_or_else(Cell::missing, |time| Cell::text(duration(time)));
    for cell in &evaluation.codewords {
        table.push_row([
            Cell::text(cell.port),
            Cell::text(if cell.bursts { "in bursts of 20" } else { "one by one" }),
            Cell::text(loss_rate(cell.loss_rate)),
            Cell::text(format!("{} %", cell.load * 100.0)),
            Cell::text(format!("{} of {}", cell.found, cell.runs)),
            median(cell.median_s),
            median(cell.oracle_median_s),
            median(cell.frames_median_s),
            median(cell.warned_median_s),
        ]);
    }
    table.note(
        "Medians; none if fewer than half of the links are found within two hours. The oracle knows when corruption \
         began and which codewords are one burst. The early warning needs a histogram, and errors that are not in bursts.",
    )
}

fn codeword_alarms(evaluation: &Evaluation) -> Table {
    let columns = ["codewords", "link-years", "alarms", "per link-year", "interval (95 %)", "frames alone"];
    let mut table = table("Healthy links with codewords reported as corrupting", "loss rate", &columns);
    for cell in &evaluation.codeword_alarms {
        let (low, high) = cell.interval;
        table.push_row([
            Cell::text(loss_rate(cell.background)),
            Cell::text(if cell.bursts { "in bursts of 20" } else { "one by one" }),
            Cell::text(format!("{}", cell.link_years)),
            Cell::text(count(cell.alarms as f64)),
            Cell::text(format!("{:.2}", cell.per_link_year)),
            Cell::text(format!("{low:.2} to {high:.2}")),
            Cell::text(count(cell.frames_per_link_year)),
        ]);
    }
    table.note("100G RS(544,514) at 50 % load. Frames alone do not show which of them were lost together.")
}

fn forecasts(evaluation: &Evaluation) -> Table {
    let columns = ["loss rate", "predicted (median)", "in the interval", "would be armed"];
    let mut table = table("Loss rates predicted from one minute of FEC counters", "errors", &columns);
    for cell in &evaluation.forecasts {
        table.push_row([
            Cell::text(cell.errors),
            Cell::text(loss_rate(cell.loss_rate)),
            cell.median.map_or_else(Cell::missing, |median| Cell::text(format!("{median:.2e}"))),
            Cell::text(format!("{} of {}", cell.inside, cell.runs)),
            Cell::text(format!("{} of {}", cell.armed, cell.runs)),
        ]);
    }
    table.note(
        "From a histogram of codewords at 100G, before a frame is lost. 95 % of the intervals should \
         contain the true value.",
    )
}

fn page(evaluation: &Evaluation) -> Result<String> {
    let axis = |name: &str, unit| Axis::new(name, unit).log();
    let mut plot = Scatter::new(
        "Time to detect a link that starts to corrupt frames",
        axis("loss rate", Unit::Plain),
        axis("median time", Unit::Second),
    );
    let mut loads: Vec<f64> = evaluation.detection.iter().map(|cell| cell.load).collect();
    loads.dedup();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    for &load in &loads {
        let cells = evaluation.detection.iter().filter(|cell| cell.load == load);
        let points = cells.filter_map(|cell| Some((cell.loss_rate, cell.median_s?)));
        plot = plot.series(Series::joined(format!("{} % of 100G", load * 100.0), points));
    }
    if let Some(&most) = loads.last() {
        let cells = evaluation.detection.iter().filter(|cell| cell.load == most);
        let points = cells.filter_map(|cell| Some((cell.loss_rate, cell.paper_median_s?)));
        plot = plot.series(Series::published(format!("the paper's rule, {} %", most * 100.0), points));
    }
    let alarms: u64 = evaluation.false_alarms.iter().map(|cell| cell.alarms).sum();
    let years: f64 = evaluation.false_alarms.iter().map(|cell| cell.link_years).sum();
    Ok(Report::new("linkmend corruptd evaluate")
        .subtitle("How soon corruption is detected, and how often there are false alarms")
        .fact("Version", evaluation.version)
        .fact("Activation", loss_rate(evaluation.activate))
        .fact("Maximum false-alarm probability", loss_rate(evaluation.false_alarm))
        .fact("Seed", evaluation.seed.to_string())
        .headline(
            "False alarms",
            count(alarms as f64),
            format!("in {years} years of healthy links"),
            if alarms == 0 { Tone::Good } else { Tone::Bad },
        )
        .section(Section::new("Corrupting links").plot(plot).table(detection(evaluation)))
        .section(Section::new("Healthy links").table(false_alarms(evaluation)))
        .section(Section::new("Codewords").table(codewords(evaluation)).table(codeword_alarms(evaluation)))
        .section(Section::new("Early warning").table(forecasts(evaluation)))
        .section(Section::new("Raw results").json("All of it as JSON", evaluation)?)
        .to_html())
}
