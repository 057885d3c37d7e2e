//! What holds for every link, whatever it loses: the judge of the properties and of the exhaustive exploration.

use linkmend_llr::link::{A, B, Link};
use linkmend_llr::{Config, TransmitState};
use linkmend_llr::{FlushCause, ReceiveState};
use std::collections::BTreeSet;

/// What must hold at any time. Frames have handles from 1 on, in the order in which they were offered at A.
pub fn judge(link: &Link) -> Result<(), String> {
    let delivered: Vec<u64> = link.delivered(B).iter().map(|delivered| delivered.handle.0).collect();
    if !delivered.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(format!("doubled or out of order: {delivered:?}"));
    }
    let flushed: BTreeSet<u64> = link.flushed(A).iter().map(|handle| handle.0).collect();
    let reached: BTreeSet<u64> = delivered.iter().copied().collect();
    let last = delivered.last().copied().unwrap_or(0);
    let lost = (1..=last).find(|handle| !reached.contains(handle) && !flushed.contains(handle));
    if let Some(lost) = lost {
        return Err(format!("{lost} was neither delivered nor given up, but {last} was delivered"));
    }
    let unseen = link.acknowledged(A).iter().find(|handle| !reached.contains(&handle.0));
    if let Some(handle) = unseen {
        return Err(format!("{handle:?} was acknowledged and never delivered"));
    }
    counters_add_up(link)
}

fn counters_add_up(link: &Link) -> Result<(), String> {
    for end in [A, B] {
        let (port, counters) = (link.port(end), link.port(end).counters());
        let outstanding = port.transmitter().outstanding_frames();
        if !counters.transmit.add_up(outstanding) {
            return Err(format!("{outstanding} outstanding, and {:?}", counters.transmit));
        }
        if !counters.receive.add_up() {
            return Err(format!("{:?}", counters.receive));
        }
        if outstanding > u64::from(port.config().outstanding_frames_max) {
            return Err(format!("{outstanding} outstanding"));
        }
    }
    let (a, b) = (link.port(A).counters(), link.port(B).counters());
    let accepted = b.receive.rx_expected_seq_good + b.receive.rx_expected_seq_poisoned;
    if accepted != link.delivered(B).len() as u64 {
        return Err(format!("{accepted} accepted, {} delivered", link.delivered(B).len()));
    }
    if a.transmit.rx_ack > b.receive.tx_ack || a.transmit.rx_nack > b.receive.tx_nack {
        return Err("more ACKs or NACKs received than sent".to_owned());
    }
    Ok(())
}

/// What must hold once the link has been without faults for long enough: without FLUSH, everything has arrived and is
/// acknowledged.
pub fn judge_end(link: &Link, frames: u64) -> Result<(), String> {
    judge(link)?;
    let transmitter = link.port(A).transmitter();
    if transmitter.entries(TransmitState::Flush) > 0 {
        return Ok(());
    }
    let states = (transmitter.state(), link.port(B).receiver().state());
    let (delivered, acknowledged) = (link.delivered(B).len() as u64, link.acknowledged(A).len() as u64);
    if (delivered, acknowledged, states) == (frames, frames, (TransmitState::Advance, ReceiveState::SendAcks))
    {
        return Ok(());
    }
    Err(format!("{delivered} of {frames} delivered, {acknowledged} acknowledged, {states:?}"))
}

/// FLUSH by count happens only if the configuration has a count.
pub fn flushes_for_a_reason(link: &Link, config: &Config) -> Result<(), String> {
    match link.port(A).transmitter().last_flush() {
        Some(FlushCause::ReplayCount) if config.replay_count_max == 255 => {
            Err("count has no limit".to_owned())
        }
        Some(cause @ (FlushCause::PcsLost | FlushCause::DataAge)) => {
            Err(format!("{cause:?} without its timer"))
        }
        _ => Ok(()),
    }
}
