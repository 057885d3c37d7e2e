//! An end of two links: on which link frames arrive, when the end changes links, and its probes.

use super::stats::SecondLinkStats;
use crate::corruption::CorruptionProcess;
use crate::link::scheme::ControlFrame;
use crate::link::{Observer, OnWire, PortId, Received, Scheme, Sent};
use crate::network::Network;
use crate::network::hosts::Hosts;
use crate::time::Time;
use linkmend_protocol::paths::{Path, Paths, Probe};
use linkmend_protocol::{LinkEnd, ReceiveState, TransmitState};

/// Minimum time after which an end checks again if it had nothing to do although something was due.
const AGAIN: Time = Time::from_nanos(10);

/// An end of two links.
#[derive(Debug)]
pub(super) struct End {
    /// Its port at the first link, with its queues and its scheme.
    pub(super) port: PortId,
    pub(super) spare: PortId,
    pub(super) paths: Paths,
    /// The path whose wire its port has; the spare has the other.
    pub(super) uses: Path,
    full_bytes: u32,
    /// By path, while it is cut: how the wire corrupts normally, and how many frames it had corrupted before.
    pub(super) uncut: [Option<CorruptionProcess>; 2],
    pub(super) corrupted_before: [u64; 2],
    /// Since when its peer has delivered nothing because a link lost frames, and until when arrivals there were sent
    /// before the loss.
    gap: Option<(Time, Time)>,
    pub(super) counts: SecondLinkStats,
}

/// Whether a link end protects nothing in either direction.
pub(super) fn is_dormant(end: &LinkEnd) -> bool {
    let status = end.status();
    status.transmit == TransmitState::Dormant && status.receive == ReceiveState::Listening
}

impl End {
    pub(super) fn new(port: PortId, spare: PortId, paths: Paths, full_bytes: u32) -> End {
        End {
            port,
            spare,
            paths,
            uses: Path::Primary,
            full_bytes,
            uncut: [None, None],
            corrupted_before: [0; 2],
            gap: None,
            counts: SecondLinkStats::default(),
        }
    }

    pub(super) fn stats(&self) -> SecondLinkStats {
        let paths = self.paths.stats();
        SecondLinkStats {
            failovers: paths.failovers,
            returns: paths.moves + paths.quality_changes,
            frames_resent: paths.resent_frames,
            ..self.counts.clone()
        }
    }

    pub(super) fn hears_both(&self) -> bool {
        self.paths.peer_watches() && Path::ALL.iter().all(|&path| self.paths.is_heard(path))
    }

    /// The port that has the wire of a path.
    pub(super) fn with_wire(&self, path: Path) -> PortId {
        if path == self.uses { self.port } else { self.spare }
    }

    /// The port that currently has the wire of one of its ports.
    pub(super) fn wire_of(&self, port: PortId) -> PortId {
        self.with_wire(if port == self.port { Path::Primary } else { Path::Backup })
    }

    /// The path that frames leaving from one of its ports take now.
    fn path_from(&self, port: PortId) -> Path {
        if port == self.port { self.uses } else { self.uses.other() }
    }

    pub(super) fn is_cut(&self, path: Path) -> bool {
        self.uncut[path as usize].is_some()
    }

    /// A path fails; its wire had corrupted this many frames.
    pub(super) fn cut(&mut self, path: Path, corrupted: u64) {
        self.counts.cuts += 1;
        self.counts.cuts_in_use += u64::from(path == self.uses);
        self.corrupted_before[path as usize] = corrupted;
    }

    /// A failed link has lost a frame of the traffic. Frames that arrive within `passed` had crossed it before.
    pub(super) fn lost(&mut self, now: Time, passed: Time) {
        self.gap.get_or_insert((now, now + passed));
    }
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Handles the next frame in flight towards a port of a network with second links.
    #[inline(never)]
    pub(in crate::network) fn arrive_on_path(&mut self, at: PortId) {
        let Some(links) = &mut self.second_links else { return };
        let Some(index) = links.end_at(at) else { return self.arrive(at) };
        let path = links.ends[index ^ 1].path_from(at.peer());
        let waited = links.ends[index ^ 1].gap.filter(|(_, until)| self.now > *until);
        let end = &mut links.ends[index];
        let (port, now) = (end.port, self.now.instant());
        end.paths.heard(now, path);
        let Some((_, on_wire)) = self.ports[at.peer().index()].in_flight.front() else { return };
        let probe = on_wire.control(&self.controls).and_then(ControlFrame::probe);
        let is_plain = matches!(on_wire, OnWire::Plain { .. } | OnWire::WithAck { .. });
        let takes = match (probe, on_wire) {
            (Some(probe), _) => {
                end.paths.handle_probe(now, path, probe);
                true
            }
            // They have no number, so they are accepted on either path; a pause applies to the port.
            (None, OnWire::Plain { .. } | OnWire::WithAck { .. } | OnWire::Pause { .. }) => true,
            (
                None,
                OnWire::Protected { .. }
                | OnWire::Damaged { .. }
                | OnWire::Ack { .. }
                | OnWire::Control { .. },
            ) => end.paths.takes(path),
        };
        if takes {
            let delivered = waited.map(|_| self.delivered_by(port));
            self.arrive_over(at, port);
            if let Some((since, _)) = waited
                && (is_plain || Some(self.delivered_by(port)) != delivered)
                && let Some(links) = &mut self.second_links
            {
                let sender = &mut links.ends[index ^ 1];
                sender.gap = None;
                sender.counts.gaps.push(self.now - since);
            }
        } else {
            self.drop_late(at, port);
        }
        self.follow_paths(index);
    }

    /// Protected frames that an end has delivered.
    fn delivered_by(&mut self, port: PortId) -> u64 {
        let end = self.schemes[port.index()].link_end_mut();
        end.map_or(0, |end| end.stats().delivered_frames)
    }

    /// Drops a frame that arrives on a path that its sender has left.
    fn drop_late(&mut self, at: PortId, port: PortId) {
        let from = &mut self.ports[at.peer().index()];
        if let Some((_, on_wire)) = from.in_flight.pop_front() {
            let control = on_wire.control(&self.controls);
            self.observer.received(port, self.now, &Received { frame: &on_wire, control });
            if let OnWire::Control { place } = on_wire {
                self.controls.free(place);
            }
        }
        self.queue.set(at.arrival(), from.next_arrival());
    }

    /// Does what an end's paths request: changes the path, sends probes.
    pub(super) fn follow_paths(&mut self, index: usize) {
        let Some(links) = &mut self.second_links else { return };
        let end = &mut links.ends[index];
        let Some(link_end) = self.schemes[end.port.index()].link_end_mut() else { return };
        let at = self.now.instant();
        let paths = &mut end.paths;
        paths.set_dormant(at, is_dormant(link_end));
        paths.set_measured_loss(at, link_end.path_loss());
        link_end.set_clean_other(paths.has_clean_other());
        if paths.next_timeout() <= at {
            paths.handle_timeout(at);
        }
        let mut changed = false;
        while paths.poll_change().is_some() {
            paths.note_resent(link_end.change_path(at));
            changed = true;
        }
        if changed || end.uses != end.paths.active() {
            self.take_path(index);
        }
        for path in Path::ALL {
            while let Some(links) = &mut self.second_links
                && let Some(probe) = links.ends[index].paths.poll_probe(at, path)
            {
                self.send_probe(index, path, probe);
            }
        }
        let Some(links) = &self.second_links else { return };
        let due = Time(links.ends[index].paths.next_timeout().0).max(self.now + AGAIN);
        self.queue.set(links.first_source + index, due);
    }

    /// Switches to the chosen path. The link end retransmits everything unacknowledged, so copies that are already
    /// queued are dropped.
    fn take_path(&mut self, index: usize) {
        let Some(links) = &mut self.second_links else { return };
        let end = &mut links.ends[index];
        let (port, spare) = (end.port, end.spare);
        if end.uses != end.paths.active() {
            end.uses = end.paths.active();
            if let Ok([own, other]) = self.ports.get_disjoint_mut([port.index(), spare.index()]) {
                own.swap_wires(other);
            }
            for at in [port, spare] {
                self.queue.set(at.peer().arrival(), self.ports[at.index()].next_arrival());
            }
        }
        let this = &mut self.ports[port.index()];
        this.urgent.retain(|urgent| !matches!(urgent.on_wire, OnWire::Protected { .. }));
        this.attention = true;
        self.queue.set(port.service(), this.next_start(self.now));
    }

    /// Sends a probe on a path, ahead of all waiting frames.
    fn send_probe(&mut self, index: usize, path: Path, probe: Probe) {
        let Some(links) = &self.second_links else { return };
        let end = &links.ends[index];
        let (port, full_bytes) = (end.with_wire(path), if probe.is_full { end.full_bytes } else { 0 });
        let Some(control) = S::Control::of_probe(probe) else { return };
        let bytes = control.bytes().max(full_bytes);
        let on_wire = OnWire::Control { place: self.controls.put(control) };
        let this = &mut self.ports[port.index()];
        let begins = this.next_start(self.now);
        let (arrives_at, corrupted) = this.begin(begins, bytes, false);
        let control = on_wire.control(&self.controls);
        self.observer.sent(port, self.now, &Sent { frame: &on_wire, control, arrives_at, corrupted });
        if corrupted {
            if let OnWire::Control { place } = on_wire {
                self.controls.free(place);
            }
        } else {
            this.propagate(&mut self.queue, arrives_at, on_wire);
        }
        if self.queue.time_of(port.service()) < this.free_at {
            self.queue.set(port.service(), this.free_at);
        }
    }
}
