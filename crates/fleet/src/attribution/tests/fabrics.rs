//! Random fabrics with dirty links, whose switches are cut-through or store-and-forward.

use crate::attribution::{Attribution, Counted, Counts, Verdict, attribute};
use linkmend_random::Random;
use linkmend_topology::{FabricParameters, LinkId, SwitchId, Topology, fat_tree, leaf_spine};
use std::collections::{BTreeMap, VecDeque};

/// Rates below are reported by nobody.
const REPORTED_FROM: f64 = 1e-8;
const FABRICS: u64 = 1_000;

/// A network in which some directions of links corrupt frames.
struct Fabric {
    topology: Topology,
    is_cut_through: Vec<bool>,
    /// By link and whether the upper switch receives.
    dirty: BTreeMap<(LinkId, bool), f64>,
}

/// Frames that arrive in a direction, and the bad ones among them.
#[derive(Clone, Copy, Default)]
struct Arrived {
    frames: f64,
    bad: f64,
}

fn below(random: &mut Random, limit: usize) -> usize {
    (random.uniform() * limit as f64) as usize
}

impl Fabric {
    fn draw(random: &mut Random) -> Fabric {
        let speed = 100_000_000_000;
        let mut from_2 = |more: usize| 2 + below(random, more) as u32;
        let topology = match from_2(3) {
            2 => leaf_spine(from_2(15), from_2(7), speed),
            3 => fat_tree(2 * from_2(3), speed),
            _ => FabricParameters {
                pods: from_2(5),
                tors_per_pod: from_2(7),
                fabric_switches_per_pod: from_2(3),
                spines_per_plane: from_2(3),
                bits_per_second: speed,
            }
            .build(),
        };
        let topology = topology.expect("a network");
        let is_cut_through = topology.switches().map(|_| random.uniform() < 0.5).collect();
        let count = 1 + below(random, 5);
        let mut dirty = BTreeMap::new();
        while dirty.len() < count {
            let link = LinkId(below(random, topology.link_count()) as u32);
            dirty.insert((link, random.uniform() < 0.5), libm::pow(10.0, -6.0 + 4.0 * random.uniform()));
        }
        Fabric { topology, is_cut_through, dirty }
    }

    /// Sends frames between all ToRs, over all shortest paths and as evenly as flows are hashed.
    fn carry(&self, random: &mut Random) -> BTreeMap<(LinkId, bool), Arrived> {
        let share: BTreeMap<(LinkId, bool), f64> = self
            .topology
            .links()
            .flat_map(|link| [(link, false), (link, true)])
            .map(|direction| (direction, 0.8 + 0.4 * random.uniform()))
            .collect();
        let mut arrived = BTreeMap::new();
        for &to in self.topology.tors() {
            let distances = distances_to(&self.topology, to);
            let mut at: Vec<Arrived> = vec![Arrived::default(); self.topology.switch_count()];
            for &from in self.topology.tors().iter().filter(|from| **from != to) {
                at[from.index()].frames = 1e8 * random.exponential();
            }
            let mut order: Vec<SwitchId> = self.topology.switches().filter(|switch| *switch != to).collect();
            order.sort_by_key(|switch| std::cmp::Reverse(distances[switch.index()]));
            for switch in order {
                let closer = |(_, other): &((LinkId, bool), SwitchId)| {
                    distances[other.index()] < distances[switch.index()]
                };
                let next: Vec<((LinkId, bool), SwitchId)> =
                    neighbours(&self.topology, switch).filter(closer).collect();
                let whole: f64 = next.iter().map(|(direction, _)| share[direction]).sum();
                let Arrived { frames, bad } = at[switch.index()];
                for (direction, other) in next {
                    let part = share[&direction] / whole;
                    let corrupted = (frames - bad) * self.dirty.get(&direction).copied().unwrap_or(0.0);
                    let (frames, bad) = (frames * part, (bad + corrupted) * part);
                    let counted: &mut Arrived = arrived.entry(direction).or_default();
                    *counted = Arrived { frames: counted.frames + frames, bad: counted.bad + bad };
                    let passed_on = if self.is_cut_through[other.index()] { bad } else { 0.0 };
                    let there = &mut at[other.index()];
                    *there = Arrived {
                        frames: there.frames + frames - bad + passed_on,
                        bad: there.bad + passed_on,
                    };
                }
            }
        }
        arrived
    }

    /// What ports report, with the noise of counts. `sided` says whether with the port.
    fn report(&self, random: &mut Random, sided: bool) -> Counts {
        let mut links: Vec<Counted> = Vec::new();
        for ((link, up), Arrived { frames, bad }) in self.carry(random) {
            let ends = self.topology.link(link);
            let noise: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
            let loss_rate = (bad + noise * bad.sqrt()).round() / frames;
            if loss_rate < REPORTED_FROM {
                continue;
            }
            let receiver = sided.then_some(if up { ends.upper } else { ends.lower });
            match links.iter_mut().find(|counted| !sided && counted.link == link) {
                Some(counted) => counted.loss_rate = counted.loss_rate.max(loss_rate),
                None => links.push(Counted { link, loss_rate, receiver }),
            }
        }
        Counts { links, reported_from: REPORTED_FROM, ..Counts::default() }
    }
}

fn neighbours(topology: &Topology, switch: SwitchId) -> impl Iterator<Item = ((LinkId, bool), SwitchId)> {
    let up = topology.up(switch).iter().map(|hop| ((hop.link, true), hop.switch));
    up.chain(topology.down(switch).iter().map(|hop| ((hop.link, false), hop.switch)))
}

fn distances_to(topology: &Topology, to: SwitchId) -> Vec<u32> {
    let mut distances = vec![u32::MAX; topology.switch_count()];
    distances[to.index()] = 0;
    let mut reached = VecDeque::from([to]);
    while let Some(switch) = reached.pop_front() {
        for (_, other) in neighbours(topology, switch) {
            if distances[other.index()] == u32::MAX {
                distances[other.index()] = distances[switch.index()] + 1;
                reached.push_back(other);
            }
        }
    }
    distances
}

/// How well the sources were told apart from their victims.
#[derive(Debug, Default)]
struct Score {
    sources: u64,
    found: u64,
    /// Sources that corrupt at least half of the bad frames that they count. The others show when those upstream are
    /// repaired.
    plain: u64,
    plain_found: u64,
    /// The ones that a plan may disable.
    certain: u64,
    victims: u64,
    victims_blamed: u64,
    victims_certain: u64,
}

impl Score {
    fn add(&mut self, fabric: &Fabric, verdicts: &BTreeMap<LinkId, Attribution>) {
        let own: BTreeMap<LinkId, f64> =
            fabric.dirty.iter().map(|((link, _), rate)| (*link, *rate)).collect();
        self.sources += own.len() as u64;
        for (link, attribution) in verdicts {
            let is_blamed = u64::from(!matches!(attribution.verdict, Verdict::Downstream(_)));
            let is_certain = u64::from(attribution.verdict == Verdict::Source);
            let Some(own) = own.get(link) else {
                self.victims += 1;
                self.victims_blamed += is_blamed;
                self.victims_certain += is_certain;
                continue;
            };
            self.found += is_blamed;
            self.certain += is_certain;
            let is_plain = u64::from(own * 2.0 >= attribution.loss_rate);
            self.plain += is_plain;
            self.plain_found += is_plain * is_blamed;
        }
    }
}

fn score(sided: bool) -> Score {
    let mut score = Score::default();
    for seed in 0..FABRICS {
        let mut random = Random::new(seed, "attribution");
        let fabric = Fabric::draw(&mut random);
        let counts = fabric.report(&mut random, sided);
        score.add(&fabric, &attribute(&fabric.topology, &counts));
    }
    score
}

/// Shares of the sources, in percent: of those that corrupt most of what they count, of all, and of all that are certain.
#[track_caller]
fn check(sided: bool, [plain, all, certain]: [u64; 3]) {
    let score = score(sided);
    println!("{score:?}");
    assert_eq!(score.victims_certain, 0, "{score:?}");
    assert!(score.victims > 5_000 && score.victims_blamed * 20 <= score.victims, "{score:?}");
    assert!(score.plain_found * 100 >= score.plain * plain, "{score:?}");
    assert!(score.found * 100 >= score.sources * all, "{score:?}");
    assert!(score.certain * 100 >= score.sources * certain, "{score:?}");
}

#[test]
fn sources_are_found_and_no_victim_may_be_disabled() {
    check(true, [99, 97, 90]);
}

/// What a link counts at one end hides what it counts at the other.
#[test]
fn without_receivers_fewer_sources_are_found_and_still_no_victim_may_be_disabled() {
    check(false, [95, 92, 74]);
}
