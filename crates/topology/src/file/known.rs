//! The formats that networks are read from, for people.

/// A format that files may have.
#[derive(Debug, Clone, Copy)]
pub struct KnownFormat {
    pub name: &'static str,
    /// By what a file of it is known.
    pub sign: &'static str,
}

/// All formats that networks are read from.
pub const KNOWN_FORMATS: [KnownFormat; 12] = [
    known("Linkmend's own", "YAML or JSON with `switches` and `links`"),
    known("containerlab", "YAML with `topology`, which has `nodes` and `links`"),
    known("netlab", "YAML with `nodes` and `links`"),
    known("LLDP dumps", "output of `lldpctl -f json`: one file, or a directory with a file for each switch"),
    known(
        "SONiC CONFIG_DB",
        "JSON with `DEVICE_NEIGHBOR`: one file, or a directory with a file for each switch",
    ),
    known(
        "SONiC minigraph",
        "XML whose root is `DeviceMiniGraph`: one file, or a directory with a file for each switch",
    ),
    known("GraphML", "XML whose root is `graphml`"),
    known("GML", "`graph [` with `node [` and `edge [`"),
    known("DOT", "`graph {` with `\"leaf1\":\"swp1\" -- \"spine1\":\"swp1\"`, like PTM's topology.dot"),
    known("NetBox cables", "CSV export of the cable list, or JSON from /api/dcim/cables/"),
    known("table of cables", "CSV whose headers name a device at each end, like `a,a_port,b,b_port`"),
    known("htsim", "`Nodes`, `Tiers`, `Podsize` and each `Tier`, as in .topo files"),
];

const fn known(name: &'static str, sign: &'static str) -> KnownFormat {
    KnownFormat { name, sign }
}

/// The formats, one a line.
pub fn known_formats() -> String {
    let line = |format: &KnownFormat| format!("  {:<16} {}", format.name, format.sign);
    KNOWN_FORMATS.iter().map(line).collect::<Vec<_>>().join("\n")
}
