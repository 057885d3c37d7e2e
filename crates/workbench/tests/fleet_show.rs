//! `linkmend fleet show` as users meet it: tables, JSON, the drawing, and what is refused.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A lab with parallel links, a pair of peers, a host at two leaves, a router outside the layers, and a leaf that only its
/// letters call one.
const LAB: &str = "name: lab
topology:
  nodes:
    leaf1: {kind: ceos}
    leaf2: {kind: ceos}
    spine1: {kind: ceos}
    spine2: {kind: ceos}
    web1: {kind: linux}
    edge-router: {kind: ceos}
  links:
    - endpoints: ['leaf1:eth1', 'spine1:eth1']
    - endpoints: ['leaf1:eth2', 'spine1:eth2']
    - endpoints: ['leaf2:eth1', 'spine1:eth3']
    - endpoints: ['leaf2:eth2', 'spine2:eth1']
    - endpoints: ['leaf1:eth9', 'leaf2:eth9']
    - endpoints: ['web1:eth0', 'leaf1:eth10']
    - endpoints: ['web1:eth1', 'leaf2:eth10']
    - endpoints: ['edge-router:eth0', 'spine1:eth10']
";

const LAYERED: &str = "default_speed: 100G
switches:
- {name: tor1, layer: 0, pod: east}
- {name: spine1, layer: 1}
links:
- {from: tor1, to: spine1, from_port: swp1, to_port: swp7}
- {from: tor1, to: spine1, speed: 400G, name: cable 7, from_port: swp2, to_port: swp8}
hosts:
- {name: db1, to: tor1, port: swp9}
";

fn show(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
        .current_dir(folder)
        .args(["fleet", "show"])
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// A folder with all networks of this file.
fn networks() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("lab.clab.yml", LAB);
    write("layered.yaml", LAYERED);
    write("links.csv", "link,loss_rate\n1,1e-3\n");
    fs::create_dir(folder.path().join("lldp")).expect("a folder");
    let view = |port: &str, chassis: &str, far: &str| {
        format!(
            r#"{{"{port}": {{"via": "LLDP", "chassis": {{"{chassis}": {{}}}}, "port": {{"id": {{"type": "ifname", "value": "{far}"}}}}}}}}"#
        )
    };
    let dump = |name: &str, views: &[String]| {
        write(name, &format!(r#"{{"lldp": {{"interface": [{}]}}}}"#, views.join(", ")));
    };
    let spine = "Spine1.dc1.example.com";
    dump(
        "lldp/tor1.json",
        &[view("swp1", spine, "swp1"), view("swp2", spine, "swp2"), view("swp9", "db1", "eth0")],
    );
    dump("lldp/spine1.json", &[view("swp1", "tor1", "swp1"), view("swp2", "tor1", "swp2")]);
    write(
        "lldp/layers.yaml",
        "layers:\n- {match: 'tor*', layer: 0}\n- {match: 'spine*', layer: 1}\ndefault_speed: 25G\n",
    );
    folder
}

fn well(arguments: &[&str]) -> String {
    let folder = networks();
    let (code, out, err) = show(folder.path(), arguments);
    assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
    out
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&well(&[arguments, &["--json"]].concat())).expect("JSON")
}

/// Rows of a list as these fields, one text each.
fn rows(json: &Value, list: &str, fields: &[&str]) -> Vec<String> {
    let field = |row: &Value, field: &str| match &row[field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = json[list].as_array().expect(list).iter();
    rows.map(|row| fields.iter().map(|name| field(row, name)).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_tables_of_a_lab_are_the_golden_ones() {
    expect_test::expect_file!["golden/fleet-show.txt"].assert_eq(&well(&["lab.clab.yml"]));
}

#[test]
fn json_has_what_the_tables_have() {
    let lab = json(&["lab.clab.yml"]);
    let links = rows(&lab, "links", &["from", "from_port", "to", "to_port", "between_peers"]);
    assert_eq!(
        links,
        [
            "leaf1 eth1 spine1 eth1 false",
            "leaf1 eth2 spine1 eth2 false",
            "leaf2 eth1 spine1 eth3 false",
            "leaf2 eth2 spine2 eth1 false",
            "leaf1 eth9 leaf2 eth9 true",
        ]
    );
    assert_eq!(lab["links"][1]["link"], "leaf1:eth2--spine1:eth2");
    assert_eq!(rows(&lab, "hosts", &["host", "switch", "port"]), ["web1 leaf1 eth10", "web1 leaf2 eth10"]);
    assert_eq!(rows(&lab, "outside", &["node"]), ["edge-router"]);
    let switches = rows(&lab, "switches", &["switch", "layer", "basis", "paths"]);
    assert_eq!(
        switches,
        ["leaf1 0 named 2", "leaf2 0 named 2", "spine1 1 named null", "spine2 1 named null"]
    );
    // The router has a line; that all speeds are assumed is of the whole file.
    let lines = rows(&lab, "doubts", &["file", "line"]);
    assert_eq!(lines, ["lab.clab.yml 9", "lab.clab.yml null"], "{}", lab["doubts"]);
    assert_eq!(lab["top_is_a_guess"], Value::Null);
}

#[test]
fn a_layered_file_is_shown_with_its_own_names_and_speeds() {
    let shown = json(&["layered.yaml"]);
    let links = rows(&shown, "links", &["link", "from_port", "to_port", "bps"]);
    assert_eq!(links, ["tor1:swp1--spine1:swp7 swp1 swp7 100000000000", "cable 7 swp2 swp8 400000000000"]);
    assert_eq!(rows(&shown, "switches", &["switch", "pod", "reason"])[0], "tor1 east told");
    assert_eq!(rows(&shown, "hosts", &["host", "switch", "port"]), ["db1 tor1 swp9"]);
    assert!(rows(&shown, "doubts", &["doubt"]).is_empty(), "{shown}");
    let text = well(&["layered.yaml"]);
    assert!(
        text.starts_with("layered.yaml: 1 ToR below 1 switch, 2 links up, 0 between peers, 1 host\n"),
        "{text}"
    );
}

#[test]
fn a_folder_of_dumps_is_shown_with_ports_and_hosts() {
    let shown = json(&["lldp"]);
    let links = rows(&shown, "links", &["from", "from_port", "to", "to_port", "bps"]);
    assert_eq!(links, ["tor1 swp1 spine1 swp1 25000000000", "tor1 swp2 spine1 swp2 25000000000"]);
    assert_eq!(rows(&shown, "hosts", &["host", "switch", "port"]), ["db1 tor1 swp9"]);
}

/// A network whose top is a guess is shown with the option that says it, and is none with that option.
#[test]
fn a_guess_is_shown_with_the_option_that_says_it() {
    let folder = networks();
    let lab = LAB.replace("leaf", "l").replace("spine", "s");
    fs::write(folder.path().join("letters.clab.yml"), lab).expect("written");
    let (code, out, err) = show(folder.path(), &["letters.clab.yml"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("The top layer is a guess: "), "{out}");
    let (_, option) = out.split_once("--layers '").expect("the option");
    let layers: String = option.split('\'').next().expect("its value").split_whitespace().collect();
    let (code, out, err) = show(folder.path(), &["letters.clab.yml", "--layers", &layers]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(!out.contains("a guess"), "{out}");
}

#[test]
fn the_drawing_names_every_switch_and_link() {
    let folder = networks();
    for (file, switches, link) in [
        ("lab.clab.yml", &["leaf1", "leaf2", "spine1", "spine2"][..], "leaf1:eth2--spine1:eth2"),
        ("layered.yaml", &["tor1", "spine1"][..], "cable 7 (tor1:swp2--spine1:swp8)"),
        ("lldp", &["tor1", "spine1"][..], "tor1:swp2--spine1:swp2"),
    ] {
        let (code, out, err) = show(folder.path(), &[file, "--html", "page.html"]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
        for switch in switches {
            assert!(page.contains(&format!(">{switch}</text>")), "{file}: {switch}");
        }
        assert!(page.contains(&format!("<title>{link}</title>")), "{file}: {link}");
        assert!(!page.contains("<script") && !page.contains("src="));
    }
    let page = {
        show(folder.path(), &["lab.clab.yml", "--html", "page.html"]);
        fs::read_to_string(folder.path().join("page.html")).expect("a page")
    };
    assert!(page.contains("between peers") && page.contains("<title>leaf1:eth9--leaf2:eth9</title>"));
}

#[test]
fn the_same_file_gives_the_same_bytes() {
    let folder = networks();
    let page = || {
        let (_, out, _) = show(folder.path(), &["lab.clab.yml", "--html", "page.html", "--json"]);
        (out, fs::read_to_string(folder.path().join("page.html")).expect("a page"))
    };
    assert_eq!(page(), page());
}

#[test]
fn what_is_no_network_is_refused_with_place_and_way_out() {
    let folder = networks();
    fs::write(folder.path().join("other.yaml"), "a: 1\n").expect("written");
    let unequal = LAYERED.replace(", to_port: swp8", "");
    fs::write(folder.path().join("half.yaml"), unequal).expect("written");
    let twice = LAYERED
        .replace("to_port: swp8", "to_port: swp7")
        .replace("swp2", "swp1")
        .replace("name: cable 7, ", "");
    fs::write(folder.path().join("twice.yaml"), twice).expect("written");
    let cases: [(&[&str], &str); 7] = [
        (&["nowhere.yaml"], "error: nowhere.yaml: No such file"),
        (
            &["links.csv"],
            "hint: this is a list of links or events, but --topology takes a network; `linkmend fleet show --help`",
        ),
        (
            &["other.yaml"],
            "error: other.yaml: unknown format: this is YAML or JSON with `a`; supported formats are",
        ),
        (&["half.yaml"], "error: half.yaml:7: a link has both `from_port` and `to_port`, or neither"),
        (
            &["twice.yaml"],
            "error: twice.yaml:7: link tor1:swp1--spine1:swp7 is already defined at twice.yaml:6",
        ),
        (&["layered.yaml", "--layers", "t*=0"], "this file specifies the layers itself (`layer`)"),
        (&["lab.clab.yml", "--layers", "x*=0,y*=1"], "no rule matches the name of a node"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = show(folder.path(), arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}
