//! What transceivers measure, out of a Redis that has it as SONiC's transceiver daemon writes it.

use super::server::{Server, is_installed};
use super::sonic::{poll, send, source};
use linkmend_monitor::optics::{Lane, Limits, Module, OpticsReading};
use linkmend_monitor::server::ServerUrl;
use linkmend_monitor::source::{SonicSettings, SonicSource, Source};
use std::collections::BTreeMap;

const COUNTERS: &str = include_str!("../data/sonic-counters.redis");
const OPTICS: &str = include_str!("../data/sonic-optics.redis");

fn optics(source: &mut SonicSource) -> BTreeMap<String, Option<OpticsReading>> {
    poll(source);
    source.take_optics().into_iter().collect()
}

fn lane(received: f32, sent: f32, bias: f32) -> Lane {
    Lane { received_dbm: Some(received), sent_dbm: Some(sent), bias_ma: Some(bias) }
}

#[test]
fn transceivers_are_read_lane_by_lane_with_their_thresholds() {
    if !is_installed("transceivers_are_read_lane_by_lane_with_their_thresholds") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    send(&server, OPTICS);
    let mut source = source(&server);
    let read = optics(&mut source);
    let optical = read["Ethernet0"].as_ref().expect("a module");
    assert_eq!(optical.module, Module::new("ACME", "DR4", "X1"));
    assert_eq!((optical.temperature_c, optical.voltage_v), (Some(43.6), Some(3.28)));
    let lanes = [lane(-1.2, 0.9, 60.1), lane(-1.4, 0.8, 60.2), lane(-40.0, 0.7, 60.3), lane(-1.1, 0.6, 60.4)];
    assert_eq!(optical.lanes, lanes);
    let received = Limits {
        low_alarm: Some(-9.9),
        low_warning: Some(-5.9),
        high_warning: Some(4.0),
        high_alarm: Some(5.0),
    };
    assert_eq!(optical.thresholds.received, received);
    assert_eq!(optical.thresholds.bias, Limits::default(), "zeros are none");
    // An older daemon writes units; a copper cable measures nothing; a port of a breakout has lanes of others, too.
    let old = read["Ethernet4"].as_ref().expect("a module");
    assert_eq!((old.temperature_c, &old.lanes[..]), (Some(30.5), &[lane(-2.5, -1.5, 6.75)][..]));
    let copper = read["Ethernet8"].as_ref().expect("a module");
    assert_eq!((copper.module.part.as_str(), copper.lanes.len(), copper.temperature_c), ("CR", 0, None));
    let shared = read["Ethernet12"].as_ref().expect("a module");
    assert_eq!((shared.module.serial.as_str(), shared.lanes.len()), ("X4", 0));
    assert_eq!(read["Ethernet16"], None, "no module");
    // Modules are read once a minute.
    assert!(optics(&mut source).is_empty());
}

#[test]
fn without_the_right_to_read_transceivers_counters_are_read_as_before() {
    if !is_installed("without_the_right_to_read_transceivers_counters_are_read_as_before") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, COUNTERS);
    send(&server, OPTICS);
    let keys = "~COUNTERS* ~PORT_TABLE:* ~SWITCH_CAPABILITY* ~FLEX_COUNTER_TABLE*";
    send(&server, &format!("ACL SETUSER me on >secret {keys} +@read +select"));
    let url = server.url().replace("redis://", "redis://me:secret@");
    let settings = SonicSettings { url: ServerUrl::from(url.as_str()), ..SonicSettings::default() };
    let mut source = SonicSource::new(&settings).expect("usable");
    assert_eq!(poll(&mut source).len(), 5);
    assert!(source.take_optics().is_empty());
    send(&server, "ACL SETUSER me ~TRANSCEIVER_*");
    let mut source = SonicSource::new(&settings).expect("usable");
    assert!(optics(&mut source)["Ethernet0"].is_some());
}
