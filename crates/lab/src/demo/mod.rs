//! The experiments of `linkmend demo`, after the authors' artifact: a stress test, flow completion times, goodput, and
//! a timeline as in Figure 9. They run one after another in a laboratory of their own.
//!
//! What is measured is plain data ([`DemoResult`]); turning it into tables and pictures is not done here.

mod fct;
mod goodput;
mod run;
mod stress;
mod timeline;

pub use fct::FctColumn;
pub use goodput::GoodputRow;
pub use run::{DemoError, Observer, run};
pub use stress::StressColumn;
pub use timeline::{Timeline, TimelineSample};

use std::time::Duration;

use linkmend_dataplane::PortChoice;
use serde::{Deserialize, Serialize};

/// What the link is like in one column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// No corruption; the link is dormant, the kernel forwards.
    Healthy,
    /// Corrupting, and the daemons only forward.
    Unprotected,
    /// Corrupting and protected, in order.
    Ordered,
    /// Corrupting and protected, out of order.
    NonBlocking,
}

impl Condition {
    /// The four columns.
    pub const ALL: [Condition; 4] =
        [Condition::Healthy, Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];

    /// For headings.
    pub fn label(self) -> &'static str {
        match self {
            Condition::Healthy => "healthy",
            Condition::Unprotected => "unprotected",
            Condition::Ordered => "ordered",
            Condition::NonBlocking => "non-blocking",
        }
    }
}

/// How much to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoOptions {
    /// Prefix of the laboratory's namespaces.
    pub prefix: String,
    /// Seed of the injected corruption.
    pub seed: u64,
    /// Use AF_PACKET where AF_XDP is not to be had, or on request.
    pub packet_ports: bool,
    /// Loss rate of the four columns.
    pub loss: f64,
    /// Loss rates of the goodput table, besides none.
    pub goodput_losses: Vec<f64>,
    /// Congestion controls of the goodput table.
    pub congestion_controls: Vec<String>,
    /// Frames of each stress test.
    pub stress_frames: u64,
    /// Longest time of each stress test.
    pub stress_time: Duration,
    /// Flows of each column.
    pub flows: u64,
    /// Bytes of a flow.
    pub flow_bytes: u64,
    /// Measured time of each goodput cell.
    pub goodput_time: Duration,
    /// Warm-up before it.
    pub goodput_warm_up: Duration,
    /// Length of each of the three phases of the timeline.
    pub phase_time: Duration,
}

impl DemoOptions {
    /// About a minute.
    pub fn standard() -> DemoOptions {
        DemoOptions {
            prefix: "lmdemo".to_owned(),
            seed: 1,
            packet_ports: false,
            loss: 1e-3,
            goodput_losses: vec![1e-4, 1e-3, 1e-2],
            congestion_controls: vec!["cubic".to_owned(), "bbr".to_owned()],
            stress_frames: 1_000_000,
            stress_time: Duration::from_secs(3),
            flows: 2_000,
            flow_bytes: 24_387,
            goodput_time: Duration::from_millis(900),
            goodput_warm_up: Duration::from_millis(250),
            phase_time: Duration::from_secs(3),
        }
    }

    /// Under 20 seconds.
    pub fn quick() -> DemoOptions {
        DemoOptions {
            goodput_losses: vec![1e-3],
            congestion_controls: vec!["cubic".to_owned()],
            stress_frames: 200_000,
            stress_time: Duration::from_secs(1),
            flows: 500,
            goodput_time: Duration::from_millis(600),
            goodput_warm_up: Duration::from_millis(200),
            phase_time: Duration::from_millis(1_000),
            ..DemoOptions::standard()
        }
    }

    fn ports(&self) -> PortChoice {
        if self.packet_ports { PortChoice::Packet } else { PortChoice::Auto }
    }
}

/// Everything the demo found. One object, documented field by field; `linkmend demo --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoResult {
    /// Version of Linkmend.
    pub version: String,
    /// What was asked for.
    pub options: DemoOptions,
    /// Kind of the link ports, and why.
    pub ports: String,
    /// Kernel release.
    pub kernel: String,
    /// How long it all took, in seconds.
    pub seconds: f64,
    /// Stress test: one entry a condition.
    pub stress: Vec<StressColumn>,
    /// Flow completion times: one entry a condition.
    pub fct: Vec<FctColumn>,
    /// Bulk goodput: one entry for each congestion control, loss rate and protection.
    pub goodput: Vec<GoodputRow>,
    /// Healthy, then corrupting, then protected.
    pub timeline: Timeline,
}
