//! The table of a run with flows.

use linkmend_report::{Alignment, Cell, Column, Table, Unit};
use linkmend_sim::flows::{
    Affected, FailoverReport, FlowsReport, SecondLinkReport, SpreadingReport, Summary, TrafficReport,
    TrainingReport,
};
use linkmend_sim::host::TimeoutCounts;

const MICRO: f64 = 1e-6;

/// What a run measured, a row for each number.
pub fn table(title: &str, report: &FlowsReport) -> Table {
    let mut table = Table::new(title.to_owned())
        .column(Column::text(""))
        .column(Column::text("").align(Alignment::Right));
    let mut row = |name: &str, cell: Cell| table.push_row([Cell::text(name), cell]);
    let count = |value: u64| Cell::quantity(value as f64, Unit::Count);
    let time = |us: f64| Cell::quantity(us * MICRO, Unit::Second);
    if let Some(training) = &report.flows.training {
        training_rows(&mut row, training);
    }
    if let Some(fct) = &report.flows.fct_us {
        row("flows", count(fct.count));
        row("completion time, minimum", time(fct.min));
        row("mean", time(fct.mean));
        row("median", time(fct.p50));
        row("90 %", time(fct.p90));
        row("95 %", time(fct.p95));
        row("99 %", time(fct.p99));
        row("99.9 %", time(fct.p99_9));
        row("99.99 %", time(fct.p99_99));
        row("99.999 %", time(fct.p99_999));
        row("maximum", time(fct.max));
        row("standard deviation", time(fct.std));
    }
    if report.flows.flows_not_begun > 0 {
        row("flows not started, because an earlier one did not finish", count(report.flows.flows_not_begun));
    }
    row("unfinished flows", count(report.flows.unfinished_flows));
    row("flows given up", count(report.flows.failed_flows));
    row("retransmissions by hosts", count(report.flows.retransmissions));
    row("retransmission timeouts", count(report.flows.timeouts));
    let causes = &report.flows.rdma_timeouts;
    if *causes != TimeoutCounts::default() {
        row("because NAKs were lost", count(causes.nak));
        row("because a packet was lost twice", count(causes.twice));
        row("because the last packet was lost", count(causes.tail));
        row("because the last ACK was lost", count(causes.tail_ack));
        row("after the end of flows, only for dummies", count(causes.behind));
    }
    affected_rows(&mut row, &report.flows.affected_flows);
    if let Some(failover) = &report.failover {
        failover_rows(&mut row, failover);
    }
    if let Some(second) = &report.second_link {
        second_link_rows(&mut row, second);
    }
    if let Some(spreading) = &report.spreading {
        spreading_rows(&mut row, spreading);
    }
    traffic_rows(&mut row, &report.traffic);
    row("goodput", Cell::quantity(report.goodput_gbps * 1e9, Unit::BitPerSecond));
    row("frames sent, on all links", count(report.network.frame_hops));
    row("frames corrupted", count(report.network.frames_corrupted));
    row("frames given up by protected links", count(report.network.frames_given_up));
    if report.network.frames_discarded > 0 {
        row("frames discarded by ports in FLUSH", count(report.network.frames_discarded));
    }
    row("frames dropped by queues", count(report.network.frames_dropped));
    if report.network.pauses > 0 {
        row("pauses by switches (PFC)", count(report.network.pauses));
    }
    row("frames marked (ECN)", count(report.network.frames_marked));
    row("simulated time", Cell::quantity(report.network.simulated_s, Unit::Second));
    row("events simulated", count(report.network.events));
    table
}

/// Flows that losses or reordering disturbed.
fn affected_rows(row: &mut impl FnMut(&str, Cell), affected: &Affected) {
    let count = |value: u64| Cell::quantity(value as f64, Unit::Count);
    if affected.sacked > 0 {
        row("flows with a corrupted frame", count(affected.corrupted));
        row("flows with a SACK", count(affected.sacked));
        row("of these, at most 2 segments SACKed (A)", count(affected.group_a));
        row("the same after a loss at the end (B)", count(affected.group_b));
        row("more SACKed, nothing left to send (C)", count(affected.group_c));
        row("more SACKed, something left to send (D)", count(affected.group_d));
        row("flows that reduced their window", count(affected.reduced));
    }
}

/// What the steps of a training job took.
fn training_rows(row: &mut impl FnMut(&str, Cell), training: &TrainingReport) {
    let count = |value: u64| Cell::quantity(value as f64, Unit::Count);
    let time = |us: f64| Cell::quantity(us * MICRO, Unit::Second);
    row("ranks", count(u64::from(training.ranks) * u64::from(training.groups)));
    if training.groups > 1 {
        row("in groups of", count(u64::from(training.ranks)));
    }
    if let Some(steps) = &training.step_us {
        row("steps", count(steps.count));
        row("step time, mean", time(steps.mean));
        row("median", time(steps.p50));
        row("99 %", time(steps.p99));
        row("maximum", time(steps.max));
    }
    row("step time without latency and disturbance", time(training.ideal_step_us));
    if let Some(ratio) = training.step_ratio {
        row("mean step time, relative to that", Cell::text(format!("{ratio:.3}")));
    }
    if let Some(gbps) = training.bus_gbps {
        row("bus bandwidth", Cell::quantity(gbps * 1e9, Unit::BitPerSecond));
    }
    row("unfinished steps", count(training.unfinished_steps));
    row("unfinished operations", count(training.unfinished_operations));
}

/// What became of the flows of each traffic, if there are several.
fn traffic_rows(row: &mut impl FnMut(&str, Cell), traffic: &[TrafficReport]) {
    let count = |value: u64| Cell::quantity(value as f64, Unit::Count);
    for TrafficReport { name, flows, goodput_gbps } in traffic {
        if let Some(fct) = &flows.fct_us {
            row(&format!("{name}: flows"), count(fct.count));
            row("completion time, median", Cell::quantity(fct.p50 * MICRO, Unit::Second));
            row("99 %", Cell::quantity(fct.p99 * MICRO, Unit::Second));
            row("maximum", Cell::quantity(fct.max * MICRO, Unit::Second));
        }
        row(&format!("{name}: retransmissions by hosts"), count(flows.retransmissions));
        row("retransmission timeouts", count(flows.timeouts));
        row("goodput", Cell::quantity(goodput_gbps * 1e9, Unit::BitPerSecond));
    }
}

/// What failures of links cost.
fn failover_rows(row: &mut impl FnMut(&str, Cell), failover: &FailoverReport) {
    let count = |value: u64| Cell::quantity(value as f64, Unit::Count);
    let bytes = |value: u64| Cell::quantity(value as f64, Unit::Byte);
    let time = |us: f64| Cell::quantity(us * MICRO, Unit::Second);
    row("failures", count(failover.stats.failures));
    row("frames lost on failed links", count(failover.stats.frames_lost));
    row("of these, sent on another path", count(failover.stats.frames_recovered));
    row("frames sent on another path that had arrived", count(failover.stats.frames_duplicated));
    row("frames that waited for another path", count(failover.stats.frames_held));
    row("frames without room for a copy", count(failover.stats.frames_not_kept));
    row("maximum kept for a port, link up", bytes(failover.stats.steady_buffer_bytes));
    row("maximum kept for a port, link failed", bytes(failover.stats.failed_buffer_bytes));
    if let Some(recovery) = &failover.recovery_us {
        row("recovery time, median", time(recovery.p50));
        row("90 %", time(recovery.p90));
        row("maximum", time(recovery.max));
    }
    flow_rows(row, "flows hit by a failure", failover.hit_fct_us.as_ref());
    flow_rows(row, "other flows", failover.other_fct_us.as_ref());
}

/// What second links did.
fn second_link_rows(row: &mut impl FnMut(&str, Cell), second: &SecondLinkReport) {
    let count = |value: u64| Cell::quantity(value as f64, Unit::Count);
    let time = |us: f64| Cell::quantity(us * MICRO, Unit::Second);
    row("link failures, counted at both ends", count(second.stats.cuts));
    row("failures of the link in use", count(second.stats.cuts_in_use));
    row("failovers", count(second.stats.failovers));
    row("other changes of the link", count(second.stats.returns));
    row("frames lost on failed links", count(second.stats.frames_cut));
    row("frames retransmitted on the other link", count(second.stats.frames_resent));
    if let Some(gap) = &second.gap_us {
        row("time without delivery after a failure, median", time(gap.p50));
        row("maximum", time(gap.max));
    }
    flow_rows(row, "flows that lost a frame on a failed link", second.hit_fct_us.as_ref());
    flow_rows(row, "other flows", second.other_fct_us.as_ref());
}

/// Completion times of some of the flows.
fn flow_rows(row: &mut impl FnMut(&str, Cell), flows: &str, times: Option<&Summary>) {
    let time = |us: f64| Cell::quantity(us * MICRO, Unit::Second);
    if let Some(times) = times {
        row(flows, Cell::quantity(times.count as f64, Unit::Count));
        row("completion time, minimum", time(times.min));
        row("median", time(times.p50));
        row("99 %", time(times.p99));
        row("maximum", time(times.max));
    }
}

/// What frames met in queues in parallel.
fn spreading_rows(row: &mut impl FnMut(&str, Cell), spreading: &SpreadingReport) {
    let time = |us: f64| Cell::quantity(us * MICRO, Unit::Second);
    row("frames through parallel queues", Cell::quantity(spreading.frames as f64, Unit::Count));
    row("utilisation of the link behind them", Cell::text(format!("{:.1} %", spreading.utilisation * 100.0)));
    row("delay there, median", time(spreading.delay_p50_us));
    row("99 %", time(spreading.delay_p99_us));
    row("99.9 %", time(spreading.delay_p99_9_us));
}
