//! Ports that flap: how often, and how many at once.
//!
//! A port that flaps again and again has a bad link. Ports that flap at once have something in common, such as their switch,
//! the one at their other ends, or a kind of module. Such flaps are not held against their links.

use super::watched::Watched;
use super::{Agent, Decision, DecisionKind};
use crate::PortName;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// For how long flaps are counted.
const COUNTED_FOR: Duration = Duration::from_hours(24);
/// Flaps within this time are at once.
const AT_ONCE: Duration = Duration::from_secs(10);
/// So many flaps of a port are said, and twice as many, and so on.
const TOLD_FIRST: u32 = 5;
/// Flaps of a port that are remembered.
const REMEMBERED_MOST: usize = 100;
/// Ports of one switch that flap at once by chance, if they are fewer.
const PORTS_LEAST: usize = 3;
/// The same of ports that lead to one other switch.
const PORTS_TO_ONE_LEAST: usize = 2;

/// What is known of the flaps of one port.
#[derive(Debug, Default)]
struct Port {
    times: VecDeque<Duration>,
    /// The next number of flaps that is said; 0 before the first.
    told_next: u32,
}

/// Watches all ports of an agent. Call [`handle_flap`](Self::handle_flap) for each flap, and [`judge`](Self::judge) after
/// every poll.
#[derive(Debug, Default)]
pub(super) struct Flapping {
    ports: BTreeMap<String, Port>,
    /// Flaps that may turn out to be some of many at once.
    recent: VecDeque<(Duration, String)>,
    /// When ports last flapped at once.
    at_once: Option<Duration>,
    /// Ports of which the latest call of [`judge`](Self::judge) has counted flaps.
    counted: Vec<String>,
}

impl Flapping {
    pub fn handle_flap(&mut self, now: Duration, port: &str) {
        self.recent.push_back((now, port.to_owned()));
    }

    /// How often the port has flapped by itself within the last 24 hours.
    pub fn count(&self, now: Duration, port: &str) -> u32 {
        let since = now.saturating_sub(COUNTED_FOR);
        let times = self.ports.get(port).map(|port| port.times.iter().filter(|time| **time >= since).count());
        u32::try_from(times.unwrap_or_default()).unwrap_or(u32::MAX)
    }

    /// What there is to say at `now`, about which port. `peers` are all ports that are watched, each with the switch that it
    /// leads to, if that is known.
    pub fn judge(
        &mut self,
        now: Duration,
        peers: &BTreeMap<&str, Option<&str>>,
    ) -> Vec<(String, DecisionKind)> {
        let mut told = Vec::new();
        self.counted.clear();
        if let Some((port, common)) = self.common(peers) {
            self.recent.clear();
            // More of the same follow.
            let is_new = self.at_once.is_none_or(|last| now.saturating_sub(last) > AT_ONCE);
            self.at_once = Some(now);
            told.extend(is_new.then_some((port, common)));
        }
        let are_more = self.at_once.is_some_and(|last| now.saturating_sub(last) <= AT_ONCE);
        while let Some((time, port)) =
            self.recent.pop_front_if(|(time, _)| are_more || now.saturating_sub(*time) > AT_ONCE)
        {
            if are_more {
                continue;
            }
            let known = self.ports.entry(port.clone()).or_default();
            known.times.push_back(time);
            while known.times.len() > REMEMBERED_MOST {
                known.times.pop_front();
            }
            self.counted.push(port.clone());
            told.extend(self.often(now, &port).map(|kind| (port, kind)));
        }
        let since = now.saturating_sub(COUNTED_FOR);
        self.ports.retain(|_, port| port.times.back().is_some_and(|last| *last >= since));
        told
    }

    fn often(&mut self, now: Duration, name: &str) -> Option<DecisionKind> {
        let flaps = self.count(now, name);
        let port = self.ports.get_mut(name)?;
        if flaps < TOLD_FIRST {
            port.told_next = TOLD_FIRST;
        }
        if flaps < port.told_next.max(TOLD_FIRST) {
            return None;
        }
        port.told_next = flaps.saturating_mul(2);
        Some(DecisionKind::Flaps { flaps })
    }

    /// What recent flaps have in common, with one of their ports; `None` if nothing.
    fn common(&self, peers: &BTreeMap<&str, Option<&str>>) -> Option<(String, DecisionKind)> {
        let flapped: BTreeSet<&str> = self.recent.iter().map(|(_, port)| port.as_str()).collect();
        let last = self.recent.back()?.1.clone();
        let peer = peers.get(last.as_str()).copied().flatten();
        let leads_to_it = |port: &str| peer.is_some() && peers.get(port).copied().flatten() == peer;
        let ports = flapped.iter().filter(|port| leads_to_it(port)).count();
        let all = peers.keys().filter(|port| leads_to_it(port)).count();
        let kind = |ports: usize, of: usize, peer: Option<&str>| DecisionKind::FlapsAtOnce {
            ports: ports as u64,
            of: of as u64,
            peer: peer.map(str::to_owned),
        };
        if flapped.len() >= PORTS_LEAST.max(peers.len().div_ceil(2)) && flapped.len() > ports {
            return Some((last, kind(flapped.len(), peers.len(), None)));
        }
        (ports >= PORTS_TO_ONE_LEAST && ports == all).then(|| (last, kind(ports, all, peer)))
    }
}

impl Agent {
    pub(super) fn tell_flaps(&mut self, now: Duration) {
        let peer = |watched: &Watched| self.cabling.peer(watched.name()).map(PortName::agent);
        let peers = self.ports.iter().map(|(port, watched)| (port.as_str(), peer(watched))).collect();
        for (port, kind) in self.flapping.judge(now, &peers) {
            if let Some(watched) = self.ports.get(&port) {
                self.decisions.push_back(Decision::of_flaps(now, watched.name().clone(), kind));
            }
        }
        for port in std::mem::take(&mut self.flapping.counted) {
            self.tell_module_flaps(now, &port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    /// Four ports, two of which lead to each of two switches.
    fn peers() -> BTreeMap<&'static str, Option<&'static str>> {
        [("a", Some("s1")), ("b", Some("s1")), ("c", Some("s2")), ("d", Some("s2"))].into()
    }

    /// What is said of the flaps of these ports at these seconds.
    fn told(flaps: &[(u64, &str)]) -> Vec<(String, DecisionKind)> {
        let mut flapping = Flapping::default();
        let end = flaps.iter().map(|(time, _)| time).max().expect("flaps") + 20;
        (0..end)
            .flat_map(|now| {
                flaps
                    .iter()
                    .filter(|(time, _)| *time == now)
                    .for_each(|(_, port)| flapping.handle_flap(second(now), port));
                flapping.judge(second(now), &peers())
            })
            .collect()
    }

    #[test]
    fn a_port_that_flaps_again_and_again_is_said_at_five_flaps_and_at_ten() {
        let flaps: Vec<_> = (0..12).map(|flap| (flap * 600, "a")).collect();
        let said = |flaps| ("a".to_owned(), DecisionKind::Flaps { flaps });
        assert_eq!(told(&flaps), [said(5), said(10)]);
        assert_eq!(told(&flaps[..4]), []);
        let rare: Vec<_> = (0..9).map(|flap| (flap * 30_000, "a")).collect();
        assert_eq!(told(&rare), [], "three a day");
    }

    #[test]
    fn ports_that_flap_at_once_are_said_once_and_have_not_flapped_themselves() {
        let all: Vec<_> =
            (0..6).flat_map(|time| ["a", "c", "b", "d"].map(|port| (100 + time * 1_000, port))).collect();
        let switch = DecisionKind::FlapsAtOnce { ports: 3, of: 4, peer: None };
        let of_four = told(&all);
        assert_eq!(of_four.len(), 6, "{of_four:?}");
        assert!(of_four.iter().all(|(_, kind)| matches!(kind, DecisionKind::FlapsAtOnce { ports: 4, .. })));
        assert_eq!(told(&[(5, "a"), (7, "c"), (9, "b")])[0].1, switch);
        let peer = DecisionKind::FlapsAtOnce { ports: 2, of: 2, peer: Some("s2".to_owned()) };
        assert_eq!(told(&[(5, "c"), (8, "d")]), [("d".to_owned(), peer)]);
        assert_eq!(told(&[(5, "a"), (8, "d")]), [], "two of four");
    }
}
