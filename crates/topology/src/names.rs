//! Names of switches, links and zones.

use crate::{FabricParameters, LinkId, SwitchId, ZoneId};

/// How tables and files name switches, links and zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// Names by place in a fabric with these parameters.
    Fabric(FabricParameters),
    /// The operator's names.
    Given {
        /// One name for each switch.
        switches: Vec<String>,
        /// One name for each link.
        links: Vec<String>,
        /// One name for each zone; a zone beyond the list is named by its number.
        zones: Vec<String>,
    },
    /// Numbers, in a generated network with this description.
    Numbers(String),
}

impl Names {
    /// Whether links have names and not only numbers.
    pub fn has_links(&self) -> bool {
        matches!(self, Names::Given { .. })
    }

    /// The name of a switch.
    pub fn switch(&self, switch: SwitchId) -> String {
        match self {
            Names::Fabric(fabric) => fabric.switch_name(switch.0),
            Names::Given { switches, .. } => switches[switch.index()].clone(),
            Names::Numbers(_) => format!("switch{}", switch.0),
        }
    }

    /// The name of a link.
    pub fn link(&self, link: LinkId) -> String {
        match self {
            Names::Given { links, .. } => links[link.index()].clone(),
            Names::Fabric(_) | Names::Numbers(_) => link.0.to_string(),
        }
    }

    /// The name of a zone.
    pub fn zone(&self, zone: ZoneId) -> String {
        match self {
            Names::Given { zones, .. } => {
                zones.get(zone.index()).cloned().unwrap_or_else(|| format!("pod{}", zone.0))
            }
            Names::Fabric(_) | Names::Numbers(_) => format!("pod{}", zone.0),
        }
    }
}
