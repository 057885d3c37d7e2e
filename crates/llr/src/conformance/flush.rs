//! LLR-05, 07 and 09: missing ACKs, and FLUSH.

use super::bench::{DELAY, config, counters, delivers_in_order, finish, running, states};
use super::case::CaseResult;
use crate::config::{Config, FrameAction};
use crate::link::{A, B, Feedback};
use crate::sequence::SequenceNumber;
use crate::transmitter::TransmitState;

/// A thousand larger frames would take longer than the longest replay timer.
const SIZES: [(&str, u32); 2] = [("64 B", 64), ("1,518 B", 1_518)];

pub(super) fn no_acks() -> CaseResult {
    let stimulus =
        "1,000 frames that fit the window, count 3, no re-initialisation; no ACKs, or ACKs of an old number";
    let mut result = CaseResult::new("LLR-05", stimulus);
    let none = ("no ACKs", Feedback::Suppressed);
    let frozen = ("old ACKs", Feedback::FrozenAt(SequenceNumber(0)));
    for ((size, bytes), (name, feedback)) in SIZES.into_iter().flat_map(|size| [(size, none), (size, frozen)])
    {
        let mut link = running(config(), DELAY);
        link.faults_mut(B).feedback = feedback;
        link.offer_many(1, 1_000, bytes);
        finish(&mut link);
        let (a, b) = counters(&link);
        let variant = format!("{size}, {name}");
        result.exactly(&variant, "TX_OK", 4_000, a.transmit.tx_ok);
        result.exactly(&variant, "TX_REPLAY", 3, a.transmit.tx_replay);
        result.exactly(&variant, "TX_REPLAY in Broadcom's reading", 3_000, a.broadcom().tx_replay);
        result.exactly(&variant, "RX_DUPLICATE_SEQ", 3_000, b.receive.rx_duplicate_seq);
        result.exactly(&variant, "RX_REPLAY", 3, b.receive.rx_replay);
        result.exactly(&variant, "states", "Flush, SendAcks".to_owned(), states(&link));
    }
    let mut link = running(config(), DELAY);
    link.faults_mut(B).feedback = Feedback::Suppressed;
    link.offer_many(1, 1_000, 9_216);
    finish(&mut link);
    let sent = counters(&link).0.transmit.tx_ok;
    result.exactly("9,216 B, no ACKs", "TX_OK is 4,000", false, sent == 4_000);
    result.note(
        "1,000 frames of 9,216 B take 185 us at 400 Gb/s, which is longer than the longest replay timer, so the counts differ",
    )
}

pub(super) fn window_of_ten() -> CaseResult {
    let stimulus = "1,000 frames, 10 outstanding, count 3, no ACKs, flush action block or discard";
    let mut result = CaseResult::new("LLR-07", stimulus);
    let actions = [("block", FrameAction::Block, 990, 0), ("discard", FrameAction::Discard, 0, 990)];
    for ((size, bytes), (name, flush_action, waiting, discarded)) in
        SIZES.into_iter().flat_map(|size| actions.map(|action| (size, action)))
    {
        let config = Config { outstanding_frames_max: 10, flush_action, ..config() };
        let mut link = running(config, DELAY);
        link.faults_mut(B).feedback = Feedback::Suppressed;
        link.offer_many(1, 1_000, bytes);
        finish(&mut link);
        let (a, b) = counters(&link);
        let variant = format!("{size}, {name}");
        result.exactly(&variant, "RX_OK", 40, b.receive.rx_ok);
        result.exactly(&variant, "RX_DUPLICATE_SEQ", 30, b.receive.rx_duplicate_seq);
        result.exactly(&variant, "TX_REPLAY", 3, a.transmit.tx_replay);
        result.exactly(&variant, "TX_DISCARD", discarded, a.transmit.tx_discard);
        result.exactly(&variant, "waiting", waiting, link.waiting(A) as u64);
    }
    result
}

pub(super) fn initialises_again() -> CaseResult {
    let stimulus = "100 frames, count 3, re-initialisation, discard, no ACKs; then ACKs again and 100 frames";
    let mut result = CaseResult::new("LLR-09", stimulus);
    for (size, bytes) in SIZES {
        let flush_action = FrameAction::Discard;
        let mut link = running(Config { re_init_on_discard: true, flush_action, ..config() }, DELAY);
        let (before, _) = counters(&link);
        link.faults_mut(B).feedback = Feedback::Suppressed;
        link.offer_many(1, 100, bytes);
        finish(&mut link);
        let (a, b) = counters(&link);
        result.exactly(size, "RX_OK", 400, b.receive.rx_ok);
        result.exactly(size, "RX_EXPECTED_SEQ_GOOD", 100, b.receive.rx_expected_seq_good);
        result.exactly(size, "RX_DUPLICATE_SEQ", 300, b.receive.rx_duplicate_seq);
        result.exactly(size, "times in FLUSH", 1, link.port(A).transmitter().entries(TransmitState::Flush));
        result.above(size, "TX_INIT_CTL_OS", before.transmit.tx_init, a.transmit.tx_init);
        result.above(size, "RX_INIT_ECHO_CTL_OS", before.transmit.rx_init_echo, a.transmit.rx_init_echo);
        link.faults_mut(B).feedback = Feedback::Pass;
        link.offer_many(101, 100, bytes);
        finish(&mut link);
        let (_, b) = counters(&link);
        result.exactly(size, "then RX_EXPECTED_SEQ_GOOD", 200, b.receive.rx_expected_seq_good);
        result.exactly(size, "then acknowledged", 100, link.acknowledged(A).len());
        result.exactly(size, "then delivered once, in order", true, delivers_in_order(&link, 200));
        result.exactly(size, "then states", "Advance, SendAcks".to_owned(), states(&link));
    }
    result
}
