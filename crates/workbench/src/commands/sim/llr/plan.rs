//! `linkmend sim llr plan`: the parameters of a port, with each step of the arithmetic.

use super::TABLE_WIDTH;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::Result;
use linkmend_llr::config::REPLAY_COUNT_UNLIMITED;
use linkmend_llr::plan::{Budget, Plan, PlanInput, Step, budget, plan};
use linkmend_llr::{Config, Span};
use linkmend_quantity::{BitRate, ByteSize, Distance, LossRate, Span as Duration};
use linkmend_report::{Column, Table};
use serde_json::{Value, json};

/// More years than this are not shown as a number.
const YEARS_SHOWN_MAX: f64 = 1e6;

/// Arguments of `linkmend sim llr plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim llr plan --speed 400G --cable 50m
  linkmend sim llr plan --speed 800G --cable 500m --loss 1e-5 --buffer 250kB
  linkmend sim llr plan --speed 400G --buffer 135400B --json

The loop is the time from sending a frame to receiving its acknowledgement. The port buffers as many bytes as fit into \
one loop, the replay timer is three loops plus 500 ns (HPE's rule: 1,000 to 15,500 ns, but at least two loops), and the \
replay count is the smallest one that makes FLUSH rare enough. With --buffer, a second table shows how much cable the buffer allows, by Meta's arithmetic (the third \
example: 2,116 ns, 105,800 B, 1,654 frames).")]
pub struct PlanArgs {
    /// Speed of the link
    #[arg(long, value_name = "RATE")]
    speed: BitRate,
    /// Length of the cable
    #[arg(long, value_name = "LENGTH", default_value = "50m")]
    cable: Distance,
    /// Latency of the PHYs, total of both directions
    #[arg(long, value_name = "TIME", default_value = "132ns")]
    phy: Duration,
    /// Largest frame, including its frame check sequence
    #[arg(long, value_name = "SIZE", default_value = "9000B")]
    mtu: ByteSize,
    /// Share of frames that the link corrupts
    #[arg(long, value_name = "RATE", default_value = "1e-6")]
    loss: LossRate,
    /// Distance from one ACK to the next (ctlos_target_spacing)
    #[arg(long, value_name = "SIZE", default_value = "2048B")]
    spacing: ByteSize,
    /// Size of the replay buffer
    #[arg(long, value_name = "SIZE")]
    buffer: Option<ByteSize>,
    /// Minimum mean time between FLUSHes, in years
    #[arg(long, value_name = "YEARS", default_value_t = 10.0)]
    years: f64,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

impl PlanArgs {
    fn input(&self) -> PlanInput {
        let capped = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        PlanInput {
            rate_bps: self.speed.0,
            cable_m: capped(self.cable.0),
            phy_ns: u64::try_from(self.phy.0.as_nanos()).unwrap_or(u64::MAX),
            mtu_bytes: capped(self.mtu.0),
            loss: self.loss.0,
            spacing_bytes: capped(self.spacing.0),
            buffer_bytes: self.buffer.map(|buffer| buffer.0),
            years_between_flushes: self.years,
        }
    }
}

impl Study for PlanArgs {
    fn find(&self, _watch: &dyn Watch) -> Result<Found> {
        let input = self.input();
        let plan = plan(&input)?;
        let phy = Span::from_nanos(input.phy_ns);
        let budget = input
            .buffer_bytes
            .map(|buffer| budget(buffer, input.rate_bps, phy, input.mtu_bytes, input.spacing_bytes));
        let title = format!("Link Layer Retry over {} of {}", self.cable, self.speed);
        let allowed = |budget: &Budget| table("What the replay buffer allows", &budget.steps);
        let tables = [table(&title, &plan.steps)].into_iter().chain(budget.as_ref().map(allowed)).collect();
        let found = Found::new(&object(&plan, budget.as_ref()), TABLE_WIDTH, tables)?;
        Ok(plan.warnings.iter().fold(found, |found, warning| found.warning(warning)))
    }
}

fn table(title: &str, steps: &[Step]) -> Table {
    let mut table = Table::new(title)
        .column(Column::text("Step"))
        .column(Column::text("Arithmetic"))
        .column(Column::text("Value").align(linkmend_report::Alignment::Right))
        .column(Column::text("Source"));
    for step in steps {
        table.push_row([step.name, step.arithmetic.as_str(), &shown(step), step.source]);
    }
    table
}

/// The value of a step with its unit, in words where a number says less.
fn shown(step: &Step) -> String {
    match (step.unit, step.value) {
        ("years", years) if years.is_infinite() => "never".to_owned(),
        ("years", years) if years >= YEARS_SHOWN_MAX => "over a million years".to_owned(),
        ("replays", count) if count == f64::from(REPLAY_COUNT_UNLIMITED) => "no limit".to_owned(),
        (unit, value) => format!("{} {unit}", rounded(value)).trim_end().to_owned(),
    }
}

/// Whole numbers from a thousand on, three decimals below.
fn rounded(value: f64) -> String {
    let text = if value >= 1_000.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn object(plan: &Plan, budget: Option<&Budget>) -> Value {
    let Config { outstanding_frames_max, outstanding_bytes_max, replay_timer_ns, replay_count_max, .. } =
        plan.config;
    json!({
        "steps": steps(&plan.steps),
        "config": {
            "outstanding_frames_max": outstanding_frames_max,
            "outstanding_bytes_max": outstanding_bytes_max,
            "replay_timer_ns": replay_timer_ns,
            "replay_count_max": replay_count_max,
            "pcs_lost_timeout_ns": plan.config.pcs_lost_timeout_ns,
            "data_age_timeout_ns": plan.config.data_age_timeout_ns,
            "ctlos_spacing_bytes": plan.config.ctlos_spacing_bytes,
        },
        "throughput": plan.throughput,
        "warnings": plan.warnings,
        "budget": budget.map(|budget| json!({
            "steps": steps(&budget.steps),
            "round_trip_ns": budget.round_trip_ns,
            "outstanding_bytes": budget.outstanding_bytes,
            "outstanding_frames": budget.outstanding_frames,
            "reach_m": budget.reach_m,
        })),
    })
}

fn steps(steps: &[Step]) -> Vec<Value> {
    let step = |step: &Step| {
        json!({
            "name": step.name,
            "arithmetic": step.arithmetic,
            "value": step.value,
            "unit": step.unit,
            "source": step.source,
        })
    };
    steps.iter().map(step).collect()
}
