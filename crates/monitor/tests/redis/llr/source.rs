//! Counters of LLR as evidence.

use super::{OBJECT, TABLES};
use crate::server::{Server, is_installed};
use crate::sonic::{poll, send, source};
use linkmend_monitor::agent::{Action, Agent, Policy};
use linkmend_monitor::counters::RetryReading;
use linkmend_monitor::detection::{Settings, State};
use linkmend_monitor::exchange::Request;
use linkmend_monitor::source::{SonicSource, Source};
use linkmend_monitor::{Cabling, PortName};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOLD_DOWN: u32 = 20;
const UNICAST: &str = "SAI_PORT_STAT_IF_IN_UCAST_PKTS";
const ERRORS: &str = "SAI_PORT_STAT_IF_IN_ERRORS";
const BAD: &str = "SAI_PORT_STAT_LLR_RX_BAD";
const NACKS: &str = "SAI_PORT_STAT_LLR_TX_NACK_CTL_OS";
const REPLAYS: &str = "SAI_PORT_STAT_LLR_RX_REPLAY";
/// As `llrmgrd` writes it when a port has LLR.
const ON: &str = "SELECT 0\nHSET LLR_PORT_TABLE:Ethernet0 llr_mode static llr_local enabled llr_remote enabled llr_profile llr_400000_40m_profile";

#[test]
fn a_port_has_the_counters_of_llr_that_its_switch_has() {
    if !is_installed("a_port_has_the_counters_of_llr_that_its_switch_has") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let mut source = source(&server);
    let mut retry = |commands: &str| {
        send(&server, commands);
        let readings = poll(&mut source);
        [readings["Ethernet0"].retry, readings["Ethernet8"].retry]
    };
    let counted = RetryReading { bad_frames: Some(2), nacks: Some(3), replays: Some(3) };
    assert_eq!(retry(""), [Some(counted), None]);
    assert_eq!(retry(ON), [Some(counted), None]);
    // Nobody brings them up to date.
    let off = "SELECT 4\nHSET FLEX_COUNTER_TABLE|LLR FLEX_COUNTER_STATUS disable";
    assert_eq!(retry(off), [Some(RetryReading::default()), None]);
    let none = format!(
        "SELECT 4\nHSET FLEX_COUNTER_TABLE|LLR FLEX_COUNTER_STATUS enable\nSELECT 2\nHDEL {OBJECT} {BAD} {NACKS} {REPLAYS}"
    );
    assert_eq!(retry(&none), [Some(RetryReading::default()), None]);
    assert_eq!(retry("SELECT 0\nDEL LLR_PORT_TABLE:Ethernet0"), [None, None]);
    assert_eq!(retry("SELECT 6\nHSET SWITCH_CAPABILITY|switch LLR_CAPABLE false"), [None, None]);
}

#[test]
fn a_user_who_must_not_see_llr_reads_the_ports_without_it() {
    if !is_installed("a_user_who_must_not_see_llr_reads_the_ports_without_it") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    send(&server, ON);
    send(&server, "ACL SETUSER reader on >word ~COUNTERS* ~PORT_TABLE:* +@read +select");
    let url = server.url().replace("redis://", "redis://reader:word@");
    let mut source = SonicSource::new(&crate::sonic::settings(&url)).expect("usable");
    let readings = source.poll().expect("ports");
    assert_eq!(readings.len(), 2);
}

/// The agent of a switch whose port Ethernet0 receives what spine1 sends, and a clock that is not the machine's.
struct Switch<'a> {
    server: &'a Server,
    source: SonicSource,
    agent: Agent,
    now: Duration,
}

impl Switch<'_> {
    fn new(server: &Server) -> Switch<'_> {
        send(server, TABLES);
        let name = |agent: &str| PortName::new(agent, "Ethernet0").expect("a name");
        let cabling = Cabling::new([[name("leaf1"), name("spine1")]]).expect("a cable");
        let detection = Settings { hold_down: SECOND * HOLD_DOWN, ..Settings::default() };
        let mut agent = Agent::new("leaf1", Policy { detection, ..Policy::default() }, cabling);
        agent.handle_synchronised(Duration::ZERO);
        Switch { server, source: source(server), agent, now: SECOND }
    }

    /// Seconds pass, in each of which `more` is counted besides frames that arrive intact.
    fn pass(&mut self, seconds: u32, more: &str) -> State {
        for _ in 0..seconds {
            let good = format!("SELECT 2\nHINCRBY {OBJECT} {UNICAST} 1000000\n{more}");
            send(self.server, &good);
            self.now += SECOND;
            self.agent.handle_readings(self.now, self.source.poll().expect("it answers"));
        }
        let status = self.agent.status(self.now);
        let port = status.ports.iter().find(|port| port.port.port() == "Ethernet0").expect("watched");
        port.state.expect("watched")
    }

    fn asked(&mut self) -> Vec<Request> {
        let actions = std::iter::from_fn(|| self.agent.poll_action());
        let asked = actions.filter_map(|action| match action {
            Action::Request { request, .. } if request.generation > 0 => Some(request),
            _ => None,
        });
        asked.collect()
    }

    /// It corrupts a frame in a thousand, is protected, and from then on no frame has an error.
    fn becomes_protected(&mut self) {
        self.pass(3, "");
        let errors = format!("HINCRBY {OBJECT} {ERRORS} 1000");
        assert_eq!(self.pass(5, &errors), State::Corrupting);
        assert!(self.asked().iter().any(|request| request.protection.is_some()));
        send(self.server, ON);
    }
}

#[test]
fn protection_is_not_withdrawn_because_llr_hides_what_it_repairs() {
    if !is_installed("protection_is_not_withdrawn_because_llr_hides_what_it_repairs") {
        return;
    }
    for still in [
        format!("HINCRBY {OBJECT} {BAD} 1000"),
        format!("HINCRBY {OBJECT} {NACKS} 900"),
        format!("HINCRBY {OBJECT} {BAD} 1000\nHINCRBY {OBJECT} {NACKS} 900\nHINCRBY {OBJECT} {REPLAYS} 900"),
    ] {
        let server = Server::start(&[]);
        let mut switch = Switch::new(&server);
        switch.becomes_protected();
        assert_eq!(switch.pass(5 * HOLD_DOWN, &still), State::Corrupting, "{still}");
        let asked = switch.asked();
        assert!(asked.iter().all(|request| request.protection.is_some()), "{still}: {asked:?}");
        // When LLR has nothing to repair any more, protection ends as it always does.
        assert_eq!(switch.pass(2 * HOLD_DOWN, ""), State::Healthy, "{still}");
        assert!(switch.asked().last().is_some_and(|request| request.protection.is_none()));
    }
}

#[test]
fn replays_alone_keep_protection_whatever_they_count() {
    if !is_installed("replays_alone_keep_protection_whatever_they_count") {
        return;
    }
    // A switch that counts replays, and one that counts the frames in them.
    for count in [1, 37] {
        let server = Server::start(&[]);
        let mut switch = Switch::new(&server);
        send(&server, &format!("SELECT 2\nHDEL {OBJECT} {BAD} {NACKS}"));
        switch.becomes_protected();
        let replays = format!("HINCRBY {OBJECT} {REPLAYS} {count}");
        assert_eq!(switch.pass(5 * HOLD_DOWN, &replays), State::Corrupting);
        assert!(switch.asked().iter().all(|request| request.protection.is_some()));
    }
}

#[test]
fn a_port_whose_llr_counts_nothing_keeps_its_protection_until_its_frames_count_again() {
    if !is_installed("a_port_whose_llr_counts_nothing_keeps_its_protection_until_its_frames_count_again") {
        return;
    }
    let server = Server::start(&[]);
    let mut switch = Switch::new(&server);
    send(&server, "SELECT 4\nHSET FLEX_COUNTER_TABLE|LLR FLEX_COUNTER_STATUS disable");
    switch.becomes_protected();
    assert_eq!(switch.pass(5 * HOLD_DOWN, ""), State::Corrupting);
    assert_eq!(switch.asked(), []);
    let port = switch.agent.status(switch.now).ports.remove(0);
    assert!(port.irregularity.is_some_and(|why| why.contains("LLR sends its corrupted frames again")));
    // Without LLR, its counters say again what it does.
    send(&server, "SELECT 0\nDEL LLR_PORT_TABLE:Ethernet0");
    assert_eq!(switch.pass(HOLD_DOWN / 2, ""), State::Corrupting, "the hold-down begins here");
    assert_eq!(switch.pass(HOLD_DOWN, ""), State::Healthy);
}
