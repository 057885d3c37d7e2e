//! Which candidates above the ToRs of a zone are disabled for a trial, and what that costs.

use super::demand::Trackers;
use super::gains::{Gain, Gains};
use super::subset::Cost;
use super::{Candidate, lower_switch};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId};

/// Candidates that cost every ToR the same, the worst first. If n of them are disabled, it is best to disable the first n.
pub(super) struct Class {
    pub(super) members: Vec<Candidate>,
    pub(super) weight: i128,
}

/// The heaviest choice so far.
#[derive(Debug, Default)]
pub(super) struct Best {
    pub(super) links: Vec<LinkId>,
    pub(super) weight: i128,
}

/// The network with a choice of links above the ToRs removed for a trial.
pub(super) struct State<'n, 't> {
    pub(super) network: &'n mut Network<'t>,
    pub(super) classes: Vec<Class>,
    trackers: Trackers,
    gains: Gains,
    /// How many ToRs the choice takes below their constraint, and how many demands of ToRs it no longer meets. ToRs that were
    /// below it before lose nothing, because none of their paths leads through a candidate.
    violated: u32,
    /// Groups and ToRs that were asked for their gain.
    work: u64,
}

impl<'n, 't> State<'n, 't> {
    pub(super) fn new(
        network: &'n mut Network<'t>,
        candidates: &[Candidate],
        trackers: Trackers,
    ) -> State<'n, 't> {
        let (lower, upper): (Vec<Candidate>, Vec<Candidate>) =
            candidates.iter().partition(|candidate| network.topology().layer_of(candidate.link) == 0);
        State {
            classes: classes(network, &trackers, &upper),
            gains: Gains::new(network, &trackers, &lower),
            network,
            trackers,
            violated: 0,
            work: 0,
        }
    }

    /// Removes a link for a trial.
    pub(super) fn take(&mut self, link: LinkId) {
        self.violated += self.network.remove_paths(link).crossed;
        self.violated += self.trackers.remove(self.network, link);
    }

    /// Restores a link that was taken, whatever was taken since.
    pub(super) fn give_back(&mut self, link: LinkId) {
        self.violated -= self.network.restore_paths(link);
        self.violated -= self.trackers.restore(self.network, link);
    }

    /// Whether ToRs still have all that they must keep.
    pub(super) fn is_allowed(&self) -> bool {
        self.violated == 0
    }

    /// What ToRs can gain from their own links beside the choice.
    pub(super) fn gain(&mut self) -> Gain {
        self.work += self.gain_work();
        self.gains.total(self.network, &self.trackers)
    }

    /// The candidates among ToRs' own links.
    pub(super) fn own_candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.gains.candidates()
    }

    /// The links of ToRs that are disabled for this gain.
    pub(super) fn own_links(&self) -> Vec<LinkId> {
        self.gains.members(self.network, &self.trackers)
    }

    /// What it costs to ask for the gain, in units of [`State::work`].
    pub(super) fn gain_work(&self) -> u64 {
        self.gains.count() + 1
    }

    /// What has been done so far, in ToRs or groups of ToRs that were asked for their gain.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// Counts other work.
    pub(super) fn add_work(&mut self, work: u64) {
        self.work += work;
    }
}

/// The lower switch of a link to the top layer, what the link brings it, and in which demands' sets its upper switch is.
type ClassKey = (SwitchId, Cost, Vec<bool>);

/// Groups the candidates above the ToRs. Those that connect one switch to the top layer, equally fast where speeds count, to
/// switches of the same sets, form one class; every other candidate is a class of its own.
fn classes(network: &Network, trackers: &Trackers, upper: &[Candidate]) -> Vec<Class> {
    let topology = network.topology();
    let mut classes: Vec<(Option<ClassKey>, Class)> = Vec::new();
    for &candidate in upper {
        let above = topology.link(candidate.link).upper;
        let into_top = topology.switch(above).zone.is_none();
        let alike = into_top.then(|| {
            let lower = lower_switch(network, candidate.link);
            (lower, network.brings(candidate.link), trackers.membership(topology, above))
        });
        match classes.iter_mut().find(|(of, _)| of.is_some() && *of == alike) {
            Some((_, class)) => {
                class.weight += candidate.weight;
                class.members.push(candidate);
            }
            None => classes.push((alike, Class { weight: candidate.weight, members: vec![candidate] })),
        }
    }
    classes.into_iter().map(|(_, class)| class).collect()
}
