//! What is left of the capacity of ToRs, where that is another share than that of their paths.

use crate::rounding::share_of;
use linkmend_topology::paths::Paths;
use linkmend_topology::speeds::speed_weights;
use linkmend_topology::{LinkId, SwitchId, Topology};

/// Where weights are rounded, a ToR may have this share less than it must keep: one in a thousand.
const ROUNDING: u64 = 1_000;

/// The shares of all ToRs, as counts.
#[derive(Debug, Clone)]
pub struct Shares {
    counts: Paths,
    /// The count of each switch with all links in operation.
    whole: Vec<u64>,
    /// The least count that each switch may keep; 0 above the ToRs.
    required: Vec<u64>,
}

impl Shares {
    /// Each ToR must keep this share. `None` if it is the share of its paths in any case.
    pub(super) fn new(topology: &Topology, share: f64) -> Option<Shares> {
        let weights = speed_weights(topology)?;
        let counts = Paths::weighted(topology, weights.of);
        let whole: Vec<u64> = topology.switches().map(|switch| counts.count(switch)).collect();
        let mut required = vec![0; topology.switch_count()];
        for tor in topology.tors() {
            let whole = whole[tor.index()];
            let tolerated = if weights.are_exact { 0 } else { whole / ROUNDING };
            required[tor.index()] = share_of(whole, share).saturating_sub(tolerated);
        }
        Some(Shares { counts, whole, required })
    }

    /// What is left of a ToR's capacity; 0 to 1.
    pub fn left(&self, tor: SwitchId) -> f64 {
        self.counts.count(tor) as f64 / self.whole[tor.index()] as f64
    }

    /// What is left, as a count.
    pub fn count(&self, tor: SwitchId) -> u64 {
        self.counts.count(tor)
    }

    /// The least count that a ToR must keep.
    pub fn required(&self, tor: SwitchId) -> u64 {
        self.required[tor.index()]
    }

    /// The part of a count at a link's lower end that comes over the link.
    pub fn over(&self, topology: &Topology, link: LinkId) -> u64 {
        self.counts.over(topology, link)
    }

    /// How many links a link counts as.
    pub fn weight(&self, link: LinkId) -> u64 {
        self.counts.weight(link)
    }

    /// As [`Paths::all_below`], whether every ToR keeps what it must.
    pub(super) fn all_keep(&self, topology: &Topology, link: LinkId) -> Option<bool> {
        self.counts.all_below(topology, link, |tor, left| left >= self.required(tor))
    }

    /// Removes an active link. Returns whether a ToR that loses by it has too little, and how many had enough and have not.
    pub(super) fn remove(&mut self, topology: &Topology, link: LinkId) -> (bool, u32) {
        let Shares { counts, required, .. } = self;
        let (mut is_short, mut crossed) = (false, 0);
        counts.remove(topology, link, &mut |tor, before, after| {
            let required = required[tor.index()];
            is_short |= after < required;
            crossed += u32::from(before >= required && after < required);
        });
        (is_short, crossed)
    }

    /// Adds a link again. Returns how many ToRs have enough again.
    pub(super) fn add(&mut self, topology: &Topology, link: LinkId) -> u32 {
        let Shares { counts, required, .. } = self;
        let mut crossed = 0;
        counts.add(topology, link, &mut |tor, before, after| {
            let required = required[tor.index()];
            crossed += u32::from(before < required && after >= required);
        });
        crossed
    }
}
