//! What runs with flows measure, and what is compared with published values.

use super::flow_run::{
    FlowOutcome, FlowRun, extremes, flows, measured_percentile, measured_slowdown, moments, of_runs,
};
use super::outcome::{Metric, Outcome, metrics};
use crate::host::TimeoutCounts;
use crate::run::flows::{Affected, FailoverReport, SpreadingReport, TrainingReport};
use linkmend_experiment::{Counted, Measurement, Quantity};
use std::ops::RangeInclusive;

/// Sizes of flows, in bytes.
const ANY: RangeInclusive<u64> = 0..=u64::MAX;
const SMALL: RangeInclusive<u64> = 0..=10_000;
const LARGE: RangeInclusive<u64> = 1_000_000..=u64::MAX;

/// Those that grow with the trials of a run.
pub(super) const COUNTS_OF_A_RUN: [&str; 19] = [
    "retransmissions",
    "timeouts",
    "timeouts_nak",
    "timeouts_twice",
    "timeouts_tail",
    "timeouts_tail_ack",
    "steps_unfinished",
    "operations_unfinished",
    "flows_failed",
    "flows_unfinished",
    "bytes_sent",
    "frames_corrupted",
    "failures",
    "frames_cut",
    "frames_recovered",
    "frames_missing",
    "frames_duplicated",
    "frames_held",
    "frames_not_kept",
];

/// All of them, in the order of tables: the parts of the distribution of flow completion times (FCT) of all runs, then means
/// over the runs. A percentile has the interval in which the true one lies.
pub(super) const ALL: [Metric; 79] = metrics! {
    "fct_us.min", "minimum FCT", Time, 1e-6, all(|runs| exact(extremes(runs)?.0));
    "fct_us.mean", "mean FCT", Time, 1e-6, all(|runs| of_runs(runs, |runs| Some(moments(runs)?.0)));
    "fct_us.p50", "median FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.5));
    "fct_us.p90", "90 % FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.9));
    "fct_us.p95", "95 % FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.95));
    "fct_us.p99", "99 % FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.99));
    "fct_us.p99_9", "99.9 % FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.999));
    "fct_us.p99_99", "99.99 % FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.9999));
    "fct_us.p99_999", "99.999 % FCT", Time, 1e-6, all(|runs| measured_percentile(runs, 0.99999));
    "fct_us.max", "maximum FCT", Time, 1e-6, all(|runs| exact(extremes(runs)?.1));
    "fct_us.std", "standard deviation of FCT", Time, 1e-6, all(|runs| of_runs(runs, |runs| Some(moments(runs)?.1)));
    "slowdown.p50", "median slowdown", Plain, 1.0, all(|runs| measured_slowdown(runs, ANY, 0.5));
    "slowdown.p99", "99 % slowdown", Plain, 1.0, all(|runs| measured_slowdown(runs, ANY, 0.99));
    "slowdown.p99_9", "99.9 % slowdown", Plain, 1.0, all(|runs| measured_slowdown(runs, ANY, 0.999));
    "slowdown_small.p99", "99 % slowdown up to 10 kB", Plain, 1.0, all(|runs| measured_slowdown(runs, SMALL, 0.99));
    "slowdown_small.p99_9", "99.9 % slowdown up to 10 kB", Plain, 1.0, all(|runs| measured_slowdown(runs, SMALL, 0.999));
    "slowdown_large.p99", "99 % slowdown from 1 MB", Plain, 1.0, all(|runs| measured_slowdown(runs, LARGE, 0.99));
    "step_us.mean", "mean step time", Time, 1e-6, training(|of| Some(of.step_us?.mean));
    "step_us.p50", "median step time", Time, 1e-6, training(|of| Some(of.step_us?.p50));
    "step_us.max", "maximum step time", Time, 1e-6, training(|of| Some(of.step_us?.max));
    "step_ratio", "mean step time, relative to the least possible", Plain, 1.0, training(|of| of.step_ratio);
    "bus_gbps", "bus bandwidth", Rate, 1e9, training(|of| of.bus_gbps);
    "steps_unfinished", "unfinished steps per run", Plain, 1.0, training(|of| Some(of.unfinished_steps as f64));
    "operations_unfinished", "unfinished operations per run", Plain, 1.0, training(|of| Some(of.unfinished_operations as f64));
    "goodput_gbps", "goodput", Rate, 1e9, mean(|run| Some(run.report.goodput_gbps));
    "flows_resent_pct", "flows with a retransmission by hosts", Share, 0.01, share(|run| Some(run.resent));
    "retransmissions", "retransmissions per run", Plain, 1.0, mean(|run| Some(run.report.flows.retransmissions as f64));
    "timeouts", "timeouts per run", Plain, 1.0, mean(|run| Some(run.report.flows.timeouts as f64));
    "timeouts_nak", "timeouts because NAKs were lost", Plain, 1.0, counted(|counts| counts.nak);
    "timeouts_twice", "timeouts because a packet was lost twice", Plain, 1.0, counted(|counts| counts.twice);
    "timeouts_tail", "timeouts because the last packet was lost", Plain, 1.0, counted(|counts| counts.tail);
    "timeouts_tail_ack", "timeouts because the last ACK was lost", Plain, 1.0, counted(|counts| counts.tail_ack);
    "flows_failed", "flows given up per run", Plain, 1.0, mean(|run| Some(run.report.flows.failed_flows as f64));
    "flows_unfinished", "unfinished flows per run", Plain, 1.0, mean(|run| Some(run.report.flows.unfinished_flows as f64));
    "bytes_sent", "bytes sent by hosts per run", Size, 1.0, mean(|run| Some(run.report.network.host_bytes_sent as f64));
    "frames_corrupted", "frames corrupted per run, copies included", Plain, 1.0, mean(|run| Some(run.report.network.frames_corrupted as f64));
    "flows_corrupted_pct", "flows with a corrupted frame", Share, 0.01, share_of_flows(|of| of.corrupted);
    "flows_sacked_pct", "flows whose sender received a SACK", Share, 0.01, share_of_flows(|of| of.sacked);
    "group_a_pct", "group A, share of flows with a SACK", Share, 0.01, share_of_sacked(|of| of.group_a);
    "group_b_pct", "group B, share of flows with a SACK", Share, 0.01, share_of_sacked(|of| of.group_b);
    "group_c_pct", "group C, share of flows with a SACK", Share, 0.01, share_of_sacked(|of| of.group_c);
    "group_d_pct", "group D, share of flows with a SACK", Share, 0.01, share_of_sacked(|of| of.group_d);
    "retransmissions_pct", "retransmissions per segment", Share, 0.01, share(|run| Some(run.report.flows.retransmissions as f64 / run.segments));
    "utilisation_pct", "utilisation of the link behind parallel queues", Share, 0.01, share(|run| Some(run.report.spreading.as_ref()?.utilisation));
    "queue_us.p50", "median delay in parallel queues", Time, 1e-6, spreading(|of| of.delay_p50_us);
    "queue_us.p99", "99 % delay in parallel queues", Time, 1e-6, spreading(|of| of.delay_p99_us);
    "queue_us.p99_9", "99.9 % delay in parallel queues", Time, 1e-6, spreading(|of| of.delay_p99_9_us);
    "failures", "failures per run", Plain, 1.0, failover(|of| Some(of.stats.failures as f64));
    "frames_cut", "frames lost on failed links, per run", Plain, 1.0, failover(|of| Some(of.stats.frames_lost as f64));
    "frames_cut_per_failure", "frames lost per failure", Plain, 1.0, failover(|of| Some(of.stats.frames_lost as f64 / of.stats.failures.max(1) as f64));
    "frames_recovered", "lost frames handed over, per run", Plain, 1.0, failover(|of| Some(of.stats.frames_recovered as f64));
    "frames_missing", "frames lost and not handed over, per run", Plain, 1.0, failover(|of| Some(of.stats.frames_lost as f64 - of.stats.frames_recovered as f64));
    "frames_missing_per_failure", "frames lost and not handed over, per failure", Plain, 1.0, failover(|of| Some((of.stats.frames_lost as f64 - of.stats.frames_recovered as f64) / of.stats.failures.max(1) as f64));
    "frames_duplicated", "frames handed over that had already arrived, per run", Plain, 1.0, failover(|of| Some(of.stats.frames_duplicated as f64));
    "frames_held", "frames that waited, per run", Plain, 1.0, failover(|of| Some(of.stats.frames_held as f64));
    "frames_not_kept", "frames without room for a copy, per run", Plain, 1.0, failover(|of| Some(of.stats.frames_not_kept as f64));
    "steady_buffer_bytes", "maximum kept for a port while its link is up", Size, 1.0, failover(|of| Some(of.stats.steady_buffer_bytes as f64));
    "failed_buffer_bytes", "maximum kept for a port while its link has failed", Size, 1.0, failover(|of| Some(of.stats.failed_buffer_bytes as f64));
    "recovery_us.p50", "median recovery time", Time, 1e-6, failover(|of| Some(of.recovery_us?.p50));
    "recovery_us.p90", "90 % recovery time", Time, 1e-6, failover(|of| Some(of.recovery_us?.p90));
    "recovery_us.max", "maximum recovery time", Time, 1e-6, failover(|of| Some(of.recovery_us?.max));
    "recovery_longer_pct", "recoveries longer than the route failure time", Share, 0.01, failover_share(|of| of.recovery_longer_share);
    "recovery_longer_lost_pct", "recoveries longer than the route failure time, of failures that lost frames", Share, 0.01, failover_share(|of| of.recovery_longer_share_lost);
    "hit_flows_pct", "flows hit by a failure", Share, 0.01, failover_share(|of| Some(of.hit_flows() / (of.hit_flows() + of.other_fct_us.map_or(0.0, |of| of.count as f64))));
    "lost_per_hit_flow", "frames lost per flow hit by a failure", Plain, 1.0, failover(|of| Some(of.stats.frames_lost as f64 / of.hit_flows()));
    "missing_per_hit_flow", "frames lost and not handed over, per flow hit by a failure", Plain, 1.0, failover(|of| Some((of.stats.frames_lost as f64 - of.stats.frames_recovered as f64) / of.hit_flows()));
    "hit_over_2ms_pct", "flows hit by a failure that took longer than 2 ms", Share, 0.01, failover_share(|of| Some(of.hit_longer[0] as f64 / of.hit_flows()));
    "hit_over_30ms_pct", "flows hit by a failure that took longer than 30 ms", Share, 0.01, failover_share(|of| Some(of.hit_longer[1] as f64 / of.hit_flows()));
    "hit_over_900ms_pct", "flows hit by a failure that took longer than 900 ms", Share, 0.01, failover_share(|of| Some(of.hit_longer[2] as f64 / of.hit_flows()));
    "hit_30_to_900ms_pct", "flows hit by a failure that took 30 to 900 ms", Share, 0.01, failover_share(|of| Some((of.hit_longer[1] - of.hit_longer[2]) as f64 / of.hit_flows()));
    "timeouts_per_hit_flow", "timeouts per flow hit by a failure", Plain, 1.0, mean(|run| Some(run.report.flows.timeouts as f64 / run.report.failover.as_ref()?.hit_flows()));
    "hit_fct_us.min", "minimum FCT of flows hit by a failure", Time, 1e-6, failover(|of| Some(of.hit_fct_us?.min));
    "hit_fct_us.p50", "median FCT of flows hit by a failure", Time, 1e-6, failover(|of| Some(of.hit_fct_us?.p50));
    "hit_fct_us.p99", "99 % FCT of flows hit by a failure", Time, 1e-6, failover(|of| Some(of.hit_fct_us?.p99));
    "hit_fct_us.max", "maximum FCT of flows hit by a failure", Time, 1e-6, failover(|of| Some(of.hit_fct_us?.max));
    "other_fct_us.min", "minimum FCT of other flows", Time, 1e-6, failover(|of| Some(of.other_fct_us?.min));
    "other_fct_us.p50", "median FCT of other flows", Time, 1e-6, failover(|of| Some(of.other_fct_us?.p50));
    "other_delivery_us.min", "minimum time until the receiver of an unaffected flow has all of its data", Time, 1e-6, failover(|of| Some(of.other_delivery_us?.min));
    "group_d_pending_bytes_max", "maximum amount that a flow of group D had left to send", Size, 1.0, all(|runs| exact(runs.iter().map(|run| run.report.flows.affected_flows.group_d_pending_bytes_max).max()? as f64));
};

fn exact(value: f64) -> Option<Measurement> {
    Measurement::exact(value)
}

/// Reads a number of a report, if it is there.
type Read<T> = fn(&T) -> Option<f64>;

/// A value of all runs together.
fn all(outcome: &Outcome, _: f64, read: fn(&FlowOutcome) -> Option<Measurement>) -> Option<Measurement> {
    read(outcome.flows()?)
}

/// A share, the mean over the runs.
fn share(outcome: &Outcome, _: f64, read: Read<FlowRun>) -> Option<Measurement> {
    outcome.flows()?.mean(read)
}

/// A value in the report's unit, the mean over the runs.
fn mean(outcome: &Outcome, scale: f64, read: impl Fn(&FlowRun) -> Option<f64>) -> Option<Measurement> {
    outcome.flows()?.mean(|run| read(run).map(|value| value * scale))
}

/// What the steps of a training job took.
fn training(outcome: &Outcome, scale: f64, read: Read<TrainingReport>) -> Option<Measurement> {
    mean(outcome, scale, |run| read(run.report.flows.training.as_ref()?))
}

/// What frames met in queues in parallel.
fn spreading(outcome: &Outcome, scale: f64, read: fn(&SpreadingReport) -> f64) -> Option<Measurement> {
    mean(outcome, scale, |run| run.report.spreading.as_ref().map(read))
}

/// What failures of links cost.
fn failover(outcome: &Outcome, scale: f64, read: Read<FailoverReport>) -> Option<Measurement> {
    mean(outcome, scale, |run| read(run.report.failover.as_ref()?))
}

fn failover_share(outcome: &Outcome, _: f64, read: Read<FailoverReport>) -> Option<Measurement> {
    failover(outcome, 1.0, read)
}

/// Timeouts of a kind in a run, with their interval.
fn counted(outcome: &Outcome, _: f64, count: fn(&TimeoutCounts) -> u64) -> Option<Measurement> {
    let outcome = outcome.flows()?;
    let (all, runs) =
        (outcome.iter().map(|run| count(&run.report.flows.rdma_timeouts)).sum(), outcome.iter().count());
    let (low, high) = Counted::single(all, 1.0).interval(1.0);
    let of_run = |count: f64| count / runs.max(1) as f64;
    Some(Measurement { value: of_run(all as f64), interval: Some((of_run(low), of_run(high))) })
}

/// The share of all flows, with its interval.
fn share_of_flows(outcome: &Outcome, _: f64, count: fn(&Affected) -> u64) -> Option<Measurement> {
    let runs = outcome.flows()?;
    Measurement::counted(sum(runs, count), flows(runs) as u64, 1.0)
}

/// The share of those whose sender received a SACK, with its interval.
fn share_of_sacked(outcome: &Outcome, _: f64, count: fn(&Affected) -> u64) -> Option<Measurement> {
    let runs = outcome.flows()?;
    Measurement::counted(sum(runs, count), sum(runs, |of| of.sacked), 1.0)
}

fn sum(outcome: &FlowOutcome, count: fn(&Affected) -> u64) -> u64 {
    outcome.iter().map(|run| count(&run.report.flows.affected_flows)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_run_are_metrics() {
        for name in COUNTS_OF_A_RUN {
            assert!(ALL.iter().any(|metric| metric.name == name), "{name}");
        }
        // A label that ends with "per run" must belong to one of these counts.
        for metric in ALL.iter().filter(|metric| metric.label.ends_with("per run")) {
            assert!(COUNTS_OF_A_RUN.contains(&metric.name), "{}", metric.name);
        }
    }
}
