//! `linkmend sim stress`: one run of the stress test.

use super::capture::{self, CaptureArgs, Capturing};
use super::parameters::{LineRate, ParameterArgs, usage};
use super::series::{self, Levels, SeriesArgs};
use crate::commands::rows::Rows;
use crate::commands::study::{Columns, Found, Study, Watch};
use clap::Args;
use linkmend::failure::{Interrupted, Result};
use linkmend_report::{Cell, Table, Unit, quantity};
use linkmend_sim::flows::Recovery;
use linkmend_sim::link::config::Hardware;
use linkmend_sim::links::LinksConfig;
use linkmend_sim::measure::{Capture, Percentiles, Quartiles};
use linkmend_sim::network::NoObserver;
use linkmend_sim::stress::{self, BufferSeries, PortCounter, StressReport, Undelivered};
use serde::Serialize;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 100;
const NANO: f64 = 1e-9;

/// Arguments of `linkmend sim stress`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim stress --speed 100G --loss 1e-3 --scheme ordered --frames 100M \\
    --seed 1
      The stress test of the paper's artifact: effective speed 94.5 Gbit/s, with almost no frames lost.

  linkmend sim stress --speed 800G --scheme non-blocking --json
      Beyond the Tofino, with direct buffers. One JSON object: times in ns, sizes in bytes.

  linkmend sim stress --speed 400G --recirculation-speed 100G --frames 1M
      The effect of a recirculation port that is slower than the link.

  linkmend sim stress --speed 25G --loss 1e-3 --no-backpressure
      What Figure 9b shows: the Rx buffer overflows.

  linkmend sim stress --transceiver 50GBASE-SR-FEC --attenuation 0.7dB \\
    --speed 50G
      Losses like those of an attenuated fibre.

  linkmend sim stress --losses lost.txt --frames 1M --scheme none
      Exactly these losses, unprotected.

  linkmend sim stress --losses lost.txt --frames 1k --capture run.pcapng
      A capture of both ends of the link and of the frames that they pass on, for Wireshark.

  linkmend sim stress --frames 100k --series levels.csv --series-step 500ns
      The fill levels of both buffers over time.

Options are validated before the run starts. The steady state between losses is skipped, which does not change the \
results (--full simulates it as well). Sizes, rates, times and lengths need a unit.")]
pub struct StressArgs {
    #[command(flatten)]
    parameters: ParameterArgs<LineRate>,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    series: SeriesArgs,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

/// After Ctrl-C, the results so far are shown.
impl Study for StressArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let parameters = self.parameters.parameters();
        parameters.check_effect().map_err(usage)?;
        let mut config = parameters.line_rate(Path::new("")).map_err(usage)?;
        if self.capture.is_asked_for() || self.series.is_asked_for() {
            config.validate_observed().map_err(usage)?;
        }
        let capturing = self.capture.begin(&mut config)?;
        let series = self.series.begin(&mut config, self.json)?;
        let (report, captured, levels) = run(&config, capturing, series.as_ref(), watch)?;
        // What was measured is shown, even if a file could not be written.
        let captured = captured.map_or(Ok(()), |(path, capture)| capture::finish(&path, capture.into_file()));
        let levels = series.zip(levels).map_or(Ok(None), |(series, levels)| series.finish(&levels));
        let unwritten = captured.err();
        let (levels, unwritten) = match levels {
            Ok(levels) => (levels, unwritten),
            Err(error) => (None, unwritten.or(Some(error))),
        };
        let levels_json = levels.as_ref().map(Columns);
        let found = Found::new(
            &Shown { report: &report, levels: levels_json },
            TABLE_WIDTH,
            vec![table(&config, &report)],
        )?;
        let found = levels
            .into_iter()
            .fold(found, |found, levels| found.plots([series::plot(&levels)]).series("levels", levels));
        let is_stopped = watch.stop()?.load(Ordering::Relaxed);
        let interrupted = (report.frames_sent < config.frames && is_stopped).then(|| {
            let message = format!("interrupted after {} of {} frames", report.frames_sent, config.frames);
            Interrupted::error(message, "fewer --frames take less time")
        });
        Ok(found.failing(unwritten.or(interrupted)))
    }
}

/// The report, and the levels of both buffers over time if they are not in a file.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a StressReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Columns<'a>>,
}

type FileCapture = Capture<BufWriter<File>>;

/// What a run gives: its report, its capture and the levels of its buffers, if somebody has asked for them.
type Observed = (StressReport, Option<(PathBuf, FileCapture)>, Option<BufferSeries>);

fn run(
    config: &LinksConfig,
    capturing: Option<Capturing<FileCapture>>,
    series: Option<&Levels>,
    watch: &dyn Watch,
) -> Result<Observed> {
    watch.begin(config.frames, FRAMES);
    let began = Instant::now();
    let stop = watch.stop()?;
    let mut progress = |frames| {
        watch.reach(frames);
        !stop.load(Ordering::Relaxed)
    };
    let step = series.map(|series| series.step);
    let outcome = match capturing {
        Some(Capturing { path, capture }) => stress::run_observed(config, capture, step, &mut progress)
            .map(|(report, capture, levels)| (report, Some((path, capture)), levels)),
        None if step.is_some() => stress::run_observed(config, NoObserver, step, &mut progress)
            .map(|(report, _, levels)| (report, None, levels)),
        None => stress::run(config, &mut progress).map(|report| (report, None, None)),
    };
    let (report, captured, levels) = outcome.map_err(usage)?;
    Ok((StressReport { wall_s: began.elapsed().as_secs_f64(), ..report }, captured, levels))
}

/// How progress in frames is shown.
pub(super) const FRAMES: &str = "{bar:30} {percent:>3} %  {human_pos} of {human_len} frames  [{left}]";

fn table(config: &LinksConfig, report: &StressReport) -> Table {
    let title = format!(
        "{} frames of {} B at {}, seed {}",
        quantity::count(report.frames_sent as f64),
        config.links[0].frame_bytes,
        quantity::rate(config.links[0].rate.bits_per_second() as f64),
        report.seed
    );
    let mut rows = Rows::new(title, "");
    rows.quantity("actual loss rate", report.actual_loss_rate, Unit::LossRate);
    rows.count("frames lost on the link", report.frames_lost);
    rows.row("frames undelivered", none_is_good(report.frames_undelivered));
    rows.quantity("effective loss rate", report.effective_loss_rate, Unit::LossRate);
    if let Some(expected) = report.effective_loss_rate_expected {
        rows.quantity("expected by Equation 1", expected, Unit::LossRate);
    }
    rows.quantity("effective speed", report.effective_speed_gbps * 1e9, Unit::BitPerSecond);
    rows.quantity("effective link speed", report.effective_speed_pct / 100.0, Unit::Share);
    if config.links[0].protection.is_some() {
        rows.count("copies of a lost frame", report.copies.unwrap_or(0).into());
        rows.count("copies sent", report.retransmitted_copies);
        rows.count("frames reordered", report.frames_reordered);
        rows.count("recovery timeouts", report.recovery_timeouts);
        rows.row("Tx buffer", buffer(report.tx_buffer_bytes));
        rows.row("Rx buffer", buffer(report.rx_buffer_bytes));
        rows.row("Rx buffer overflows", none_is_good(report.rx_buffer_overflows));
        rows.count("pauses", report.pauses);
        rows.row("retransmission delay", delay(report.retransmission_delay_ns));
        rows.row("buffering", Cell::text(buffering(report)));
        rows.row("recirculation, Tx and Rx", Cell::text(recirculation(report)));
    }
    if let Recovery::Llr(_) | Recovery::Selective(_) = config.recovery {
        rows.count("retransmitted frames", report.retransmitted_copies);
        rows.count("frames reordered", report.frames_reordered);
        rows.row("replay buffer", buffer(report.tx_buffer_bytes));
        if let Recovery::Selective(_) = config.recovery {
            rows.row("Rx buffer", buffer(report.rx_buffer_bytes));
        }
        rows.row("retransmission delay", delay(report.retransmission_delay_ns));
    }
    for PortCounter { name, sender, receiver } in &report.counters {
        if sender + receiver > 0 {
            let [sender, receiver] = [sender, receiver].map(|value| quantity::count(*value as f64));
            rows.row(
                &format!("{name}, at the sender and receiver"),
                Cell::text(format!("{sender} / {receiver}")),
            );
        }
    }
    rows.quantity("simulated time", report.simulated_ns * NANO, Unit::Second);
    rows.count("events simulated", report.events);
    rows.quantity("took", report.wall_s, Unit::Second);
    let notes = [
        Some("Buffers: minimum, quartiles, maximum. Delay: minimum, median, 99.9 %, maximum.".to_owned()),
        config.links[0].protection.map(|_| format!("Buffering: {}.", report.hardware.reason)),
        why_undelivered(config, report),
    ];
    let warnings = report.warnings.iter().map(|warning| format!("Warning: {warning}."));
    let notes: Vec<String> = notes.into_iter().flatten().chain(warnings).collect();
    rows.into_table().note(notes.join(" "))
}

/// Describes how frames are buffered, with the rate of the recirculation port.
fn buffering(report: &StressReport) -> String {
    let Hardware { buffering, recirculation_gbps, .. } = &report.hardware;
    match recirculation_gbps {
        None => (*buffering).to_owned(),
        Some(gbps) => format!("{buffering} at {}", quantity::rate(gbps * 1e9)),
    }
}

/// Says why frames were undelivered, if any were.
fn why_undelivered(config: &LinksConfig, report: &StressReport) -> Option<String> {
    let Undelivered { unprotected, copies_corrupted, copies_late, overflowed, discarded, other } =
        report.undelivered;
    let other_reasons = match config.recovery {
        Recovery::Llr(_) => "given up by FLUSH, lost without protection, or still waiting at the end",
        _ => "loss not noticed, or still in flight at the end",
    };
    let timeout =
        config.links[0].protection.map_or(0.0, |protection| protection.recovery_timeout_ns as f64 * NANO);
    let reasons = [
        (unprotected, "corrupted, and nothing protects the link".to_owned()),
        (copies_corrupted, "corrupted with all their copies".to_owned()),
        (
            copies_late,
            format!("given up before a copy arrived (--recovery-timeout {})", quantity::duration(timeout)),
        ),
        (overflowed, "dropped by a full Rx buffer and given up before they were received again".to_owned()),
        (discarded, "discarded by the port in FLUSH".to_owned()),
        (other, other_reasons.to_owned()),
    ];
    let said: Vec<String> = reasons
        .into_iter()
        .filter(|(frames, _)| *frames > 0)
        .map(|(frames, why)| format!("{} {why}", quantity::count(frames as f64)))
        .collect();
    (!said.is_empty()).then(|| format!("Undelivered: {}.", said.join("; ")))
}

/// A count that should be 0.
fn none_is_good(count: u64) -> Cell {
    let cell = Cell::quantity(count as f64, Unit::Count);
    if count == 0 { cell } else { cell.bad() }
}

fn buffer(levels: Quartiles) -> Cell {
    let Quartiles { min, p25, p50, p75, max } = levels;
    let texts = [min, p25, p50, p75, max].map(|level| quantity::bytes(level as f64));
    Cell::text(texts.join(" / "))
}

fn delay(delays: Percentiles) -> Cell {
    if delays.count == 0 {
        return Cell::missing();
    }
    let texts = [delays.min, delays.p50, delays.p999, delays.max].map(|ns| quantity::duration(ns * NANO));
    Cell::text(texts.join(" / "))
}

fn recirculation(report: &StressReport) -> String {
    format!(
        "{} / {}",
        quantity::percent(report.tx_recirculation_pct / 100.0),
        quantity::percent(report.rx_recirculation_pct / 100.0)
    )
}
