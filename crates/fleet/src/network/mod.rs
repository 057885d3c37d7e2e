//! A network in operation: which links corrupt, are protected or disabled, and what that costs.
//!
//! Every change updates all metrics, at a cost that does not depend on the size of the network: a change of a link
//! affects the ToRs below it, and its own zone, switches and pipes.

mod below;
mod capacity;
mod extremes;
mod pairs;
mod pipes;
mod shares;

pub(crate) use below::tors_below;
pub use shares::Shares;

use crate::constraint::Constraint;
use crate::exact_sum::ExactSum;
use crate::rounding::share_of;
use capacity::ZoneCapacity;
use extremes::{CountTable, OrderedCounts};
use linkmend_topology::paths::Paths;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};
use pairs::Pairs;
use pipes::ProtectedPerPipe;
use std::collections::BTreeSet;

/// Loss rate of a link that does not corrupt, as in the authors' simulator. It keeps ratios of penalties defined.
pub const CLEAN_LOSS_RATE: f64 = 1e-18;

/// The paper's metrics of a network at one moment: penalty, paths and capacity (section 4.8).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Metrics {
    /// Sum of the loss rates of all active links.
    pub total_penalty: f64,
    /// Sum of the loss rates that protection leaves on all active links.
    pub total_effective_penalty: f64,
    /// Mean number of paths of a ToR to the top layer.
    pub avg_paths_per_tor: f64,
    /// Paths of the ToR that has the fewest.
    pub min_paths_per_tor: u64,
    /// Mean capacity of a pod (a zone with ToRs) in Gb/s. The gap between a pod's layers with the least capacity
    /// determines that of the pod.
    pub avg_pod_capacity_gbps: f64,
    /// The smallest capacity of a pod, in Gb/s.
    pub min_pod_capacity_gbps: f64,
    /// Highest loss rate of an active link, before protection.
    pub max_loss_rate: f64,
    /// Links that are disabled.
    pub disabled_links: u64,
    /// Active links that corrupt, protected or not.
    pub corrupting_links: u64,
    /// The number of protected links on the pipe that has the most.
    pub max_protected_links_per_pipe: u64,
}

/// An active link that corrupts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrupting {
    pub link: LinkId,
    /// Loss rate on the wire.
    pub loss_rate: f64,
    /// Loss rate after protection; without protection, that on the wire.
    pub effective_loss_rate: f64,
    /// Capacity after protection, in bits per second.
    pub capacity: u64,
    /// Whether it is protected.
    pub protected: bool,
    /// Its index in its zone's list.
    place: u32,
}

/// The state of a link in one number: one of the two constants below, or the index of its [`Corrupting`].
type LinkState = u32;
const CLEAN: LinkState = u32::MAX;
const DISABLED: LinkState = u32::MAX - 1;

/// Why a link may not be disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It must stay in operation, whatever ToRs can spare.
    Held,
    /// A ToR would have too little left.
    Short,
    /// These two ToRs would lose each other.
    Parted(SwitchId, SwitchId),
}

/// What a link's removal would do to ToRs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trial {
    /// Whether a ToR that loses paths has less than it must keep.
    pub is_short: bool,
    /// How often a ToR had as much as it must keep of something, and no longer has.
    pub crossed: u32,
    /// The most switches of the top layer that one of the ToRs that lose paths can have lost in all.
    pub lost_tops: u64,
}

/// A network in operation.
#[derive(Debug, Clone)]
pub struct Network<'a> {
    topology: &'a Topology,
    paths: Paths,
    /// The fewest paths that each switch may keep; 0 above the ToRs.
    required: Vec<u64>,
    /// Capacity by speeds, if ToRs must keep some and it is not told by their paths.
    shares: Option<Shares>,
    /// `None` if ToRs may lose each other.
    pairs: Option<Pairs>,
    /// Links removed for a trial.
    on_trial: u32,
    state: Vec<LinkState>,
    corrupting: Vec<Corrupting>,
    free: Vec<u32>,
    /// Corrupting links of each zone, in no particular order.
    in_zone: Vec<Vec<LinkId>>,
    disabled: u64,
    /// Links that must stay in operation, peer links among them: no path climbs over those, so none of the ToRs would
    /// seem to miss them.
    held: BTreeSet<LinkId>,
    penalty: ExactSum,
    effective_penalty: ExactSum,
    clean_loss_rate: f64,
    loss_rates: OrderedCounts<u64>,
    tor_paths: CountTable,
    capacity: ZoneCapacity,
    protected: ProtectedPerPipe,
}

impl<'a> Network<'a> {
    /// A network in which all links are active and clean. Each ToR must keep the shares of the constraint, rounded up.
    pub fn new(topology: &'a Topology, constraint: Constraint, clean_loss_rate: f64) -> Network<'a> {
        let paths = Paths::new(topology);
        let shares =
            (constraint.capacity > 0.0).then(|| Shares::new(topology, constraint.capacity)).flatten();
        // Otherwise a share of the capacity is the same share of the paths.
        let share =
            if shares.is_some() { constraint.paths } else { constraint.paths.max(constraint.capacity) };
        let mut required = vec![0; topology.switch_count()];
        let mut tor_paths = CountTable::default();
        for &tor in topology.tors() {
            required[tor.index()] = share_of(paths.count(tor), share);
            tor_paths.insert(paths.count(tor));
        }
        let mut penalty = ExactSum::default();
        penalty.add_times(clean_loss_rate, topology.link_count() as u64);
        Network {
            pairs: constraint.connected.then(|| Pairs::new(topology, &required)),
            topology,
            paths,
            required,
            shares,
            on_trial: 0,
            state: vec![CLEAN; topology.link_count()],
            corrupting: Vec::new(),
            free: Vec::new(),
            in_zone: vec![Vec::new(); topology.zone_count()],
            disabled: 0,
            held: topology.links().filter(|&link| topology.is_peer(link)).collect(),
            penalty,
            effective_penalty: penalty,
            clean_loss_rate,
            loss_rates: OrderedCounts::default(),
            tor_paths,
            capacity: ZoneCapacity::new(topology),
            protected: ProtectedPerPipe::new(topology),
        }
    }

    /// The topology that the network was made from.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// Path counts over the links that are active now.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The fewest paths that a ToR must keep.
    pub fn required(&self, tor: SwitchId) -> u64 {
        self.required[tor.index()]
    }

    /// The capacity of ToRs by speeds, if they must keep some and it is not told by their paths.
    pub fn shares(&self) -> Option<&Shares> {
        self.shares.as_ref()
    }

    /// What a ToR must keep of paths and of capacity.
    pub(crate) fn must_keep(&self, tor: SwitchId) -> [u64; 2] {
        [self.required(tor), self.shares.as_ref().map_or(0, |shares| shares.required(tor))]
    }

    /// What a ToR has above what it must keep, in paths and in capacity; 0 if it has less.
    pub(crate) fn slack(&self, tor: SwitchId) -> [u64; 2] {
        let (has, must_keep) = (self.has(tor), self.must_keep(tor));
        [0, 1].map(|of| has[of].saturating_sub(must_keep[of]))
    }

    /// What a ToR lacks of what it must keep, in paths and in capacity.
    pub(crate) fn lacks(&self, tor: SwitchId) -> [u64; 2] {
        let (has, must_keep) = (self.has(tor), self.must_keep(tor));
        [0, 1].map(|of| must_keep[of].saturating_sub(has[of]))
    }

    /// What a ToR has, in paths and in capacity.
    fn has(&self, tor: SwitchId) -> [u64; 2] {
        [self.paths.count(tor), self.shares.as_ref().map_or(0, |shares| shares.count(tor))]
    }

    /// What an active link brings its lower end, in paths and in capacity.
    pub(crate) fn brings(&self, link: LinkId) -> [u64; 2] {
        let shares = self.shares.as_ref().map_or(0, |shares| shares.over(self.topology, link));
        [self.paths.over(self.topology, link), shares]
    }

    /// Whether a ToR is below its constraint.
    pub fn is_short(&self, tor: SwitchId) -> bool {
        self.lacks(tor) != [0; 2]
    }

    /// Whether a link is disabled.
    pub fn is_disabled(&self, link: LinkId) -> bool {
        self.state[link.index()] == DISABLED
    }

    /// The state of a link, if it corrupts and is active.
    pub fn corrupting(&self, link: LinkId) -> Option<&Corrupting> {
        match self.state[link.index()] {
            CLEAN | DISABLED => None,
            slot => Some(&self.corrupting[slot as usize]),
        }
    }

    /// The active corrupting links of a zone, in no particular order.
    pub fn corrupting_in(&self, zone: ZoneId) -> &[LinkId] {
        &self.in_zone[zone.index()]
    }

    /// Capacity of a zone, in bits per second.
    pub fn zone_capacity(&self, zone: ZoneId) -> u64 {
        self.capacity.bits_per_second(zone)
    }

    /// The number of links protected by the busier of a link's two pipes, including this link if it is protected.
    pub fn protected_on_its_pipes(&self, link: LinkId) -> u32 {
        self.protected.on_pipes_of(self.topology, link)
    }

    /// The number of links protected by the busier of a link's two switches, including this link if it is protected.
    pub fn protected_on_its_switches(&self, link: LinkId) -> u32 {
        self.protected.on_switches_of(self.topology, link)
    }

    /// Makes an active link corrupt at `loss_rate` from now on. A protected link keeps the effective rate of its
    /// previous loss rate until [`Network::protect`] is called again.
    pub fn corrupt(&mut self, link: LinkId, loss_rate: f64) {
        debug_assert!(!self.is_disabled(link));
        let slot = self.slot(link);
        let entry = &mut self.corrupting[slot];
        let before = std::mem::replace(&mut entry.loss_rate, loss_rate);
        self.penalty.remove(before);
        self.penalty.add(loss_rate);
        self.loss_rates.remove(before.to_bits());
        self.loss_rates.insert(loss_rate.to_bits());
        if !entry.protected {
            let before = std::mem::replace(&mut entry.effective_loss_rate, loss_rate);
            self.effective_penalty.remove(before);
            self.effective_penalty.add(loss_rate);
        }
    }

    /// Protects a corrupting link, which then has `effective_loss_rate` and a capacity of `capacity` bits per second.
    ///
    /// # Panics
    /// If the link does not corrupt.
    pub fn protect(&mut self, link: LinkId, effective_loss_rate: f64, capacity: u64) {
        assert!(self.corrupting(link).is_some(), "link {} does not corrupt", link.0);
        let entry = &mut self.corrupting[self.state[link.index()] as usize];
        let loss_before = std::mem::replace(&mut entry.effective_loss_rate, effective_loss_rate);
        let capacity_before = std::mem::replace(&mut entry.capacity, capacity);
        if !std::mem::replace(&mut entry.protected, true) {
            self.protected.add(self.topology, link);
        }
        self.effective_penalty.remove(loss_before);
        self.effective_penalty.add(effective_loss_rate);
        self.capacity.change(self.topology, link, capacity_before, capacity);
    }

    /// Keeps a link in operation from now on: [`Network::may_disable`] is false.
    pub fn hold(&mut self, link: LinkId) {
        self.held.insert(link);
    }

    /// Whether an active link may be disabled: it is not held, every ToR that would lose paths must keep as many as it needs,
    /// and ToRs that can reach each other still can. This is CorrOpt's fast checker. A link on no path costs no ToR anything,
    /// not even a ToR that already has too few paths.
    pub fn may_disable(&mut self, link: LinkId) -> bool {
        self.refusal(link).is_none()
    }

    /// Why an active link may not be disabled, if it may not.
    pub(crate) fn refusal(&mut self, link: LinkId) -> Option<Refusal> {
        if self.held.contains(&link) {
            return Some(Refusal::Held);
        }
        let Network { topology, paths, required, .. } = &*self;
        let known = paths.all_below(topology, link, |tor, left| left >= required[tor.index()]);
        let known = match (known, self.shares.as_ref()) {
            (Some(true), Some(shares)) => shares.all_keep(topology, link),
            (known, _) => known,
        };
        let meet = self.meet_for_certain();
        match known {
            Some(false) => return Some(Refusal::Short),
            Some(true) if meet => return None,
            _ => {}
        }
        let trial = self.remove_paths(link);
        let refusal = match trial.is_short {
            true => Some(Refusal::Short),
            false if meet => None,
            false => self.parted_by(link, &trial).map(|(one, other)| Refusal::Parted(one, other)),
        };
        self.restore_paths(link);
        refusal
    }

    /// Removes a link from the path counts for a trial, which [`Network::restore_paths`] ends; the metrics stay as they
    /// are.
    pub(crate) fn remove_paths(&mut self, link: LinkId) -> Trial {
        self.on_trial += 1;
        let counts_tops = !self.meet_for_certain();
        let Network { topology, paths, required, .. } = self;
        let mut trial = Trial::default();
        paths.remove(topology, link, &mut |tor, before, after| {
            let required = required[tor.index()];
            trial.is_short |= after < required;
            trial.crossed += u32::from(before >= required && after < required);
            if counts_tops {
                trial.lost_tops = trial.lost_tops.max(topology.installed().lost_tops(tor, after));
            }
        });
        if let Some(shares) = &mut self.shares {
            let (is_short, crossed) = shares.remove(self.topology, link);
            trial.is_short |= is_short;
            trial.crossed += crossed;
        }
        trial
    }

    /// Ends the trial of [`Network::remove_paths`]. Returns how often a ToR has as much again as it must keep of something.
    pub(crate) fn restore_paths(&mut self, link: LinkId) -> u32 {
        self.on_trial -= 1;
        let Network { topology, paths, required, .. } = self;
        let mut crossed = 0;
        paths.add(topology, link, &mut |tor, before, after| {
            let required = required[tor.index()];
            crossed += u32::from(before < required && after >= required);
        });
        crossed + self.shares.as_mut().map_or(0, |shares| shares.add(self.topology, link))
    }

    /// Disables a corrupting link, whatever the effect on paths.
    ///
    /// # Panics
    /// If the link does not corrupt.
    pub fn disable(&mut self, link: LinkId) {
        let entry = self.remove_slot(link);
        self.penalty.remove(entry.loss_rate);
        self.effective_penalty.remove(entry.effective_loss_rate);
        self.loss_rates.remove(entry.loss_rate.to_bits());
        self.capacity.change(self.topology, link, entry.capacity, 0);
        if entry.protected {
            self.protected.remove(self.topology, link);
        }
        self.state[link.index()] = DISABLED;
        self.disabled += 1;
        let Network { topology, paths, tor_paths, required, pairs, shares, .. } = self;
        shares.iter_mut().for_each(|shares| _ = shares.remove(topology, link));
        paths.remove(topology, link, &mut |tor, before, after| {
            tor_paths.change(before, after);
            pairs.iter_mut().for_each(|pairs| pairs.change(required[tor.index()], before, after));
        });
    }

    /// Brings a disabled link back, clean and unprotected.
    ///
    /// # Panics
    /// If the link is not disabled.
    pub fn enable(&mut self, link: LinkId) {
        assert!(self.is_disabled(link), "link {} is not disabled", link.0);
        self.state[link.index()] = CLEAN;
        self.disabled -= 1;
        self.penalty.add(self.clean_loss_rate);
        self.effective_penalty.add(self.clean_loss_rate);
        self.capacity.change(self.topology, link, 0, self.topology.capacity(link));
        let Network { topology, paths, tor_paths, required, pairs, shares, .. } = self;
        shares.iter_mut().for_each(|shares| _ = shares.add(topology, link));
        paths.add(topology, link, &mut |tor, before, after| {
            tor_paths.change(before, after);
            pairs.iter_mut().for_each(|pairs| pairs.change(required[tor.index()], before, after));
        });
    }

    /// All metrics at this moment.
    pub fn metrics(&self) -> Metrics {
        Metrics {
            total_penalty: self.penalty.value(),
            total_effective_penalty: self.effective_penalty.value(),
            avg_paths_per_tor: self.tor_paths.mean(),
            min_paths_per_tor: self.tor_paths.min(),
            avg_pod_capacity_gbps: self.capacity.mean_gbps(),
            min_pod_capacity_gbps: self.capacity.min_gbps(),
            max_loss_rate: self.loss_rates.max().map_or(0.0, f64::from_bits).max(self.clean_loss_rate),
            disabled_links: self.disabled,
            corrupting_links: (self.corrupting.len() - self.free.len()) as u64,
            max_protected_links_per_pipe: self.protected.max(),
        }
    }

    /// The index of a corrupting link's entry. A clean link gets a new entry with the clean rate.
    fn slot(&mut self, link: LinkId) -> usize {
        if self.state[link.index()] != CLEAN {
            return self.state[link.index()] as usize;
        }
        let list = &mut self.in_zone[self.topology.zone_of(link).index()];
        let entry = Corrupting {
            link,
            loss_rate: self.clean_loss_rate,
            effective_loss_rate: self.clean_loss_rate,
            capacity: self.topology.capacity(link),
            protected: false,
            place: list.len() as u32,
        };
        list.push(link);
        self.loss_rates.insert(self.clean_loss_rate.to_bits());
        let slot = match self.free.pop() {
            Some(slot) => {
                self.corrupting[slot as usize] = entry;
                slot as usize
            }
            None => {
                self.corrupting.push(entry);
                self.corrupting.len() - 1
            }
        };
        self.state[link.index()] = slot as LinkState;
        slot
    }

    fn remove_slot(&mut self, link: LinkId) -> Corrupting {
        assert!(self.corrupting(link).is_some(), "link {} does not corrupt", link.0);
        let slot = self.state[link.index()];
        let entry = self.corrupting[slot as usize];
        self.free.push(slot);
        let list = &mut self.in_zone[self.topology.zone_of(link).index()];
        list.swap_remove(entry.place as usize);
        if let Some(&moved) = list.get(entry.place as usize) {
            let moved = self.state[moved.index()] as usize;
            self.corrupting[moved].place = entry.place;
        }
        entry
    }
}
