//! Ten ports of a SONiC switch in the forms of public reports, and what an agent says of each. Values are invented.

use super::server::{Server, is_installed};
use linkmend_monitor::Cabling;
use linkmend_monitor::agent::{Agent, AgentStatus, Policy, PortStatus};
use linkmend_monitor::detection::State;
use linkmend_monitor::server::ServerUrl;
use linkmend_monitor::source::{SonicSettings, SonicSource, Source};
use std::collections::BTreeMap;
use std::time::Duration;

const UNICAST: &str = "SAI_PORT_STAT_IF_IN_UCAST_PKTS";
const NOT_UNICAST: &str = "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS";
const BROADCAST: &str = "SAI_PORT_STAT_IF_IN_BROADCAST_PKTS";
const ERRORS: &str = "SAI_PORT_STAT_IF_IN_ERRORS";
const OVERSIZE: &str = "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS";
const CORRECTED: &str = "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES";
const UNCORRECTABLE: &str = "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES";
const SYMBOL_ERRORS: &str = "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS";
/// What every port had counted when it was polled first.
const BEGINNING: [(&str, u64); 8] = [
    (UNICAST, 1_000_000_000),
    (NOT_UNICAST, 0),
    (BROADCAST, 0),
    (ERRORS, 100),
    (OVERSIZE, 0),
    (CORRECTED, 1_000),
    (UNCORRECTABLE, 3),
    (SYMBOL_ERRORS, 1_100),
];
const STORIES: [&str; 10] = [
    "uncorrectable codewords and no errors beside them",
    "errors of a port that is down",
    "a flap that is not counted",
    "frames that are longer than the MTU",
    "a flap that is counted, and errors after it",
    "a breakout that replaces the port",
    "N/A instead of a count",
    "frames with errors",
    "a storm of broadcasts",
    "codewords that are all corrected",
];

/// A port of 100 Gbit/s with four lanes.
struct Port {
    story: &'static str,
    object: String,
    is_there: bool,
    is_up: bool,
    flaps: Option<u64>,
    counts: BTreeMap<&'static str, u64>,
    has_errors: bool,
}

impl Port {
    fn new(number: usize, story: &'static str) -> Port {
        Port {
            story,
            object: format!("oid:0x10000000000{number:02x}"),
            is_there: true,
            is_up: true,
            flaps: (story != "a flap that is not counted").then_some(3),
            counts: BEGINNING.into(),
            has_errors: true,
        }
    }

    fn count(&mut self, counts: &[(&'static str, u64)]) {
        for &(name, count) in counts {
            *self.counts.entry(name).or_default() += count;
        }
    }

    /// What happens in this second. Frames come unless the port is down.
    fn pass(&mut self, second: u64) {
        match self.story {
            "uncorrectable codewords and no errors beside them" => {
                self.count(&[(UNCORRECTABLE, 1_000), (CORRECTED, 5_000_000), (SYMBOL_ERRORS, 6_000_000)]);
            }
            "errors of a port that is down" => {
                self.is_up = false;
                self.count(&[(ERRORS, 50)]);
            }
            "a flap that is not counted" => {
                self.is_up = !(10..14).contains(&second);
                let errors = [200, 0, 300, 300, 400].get((second as usize).wrapping_sub(10));
                self.count(&[(ERRORS, errors.copied().unwrap_or_default())]);
            }
            "frames that are longer than the MTU" => self.count(&[(ERRORS, 1_000), (OVERSIZE, 1_000)]),
            "a flap that is counted, and errors after it" => {
                self.is_up = !(10..14).contains(&second);
                self.flaps = Some(if second < 10 {
                    3
                } else if second < 14 {
                    4
                } else {
                    5
                });
                let errors = if (10..14).contains(&second) { 300 } else { 40 };
                self.count(&[(ERRORS, if (10..18).contains(&second) { errors } else { 0 })]);
            }
            "a breakout that replaces the port" => {
                self.is_there = !(20..25).contains(&second);
                if second == 25 {
                    self.object = "oid:0x1000000000abc".to_owned();
                    self.counts.extend([(UNICAST, 0), (ERRORS, 0)]);
                }
            }
            "N/A instead of a count" => self.has_errors = second <= 5,
            "frames with errors" => self.count(&[(ERRORS, 100)]),
            "a storm of broadcasts" => self.count(&[(NOT_UNICAST, 1_000_000), (BROADCAST, 1_000_000)]),
            "codewords that are all corrected" => {
                self.count(&[(CORRECTED, 8_000_000), (SYMBOL_ERRORS, 10_000_000)]);
            }
            story => unreachable!("{story}"),
        }
        if self.is_up {
            self.count(&[(UNICAST, 1_000_000)]);
        }
    }

    fn write(&self, name: &str, pipe: &mut redis::Pipeline) {
        let (counters, table) = (format!("COUNTERS:{}", self.object), format!("PORT_TABLE:{name}"));
        pipe.cmd("SELECT").arg(2);
        if !self.is_there {
            pipe.del(&counters).hdel("COUNTERS_PORT_NAME_MAP", name).cmd("SELECT").arg(0).del(&table);
            return;
        }
        pipe.hset("COUNTERS_PORT_NAME_MAP", name, &self.object);
        pipe.hset_multiple(&counters, &self.counts.iter().collect::<Vec<_>>());
        if !self.has_errors {
            pipe.hset(&counters, ERRORS, "N/A");
        }
        pipe.cmd("SELECT").arg(0);
        let up = if self.is_up { "up" } else { "down" };
        pipe.hset_multiple(
            &table,
            &[("lanes", "0,1,2,3"), ("speed", "100000"), ("fec", "rs"), ("oper_status", up)],
        );
        if let Some(flaps) = self.flaps {
            pipe.hset(&table, "flap_count", flaps);
        }
    }
}

/// The decisions about a minute of the ten ports, and how they look at its end.
fn minute(server: &Server) -> (Vec<String>, AgentStatus) {
    let settings = SonicSettings { url: ServerUrl::from(server.url().as_str()), ..SonicSettings::default() };
    let mut source = SonicSource::new(&settings).expect("usable");
    let mut agent = Agent::new("leaf1", Policy::default(), Cabling::default());
    agent.handle_synchronised(Duration::ZERO);
    let mut ports: Vec<Port> = (0..).zip(STORIES).map(|(number, story)| Port::new(number, story)).collect();
    let mut connection = server.connect();
    let mut decisions = Vec::new();
    for second in 0..60 {
        let mut pipe = redis::pipe();
        for (number, port) in ports.iter_mut().enumerate() {
            port.pass(second);
            port.write(&format!("Ethernet{}", 4 * number), &mut pipe);
        }
        pipe.exec(&mut connection).expect("it stores them");
        agent.handle_readings(Duration::from_secs(second), source.poll().expect("it answers"));
        while let Some(decision) = agent.poll_decision() {
            decisions.push(decision.to_string());
        }
        while agent.poll_action().is_some() {}
    }
    (decisions, agent.status(Duration::from_secs(59)))
}

#[test]
fn ten_ports_of_public_reports_are_judged_as_people_judge_them() {
    if !is_installed("ten_ports_of_public_reports_are_judged_as_people_judge_them") {
        return;
    }
    let (decisions, status) = minute(&Server::start(&[]));
    let of = |story: &str| -> (&PortStatus, Vec<&String>) {
        let number = STORIES.iter().position(|other| *other == story).expect("a story");
        let name = format!("leaf1/Ethernet{}", 4 * number);
        let port = status.ports.iter().find(|port| port.port.to_string() == name).expect("watched");
        (port, decisions.iter().filter(|decision| decision.starts_with(&format!("{name}:"))).collect())
    };
    for (story, expected, rate) in [
        // Two of 39,000 codewords, in 3.4 of which each frame has a part.
        ("uncorrectable codewords and no errors beside them", State::Corrupting, Some(1.74e-4)),
        ("errors of a port that is down", State::Unknown, None),
        ("a flap that is not counted", State::Healthy, Some(0.0)),
        ("frames that are longer than the MTU", State::Healthy, Some(0.0)),
        ("a flap that is counted, and errors after it", State::Healthy, Some(0.0)),
        ("a breakout that replaces the port", State::Healthy, Some(0.0)),
        ("N/A instead of a count", State::Unknown, None),
        ("frames with errors", State::Corrupting, Some(1e-4)),
        ("a storm of broadcasts", State::Healthy, Some(0.0)),
        ("codewords that are all corrected", State::Healthy, Some(0.0)),
    ] {
        let (port, decided) = of(story);
        assert_eq!(port.state, Some(expected), "{story}: {decided:?}");
        let is_found = decided.iter().any(|decision| decision.contains("-> corrupting"));
        assert_eq!(is_found, expected == State::Corrupting, "{story}: {decided:?}");
        if let Some(rate) = rate {
            let found = port.loss_rate.expect("frames");
            assert!((found - rate).abs() <= 0.02 * rate, "{story}: {found:e}");
        }
    }
    let (_, decided) = of("uncorrectable codewords and no errors beside them");
    assert!(decided.iter().any(|decision| decision.contains("uncorrectable codewords")), "{decided:?}");
}
