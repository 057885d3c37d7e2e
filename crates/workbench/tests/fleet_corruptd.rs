//! `linkmend fleet plan --corruptd`.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;
#[path = "../../linkmend/tests/remembering/mod.rs"]
mod remembering;

use remembering::{Remembering, network, request};
use serde_json::Value;

#[test]
fn the_planner_decides_about_what_a_running_corruptd_has_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = &network(folder.path());
    let directions = serde_json::json!({
        "leaf1/eth1": request("spine1/eth0", 1e-4),
        "spine1/eth0": request("leaf1/eth1", 1e-5),
        "leaf1/eth2": request("spine2/eth0", 1e-3),
        "leaf7/eth0": request("spine2/eth9", 1e-3),
    });
    let daemon = Remembering::start(folder.path(), &directions, &[]);
    let plan = |arguments: &[&str]| {
        let all = ["fleet", "plan", "--topology", network, "--corruptd", &daemon.socket];
        program::run(&[&all[..], arguments].concat())
    };
    let (code, said, log) = plan(&["--json", "--constraint", "75%"]);
    assert_eq!(code, 0, "{log}");
    let plan_of: Value = serde_json::from_str(&said).expect("JSON");
    let decided: Vec<(&str, &str)> = plan_of["links"]
        .as_array()
        .expect("links")
        .iter()
        .map(|link| (link["action"].as_str().expect("a text"), link["ends"].as_str().unwrap_or_default()))
        .collect();
    // Three of four paths must stay: the worse of the two is disabled, the other one protected.
    assert_eq!(decided.len(), 2, "{said}");
    assert_eq!(
        decided.iter().map(|(action, _)| *action).collect::<Vec<_>>(),
        ["disable", "protect"],
        "{said}"
    );
    assert!(
        log.contains("not planned for: leaf7/eth0: the network has no link between leaf7 and spine2"),
        "{log}"
    );
    let (code, said, log) = plan(&["--explain", "leaf1--spine1"]);
    assert_eq!(code, 0, "{log}");
    assert!(said.contains("protect"), "{said}");
    let (_, _, log) = plan(&["--explain", "leaf1--spine4"]);
    assert!(log.contains("this link is not in the findings of corruptd at"), "{log}");
    let (code, _, log) = program::run(&["fleet", "plan", "--corruptd", "/nowhere/socket"]);
    assert!(code != 0 && log.contains("no corruptd is responding at /nowhere/socket"), "{log}");
}
