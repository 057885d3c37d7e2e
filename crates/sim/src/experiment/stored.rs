//! Outcomes as bytes. Each report lists all of its fields, so that the compiler refuses a report with a new field that is
//! not stored.

use super::flow_run::FlowRun;
use super::outcome::{Optics, Outcome};
use crate::flows::{
    Affected, FailoverReport, FlowCounts, FlowsReport, NetworkCounts, SecondLinkReport, SpreadingReport,
    Summary, TrafficReport, TrainingReport,
};
use crate::host::TimeoutCounts;
use crate::link::FlowId;
use crate::link::config::Hardware;
use crate::links::{
    Completion, CutRow, Delivery, LevelChange, LinkReport, LinksReport, PairReport, PortReport,
    Recovery as StreamRecovery, Sample, StreamReport,
};
use crate::measure::{Percentiles, Quartiles};
use crate::network::{FailoverStats, Recovery, SecondLinkStats};
use crate::stress::{PortCounter, StressReport, Undelivered};
use crate::time::Time;
use linkmend_experiment::{Runs, Stored, stored};
use linkmend_protocol::paths::Path;

stored!(Optics; frame_loss_rate, bit_error_rate);
stored!(Quartiles; min, p25, p50, p75, max);
stored!(Percentiles; count, min, mean, p50, p90, p99, p999, max);
stored!(Summary; count, min, mean, p50, p90, p95, p99, p99_9, p99_99, p99_999, max, std);
stored!(Hardware; buffering, recirculation_gbps, reason);

// Line-rate traffic. How long a run took differs from one machine to the next.
stored!(Undelivered; unprotected, copies_corrupted, copies_late, overflowed, discarded, other);
stored!(PortCounter; name, sender, receiver);
stored!(
    StressReport;
    seed, frames_sent, frames_lost, actual_loss_rate, frames_undelivered, undelivered, frames_weighted,
    weight, effective_loss_rate, effective_loss_rate_interval, missing, burst_frames,
    effective_loss_rate_expected, copies, frames_reordered, effective_speed_gbps, effective_speed_pct,
    tx_buffer_bytes, rx_buffer_bytes, tx_buffer_levels, rx_buffer_levels, tx_buffer_full_pct,
    recovery_timeouts, loss_events, hole_lengths, retransmitted_copies, rx_buffer_overflows, pauses,
    paused_ns, retransmission_delay_ns, retransmission_delays, resume_flight_max_ns, tx_recirculation_pct,
    rx_recirculation_pct, tx_recirculation_busy_pct, rx_recirculation_busy_pct, hardware, warnings, counters,
    simulated_ns, events; except wall_s
);

// Several links.
stored!(StreamRecovery; frames_lost, in_time, late, never, extra_delay_ns);
stored!(
    Delivery;
    frames_sent, frames_delivered, frames_undelivered, loss_rate, frames_reordered, frames_duplicated,
    frames_marked, speed_gbps, delay_ns, recovery
);
stored!(StreamReport; name, delivery);
stored!(
    LinkReport;
    name, frames_offered, queue_drops, frames_sent, frames_lost, actual_loss_rate, frames_delivered,
    frames_undelivered, effective_loss_rate, retransmitted_copies, dummies_sent, recovery_timeouts,
    rx_buffer_overflows, pauses, paused_ns, tx_buffer_bytes, rx_buffer_bytes, retransmission_delay_ns,
    queue_marks, queue_bytes_max, piggybacked_acks, explicit_acks, notifications
);
stored!(PortReport; name, passes, passes_per_frame, busy_pct, pipe_pct);
stored!(LevelChange; at_us, level, loss);
stored!(Sample; at_us, loss, level, copies, measured_loss, actual_loss, effective_loss, speed_gbps);
stored!(Completion; drained, drained_after_ns, simulated_ns, events);
stored!(
    PairReport;
    frames_cut, frames_corrupted, frames_resent, copies_sent, duplicates_dropped, late_frames,
    steady_buffer_bytes, failed_buffer_bytes, rx_buffer_bytes, queue_bytes, failovers, returns, recovery_us,
    cuts
);
stored!(
    LinksReport;
    seed, streams, links, recirculation, changes, samples, second_link, ending, hardware, warnings
);

// Flows between hosts.
stored!(TimeoutCounts; nak, twice, tail, tail_ack, behind);
stored!(Affected; corrupted, sacked, group_a, group_b, group_c, group_d, group_d_pending_bytes_max, reduced);
stored!(
    TrainingReport;
    ranks, groups, step_us, ideal_step_us, step_ratio, bus_gbps, unfinished_steps, unfinished_operations,
    left_out
);
stored!(
    FlowCounts;
    training, fct_us, flows_not_begun, unfinished_flows, failed_flows, retransmissions, timeouts,
    rdma_timeouts, affected_flows
);
stored!(Recovery; time, flow, lost_frames);
stored!(
    FailoverStats;
    failures, frames_lost, frames_recovered, frames_duplicated, frames_held, frames_not_kept,
    steady_buffer_bytes, failed_buffer_bytes, passes, recovery_times
);
stored!(
    FailoverReport;
    stats, recovery_us, recovery_longer_share, recovery_longer_share_lost, hit_fct_us, hit_longer,
    other_fct_us, other_delivery_us
);
stored!(
    SecondLinkStats;
    cuts, cuts_in_use, failovers, returns, frames_cut, frames_corrupted, frames_resent, frames_late, gaps
);
stored!(SecondLinkReport; stats, gap_us, hit_fct_us, other_fct_us);
stored!(
    SpreadingReport;
    frames, utilisation, delay_p50_us, delay_p90_us, delay_p99_us, delay_p99_9_us, delay_max_us, delays_ns
);
stored!(
    NetworkCounts;
    frame_hops, host_bytes_sent, frames_corrupted, frames_given_up, frames_discarded, frames_dropped, pauses,
    frames_marked, simulated_s, events
);
stored!(TrafficReport; name, flows, goodput_gbps);
stored!(FlowsReport; seed, flows, failover, second_link, spreading, goodput_gbps, network, traffic);

impl Stored for Time {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.0.store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<Time> {
        u64::restore(bytes).map(Time)
    }
}

impl Stored for FlowId {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.0.store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<FlowId> {
        u32::restore(bytes).map(FlowId)
    }
}

/// Written out, because the path is a type of another crate.
impl Stored for CutRow {
    fn store(&self, bytes: &mut Vec<u8>) {
        let CutRow { at_us, link, in_use, frames_lost, frames_resent, duplicates_dropped, recovery_us } =
            *self;
        (at_us, link == Path::Backup, in_use).store(bytes);
        ([frames_lost, frames_resent, duplicates_dropped], recovery_us).store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<CutRow> {
        let (at_us, is_backup, in_use) = Stored::restore(bytes)?;
        let ([frames_lost, frames_resent, duplicates_dropped], recovery_us) = Stored::restore(bytes)?;
        let link = if is_backup { Path::Backup } else { Path::Primary };
        Some(CutRow { at_us, link, in_use, frames_lost, frames_resent, duplicates_dropped, recovery_us })
    }
}

impl Stored for Outcome {
    fn store(&self, bytes: &mut Vec<u8>) {
        match self {
            Outcome::LineRate { runs, optics, .. } => {
                0_u8.store(bytes);
                runs.store(bytes);
                optics.store(bytes);
            }
            Outcome::Links(runs) => {
                1_u8.store(bytes);
                runs.store(bytes);
            }
            Outcome::Flows(runs) => {
                2_u8.store(bytes);
                runs.store(bytes);
            }
        }
    }

    fn restore(bytes: &mut &[u8]) -> Option<Outcome> {
        match u8::restore(bytes)? {
            0 => {
                let (runs, optics) = Stored::restore(bytes)?;
                Some(Outcome::of_line_rate(runs, optics))
            }
            1 => Runs::restore(bytes).map(Outcome::Links),
            2 => Runs::<FlowRun>::restore(bytes).map(Outcome::Flows),
            _ => None,
        }
    }
}
