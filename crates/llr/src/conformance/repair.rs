//! LLR-01 to 04 and 06: single faults, and poisoned frames.

use super::bench::{DELAY, SIZES, config, counters, delivers_in_order, finish, nacks, running, states};
use super::case::CaseResult;
use crate::frame::{Frame, FrameHandle};
use crate::link::{A, Faults, Link};

const FRAMES: u64 = 1_000;

/// 1,000 frames from A to B, with these faults.
fn send(bytes: u32, faults: impl FnOnce(&mut Faults)) -> Link {
    let mut link = running(config(), DELAY);
    faults(link.faults_mut(A));
    link.offer_many(1, FRAMES, bytes);
    finish(&mut link);
    link
}

pub(super) fn no_fault() -> CaseResult {
    let mut result = CaseResult::new("LLR-01", "1,000 frames, no faults");
    for (size, bytes) in SIZES {
        let link = send(bytes, |_| {});
        let (a, b) = counters(&link);
        result.exactly(size, "TX_OK", FRAMES, a.transmit.tx_ok);
        result.exactly(size, "RX_OK", FRAMES, b.receive.rx_ok);
        result.above(size, "TX_ACK_CTL_OS", 0, b.receive.tx_ack);
        result.exactly(size, "TX_NACK_CTL_OS", 0, b.receive.tx_nack);
    }
    result
}

/// What LLR-02 and 03 have in common.
fn check_one_repair(result: &mut CaseResult, size: &str, link: &Link) {
    let (a, b) = counters(link);
    result.exactly(size, "NACKs", "NACK(900)".to_owned(), nacks(link));
    result.exactly(size, "TX_REPLAY", 1, a.transmit.tx_replay);
    result.exactly(size, "RX_EXPECTED_SEQ_GOOD", FRAMES, b.receive.rx_expected_seq_good);
    result.exactly(size, "states", "Advance, SendAcks".to_owned(), states(link));
    result.exactly(size, "delivered once, in order", true, delivers_in_order(link, FRAMES));
}

pub(super) fn number_skipped() -> CaseResult {
    let mut result = CaseResult::new("LLR-02", "1,000 frames, number 901 is skipped");
    for (size, bytes) in SIZES {
        let link = send(bytes, |faults| faults.lose.extend([901]));
        check_one_repair(&mut result, size, &link);
    }
    result
}

pub(super) fn bad_frame() -> CaseResult {
    let mut result = CaseResult::new("LLR-03", "1,000 frames, number 901 has a bad FCS");
    for (size, bytes) in SIZES {
        let link = send(bytes, |faults| faults.damage.extend([901]));
        check_one_repair(&mut result, size, &link);
        let (_, b) = counters(&link);
        result.exactly(size, "RX_EXPECTED_SEQ_BAD", 1, b.receive.rx_expected_seq_bad);
    }
    result.note("the plan expects RX_EXPECTED_SEQ_BAD = 1,000")
}

pub(super) fn frame_dropped() -> CaseResult {
    let mut result = CaseResult::new("LLR-04", "1,000 frames, the receiver drops number 901");
    for (size, bytes) in SIZES {
        let link = send(bytes, |faults| faults.lose.extend([901]));
        let (a, _) = counters(&link);
        result.exactly(size, "RX_NACK_CTL_OS", 1, a.transmit.rx_nack);
        result.exactly(size, "TX_REPLAY", 1, a.transmit.tx_replay);
        result.above(size, "TX_OK", FRAMES, a.transmit.tx_ok);
        result.exactly(size, "acknowledged", FRAMES, a.transmit.acknowledged);
        result.exactly(size, "delivered once, in order", true, delivers_in_order(&link, FRAMES));
    }
    result
}

pub(super) fn poisoned_frames() -> CaseResult {
    let mut result = CaseResult::new("LLR-06", "1,000 poisoned frames");
    for (size, bytes) in SIZES {
        let mut link = running(config(), DELAY);
        for handle in (1..=FRAMES).map(FrameHandle) {
            link.offer(A, Frame { handle, bytes, poisoned: true }, true);
        }
        finish(&mut link);
        let (a, b) = counters(&link);
        result.exactly(size, "TX_POISONED", FRAMES, a.transmit.tx_poisoned);
        result.exactly(size, "RX_POISONED", FRAMES, b.receive.rx_poisoned);
        result.exactly(size, "RX_EXPECTED_SEQ_POISONED", FRAMES, b.receive.rx_expected_seq_poisoned);
        result.exactly(size, "TX_NACK_CTL_OS", 0, b.receive.tx_nack);
        result.exactly(size, "replayed frames", 0, a.transmit.replayed_frames);
        result.exactly(size, "delivered once, in order", true, delivers_in_order(&link, FRAMES));
    }
    result
}
