//! CorrOpt's optimizer (section 3.6): which corrupting links to disable so that every ToR keeps the paths it must have
//! and what remains is least. A ToR that is short of them already loses none.
//!
//! Constraints of different zones have nothing to do with each other, and a link that could not be disabled before
//! cannot be now unless a link of its own zone came back. So the question is asked of one zone at a time, after a repair
//! in it. [`exact()`] answers it; [`greedy`] is the fast checker over all candidates, for comparison.

mod exact;
mod gains;
mod subset;

use crate::exact_sum::steps;
use crate::network::{Corrupting, Network};
use linkmend_topology::{LinkId, SwitchId, ZoneId};

pub use exact::exact;

/// What makes leaving a corrupting link in operation bad.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Objective {
    /// Its loss rate on the wire: CorrOpt's penalty.
    #[default]
    Penalty,
    /// Its loss rate after protection, plus the share of its capacity that protection costs, times a weight.
    Effective {
        /// Loss rate that is as bad as losing the whole capacity; 0 to 1.
        capacity_weight: f64,
    },
}

impl Objective {
    /// Badness of a link in steps of 2^-94, so that sums can be compared exactly; at least one step.
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

/// What an optimizer decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Links to disable, in ascending order.
    pub disable: Vec<LinkId>,
    /// Whether nothing better exists. False for the greedy one, and if the search was cut short.
    pub proven: bool,
}

/// A link that may be disabled on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    link: LinkId,
    weight: i128,
}

/// The corrupting links of a zone that could be disabled one by one, the worst first.
fn candidates(network: &mut Network, zone: ZoneId, objective: Objective) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = network
        .corrupting_in(zone)
        .iter()
        .filter_map(|&link| {
            let weight = objective.weight(network.corrupting(link)?, network.topology().capacity(link));
            Some(Candidate { link, weight })
        })
        .collect();
    found.retain(|candidate| network.may_disable(candidate.link));
    found.sort_by_key(|candidate| (-candidate.weight, candidate.link));
    found
}

/// Disables what can be disabled, the worst link first. What it finds leaves no link that could be disabled, but may
/// leave more than [`exact()`].
pub fn greedy(network: &mut Network, zone: ZoneId, objective: Objective) -> Decision {
    let candidates = candidates(network, zone, objective);
    let mut taken = Vec::new();
    for candidate in candidates {
        if network.may_disable(candidate.link) {
            network.remove_paths(candidate.link, &mut |_, _, _| {});
            taken.push(candidate.link);
        }
    }
    for &link in taken.iter().rev() {
        network.restore_paths(link, &mut |_, _, _| {});
    }
    taken.sort_unstable();
    Decision { disable: taken, proven: false }
}

/// Where a candidate's paths begin.
fn lower_switch(network: &Network, link: LinkId) -> SwitchId {
    network.topology().link(link).lower
}
