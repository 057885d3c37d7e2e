//! `linkmend rdma check`: compare the model with the simulated transport.

use super::arguments::TABLE_WIDTH;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Hinted, Interrupted, Result, UsageError};
use linkmend_quantity::Count;
use linkmend_report::{Comparison, Judged, Tolerance, Unit, Verdict};
use linkmend_sim::flows::RdmaMechanisms;
use linkmend_sim::rdma_check::{Check, CheckCase, check_cases};

/// Timeouts that must be seen for their interval to mean anything: it is that of weighed counts, and normal.
const SEEN_MIN: u64 = 5;

/// Arguments of `linkmend rdma check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend rdma check              # every kind of timeout, without mechanisms and with each of them
  linkmend rdma check --trials 1M  # the same, with intervals a third as wide
  linkmend rdma check --json

RDMA flows cross links that lose one full-size packet in 10,000 through bit errors, in both directions. Timeouts \
that are too rare to be counted are estimated by importance sampling: the simulated links lose a tenth of all \
frames, and the outcomes are weighted. The exit code is 1 if the model is so far outside the 95 % interval that chance does not explain it.")]
pub struct CheckArgs {
    /// Flows per case
    #[arg(long, value_name = "N", default_value = "100k")]
    trials: Count,
    /// Seed for all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads to use [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print one JSON list instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Study for CheckArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let cases = check_cases();
        let parts = CheckCase::parts(self.trials.0) * cases.len() as u64;
        watch.begin(parts, "{bar:30} {percent:>3} %  [{left}]");
        let mut rows = Vec::new();
        for case in &cases {
            let done = &|| watch.advance();
            let checks = case.run(self.trials.0, self.seed, threads(self.threads), watch.stop()?, done);
            let checks = checks.map_err(|error| UsageError::new(error.to_string()))?;
            let interrupted = || {
                Interrupted::error("interrupted before all cases were run", "use fewer --trials to save time")
            };
            rows.extend(checks.ok_or_else(interrupted)?.iter().map(row));
        }
        let title = "timeouts per flow: the model (as published) and the simulated transport (as measured)";
        let found = Found::new(&Judged::all(&rows), TABLE_WIDTH, vec![Comparison::table(title, &rows)])?;
        let outside = rows.iter().filter(|row| row.verdict() == Verdict::NotReproduced).count();
        let message = format!("{outside} of {} expectations are far outside the interval", rows.len());
        let hint = "chance explains hardly one case in a thousand; try another --seed";
        Ok(found.failing((outside > 0).then(|| Hinted::error(message, hint))))
    }
}

fn row(check: &Check) -> Comparison {
    let Check { case, kind, expected, counted } = check;
    let plural = |count: u32, thing: &str| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
    let metric = format!(
        "{}, {}, {}, {}",
        kind.name(),
        RdmaMechanisms(case.mechanisms),
        plural(case.packets, "packet"),
        plural(case.links, "link"),
    );
    let source = format!("theorems {}; {} seen", kind.theorems(), counted.seen);
    let row = Comparison::new(metric, source, Unit::LossRate, *expected, Tolerance::Interval)
        .measured(counted.value)
        .between(counted.low, counted.high);
    if counted.seen < SEEN_MIN { row.too_few() } else { row }
}
