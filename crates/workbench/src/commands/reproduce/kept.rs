//! What is kept of a finished experiment, so that a later command need not run it again.

use super::finished::Tally;
use linkmend_report::RenderedSection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the report and the summary show of a finished experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    /// Digest of what its results depend on besides its file: the program, the seed, and how long runs are. `None` if they are not
    /// to be used again.
    pub circumstances: Option<u64>,
    /// Digest of the experiment file.
    pub text: u64,
    /// Its name on the command line.
    pub id: String,
    /// Its part of the summary.
    pub summary: Value,
    pub tally: Tally,
    /// Its part of the report.
    pub section: RenderedSection,
}
