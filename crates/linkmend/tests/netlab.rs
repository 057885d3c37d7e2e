//! The plug-in for netlab, `examples/netlab`: the lab that `netlab create` makes of its topology. Needs `netlab` (`pip install
//! networklab`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/netlab").join(name)
}

/// Runs `netlab create` on the example's topology, changed in one place. `None`, with a message on standard error, without
/// netlab.
fn create(old: &str, new: &str) -> Option<(tempfile::TempDir, Output)> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(example("linkmend.py"), folder.path().join("linkmend.py")).expect("the plug-in");
    let topology = fs::read_to_string(example("topology.yml")).expect("the topology");
    assert!(topology.contains(old));
    fs::write(folder.path().join("topology.yml"), topology.replace(old, new)).expect("the topology");
    let output = Command::new("netlab").args(["create", "topology.yml"]).current_dir(folder.path()).output();
    if output.is_err() {
        eprintln!("SKIPPED: netlab is not installed (pip install networklab)");
    }
    Some((folder, output.ok()?))
}

#[test]
fn two_link_ends_are_put_between_the_nodes_of_a_link() {
    let Some((folder, output)) = create("", "") else { return };
    assert!(output.status.success(), "{output:?}");
    let lab = fs::read_to_string(folder.path().join("clab.yml")).expect("netlab writes it");
    let words: Vec<&str> = lab.split_whitespace().collect();
    let lab = words.join(" ");
    for pair in [
        ["r1:eth1", "linkmend1a:eth1"],
        ["linkmend1a:eth2", "linkmend1b:eth2"],
        ["r2:eth1", "linkmend1b:eth1"],
        ["r2:eth2", "r3:eth1"],
    ] {
        let [first, second] = pair;
        assert!(lab.contains(&format!("- endpoints: - \"{first}\" - \"{second}\"")), "{pair:?}: {lab}");
    }
    assert_eq!(lab.matches("- endpoints:").count(), 4, "{lab}");
    let environment =
        "{'LINKMEND_INNER': 'eth1', 'LINKMEND_LINK': 'eth2', 'LINKMEND_CORRUPT': '1e-2'} image: linkmend";
    assert_eq!(lab.matches(environment).count(), 2, "{lab}");
    // The routers stay neighbours, and the link ends have no addresses.
    let router = fs::read_to_string(folder.path().join("node_files/r1/initial")).expect("netlab writes it");
    assert!(router.contains("description r1 -> r2\n ip address"), "{router}");
    let end =
        fs::read_to_string(folder.path().join("node_files/linkmend1a/initial")).expect("netlab writes it");
    assert!(!end.contains("addr add") && end.contains("ip link set dev eth2 mtu 1508"), "{end}");
}

#[test]
fn a_link_of_three_nodes_is_refused() {
    let Some((_folder, output)) = create("  r2:\n", "  r2:\n  r3:\n") else { return };
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!output.status.success() && said.contains("has 3 nodes, but a protected link has two"), "{said}");
}
