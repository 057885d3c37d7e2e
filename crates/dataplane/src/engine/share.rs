//! Each frame on one of both links ([decision 0071](../../../../docs/decisions/0071-sharing-links.md)): what the loop does for
//! a [`Spread`].
//!
//! Before anything is sent, the links are weighed for a normal frame and for an urgent one. Control frames go out on both, as in
//! the other mode of [`super::both_links`], and frames without a number on the link in use.

use super::Engine;
use super::link_side::LinkSide;
use linkmend_protocol::paths::{Path, PathsConfig};
use linkmend_protocol::schedule::PortRoom;
use linkmend_protocol::share::{Outlook, Spread};
use linkmend_protocol::{DataHeader, FrameHandle, Instant, Mode, Ticks};

/// How long a chunk keeps a port busy whose rate is not known: a full-size frame at 10 Gbit/s.
const CHUNK_NS: u64 = 1_200;

/// What an end that spreads its frames over both links has besides.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) spread: Spread,
    /// The link that the next normal frame takes, and the next urgent one.
    normal: Option<Path>,
    urgent: Option<Path>,
    pub(super) sent_frames: [u64; 2],
    pub(super) marks_sent: [u64; 2],
}

impl Share {
    pub(super) fn new(paths: &PathsConfig) -> Share {
        Share {
            spread: Spread::new(paths.detection, paths.tick),
            normal: None,
            urgent: None,
            sent_frames: [0; 2],
            marks_sent: [0; 2],
        }
    }
}

impl Engine {
    pub(super) fn share(&mut self) -> Option<&mut Share> {
        self.failover.as_mut()?.both.as_mut()?.share.as_mut()
    }

    fn spread(&self) -> Option<&Spread> {
        Some(&self.failover.as_ref()?.both.as_ref()?.share.as_ref()?.spread)
    }

    #[inline]
    pub(super) fn shares(&self) -> bool {
        self.spread().is_some()
    }

    /// Whether numbered frames may leave on a link: on the one in use, and on the other one if the peer takes them there.
    fn may_carry(&self, path: Path) -> bool {
        let Some(failover) = &self.failover else { return true };
        path == self.active || {
            let report = failover.paths.sees(path);
            let is_fit = !report.fails && !report.loses_full;
            // Before the first acknowledgement, they could overtake frames that were sent unprotected.
            is_fit && failover.paths.peer_uses_both() && self.end.is_confirmed() && self.leads_to_peer(path)
        }
    }

    fn outlook(&self, now: u64, path: Path) -> Option<Outlook> {
        let report = self.failover.as_ref()?.paths.sees(path);
        let LinkSide { port, shaper, .. } = &self.sides[path];
        let opens_at = [shaper.opens_at(now), port.opens_at()].into_iter().flatten().fold(now, u64::max);
        self.may_carry(path).then(|| Outlook {
            room: self.link_room(now, path),
            backlog: Ticks(opens_at - now + port.in_flight() as u64 * CHUNK_NS),
            later: Ticks(u64::from(report.later_us) * 1_000),
            loss: f64::from(report.lost) / 128.0,
        })
    }

    /// Chooses the links for what is sent next; returns what it may be.
    pub(super) fn route(&mut self, now: u64) -> PortRoom {
        let outlooks = Path::ALL.map(|path| self.outlook(now, path));
        let fronts = Mode::ALL.into_iter().filter_map(|mode| self.queues.front(mode));
        let waited = fronts.map(|front| now.saturating_sub(front.since_ns)).max().unwrap_or(0);
        let (active, round_trip) = (self.active, self.end.round_trips().min);
        let Some(share) = self.share() else { return PortRoom::None };
        let choose = |room| share.spread.choose(outlooks, active, room, Ticks(waited), round_trip);
        (share.normal, share.urgent) = (choose(PortRoom::All), choose(PortRoom::Urgent));
        match (share.normal, share.urgent) {
            (Some(_), _) => PortRoom::All,
            (None, Some(_)) => PortRoom::Urgent,
            (None, None) => PortRoom::None,
        }
    }

    /// Sends a numbered frame or a retransmission on the link that was chosen for it.
    pub(super) fn post_shared(&mut self, now: u64, frame: FrameHandle, header: &DataHeader) {
        let active = self.active;
        let Some(share) = self.share() else { return };
        let chosen = if header.retransmitted { share.urgent } else { share.normal };
        let path = chosen.unwrap_or(active);
        share.sent_frames[path as usize] += 1;
        if !header.retransmitted {
            share.spread.left(Instant(now), path);
        }
        self.end.left_on(Instant(now), path, header);
        self.post_on(now, path, frame);
    }

    /// When a link is to be told how far the frames on the other one have come, and which.
    pub(super) fn mark_due(&self) -> Option<(u64, Path)> {
        let spread = self.spread()?;
        let due = |path| Some((spread.mark_due(path)?.0, path));
        let carries =
            |&(_, path): &(u64, Path)| self.may_carry(path) && self.sides[path].port.transmit_room() > 0;
        Path::ALL.into_iter().filter_map(due).filter(carries).min_by_key(|&(at, _)| at)
    }

    pub(super) fn send_marks(&mut self, now: u64) {
        while let Some((at, path)) = self.mark_due()
            && at <= now
        {
            // Before the first acknowledgement, only one link carries anything, and none waits for the other.
            if let Some(share) = self.share() {
                share.spread.marked(path);
                share.marks_sent[path as usize] += 1;
            }
            self.send_position(now, path);
        }
    }

    /// Stops waiting for a link on which the peer is silent while it is heard on the other.
    pub(super) fn note_silence(&mut self, timeouts: bool) {
        let Some(failover) = self.failover.as_mut().filter(|_| timeouts) else { return };
        let Some(both) = failover.both.as_mut().filter(|both| both.share.is_some()) else { return };
        for path in Path::ALL {
            if !failover.paths.is_heard(path) && failover.paths.is_heard(path.other()) {
                both.merge.handle_failure(path);
            }
        }
    }
}
