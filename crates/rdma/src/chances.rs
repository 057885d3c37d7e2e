//! The probabilities of timeouts, and what the mechanisms cost.

use crate::{Kind, Mechanisms, Model, timeouts};
use serde::Serialize;

/// What the paper takes for the ratio of a header's or a NAK's corruption to a full packet's (Theorem 2).
const PUBLISHED_RATIO: f64 = 0.06;

/// How probable a kind of timeout is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chance {
    /// For each packet, as the paper approximates it. Of tails, the mean over flows of what a packet of a flow has: a flow
    /// counts as much as another, however many packets it has.
    pub published: f64,
    /// Timeouts without approximations, for each packet: those of a flow, over the packets of a flow.
    pub exact: f64,
    /// Timeouts that are expected in a flow, each of which delays it, those after others among them; with the sizes that last
    /// packets have.
    pub per_flow: f64,
}

/// How probable each kind of timeout is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chances {
    pub nak: Chance,
    pub twice: Chance,
    pub tail: Chance,
    pub tail_ack: Chance,
}

impl Chances {
    /// That of one kind.
    pub fn of(&self, kind: Kind) -> Chance {
        match kind {
            Kind::Nak => self.nak,
            Kind::Twice => self.twice,
            Kind::Tail => self.tail,
            Kind::TailAck => self.tail_ack,
        }
    }

    /// Timeouts of all kinds that are expected in a flow.
    pub fn per_flow(&self) -> f64 {
        Kind::ALL.into_iter().map(|kind| self.of(kind).per_flow).sum()
    }
}

/// What the mechanisms cost, as shares of the bytes that flows take on a wire without them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Costs {
    /// NAK replicas, in the direction of NAKs.
    pub nak: f64,
    /// Replicas of packets retransmitted.
    pub twice: f64,
    /// Dummies behind flows.
    pub dummies: f64,
    /// Replicas of last packets.
    pub tail: f64,
}

impl Costs {
    /// What all of them cost.
    pub fn sum(&self) -> f64 {
        self.nak + self.twice + self.dummies + self.tail
    }
}

impl Model {
    /// How probable timeouts are with these mechanisms.
    pub fn chances(&self, mechanisms: &Mechanisms) -> Chances {
        let timeouts = timeouts::expected(self, mechanisms);
        let chance = |kind| Chance {
            published: self.published(kind, mechanisms),
            exact: timeouts.of(kind) / self.flows.packets,
            per_flow: timeouts.of(kind),
        };
        Chances {
            nak: chance(Kind::Nak),
            twice: chance(Kind::Twice),
            tail: chance(Kind::Tail),
            tail_ack: chance(Kind::TailAck),
        }
    }

    /// Theorems 4 to 12. Where the paper says "on each link" and drops L (Theorems 6 and 7), it is here as in Theorems 10
    /// to 12, so that no dummies are N = 0.
    fn published(&self, kind: Kind, mechanisms: &Mechanisms) -> f64 {
        let (beta, ratio) = (self.packet_loss(), PUBLISHED_RATIO);
        let (links, omega) = (f64::from(self.path.links), self.path.corrupting);
        let inverse = self.flows.inverse_packets;
        let power = |base: f64, count: u8| libm::pow(base, f64::from(count));
        let Mechanisms { nak_replicas, packet_replicas, dummies, tail_replicas } = *mechanisms;
        // First-order approximations are above 1 where nearly everything is lost.
        let probability = match kind {
            Kind::Nak => links * links * omega * omega * beta * power(ratio * beta, 1 + nak_replicas),
            Kind::Twice => links * omega * beta * power(beta, 1 + packet_replicas),
            Kind::Tail => {
                inverse * links * omega * beta * power(ratio * beta, dummies) * power(beta, tail_replicas)
            }
            Kind::TailAck => inverse * links * omega * power(ratio * beta, 1 + dummies + tail_replicas),
        };
        probability.min(1.0)
    }

    /// What mechanisms cost.
    pub fn costs(&self, mechanisms: &Mechanisms) -> Costs {
        let Model { path, sizes, flows } = self;
        let wire = flows.bytes + flows.packets * f64::from(sizes.headers);
        let noticed = flows.packets - if mechanisms.dummies > 0 { 0.0 } else { 1.0 };
        let losses = noticed * path.loss(sizes.packet());
        let tail = flows.over_tails(sizes.mtu, |payload| f64::from(payload + sizes.headers));
        let share = |count: u8, bytes: f64| f64::from(count) * bytes / wire;
        Costs {
            nak: share(mechanisms.nak_replicas, losses * f64::from(sizes.nak)),
            twice: share(mechanisms.packet_replicas, losses * f64::from(sizes.packet())),
            dummies: share(mechanisms.dummies, f64::from(sizes.dummy)),
            tail: share(mechanisms.tail_replicas, tail),
        }
    }

    /// Costs as the paper has them: Equation 1 and what follows it in sections 4.2 and 4.3. Those of tails are means over
    /// flows, so that a flow counts as much as another, however long it is.
    pub fn published_costs(&self, mechanisms: &Mechanisms) -> Costs {
        let beta = self.packet_loss();
        let full = f64::from(self.sizes.packet());
        let inverse = self.flows.inverse_packets;
        Costs {
            nak: f64::from(self.sizes.nak) * f64::from(mechanisms.nak_replicas) * beta / full,
            twice: f64::from(mechanisms.packet_replicas) * beta,
            dummies: inverse * f64::from(self.sizes.dummy) * f64::from(mechanisms.dummies) / full,
            tail: inverse * f64::from(mechanisms.tail_replicas),
        }
    }
}

#[cfg(test)]
mod tests;
