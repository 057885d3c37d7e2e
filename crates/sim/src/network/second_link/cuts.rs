//! Failures of two links between the same ends.

use super::config::{Cut, Cuts, Noticed};
use super::stats::Failures;
use crate::link::{LinkId, Observer, OnWire, Scheme};
use crate::network::Network;
use crate::network::failover::FailureTimes;
use crate::network::hosts::Hosts;
use crate::random::Random;
use crate::time::Time;
use linkmend_protocol::paths::Path;

/// What happens next to two links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Cut,
    /// The ports lose their carrier.
    Noticed,
    Mend,
}

/// Two links, and their failures.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) primary: LinkId,
    cuts: Option<Cuts>,
    times: Option<FailureTimes>,
    /// Which link fails, if it is chosen at random.
    random: Random,
    next: Change,
    pub(super) at: Time,
    left: u64,
    pub(super) failures: Failures,
}

impl Pair {
    pub(super) fn new(primary: LinkId, cuts: Option<Cuts>, seed: u64) -> Pair {
        Pair {
            primary,
            cuts,
            times: None,
            random: Random::new(seed, &format!("which of the links fails beside link {}", primary.0)),
            next: Change::Cut,
            at: Time::NEVER,
            left: cuts.map_or(0, |cuts| cuts.failures_max),
            failures: Failures {
                changes: 0,
                is_down: false,
                cut_at: Time::NEVER,
                path: Path::Primary,
                in_use: false,
            },
        }
    }

    /// The traffic begins now.
    pub(super) fn begin(&mut self, seed: u64, now: Time) {
        let Some(cuts) = self.cuts.filter(|_| self.left > 0) else { return };
        let times = cuts.times(seed, self.primary, now);
        self.at = times.at();
        self.times = Some(times);
    }

    /// Draws which link fails, if it is chosen at random, and schedules the change after the current one.
    fn advance(&mut self, cuts: &Cuts, now: Time) -> Change {
        let change = self.next;
        let mended_at = |cut_at: Time| cut_at + cuts.down_for;
        (self.next, self.at) = match (change, cuts.noticed) {
            (Change::Cut, noticed) => {
                let is_other = cuts.cut == Cut::Either && self.random.uniform() < 0.5;
                self.failures.path = if is_other { Path::Backup } else { Path::Primary };
                self.failures.cut_at = now;
                self.left -= 1;
                match noticed {
                    Noticed::Carrier => (Change::Noticed, now + cuts.detection),
                    Noticed::Silence => (Change::Mend, mended_at(now)),
                }
            }
            (Change::Noticed, _) => (Change::Mend, mended_at(self.failures.cut_at)),
            (Change::Mend, _) => {
                let times = self.times.as_mut().filter(|_| self.left > 0);
                let at = times.map_or(Time::NEVER, |times| {
                    times.skip_to(now);
                    times.at()
                });
                (Change::Cut, at)
            }
        };
        change
    }
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Links fail, are known to have failed, or work again.
    pub(super) fn change_pair(&mut self, number: usize) {
        let Some(links) = &mut self.second_links else { return };
        let pair = &mut links.pairs[number];
        let Some(cuts) = pair.cuts else { return };
        let change = pair.advance(&cuts, self.now);
        let (path, at) = (pair.failures.path, pair.at);
        let source = links.pair_source(number);
        self.queue.set(source, at);
        let paths = if cuts.cut == Cut::Both { &Path::ALL[..] } else { &[path][..] };
        let has_carrier = match change {
            Change::Cut => None,
            Change::Noticed => Some(false),
            Change::Mend => (cuts.noticed == Noticed::Carrier).then_some(true),
        };
        for end in [2 * number, 2 * number + 1] {
            for &path in paths {
                match change {
                    Change::Cut => self.cut_path(end, path),
                    Change::Noticed => {}
                    Change::Mend => self.mend_path(end, path),
                }
                if let Some(has_carrier) = has_carrier
                    && let Some(links) = &mut self.second_links
                {
                    links.ends[end].paths.handle_carrier(self.now.instant(), path, has_carrier);
                }
            }
        }
        if has_carrier.is_some() {
            self.follow_paths(2 * number);
            self.follow_paths(2 * number + 1);
        }
        let Some(links) = &mut self.second_links else { return };
        let uses = links.ends[2 * number].uses;
        let failures = &mut links.pairs[number].failures;
        failures.changes += u64::from(change != Change::Noticed);
        failures.is_down = change != Change::Mend;
        if change == Change::Cut {
            failures.in_use = paths.contains(&uses);
        }
    }

    /// The direction of a link that leaves an end fails.
    fn cut_path(&mut self, index: usize, path: Path) {
        let Some(links) = &mut self.second_links else { return };
        let end = &mut links.ends[index];
        let port = end.with_wire(path);
        let this = &mut self.ports[port.index()];
        let ingress_latency = this.ingress_latency;
        end.cut(path, this.corrupted);
        let (uncut, lost) = this.cut(self.now);
        end.uncut[path as usize] = uncut;
        let in_use = path == end.uses;
        for on_wire in &lost {
            if on_wire.is_traffic() {
                end.counts.frames_cut += 1;
                end.lost(self.now, ingress_latency);
            }
        }
        self.queue.set(port.peer().arrival(), self.ports[port.index()].next_arrival());
        for on_wire in lost {
            // Frames still on a link that is not in use were retransmitted on the other link, and may have reached
            // their host.
            if let Some(frame) = on_wire.original().filter(|_| in_use) {
                self.hosts.corrupted(frame);
                self.hosts.met_failure(frame);
            }
            match &on_wire {
                OnWire::Plain { frame } | OnWire::WithAck { frame, .. } => self.hosts.dropped(frame),
                OnWire::Control { place } => self.controls.free(*place),
                OnWire::Protected { .. }
                | OnWire::Damaged { .. }
                | OnWire::Ack { .. }
                | OnWire::Pause { .. } => {}
            }
        }
    }

    /// The direction of a link that leaves an end works again.
    fn mend_path(&mut self, index: usize, path: Path) {
        let Some(links) = &mut self.second_links else { return };
        let end = &mut links.ends[index];
        let this = &mut self.ports[end.with_wire(path).index()];
        if let Some(uncut) = end.uncut[path as usize].take() {
            this.corruption = uncut;
            this.corrupted = end.corrupted_before[path as usize];
        }
    }
}
