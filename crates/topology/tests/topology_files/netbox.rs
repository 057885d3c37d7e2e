//! NetBox's cables, from its REST API and its exports.

use super::*;

fn end(kind: &str, device: &str, port: &str) -> String {
    format!(
        r#"{{"object_type": "{kind}", "object_id": 7, "object": {{"id": 7, "device": {{"id": 1, "name": "{device}"}}, "name": "{port}"}}}}"#
    )
}

fn cable(status: &str, a: &[String], b: &[String]) -> String {
    format!(
        r#"{{"id": 1, "type": "mmf", "status": {{"value": "{status}", "label": "x"}}, "a_terminations": [{}], "b_terminations": [{}]}}"#,
        a.join(", "),
        b.join(", ")
    )
}

const INTERFACE: &str = "dcim.interface";

#[test]
fn only_cables_between_interfaces_are_links_and_roles_come_from_the_devices() {
    let cables = [
        cable("connected", &[end(INTERFACE, "x1", "e1")], &[end(INTERFACE, "y1", "e1")]),
        cable("connected", &[end(INTERFACE, "x2", "e1")], &[end(INTERFACE, "y1", "e2")]),
        cable("planned", &[end(INTERFACE, "x2", "e2")], &[end(INTERFACE, "y1", "e3")]),
        cable("connected", &[end("dcim.powerport", "x1", "psu1")], &[end("dcim.poweroutlet", "pdu", "1")]),
        cable(
            "connected",
            &[end(INTERFACE, "x1", "q1")],
            &[end(INTERFACE, "y1", "q1"), end(INTERFACE, "y1", "q2")],
        ),
    ];
    let page = format!(
        "{{\"count\": 5, \"next\": null, \"previous\": null, \"results\": [\n{}]}}",
        cables.join(",\n")
    );
    let list = format!("[{}]", cables.join(",\n"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cables.json");
    for (devices, text) in [
        (
            "devices.json",
            r#"{"next": null, "results": [{"name": "x1", "role": {"slug": "leaf"}}, {"name": "x2", "device_role": {"slug": "leaf"}}, {"name": "y1", "role": {"slug": "spine"}}]}"#,
        ),
        (
            "devices.csv",
            "Name,Status,Role\nx1,Active,Leaf switch\nx2,Active,Leaf switch\ny1,Active,Spine switch\n",
        ),
    ] {
        std::fs::write(folder.path().join(devices), text).unwrap();
        for content in [&page, &list] {
            std::fs::write(&path, content).unwrap();
            let loaded = read_topology(&path, &AT_100G).unwrap();
            assert_eq!(links(&loaded.topology), ["x1:e1--y1:e1 100G", "x2:e1--y1:e2 100G"]);
            assert_eq!(loaded.warnings, ["left out 1 cable between ports other than interfaces"]);
            let doubts: Vec<&str> =
                loaded.understood.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
            let several = "a cable is left out: it does not connect two ports, but x1:q1 and y1:q1, y1:q2";
            assert_eq!(doubts, ["a cable is left out: its status is planned", several]);
        }
        std::fs::remove_file(folder.path().join(devices)).unwrap();
    }
}

#[test]
fn cables_of_version_2_have_one_end_a_side() {
    let text = r#"{"results": [{"termination_a_type": "dcim.interface", "termination_a": {"device": {"name": "leaf1"}, "name": "e1"},
        "termination_b_type": "dcim.interface", "termination_b": {"device": {"name": "spine1"}, "name": "e1"}, "status": {"value": "connected"}}]}"#;
    let loaded = read_text("cables.json", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf1:e1--spine1:e1 100G"]);
}

#[test]
fn the_export_of_the_list_of_cables_is_a_table() {
    let text = "ID,Label,Site A,Location A,Rack A,Device A,Termination A,Site B,Rack B,Device B,Termination B,Status,Type,Length,Color\r\n\
                #1,,s,,r1,leaf1,Ethernet1,s,r2,spine1,Ethernet1,Connected,MMF,5,\r\n";
    let loaded = read_text("netbox_cables.csv", text.replace("#1", "1").as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf1:Ethernet1--spine1:Ethernet1 100G"]);
}

/// A cable may end at a circuit, which is no device.
#[test]
fn cables_that_end_at_no_device_are_left_out_with_their_line() {
    let text = "Device A,Termination A,Device B,Termination B,Status\r\nleaf1,e1,spine1,e1,Connected\r\n\
                leaf1,e2,,Termination A,Connected\r\n";
    let loaded = read_text("netbox_cables.csv", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf1:e1--spine1:e1 100G"]);
    let doubt = &loaded.understood.doubts[0];
    assert_eq!(doubt.text, "a cable is left out: there is no device at its end b");
    assert!(format!("{doubt:?}").contains('3'), "the line in a file of Windows: {doubt:?}");
    let refused = refused("cables.csv", "a,b,speed\r\nleaf1,spine1,100G\r\nleaf2,spine1,fast\r\n");
    assert!(refused.starts_with("cables.csv:3: speed `fast`"), "{refused}");
}

/// As `fleet show FOLDER` is tried first.
#[test]
fn a_folder_with_cables_and_devices_is_read_as_its_list_of_cables() {
    let folder = tempfile::tempdir().unwrap();
    let ends = [end(INTERFACE, "x1", "e1"), end(INTERFACE, "y1", "e1")];
    let cables = format!("[{}]", cable("connected", &ends[..1], &ends[1..]));
    std::fs::write(folder.path().join("cables.json"), cables).unwrap();
    let devices = r#"[{"name": "x1", "role": {"slug": "leaf"}}, {"name": "y1", "role": {"slug": "spine"}}]"#;
    std::fs::write(folder.path().join("devices.json"), devices).unwrap();
    let loaded = read_topology(folder.path(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["x1:e1--y1:e1 100G"]);
}

#[test]
fn a_page_of_several_and_what_is_no_cable_are_refused() {
    for (text, expected) in [
        (
            "{\"count\": 900,\n\"next\": \"https://x/?offset=50\", \"results\": []}",
            "cables.json:2: this is only one page of several (`next`)",
        ),
        ("[\n{\"id\": 1}]", "cables.json:2: this is not a NetBox cable"),
        ("[1, 2]", "cables.json:1: this is not a NetBox cable"),
        ("[]", "cables.json: the network has no switches"),
    ] {
        let message = refused("cables.json", text);
        assert!(message.starts_with(expected), "{message}");
    }
}
