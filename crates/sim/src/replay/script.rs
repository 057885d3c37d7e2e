//! A script of what two logs say about everything but the protocol: requests, offered frames, losses, and the delay of
//! the link.

use super::numbering::{Numberings, Place};
use super::{ProtocolLog, ReplayError};
use crate::time::Time;
use linkmend_protocol::Instant;
use linkmend_protocol::trace::{CorruptedFrame, Record, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Least delay of a simulated link. Two loops look at the clock at the beginning of a round, so a frame can seem to
/// have arrived before it left.
const DELAY_MIN_NS: u64 = 1_000;
/// A longer delay is no link's: the logs are of two clocks.
const DELAY_MAX_NS: u64 = 1_000_000_000;

/// A transmission of a frame: the original (0) or its n-th copy (n), counted by arrivals.
pub(super) type Transmission = (Place, u32);

/// What happens to one end.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct EndScript {
    /// Its inputs: frames that join its normal queue ([`Step::Offered`]), and the calls by which its operator or its
    /// loop controls it.
    pub(super) inputs: Vec<Record>,
    /// Transmissions that do not arrive at this end.
    pub(super) losses: BTreeSet<Transmission>,
}

/// What happens to both ends, and between them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    pub(super) ends: [EndScript; 2],
    pub(super) delay: Time,
    pub(super) begin: Instant,
    pub(super) end: Instant,
    /// Longest time from the sending to the arrival of an original.
    pub(super) longest_transit_ns: u64,
}

/// Makes a script from the two ends' logs.
pub(super) fn of_logs(logs: [&ProtocolLog; 2]) -> Result<Script, ReplayError> {
    let ends = [end_script(logs[0])?, end_script(logs[1])?];
    let spans = logs.map(ProtocolLog::span);
    let [Some((begin_first, end_first)), Some((begin_second, end_second))] = spans else {
        let empty = if spans[0].is_none() { logs[0] } else { logs[1] };
        return Err(ReplayError::Empty { log: empty.name.clone() });
    };
    let mut transits = transits(logs[0], logs[1]);
    transits.extend(self::transits(logs[1], logs[0]));
    transits.sort_unstable();
    let Some(&longest) = transits.last() else { return Err(ReplayError::NothingInCommon) };
    let median = transits[transits.len() / 2];
    if !(-(DELAY_MAX_NS as i64)..=DELAY_MAX_NS as i64).contains(&median) {
        return Err(ReplayError::TwoClocks { delay_ns: median });
    }
    Ok(Script {
        ends,
        delay: Time::from_nanos(median.max(DELAY_MIN_NS as i64) as u64),
        begin: begin_first.min(begin_second),
        end: end_first.max(end_second),
        longest_transit_ns: longest.max(0) as u64,
    })
}

fn end_script(log: &ProtocolLog) -> Result<EndScript, ReplayError> {
    let mut script = EndScript::default();
    let mut arrivals = Arrivals::default();
    let mut numberings = Numberings::default();
    for (index, record) in log.records.iter().enumerate() {
        let step = &record.step;
        numberings.follow(step);
        match step {
            Step::Offered { .. }
            | Step::Protect { .. }
            | Step::Unprotect
            | Step::Reconfigure { .. }
            | Step::Stall
            | Step::Leave
            | Step::Stop
            | Step::ChangePath { .. }
            | Step::CleanOther { .. } => script.inputs.push(record.clone()),
            Step::Data { header, .. } | Step::Corrupted { frame: CorruptedFrame::Data(header) } => {
                let Some(place) = numberings.received.place(header.mode, header.sequence) else { continue };
                let transmission = arrivals.count(place, header.retransmitted);
                if matches!(step, Step::Corrupted { .. }) {
                    script.losses.insert(transmission);
                }
            }
            Step::Corrupted { frame } => {
                let what = match frame {
                    CorruptedFrame::Control(_) => "a control frame",
                    _ => "an unprotected frame",
                };
                return Err(ReplayError::Loss { log: log.name.clone(), line: log.line(index), what });
            }
            _ => {}
        }
    }
    Ok(script)
}

/// Counts the arrivals of each frame's copies.
#[derive(Debug, Default)]
pub(super) struct Arrivals(BTreeMap<Place, u32>);

impl Arrivals {
    /// Which transmission of the frame this is.
    pub(super) fn count(&mut self, place: Place, copy: bool) -> Transmission {
        if !copy {
            return (place, 0);
        }
        let count = self.0.entry(place).or_default();
        *count += 1;
        (place, *count)
    }
}

/// Times from sending to arrival of the originals that arrived, ns.
fn transits(from: &ProtocolLog, to: &ProtocolLog) -> Vec<i64> {
    let mut numberings = Numberings::default();
    let mut sent = BTreeMap::new();
    for Record { at, step } in &from.records {
        numberings.follow(step);
        if let Step::Send { header: Some(header), .. } = step
            && let Some(place) = numberings.sent.place(header.mode, header.sequence)
        {
            sent.insert(place, *at);
        }
    }
    let mut numberings = Numberings::default();
    let mut transits = Vec::new();
    for Record { at, step } in &to.records {
        numberings.follow(step);
        if let Step::Data { header, .. } = step
            && !header.retransmitted
            && let Some(place) = numberings.received.place(header.mode, header.sequence)
            && let Some(sent_at) = sent.get(&place)
        {
            transits.push(at.0 as i64 - sent_at.0 as i64);
        }
    }
    transits
}
