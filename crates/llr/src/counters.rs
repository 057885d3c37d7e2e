//! Counters under SAI's names and meanings. [`readings`](crate::readings) contains those of testers and of Broadcom's
//! switches.
//!
//! Three of them do not mean what their names suggest. `TX_OK` and `RX_OK` include replays and duplicates:
//! `RX_EXPECTED_SEQ_GOOD` is the one to use for goodput. `TX_REPLAY` counts completed replays, not frames; Broadcom
//! maps it to frames. `RX_MISSING_SEQ` counts frames seen after a gap, not frames missing.

/// What a transmitter has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransmitCounters {
    pub tx_init: u64,
    /// New frames that the action *discard* dropped in INIT or FLUSH.
    pub tx_discard: u64,
    /// Good eligible frames sent, replays included.
    pub tx_ok: u64,
    /// Poisoned eligible frames sent, replays included.
    pub tx_poisoned: u64,
    /// Replay operations, from the first frame to the last one; not replayed frames.
    pub tx_replay: u64,
    pub rx_init_echo: u64,
    pub rx_ack: u64,
    pub rx_nack: u64,
    /// ACKs and NACKs for numbers that are not outstanding; they were ignored.
    pub rx_ack_nack_seq_error: u64,
    pub replayed_frames: u64,
    pub replayed_bytes: u64,
    /// Replays triggered by a NACK.
    pub nack_replays: u64,
    /// Replays triggered by the replay timer.
    pub timer_replays: u64,
    /// Echoes whose number or data differ from those of the INIT.
    pub init_echo_mismatches: u64,
    /// Frames sent without a number.
    pub tx_ineligible: u64,
    /// Eligible frames that were given a number.
    pub accepted: u64,
    pub acknowledged: u64,
    /// Outstanding frames discarded by FLUSH or when LLR was disabled.
    pub flushed: u64,
}

/// What a receiver has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ReceiveCounters {
    pub rx_init: u64,
    pub tx_init_echo: u64,
    pub tx_ack: u64,
    pub tx_nack: u64,
    /// Good eligible frames with any number.
    pub rx_ok: u64,
    /// Poisoned eligible frames with any number.
    pub rx_poisoned: u64,
    /// Bad eligible frames with any number.
    pub rx_bad: u64,
    /// Good frames with the expected number: delivered.
    pub rx_expected_seq_good: u64,
    /// Poisoned frames with the expected number: delivered.
    pub rx_expected_seq_poisoned: u64,
    /// Bad frames with the expected number: each one that arrives in SEND_ACKS causes a NACK.
    pub rx_expected_seq_bad: u64,
    /// Frames seen after a gap, whatever their FCS.
    pub rx_missing_seq: u64,
    /// Frames seen before, whatever their FCS.
    pub rx_duplicate_seq: u64,
    /// Starts of replays, recognised by numbers that do not rise.
    pub rx_replay: u64,
    /// Frames counted in `rx_missing_seq` that had a good FCS.
    pub missing_good: u64,
    /// Frames counted in `rx_duplicate_seq` that had a good FCS.
    pub duplicate_good: u64,
    /// Frames without a number, or received while the receiver was off.
    pub rx_ineligible: u64,
    /// How many of these had a bad FCS, and are lost.
    pub rx_ineligible_bad: u64,
}

/// Both directions of one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Counters {
    pub transmit: TransmitCounters,
    pub receive: ReceiveCounters,
}

impl Counters {
    /// SAI's counters, in SAI's order. Their full names begin with `SAI_PORT_STAT_LLR_`.
    pub const fn sai(&self) -> [(&'static str, u64); 22] {
        let Counters { transmit, receive } = self;
        [
            ("TX_INIT_CTL_OS", transmit.tx_init),
            ("TX_INIT_ECHO_CTL_OS", receive.tx_init_echo),
            ("TX_ACK_CTL_OS", receive.tx_ack),
            ("TX_NACK_CTL_OS", receive.tx_nack),
            ("TX_DISCARD", transmit.tx_discard),
            ("TX_OK", transmit.tx_ok),
            ("TX_POISONED", transmit.tx_poisoned),
            ("TX_REPLAY", transmit.tx_replay),
            ("RX_INIT_CTL_OS", receive.rx_init),
            ("RX_INIT_ECHO_CTL_OS", transmit.rx_init_echo),
            ("RX_ACK_CTL_OS", transmit.rx_ack),
            ("RX_NACK_CTL_OS", transmit.rx_nack),
            ("RX_ACK_NACK_SEQ_ERROR", transmit.rx_ack_nack_seq_error),
            ("RX_OK", receive.rx_ok),
            ("RX_POISONED", receive.rx_poisoned),
            ("RX_BAD", receive.rx_bad),
            ("RX_EXPECTED_SEQ_GOOD", receive.rx_expected_seq_good),
            ("RX_EXPECTED_SEQ_POISONED", receive.rx_expected_seq_poisoned),
            ("RX_EXPECTED_SEQ_BAD", receive.rx_expected_seq_bad),
            ("RX_MISSING_SEQ", receive.rx_missing_seq),
            ("RX_DUPLICATE_SEQ", receive.rx_duplicate_seq),
            ("RX_REPLAY", receive.rx_replay),
        ]
    }

    /// The value of one of SAI's counters by its name.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.sai().into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Losses that were repaired after a NACK, without waiting (requested by SONiC's reviewers).
    pub const fn recovered(&self) -> u64 {
        self.transmit.nack_replays
    }

    /// Losses that had to wait for the replay timer (requested by SONiC's reviewers).
    pub const fn timeouts(&self) -> u64 {
        self.transmit.timer_replays
    }
}

impl ReceiveCounters {
    /// Eligible frames that arrived while the receiver was running.
    pub const fn arrived(&self) -> u64 {
        self.rx_ok + self.rx_poisoned + self.rx_bad
    }

    /// Whether the counters are consistent: the counts by FCS and the counts by number must add up to the same total.
    pub const fn add_up(&self) -> bool {
        let expected = self.rx_expected_seq_good + self.rx_expected_seq_poisoned + self.rx_expected_seq_bad;
        let is_whole = self.arrived() == expected + self.rx_missing_seq + self.rx_duplicate_seq;
        is_whole && self.rx_ok == self.rx_expected_seq_good + self.missing_good + self.duplicate_good
    }
}

impl TransmitCounters {
    /// Whether the counters are consistent if this many frames are outstanding.
    pub const fn add_up(&self, outstanding: u64) -> bool {
        let is_whole = self.accepted == self.acknowledged + self.flushed + outstanding;
        let is_sent = self.tx_ok + self.tx_poisoned == self.accepted + self.replayed_frames;
        // A replay that a NACK restarts or that FLUSH ends has begun but is not completed.
        is_whole && is_sent && self.tx_replay <= self.nack_replays + self.timer_replays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let mut counters = Counters::default();
        counters.transmit.tx_replay = 3;
        assert_eq!((counters.value("TX_REPLAY"), counters.value("TX_REPLAYS")), (Some(3), None));
    }

    #[test]
    fn counters_that_contradict_each_other_are_found() {
        let receive = ReceiveCounters { rx_ok: 5, rx_expected_seq_good: 3, ..ReceiveCounters::default() };
        assert!(!receive.add_up());
        assert!(ReceiveCounters { rx_duplicate_seq: 2, duplicate_good: 2, ..receive }.add_up());
        assert!(!ReceiveCounters { rx_duplicate_seq: 2, duplicate_good: 1, ..receive }.add_up());
        let transmit =
            TransmitCounters { tx_ok: 5, accepted: 4, acknowledged: 3, ..TransmitCounters::default() };
        assert!(!transmit.add_up(1));
        assert!(TransmitCounters { replayed_frames: 1, ..transmit }.add_up(1));
        assert!(!TransmitCounters { replayed_frames: 1, tx_replay: 1, ..transmit }.add_up(1));
    }
}
