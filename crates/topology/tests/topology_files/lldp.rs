//! LLDP dumps.

use super::*;
use linkmend_topology::file::{FarPort, LldpNeighbour, lldp_neighbours};

#[test]
fn lldp_dumps_give_each_link_once() {
    let loaded = read_topology(&data("lldp"), &NO_OPTIONS).unwrap();
    assert_eq!(switches(&loaded.topology), ["spine1 1 -", "tor1 0 east", "tor2 0 pod1", "spine2 1 -"]);
    assert_eq!(
        links(&loaded.topology),
        ["tor1:swp1--spine1:swp1 100G", "tor2:swp1--spine1:swp2 100G", "tor1:swp2--spine2:swp1 100G"]
    );
    assert_eq!(
        loaded.warnings,
        [
            "left out 1 neighbour for which there is no rule: server1",
            "left out 1 neighbour without a system name",
            "1 switch without a dump, known only from neighbours: spine2",
        ]
    );
    let alone = read_topology(&data("lldp/tor2.json"), &NO_OPTIONS).unwrap();
    assert_eq!(links(&alone.topology), ["tor2:swp1--spine1:swp2 100G"]);
}

/// What `lldpctl` prints for these neighbours: port, neighbour, its port.
fn dump(neighbours: &[(&str, &str, &str)]) -> String {
    let list: Vec<String> = neighbours
        .iter()
        .map(|(port, name, far)| {
            format!("{{\"{port}\": {{\"chassis\": {{\"{name}\": {{\"ttl\": \"120\"}}}}, \"port\": {{\"id\": {{\"type\": \"ifname\", \"value\": \"{far}\"}}}}}}}}")
        })
        .collect();
    format!("{{\"lldp\": {{\"interface\": [\n{}\n]}}}}\n", list.join(",\n"))
}

fn read_dumps(files: &[(&str, String)]) -> Result<Loaded, String> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let all = format!("{}/", directory.path().display());
    read_topology(directory.path(), &AT_100G)
        .map_err(|error| with_hint(&error).replace(&all, "").replace(all.trim_end_matches('/'), "."))
}

const RULES: &str = "layers:\n- {match: 't*', layer: 0}\n- {match: 's*', layer: 1}\n";

#[test]
fn what_is_wrong_with_lldp_dumps_is_said_with_its_line() {
    let rules = || ("layers.yaml", RULES.to_owned());
    let cases: Vec<(Vec<(&str, String)>, &str)> = vec![
        (
            vec![],
            ".: there are no LLDP dumps (*.json) and no files of SONiC (config_db.json, minigraph.xml) in this directory",
        ),
        (
            vec![("t1.json", dump(&[]))],
            ".: the layers of the switches are unknown\nspecify them by name, like `--layers \
             'tor*=0,spine*=1'`, or with rules like `layers: [{match: \"tor*\", layer: 0}]` in layers.yaml \
             beside the dumps",
        ),
        (
            vec![rules(), ("x.json", dump(&[]))],
            "x.json: x has no layer\nadd a rule to `layers` that matches it, or remove its dump",
        ),
        (
            vec![rules(), ("t1.json", dump(&[]))],
            "t1.json: a network needs at least two layers, but the highest layer is 0",
        ),
        (
            vec![rules(), ("t1.json", dump(&[])), ("s1.json", dump(&[]))],
            "t1.json: t1 has no path to the top layer (layer 1)",
        ),
        (
            vec![rules(), ("t1.json", dump(&[("1", "s1", "1"), ("1", "s2", "1")]))],
            "t1.json:3: t1 port 1 leads to s1:1 and to s2:1\nif it is a management port, add it to `ignore_ports`",
        ),
        (
            vec![rules(), ("t1.json", dump(&[("1", "s1", "1"), ("2", "t1", "3")]))],
            "t1.json:3: link t1:2--t1:3 connects t1 to itself",
        ),
        (
            vec![rules(), ("t1.json", dump(&[("1", "s1", "1"), ("2", "t2", "3")]))],
            "t1.json:3: t2 has no path to the top layer (layer 1)",
        ),
        (
            vec![rules(), ("t1.json", "{\"lldp\": 5}".into())],
            "t1.json:1: invalid type: integer `5`, expected an object, or a list of one",
        ),
        (
            vec![rules(), ("t1.json", "{\"lldp\": {\"interface\":\n{\"1\": {}}}}".into())],
            "t1.json:2: missing field `chassis`",
        ),
        (
            vec![("layers.yaml", "layers:\n- {match: '*', level: 0}\n".into()), ("t1.json", dump(&[]))],
            "layers.yaml:2: unknown field `level`, expected one of match, layer",
        ),
        (
            vec![("layers.yaml", "layers:\n- {match: '*', layer: 99}\n".into()), ("t1.json", dump(&[]))],
            "layers.yaml:2: layer of * is 99; it must be from 0, the ToRs, to 31",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(read_dumps(&files).expect_err(expected), expected);
    }
    let twice = dump(&[]).replacen('{', "{\"local-chassis\": {\"chassis\": {\"t1\": {}}}, ", 1);
    let error = read_dumps(&[rules(), ("t1.json", dump(&[])), ("u.json", twice)]).unwrap_err();
    assert_eq!(error, "u.json: switch t1 is already defined at t1.json");
}

#[test]
fn a_link_that_only_one_of_two_dumps_sees_is_refused_with_what_the_other_sees() {
    let read = |spine: &[(&str, &str, &str)]| {
        let tor = dump(&[("1", "s1", "1"), ("2", "s1", "2")]);
        read_dumps(&[("layers.yaml", RULES.to_owned()), ("t1.json", tor), ("s1.json", dump(spine))])
    };
    let hint = "regenerate both dumps, or list the port in `ignore_ports` if it is not part of the fabric";
    let alone =
        "t1.json:3: t1:2 sees s1:2, but s1, which also has a dump, does not see it on any remaining port";
    assert_eq!(read(&[("1", "t1", "1")]).unwrap_err(), format!("{alone}\n{hint}"));
    let instead = "s1.json:3: s1:7 sees t1:9, but t1, which also has a dump, does not see it on any \
     remaining port; t1:2 sees s1:2 instead";
    assert_eq!(read(&[("1", "t1", "1"), ("7", "t1", "9")]).unwrap_err(), format!("{instead}\n{hint}"));
}

/// lldpctl writes a line break inside a string as a backslash and a line break, which is no JSON.
#[test]
fn line_breaks_as_lldpctl_writes_them_are_read() {
    let odd = dump(&[("1", "s1", "1")]).replace("\"120\"", "\"120\", \"descr\": \"IOS\\\nVersion\\n15\\\"\"");
    assert!(odd.contains("IOS\\\nVersion"), "{odd}");
    let loaded = read_dumps(&[("layers.yaml", RULES.to_owned()), ("t1.json", odd)]).unwrap();
    assert_eq!(links(&loaded.topology), ["t1:1--s1:1 100G"]);
}

/// What lldpd prints of one neighbour, in the short form and in the long one.
const SHORT: &str = r#"{"lldp": {"interface": {"eth0": {"via": "LLDP", "rid": "1",
  "chassis": {"s": {"id": {"type": "mac", "value": "00:02"}, "capability": [{"type": "Bridge", "enabled": false}]}},
  "port": {"id": {"type": "mac", "value": "00:03"}, "descr": "eth1", "ttl": "120"}}}}}"#;
const LONG: &str = r#"{"lldp": [{"interface": [{"name": "eth0", "via": "LLDP", "rid": "1",
  "chassis": [{"id": [{"type": "mac", "value": "00:02"}], "name": [{"value": "s"}],
    "capability": [{"type": "Bridge", "enabled": false}]}],
  "port": [{"id": [{"type": "mac", "value": "00:03"}], "descr": [{"value": "eth1"}], "ttl": [{"value": "120"}]}]}]}]}"#;

fn neighbours(text: &str) -> Vec<LldpNeighbour> {
    lldp_neighbours(text.into(), "t1", "f").unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_long_form_says_what_the_short_one_says() {
    let expected = LldpNeighbour {
        port: "eth0".to_owned(),
        neighbour: Some("s".to_owned()),
        far_port: Some(FarPort::Name("eth1".to_owned())),
        faces: None,
    };
    assert_eq!((neighbours(SHORT), neighbours(LONG)), (vec![expected.clone()], vec![expected]));
    let nameless = LONG.replace("\"name\": [{\"value\": \"s\"}],", "");
    assert_eq!(neighbours(&nameless)[0].neighbour, None);
    assert_eq!(neighbours("{\"lldp\": [{}]}"), []);
}

#[test]
fn a_config_db_is_no_dump() {
    let config = "{\"PORT\": {\"Ethernet0\": {\"alias\": \"etp1\"}}, \"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"t1\"}}}";
    let error = lldp_neighbours(config.into(), "t1", "config_db.json").unwrap_err().to_string();
    assert!(error.contains("it has neither `lldp` nor `local-chassis`"), "{error}");
    let files = [("layers.yaml", RULES.to_owned()), ("config_db.json", config.to_owned())];
    let error = read_dumps(&files).unwrap_err();
    assert!(error.contains("no neighbours are listed"), "{error}");
}

#[test]
fn every_neighbour_of_a_port_is_named() {
    let long = LONG.strip_suffix("]}]}").expect("the end of the list");
    let (_, one) = long.split_once("[{\"interface\": [").expect("the list");
    let two = format!("{long}, {}]}}]}}", one.replace("\"s\"", "\"s2\""));
    let systems: Vec<_> = neighbours(&two).into_iter().filter_map(|one| one.neighbour).collect();
    assert_eq!(systems, ["s", "s2"]);
}

#[test]
fn a_port_of_which_only_a_number_is_known_is_at_no_cable() {
    let number = SHORT.replace("\"descr\": \"eth1\", ", "");
    assert_eq!(neighbours(&number)[0].far_port, None);
    let rules = || ("layers.yaml", RULES.to_owned());
    let cables = |far: &str| {
        let loaded =
            read_dumps(&[rules(), ("t1.json", far.replace("\"eth0\"", "\"swp1\""))]).expect("a network");
        assert_eq!(loaded.topology.link_count(), 1);
        loaded.cables.into_iter().map(|cable| cable.ends.map(|(_, port)| port)).collect::<Vec<_>>()
    };
    assert_eq!(cables(&number), [] as [[String; 2]; 0]);
    assert_eq!(cables(SHORT), [["swp1", "eth1"]]);
    // The neighbour's own dump calls the port by the number, so that is its name.
    let own = dump(&[("00:03", "t1", "swp1")]);
    let both = read_dumps(&[rules(), ("t1.json", number.replace("eth0", "swp1")), ("s.json", own)]);
    assert_eq!(both.expect("a network").cables.len(), 1);
}

/// A neighbour `t0` as `t1` sees it, whose port has this kind of identifier, identifier and description.
fn seen(kind: &str, id: &str, description: &str) -> LldpNeighbour {
    let neighbour = SHORT.replace("\"s\"", "\"t0\"").replace("\"mac\", \"value\": \"00:03\"", "ID");
    let neighbour = neighbour.replace("ID", &format!("\"{kind}\", \"value\": \"{id}\""));
    neighbours(&neighbour.replace("\"eth1\"", &format!("\"{description}\""))).remove(0)
}

#[test]
fn a_port_of_sonic_is_known_by_its_alias_and_its_description_is_about_ours() {
    let name = |name: &str| Some(FarPort::Name(name.to_owned()));
    let alias = |alias: &str| Some(FarPort::Alias(alias.to_owned()));
    let port = |kind, id, description| {
        let LldpNeighbour { far_port, faces, .. } = seen(kind, id, description);
        (far_port, faces)
    };
    let ours = Some("Ethernet0".to_owned());
    assert_eq!(port("local", "Ethernet30/1", "t1:Ethernet0"), (alias("Ethernet30/1"), ours.clone()));
    assert_eq!(port("mac", "00:03", "t1:Ethernet0"), (None, ours.clone()));
    assert_eq!(port("ifname", "swp1", "t1:Ethernet0"), (name("swp1"), ours));
    // Sites that describe a port by its own name.
    assert_eq!(port("local", "etp30", "t0:Ethernet116"), (name("Ethernet116"), None));
    // lldpd describes a port by its interface unless it is told otherwise.
    assert_eq!(port("local", "etp30", "Ethernet116"), (name("Ethernet116"), None));
    // Neither a port of a third switch nor a remark is a name.
    assert_eq!(port("local", "etp30", "t9:Ethernet4"), (alias("etp30"), None));
    assert_eq!(port("local", "etp30", "to rack 7"), (alias("etp30"), None));
    assert_eq!(port("local", "etp30", ""), (alias("etp30"), None));
    assert_eq!(port("local", "30", ""), (None, None));
}
