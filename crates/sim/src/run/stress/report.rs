//! The report of a stress run.

use crate::link::config::Hardware;
use crate::measure::{Percentiles, Quartiles, TimeSeries};
use crate::sums::add_fields;
use crate::time::Time;
use linkmend_experiment::Counted;
use serde::Serialize;

/// What happened to the frames that were not delivered. The counts add up to all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Undelivered {
    /// Corrupted on a link without protection.
    pub unprotected: u64,
    /// Corrupted, and all their copies with them: what Equation 1 expects.
    pub copies_corrupted: u64,
    /// Corrupted, and given up before a copy came.
    pub copies_late: u64,
    /// Arrived, themselves or a copy, found no room in the Rx buffer, and were given up before they came again.
    pub overflowed: u64,
    /// Dropped at the sender's port by a scheme that had given up, such as LLR in FLUSH.
    #[serde(skip_serializing_if = "is_zero")]
    pub discarded: u64,
    /// Others: lost without the receiver's noticing, or still under way when the run ended.
    pub other: u64,
}

/// The measurements of a stress run. Field names are those of `linkmend sim stress --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StressReport {
    /// The seed it was run with.
    pub seed: u64,
    /// Original frames sent.
    pub frames_sent: u64,
    /// Original frames corrupted on the link.
    pub frames_lost: u64,
    /// `frames_lost / frames_sent`.
    pub actual_loss_rate: f64,
    /// Frames sent that never came out at the far side.
    pub frames_undelivered: u64,
    pub undelivered: Undelivered,
    /// Undelivered frames that count with `weight`: the link corrupted them with all of their copies, and corrupted
    /// copies more often than other frames (`--copy-loss`). Others count once.
    pub frames_weighted: u64,
    /// How much likelier it is to lose all copies of a lost frame on the intended link than on the simulated one: 1
    /// without `--copy-loss`, and below 1 with it.
    pub weight: f64,
    /// `frames_undelivered / frames_sent`, where those of `frames_weighted` count with `weight`.
    pub effective_loss_rate: f64,
    /// Its 95 % interval. Undelivered frames whose numbers follow each other count as one event.
    pub effective_loss_rate_interval: (f64, f64),
    /// Undelivered frames, with gaps in their numbers as clusters.
    #[serde(skip)]
    pub missing: Counted,
    /// Frames that the link usually corrupts in a row.
    #[serde(skip)]
    pub burst_frames: f64,
    /// Equation 1: `actual_loss_rate^(copies + 1)`; null without `copies`.
    pub effective_loss_rate_expected: Option<f64>,
    /// Copies retransmitted for one lost frame (Equation 2); null if the scheme retransmits until one arrives, as LLR does.
    pub copies: Option<u8>,
    /// Frames delivered after one that was sent later; none in ordered mode.
    pub frames_reordered: u64,
    /// Delivered frames' octets, from destination address to frame check sequence as port counters count them, per
    /// time; Gbit/s.
    pub effective_speed_gbps: f64,
    /// The same as a share of the link rate, in percent.
    pub effective_speed_pct: f64,
    /// Tx buffer, bytes.
    pub tx_buffer_bytes: Quartiles,
    /// Rx buffer, bytes.
    pub rx_buffer_bytes: Quartiles,
    /// Time at each Tx buffer level: (bytes, share of the time), ascending.
    pub tx_buffer_levels: Vec<(u64, f64)>,
    /// The same of the Rx buffer.
    pub rx_buffer_levels: Vec<(u64, f64)>,
    /// Share of the time in which the Tx buffer had no room for another frame, in percent.
    pub tx_buffer_full_pct: f64,
    /// Frames the receiver gave up (`ackNoTimeout`).
    pub recovery_timeouts: u64,
    /// Runs of consecutive original frames that the link corrupted, in the order in which the sender numbered them,
    /// whether or not the receiver noticed. Copies, dummies and control frames in between do not count.
    pub loss_events: u64,
    /// How many of them had length 1, 2, ... frames; the last entry counts all longer ones.
    pub hole_lengths: Vec<u64>,
    pub retransmitted_copies: u64,
    /// Frames dropped because the Rx buffer was full.
    pub rx_buffer_overflows: u64,
    /// Times the receiver paused the sender.
    pub pauses: u64,
    /// Time the sender spent paused, ns.
    pub paused_ns: f64,
    /// From the receiver's noticing a loss to the arrival of its first copy, ns.
    pub retransmission_delay_ns: Percentiles,
    /// Its distribution: (delay in ns, how many), ascending, in bins of one 128th.
    pub retransmission_delays: Vec<(f64, u64)>,
    /// From the receiver's decision to resume to the first frame that arrives then, longest, ns.
    pub resume_flight_max_ns: f64,
    /// Passes over the sender's recirculation port, as a percentage of the pipe's capacity.
    pub tx_recirculation_pct: f64,
    /// The same at the receiver.
    pub rx_recirculation_pct: f64,
    /// How long the sender's recirculation port was busy with frames, as a percentage of the time.
    pub tx_recirculation_busy_pct: f64,
    /// The same at the receiver.
    pub rx_recirculation_busy_pct: f64,
    /// How the switches buffer, and why so.
    pub hardware: Hardware,
    /// What of the switches or the parameters kept the link from its rate.
    pub warnings: Vec<String>,
    /// What the two ends have counted, under the names of the scheme's specification, if it has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<PortCounter>,
    /// Simulated time until the last delivery, or until the end if nothing was delivered, ns.
    pub simulated_ns: f64,
    /// Events simulated (fast-forward needs fewer).
    pub events: u64,
    /// Wall-clock time, s; filled in by whoever has a clock. It is no result, so that the same seed gives the same bytes.
    #[serde(skip)]
    pub wall_s: f64,
}

/// A counter of both ends of the link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortCounter {
    pub name: &'static str,
    /// The end that sends the traffic.
    pub sender: u64,
    /// The end that receives it.
    pub receiver: u64,
}

/// Buffer levels over time, in bytes. Both series have the same steps.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferSeries {
    /// When the traffic began, and the series with it.
    pub began: Time,
    /// The sender's Tx buffer.
    pub tx: TimeSeries,
    /// The receiver's Rx buffer.
    pub rx: TimeSeries,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Undelivered {
    /// Those of another run as well.
    pub(crate) fn add(&mut self, other: Undelivered) {
        add_fields!(self, other; unprotected, copies_corrupted, copies_late, overflowed, discarded, other);
    }
}

impl StressReport {
    /// The effective loss rate; 0 if nothing was sent.
    pub fn effective_loss(&self) -> f64 {
        self.of_sent(self.frames_weighted as f64 * self.weight + self.frames_counted() as f64)
    }

    /// Where the true effective loss rate lies; anywhere if nothing was sent.
    pub fn effective_loss_interval(&self) -> (f64, f64) {
        if self.frames_sent == 0 {
            return (0.0, 1.0);
        }
        let (low, high) = if self.weight == 1.0 {
            self.missing.interval(self.burst_frames)
        } else {
            // Copies are corrupted one by one then, whatever the link does to originals.
            let mut missing = Counted::single(self.frames_weighted, self.weight);
            missing.merge(&Counted::single(self.frames_counted(), 1.0));
            missing.interval(self.weight)
        };
        (self.of_sent(low), self.of_sent(high))
    }

    /// Frames undelivered that count once.
    fn frames_counted(&self) -> u64 {
        self.frames_undelivered.saturating_sub(self.frames_weighted)
    }

    fn of_sent(&self, frames: f64) -> f64 {
        if self.frames_sent == 0 { 0.0 } else { (frames / self.frames_sent as f64).min(1.0) }
    }
}
