//! Disabled links that wait for the crew.

use crate::network::Network;
use crate::optimizer::{self, Objective};
use crate::repair::{Crew, RepairOrder, RepairQueue};
use linkmend_topology::paths::Paths;
use linkmend_topology::{LinkId, Topology, ZoneId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The disabled links that wait, and how many are under repair.
#[derive(Debug)]
pub(super) struct Backlog {
    /// How many repairs may be in progress at a time; `None` for no limit.
    size: Option<u32>,
    busy: u32,
    waiting: Waiting,
    /// When each link began to wait, in seconds.
    since_s: BTreeMap<LinkId, u64>,
    /// The paths of the whole network, with which benefits are compared.
    installed: Option<Paths>,
}

#[derive(Debug)]
enum Waiting {
    FirstCome(VecDeque<LinkId>),
    /// Loss rates are positive, so their bits sort in the same order.
    WorstFirst(BTreeSet<(Reverse<u64>, LinkId)>),
    MostWorth(RepairQueue),
}

impl Backlog {
    pub(super) fn new(crew: Option<Crew>, network: &Network) -> Backlog {
        let order = crew.map_or(RepairOrder::FirstCome, |crew| crew.order);
        let (waiting, installed) = match order {
            RepairOrder::FirstCome => (Waiting::FirstCome(VecDeque::new()), None),
            RepairOrder::WorstFirst => (Waiting::WorstFirst(BTreeSet::new()), None),
            RepairOrder::MostWorth => {
                (Waiting::MostWorth(RepairQueue::default()), Some(network.paths().clone()))
            }
        };
        let size = crew.map(|crew| crew.size.max(1));
        Backlog { size, busy: 0, waiting, since_s: BTreeMap::new(), installed }
    }

    /// How many links wait.
    pub(super) fn len(&self) -> usize {
        self.since_s.len()
    }

    /// Whether another repair can begin.
    pub(super) fn is_free(&self) -> bool {
        self.size.is_none_or(|size| self.busy < size)
    }

    /// Adds a link that was disabled at `now_s` and loses frames at `loss_rate`.
    pub(super) fn add(&mut self, topology: &Topology, now_s: u64, link: LinkId, loss_rate: f64) {
        self.since_s.insert(link, now_s);
        match &mut self.waiting {
            Waiting::FirstCome(links) => links.push_back(link),
            Waiting::WorstFirst(links) => {
                links.insert((Reverse(loss_rate.to_bits()), link));
            }
            Waiting::MostWorth(links) => links.add(topology, link),
        }
    }

    /// Records that something in a zone has changed.
    pub(super) fn invalidate(&mut self, zone: ZoneId) {
        if let Waiting::MostWorth(links) = &mut self.waiting {
            links.invalidate(zone);
        }
    }

    /// Begins the next repair. Returns the link and how many seconds it has waited.
    pub(super) fn start_next(
        &mut self,
        network: &mut Network,
        objective: Objective,
        now_s: u64,
    ) -> Option<(LinkId, u64)> {
        let link = match (&mut self.waiting, &self.installed) {
            (Waiting::FirstCome(links), _) => links.pop_front(),
            (Waiting::WorstFirst(links), _) => links.pop_first().map(|(_, link)| link),
            (Waiting::MostWorth(links), Some(installed)) => {
                // Every waiting link is evaluated, so the greedy optimizer stands in for the exact one.
                links.take_best(network, installed, (optimizer::greedy, objective)).map(|(link, _)| link)
            }
            (Waiting::MostWorth(_), None) => None,
        }?;
        self.busy += 1;
        let since_s = self.since_s.remove(&link).unwrap_or(now_s);
        Some((link, now_s - since_s))
    }

    /// Ends a repair.
    pub(super) fn finish_one(&mut self) {
        self.busy -= 1;
    }
}
