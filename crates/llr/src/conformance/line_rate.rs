//! LLR-08, 10 and 11: a long cable at line rate, all sizes, and a line that damages frames.

use super::bench::{DELAY, RATE_BPS, SIZES, config, counters, delivers_in_order, finish, running};
use super::case::CaseResult;
use crate::frame::{Frame, FrameHandle};
use crate::link::{A, B};
use crate::time::Span;

/// The plan sends for five minutes; this is 40 loops.
const LINE_RATE_FRAMES: u64 = 120_000;

pub(super) fn five_hundred_metres() -> CaseResult {
    let stimulus = "64 B at line rate over 500 m (2,500 ns each way), 120,000 frames";
    let mut result = CaseResult::new("LLR-08", stimulus);
    let mut link = running(config(), Span::from_nanos(2_500));
    link.offer_many(1, LINE_RATE_FRAMES, 64);
    finish(&mut link);
    let (a, b) = counters(&link);
    result.exactly("", "replayed frames", 0, a.transmit.replayed_frames);
    result.exactly("", "TX_OK", LINE_RATE_FRAMES, a.transmit.tx_ok);
    result.exactly("", "RX_OK", LINE_RATE_FRAMES, b.receive.rx_ok);
    let delivered = link.delivered(B);
    let ends = delivered.first().zip(delivered.last());
    let taken = ends.map_or(0.0, |(first, last)| last.at.since(first.at).as_nanos_f64());
    let at_least = Span::of_octets(84, RATE_BPS).as_nanos_f64() * (LINE_RATE_FRAMES - 1) as f64;
    result.within("", "share of the line rate", 99.0..=100.0, " %", 100.0 * at_least / taken);
    result.note("the plan runs for 5 minutes")
}

pub(super) fn all_sizes() -> CaseResult {
    let stimulus = "one frame of each size from 64 to 1,518 B, and of 9,215 and 9,216 B";
    let mut result = CaseResult::new("LLR-10", stimulus);
    let mut link = running(config(), DELAY);
    let mut added = Span::ZERO;
    let mut handle = 0;
    for bytes in (64..=1_518).chain([9_215, 9_216]) {
        handle += 1;
        let begin = link.now();
        link.offer(A, Frame { handle: FrameHandle(handle), bytes, poisoned: false }, true);
        link.run_for(Span::from_nanos(2_000));
        let alone = Span::of_octets(u64::from(bytes) + 20, RATE_BPS) + DELAY;
        let taken = link.delivered(B).last().map_or(Span::ZERO, |last| last.at.since(begin));
        added = added.max(Span(taken.0.saturating_sub(alone.0)));
    }
    let (a, b) = counters(&link);
    result.exactly("", "RX_EXPECTED_SEQ_GOOD", handle, b.receive.rx_expected_seq_good);
    result.exactly("", "replayed frames", 0, a.transmit.replayed_frames);
    result.exactly("", "delivered once, in order", true, delivers_in_order(&link, handle));
    result.within("", "latency in addition to the line's", 0.0..=0.0, " ns", added.as_nanos_f64());
    result
}

pub(super) fn uncorrectable_codewords() -> CaseResult {
    let stimulus = "10,000 eligible and 10,000 other frames, alternating, 1 in 1,000 damaged";
    let mut result = CaseResult::new("LLR-11", stimulus);
    for (size, bytes) in SIZES {
        let mut link = running(config(), DELAY);
        link.faults_mut(A).damage_share = 1e-3;
        for handle in (1..=10_000).map(FrameHandle) {
            link.offer(A, Frame { handle, bytes, poisoned: false }, true);
            link.offer(A, Frame { handle, bytes, poisoned: false }, false);
        }
        finish(&mut link);
        let (_, b) = counters(&link);
        let others = link.delivered_ineligible(B).len() as u64;
        result.above(size, "TX_NACK_CTL_OS", 0, b.receive.tx_nack);
        result.exactly(size, "eligible delivered once, in order", true, delivers_in_order(&link, 10_000));
        result.above(size, "others lost", 0, 10_000 - others);
        result.exactly(size, "others delivered or bad", 10_000, others + b.receive.rx_ineligible_bad);
    }
    result
}
