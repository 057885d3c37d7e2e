//! Counters of a SONiC switch, out of a Redis that has them under the names that SONiC gives them.

use super::server::{Server, is_installed};
use linkmend_monitor::counters::{Difference, FecCode, FecReading, Increment, Irregularity, Reading};
use linkmend_monitor::server::ServerUrl;
use linkmend_monitor::source::{SonicSettings, SonicSource, SonicSources, Source};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const COUNTERS: &str = include_str!("../data/sonic-counters.redis");
const SECOND: Duration = Duration::from_secs(1);
const OBJECT: &str = "COUNTERS:oid:0x1000000000002";
const ERRORS: &str = "SAI_PORT_STAT_IF_IN_ERRORS";
const CHECK_SEQUENCE: &str = "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS";
const UNICAST: &str = "SAI_PORT_STAT_IF_IN_UCAST_PKTS";

/// Sends commands, one a line.
pub fn send(server: &Server, commands: &str) {
    let mut pipe = redis::pipe();
    for line in commands.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        pipe.cmd(words.next().expect("a command")).arg(words.collect::<Vec<_>>());
    }
    if !pipe.is_empty() {
        pipe.exec(&mut server.connect()).expect("commands");
    }
}

pub fn settings(url: &str) -> SonicSettings {
    SonicSettings { url: ServerUrl::from(url), ..SonicSettings::default() }
}

pub fn source(server: &Server) -> SonicSource {
    SonicSource::new(&settings(&server.url())).expect("usable")
}

pub fn poll(source: &mut SonicSource) -> BTreeMap<String, Reading> {
    source.poll().expect("it answers").into_iter().collect()
}

#[test]
fn a_port_has_the_counters_that_its_switch_has() {
    if !is_installed("a_port_has_the_counters_that_its_switch_has") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    let readings = poll(&mut source(&server));
    let names: Vec<&str> = readings.keys().map(String::as_str).collect();
    // Those without frames, without counters and without an object are left out.
    assert_eq!(names, ["Ethernet0", "Ethernet12", "Ethernet16", "Ethernet4", "Ethernet8"]);
    let without_epoch = |name: &str| Reading { epoch: None, ..readings[name] };

    let mut codewords: [u64; 16] = std::array::from_fn(|errors| 16 - errors as u64);
    codewords[0] = 1_000_000_000;
    let fec = FecReading {
        corrected_codewords: Some(135),
        uncorrectable_codewords: Some(4),
        corrected_bits: Some(170),
        codewords: Some(codewords),
        ..FecReading::default()
    };
    let all = Reading {
        good_frames: 1_000_030,
        corrupted_frames: Some(5 + 2 + 1),
        up: Some(true),
        carrier_changes: Some(2 * 3),
        speed: Some(400_000_000_000),
        code: Some(FecCode::Rs544),
        fec: Some(fec),
        ..Reading::default()
    };
    assert_eq!(without_epoch("Ethernet0"), all);
    let fec = FecReading {
        corrected_codewords: Some(8),
        uncorrectable_codewords: Some(0),
        ..FecReading::default()
    };
    let default = Reading {
        up: Some(true),
        good_frames: 2_000_070,
        corrupted_frames: Some(7),
        speed: Some(100_000_000_000),
        code: Some(FecCode::Rs528),
        fec: Some(fec),
        ..Reading::default()
    };
    assert_eq!(without_epoch("Ethernet4"), default);
    let slow = Reading { up: Some(true), speed: Some(10_000_000_000), ..Reading::default() };
    let plain = Reading { good_frames: 3_300, corrupted_frames: Some(0), carrier_changes: Some(2), ..slow };
    assert_eq!(without_epoch("Ethernet8"), plain);
    assert_eq!(without_epoch("Ethernet12"), Reading { good_frames: 4_000, ..slow });
    let broken = Reading { good_frames: 5_000, up: Some(false), ..Reading::default() };
    assert_eq!(without_epoch("Ethernet16"), broken);
}

#[test]
fn aliases_are_told_once_and_ports_without_a_cable_not_at_all() {
    if !is_installed("aliases_are_told_once_and_ports_without_a_cable_not_at_all") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    let internal: Vec<String> = ["Ethernet-BP0", "Ethernet-IB0", "Ethernet-Rec0"]
        .iter()
        .map(|name| format!("HSET COUNTERS_PORT_NAME_MAP {name} oid:0x1000000000002"))
        .collect();
    send(&server, &format!("SELECT 2\n{}", internal.join("\n")));
    let mut source = source(&server);
    assert!(!poll(&mut source).keys().any(|name| name.contains('-')));
    let aliases = |source: &mut SonicSource| source.take_aliases().into_iter().collect::<BTreeMap<_, _>>();
    let told = aliases(&mut source);
    assert_eq!((told.len(), told["Ethernet0"].as_str(), told["Ethernet16"].as_str()), (5, "etp1", "etp5"));
    poll(&mut source);
    assert_eq!(aliases(&mut source), BTreeMap::new());
    send(&server, "SELECT 0\nHSET PORT_TABLE:Ethernet4 alias etp2a");
    poll(&mut source);
    assert_eq!(aliases(&mut source), BTreeMap::from([("Ethernet4".to_owned(), "etp2a".to_owned())]));
}

/// What two polls of a port say, with these commands between them.
fn between(server: &Server, source: &mut SonicSource, commands: &str) -> Result<Increment, Irregularity> {
    let mut difference = Difference::default();
    let _ = difference.handle_reading(SECOND, poll(source)["Ethernet0"]);
    send(server, &format!("SELECT 2\n{commands}"));
    difference.handle_reading(2 * SECOND, poll(source)["Ethernet0"])
}

#[test]
fn ports_between_the_chips_of_a_switch_are_left_out_whatever_their_names_are() {
    if !is_installed("ports_between_the_chips_of_a_switch_are_left_out_whatever_their_names_are") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    let roles = [
        ("Ethernet0", "Int"),
        ("Ethernet4", "Inb"),
        ("Ethernet8", "Rec"),
        ("Ethernet12", "Ext"),
        ("Ethernet16", "Dpc"),
    ];
    for (port, role) in roles {
        send(&server, &format!("SELECT 0\nHSET PORT_TABLE:{port} role {role}"));
    }
    let names: Vec<String> = poll(&mut source(&server)).into_keys().collect();
    assert_eq!(names, ["Ethernet12"]);
}

/// A gearbox or a retimer sits between the switching chip and the cable, and ends the code of the cable.
#[test]
fn codewords_of_a_port_behind_a_gearbox_are_those_of_its_line_side() {
    if !is_installed("codewords_of_a_port_behind_a_gearbox_are_those_of_its_line_side") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    let mut source = source(&server);
    let before = poll(&mut source)["Ethernet0"];
    let correctable = "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES";
    let uncorrectable = "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES";
    let line = format!("HSET COUNTERS:oid:0x1010000000002 {correctable} 900 {uncorrectable} 7");
    let system = format!("HSET COUNTERS:oid:0x1010000000003 {correctable} 1 {uncorrectable} 2");
    let names = "Ethernet0_line oid:0x1010000000002 Ethernet0_system oid:0x1010000000003 Ethernet4_line none";
    send(&server, &format!("SELECT 10\nHSET COUNTERS_PORT_NAME_MAP {names}\n{line}\n{system}"));
    let readings = poll(&mut source);
    let expected = FecReading {
        corrected_codewords: Some(900),
        uncorrectable_codewords: Some(7),
        ..FecReading::default()
    };
    let after = readings["Ethernet0"];
    assert_eq!((after.fec, after.code), (Some(expected), None));
    assert_eq!((after.good_frames, after.corrupted_frames), (before.good_frames, before.corrupted_frames));
    assert_ne!(after.epoch, before.epoch, "its counters have nothing to do with those before");
    assert!(readings["Ethernet4"].fec.is_some_and(|fec| fec.corrected_codewords == Some(8)));
    assert_eq!(readings.len(), 5, "a side is no port of its own");
}

#[test]
fn a_switch_with_two_chips_is_one_source_and_a_chip_that_is_away_hides_no_other() {
    if !is_installed("a_switch_with_two_chips_is_one_source_and_a_chip_that_is_away_hides_no_other") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let sockets = [path("0.sock"), path("1.sock")];
    let mut servers = sockets.each_ref().map(|socket| Server::start(&["--unixsocket", socket]));
    let mut includes = r#"{"include":"../redis/database_config.json"}"#.to_owned();
    for (chip, server) in servers.iter().enumerate() {
        let (port, object) = (format!("Ethernet{}", 8 * chip), "oid:0x1000000000002");
        let counters = format!("{UNICAST} {} SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS 0 {ERRORS} 0", 1_000 + chip);
        let names = format!("{port} {object} Ethernet-BP{chip} {object}");
        send(server, &format!("SELECT 2\nHSET COUNTERS_PORT_NAME_MAP {names}\nHSET {OBJECT} {counters}"));
        let config =
            format!(r#"{{"INSTANCES":{{"redis":{{"port":6379,"unix_socket_path":"{}"}}}}}}"#, sockets[chip]);
        std::fs::write(path(&format!("{chip}.json")), config).expect("written");
        includes += &format!(r#",{{"namespace":"asic{chip}","include":"{chip}.json"}}"#);
    }
    let global = folder.path().join("database_global.json");
    std::fs::write(&global, format!(r#"{{"INCLUDES":[{includes}],"VERSION":"1.0"}}"#)).expect("written");
    let mut source = SonicSources::listed(&SonicSettings::default(), &global).expect("usable");
    let frames = |source: &mut SonicSources| -> Vec<(String, u64)> {
        let mut read = source.poll().expect("it answers");
        read.sort_by(|one, other| one.0.cmp(&other.0));
        read.into_iter().map(|(port, reading)| (port, reading.good_frames)).collect()
    };
    assert_eq!(frames(&mut source), [("Ethernet0".to_owned(), 1_000), ("Ethernet8".to_owned(), 1_001)]);
    servers[0].kill();
    assert_eq!(frames(&mut source), [("Ethernet8".to_owned(), 1_001)]);
    servers[1].kill();
    assert!(source.poll().is_err());
    // A database that is named is the only one.
    let named = SonicSources::listed(&settings(&servers[0].url()), &global).expect("usable");
    assert!(!named.describe().contains("1.sock"), "{}", named.describe());
}

#[test]
fn what_is_new_is_the_difference_of_two_polls() {
    if !is_installed("what_is_new_is_the_difference_of_two_polls") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    let mut source = source(&server);
    let mut between = |commands: &str| between(&server, &mut source, commands);
    assert_eq!(between(""), Ok(Increment::default()), "SONiC has counted nothing meanwhile");
    let more = format!("HINCRBY {OBJECT} {UNICAST} 1000\nHINCRBY {OBJECT} {CHECK_SEQUENCE} 10");
    assert_eq!(between(&more), Ok(Increment { frames: 1_010, corrupted: 10 }));
    let restarted = format!("HSET {OBJECT} {UNICAST} 5 {CHECK_SEQUENCE} 0");
    assert_eq!(between(&restarted), Err(Irregularity::Reset));
    // Errors of another kind began elsewhere, so that their difference to these would be corruption that never was.
    assert_eq!(between(&format!("HDEL {OBJECT} {CHECK_SEQUENCE}")), Err(Irregularity::Reset));
    assert_eq!(between(&format!("HINCRBY {OBJECT} {ERRORS} 3")), Ok(Increment { frames: 3, corrupted: 3 }));
    assert_eq!(between(&format!("HSET {OBJECT} {ERRORS} N/A")), Err(Irregularity::NotCounted));
    assert_eq!(between(&format!("HSET {OBJECT} {ERRORS} 200")), Err(Irregularity::First));
    assert_eq!(between("SELECT 0\nHSET PORT_TABLE:Ethernet0 speed 100000"), Err(Irregularity::SpeedChange));
    let moved = "HSET COUNTERS_PORT_NAME_MAP Ethernet0 oid:0x1000000000003";
    assert_eq!(between(moved), Err(Irregularity::Reset));
}

#[test]
fn a_flap_spoils_the_poll_that_sees_it_and_the_one_that_sees_its_errors() {
    if !is_installed("a_flap_spoils_the_poll_that_sees_it_and_the_one_that_sees_its_errors") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    let mut source = source(&server);
    let mut difference = Difference::default();
    let mut now = SECOND;
    let mut step = |commands: &str| {
        send(&server, commands);
        now += SECOND;
        difference.handle_reading(now, poll(&mut source)["Ethernet0"])
    };
    assert_eq!(step(""), Err(Irregularity::First));
    assert_eq!(step("SELECT 0\nHINCRBY PORT_TABLE:Ethernet0 flap_count 2"), Err(Irregularity::Flap));
    assert_eq!(step(&format!("SELECT 2\nHINCRBY {OBJECT} {CHECK_SEQUENCE} 50")), Err(Irregularity::Flap));
    let later = format!("SELECT 2\nHINCRBY {OBJECT} {CHECK_SEQUENCE} 1");
    assert_eq!(step(&later), Ok(Increment { frames: 1, corrupted: 1 }));
}

#[test]
fn ports_are_chosen_by_name_and_a_database_without_any_is_an_error_with_a_hint() {
    if !is_installed("ports_are_chosen_by_name_and_a_database_without_any_is_an_error_with_a_hint") {
        return;
    }
    let server = Server::start(&[]);
    let refusal = |patterns: &[&str]| {
        let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let settings = SonicSettings { patterns, ..settings(&server.url()) };
        let error = SonicSource::new(&settings).expect("usable").poll().expect_err("refused");
        format!("{error}; {}", error.hint.clone().expect("a hint"))
    };
    assert!(refusal(&[]).contains("no port has counters; check that this is the Redis of a SONiC switch"));
    send(&server, COUNTERS);
    let some = SonicSettings {
        patterns: vec!["Ethernet1?".to_owned(), "Ethernet4".to_owned()],
        ..settings(&server.url())
    };
    let names: Vec<String> = poll(&mut SonicSource::new(&some).expect("usable")).into_keys().collect();
    assert_eq!(names, ["Ethernet12", "Ethernet16", "Ethernet4"]);
    assert!(refusal(&["eth*"]).contains("none of 10 ports is selected"));
    assert!(refusal(&["Ethernet2?"]).contains("none of 3 ports has usable counters"));
    send(&server, "SELECT 2\nDEL COUNTERS_PORT_NAME_MAP\nSET COUNTERS_PORT_NAME_MAP text");
    assert!(refusal(&[]).contains("WRONGTYPE"));
    send(&server, "ACL SETUSER default -hscan");
    assert!(refusal(&[]).contains("grant the user"));
}

#[test]
fn a_server_that_dies_is_an_error_with_a_hint_until_it_is_back() {
    if !is_installed("a_server_that_dies_is_an_error_with_a_hint_until_it_is_back") {
        return;
    }
    let mut server = Server::start(&[]);
    send(&server, COUNTERS);
    let mut source = source(&server);
    let before = poll(&mut source);
    server.kill();
    for _ in 0..2 {
        let error = source.poll().expect_err("it is dead");
        assert!(error.to_string().contains(&server.port.to_string()), "{error}");
        assert!(
            error.hint.as_ref().is_some_and(|hint| hint.contains("check that it is running there")),
            "{error}"
        );
    }
    server.restart();
    assert!(source.poll().is_err(), "it has nothing yet");
    send(&server, COUNTERS);
    assert_eq!(poll(&mut source).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

#[test]
fn ten_thousand_ports_are_read_in_a_poll() {
    if !is_installed("ten_thousand_ports_are_read_in_a_poll") {
        return;
    }
    for ports in [1_000_u64, 10_000] {
        let server = Server::start(&[]);
        let mut commands = String::from("SELECT 2\n");
        for port in 0..ports {
            commands += &format!("HSET COUNTERS_PORT_NAME_MAP Ethernet{port} oid:0x{port:x}\n");
            commands += &format!("HSET COUNTERS:oid:0x{port:x} {UNICAST} {port} {ERRORS} 0");
            let codewords = (0..16).map(|k| format!(" SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S{k} {port}"));
            // Of the 70 and more counters that SONiC keeps, most are of no use here.
            let others = (0..50).map(|k| format!(" SAI_PORT_STAT_ETHER_OTHER_{k} 123456"));
            commands += &codewords.chain(others).collect::<String>();
            commands.push('\n');
        }
        commands += "SELECT 0\n";
        (0..ports).for_each(|port| commands += &format!("HSET PORT_TABLE:Ethernet{port} speed 100000\n"));
        send(&server, &commands);
        let mut source = source(&server);
        for poll in 1..=3 {
            let begun = Instant::now();
            let readings = source.poll().expect("it answers");
            println!("poll {poll} of {ports} ports: {:?}", begun.elapsed());
            assert_eq!(readings.len() as u64, ports);
            let right = |(name, reading): &(String, Reading)| {
                reading.fec.and_then(|fec| fec.codewords).is_some()
                    && *name == format!("Ethernet{}", reading.good_frames)
            };
            assert!(readings.iter().all(right));
            assert!(begun.elapsed() < 30 * SECOND);
        }
    }
}
