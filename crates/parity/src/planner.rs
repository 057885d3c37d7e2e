//! Chooses groups, parity and retransmissions.
//!
//! Every candidate is a group of `k` frames with `m` parity frames (`m = 0` for none), followed by as many rounds of
//! retransmission as there is time for, with `c` copies in the last round. Its residual loss follows from the model of the
//! losses ([`Losses`]), and its overhead is `m / k` plus the expected copies. Of the candidates that meet the target within
//! the ceiling of overhead, the one with the least overhead is chosen; if none does, the one with the least residual loss
//! within the ceiling.

use crate::code::{GROUP_MAX, PARITY_MAX};
use crate::losses::{Losses, unrestored};

/// Sizes of groups that are tried.
const GROUPS: [usize; 20] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, GROUP_MAX];
/// Most copies of a frame in the last round.
const COPIES_MAX: u8 = 6;
/// Most rounds of retransmission that are counted on.
const ROUNDS_MAX: u32 = 8;
/// How often a request is sent. The other direction is taken to lose as many frames, and requests are short.
pub(crate) const REQUESTS: u8 = 2;
/// What a round takes beyond the round trip: the wait for the request and for the copy at busy ports.
const ROUND_MARGIN_NS: u64 = 2_000_000;

/// A path and its traffic, as measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    pub losses: Losses,
    pub round_trip_ns: u64,
    /// Frames per second.
    pub frame_rate: f64,
}

/// What is asked of the repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// From sending a frame to its delivery, at most 1 s. A path takes half its round trip.
    pub deadline_ns: u64,
    /// Ceiling of the expected overhead: parity frames and copies per frame, 0 to 1.
    pub overhead_max: f64,
    /// Share of frames that may be lost or late.
    pub target: f64,
}

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Frames in a group, 1 to 128.
    pub group: u8,
    /// Parity frames of a group, 0 to 128.
    pub parity: u8,
    /// Rounds of retransmission for which there is time.
    pub rounds: u32,
    /// Copies of a frame in the last round.
    pub copies: u8,
    /// A group is closed this long after its first frame.
    pub age_ns: u64,
    /// Expected parity frames and copies per frame.
    pub overhead: f64,
    /// Expected share of frames that are lost or late; 1 for a fixed code.
    pub residual: f64,
}

impl Limits {
    /// Time between the arrival of a frame that is not lost, and the deadline.
    pub fn slack_ns(&self, round_trip_ns: u64) -> u64 {
        self.deadline_ns.saturating_sub(round_trip_ns / 2)
    }
}

impl Plan {
    /// A fixed code, without retransmission. `age_ns` is the time after which a group is closed.
    pub fn fixed(group: u8, parity: u8, age_ns: u64) -> Plan {
        let overhead = f64::from(parity) / f64::from(group.max(1));
        Plan { group: group.max(1), parity, rounds: 0, copies: 0, age_ns, overhead, residual: 1.0 }
    }
}

/// Time of a round of retransmission, from the request to the copy.
pub(crate) fn round_ns(round_trip_ns: u64) -> u64 {
    round_trip_ns + round_trip_ns / 16 + ROUND_MARGIN_NS
}

/// Chooses how to repair on this path.
pub fn plan(path: &Path, limits: &Limits) -> Plan {
    let slack_ns = limits.slack_ns(path.round_trip_ns);
    let frame_ns = 1e9 / path.frame_rate.max(1.0);
    let distributions = path.losses.distributions(GROUP_MAX + PARITY_MAX);
    let mut best: Option<Plan> = None;
    let mut consider = |candidate: Plan| {
        if candidate.overhead <= limits.overhead_max
            && best.is_none_or(|best| is_better(&candidate, &best, limits.target))
        {
            best = Some(candidate);
        }
    };
    for group in GROUPS {
        for parity in 0..=PARITY_MAX.min(libm::floor(limits.overhead_max * group as f64) as usize) {
            // Without parity, nothing has to wait for a group.
            if parity == 0 && group > 1 {
                continue;
            }
            let group_ns = (frame_ns * (group + parity) as f64) as u64;
            if parity > 0 && group_ns > slack_ns {
                break;
            }
            let rounds = slack_ns.saturating_sub(group_ns) / round_ns(path.round_trip_ns);
            let rounds = rounds.min(u64::from(ROUNDS_MAX)) as u32;
            let left = unrestored(&distributions[group + parity - 1], parity);
            let shape = (group as u8, parity as u8, group_ns + group_ns / 2 + ROUND_MARGIN_NS);
            let copies = if rounds == 0 { 0..=0 } else { 1..=COPIES_MAX };
            copies.for_each(|copies| consider(candidate(path.losses, shape, left, rounds, copies)));
        }
    }
    best.unwrap_or_else(|| Plan { residual: path.losses.rate, ..Plan::fixed(1, 0, ROUND_MARGIN_NS) })
}

/// The group `(frames, parity, age)`, whose code leaves the share `left` lost, and so many rounds with so many copies in the last.
fn candidate(losses: Losses, shape: (u8, u8, u64), left: f64, rounds: u32, copies: u8) -> Plan {
    let (group, parity, age_ns) = shape;
    let mut overhead = f64::from(parity) / f64::from(group);
    let mut residual = left;
    for round in 1..=rounds {
        let copies = if round == rounds { copies } else { 1 };
        overhead += residual * f64::from(copies);
        let request = losses.all_lost(REQUESTS);
        residual *= request + (1.0 - request) * losses.all_lost(copies);
    }
    Plan { group, parity, rounds, copies, age_ns, overhead, residual }
}

fn is_better(candidate: &Plan, best: &Plan, target: f64) -> bool {
    match (candidate.residual <= target, best.residual <= target) {
        (true, true) => candidate.overhead < best.overhead,
        (false, false) => candidate.residual < best.residual,
        (meets, _) => meets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn planned(rate: f64, round_trip_ms: u64, deadline_ms: u64) -> Plan {
        let losses = Losses::independent(rate);
        let path = Path { losses, round_trip_ns: round_trip_ms * MS, frame_rate: 2_000.0 };
        plan(&path, &Limits { deadline_ns: deadline_ms * MS, overhead_max: 1.0, target: 1e-4 })
    }

    #[test]
    fn retransmission_is_chosen_where_it_is_in_time() {
        let plan = planned(0.01, 20, 100);
        assert_eq!((plan.parity, plan.rounds), (0, 3), "{plan:?}");
        assert!(plan.overhead < 0.0102 && plan.residual < 1e-4, "{plan:?}");
    }

    #[test]
    fn parity_is_chosen_where_retransmission_is_late() {
        let plan = planned(0.01, 200, 200);
        assert!(plan.parity > 0 && plan.rounds == 0, "{plan:?}");
        assert!(plan.residual <= 1e-4 && plan.overhead < 0.1, "{plan:?}");
    }

    #[test]
    fn both_are_chosen_where_that_is_cheapest() {
        let plan = planned(0.1, 100, 200);
        assert!(plan.parity > 0 && plan.rounds == 1, "{plan:?}");
        assert!(plan.residual <= 1e-4, "{plan:?}");
        assert!(plan.overhead < planned(0.1, 200, 200).overhead, "{plan:?}");
    }

    #[test]
    fn the_ceiling_is_kept_and_the_rest_is_done_as_well_as_possible() {
        let path = Path { losses: Losses::independent(0.25), round_trip_ns: 200 * MS, frame_rate: 2_000.0 };
        let limits = Limits { deadline_ns: 200 * MS, overhead_max: 0.3, target: 1e-4 };
        let plan = plan(&path, &limits);
        assert!(plan.overhead <= 0.3 && plan.residual > 1e-4 && plan.residual < 0.25, "{plan:?}");
    }

    #[test]
    fn nothing_is_done_without_time_or_without_losses() {
        let plan = planned(0.1, 200, 100);
        assert_eq!((plan.parity, plan.rounds), (0, 0), "{plan:?}");
        assert_eq!(planned(0.0, 100, 120).overhead, 0.0);
    }
}
