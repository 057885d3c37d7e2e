//! The formats that the documents name: every example is read, and every format has one.

use super::*;
use linkmend_topology::file::{KNOWN_FORMATS, LayersOption, known_formats, read_cables};

/// The headings of the page with the code block that follows each.
fn examples() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/network-formats.md");
    let text = std::fs::read_to_string(page).unwrap();
    let sections = text.split("\n## ").skip(1);
    let example = |section: &str| {
        let (heading, rest) = section.split_once('\n')?;
        let (_, block) = rest.split_once("```")?;
        let (_, block) = block.split_once('\n')?;
        Some((heading.to_owned(), block.split_once("```")?.0.to_owned()))
    };
    sections.map(|section| example(section).unwrap_or_else(|| panic!("no example: {section}"))).collect()
}

#[test]
fn every_format_has_an_example_that_is_the_same_network() {
    let examples = examples();
    let mut headings: Vec<&str> = examples.iter().map(|(heading, _)| heading.as_str()).collect();
    let mut formats: Vec<&str> = KNOWN_FORMATS.iter().map(|format| format.name).collect();
    headings.sort_unstable();
    formats.sort_unstable();
    assert_eq!(headings, formats);
    for (format, text) in examples {
        let layers: LayersOption = "leaf*=0,spine*=1".parse().unwrap();
        let layers = (format == "LLDP dumps").then_some(layers);
        let options = TopologyFileOptions { layers, ..AT_100G };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("network");
        std::fs::write(&path, &text).unwrap();
        let loaded = read_topology(&path, &options).unwrap_or_else(|error| panic!("{format}: {error}"));
        let topology = &loaded.topology;
        let mut names = switches(topology);
        names.sort();
        assert_eq!(names, ["leaf1 0 pod0", "leaf2 0 pod1", "spine1 1 -"], "{format}");
        assert_eq!(topology.link_count(), 2, "{format}");
        assert!(topology.links().all(|link| topology.capacity(link) == 100_000_000_000), "{format}");
        assert_eq!(loaded.understood.top_guess, None, "{format}");
        let cables = read_cables(&path).unwrap();
        // The first link of the netlab example shows the form without ports.
        assert_eq!(cables.len(), if format == "netlab" { 1 } else { 2 }, "{format}: {cables:?}");
        assert_eq!(loaded.cables.len(), cables.len(), "{format}");
    }
}

#[test]
fn an_unknown_file_is_told_what_it_is_and_what_there_is() {
    for (text, finding) in [
        ("hello world\n", "text that begins with `hello world`"),
        ("a: 1\nb: 2\n", "YAML or JSON with `a`, `b`"),
        ("<svg xmlns=\"x\"><g/></svg>", "XML whose root is `svg`"),
        ("< nothing", "not XML, although it begins with `<`"),
        ("{}", "YAML without a key"),
    ] {
        let message = refused("network", text);
        let expected =
            format!("network: unknown format: this is {finding}; supported formats are\n{}", known_formats());
        assert_eq!(message, expected);
    }
    assert!(KNOWN_FORMATS.iter().all(|format| known_formats().contains(format.sign)));
}
