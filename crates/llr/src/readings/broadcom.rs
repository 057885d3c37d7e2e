//! Broadcom's counters, as FBOSS shows them for Tomahawk Ultra 1. There are fewer of them, and some have different
//! meanings.

use crate::counters::Counters;
use crate::receiver::ReceiveState;
use crate::transmitter::TransmitState;

/// What a Tomahawk Ultra 1 shows for a port.
///
/// It has no counters for `RX_BAD`, `TX_DISCARD`, `TX_POISONED` and `RX_POISONED`, so a monitor must do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BroadcomCounters {
    /// Here, `TX_REPLAY` counts replayed frames.
    pub tx_replay: u64,
    /// Replays triggered by a NACK.
    pub nack_replay_episodes: u64,
    /// Replays triggered by the timer, the last stage before FLUSH.
    pub timer_replay_episodes: u64,
    pub tx_eligible: u64,
    pub tx_ineligible: u64,
    pub rx_eligible: u64,
    pub rx_ineligible: u64,
    /// Outstanding frames that were given up.
    pub transmit_errors: u64,
}

impl BroadcomCounters {
    /// Whether frames were sent without protection since an earlier reading. If the port has a profile, LLR does not
    /// protect it at present.
    pub const fn is_unprotected_since(&self, earlier: &BroadcomCounters) -> bool {
        self.tx_ineligible > earlier.tx_ineligible
    }

    /// Whether the timer triggered replays since an earlier reading.
    pub const fn is_near_flush_since(&self, earlier: &BroadcomCounters) -> bool {
        self.timer_replay_episodes > earlier.timer_replay_episodes
    }
}

impl Counters {
    /// The same counts, as Broadcom defines them.
    pub const fn broadcom(&self) -> BroadcomCounters {
        let Counters { transmit, receive } = self;
        BroadcomCounters {
            tx_replay: transmit.replayed_frames,
            nack_replay_episodes: transmit.nack_replays,
            timer_replay_episodes: transmit.timer_replays,
            tx_eligible: transmit.tx_ok + transmit.tx_poisoned,
            tx_ineligible: transmit.tx_ineligible,
            rx_eligible: receive.arrived(),
            rx_ineligible: receive.rx_ineligible,
            transmit_errors: transmit.flushed,
        }
    }
}

/// The transmit state that a Tomahawk Ultra 1 shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BroadcomTransmitState {
    Advance,
    Off,
}

/// The receive state that a Tomahawk Ultra 1 shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BroadcomReceiveState {
    SendAcks,
    Off,
}

impl TransmitState {
    /// The state that a Tomahawk Ultra 1 shows. It distinguishes only two; we assume that ADVANCE stands for all states
    /// in which frames are protected.
    pub const fn broadcom(self) -> BroadcomTransmitState {
        match self {
            TransmitState::Advance | TransmitState::Replay => BroadcomTransmitState::Advance,
            TransmitState::Off | TransmitState::Init | TransmitState::Flush => BroadcomTransmitState::Off,
        }
    }
}

impl ReceiveState {
    /// The state that a Tomahawk Ultra 1 shows; every state but OFF is assumed to be SEND_ACKS.
    pub const fn broadcom(self) -> BroadcomReceiveState {
        match self {
            ReceiveState::Off => BroadcomReceiveState::Off,
            ReceiveState::SendAcks | ReceiveState::SendNack | ReceiveState::NackSent => {
                BroadcomReceiveState::SendAcks
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 frames and three whole replays: SAI counts three, Broadcom 3,000.
    #[test]
    fn a_replay_is_one_operation_or_many_frames() {
        let mut counters = Counters::default();
        counters.transmit.tx_replay = 3;
        counters.transmit.replayed_frames = 3_000;
        assert_eq!((counters.value("TX_REPLAY"), counters.broadcom().tx_replay), (Some(3), 3_000));
    }

    #[test]
    fn what_operators_watch_for_is_growth() {
        let earlier =
            BroadcomCounters { tx_ineligible: 7, timer_replay_episodes: 1, ..BroadcomCounters::default() };
        assert!(!earlier.is_unprotected_since(&earlier) && !earlier.is_near_flush_since(&earlier));
        let later = BroadcomCounters { tx_ineligible: 8, ..earlier };
        assert!(later.is_unprotected_since(&earlier) && !later.is_near_flush_since(&earlier));
    }
}
