//! Second links: two links between the same switches that one protected session uses, as in the daemon
//! ([`linkmend_protocol::paths`]).
//!
//! Such a link end owns two ports. The port at the primary link has the end's queues and its scheme; the other one, the
//! *spare*, has only a wire. When the end changes its path, the two ports swap their wires with everything on them. The
//! port that sends frames therefore always has the wire in use, and queues and schemes work as with one link. Only
//! arrivals differ: the wire that the sender uses determines the path of a frame, and [`Paths`] decides whether to
//! accept it.
//!
//! The links fail as configured in [`Cuts`]. A failed link loses all frames on it and all frames sent on it, in both
//! directions.
//!
//! # What is an event
//!
//! The last sources of events are those of second links: for each end, the next action of its paths, and then for each
//! pair of links, the next start or end of a failure.

mod config;
mod cuts;
mod ends;
mod stats;

pub use config::{Cut, Cuts, Noticed, SecondLinkConfig};
pub use stats::{Failures, SecondLinkStats};

use super::Network;
use super::hosts::Hosts;
use crate::link::port::{Port, PortError};
use crate::link::{Frame, LinkId, Observer, PortId, Scheme};
use crate::random::Random;
use crate::time::Time;
use cuts::Pair;
use ends::End;
use linkmend_protocol::paths::{Path, Paths};
use linkmend_protocol::{ConfigError, Format, LinkEnd};

/// A second link in a plan: the first link, the second link, and how both are used.
pub(super) type Planned = (LinkId, LinkId, SecondLinkConfig);

const NO_END: u32 = u32::MAX;

/// All second links of a network.
#[derive(Debug)]
pub(super) struct SecondLinks {
    pairs: Vec<Pair>,
    /// Two for each pair of links.
    ends: Vec<End>,
    /// By port: which end it belongs to.
    end_of: Vec<u32>,
    seed: u64,
    /// Their first source of events.
    first_source: usize,
}

impl SecondLinks {
    /// # Errors
    /// If the scheme of a first link cannot use a second link, if a second link has a scheme itself, or if paths have
    /// wrong parameters.
    pub(super) fn new<S: Scheme>(
        planned: &[Planned],
        (ports, schemes): (&mut [Port<S>], &mut [S]),
        seed: u64,
        first_source: usize,
    ) -> Result<Option<Box<SecondLinks>>, PortError> {
        if planned.is_empty() {
            return Ok(None);
        }
        let mut links = SecondLinks {
            pairs: Vec::new(),
            ends: Vec::new(),
            end_of: vec![NO_END; ports.len()],
            seed,
            first_source,
        };
        for &(primary, backup, ref config) in planned {
            for (port, spare) in PortId::both(primary).into_iter().zip(PortId::both(backup)) {
                let can_change = |end: &mut LinkEnd| end.config().format == Format::Transparent;
                if !schemes[port.index()].link_end_mut().is_some_and(can_change)
                    || !ports[spare.index()].is_inert
                {
                    return Err(unfit().into());
                }
                let own = Random::new(seed, &format!("paths of end {}", port.index())).next_u64() as u32;
                let paths = Paths::new(config.paths, own)?;
                for at in [port, spare] {
                    links.end_of[at.index()] = links.ends.len() as u32;
                }
                // Ends over two links are software: they neither fill idle time nor repeat a frame by themselves.
                let this = &mut ports[port.index()];
                (this.fills_idle_slots, this.replenishes) = (false, false);
                links.ends.push(End::new(port, spare, paths, config.full_bytes));
            }
            links.pairs.push(Pair::new(primary, config.cuts, seed));
        }
        Ok(Some(Box::new(links)))
    }

    /// Number of their sources of events.
    pub(super) fn sources(planned: &[Planned]) -> usize {
        3 * planned.len()
    }

    /// Whether a port is a spare, which sends nothing by itself.
    pub(super) fn is_spare(&self, port: PortId) -> bool {
        self.end_at(port).is_some_and(|end| self.ends[end].spare == port)
    }

    fn end_at(&self, port: PortId) -> Option<usize> {
        let end = self.end_of[port.index()];
        (end != NO_END).then_some(end as usize)
    }

    fn pair_of(&self, primary: LinkId) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.primary == primary)
    }

    fn pair_source(&self, pair: usize) -> usize {
        self.first_source + self.ends.len() + pair
    }
}

fn unfit() -> ConfigError {
    ConfigError {
        parameter: "second link",
        value: f64::NAN,
        requirement: "needs a first link protected by LinkGuardian in the transparent format, and no protection of its own",
    }
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// The protocol's link end at a port, if its scheme has one.
    pub fn link_end_mut(&mut self, port: PortId) -> Option<&mut LinkEnd> {
        self.schemes[port.index()].link_end_mut()
    }

    /// The cost of failures and link changes so far, for the direction that leaves an end; `None` if its link has no
    /// second link.
    pub fn second_link_stats(&self, port: PortId) -> Option<SecondLinkStats> {
        let links = self.second_links.as_ref()?;
        let index = links.end_at(port)?;
        let (end, peer) = (&links.ends[index], &links.ends[index ^ 1]);
        Some(SecondLinkStats { frames_late: peer.paths.stats().late_frames, ..end.stats() })
    }

    /// The same for all ends together; `None` if there are no second links.
    pub fn all_second_link_stats(&self) -> Option<SecondLinkStats> {
        let links = self.second_links.as_ref()?;
        let mut all = SecondLinkStats::default();
        for end in &links.ends {
            all.add(&self.second_link_stats(end.port)?);
        }
        Some(all)
    }

    /// The state of the failures of a link with a second link, and of that second link.
    pub fn failures(&self, primary: LinkId) -> Option<Failures> {
        Some(self.second_links.as_ref()?.pair_of(primary)?.failures)
    }

    /// The port that currently has the wire of `port`.
    pub(super) fn wire_of(&self, port: PortId) -> PortId {
        let Some(links) = self.second_links.as_ref() else { return port };
        links.end_at(port).map_or(port, |end| links.ends[end].wire_of(port))
    }

    /// Frames that the link of `port` had corrupted before it was cut, if it is cut now.
    pub(super) fn corrupted_before_path_cut(&self, port: PortId) -> Option<u64> {
        let links = self.second_links.as_ref()?;
        let end = &links.ends[links.end_at(port)?];
        let path = if port == end.port { Path::Primary } else { Path::Backup };
        end.is_cut(path).then_some(end.corrupted_before[path as usize])
    }

    /// Does what is due at a source of second links.
    #[cold]
    #[inline(never)]
    pub(super) fn act_on_second_link(&mut self, source: usize) {
        let Some(links) = &self.second_links else { return };
        let number = source - links.first_source;
        match number.checked_sub(links.ends.len()) {
            None => self.follow_paths(number),
            Some(pair) => self.change_pair(pair),
        }
    }

    /// Begins to monitor all paths.
    pub(super) fn begin_paths(&mut self) {
        let ends = self.second_links.as_ref().map_or(0, |links| links.ends.len());
        (0..ends).for_each(|end| self.follow_paths(end));
    }

    /// Starts the failures, because the traffic starts.
    pub(super) fn begin_cuts(&mut self) {
        let Some(links) = &mut self.second_links else { return };
        let first = links.first_source + links.ends.len();
        for (number, pair) in links.pairs.iter_mut().enumerate() {
            pair.begin(links.seed, self.now);
            self.queue.set(first + number, pair.at);
        }
    }

    /// An end with a second link that is not ready for traffic, because it does not hear its peer on both links.
    pub(super) fn opening_path(&mut self) -> Option<PortId> {
        let links = self.second_links.as_ref()?;
        let schemes = &mut self.schemes;
        let is_opening = |end: &&End| {
            let link_end = schemes[end.port.index()].link_end_mut();
            link_end.is_some_and(|link_end| !ends::is_dormant(link_end)) && !end.hears_both()
        };
        links.ends.iter().find(is_opening).map(|end| end.port)
    }

    /// Records a frame of the traffic that the wire of `port` has lost. Returns whether it was lost because the link
    /// has failed.
    #[cold]
    #[inline(never)]
    pub(super) fn note_lost(&mut self, port: PortId, frame: &Frame, is_copy: bool) {
        let Some(links) = &mut self.second_links else { return };
        let Some(index) = links.end_at(port) else { return };
        let end = &mut links.ends[index];
        if !end.is_cut(end.uses) {
            end.counts.frames_corrupted += 1;
            return;
        }
        end.counts.frames_cut += 1;
        end.lost(self.now, Time::ZERO);
        if !is_copy {
            self.hosts.met_failure(frame);
        }
    }
}
