//! CONFIG_DBs and minigraphs of SONiC switches, one or a folder of them.

use super::*;
use linkmend_topology::file::read_cables;

fn config(own: &str, kind: &str, ports: &[(&str, &str)], neighbours: &[(&str, &str, &str, &str)]) -> String {
    let join = |entries: Vec<String>| entries.join(", ");
    let ports = ports.iter().map(|(port, alias)| {
        format!(r#""{port}": {{"alias": "{alias}", "speed": "400000", "lanes": "1,2"}}"#)
    });
    let devices = neighbours
        .iter()
        .map(|(port, name, far, _)| format!(r#""{port}": {{"name": "{name}", "port": "{far}"}}"#));
    let kinds: std::collections::BTreeMap<&str, &str> =
        neighbours.iter().map(|(_, name, _, kind)| (*name, *kind)).collect();
    let kinds = kinds.iter().map(|(name, kind)| format!(r#""{name}": {{"type": "{kind}", "hwsku": "x"}}"#));
    format!(
        r#"{{"BGP_NEIGHBOR": {{}}, "DEVICE_METADATA": {{"localhost": {{"hostname": "{own}", "type": "{kind}"}}}},
           "PORT": {{{}}}, "DEVICE_NEIGHBOR": {{{}}}, "DEVICE_NEIGHBOR_METADATA": {{{}}}}}"#,
        join(ports.collect()),
        join(devices.collect()),
        join(kinds.collect())
    )
}

fn t0() -> String {
    let ports = [("Ethernet0", "etp1"), ("Ethernet8", "etp2"), ("Ethernet16", "etp3")];
    let neighbours = [
        ("Ethernet0", "t1a", "etp1", "LeafRouter"),
        ("Ethernet8", "t1b", "Ethernet0", "LeafRouter"),
        ("Ethernet16", "web1", "eth0", "Server"),
    ];
    config("t0", "ToRRouter", &ports, &neighbours)
}

fn t1(name: &str, far: &str) -> String {
    let neighbours = [("Ethernet0", "t0", far, "ToRRouter"), ("Ethernet8", "t2", name, "SpineRouter")];
    config(name, "LeafRouter", &[("Ethernet0", "etp1"), ("Ethernet8", "etp2")], &neighbours)
}

#[test]
fn one_config_db_is_a_switch_with_its_neighbours() {
    let loaded = read_text("config_db.json", t0().as_bytes(), &NO_OPTIONS).unwrap();
    assert_eq!(links(&loaded.topology), ["t0:Ethernet0--t1a:etp1 400G", "t0:Ethernet8--t1b:Ethernet0 400G"]);
    assert_eq!(switches(&loaded.topology), ["t0 0 pod0", "t1a 1 -", "t1b 1 -"]);
    assert_eq!(loaded.host_links[0].host, "web1");
    assert_eq!(loaded.host_links[0].port.as_deref(), Some("Ethernet16"));
}

#[test]
fn a_folder_of_config_dbs_is_one_network_with_ports_by_their_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("t0/config_db.json", &t0());
    write("t1a.json", &t1("t1a", "etp1"));
    write("t1b.json", &t1("t1b", "Ethernet8"));
    write("notes.json", "{\"a\": 1}");
    let loaded = read_topology(folder.path(), &NO_OPTIONS).unwrap();
    let mut names = links(&loaded.topology);
    names.sort();
    let expected = [
        "t0:Ethernet0--t1a:Ethernet0 400G",
        "t0:Ethernet8--t1b:Ethernet0 400G",
        "t1a:Ethernet8--t2:t1a 400G",
        "t1b:Ethernet8--t2:t1b 400G",
    ];
    assert_eq!(names, expected);
    assert_eq!(loaded.topology.layer_count(), 3);
    assert!(loaded.warnings.iter().any(|text| text.contains("notes.json")), "{:?}", loaded.warnings);
    assert_eq!(loaded.understood.doubts, []);
    assert_eq!(read_cables(folder.path()).unwrap().len(), 5, "with the host's");
    // Another cable at a port of two files is refused; one that only one file has is in doubt.
    write("t1b.json", &t1("t1b", "Ethernet0"));
    let error = read_topology(folder.path(), &NO_OPTIONS).unwrap_err().to_string();
    assert!(error.contains("t1b:Ethernet0 is connected to t0:Ethernet0"), "{error}");
    write("t1b.json", &config("t1b", "LeafRouter", &[], &[("Ethernet8", "t2", "t1b", "SpineRouter")]));
    let loaded = read_topology(folder.path(), &AT_100G).unwrap();
    let doubts: Vec<&str> = loaded.understood.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
    let expected = "only one of the two switches' files contains these cables: t0:Ethernet8--t1b:Ethernet0";
    assert_eq!(doubts, [expected]);
}

#[test]
fn old_config_dbs_name_neighbours_by_their_keys() {
    let text = r#"{"DEVICE_METADATA": {"localhost": {"hostname": "t0", "type": "ToRRouter"}},
        "DEVICE_NEIGHBOR": {"t1": {"local_port": "Ethernet0", "port": "Ethernet1", "type": "LeafRouter", "lo_addr": null}}}"#;
    let loaded = read_text("config_db.json", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["t0:Ethernet0--t1:Ethernet1 100G"]);
    // Nothing names the switch but its file.
    let text = r#"{"DEVICE_NEIGHBOR": {"Ethernet0": {"name": "spine1", "port": "Ethernet1"}}}"#;
    let loaded = read_text("leaf7.json", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf7:Ethernet0--spine1:Ethernet1 100G"]);
}

fn minigraph(own: &str, links: &[(&str, &str, &str, &str)]) -> String {
    let link = |(a, ap, b, bp): &(&str, &str, &str, &str)| {
        format!(
            "<DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><EndDevice>{b}</EndDevice><EndPort>{bp}</EndPort>\
             <StartDevice>{a}</StartDevice><StartPort>{ap}</StartPort><Bandwidth>40000</Bandwidth></DeviceLinkBase>\n"
        )
    };
    let links: String = links.iter().map(link).collect();
    format!(
        "<?xml version=\"1.0\"?>\n<DeviceMiniGraph xmlns=\"M\" xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\">\n<PngDec>\n\
         <DeviceInterfaceLinks>\n{links}<DeviceLinkBase><ElementType>DeviceSerialLink</ElementType><StartDevice>console</StartDevice>\
         <StartPort>1</StartPort><EndDevice>{own}</EndDevice><EndPort>console</EndPort></DeviceLinkBase></DeviceInterfaceLinks>\n\
         <Devices><Device i:type=\"ToRRouter\"><Hostname>t0</Hostname></Device>\
         <Device i:type=\"LeafRouter\"><Hostname>t1</Hostname></Device></Devices></PngDec><Hostname>{own}</Hostname></DeviceMiniGraph>"
    )
}

#[test]
fn minigraphs_of_both_ends_are_one_network() {
    let cables = [("t0", "fortyGigE0/0", "t1", "Ethernet1/1"), ("t0", "fortyGigE0/4", "t1", "Ethernet2/1")];
    let expected = ["t0:fortyGigE0/0--t1:Ethernet1/1 40G", "t0:fortyGigE0/4--t1:Ethernet2/1 40G"];
    let loaded = read_text("minigraph.xml", minigraph("t0", &cables).as_bytes(), &NO_OPTIONS).unwrap();
    assert_eq!(links(&loaded.topology), expected);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t0.xml"), minigraph("t0", &cables)).unwrap();
    let turned = cables.map(|(a, ap, b, bp)| (b, bp, a, ap));
    std::fs::write(folder.path().join("t1.xml"), minigraph("t1", &turned)).unwrap();
    let loaded = read_topology(folder.path(), &NO_OPTIONS).unwrap();
    assert_eq!(links(&loaded.topology), expected);
    assert_eq!(loaded.understood.doubts, []);
    // The CONFIG_DB beside it says what the aliases mean.
    let config =
        config("t0", "ToRRouter", &[("Ethernet0", "fortyGigE0/0"), ("Ethernet4", "fortyGigE0/4")], &[]);
    std::fs::write(folder.path().join("t0.json"), config).unwrap();
    let loaded = read_topology(folder.path(), &NO_OPTIONS).unwrap();
    assert_eq!(
        links(&loaded.topology),
        ["t0:Ethernet0--t1:Ethernet1/1 40G", "t0:Ethernet4--t1:Ethernet2/1 40G"]
    );
}

/// Each port of a server is called the same in a minigraph, and links inside of a chassis are no cables.
#[test]
fn servers_with_one_name_for_all_ports_and_asics_are_no_contradiction() {
    let cables = [
        ("t0", "etp1", "t1", "Ethernet1"),
        ("t0", "etp2", "Servers1", "eth0"),
        ("t0", "etp3", "Servers1", "eth0"),
        ("t0", "etp1", "ASIC0", "Eth0"),
    ];
    let asic = "<Device><ElementType>Asic</ElementType><Hostname>ASIC0</Hostname></Device></Devices>";
    let text = minigraph("t0", &cables).replace("</Devices>", asic);
    let loaded = read_text("minigraph.xml", text.as_bytes(), &NO_OPTIONS).unwrap();
    assert_eq!(links(&loaded.topology), ["t0:etp1--t1:Ethernet1 40G"]);
    let ports: Vec<Option<&str>> = loaded.host_links.iter().map(|link| link.port.as_deref()).collect();
    assert_eq!(ports, [Some("etp2"), Some("etp3")]);
    assert_eq!(loaded.understood.doubts[0].text, "left out 1 link to ASICs inside the chassis");
}

#[test]
fn broken_minigraphs_are_refused_with_their_line() {
    let deep = format!("<DeviceMiniGraph>{}", "<a>\n".repeat(200_000));
    for (text, expected) in [
        ("<DeviceMiniGraph>\n<PngDec>\n</DeviceMiniGraph>", "minigraph.xml:3: "),
        ("<DeviceMiniGraph>\n<x/>\n</DeviceMiniGraph>", "minigraph.xml:1: this minigraph has no `PngDec`"),
        (&deep, "minigraph.xml:100: elements are nested more than 100 deep"),
        ("<!DOCTYPE x [<!ENTITY a \"b\">]>\n<DeviceMiniGraph>&a;</DeviceMiniGraph>", "minigraph.xml:1: "),
    ] {
        let message = refused("minigraph.xml", text);
        assert!(message.starts_with(expected), "{message}");
    }
}
