//! TP2 19 and 20: LLR while PFC pauses the link.

use super::bench::{DELAY, config, counters, delivers_in_order, finish, running};
use super::case::CaseResult;
use crate::link::{A, B};

pub(super) fn replay_while_paused() -> CaseResult {
    let stimulus = "200 frames, 50 lost; the link is paused after 100 frames, and resumes later";
    let mut result = CaseResult::new("TP2-19", stimulus);
    let mut link = running(config(), DELAY);
    link.faults_mut(A).lose.extend([50]);
    link.offer_many(1, 100, 64);
    // 100 frames take 168 ns: the pause comes before the NACK.
    link.run_for(DELAY);
    link.port_mut(A).transmitter_mut().handle_pause(true);
    link.offer_many(101, 100, 64);
    finish(&mut link);
    let (a, b) = counters(&link);
    result.exactly("paused", "RX_NACK_CTL_OS", 1, a.transmit.rx_nack);
    result.exactly("paused", "TX_REPLAY", 1, a.transmit.tx_replay);
    result.exactly("paused", "RX_EXPECTED_SEQ_GOOD", 100, b.receive.rx_expected_seq_good);
    result.exactly("paused", "waiting", 100, link.waiting(A));
    link.port_mut(A).transmitter_mut().handle_pause(false);
    finish(&mut link);
    result.exactly("resumed", "delivered once, in order", true, delivers_in_order(&link, 200));
    result
}

pub(super) fn feedback_while_paused() -> CaseResult {
    let stimulus = "200 frames to a port that is paused, 50 lost";
    let mut result = CaseResult::new("TP2-20", stimulus);
    let mut link = running(config(), DELAY);
    link.port_mut(B).transmitter_mut().handle_pause(true);
    link.faults_mut(A).lose.extend([50]);
    link.offer_many(1, 200, 64);
    finish(&mut link);
    let (a, b) = counters(&link);
    result.above("", "TX_ACK_CTL_OS", 0, b.receive.tx_ack);
    result.exactly("", "TX_NACK_CTL_OS", 1, b.receive.tx_nack);
    result.exactly("", "timer replays", 0, a.transmit.timer_replays);
    result.exactly("", "acknowledged", 200, a.transmit.acknowledged);
    result.exactly("", "delivered once, in order", true, delivers_in_order(&link, 200));
    result
}
