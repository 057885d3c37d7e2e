//! How the two links of a link end are used, as people write it.

use serde::{Deserialize, Serialize};

/// How two links are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum LinkUse {
    /// One of them at a time: the other one takes over when it fails
    #[default]
    Active,
    /// Every frame on both, so that a failure costs no time: the first copy is delivered, in order
    Duplicate,
    /// Each frame on one of them, so that their capacities add up: by what each delivers, and in order again
    Share,
}
