//! What runs of generators over several links measure: means over the runs.

use super::outcome::{Metric, Outcome, metrics};
use crate::links::{LinkReport, LinksReport, PairReport, StreamReport};
use linkmend_experiment::{Measurement, Quantity};

const NANO: f64 = 1e-9;
const MICRO: f64 = 1e-6;

/// All of them, in the order in which tables show them. Those of streams and links are sums or the greatest.
pub(super) const ALL: [Metric; 22] = metrics! {
    "streams_speed_gbps", "speed of all traffic", Rate, 1e9, mean(|r| Some(r.total_speed_gbps()));
    "streams_undelivered", "frames undelivered, end to end", Count, 1.0, streams(|s| s.delivery.frames_undelivered);
    "streams_reordered", "frames reordered, end to end", Count, 1.0, streams(|s| s.delivery.frames_reordered);
    "streams_duplicated", "frames delivered twice", Count, 1.0, streams(|s| s.delivery.frames_duplicated);
    "streams_marked", "frames marked on the way (ECN)", Count, 1.0, streams(|s| s.delivery.frames_marked);
    "delay_ns.p50", "median delay", Time, NANO, delay(|s| s.delivery.delay_ns.p50);
    "delay_ns.p999", "99.9 % delay", Time, NANO, delay(|s| s.delivery.delay_ns.p999);
    "delay_ns.max", "longest delay", Time, NANO, delay(|s| s.delivery.delay_ns.max);
    "recovered_in_time_pct", "lost frames delivered within ackNoTimeout", Share, 0.01, mean(in_time_pct);
    "recovered_late", "lost frames delivered later", Count, 1.0, streams(|s| s.delivery.recovery.late);
    "recovered_never", "lost frames never delivered", Count, 1.0, streams(|s| s.delivery.recovery.never);
    "links_lost", "frames that links corrupted", Count, 1.0, links(|link| link.frames_lost);
    "links_copies", "copies sent by all links", Count, 1.0, links(|link| link.retransmitted_copies);
    "links_dummies", "dummies sent", Count, 1.0, links(|link| link.dummies_sent);
    "links_given_up", "frames that the links gave up on", Count, 1.0, links(|link| link.recovery_timeouts);
    "links_dropped", "frames dropped by full queues", Count, 1.0, links(|link| link.queue_drops);
    "level_changes", "changes of the level", Count, 1.0, mean(|r| (!r.samples.is_empty()).then_some(r.changes.len() as f64));
    "pair_frames_cut", "frames lost on the failed link", Count, 1.0, pair(|of| Some(of.frames_cut as f64));
    "pair_frames_resent", "frames retransmitted on the other link", Count, 1.0, pair(|of| Some(of.frames_resent as f64));
    "pair_recovery_us.p50", "median recovery", Time, MICRO, pair(|of| Some(of.recovery_us?.p50));
    "pair_recovery_us.max", "longest recovery", Time, MICRO, pair(|of| Some(of.recovery_us?.max));
    "pair_failed_buffer_bytes", "kept during a failure", Size, 1.0, pair(|of| Some(of.failed_buffer_bytes as f64));
};

fn mean(outcome: &Outcome, scale: f64, read: impl Fn(&LinksReport) -> Option<f64>) -> Option<Measurement> {
    outcome.links()?.mean(|report| read(report).map(|value| value * scale))
}

fn streams(outcome: &Outcome, scale: f64, of: fn(&StreamReport) -> u64) -> Option<Measurement> {
    mean(outcome, scale, |report| Some(report.streams.iter().map(of).sum::<u64>() as f64))
}

fn delay(outcome: &Outcome, scale: f64, of: fn(&StreamReport) -> f64) -> Option<Measurement> {
    mean(outcome, scale, |report| report.streams.iter().map(of).reduce(f64::max))
}

fn links(outcome: &Outcome, scale: f64, of: fn(&LinkReport) -> u64) -> Option<Measurement> {
    let sum = |report: &LinksReport| report.links.iter().map(of).sum::<u64>() as f64;
    mean(outcome, scale, |report| (!report.links.is_empty()).then(|| sum(report)))
}

fn pair(outcome: &Outcome, scale: f64, of: fn(&PairReport) -> Option<f64>) -> Option<Measurement> {
    mean(outcome, scale, |report| report.second_link.as_ref().and_then(of))
}

fn in_time_pct(report: &LinksReport) -> Option<f64> {
    let recovery = |stream: &StreamReport| stream.delivery.recovery;
    let lost: u64 = report.streams.iter().map(|stream| recovery(stream).frames_lost).sum();
    let in_time: u64 = report.streams.iter().map(|stream| recovery(stream).in_time).sum();
    (lost > 0).then(|| 100.0 * in_time as f64 / lost as f64)
}
