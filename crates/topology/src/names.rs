//! What switches, links and zones are called.

use crate::{FabricParameters, LinkId, SwitchId, ZoneId};

/// How switches, links and zones are called in tables and files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// The pods of a fabric, by its parameters.
    Fabric(FabricParameters),
    /// As the operator calls them.
    Given {
        /// One name per switch.
        switches: Vec<String>,
        /// One name per link.
        links: Vec<String>,
        /// One name per zone; a zone beyond the list goes by its number.
        zones: Vec<String>,
    },
    /// By number, in a generated network of this description.
    Numbers(String),
}

impl Names {
    /// What a switch is called.
    pub fn switch(&self, switch: SwitchId) -> String {
        match self {
            Names::Fabric(fabric) => fabric.switch_name(switch.0),
            Names::Given { switches, .. } => switches[switch.index()].clone(),
            Names::Numbers(_) => format!("switch{}", switch.0),
        }
    }

    /// What a link is called.
    pub fn link(&self, link: LinkId) -> String {
        match self {
            Names::Given { links, .. } => links[link.index()].clone(),
            Names::Fabric(_) | Names::Numbers(_) => link.0.to_string(),
        }
    }

    /// What a zone is called.
    pub fn zone(&self, zone: ZoneId) -> String {
        match self {
            Names::Given { zones, .. } => {
                zones.get(zone.index()).cloned().unwrap_or_else(|| format!("pod{}", zone.0))
            }
            Names::Fabric(_) | Names::Numbers(_) => format!("pod{}", zone.0),
        }
    }
}
