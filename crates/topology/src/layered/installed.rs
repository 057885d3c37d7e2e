//! What a network offers while all its links are in operation, and what each switch reaches upwards.
//!
//! Two ToRs can send to each other if some switch is above both: traffic climbs to it and descends from it. What a switch
//! reaches is a set of bits: first one for each switch of the top layer, then one for each other switch above the ToRs
//! of its zone. Switches of different zones can meet only in the top layer.

use crate::{LinkId, SwitchId, Topology, ZoneId};
use std::collections::BTreeMap;

/// Above this number of different sets of top switches, pairs of sets are not compared in advance.
const MAX_CLASSES: usize = 512;

/// What a network offers while all its links are in operation.
#[derive(Debug, Clone)]
pub struct Installed {
    tops: Vec<SwitchId>,
    /// The place of each switch: among the switches of the top layer, or of its zone.
    place: Vec<u32>,
    /// The switches of each zone, the highest layer first, and how many of them are above the ToRs.
    zones: Vec<(Vec<SwitchId>, usize)>,
    paths: Vec<u64>,
    /// No switch of the top layer that a switch reaches is at the end of fewer of its paths.
    to_each_top: Vec<u64>,
    /// The set of top switches that a ToR reaches, by its index in `classes`; 0 for other switches.
    class: Vec<u32>,
    classes: Vec<Box<[u64]>>,
    least_common: u64,
}

/// What each switch of a zone reaches upwards.
#[derive(Debug, Clone)]
pub struct ZoneReach {
    words: usize,
    rows: Vec<u64>,
}

impl ZoneReach {
    /// What the switch at this place of the zone reaches.
    pub fn row(&self, place: usize) -> &[u64] {
        &self.rows[place * self.words..(place + 1) * self.words]
    }
}

impl Installed {
    pub(crate) fn new(topology: &Topology) -> Installed {
        let top = topology.layers - 1;
        let mut place = vec![0; topology.switch_count()];
        let mut tops = Vec::new();
        let mut members: Vec<Vec<SwitchId>> = vec![Vec::new(); topology.zone_count()];
        for switch in topology.switches() {
            let list = match topology.switch(switch).zone {
                Some(zone) => &mut members[zone.index()],
                None => &mut tops,
            };
            list.push(switch);
        }
        for list in &mut members {
            list.sort_by_key(|switch| (top - topology.switch(*switch).layer, *switch));
        }
        for list in members.iter().chain([&tops]) {
            list.iter().enumerate().for_each(|(at, switch)| place[switch.index()] = at as u32);
        }
        let above_tors =
            |list: &Vec<SwitchId>| list.iter().filter(|switch| topology.switch(**switch).layer > 0).count();
        let zones =
            members.into_iter().map(|list| (above_tors(&list), list)).map(|(above, list)| (list, above));
        let mut installed = Installed {
            zones: zones.collect(),
            tops,
            place,
            paths: paths(topology),
            to_each_top: vec![1; topology.switch_count()],
            class: vec![0; topology.switch_count()],
            classes: Vec::new(),
            least_common: 0,
        };
        installed.classify(topology);
        installed
    }

    /// Finds which ToRs reach which switches of the top layer, in how many ways at least.
    fn classify(&mut self, topology: &Topology) {
        let mut numbers: BTreeMap<Box<[u64]>, u32> = BTreeMap::new();
        for zone in topology.zones() {
            let reach = self.reach_in(topology, zone, |_| true);
            for place in 0..self.zones[zone.index()].0.len() {
                let switch = self.zones[zone.index()].0[place];
                self.to_each_top[switch.index()] = self.ways(topology, switch);
                if topology.switch(switch).layer == 0 {
                    let next = numbers.len() as u32;
                    let set: Box<[u64]> = reach.row(place)[..self.top_words()].into();
                    self.class[switch.index()] = *numbers.entry(set).or_insert(next);
                }
            }
        }
        self.classes = vec![Box::default(); numbers.len()];
        numbers.into_iter().for_each(|(set, number)| self.classes[number as usize] = set);
        let is_dead_end = |switch: &SwitchId| {
            topology.switch(*switch).layer > 0
                && self.paths[switch.index()] == 0
                && !topology.down(*switch).is_empty()
        };
        if self.classes.len() <= MAX_CLASSES && !topology.switches().any(|switch| is_dead_end(&switch)) {
            let pairs =
                self.classes.iter().flat_map(|one| self.classes.iter().map(move |other| (one, other)));
            let common = pairs.map(|(one, other)| common(one, other)).filter(|&common| common > 0);
            self.least_common = common.min().unwrap_or(0);
        }
    }

    /// No switch of the top layer is at the end of fewer paths of this one, if it is at the end of any.
    fn ways(&self, topology: &Topology, switch: SwitchId) -> u64 {
        let mut uppers: BTreeMap<SwitchId, u64> = BTreeMap::new();
        for hop in topology.up(switch).iter().filter(|hop| self.paths[hop.switch.index()] > 0) {
            *uppers.entry(hop.switch).or_default() += 1;
        }
        let through =
            uppers.iter().map(|(upper, links)| links.saturating_mul(self.to_each_top[upper.index()]));
        through.min().unwrap_or(1).max(1)
    }

    /// Paths of a switch to the top layer.
    pub fn paths(&self, switch: SwitchId) -> u64 {
        self.paths[switch.index()]
    }

    /// The most switches of the top layer that a ToR with this many paths left can have lost.
    pub fn lost_tops(&self, tor: SwitchId, paths: u64) -> u64 {
        self.paths(tor).saturating_sub(paths) / self.to_each_top[tor.index()]
    }

    /// The switches of a zone, the highest layer first.
    pub fn switches_of(&self, zone: ZoneId) -> &[SwitchId] {
        &self.zones[zone.index()].0
    }

    /// The place of a switch in its zone or in the top layer.
    pub fn place(&self, switch: SwitchId) -> usize {
        self.place[switch.index()] as usize
    }

    /// The switches of the top layer.
    pub fn tops(&self) -> &[SwitchId] {
        &self.tops
    }

    /// Words of a set that are about the top layer. They come first.
    pub fn top_words(&self) -> usize {
        self.tops.len().div_ceil(64)
    }

    /// Words of a set of switches that one of this zone reaches.
    pub fn words(&self, zone: ZoneId) -> usize {
        self.top_words() + self.zones[zone.index()].1.div_ceil(64)
    }

    /// Two ToRs that can meet in the top layer while all links are in operation have at least so many switches of it in
    /// common. 0 if that is not known, or does not tell whether they can meet.
    pub fn least_common(&self) -> u64 {
        self.least_common
    }

    /// How many switches of the top layer two ToRs have in common while all links are in operation.
    pub fn common_tops(&self, one: SwitchId, other: SwitchId) -> u64 {
        let set = |tor: SwitchId| &self.classes[self.class[tor.index()] as usize];
        common(set(one), set(other))
    }

    /// Which of the different sets of top switches a ToR reaches while all links are in operation.
    pub fn class(&self, tor: SwitchId) -> usize {
        self.class[tor.index()] as usize
    }

    /// The number of different sets of top switches that ToRs reach while all links are in operation.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Marks a switch in a set of switches that one of its zone reaches.
    fn mark(&self, topology: &Topology, set: &mut [u64], switch: SwitchId) -> bool {
        let is_top = topology.switch(switch).zone.is_none();
        let bit = self.place(switch) + if is_top { 0 } else { 64 * self.top_words() };
        let is_new = set[bit / 64] >> (bit % 64) & 1 == 0;
        set[bit / 64] |= 1 << (bit % 64);
        is_new
    }

    /// What each switch of a zone reaches over active links.
    pub fn reach_in(
        &self,
        topology: &Topology,
        zone: ZoneId,
        is_active: impl Fn(LinkId) -> bool,
    ) -> ZoneReach {
        let (words, members) = (self.words(zone), self.switches_of(zone));
        let mut rows = vec![0; words * members.len()];
        // Rows of higher layers come first, so they are complete by the time that lower ones need them.
        for (place, &switch) in members.iter().enumerate() {
            let (above, own) = rows.split_at_mut(place * words);
            let own = &mut own[..words];
            for hop in topology.up(switch).iter().filter(|hop| is_active(hop.link)) {
                self.mark(topology, own, hop.switch);
                if topology.switch(hop.switch).zone.is_some() {
                    let from = self.place(hop.switch) * words;
                    own.iter_mut().zip(&above[from..from + words]).for_each(|(own, above)| *own |= above);
                }
            }
        }
        ZoneReach { words, rows }
    }

    /// What one switch below the top layer reaches over active links.
    pub fn reach(
        &self,
        topology: &Topology,
        switch: SwitchId,
        is_active: impl Fn(LinkId) -> bool,
    ) -> Box<[u64]> {
        let Some(zone) = topology.switch(switch).zone else { return Box::default() };
        let mut set = vec![0; self.words(zone)];
        let mut to_visit = vec![switch];
        while let Some(switch) = to_visit.pop() {
            for hop in topology.up(switch).iter().filter(|hop| is_active(hop.link)) {
                if self.mark(topology, &mut set, hop.switch) {
                    to_visit.push(hop.switch);
                }
            }
        }
        set.into()
    }

    /// Whether two switches, of one zone or of two, reach a common one.
    pub fn meet(&self, one: &[u64], other: &[u64], same_zone: bool) -> bool {
        let words = if same_zone { one.len() } else { self.top_words() };
        one[..words].iter().zip(&other[..words]).any(|(one, other)| one & other != 0)
    }
}

fn common(one: &[u64], other: &[u64]) -> u64 {
    one.iter().zip(other).map(|(one, other)| u64::from((one & other).count_ones())).sum()
}

/// Paths of each switch to the top layer. That they fit is checked when a network is built.
fn paths(topology: &Topology) -> Vec<u64> {
    let mut paths = vec![0; topology.switch_count()];
    let mut from_the_top: Vec<SwitchId> = topology.switches().collect();
    from_the_top.sort_by_key(|switch| std::cmp::Reverse(topology.switch(*switch).layer));
    for switch in from_the_top {
        paths[switch.index()] = match topology.switch(switch).zone {
            None => 1,
            Some(_) => topology.up(switch).iter().map(|hop| paths[hop.switch.index()]).sum(),
        };
    }
    paths
}
