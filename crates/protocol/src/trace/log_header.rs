//! The first line of a protocol log.

use crate::config::Config;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// First line of a protocol log: what a fresh link end needs to repeat the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogHeader {
    /// Version of the format, [`LogHeader::VERSION`].
    pub protocol_log: u32,
    /// Name of the link end.
    pub link: String,
    /// Seed of its session numbers.
    pub seed: u64,
    /// Its parameters at the start.
    pub config: Config,
}

impl LogHeader {
    /// The version that this crate writes and reads.
    pub const VERSION: u32 = 1;
}
