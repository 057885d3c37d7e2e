//! Bodies of the fuzz targets of the file readers. The targets under `fuzz/` include this file, and so do the ordinary
//! tests, which replay the committed corpora with it.

use linkmend_quantity::BitRate;
use linkmend_topology::file::{
    Loaded, MAX_LAYER, MAX_PIPES, MAX_SPEED, TopologyFileError, TopologyFileOptions, parse_lldp,
    parse_topology,
};
use linkmend_topology::paths::Paths;
use linkmend_topology::{Cable, LinkId, SwitchId, Topology};
use std::collections::BTreeSet;

/// The file name given to readers.
const FILE: &str = "the/file";

/// A layered network or a containerlab topology, as YAML or JSON.
pub fn topology(data: &[u8]) {
    let options = TopologyFileOptions { default_speed: Some(BitRate(100_000_000_000)), layers: None };
    let parsed = parse_topology(data.to_vec(), FILE, &options);
    check(parsed, |file| (file == FILE).then(|| lines(data)));
}

/// Rules, and LLDP dumps behind lines of `=== tor1.json`.
pub fn lldp(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split("\n=== ");
    let rules = parts.next().unwrap_or_default();
    let dumps = parts.map(|part| part.split_once('\n').unwrap_or((part, "")));
    let files: Vec<(&str, &str)> = std::iter::once(("layers.yaml", rules)).chain(dumps).collect();
    let content = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).into());
    let parsed =
        parse_lldp(files[1..].iter().map(content), content(&files[0]), &TopologyFileOptions::default());
    check(parsed, |file| {
        let named = files.iter().filter(|(name, _)| *name == file);
        named.map(|(_, text)| lines(text.as_bytes())).max()
    });
}

/// An error must name a line of its file, which has `lines` of them. Whatever is accepted must be a layered network,
/// and one that is written must read back the same.
fn check(parsed: Result<Loaded, TopologyFileError>, lines: impl Fn(&str) -> Option<usize>) {
    let loaded = match parsed {
        Ok(loaded) => loaded,
        Err(TopologyFileError::Refused { place, .. }) => {
            let lines = lines(&place.file).unwrap_or_else(|| panic!("{place} is none of the files"));
            assert!(place.line.is_none_or(|line| (1..=lines).contains(&(line as usize))), "{place}");
            return;
        }
        Err(error) => panic!("memory does not fail: {error}"),
    };
    let network = &loaded.topology;
    check_network(network);
    if let Ok(graph) = loaded.graph(Cable::DEFAULT) {
        assert_eq!(graph.links().len(), network.link_count() + loaded.host_links.len());
    }
    let mut text = Vec::new();
    loaded.write(&mut text).expect("memory can be written");
    let again = parse_topology(text, FILE, &TopologyFileOptions::default());
    let again = again.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(described(&again.topology), described(network));
    assert_eq!(again.topology.to_string(), network.to_string());
    assert_eq!((again.host_links, again.lengths), (loaded.host_links, loaded.lengths));
}

/// Lines of YAML, in which a carriage return alone also ends one.
fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1
}

fn check_network(network: &Topology) {
    let top = network.layer_count() - 1;
    assert!(top <= usize::from(MAX_LAYER));
    let paths = Paths::new(network);
    assert!(!network.tors().is_empty());
    for &tor in network.tors() {
        assert!(paths.count(tor) > 0);
    }
    for switch in switches(network).map(|switch| network.switch(switch)) {
        assert!((1..=MAX_PIPES).contains(&switch.pipes));
        assert_eq!(switch.zone.is_none(), usize::from(switch.layer) == top);
    }
    for link in links(network) {
        let ends = network.link(link);
        assert!(network.switch(ends.lower).layer <= network.switch(ends.upper).layer);
        assert!((1..=MAX_SPEED.0).contains(&network.capacity(link)));
    }
    let names: BTreeSet<String> = switches(network).map(|switch| network.names().switch(switch)).collect();
    assert_eq!(names.len(), network.switch_count());
    let names: BTreeSet<String> = links(network).map(|link| network.names().link(link)).collect();
    assert_eq!(names.len(), network.link_count());
}

/// Everything that a file says about a network.
fn described(network: &Topology) -> Vec<String> {
    let names = network.names();
    let switch = |id| {
        let switch = network.switch(id);
        let zone = switch.zone.map(|zone| names.zone(zone));
        format!("{:?} {switch:?} {zone:?}", names.switch(id))
    };
    let link = |id| format!("{:?} {:?} {}", names.link(id), network.link(id), network.capacity(id));
    switches(network).map(switch).chain(links(network).map(link)).collect()
}

fn switches(network: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..network.switch_count() as u32).map(SwitchId)
}

fn links(network: &Topology) -> impl Iterator<Item = LinkId> {
    (0..network.link_count() as u32).map(LinkId)
}
