//! CorrOpt's optimizer (section 3.6): which corrupting links to disable so that every ToR keeps the paths that it needs
//! and as little loss as possible remains. A ToR that already has too few paths loses none.
//!
//! Path constraints of different zones are independent, and a link that could not be disabled before can be disabled now
//! only if a link of its own zone came back. The optimizer is therefore asked about one zone at a time, after a repair
//! in it. That ToRs can reach each other depends on all zones: [`exact_together`] decides about several. [`exact()`] is the
//! optimizer; [`greedy`] applies the fast checker to all candidates, for comparison.

mod climb;
mod demand;
mod effort;
mod exact;
mod frontier;
mod gains;
mod joint;
mod keeping;
mod meeting;
mod prices;
mod problem;
mod remaining;
mod search;
mod slope;
mod state;
mod subset;

use crate::exact_sum::{self, steps};
use crate::network::{Corrupting, Network, Refusal};
use linkmend_topology::{LinkId, SwitchId, ZoneId};

pub use effort::Effort;
pub use exact::{exact, exact_together, exact_within};

/// What the optimizer minimises over the corrupting links that stay in operation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Objective {
    /// Its loss rate on the wire: CorrOpt's penalty.
    #[default]
    Penalty,
    /// Its loss rate after protection, plus the share of its capacity that protection costs, times a weight.
    Effective {
        /// Loss rate that counts as much as losing the whole capacity; 0 to 1.
        capacity_weight: f64,
    },
}

impl Objective {
    /// What a link adds to the objective, in steps of 2^-94 so that sums can be compared exactly; at least one step.
    pub(crate) fn weight(self, link: &Corrupting, full_capacity: u64) -> i128 {
        let value = match self {
            Objective::Penalty => link.loss_rate,
            Objective::Effective { capacity_weight } => {
                let lost = 1.0 - link.capacity as f64 / full_capacity as f64;
                link.effective_loss_rate + capacity_weight * lost
            }
        };
        steps(value).max(1)
    }
}

/// The decision of an optimizer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Links to disable, in ascending order.
    pub disable: Vec<LinkId>,
    /// Whether it is proven that no better choice exists. False for the greedy optimizer, and if the search was cut
    /// short.
    pub proven: bool,
    /// By how much more the objective could fall by a better choice, in steps of 2^-94: no choice is better by more. `None` if that is not
    /// known, as for the greedy optimizer.
    pub(crate) gap: Option<i128>,
    /// Whether links stay in operation only so that ToRs do not lose each other. They may be disabled once links of other
    /// zones are back.
    pub limited: bool,
}

impl Decision {
    /// By how much more the objective could fall by a better choice, at most; 0 if it is proven that there is none, and `None` if that is
    /// not known.
    pub fn gap(&self) -> Option<f64> {
        self.gap.map(exact_sum::value)
    }
}

/// A link that could be disabled if no other were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    link: LinkId,
    weight: i128,
}

/// The candidates of a zone.
struct Candidates {
    /// The worst first.
    list: Vec<Candidate>,
    /// Whether links are none only because ToRs would lose each other.
    limited: bool,
}

/// The corrupting links of a zone that could each be disabled if no other were, the worst first.
fn candidates(network: &mut Network, zone: ZoneId, objective: Objective) -> Candidates {
    let mut found: Vec<Candidate> = network
        .corrupting_in(zone)
        .iter()
        .filter_map(|&link| {
            let weight = objective.weight(network.corrupting(link)?, network.topology().capacity(link));
            Some(Candidate { link, weight })
        })
        .collect();
    let mut limited = false;
    found.retain(|candidate| {
        let refusal = network.refusal(candidate.link);
        limited |= matches!(refusal, Some(Refusal::Parted(..)));
        refusal.is_none()
    });
    found.sort_by_key(|candidate| (-candidate.weight, candidate.link));
    Candidates { list: found, limited }
}

/// Disables the worst link that can be disabled, then the next. Afterwards no further link can be disabled, but the
/// remaining loss may be higher than with [`exact()`].
pub fn greedy(network: &mut Network, zone: ZoneId, objective: Objective) -> Decision {
    let Candidates { list, mut limited } = candidates(network, zone, objective);
    let mut taken = Vec::new();
    for candidate in list {
        match network.refusal(candidate.link) {
            None => {
                network.remove_paths(candidate.link);
                taken.push(candidate.link);
            }
            Some(refusal) => limited |= matches!(refusal, Refusal::Parted(..)),
        }
    }
    for &link in taken.iter().rev() {
        network.restore_paths(link);
    }
    taken.sort_unstable();
    Decision { disable: taken, proven: false, gap: None, limited }
}

/// The lower switch of a link, at which a candidate's paths begin.
fn lower_switch(network: &Network, link: LinkId) -> SwitchId {
    network.topology().link(link).lower
}
