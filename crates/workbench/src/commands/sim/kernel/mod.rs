//! `linkmend sim kernel`: the simulated TCP beside the kernel's, over the same path.

mod comparison;
mod losses;
mod page;
mod tables;

use crate::commands::demo::progress::Steps;
use crate::commands::shown;
use crate::commands::sim::parameters::usage;
use clap::Args;
use comparison::{Cell, Comparison};
use linkmend::failure::{Context, Hinted, Interrupted, Result, UsageError};
use linkmend::interrupt;
use linkmend::written_file;
use linkmend_diagnose::Diagnose;
use linkmend_lab::impairments::ImpairmentError;
use linkmend_lab::transfers::{Transfer, TransferOptions, TransfersReport};
use linkmend_lab::unprivileged::has_capabilities;
use linkmend_lab::{Impairments, StopFlag, transfers};
use linkmend_quantity::{BitRate, ByteSize, Span};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::TransportKind;
use linkmend_sim::network::{FULL_FRAME_BYTES, WIRE_OVERHEAD_BYTES};
use linkmend_sim::transfer::{self, TransferConfig, TransferPath};
use losses::LossPattern;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 110;
/// Congestion controls that both the simulator and Linux have.
const BOTH_HAVE: [TransportKind; 3] = [TransportKind::Reno, TransportKind::Cubic, TransportKind::Bbr];
/// The longest that a transfer may last.
const DURATION_MAX: Duration = Duration::from_secs(600);
/// Time between two samples: a round trip of the usual path.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// Arguments of `linkmend sim kernel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo linkmend sim kernel  # three congestion controls, six patterns of loss
  sudo linkmend sim kernel --congestion-control cubic --losses none,burst
  sudo linkmend sim kernel --rate 200M --delay 10ms --queue 1MB --duration 5s \\
    --json
  linkmend sim kernel --simulated  # without root: the simulated side alone

Frames that carry data are numbered from 0 in the order in which the bottleneck sends them, retransmissions included. \
Frames without data have no number and are never lost.")]
pub struct KernelArgs {
    /// Congestion controls to compare
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "reno,cubic,bbr")]
    congestion_control: Vec<String>,
    /// Loss patterns
    #[arg(
        long,
        value_name = "PATTERN,...",
        value_enum,
        value_delimiter = ',',
        default_value = "none,single,burst,periodic,random-1e-3,random-1e-2"
    )]
    losses: Vec<LossPattern>,
    /// Rate of the bottleneck
    #[arg(long, value_name = "RATE", default_value = "100M")]
    rate: BitRate,
    /// One-way delay of the path, in both directions
    #[arg(long, value_name = "TIME", default_value = "5ms")]
    delay: Span,
    /// Queue limit in front of the bottleneck [default: one bandwidth-delay product]
    #[arg(long, value_name = "SIZE")]
    queue: Option<ByteSize>,
    /// How long each connection sends
    #[arg(long, value_name = "TIME", default_value = "10s")]
    duration: Span,
    /// Seed for the random losses and the simulated hosts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only simulate: needs neither root nor a quiet machine
    #[arg(long)]
    simulated: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Path of the HTML report
    #[arg(long, value_name = "FILE", default_value = "linkmend-kernel.html")]
    report: PathBuf,
    /// Write no HTML report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
}

impl KernelArgs {
    /// What is compared, after a check of everything.
    fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for name in &self.congestion_control {
            let kind = BOTH_HAVE.into_iter().find(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| {
                let known = BOTH_HAVE.map(TransportKind::name).join(", ");
                UsageError::new(format!("--congestion-control {name}: must be one of {known}"))
            })?;
            for &pattern in &self.losses {
                let lost = pattern.lost(self.frames_max(), self.seed);
                cells.push(Cell { kind, pattern, lost });
            }
        }
        Ok(cells)
    }

    /// No more data frames than this pass the bottleneck: full ones, back to back.
    fn frames_max(&self) -> u64 {
        let frame_bits = (u64::from(FULL_FRAME_BYTES) + WIRE_OVERHEAD_BYTES) * 8;
        (self.rate.0 as f64 * self.duration.0.as_secs_f64() / frame_bits as f64) as u64 + 1
    }

    fn impairments(&self) -> Impairments {
        Impairments {
            rate_bps: Some(self.rate.0),
            delay: Duration::ZERO,
            link_delay: self.delay.0,
            queue_bytes: self.queue.map(|queue| queue.0),
        }
    }

    fn simulated(&self, cell: &Cell) -> Result<TransferConfig> {
        let path = TransferPath {
            rate: TransferConfig::rate(self.rate).map_err(usage)?,
            delay: self.delay.into(),
            queue_bytes: self.impairments().queue_bytes().unwrap_or_default(),
            losses: Corruption::Recorded(Arc::clone(&cell.lost)),
        };
        let config = TransferConfig::linux(cell.kind, path, self.duration.into(), self.seed);
        let mut config = config.map_err(usage)?;
        config.sample_interval = Span(SAMPLE_INTERVAL).into();
        config.validate().map_err(usage)?;
        Ok(config)
    }

    /// The laboratory's side.
    fn kernel(&self, cells: &[Cell], stop: &Arc<AtomicBool>, progress: &Steps) -> Result<TransfersReport> {
        let mut options = TransferOptions::new("lmkernel", self.impairments(), self.duration.0);
        options.sample_interval = SAMPLE_INTERVAL;
        options.repeats = cells.len().div_ceil(2);
        let transfer = |cell: &Cell| Transfer {
            label: cell.label(),
            congestion_control: cell.kind.name().to_owned(),
            lost: Arc::clone(&cell.lost),
        };
        let transfers: Vec<Transfer> = cells.iter().map(transfer).collect();
        let stop = StopFlag::from_shared(Arc::clone(stop));
        let report = transfers::run(&options, &transfers, &stop, progress);
        report.context("the kernel's transfers did not finish")
    }
}

/// Executes the command. After Ctrl-C the laboratory is taken down, too.
pub fn execute(arguments: &KernelArgs) -> Result<()> {
    if !(Duration::from_millis(100)..=DURATION_MAX).contains(&arguments.duration.0) {
        return Err(
            UsageError::new(format!("--duration {}: must be 100ms to 10min", arguments.duration)).into()
        );
    }
    let cells = arguments.cells()?;
    let configs = cells.iter().map(|cell| arguments.simulated(cell)).collect::<Result<Vec<_>>>()?;
    if !arguments.simulated && !has_capabilities() {
        return Err(Hinted::error(
            "the kernel's TCP runs in network namespaces, which need root",
            "use sudo, or --simulated for only the simulated side",
        ));
    }
    if !arguments.simulated {
        let refused = |error: ImpairmentError| UsageError::hinted(error.to_string(), error.hint());
        arguments.impairments().validate().map_err(refused)?;
    }
    let stop = interrupt::flag()?;
    let progress = Steps::new();
    let kernel =
        if arguments.simulated { Ok(None) } else { arguments.kernel(&cells, &stop, &progress).map(Some) };
    progress.finish();
    let kernel = kernel?;
    let mut simulated = Vec::new();
    for config in &configs {
        let report = transfer::run(config, &stop).map_err(usage)?;
        simulated.push(report.ok_or_else(|| {
            Interrupted::error("interrupted before the end", "a shorter --duration takes less time")
        })?);
    }
    let path = arguments.impairments();
    let comparison = Comparison::new(&path, arguments.duration.0, arguments.seed, &cells, kernel, simulated);
    show(arguments, &comparison)?;
    if !arguments.no_report {
        write_report(&comparison, &arguments.report)?;
        progress.print_line(&format!("report: {}", arguments.report.display()));
    }
    Ok(())
}

fn show(arguments: &KernelArgs, comparison: &Comparison) -> Result<()> {
    shown::json_or_tables(arguments.json, comparison, TABLE_WIDTH, |of| vec![tables::comparison(of)])
}

fn write_report(comparison: &Comparison, path: &Path) -> Result<()> {
    let page = page::render(comparison)?;
    Ok(written_file::write(path, page)?)
}
