//! Expected timeouts against those of a requester and a responder, packet by packet.

use crate::{Flows, Kind, Mechanisms, Model, Path, Sizes};
use linkmend_random::Random;

/// Flows of each case, and how many standard deviations their mean may be away.
const TRIALS: u64 = 200_000;
const DEVIATIONS: f64 = 4.5;

/// What both ends of a connection know, and what has happened.
struct Connection<'a> {
    model: &'a Model,
    mechanisms: Mechanisms,
    random: &'a mut Random,
    packets: u32,
    acknowledged: u32,
    asked_for: Option<u32>,
    expected: u32,
    nak_is_out: bool,
    timeouts: [u64; 4],
}

impl Connection<'_> {
    fn crosses(&mut self, bytes: u32) -> bool {
        let loss = self.model.path.loss_at(self.model.path.links, bytes, 1);
        self.random.uniform() >= loss
    }

    /// Sends everything that is not acknowledged, and returns whether a NAK asks for some of it again.
    fn run(&mut self, from: u32, is_asked_for: bool) -> bool {
        let Mechanisms { nak_replicas, packet_replicas, dummies, tail_replicas } = self.mechanisms;
        let sizes = self.model.sizes;
        let mut is_asked_again = false;
        for number in from..self.packets + u32::from(dummies) {
            let bytes = if number < self.packets { sizes.packet() } else { sizes.dummy };
            let mut copies = 1;
            if number + 1 == self.packets {
                copies += tail_replicas;
            }
            if is_asked_for && number == from {
                copies += packet_replicas;
            }
            for _ in 0..copies {
                if !self.crosses(bytes) {
                    continue;
                }
                if number > self.expected {
                    if !std::mem::replace(&mut self.nak_is_out, true) {
                        for _ in 0..=nak_replicas {
                            is_asked_again |= self.crosses(sizes.nak);
                        }
                    }
                    continue;
                }
                let is_duplicate = number < self.expected;
                if !is_duplicate {
                    self.expected += 1;
                    self.nak_is_out = false;
                }
                let asks = is_duplicate || number + 1 >= self.packets;
                if asks && self.crosses(sizes.nak) {
                    self.acknowledged = self.expected;
                }
            }
        }
        is_asked_again
    }

    fn transfer(mut self) -> [u64; 4] {
        let (mut from, mut is_asked_for) = (0, false);
        loop {
            is_asked_for = self.run(from, is_asked_for);
            if is_asked_for {
                self.acknowledged = self.expected;
                self.asked_for = Some(self.expected);
            }
            if self.acknowledged >= self.packets {
                return self.timeouts;
            }
            if !is_asked_for {
                let kind = match () {
                    () if self.expected >= self.packets => Kind::TailAck,
                    () if !self.nak_is_out => Kind::Tail,
                    () if self.asked_for == Some(self.expected) => Kind::Twice,
                    () => Kind::Nak,
                };
                self.timeouts[kind as usize] += 1;
            }
            from = self.acknowledged;
        }
    }
}

fn model(packets: u32, links: u32, loss: f64) -> Model {
    let sizes = Sizes::default();
    let path = Path::losing(links, 1.0, loss, sizes.packet());
    Model { path, sizes, flows: Flows::of_size(u64::from(packets * sizes.mtu), sizes.mtu) }
}

fn agrees(packets: u32, links: u32, loss: f64, mechanisms: Mechanisms, random: &mut Random) {
    let model = model(packets, links, loss);
    let (mut sums, mut squares) = ([0.0; 4], [0.0; 4]);
    for _ in 0..TRIALS {
        let connection = Connection {
            model: &model,
            mechanisms,
            random,
            packets,
            acknowledged: 0,
            asked_for: None,
            expected: 0,
            nak_is_out: false,
            timeouts: [0; 4],
        };
        for (kind, count) in connection.transfer().into_iter().enumerate() {
            sums[kind] += count as f64;
            squares[kind] += (count * count) as f64;
        }
    }
    let chances = model.chances(&mechanisms);
    for kind in Kind::ALL {
        let trials = TRIALS as f64;
        let mean = sums[kind as usize] / trials;
        let expected = chances.of(kind).per_flow;
        // At least that of what the model expects, for kinds that are seldom seen.
        let variance = (squares[kind as usize] / trials - mean * mean).max(expected);
        let reach = DEVIATIONS * (variance / trials).sqrt();
        assert!(
            (mean - expected).abs() <= reach,
            "{kind:?}, {packets} packets, {links} links of {loss}, {mechanisms:?}: {mean:.5} counted, {expected:.5} expected"
        );
    }
}

/// Where much is lost, a timeout is often followed by others. Four links of 5 % lose 18.5 % of full packets.
#[test]
fn a_connection_packet_by_packet_has_the_timeouts_that_are_expected() {
    let mut random = Random::new(1, "connections");
    let none = Mechanisms::NONE;
    for packets in [1, 2, 3, 8] {
        for mechanisms in [
            none,
            Mechanisms { nak_replicas: 1, ..none },
            Mechanisms { packet_replicas: 1, ..none },
            Mechanisms { dummies: 1, ..none },
            Mechanisms { tail_replicas: 1, ..none },
            Mechanisms::TESTBED,
            Mechanisms { tail_replicas: 1, ..Mechanisms::TESTBED },
        ] {
            agrees(packets, 4, 0.05, mechanisms, &mut random);
        }
        agrees(packets, 1, 0.5, Mechanisms { dummies: 1, ..none }, &mut random);
    }
}

/// A packet of the network has as many timeouts as a flow has, over the packets of a flow.
#[test]
fn a_flow_has_the_timeouts_of_its_packets() {
    let sizes = Sizes::default();
    let flows = Flows::of_sizes(&[500, 3_000, 1_000_000, 20_000_000], sizes.mtu);
    let model = Model { path: Path::losing(4, 1.0, 1e-3, sizes.packet()), sizes, flows };
    let chances = model.chances(&Mechanisms::NONE);
    for kind in Kind::ALL {
        let chance = chances.of(kind);
        assert!((chance.exact * flows.packets / chance.per_flow - 1.0).abs() < 1e-12, "{kind:?}: {chance:?}");
    }
}
