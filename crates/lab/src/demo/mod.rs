//! The experiments of `linkmend demo`, after the authors' artifact: a stress test, flow completion times, goodput, and
//! a timeline as in Figure 9, in a laboratory of their own. Conditions take turns in short slots ([`turns`]), and each
//! slot measures how the machine disturbed it ([`crate::noise`]).
//!
//! The results are plain data ([`DemoResult`]); tables and plots are made elsewhere.

mod fct;
mod goodput;
mod options;
mod run;
mod slots;
mod stress;
mod timeline;
pub mod turns;

pub use fct::FctColumn;
pub use goodput::GoodputRow;
pub use options::{DemoOptions, Part};
pub use run::run;
pub use slots::{DemoError, Observer, Step};
pub use stress::StressColumn;
pub use timeline::{Timeline, TimelineSample};
pub use turns::{NoiseSummary, TurnPlan};

use serde::{Deserialize, Serialize};

/// State of the link in one column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// No corruption. The link is dormant, and the kernel forwards.
    Healthy,
    /// Corruption, and the daemons only forward.
    Unprotected,
    /// Corruption, and protection in ordered mode.
    Ordered,
    /// Corruption, and protection in non-blocking mode.
    NonBlocking,
}

impl Condition {
    /// The four columns.
    pub const ALL: [Condition; 4] =
        [Condition::Healthy, Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];

    /// Its name in headings.
    pub fn label(self) -> &'static str {
        match self {
            Condition::Healthy => "healthy",
            Condition::Unprotected => "unprotected",
            Condition::Ordered => "ordered",
            Condition::NonBlocking => "non-blocking",
        }
    }
}

/// How the machine disturbed each experiment.
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
    /// The noise of all experiments together.
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

/// Everything that the demo measured. `linkmend demo --json` prints this object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoResult {
    /// Version of Linkmend.
    pub version: String,
    /// The options it ran with.
    pub options: DemoOptions,
    /// The kind of the link ports, and why.
    pub ports: String,
    pub kernel: String,
    /// Duration of the whole demo, in seconds.
    pub seconds: f64,
    /// How the machine disturbed it.
    pub noise: Noise,
    /// Stress test: one entry for each condition.
    pub stress: Vec<StressColumn>,
    /// Flow completion times: one entry for each condition.
    pub fct: Vec<FctColumn>,
    /// Bulk goodput: one entry for each congestion control, loss rate and protection, and one for the healthy link,
    /// without loss.
    pub goodput: Vec<GoodputRow>,
    /// One transfer over a link that is healthy, then corrupts, then is protected.
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
