//! Ports as they are taken down and brought up by their switch's configuration database.

use super::TABLES;
use crate::server::{Server, is_installed};
use crate::sonic::send;
use crate::switch::{Fields, Monitor, contents, hash};
use linkmend_monitor::PortName;
use linkmend_monitor::actuator::{PortsDone, SonicPorts, SonicPortsSettings};
use linkmend_monitor::server::ServerUrl;
use std::collections::BTreeSet;

const APPL_DB: u8 = 0;
const CONFIG_DB: u8 = 4;
const STATE_DB: u8 = 6;

fn settings(switches: &[(&str, &Server)]) -> SonicPortsSettings {
    let database =
        |(name, server): &(&str, &Server)| ((*name).to_owned(), ServerUrl::from(server.url().as_str()));
    SonicPortsSettings {
        databases: switches.iter().map(database).collect(),
        ca: None,
        ports_most: 2,
        dry_run: false,
    }
}

fn of(settings: &SonicPortsSettings) -> SonicPorts {
    SonicPorts::new(settings).expect("usable")
}

fn link(port: &str) -> [PortName; 2] {
    [format!("leaf1/{port}"), format!("spine1/{port}")].map(|port| port.parse().expect("a port"))
}

fn status(server: &Server, port: &str) -> String {
    hash(server, CONFIG_DB, &format!("PORT|{port}"))["admin_status"].clone()
}

fn nothing() -> BTreeSet<PortName> {
    BTreeSet::new()
}

#[test]
fn a_link_is_down_at_both_ends_until_it_is_brought_up_and_all_is_as_before() {
    if !is_installed("a_link_is_down_at_both_ends_until_it_is_brought_up_and_all_is_as_before") {
        return;
    }
    let [leaf, spine] = [Server::start(&[]), Server::start(&[])];
    for server in [&leaf, &spine] {
        send(server, TABLES);
    }
    let settings = settings(&[("leaf1", &leaf), ("spine1", &spine)]);
    let (mut ports, ethernet0) = (of(&settings), link("Ethernet0"));
    let before = [CONFIG_DB, APPL_DB].map(|database| contents(&leaf, database));
    let done = ports.take_down(&ethernet0, "leaf1--spine1: it corrupts frames").expect("done");
    let what = "leaf1/Ethernet0 was set to admin_status down, spine1/Ethernet0 was set to admin_status down";
    assert_eq!(done, PortsDone { what: what.to_owned(), down: ethernet0.clone().into() });
    for server in [&leaf, &spine] {
        assert_eq!(status(server, "Ethernet0"), "down");
        let kept = hash(server, STATE_DB, "LINKMEND_DOWN");
        assert_eq!(kept["Ethernet0"], "leaf1--spine1: it corrupts frames");
    }
    // A corruptd that was killed and knows nothing does it again, and nothing changes.
    let mut ports = of(&settings);
    let again = ports.take_down(&ethernet0, "again").expect("done");
    assert_eq!(again.down, ethernet0.clone().into());
    assert!(again.what.contains("is down because of corruptd"), "{}", again.what);
    let up = ports.bring_up(&ethernet0, &nothing()).expect("done");
    assert!(up.what.contains("spine1/Ethernet0 was set to admin_status up") && up.down.is_empty(), "{up:?}");
    assert_eq!([CONFIG_DB, APPL_DB].map(|database| contents(&leaf, database)), before);
    let kept = hash(&leaf, STATE_DB, "LINKMEND_DOWN");
    assert!(!kept.contains_key("Ethernet0"), "{kept:?}");
    let up = ports.bring_up(&ethernet0, &nothing()).expect("done");
    assert!(up.what.contains("leaf1/Ethernet0 is up"), "{}", up.what);
}

#[test]
fn a_port_that_was_down_stays_down() {
    if !is_installed("a_port_that_was_down_stays_down") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let (mut ports, ethernet20) = (of(&settings(&[("leaf1", &server)])), link("Ethernet20"));
    let before = [CONFIG_DB, STATE_DB].map(|database| contents(&server, database));
    let down = ports.take_down(&ethernet20, "a test").expect("done");
    assert!(down.down.is_empty() && down.what.contains("it was not corruptd"), "{down:?}");
    let up = ports.bring_up(&ethernet20, &nothing()).expect("done");
    assert!(up.what.contains("stays down"), "{}", up.what);
    assert_eq!([CONFIG_DB, STATE_DB].map(|database| contents(&server, database)), before);
}

#[test]
fn what_an_operator_does_meanwhile_counts() {
    if !is_installed("what_an_operator_does_meanwhile_counts") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let (mut ports, ethernet0) = (of(&settings(&[("leaf1", &server)])), link("Ethernet0"));
    let down = |ports: &mut SonicPorts| ports.take_down(&ethernet0, "a test").expect("done").down;
    // They bring it up: `config interface startup Ethernet0`.
    let ours = down(&mut ports);
    send(&server, "SELECT 4\nHSET PORT|Ethernet0 admin_status up");
    assert!(ports.bring_up(&ethernet0, &ours).expect("done").what.ends_with("is up"));
    send(&server, "SELECT 4\nHSET PORT|Ethernet0 admin_status down");
    assert!(ports.bring_up(&ethernet0, &ours).expect("done").what.contains("stays down"), "it is theirs");
    // They want it to stay down, and delete the record.
    send(&server, "SELECT 4\nHSET PORT|Ethernet0 admin_status up");
    let ours = down(&mut ports);
    send(&server, "SELECT 6\nHDEL LINKMEND_DOWN Ethernet0");
    assert!(ports.bring_up(&ethernet0, &ours).expect("done").what.contains("stays down"));
    // The switch is started with what was saved meanwhile.
    send(&server, "SELECT 4\nHSET PORT|Ethernet0 admin_status up");
    let ours = down(&mut ports);
    send(&server, "SELECT 6\nFLUSHDB");
    assert!(ports.bring_up(&ethernet0, &nothing()).expect("done").what.contains("stays down"));
    assert!(ports.bring_up(&ethernet0, &ours).expect("done").what.contains("was set to admin_status up"));
    assert_eq!(status(&server, "Ethernet0"), "up");
}

#[test]
fn ports_that_must_stay_up_are_refused_and_nothing_is_changed() {
    if !is_installed("ports_that_must_stay_up_are_refused_and_nothing_is_changed") {
        return;
    }
    let [leaf, spine] = [Server::start(&[]), Server::start(&[])];
    for server in [&leaf, &spine] {
        send(server, TABLES);
    }
    let mut ports = of(&settings(&[("leaf1", &leaf), ("spine1", &spine)]));
    let mut refused = |port: &str| {
        let before = [&leaf, &spine].map(|server| [CONFIG_DB, STATE_DB].map(|at| contents(server, at)));
        let error = ports.take_down(&link(port), "a test").expect_err("refused");
        let after = [&leaf, &spine].map(|server| [CONFIG_DB, STATE_DB].map(|at| contents(server, at)));
        assert_eq!(after, before, "{port}");
        error
    };
    assert!(refused("Ethernet24").contains("leaf1/Ethernet24 stays up: it is a port inside of the switch"));
    assert!(refused("Ethernet-BP0").contains("inside of the switch"));
    assert!(refused("eth0").contains("management port"));
    assert!(refused("Ethernet28").contains("CONFIG_DB has no PORT|Ethernet28"));
    // One end is enough to refuse both: the channel of the spine needs two links.
    send(&spine, "SELECT 4\nHSET PORTCHANNEL|PortChannel1 min_links 2");
    let error = refused("Ethernet4");
    assert!(
        error.contains("spine1/Ethernet4 stays up: PortChannel1 would have 1 links that are up, and needs 2"),
        "{error}"
    );
    // Its other member is down, or has not been taken into the channel.
    send(
        &spine,
        "SELECT 4\nHSET PORTCHANNEL|PortChannel1 min_links 1\nSELECT 0\nHSET PORT_TABLE:Ethernet8 oper_status down",
    );
    assert!(refused("Ethernet4").contains("would have 0 links"));
    send(
        &spine,
        "SELECT 0\nHSET PORT_TABLE:Ethernet8 oper_status up\nHSET LAG_MEMBER_TABLE:PortChannel1:Ethernet8 status disabled",
    );
    assert!(refused("Ethernet4").contains("would have 0 links"));
    send(&spine, "SELECT 0\nHSET LAG_MEMBER_TABLE:PortChannel1:Ethernet8 status enabled");
    let mut ports = of(&settings(&[("leaf1", &leaf), ("spine1", &spine)]));
    ports.take_down(&link("Ethernet4"), "a test").expect("one of two");
    let error = ports.take_down(&link("Ethernet8"), "a test").expect_err("refused");
    assert!(error.contains("would have 0 links that are up, and needs 1 (min_links)"), "{error}");
    // A channel that has only this link is this link.
    ports.take_down(&link("Ethernet12"), "a test").expect("done");
    let error = ports.take_down(&link("Ethernet16"), "a test").expect_err("refused");
    assert!(error.contains("has taken down 2 ports of this switch, and may take down 2"), "{error}");
    let strange: [PortName; 2] =
        ["leaf7/Ethernet0", "leaf8/Ethernet0"].map(|port| port.parse().expect("a port"));
    let error = ports.take_down(&strange, "a test").expect_err("refused");
    assert!(error.contains("no database of leaf7 or leaf8 is configured"), "{error}");
}

#[test]
fn a_dry_run_of_the_ports_sends_no_command_that_writes() {
    if !is_installed("a_dry_run_of_the_ports_sends_no_command_that_writes") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let real = settings(&[("leaf1", &server)]);
    of(&real).take_down(&link("Ethernet4"), "a test").expect("done");
    let before: Vec<_> = [APPL_DB, CONFIG_DB, STATE_DB].map(|at| contents(&server, at)).into();
    let monitor = Monitor::start(&server);
    let mut ports = of(&SonicPortsSettings { dry_run: true, ..real });
    let down = ports.take_down(&link("Ethernet0"), "a test").expect("said");
    assert_eq!(down.what, "leaf1/Ethernet0 would be set to admin_status down");
    let up = ports.bring_up(&link("Ethernet4"), &nothing()).expect("said");
    assert_eq!(up.what, "leaf1/Ethernet4 would be set to admin_status up");
    let sent = monitor.until(&server, "that-is-all");
    let reads = ["SELECT", "WATCH", "HGETALL", "HMGET", "SCAN", "CLIENT", "GET", "HELLO"];
    assert!(sent.iter().any(|name| name == "HGETALL"), "{sent:?}");
    assert!(sent.iter().all(|name| reads.contains(&name.as_str())), "{sent:?}");
    let after: Vec<std::collections::BTreeMap<String, Fields>> =
        [APPL_DB, CONFIG_DB, STATE_DB].map(|at| contents(&server, at)).into();
    assert_eq!(after, before);
}
