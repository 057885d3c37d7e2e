//! The timeouts that a flow waits for, those after others among them.
//!
//! Go-back-N sends a run of packets, and again from the first missing one on. A packet is *in turn* once all before it have
//! arrived, which happens to each packet once, and what follows depends on its own fate and on that of its followers:
//!
//! - It arrives, and the next is in turn.
//! - It is lost, and so are all its followers: the timer runs out, and the same begins anew.
//! - It is lost and a follower arrives. The responder sends a NAK, and only one until the packet arrives (InfiniBand, 9.7.5.1). If
//!   the NAK is lost, or it arrives and the packet is lost again, the timer runs out, and then again with each further loss.
//!
//! When the last packet has arrived and no acknowledgement does, the timer runs out until one does: of the last packet, or of any
//! earlier one that is retransmitted with it, because duplicates are acknowledged. No window ends a run, and no connection
//! gives up, which cards do after seven retries.

use crate::flows::LONGER;
use crate::{Kind, Mechanisms, Model};

/// A share of lost frames that cannot be told from 1 counts as this much less.
const SURVIVAL_MIN: f64 = f64::EPSILON;
/// Followers that are all lost less often than this change nothing.
const SILENCE_MIN: f64 = 1e-15;

/// Expected timeouts of a flow, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Timeouts([f64; Kind::ALL.len()]);

impl Timeouts {
    pub(crate) fn of(&self, kind: Kind) -> f64 {
        self.0[kind as usize]
    }

    fn add(&mut self, weight: f64, other: [f64; Kind::ALL.len()]) {
        self.0.iter_mut().zip(other).for_each(|(sum, value)| *sum += weight * value);
    }
}

/// Timeouts of a flow, as the mean over how many links corrupt in either direction.
pub(crate) fn expected(model: &Model, mechanisms: &Mechanisms) -> Timeouts {
    let mut timeouts = Timeouts::default();
    for (forth, forth_weight) in model.path.corrupting_links() {
        for (back, back_weight) in model.path.corrupting_links() {
            let fates = Fates { model, mechanisms, forth, back };
            for (share, payload) in model.flows.tails(model.sizes.mtu) {
                let tail = payload + model.sizes.headers;
                fates.add_flow(forth_weight * back_weight * share, tail, &mut timeouts);
            }
        }
    }
    timeouts
}

/// Where so many links corrupt, forth and back.
struct Fates<'a> {
    model: &'a Model,
    mechanisms: &'a Mechanisms,
    forth: u32,
    back: u32,
}

impl Fates<'_> {
    /// Adds the timeouts of flows whose last packet has this length.
    fn add_flow(&self, weight: f64, tail_bytes: u32, timeouts: &mut Timeouts) {
        let Model { sizes, flows, .. } = self.model;
        let Mechanisms { packet_replicas, dummies, tail_replicas, .. } = *self.mechanisms;
        let copies = 1 + u32::from(tail_replicas);
        let full = self.lost(sizes.packet(), 1);
        let again = self.lost(sizes.packet(), 1 + u32::from(packet_replicas));
        let tail = self.lost(tail_bytes, copies);
        let tail_again = self.lost(tail_bytes, copies + u32::from(packet_replicas));
        let dummies_lost = self.lost(sizes.dummy, dummies.into());
        timeouts.add(weight, self.in_turn(tail, tail_again, dummies_lost));
        // All but the last packet of long flows have followers that arrive; those near the end may have none.
        timeouts.add(weight * (flows.packets - 1.0), self.in_turn(full, again, 0.0));
        let mut silence = tail * dummies_lost;
        for followers in 1..LONGER {
            if silence < SILENCE_MIN {
                break;
            }
            let share = weight * flows.longer(followers);
            timeouts.add(share, self.in_turn(full, again, silence));
            timeouts.add(-share, self.in_turn(full, again, 0.0));
            silence *= full;
        }
        timeouts.0[Kind::TailAck as usize] += weight * self.acks_lost(tail_bytes);
    }

    /// Timeouts while a packet is in turn that is lost so often, and so often when a NAK asks for it; all its followers are lost
    /// with probability `silence`.
    fn in_turn(&self, lost: f64, lost_again: f64, silence: f64) -> [f64; Kind::ALL.len()] {
        let nak = self.model.path.loss_at(
            self.back,
            self.model.sizes.nak,
            1 + u32::from(self.mechanisms.nak_replicas),
        );
        let silent = lost * silence;
        let begins_anew = (1.0 - silent).max(SURVIVAL_MIN);
        // How often a NAK is sent, and the timeouts until the packet arrives once one has been waited for.
        let noticed = lost * (1.0 - silence) / begins_anew;
        let each = 1.0 / (1.0 - lost).max(SURVIVAL_MIN);
        let mut timeouts = [0.0; Kind::ALL.len()];
        timeouts[Kind::Nak as usize] = noticed * nak * each;
        timeouts[Kind::Twice as usize] = noticed * (1.0 - nak) * lost_again * each;
        timeouts[Kind::Tail as usize] = silent / begins_anew;
        timeouts
    }

    /// Timeouts after the last packet has arrived.
    fn acks_lost(&self, tail_bytes: u32) -> f64 {
        let Model { path, sizes, flows } = self.model;
        let ack = path.loss_at(self.back, sizes.nak, 1);
        let power = |base: f64, count: u32| libm::pow(base, f64::from(count));
        let unanswered = |bytes| 1.0 - (1.0 - self.lost(bytes, 1)) * (1.0 - ack);
        let copies = 1 + u32::from(self.mechanisms.tail_replicas);
        let dummies = power(unanswered(sizes.dummy), self.mechanisms.dummies.into());
        let answered_by_none = power(unanswered(tail_bytes), copies);
        let lost = self.lost(tail_bytes, copies);
        // Of the copies of the last packet, one arrives; a copy that is lost itself has no acknowledgement.
        let first = match copies {
            1 => ack,
            _ => (answered_by_none - lost) / (1.0 - lost).max(SURVIVAL_MIN),
        };
        // What is retransmitted begins with the last packet that was lost in its turn: of that, the requester has heard.
        let (mut further, mut none_was_lost) = (0.0, 1.0);
        let mut silent = answered_by_none * dummies;
        let mut lost_in_turn = lost;
        for packets in 1..LONGER {
            if silent < SILENCE_MIN {
                break;
            }
            let exactly = flows.longer(packets - 1) - flows.longer(packets);
            let share = none_was_lost * (flows.longer(packets) * lost_in_turn + exactly);
            further += share * silent / (1.0 - silent).max(SURVIVAL_MIN);
            none_was_lost *= 1.0 - lost_in_turn;
            lost_in_turn = self.lost(sizes.packet(), 1);
            silent *= unanswered(sizes.packet());
        }
        first * dummies * (1.0 + further)
    }

    /// Probability that all of so many frames are lost on their way forth.
    fn lost(&self, bytes: u32, count: u32) -> f64 {
        self.model.path.loss_at(self.forth, bytes, count)
    }
}

#[cfg(test)]
mod tests;
