//! Two agents at the ends of a link, which tell each other of their optics.

use super::*;
use crate::agent::{Action, DecisionKind, Policy};
use crate::counters::Reading;
use crate::exchange::DirectionState;
use crate::optics::Lane;
use crate::{Cabling, PortName};

const SECOND: Duration = Duration::from_secs(1);

struct World {
    now: Duration,
    /// The receiver, and the sender.
    agents: [Agent; 2],
    reading: Reading,
}

fn port(agent: &str) -> PortName {
    PortName::new(agent, "p").expect("a name")
}

fn optics(received: f32, sent: f32) -> OpticsReading {
    let lane = Lane { received_dbm: Some(received), sent_dbm: Some(sent), bias_ma: Some(6.0) };
    OpticsReading { module: Module::new("ACME", "LR", "7"), lanes: vec![lane], ..OpticsReading::default() }
}

impl World {
    fn new() -> World {
        let cabling = Cabling::new([[port("a"), port("b")]]).expect("no contradiction");
        let agents = ["a", "b"].map(|name| Agent::new(name, Policy::default(), cabling.clone()));
        let mut world = World { now: SECOND, agents, reading: Reading::default() };
        world.agents.iter_mut().for_each(|agent| agent.handle_synchronised(SECOND));
        world
    }

    /// Half an hour of polls, of which each has this many corrupted frames, and of optics. All decisions with suggestions.
    fn pass(&mut self, corrupted: u64, optics: [&OpticsReading; 2]) -> Vec<String> {
        let mut told = Vec::new();
        for _ in 0..30 {
            self.now += 60 * SECOND;
            self.reading.good_frames += 1_000_000;
            self.reading.corrupted_frames =
                Some(self.reading.corrupted_frames.unwrap_or_default() + corrupted);
            let clean = Reading { corrupted_frames: Some(0), ..self.reading };
            for (place, reading) in [self.reading, clean].into_iter().enumerate() {
                let now = self.now;
                self.agents[place].handle_readings(now, [("p".to_owned(), reading)]);
                self.agents[place].handle_optics(now, [("p".to_owned(), Some(optics[place].clone()))]);
                let findings = self.agents[1 - place].findings(now);
                let peers = self.agents[place].peers_to_know().into_iter();
                let known = peers.filter_map(|peer| {
                    let finding = findings.get(peer.port())?.optics.as_deref()?;
                    Some((peer, *finding))
                });
                let known = known.collect();
                self.agents[place].handle_peers(now, known);
                told.extend(self.act(place));
            }
        }
        told
    }

    fn act(&mut self, place: usize) -> Vec<String> {
        while let Some(action) = self.agents[place].poll_action() {
            if let Action::Request { port, request } = action {
                let state = DirectionState { request: Some(request), acknowledgement: None };
                self.agents[1 - place].handle_state(self.now, &port, state);
            }
        }
        let mut told = Vec::new();
        while let Some(decision) = self.agents[place].poll_decision() {
            if decision.advice.is_some() || matches!(decision.kind, DecisionKind::Optics { .. }) {
                told.push(decision.to_string());
            }
        }
        told
    }
}

#[test]
fn a_suggestion_is_beside_each_decision_and_follows_what_the_other_end_says() {
    let mut world = World::new();
    let usual = optics(-3.0, -1.0);
    for _ in 0..72 {
        assert_eq!(world.pass(0, [&usual, &usual]), [""; 0]);
    }
    let told = world.pass(500, [&optics(-8.0, -1.0), &usual]).join("\n");
    let found = "a/p: receive power -8.0 dBm, 5.0 dB below its median over 36 h";
    assert!(told.contains(found), "{told}");
    let first = "a/p: suspect -> corrupting";
    assert!(told.lines().any(|line| line.starts_with(first) && line.contains("suggestion: ")), "{told}");
    assert!(
        told.contains("requests protection")
            && told.contains("the transmit power of the other end is unknown")
    );
    let status = world.agents[0].status(world.now);
    let advice = status.ports[0].advice.clone().expect("a suggestion");
    assert_eq!((advice.repair, advice.at), (Repair::CleanConnectors, port("a")));
    // The sender's agent has heard of the request, and says that its laser is as it was.
    assert!(advice.ground.ends_with("; the transmit power of b/p is normal"), "{}", advice.ground);
    let finding = &world.agents[0].findings(world.now)["p"];
    assert_eq!(finding.advice.as_ref().map(|advice| advice.repair), Some(Repair::CleanConnectors));

    // The other end finds its own laser weak: then it is that.
    let told = world.pass(500, [&optics(-8.0, -1.0), &optics(-3.0, -6.0)]).join("\n");
    assert!(
        told.contains(
            "a/p: corrupts frames; suggestion: replace the transceiver at b/p (transmit power -6.0 dBm"
        ),
        "{told}"
    );
}

#[test]
fn healthy_links_have_no_suggestions_whatever_their_optics_are() {
    let mut world = World::new();
    let usual = optics(-3.0, -1.0);
    for _ in 0..72 {
        world.pass(0, [&usual, &usual]);
    }
    let told = world.pass(0, [&optics(-8.0, -1.0), &usual]);
    assert_eq!(told, ["a/p: receive power -8.0 dBm, 5.0 dB below its median over 36 h"]);
    assert_eq!(world.agents[0].status(world.now).ports[0].advice, None);
    let finding = &world.agents[0].findings(world.now)["p"];
    assert!(finding.optics.is_some() && finding.advice.is_none());
}
