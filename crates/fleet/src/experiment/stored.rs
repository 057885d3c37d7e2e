//! Outcomes as bytes, for runs on other machines.

use super::outcome::FleetOutcome;
use super::pair::{Moment, Pair};
use super::upgrades::PodChoice;
use crate::network::Metrics;
use crate::simulate::{MetricSummary, Summary};
use linkmend_experiment::{Stored, stored};

stored!(Moment; time_s, corropt, protected);
stored!(Pair; seed, corropt, protected, gains, weeks, decreases, snapshot);
stored!(MetricSummary; mean, min, p1, p10, p50, p90, p99, max);
stored!(
    Summary;
    loss_events, skipped_events, repairs, repair_wait_s, max_waiting_repairs, fast_checker_rejections,
    unproven_decisions, first_event_s, last_event_s, metrics
);
stored!(
    Metrics;
    total_penalty, total_effective_penalty, avg_paths_per_tor, min_paths_per_tor, avg_pod_capacity_gbps,
    min_pod_capacity_gbps, max_loss_rate, disabled_links, corrupting_links, max_protected_links_per_pipe
);

impl Stored for PodChoice {
    fn store(&self, bytes: &mut Vec<u8>) {
        PodChoice::ALL.iter().position(|choice| choice == self).store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<PodChoice> {
        PodChoice::ALL.get(Option::<usize>::restore(bytes)??).copied()
    }
}

impl Stored for FleetOutcome {
    fn store(&self, bytes: &mut Vec<u8>) {
        (self.pairs().cloned(), self.upgrades().cloned()).store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<FleetOutcome> {
        match Stored::restore(bytes)? {
            (Some(pairs), None) => Some(FleetOutcome::Pairs(pairs)),
            (None, Some(runs)) => Some(FleetOutcome::Upgrades(runs)),
            _ => None,
        }
    }
}
