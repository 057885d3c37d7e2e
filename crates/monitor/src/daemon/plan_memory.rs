//! Which links a plan has disabled, in a file.

use crate::PortName;
use crate::memory;
use crate::planning::{GuardMemory, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Increases when the meaning of the file changes.
const VERSION: u32 = 1;

/// What must outlive a restart.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    pub version: u32,
    /// Links by their ports.
    pub disabled: BTreeSet<[PortName; 2]>,
    /// Those whose command has begun, and has not succeeded: nobody knows whether they are up.
    #[serde(default)]
    pub disabling: Vec<Verdict>,
    /// Those whose trial has begun, and whose command has not succeeded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub trying: BTreeSet<[PortName; 2]>,
    /// Ports that were taken down, where that is done by their switches.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub down: BTreeSet<PortName>,
    /// Since when they are disabled, and how often they were tried.
    #[serde(default)]
    pub guard: GuardMemory,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            version: VERSION,
            disabled: BTreeSet::new(),
            disabling: Vec::new(),
            trying: BTreeSet::new(),
            down: BTreeSet::new(),
            guard: GuardMemory::default(),
        }
    }
}

/// Reads which links were disabled before a restart, and which were about to be.
///
/// # Errors
/// Why the file cannot be used.
pub(super) fn disabled_before(path: &Path) -> Result<Memory, String> {
    match memory::read::<Memory>(path)? {
        None => Ok(Memory::default()),
        Some(memory) if memory.version == VERSION => Ok(memory),
        Some(Memory { version, .. }) => {
            Err(format!("its version is {version}, but this program supports version {VERSION}"))
        }
    }
}
