//! Networks from files: what is read, and what is refused where.
#![allow(clippy::unwrap_used, reason = "a test that cannot write its files has nothing to say")]

mod containerlab;
mod documented;
mod graphs;
mod hostile;
mod hosts;
mod htsim;
mod layered;
mod link_names;
mod lldp;
mod lldp_sites;
mod netbox;
mod netlab;
mod ports;
mod sonic;
mod tables;

use linkmend_diagnose::Diagnose;
use linkmend_quantity::BitRate;
use linkmend_topology::file::{Loaded, TopologyFileError, TopologyFileOptions, read_topology};
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::path::{Path, PathBuf};

const NO_OPTIONS: TopologyFileOptions = TopologyFileOptions { default_speed: None, layers: None };
const AT_100G: TopologyFileOptions =
    TopologyFileOptions { default_speed: Some(BitRate(100_000_000_000)), layers: None };

fn read_text(name: &str, text: &[u8], options: &TopologyFileOptions) -> Result<Loaded, TopologyFileError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    read_topology(&path, options)
}

/// The message, and on a line of its own the hint, if there is one.
fn with_hint(error: &TopologyFileError) -> String {
    [Some(error.to_string()), error.hint()].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The same for a file that is refused, without the directory.
fn refused(name: &str, text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    let message = with_hint(&read_topology(&path, &AT_100G).expect_err(text));
    message.replace(&format!("{}/", directory.path().display()), "")
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Links as `name speed`, in order.
fn links(topology: &Topology) -> Vec<String> {
    let link = |link| format!("{} {}", topology.names().link(link), BitRate(topology.capacity(link)));
    (0..topology.link_count() as u32).map(LinkId).map(link).collect()
}

fn switches(topology: &Topology) -> Vec<String> {
    let described = |switch| {
        let zone = topology.switch(switch).zone.map(|zone| topology.names().zone(zone));
        let (name, layer) = (topology.names().switch(switch), topology.switch(switch).layer);
        format!("{name} {layer} {}", zone.as_deref().unwrap_or("-"))
    };
    (0..topology.switch_count() as u32).map(SwitchId).map(described).collect()
}

const TWO: &str = "switches:\n- {name: t, layer: 0}\n- {name: s, layer: 1}\n";
