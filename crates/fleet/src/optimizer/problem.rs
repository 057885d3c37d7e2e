//! What is decided for each zone, and what all decisions are together.

use super::search::ZoneChoice;
use super::{Candidate, Decision};
use crate::network::Network;
use linkmend_topology::{LinkId, ZoneId};
use std::rc::Rc;

/// A zone about which is decided.
pub(super) struct Problem {
    pub(super) zone: ZoneId,
    /// The worst first.
    pub(super) candidates: Vec<Candidate>,
}

/// The choices of all zones as one decision.
pub(super) fn together(choices: &[Rc<ZoneChoice>]) -> Decision {
    let mut disable: Vec<LinkId> = choices.iter().flat_map(|choice| choice.disable.clone()).collect();
    disable.sort_unstable();
    let gap: i128 = choices.iter().map(|choice| choice.most - choice.weight).sum();
    Decision { disable, proven: gap == 0, gap: Some(gap), limited: false }
}

/// Evaluates something while links are removed for a trial.
pub(super) fn with_removed<T>(
    network: &mut Network,
    links: &[LinkId],
    evaluate: impl FnOnce(&mut Network) -> T,
) -> T {
    for &link in links {
        network.remove_paths(link);
    }
    let value = evaluate(network);
    for &link in links.iter().rev() {
        network.restore_paths(link);
    }
    value
}
