//! An operator's own network, read from files.
//!
//! [`read_topology`] takes any of [`KNOWN_FORMATS`] and tells them apart by what is in them. Whatever is wrong is refused
//! with file, line and reason; what is left out of the layered network on purpose is said in [`Loaded::warnings`] and
//! [`Understood::doubts`]. [`read_cables`] takes the same files for their cables alone, for which layers do not matter.
//!
//! All formats but Linkmend's own and LLDP become a `Sketch`: nodes, what is said of them, and wires between ports, from
//! which the layers are inferred. Those that name nodes where they use them are collected by a `Gathering`, which knows
//! when two entries are one cable. `docs/network-formats.md` has an example of each.
//!
//! # Hosts
//! A layered network has no hosts, because fleets are about links between switches. Hosts that a file names are in
//! [`Loaded::host_links`], with the switch and, where the file says it, the port at which each hangs; [`Loaded::graph`]
//! is the network with its hosts, for simulators and control planes.
//!
//! # Layered networks
//! YAML or JSON. Layer 0 are the ToRs; a link joins two different layers, in either order, or
//! two peers of one, in which case no path climbs over it. `pod` and `pipes` of a switch
//! and `name` and `speed` of a link may be left out: pipes are then counted from ports, a link is called after its ends
//! (`from--to`, a second one `from--to#2`), and its speed is the default. Unknown keys are refused.
//!
//! `hosts` may be left out, too. An entry is a link of a host to a switch; a host with several links has an entry for
//! each. `port` is the switch's name for its port, and `speed` the default if it is left out. `length` of any link is
//! what simulators ask for.
//!
//! ```
//! # use linkmend_topology::file::{TopologyFileOptions, read_topology};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("net.yaml");
//! # std::fs::write(&path, r#"
//! default_speed: 100G
//! switches:
//!   - {name: tor1, layer: 0, pod: east}
//!   - {name: tor2, layer: 0, pod: west, pipes: 2}
//!   - {name: spine1, layer: 1}
//! links:
//!   - {from: tor1, to: spine1}
//!   - {from: tor1, to: spine1, speed: 400G}
//!   - {from: tor2, to: spine1, name: the-long-one, length: 2km}
//! hosts:
//!   - {name: web1, to: tor1}
//!   - {name: web2, to: tor1, port: swp7, speed: 25G, length: 5m}
//! # "#)?;
//! # let loaded = read_topology(&path, &TopologyFileOptions::default())?;
//! # assert_eq!((loaded.topology.switch_count(), loaded.topology.link_count()), (3, 3));
//! # assert_eq!(loaded.graph(linkmend_topology::Cable::DEFAULT)?.hosts().count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # containerlab
//! `topology.nodes` and `topology.links` of a `*.clab.yml`, with links in the brief and the extended format and with
//! `kinds`, `groups` and `defaults`. The labels of a node say its layer (`linkmend.layer`), its pod (`linkmend.pod`) and
//! the speed of its links (`linkmend.speed`); a label `linkmend.speed` of a link comes before those of its ends, of which
//! the slower counts. Nodes without `linkmend.layer` are hosts as soon as one node has it: they are left out of the
//! layered network with their links.
//!
//! If no node has it, words serve: those of a label `role`, of the group, or of the name, whatever the kind. `tor`,
//! `access`, `leaf`, `agg`, `dist`, `spine`, `superspine` and `core` are places in the fabric, from the bottom to the top;
//! `server`, `client` and the like are hosts; border routers, firewalls and gateways are outside the layers. Without words,
//! `graph-level` (1 is the top) or names such as `l1` and `s1` are guesses. [`Loaded::understood`] says why each switch
//! has its layer and what is in doubt, and [`Loaded::require_known_top`] refuses a network whose top is a guess. Bridges
//! are in no graph, and neither are links between hosts.
//!
//! # LLDP
//! What `lldpctl -f json` (or `-f json0`) prints on each switch, a file per switch and called after it (`tor1.json`), or a directory of
//! such files; a file that also holds what `lldpcli -f json show chassis` prints is called as that says. A name with a
//! domain or in another case is the same switch, unless that leaves several. A link that both ends see is one link,
//! whether they call its ports by name, description or alias, and a SONiC CONFIG_DB beside the dumps says what the
//! aliases mean. A link that only one of two dumps sees is refused. The layers come from rules in `layers.yaml` beside the dumps, or in a file that the options
//! name; `*` stands for any characters and `?` for one, and the first rule that matches a name counts.
//!
//! ```yaml
//! layers:
//!   - {match: "tor*", layer: 0}
//!   - {match: "spine*", layer: 1}
//! pods:                              # may be left out
//!   - {match: "tor-east-*", pod: east}
//! default_speed: 100G                # of all links: LLDP does not say
//! ignore_ports: ["eth0", "mgmt*"]    # this is the default
//! ```
//!
//! Neighbours that match no rule are hosts, and left out of the layered network. A switch with a dump of its own must match
//! one.
//!
//! # Pods and zones
//! What has to do with what follows from the links, not from labels: see [`super`]. Pod labels name zones. A zone with
//! several labels is called after all of them (`east+west`), and where one pod falls into several zones, as it does when
//! its switches share nothing below the top layer, they are `east`, `east#2` and so on, in order of their first switch.

mod attributes;
mod containerlab;
mod dot;
mod draft;
mod error;
mod formats;
mod gather;
mod gml;
mod graphml;
mod htsim;
mod infer;
mod known;
mod layered;
mod link_names;
mod lldp;
mod loaded;
mod netbox;
mod netlab;
mod roles;
mod rules;
mod sketch;
mod some_of;
mod sonic;
mod source;
mod speed;
mod table;
mod value;
mod write;
mod xml;
mod yaml;

pub use error::{Place, TopologyFault, TopologyFileError};
pub use infer::Basis;
pub use known::{KNOWN_FORMATS, KnownFormat, known_formats};
pub use loaded::{Doubt, HostLink, Loaded, NamedCable, Outside, PortCable, Understood};
pub use rules::LayersOption;
pub use source::{parse_topology, read_cables, read_topology};
pub use write::write_layered;

use linkmend_quantity::BitRate;
use yaml::Text;

/// The largest number of switches in a network that is read from files.
pub const MAX_SWITCHES: u64 = 2_000_000;

/// The largest number of links in a network that is read from files.
pub const MAX_LINKS: u64 = 10_000_000;

/// The largest number of links of hosts in a network that is read from files.
pub const MAX_HOST_LINKS: u64 = 2_000_000;

/// Highest layer. Real networks have three to five; the bound keeps tables by layer small.
pub const MAX_LAYER: u8 = 31;

/// The largest number of pipes of a switch. Tables have an entry for each.
pub const MAX_PIPES: u32 = 256;

/// Highest speed of a link: the fastest Ethernet there is.
pub const MAX_SPEED: BitRate = BitRate(1_600_000_000_000);

// Capacities are added up in 64 bits.
const _: () = assert!(MAX_LINKS as u128 * MAX_SPEED.0 as u128 <= u64::MAX as u128);

/// Settings for what a file leaves open.
#[derive(Debug, Clone, Default)]
pub struct TopologyFileOptions {
    /// Speed of links without a speed in the file.
    pub default_speed: Option<BitRate>,
    /// Rules that give switches their layers, before everything that a file says. Without them, `layers.yaml` beside the
    /// dumps counts for LLDP.
    pub layers: Option<LayersOption>,
}

/// Reads the contents of LLDP dumps and of their rules, each with the name that messages use. A dump that does not name
/// its switch belongs to the switch that the file is named after.
///
/// # Errors
/// As [`read_topology`].
pub fn parse_lldp(
    dumps: impl IntoIterator<Item = (String, Vec<u8>)>,
    rules: (String, Vec<u8>),
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    let text = |(file, content)| Text::new(content, file);
    lldp::parse(dumps.into_iter().map(text), text(rules)?, options)
}

/// A neighbour of a switch, as the switch sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpNeighbour {
    /// The switch's own port.
    pub port: String,
    /// `None` if the neighbour does not say its name.
    pub neighbour: Option<String>,
    /// The port of the neighbour; `None` if it gives a MAC address or a number of its own only, which is no name by which
    /// anybody else knows it.
    pub far_port: Option<FarPort>,
    /// The switch's port that the neighbour says it faces, if it does.
    pub faces: Option<String>,
}

/// What is known of a neighbour's port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FarPort {
    /// The name of its interface, or a description that is one word.
    Name(String),
    /// What the neighbour calls it towards others. Only the neighbour knows which of its ports that is.
    Alias(String),
}

/// Reads what `lldpcli show neighbors` prints on the switch called `own`, as `-f json` or `-f json0`; `file` is the name that
/// messages use.
///
/// # Errors
/// If it is something else, with file and line.
pub fn lldp_neighbours(
    content: Vec<u8>,
    own: &str,
    file: &str,
) -> Result<Vec<LldpNeighbour>, TopologyFileError> {
    lldp::neighbours(Text::new(content, file.to_owned())?, own)
}
