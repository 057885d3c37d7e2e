//! What SONiC switches have of their neighbours: CONFIG_DB and minigraphs, one for each switch.
//!
//! - [`config_db`] and [`minigraph`] read one switch's file, and [`network`] joins what several say.

mod config_db;
mod minigraph;
mod network;

pub(super) use network::{File, read};

use linkmend_quantity::BitRate;
use std::collections::BTreeMap;

/// What one file says.
#[derive(Debug, Default)]
struct Facts {
    /// The switch whose file it is.
    own: Option<String>,
    /// Types of devices: `ToRRouter`.
    types: Vec<(String, String, u32)>,
    cables: Vec<Cable>,
    /// The names of the own ports by their aliases.
    aliases: BTreeMap<String, String>,
    /// Speeds of the own ports, by name or alias.
    speeds: BTreeMap<String, BitRate>,
    doubts: Vec<(u32, String)>,
}

/// A device and, where it is known, its port.
type DevicePort = (String, Option<String>);

#[derive(Debug)]
struct Cable {
    ends: [DevicePort; 2],
    speed: Option<BitRate>,
    line: u32,
}

/// SONiC's numbers of speeds are megabits.
fn megabits(number: &str) -> Option<BitRate> {
    super::speed::scaled(number, 1e6)
}
