//! The experiments of `linkmend demo`, after the authors' artifact: a stress test, flow completion times, goodput, and
//! a timeline as in Figure 9, in a laboratory of their own. Conditions take turns in short slots ([`turns`]), each of
//! which knows what the machine took from it ([`crate::noise`]).
//!
//! What is measured is plain data ([`DemoResult`]); turning it into tables and pictures is not done here.

mod fct;
mod goodput;
mod options;
mod run;
mod stress;
mod timeline;
pub mod turns;

pub use fct::FctColumn;
pub use goodput::GoodputRow;
pub use options::{DemoOptions, Part};
pub use run::{DemoError, Observer, Step, run};
pub use stress::StressColumn;
pub use timeline::{Timeline, TimelineSample};
pub use turns::{NoiseSummary, TurnPlan};

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

/// How calm the machine was, by experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// During the stress test.
    pub stress: NoiseSummary,
    /// During the short flows.
    pub fct: NoiseSummary,
    /// During the bulk transfers.
    pub goodput: NoiseSummary,
    /// During the timeline.
    pub timeline: NoiseSummary,
}

impl Noise {
    /// All experiments together.
    pub fn all(&self) -> NoiseSummary {
        let parts = [self.stress, self.fct, self.goodput, self.timeline];
        parts.into_iter().fold(NoiseSummary::default(), |all, part| NoiseSummary {
            slots: all.slots + part.slots,
            repeated: all.repeated + part.repeated,
            disturbed: all.disturbed + part.disturbed,
            too_disturbed: all.too_disturbed || part.too_disturbed,
            worst: all.worst.worst(part.worst),
        })
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
    /// How calm the machine was.
    pub noise: Noise,
    /// Stress test: one entry a condition.
    pub stress: Vec<StressColumn>,
    /// Flow completion times: one entry a condition.
    pub fct: Vec<FctColumn>,
    /// Bulk goodput: one entry for each congestion control, loss rate and protection; without loss, for the healthy
    /// link.
    pub goodput: Vec<GoodputRow>,
    /// Healthy, then corrupting, then protected.
    pub timeline: Timeline,
}

impl DemoResult {
    /// The goodput of one cell of the table.
    pub fn goodput_of(&self, control: &str, loss: f64, condition: Condition) -> Option<&GoodputRow> {
        self.goodput
            .iter()
            .find(|row| row.congestion_control == control && row.loss == loss && row.condition == condition)
    }

    /// The flows of one condition.
    pub fn fct_of(&self, condition: Condition) -> Option<&FctColumn> {
        self.fct.iter().find(|column| column.condition == condition)
    }

    /// The stress test of one condition.
    pub fn stress_of(&self, condition: Condition) -> Option<&StressColumn> {
        self.stress.iter().find(|column| column.condition == condition)
    }
}
