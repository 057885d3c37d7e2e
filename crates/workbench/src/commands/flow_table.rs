//! The table of a run with flows.

use super::rows::Rows;
use linkmend_report::{Cell, Table, Unit};
use linkmend_sim::flows::{
    Affected, FailoverReport, FlowsReport, SecondLinkReport, SpreadingReport, Summary, TrafficReport,
    TrainingReport,
};
use linkmend_sim::host::TimeoutCounts;

/// What a run measured, a row for each number.
pub fn table(title: &str, report: &FlowsReport) -> Table {
    let mut rows = Rows::new(title, "");
    if let Some(training) = &report.flows.training {
        training_rows(&mut rows, training);
    }
    if let Some(fct) = &report.flows.fct_us {
        rows.count("flows", fct.count);
        rows.micros("completion time, minimum", fct.min);
        rows.micros("mean", fct.mean);
        rows.micros("median", fct.p50);
        rows.micros("90 %", fct.p90);
        rows.micros("95 %", fct.p95);
        rows.micros("99 %", fct.p99);
        rows.micros("99.9 %", fct.p99_9);
        rows.micros("99.99 %", fct.p99_99);
        rows.micros("99.999 %", fct.p99_999);
        rows.micros("maximum", fct.max);
        rows.micros("standard deviation", fct.std);
    }
    if report.flows.flows_not_begun > 0 {
        rows.count("flows not started, because an earlier one did not finish", report.flows.flows_not_begun);
    }
    rows.count("unfinished flows", report.flows.unfinished_flows);
    rows.count("flows given up", report.flows.failed_flows);
    rows.count("retransmissions by hosts", report.flows.retransmissions);
    rows.count("retransmission timeouts", report.flows.timeouts);
    let causes = &report.flows.rdma_timeouts;
    if *causes != TimeoutCounts::default() {
        rows.count("because NAKs were lost", causes.nak);
        rows.count("because a packet was lost twice", causes.twice);
        rows.count("because the last packet was lost", causes.tail);
        rows.count("because the last ACK was lost", causes.tail_ack);
        rows.count("after the end of flows, only for dummies", causes.behind);
    }
    affected_rows(&mut rows, &report.flows.affected_flows);
    if let Some(failover) = &report.failover {
        failover_rows(&mut rows, failover);
    }
    if let Some(second) = &report.second_link {
        second_link_rows(&mut rows, second);
    }
    if let Some(spreading) = &report.spreading {
        spreading_rows(&mut rows, spreading);
    }
    traffic_rows(&mut rows, &report.traffic);
    rows.quantity("goodput", report.goodput_gbps * 1e9, Unit::BitPerSecond);
    rows.count("frames sent, on all links", report.network.frame_hops);
    rows.count("frames corrupted", report.network.frames_corrupted);
    rows.count("frames given up by protected links", report.network.frames_given_up);
    if report.network.frames_discarded > 0 {
        rows.count("frames discarded by ports in FLUSH", report.network.frames_discarded);
    }
    rows.count("frames dropped by queues", report.network.frames_dropped);
    if report.network.pauses > 0 {
        rows.count("pauses by switches (PFC)", report.network.pauses);
    }
    rows.count("frames marked (ECN)", report.network.frames_marked);
    rows.quantity("simulated time", report.network.simulated_s, Unit::Second);
    rows.count("events simulated", report.network.events);
    rows.into_table()
}

/// Flows that losses or reordering disturbed.
fn affected_rows(rows: &mut Rows, affected: &Affected) {
    if affected.sacked > 0 {
        rows.count("flows with a corrupted frame", affected.corrupted);
        rows.count("flows with a SACK", affected.sacked);
        rows.count("of these, at most 2 segments SACKed (A)", affected.group_a);
        rows.count("the same after a loss at the end (B)", affected.group_b);
        rows.count("more SACKed, nothing left to send (C)", affected.group_c);
        rows.count("more SACKed, something left to send (D)", affected.group_d);
        rows.count("flows that reduced their window", affected.reduced);
    }
}

/// What the steps of a training job took.
fn training_rows(rows: &mut Rows, training: &TrainingReport) {
    rows.count("ranks", u64::from(training.ranks) * u64::from(training.groups));
    if training.groups > 1 {
        rows.count("in groups of", u64::from(training.ranks));
    }
    if let Some(steps) = &training.step_us {
        rows.count("steps", steps.count);
        rows.micros("step time, mean", steps.mean);
        rows.micros("median", steps.p50);
        rows.micros("99 %", steps.p99);
        rows.micros("maximum", steps.max);
    }
    rows.micros("step time without latency and disturbance", training.ideal_step_us);
    if let Some(ratio) = training.step_ratio {
        rows.row("mean step time, relative to that", Cell::text(format!("{ratio:.3}")));
    }
    if let Some(gbps) = training.bus_gbps {
        rows.quantity("bus bandwidth", gbps * 1e9, Unit::BitPerSecond);
    }
    rows.count("unfinished steps", training.unfinished_steps);
    rows.count("unfinished operations", training.unfinished_operations);
}

/// What became of the flows of each traffic, if there are several.
fn traffic_rows(rows: &mut Rows, traffic: &[TrafficReport]) {
    for TrafficReport { name, flows, goodput_gbps } in traffic {
        if let Some(fct) = &flows.fct_us {
            rows.count(&format!("{name}: flows"), fct.count);
            rows.micros("completion time, median", fct.p50);
            rows.micros("99 %", fct.p99);
            rows.micros("maximum", fct.max);
        }
        rows.count(&format!("{name}: retransmissions by hosts"), flows.retransmissions);
        rows.count("retransmission timeouts", flows.timeouts);
        rows.quantity("goodput", goodput_gbps * 1e9, Unit::BitPerSecond);
    }
}

/// What failures of links cost.
fn failover_rows(rows: &mut Rows, failover: &FailoverReport) {
    rows.count("failures", failover.stats.failures);
    rows.count("frames lost on failed links", failover.stats.frames_lost);
    rows.count("of these, sent on another path", failover.stats.frames_recovered);
    rows.count("frames sent on another path that had arrived", failover.stats.frames_duplicated);
    rows.count("frames that waited for another path", failover.stats.frames_held);
    rows.count("frames without room for a copy", failover.stats.frames_not_kept);
    rows.quantity("maximum kept for a port, link up", failover.stats.steady_buffer_bytes as f64, Unit::Byte);
    rows.quantity(
        "maximum kept for a port, link failed",
        failover.stats.failed_buffer_bytes as f64,
        Unit::Byte,
    );
    if let Some(recovery) = &failover.recovery_us {
        rows.micros("recovery time, median", recovery.p50);
        rows.micros("90 %", recovery.p90);
        rows.micros("maximum", recovery.max);
    }
    flow_rows(rows, "flows hit by a failure", failover.hit_fct_us.as_ref());
    flow_rows(rows, "other flows", failover.other_fct_us.as_ref());
}

/// What second links did.
fn second_link_rows(rows: &mut Rows, second: &SecondLinkReport) {
    rows.count("link failures, counted at both ends", second.stats.cuts);
    rows.count("failures of the link in use", second.stats.cuts_in_use);
    rows.count("failovers", second.stats.failovers);
    rows.count("other changes of the link", second.stats.returns);
    rows.count("frames lost on failed links", second.stats.frames_cut);
    rows.count("frames retransmitted on the other link", second.stats.frames_resent);
    if let Some(gap) = &second.gap_us {
        rows.micros("time without delivery after a failure, median", gap.p50);
        rows.micros("maximum", gap.max);
    }
    flow_rows(rows, "flows that lost a frame on a failed link", second.hit_fct_us.as_ref());
    flow_rows(rows, "other flows", second.other_fct_us.as_ref());
}

/// Completion times of some of the flows.
fn flow_rows(rows: &mut Rows, flows: &str, times: Option<&Summary>) {
    if let Some(times) = times {
        rows.count(flows, times.count);
        rows.micros("completion time, minimum", times.min);
        rows.micros("median", times.p50);
        rows.micros("99 %", times.p99);
        rows.micros("maximum", times.max);
    }
}

/// What frames met in queues in parallel.
fn spreading_rows(rows: &mut Rows, spreading: &SpreadingReport) {
    rows.count("frames through parallel queues", spreading.frames);
    rows.row(
        "utilisation of the link behind them",
        Cell::text(format!("{:.1} %", spreading.utilisation * 100.0)),
    );
    rows.micros("delay there, median", spreading.delay_p50_us);
    rows.micros("99 %", spreading.delay_p99_us);
    rows.micros("99.9 %", spreading.delay_p99_9_us);
}
