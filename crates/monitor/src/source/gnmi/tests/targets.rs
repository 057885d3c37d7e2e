//! What becomes of messages, in virtual time.

use super::super::message::{Notification, Value};
use super::super::subscription::Group;
use super::super::target::Target;
use super::{counters, numbers, path, update};
use crate::counters::{Difference, FecCode, FecReading, Increment, Irregularity, Reading};
use crate::source::complaints::Complaints;
use std::collections::BTreeMap;
use std::time::Duration;

/// In 2026, in nanoseconds.
const THEN: i64 = 1_796_000_000_000_000_000;
const SECOND: i64 = 1_000_000_000;
/// Longer than a sample needs to be complete.
const LATER: Duration = Duration::from_millis(300);

struct World {
    target: Target,
    now: Duration,
    /// What was said, in the order in which it was.
    said: Vec<String>,
}

impl World {
    fn with(patterns: &[&str], name: &str) -> World {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let mut target = Target::new("leaf1:9339", &patterns, name);
        target.handle_connected();
        World { target, now: Duration::from_secs(100), said: Vec::new() }
    }

    fn new() -> World {
        World::with(&[], "")
    }

    fn hear(&mut self, group: Group, notification: &Notification) {
        self.target.handle_notification(self.now, group, notification);
    }

    fn state(&mut self, port: &str, leaf: &str, value: &str) {
        let update = update(&format!("interfaces/interface[{port}]/{leaf}"), Value::Text(value.to_owned()));
        let group = match leaf {
            "state/oper-status" => Group::Status,
            "state/type" | "state/transceiver" => Group::Interfaces,
            _ => Group::Ethernet,
        };
        self.hear(group, &Notification { timestamp: THEN, update: vec![update], ..Notification::default() });
    }

    fn delete(&mut self, at: &str) {
        let delete = vec![path(at)];
        self.hear(Group::Counters, &Notification { timestamp: THEN, delete, ..Notification::default() });
    }

    /// The readings a little later.
    fn poll(&mut self) -> BTreeMap<String, Reading> {
        self.now += LATER;
        let mut complaints = Complaints::default();
        let readings = self.target.poll(self.now, &mut complaints);
        self.said.extend(complaints.take());
        readings.map(|readings| readings.into_iter().collect()).unwrap_or_default()
    }

    fn has_said(&self, part: &str) -> bool {
        self.said.iter().any(|said| said.contains(part))
    }
}

#[test]
fn a_reading_has_what_the_device_counts() {
    let mut world = World::new();
    world.hear(Group::Counters, &counters(THEN, "Ethernet1", 1_000, 7));
    let ethernet = [
        ("in-crc-errors", 5),
        ("in-jabber-frames", 1),
        ("in-oversize-frames", 3),
        ("fec-uncorrectable-blocks", 2),
    ];
    world.hear(
        Group::Ethernet,
        &numbers(THEN, "interfaces/interface[Ethernet1]/ethernet/state/counters", &ethernet),
    );
    world.state("Ethernet1", "state/oper-status", "UP");
    world.state("Ethernet1", "ethernet/state/port-speed", "openconfig-if-ethernet:SPEED_400GB");
    world.state("Ethernet1", "ethernet/state/fec-mode", "FEC_RS544_2X_INTERLEAVE");
    let reading = world.poll()["Ethernet1"];
    assert_eq!(
        (reading.good_frames, reading.corrupted_frames, reading.not_corrupted),
        (1_000, Some(7), None)
    );
    assert_eq!(
        (reading.up, reading.speed, reading.code),
        (Some(true), Some(400_000_000_000), Some(FecCode::Rs544))
    );
    let fec = FecReading { uncorrectable_codewords: Some(2), ..FecReading::default() };
    assert_eq!(reading.fec, Some(fec));
    assert_eq!(world.said, Vec::<String>::new());
}

/// `in-pkts` has bad frames among them (openconfig-interfaces), and `in-errors` those of a wrong length.
#[test]
fn a_device_that_counts_less_is_read_as_well() {
    let mut world = World::new();
    let all = [("in-pkts", 1_000), ("in-errors", 10)];
    world.hear(Group::Counters, &numbers(THEN, "interfaces/interface[a]/state/counters", &all));
    world.hear(
        Group::Ethernet,
        &numbers(THEN, "interfaces/interface[a]/ethernet/state/counters", &[("in-oversize-frames", 4)]),
    );
    world.hear(Group::Counters, &numbers(THEN, "interfaces/interface[b]/state/counters", &all[..1]));
    world.hear(Group::Counters, &numbers(THEN, "interfaces/interface[c]/state/counters", &all[1..]));
    let readings = world.poll();
    let a = readings["a"];
    assert_eq!((a.good_frames, a.corrupted_frames, a.not_corrupted), (990, Some(10), Some(4)));
    assert_eq!((readings["b"].good_frames, readings["b"].corrupted_frames), (1_000, None));
    assert_eq!(readings.len(), 2);
    assert!(world.has_said("b: has no in-fcs-errors, in-crc-errors or in-errors"), "{:?}", world.said);
    assert!(world.has_said("c: has neither in-pkts"), "{:?}", world.said);
}

#[test]
fn json_says_the_same_as_scalars() {
    let json = br#"{"openconfig-interfaces:interface": [{"name": "Ethernet1", "state": {"oper-status": "UP",
        "counters": {"in-unicast-pkts": "1000", "in-multicast-pkts": "0", "in-broadcast-pkts": "0", "in-fcs-errors": "7"}}}]}"#;
    let mut world = World::new();
    let update = vec![update("openconfig-interfaces:interfaces", Value::JsonIetf(json.to_vec()))];
    for group in [Group::Counters, Group::Status] {
        let update = update.clone();
        world.hear(group, &Notification { timestamp: THEN, update, ..Notification::default() });
    }
    let by_json = world.poll()["Ethernet1"];
    let mut world = World::new();
    world.hear(Group::Counters, &counters(THEN, "Ethernet1", 1_000, 7));
    world.state("Ethernet1", "state/oper-status", "UP");
    assert_eq!(by_json, world.poll()["Ethernet1"]);
}

#[test]
fn a_sample_in_several_messages_is_read_at_once() {
    let mut world = World::new();
    world.hear(Group::Counters, &counters(THEN, "a", 1_000, 0));
    let first = world.poll()["a"];
    world.hear(
        Group::Counters,
        &numbers(THEN + SECOND, "interfaces/interface[a]/state/counters", &[("in-fcs-errors", 9)]),
    );
    world.now += Duration::from_millis(100);
    let mut complaints = Complaints::default();
    let meanwhile = world.target.poll(world.now, &mut complaints).expect("readings");
    assert_eq!(meanwhile[0].1, first);
    world.hear(
        Group::Counters,
        &numbers(THEN + SECOND, "interfaces/interface[a]/state/counters", &[("in-unicast-pkts", 2_000)]),
    );
    let second = world.poll()["a"];
    assert_eq!((second.good_frames, second.corrupted_frames), (2_000, Some(9)));
    // A port of which something comes all the time is read as well.
    for step in 2..40 {
        world.hear(Group::Counters, &counters(THEN + step * SECOND / 10, "a", 2_000 + step as u64, 9));
        world.now += Duration::from_millis(100);
    }
    let read = world.target.poll(world.now, &mut complaints).expect("readings");
    assert!(read[0].1.good_frames > 2_000);
}

#[test]
fn a_clock_that_was_set_makes_no_rate() {
    let mut world = World::new();
    let mut difference = Difference::default();
    let mut taken = Vec::new();
    // A million frames in each sample of ten seconds, on 1 Gbit/s, where 14.9 million fit.
    for (sample, stamp) in [0, 10, 20, -3_600, -3_590, 90_000, 90_010].into_iter().enumerate() {
        world.now = Duration::from_secs(100 + 10 * sample as u64);
        world.state("a", "ethernet/state/port-speed", "SPEED_1GB");
        world.hear(Group::Counters, &counters(THEN + stamp * SECOND, "a", 1_000_000 * sample as u64, 0));
        let reading = world.poll()["a"];
        taken.push(reading.taken_ns.map(|ns| ns / 1_000_000_000));
        let increment = difference.handle_reading(world.now, reading);
        let expected = if sample == 0 {
            Err(Irregularity::First)
        } else {
            Ok(Increment { frames: 1_000_000, corrupted: 0 })
        };
        assert_eq!(increment, expected, "sample {sample}");
    }
    assert_eq!(taken, [0, 10, 20, 30, 40, 50, 60].map(Some));
    assert!(
        world.has_said("clock was set back") && world.has_said("clock was set forward"),
        "{:?}",
        world.said
    );
}

#[test]
fn counters_that_began_again_are_not_subtracted() {
    let mut world = World::new();
    let mut epoch = |change: &dyn Fn(&mut World)| {
        change(&mut world);
        world.now += Duration::from_secs(10);
        let stamp = THEN + i64::try_from(world.now.as_nanos()).unwrap();
        world.hear(Group::Counters, &counters(stamp, "a", 1_000, 0));
        world.poll()["a"].epoch
    };
    let boot = |at: u64| numbers(THEN, "system/state", &[("boot-time", at)]);
    let first = epoch(&|_| {});
    assert_eq!(epoch(&|_| {}), first);
    let clear = |at| numbers(THEN, "interfaces/interface[a]/state/counters", &[("last-clear", at)]);
    let cleared = epoch(&|world| world.hear(Group::Counters, &clear(5)));
    let booted = epoch(&|world| world.hear(Group::Boot, &boot(7)));
    let again = epoch(&|world| world.hear(Group::Boot, &boot(8)));
    assert!(
        first < cleared && cleared < booted && booted < again,
        "{first:?} {cleared:?} {booted:?} {again:?}"
    );
    // Other counters than before.
    let crc = numbers(THEN, "interfaces/interface[a]/ethernet/state/counters", &[("in-crc-errors", 0)]);
    assert!(again < epoch(&|world| world.hear(Group::Ethernet, &crc)));
}

#[test]
fn a_flap_between_two_samples_shows_in_the_next() {
    let mut world = World::new();
    let sample = |world: &mut World, frames| {
        let stamp = THEN + frames as i64 * SECOND;
        world.hear(Group::Counters, &counters(stamp, "a", frames, 0));
        world.poll()["a"]
    };
    world.state("a", "state/oper-status", "UP");
    let changes = |reading: Reading| reading.carrier_changes;
    let before = sample(&mut world, 1);
    world.state("a", "state/oper-status", "DOWN");
    let down = world.poll()["a"];
    assert_eq!((down.up, down.good_frames), (Some(false), before.good_frames));
    world.state("a", "state/oper-status", "UP");
    let up = world.poll()["a"];
    let next = sample(&mut world, 2);
    let all = [changes(before), changes(down), changes(up), changes(next)];
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    assert_eq!(changes(sample(&mut world, 3)), Some(4));
    assert_eq!(changes(sample(&mut world, 4)), Some(4));
}

/// As a device may that sends more than it was asked for.
#[test]
fn a_subscription_brings_only_what_it_asked_for() {
    let mut world = World::new();
    world.hear(Group::Counters, &counters(THEN, "a", 1_000, 0));
    world.hear(Group::Status, &counters(THEN - SECOND, "a", 7, 7));
    let reading = world.poll()["a"];
    assert_eq!((reading.good_frames, reading.corrupted_frames), (1_000, Some(0)));
}

#[test]
fn what_is_deleted_is_gone() {
    let both = || {
        let mut world = World::new();
        world.hear(Group::Counters, &counters(THEN, "a", 1, 0));
        world.hear(Group::Counters, &counters(THEN, "b", 1, 0));
        assert_eq!(world.poll().len(), 2);
        world
    };
    for (at, left) in [
        ("interfaces/interface[a]", vec!["b"]),
        ("interfaces/interface[*]/state/counters", vec![]),
        ("", vec![]),
        ("interfaces/interface[a]/subinterfaces", vec!["a", "b"]),
    ] {
        let mut world = both();
        world.delete(at);
        assert_eq!(world.poll().into_keys().collect::<Vec<_>>(), left, "{at}");
    }
    // One leaf of it.
    let mut world = both();
    world.delete("interfaces/interface[a]/state/counters/in-fcs-errors");
    assert_eq!(world.poll()["a"].corrupted_frames, None);
    // All of a prefix is renewed at once.
    let mut world = both();
    let renewed = numbers(THEN, "interfaces/interface[a]/state/counters", &[("in-pkts", 5)]);
    world.hear(Group::Counters, &Notification { atomic: true, ..renewed });
    let reading = world.poll()["a"];
    assert_eq!((reading.good_frames, reading.corrupted_frames), (5, None));
}

#[test]
fn what_a_new_session_does_not_send_is_gone() {
    let mut world = World::new();
    world.hear(Group::Counters, &counters(THEN, "a", 1, 0));
    world.hear(Group::Counters, &counters(THEN, "b", 1, 0));
    world.state("a", "state/oper-status", "UP");
    world.target.handle_sync(world.now, Group::Counters);
    world.target.handle_failure(crate::source::SourceError { what: "cut".to_owned(), hint: None });
    assert!(world.poll().is_empty());
    world.target.handle_connected();
    world.hear(Group::Counters, &counters(THEN + SECOND, "a", 2, 0));
    world.target.handle_sync(world.now, Group::Counters);
    let readings = world.poll();
    assert_eq!(readings.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(readings["a"].up, Some(true), "another subscription has that");
    world.target.handle_sync(world.now, Group::Status);
    assert_eq!(world.poll()["a"].up, None);
    assert!(
        world.has_said("leaf1:9339: sends nothing for /interfaces/interface/state/oper-status"),
        "{:?}",
        world.said
    );
}

#[test]
fn codewords_of_a_transceiver_belong_to_its_only_port() {
    let mut world = World::new();
    for port in ["a", "b", "c"] {
        world.hear(Group::Counters, &counters(THEN, port, 1, 0));
        world.state(port, "state/transceiver", if port == "a" { "Optic1" } else { "Optic2" });
    }
    for module in ["Optic1", "Optic2"] {
        let at = format!("components/component[{module}]/transceiver/state");
        world.hear(
            Group::Transceivers,
            &numbers(THEN, &at, &[("fec-uncorrectable-words", 3), ("fec-corrected-bits", 9)]),
        );
    }
    let readings = world.poll();
    let fec =
        FecReading { uncorrectable_codewords: Some(3), corrected_bits: Some(9), ..FecReading::default() };
    assert_eq!(readings["a"].fec, Some(fec));
    assert_eq!((readings["b"].fec, readings["c"].fec), (None, None), "they share one");
}

#[test]
fn lanes_are_counted_apart() {
    let mut world = World::new();
    world.hear(Group::Counters, &counters(THEN, "a", 1, 0));
    let phy = [
        ("fec/state/corrected-bits", 12),
        ("channels/channel[1]/state/raw-errors", 5),
        ("channels/channel[2]/state/raw-errors", 7),
    ];
    world.hear(Group::Phy, &numbers(THEN, "interfaces/interface[a]/phy", &phy));
    let fec = world.poll()["a"].fec.expect("it counts");
    assert_eq!(fec.corrected_bits, Some(12));
    assert_eq!(fec.lane_corrected_bits.map(Vec::from), Some(vec![5, 7]));
}

#[test]
fn only_ends_of_cables_are_watched_unless_others_are_named() {
    let read = |patterns: &[&str]| {
        let mut world = World::with(patterns, "");
        for (port, kind) in [("Ethernet1", "iana-if-type:ethernetCsmacd"), ("Port-Channel1", "ieee8023adLag")]
        {
            world.hear(Group::Counters, &counters(THEN, port, 1, 0));
            world.state(port, "state/type", kind);
        }
        world.poll().into_keys().collect::<Vec<_>>()
    };
    assert_eq!(read(&[]), ["Ethernet1"]);
    assert_eq!(read(&["Port-*"]), ["Port-Channel1"]);
    assert_eq!(read(&["*"]).len(), 2);
}

#[test]
fn nonsense_is_said_and_not_used() {
    let mut world = World::with(&[], "leaf1");
    world.hear(Group::Counters, &counters(THEN, "a", 1, 0));
    world.hear(Group::Counters, &counters(THEN, "b c", 1, 0));
    let mut others = counters(THEN, "d", 1, 0);
    others.prefix.as_mut().expect("a prefix").target = "leaf2".to_owned();
    world.hear(Group::Counters, &others);
    let unnamed = numbers(THEN, "interfaces/interface/state/counters", &[("in-pkts", 7)]);
    world.hear(Group::Counters, &unnamed);
    world.state("a", "state/oper-status", "SIDEWAYS");
    world.state("a", "ethernet/state/port-speed", "SPEED_7");
    let text = update("interfaces/interface[a]/state/counters/in-errors", Value::Text("many".to_owned()));
    let json = update("interfaces", Value::JsonIetf(b"{".to_vec()));
    world.hear(
        Group::Counters,
        &Notification { timestamp: THEN, update: vec![text, json], ..Notification::default() },
    );
    assert_eq!(world.poll().into_keys().collect::<Vec<_>>(), ["a"]);
    for part in [
        "b c: cannot be the name of a port",
        "leaf1:9339 (`leaf2`): sends what belongs to another target than leaf1",
        "leaf1:9339: sends counters without the names of their ports",
        "a (`SIDEWAYS`): its oper-status is none",
        "a (`SPEED_7`): its port-speed is none",
        "a (`many`): its state/counters/in-errors is not a whole number",
        "sends JSON that cannot be read",
    ] {
        assert!(world.has_said(part), "{part}: {:#?}", world.said);
    }
}

/// A device with more ports than anyone has.
#[test]
fn ports_are_bounded() {
    let mut world = World::new();
    let most = crate::agent::PORTS_MOST;
    for port in 0..most + 10 {
        let at = format!("interfaces/interface[{port}]/state/counters");
        world.hear(Group::Counters, &numbers(THEN, &at, &[("in-pkts", 1)]));
        let at = format!("components/component[{port}]/transceiver/state");
        world.hear(Group::Transceivers, &numbers(THEN, &at, &[("fec-corrected-bits", 1)]));
    }
    assert_eq!(world.poll().len(), most);
    assert!(world.has_said("and 9 more: is left out"), "{:?}", world.said.last());
}
