//! What `linkmend fleet plan` prints names each link with its ports, and is accepted where links are named.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

fn plan(folder: &Path, network: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
        .current_dir(folder)
        .args(["fleet", "plan", "--topology", network, "--constraint", "50%"])
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn well(folder: &Path, network: &str, arguments: &[&str]) -> String {
    let (code, out, err) = plan(folder, network, arguments);
    assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
    out
}

/// Two leaves with two parallel links each to one spine, and one to another. Ports are as vendors call them.
const NETWORK: &str = "default_speed: 100G
switches:
- {name: leaf1, layer: 0}
- {name: leaf2, layer: 0}
- {name: spine1, layer: 1}
- {name: spine2, layer: 1}
links:
- {from: leaf1, to: spine1, from_port: Ethernet1/1, to_port: 'xe-0/0/0:1'}
- {from: leaf1, to: spine1, from_port: Ethernet1/2, to_port: 'xe-0/0/0:2'}
- {from: leaf1, to: spine2, from_port: Ethernet1/3, to_port: 'xe-0/0/0:1'}
- {from: leaf2, to: spine1, from_port: Ethernet1/1, to_port: 'xe-0/0/0:3', name: cable 7}
- {from: leaf2, to: spine2, from_port: Ethernet1/2, to_port: 'xe-0/0/0:2'}
";

const LINKS: &str = "link,loss_rate,state
spine1:xe-0/0/0:2--leaf1:Ethernet1/2,1e-3
leaf1:Ethernet1/1,2e-3
cable 7,1e-4
leaf2--spine2,,disabled
";

#[test]
fn tables_name_links_with_their_ports_and_stay_narrow() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("n.yaml"), NETWORK).expect("written");
    fs::write(folder.path().join("links.csv"), LINKS).expect("written");
    let text = well(folder.path(), "n.yaml", &["--links", "links.csv"]);
    expect_test::expect_file!["golden/fleet-plan-ports.txt"].assert_eq(&text);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn explanations_and_the_page_name_links_with_their_ports() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("n.yaml"), NETWORK).expect("written");
    fs::write(folder.path().join("links.csv"), LINKS).expect("written");
    let explain = |link| {
        well(folder.path(), "n.yaml", &["--links", "links.csv", "--explain", link, "--html", "p.html"])
    };
    let why = explain("cable 7").replace('\n', " ");
    assert!(why.starts_with("Link cable 7, leaf2:Ethernet1/1--spine1:xe-0/0/0:3 (loses"), "{why}");
    let why = explain("leaf1/Ethernet1/2").replace('\n', " ");
    assert!(why.starts_with("Link leaf1:Ethernet1/2--spine1:xe-0/0/0:2 (loses"), "{why}");
    let page = fs::read_to_string(folder.path().join("p.html")).expect("a page");
    for text in [
        "<title>cable 7 (leaf2:Ethernet1/1--spine1:xe-0/0/0:3), loses",
        "<title>leaf1:Ethernet1/2--spine1:xe-0/0/0:2, loses",
        // The top layer is drawn, and its switches are named.
        ">spine1</text>",
        ">spine2</text>",
        ">leaf1</text>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn a_name_of_parallel_links_is_refused_with_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("n.yaml"), NETWORK).expect("written");
    fs::write(folder.path().join("links.csv"), "link,loss_rate\nleaf1--spine1,1e-3\n").expect("written");
    let (code, out, err) = plan(folder.path(), "n.yaml", &["--links", "links.csv"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "error: links.csv:2: `leaf1--spine1` may be any of 2 links: leaf1:Ethernet1/1--spine1:xe-0/0/0:1, \
         leaf1:Ethernet1/2--spine1:xe-0/0/0:2; use one of these\n"
    );
}

/// The splitmix64 generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % bound
    }
}

/// A network with parallel links, of which some have ports and some names of their own, and reports of all links.
fn random_network(random: &mut Random) -> (String, String) {
    let mut network = "default_speed: 100G\nswitches:\n".to_owned();
    let (tors, spines) = (1 + random.below(3), 1 + random.below(3));
    // A switch may be called like a port of another one.
    let names: Vec<String> = (0..tors + spines)
        .map(|number| match random.below(4) {
            0 => format!("p{number}:{number}"),
            1 => format!("sw{number}.dc1.example.com"),
            2 => format!("fe80::{number}"),
            _ => format!("sw{number}--x"),
        })
        .collect();
    for (number, name) in names.iter().enumerate() {
        writeln!(network, "- {{name: '{name}', layer: {}}}", u64::from(number as u64 >= tors))
            .expect("memory");
    }
    network += "links:\n";
    let mut links = "link,loss_rate,state\n".to_owned();
    let mut number = 0;
    for tor in 0..tors {
        for spine in 0..spines {
            for _ in 0..=random.below(3) {
                let (from, to) = (&names[tor as usize], &names[(tors + spine) as usize]);
                write!(network, "- {{from: '{from}', to: '{to}'").expect("memory");
                if random.below(3) > 0 {
                    write!(network, ", from_port: 'p{number}:{number}', to_port: 'e1/{number}'")
                        .expect("memory");
                }
                if random.below(4) == 0 {
                    write!(network, ", name: 'cable {number}'").expect("memory");
                }
                network += "}\n";
                let loss =
                    ["1e-3,active", "3e-5,active", "1e-9,active", ",disabled"][random.below(4) as usize];
                writeln!(links, "{number},{loss}").expect("memory");
                number += 1;
            }
        }
    }
    (network, links)
}

/// A file of links in which each goes by another of the names that a plan prints for it.
fn as_printed(json: &Value, field: &str) -> String {
    let mut links = "link,loss_rate,state\n".to_owned();
    for link in json["links"].as_array().expect("links") {
        let name = link[field].as_str().expect(field);
        let name = name.replace('"', "\"\"");
        let loss = link["loss_rate"].as_f64().map_or_else(String::new, |loss| loss.to_string());
        let state = if link["action"] == "keep disabled" { "disabled" } else { "active" };
        writeln!(links, "\"{name}\",{loss},{state}").expect("memory");
    }
    links
}

/// Whatever a plan prints for a link means this link again, by itself and in files.
#[test]
fn every_name_that_a_plan_prints_is_accepted_as_its_input() {
    for seed in 1..=16 {
        let mut random = Random(seed);
        let (network, links) = random_network(&mut random);
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("n.yaml"), &network).expect("written");
        fs::write(folder.path().join("links.csv"), &links).expect("written");
        let first = well(folder.path(), "n.yaml", &["--links", "links.csv", "--json"]);
        let json: Value = serde_json::from_str(&first).expect("JSON");
        assert_eq!(json["links"].as_array().map(Vec::len), Some(links.lines().count() - 1));
        for field in ["link", "ends"] {
            fs::write(folder.path().join("again.csv"), as_printed(&json, field)).expect("written");
            let again = well(folder.path(), "n.yaml", &["--links", "again.csv", "--json"]);
            assert!(again == first, "seed {seed}, field {field}:\n{network}\n{first}\n{again}");
        }
        let known: BTreeSet<&str> = json["links"]
            .as_array()
            .expect("links")
            .iter()
            .filter_map(|link| link["link"].as_str())
            .collect();
        let repairs = json["repairs"].as_array().expect("repairs");
        let then = repairs.iter().flat_map(|repair| repair["then_disable"].as_array().expect("links"));
        for name in repairs.iter().map(|repair| &repair["link"]).chain(then) {
            assert!(known.contains(name.as_str().expect("a name")), "seed {seed}: {name}");
        }
        // The table names them alike; the separator may end a line.
        let table = well(folder.path(), "n.yaml", &["--links", "links.csv"]).replace(char::is_whitespace, "");
        for link in json["links"].as_array().expect("links") {
            let name = link["link"].as_str().expect("a name").replace(' ', "");
            let first_half = name.split_once("--").map_or(&name[..], |(half, _)| half);
            assert!(table.contains(first_half), "seed {seed}: {name} is not in\n{table}");
        }
    }
}
