//! Two links: which of them is in use, what it takes to change them, and what a change has cost.
//!
//! The protocol decides ([`Paths`]); the loop tells it what it hears and the carriers, sends its probes ahead of all else, and
//! posts the retransmissions.

use super::both_links::BothLinks;
use super::link_side::LinkSide;
use super::peers::Address;
use super::{Engine, to_link};
use crate::bypass::Bypass;
use crate::interface_watch::InterfaceState;
use linkmend_control::report::{FailoverReport, LastChangeReport, PortReport};
use linkmend_protocol::paths::{ChangeReason, Failover as LastChange, Path, PathChange, Paths, Probe};
use linkmend_protocol::wire::CONTROL_FRAME_MAX;
use linkmend_protocol::{Control, FrameHandle, Instant};

/// How often to look whether an interface that was removed is back.
const LOOK_FOR_GONE_NS: u64 = 1_000_000_000;
/// How often at most the log says that frames of full size do not arrive.
const WARN_OF_SMALL_NS: u64 = 10_000_000_000;

/// Both links of a link end that has two.
#[derive(Debug)]
pub(super) struct Failover {
    pub(super) paths: Paths,
    /// If frames go out on both links.
    pub(super) both: Option<BothLinks>,
    /// Whether the log has it that the peer sends on both links.
    both_is_logged: bool,
    /// The probe that is being sent.
    probe: Vec<u8>,
    /// When the log may say again that frames of full size do not arrive.
    warn_of_small_at: u64,
    /// Whether the log has what the last change cost.
    cost_is_logged: bool,
    /// Whether an interface that was removed is back, which takes a new start of the link end.
    pub(super) is_back: bool,
}

impl Failover {
    pub(super) fn new(paths: Paths, both: Option<BothLinks>) -> Failover {
        Failover {
            paths,
            both,
            both_is_logged: false,
            probe: Vec::new(),
            warn_of_small_at: 0,
            cost_is_logged: true,
            is_back: false,
        }
    }

    /// Notes whether a link has a carrier.
    pub(super) fn set_carrier(&mut self, now: u64, path: Path, has_carrier: bool) {
        self.paths.handle_carrier(Instant(now), path, has_carrier);
        if let Some(both) = self.both.as_mut().filter(|_| !has_carrier) {
            both.merge.handle_failure(path);
        }
    }

    /// Whether nothing need be retransmitted when the link in use changes, because the peer takes what the other one brings.
    pub(super) fn has_sent_on_both(&self) -> bool {
        self.both.is_some() && self.paths.peer_uses_both()
    }
}

impl Engine {
    /// Whether numbered and control frames of a link are to be taken. If the cables were swapped, what the peer sends on one
    /// arrives on the other.
    #[inline]
    pub(super) fn takes(&mut self, path: Path) -> bool {
        self.failover
            .as_mut()
            .is_none_or(|failover| failover.paths.is_crossed(path) || failover.paths.takes(path))
    }

    /// Notes that something arrived whole on a link.
    pub(super) fn heard(&mut self, now: u64, path: Path) {
        if let Some(failover) = &mut self.failover {
            failover.paths.heard(Instant(now), path);
        }
    }

    pub(super) fn handle_probe(&mut self, now: u64, path: Path, probe: &Probe) {
        // Without a second link, nothing is known of who writes probes.
        let Some(failover) = &mut self.failover else { return };
        let was_crossed = failover.paths.is_crossed(path);
        failover.paths.handle_probe(Instant(now), path, probe);
        if failover.paths.is_crossed(path) && !was_crossed {
            tracing::warn!(
                link = %self.settings.name, on = %path, from = %probe.path,
                "probes of one link arrive on the other; hint: swap --link and --backup at one end, or the cables"
            );
        }
        if failover.paths.is_peers(probe) {
            self.end.handle_control(Instant(now), &Control::Probe(*probe));
        }
    }

    /// Whether another end than the peer has written a probe.
    pub(super) fn is_stranger(&self, now: u64, probe: &Probe) -> bool {
        self.failover.as_ref().is_some_and(|failover| failover.paths.is_stranger(Instant(now), probe))
    }

    /// Whether a link leads to another end.
    #[inline]
    pub(super) fn is_foreign(&self, path: Path) -> bool {
        self.failover.as_ref().is_some_and(|failover| failover.paths.is_foreign(path))
    }

    /// Handles a probe of another end, which is named once the link leads to that one alone.
    pub(super) fn handle_stranger(&mut self, now: u64, path: Path, frame: FrameHandle, probe: &Probe) {
        let stranger = Address::of_sender(self.pool.head(frame));
        let Some(failover) = &mut self.failover else { return };
        failover.paths.handle_probe(Instant(now), path, probe);
        let Some(stranger) = stranger.filter(|_| failover.paths.is_foreign(path)) else { return };
        if self.sides[path].stranger.replace(stranger) != Some(stranger) {
            tracing::warn!(
                link = %self.settings.name, on = %path, %stranger,
                "this link leads to a different end than the other one, so it is not used; hint: were cables swapped?"
            );
        }
    }

    /// Changes the link in use if that is due, and sends probes that are. `timeouts`: everything that arrived before `began`
    /// was handled, so that silence is silence.
    pub(super) fn service_paths(&mut self, began: u64, now: u64, timeouts: bool) -> usize {
        if self.failover.is_none() {
            return 0;
        }
        let dormant = !self.needs_every_frame();
        let Some(failover) = &mut self.failover else { return 0 };
        failover.paths.set_dormant(Instant(began), dormant);
        // What the link end loses, both links have lost, or either.
        if timeouts && failover.both.is_none() {
            failover.paths.set_measured_loss(Instant(began), self.end.path_loss());
        }
        if failover.paths.next_timeout().0 <= began {
            self.weigh_paths(began, timeouts);
        }
        let Some(failover) = &mut self.failover else { return 0 };
        if let Some(change) = failover.paths.poll_change() {
            self.change_path(now, change);
        }
        self.log_cost();
        let mut sent = 0;
        for path in Path::ALL {
            while let Some(probe) =
                self.failover.as_mut().and_then(|failover| failover.paths.poll_probe(Instant(now), path))
            {
                self.send_probe(now, path, &probe);
                self.send_position(now, path);
                sent += 1;
            }
        }
        self.look_for_gone(now);
        self.send_marks(now);
        self.note_silence(timeouts);
        self.service_merge(began, now, timeouts);
        sent
    }

    fn send_probe(&mut self, now: u64, path: Path, probe: &Probe) {
        let full_bytes = if probe.is_full { self.lengths.longest_protected_bytes() } else { 0 };
        // A port that is full carries frames, which say as much.
        if self.sides[path].port.transmit_room() < self.chunks_per_frame {
            if let Some(failover) = &mut self.failover {
                failover.paths.probe_dropped(probe);
            }
            return;
        }
        let mut buffer = [0; CONTROL_FRAME_MAX];
        let Some(length) = self.emit_control(path, &Control::Probe(*probe), &mut buffer) else { return };
        let Some(failover) = &mut self.failover else { return };
        failover.probe.clear();
        failover.probe.extend_from_slice(&buffer[..length]);
        failover.probe.resize(length.max(full_bytes), 0);
        let frame = self.pool.copy_in(&failover.probe);
        self.send_copied(now, path, frame);
    }

    /// Passes on what is known of both links, each time that a probe may be due: to `paths` the carriers, and to
    /// the link end whether the other link is clean.
    fn weigh_paths(&mut self, now: u64, timeouts: bool) {
        let Some(failover) = &mut self.failover else { return };
        // The kernel may announce a change late.
        if let Some(carriers) = self.bypass.as_ref().and_then(Bypass::carriers) {
            for (path, has_carrier) in Path::ALL.into_iter().zip(carriers) {
                failover.set_carrier(now, path, has_carrier);
            }
        }
        let paths = &mut failover.paths;
        if timeouts {
            paths.handle_timeout(Instant(now));
        }
        match &failover.both {
            None => self.end.set_clean_other(Instant(now), paths.has_clean_other()),
            Some(both) if both.share.is_some() => {
                self.end.set_clean_other(Instant(now), paths.has_clean());
            }
            Some(_) => {}
        }
        for LinkSide { path, stranger, .. } in self.sides.iter_mut() {
            *stranger = stranger.filter(|_| paths.is_foreign(*path));
        }
        self.warn_of_small(now);
        self.warn_of_both();
    }

    /// Logs, once, that the peer sends on both links and this end does not.
    fn warn_of_both(&mut self) {
        let Some(failover) = &mut self.failover else { return };
        if failover.both.is_none()
            && failover.paths.peer_uses_both()
            && !std::mem::replace(&mut failover.both_is_logged, true)
        {
            tracing::warn!(
                link = %self.settings.name,
                "the peer uses both links, but this end takes the frames of one link at a time, and sends on one; \
                 hint: start both ends with the same --use"
            );
        }
    }

    /// Logs on which links frames of full size do not arrive, when that changes for the worse.
    fn warn_of_small(&mut self, now: u64) {
        let Some(failover) = &mut self.failover else { return };
        let loses_full = |side: &LinkSide| failover.paths.sees(side.path).loses_full;
        let small = self.sides.iter().find(|side| loses_full(side)).map(|side| side.path);
        // That there is no way left for them is said at once, and not again until one was found.
        let is_urgent = self.sides.iter().all(loses_full);
        let is_news = self.sides.iter().any(|side| side.loses_full != loses_full(side));
        if small.is_some() && (!is_news || (now < failover.warn_of_small_at && !is_urgent)) {
            return;
        }
        self.sides.iter_mut().for_each(|side| side.loses_full = loses_full(side));
        let Some(on) = small else { return };
        failover.warn_of_small_at = now + WARN_OF_SMALL_NS;
        let (link, bytes) = (&self.settings.name, self.lengths.longest_protected_bytes());
        let hint = "hint: raise the MTU of the devices between the ends, or lower that of the hosts";
        if is_urgent {
            tracing::error!(%link, bytes, "full-size frames do not get through on either link, and are lost; {hint}");
        } else {
            tracing::warn!(%link, %on, bytes, "full-size frames do not get through on this link, but shorter ones do; {hint}");
        }
    }

    fn change_path(&mut self, now: u64, change: PathChange) {
        self.active = change.to;
        if let Some(bypass) = &self.bypass {
            bypass.set_path(change.to);
        }
        let is_confirmed = self.end.is_confirmed();
        let Some(failover) = &mut self.failover else { return };
        let is_there = is_confirmed && failover.has_sent_on_both();
        let resent = if is_there { 0 } else { self.end.change_path(Instant(now)) };
        // The other link may be longer.
        self.derived = super::derive::Derived::default();
        failover.paths.note_resent(resent);
        failover.cost_is_logged = false;
        let (link, to) = (&self.settings.name, change.to);
        let silence_us = change.silence.0 / 1_000;
        let lost = failover.paths.sees(change.to.other()).lost;
        match change.reason {
            ChangeReason::Silence if failover.paths.is_foreign(to.other()) => {
                tracing::warn!(%link, %to, resent, "the link in use leads to an end that is not the peer; switching to the other link");
            }
            ChangeReason::NoCarrier => {
                tracing::warn!(%link, %to, resent, "the link in use has no carrier; switching to the other link");
            }
            ChangeReason::Silence => {
                tracing::warn!(%link, %to, resent, silence_us, "the link in use has failed: nothing reaches the peer there, but frames do on the other link; switching to the other link");
            }
            ChangeReason::FullSize => {
                tracing::warn!(%link, %to, resent, "full-size frames do not get through on the link in use, but shorter ones do; switching to the other link");
            }
            ChangeReason::Loss => {
                tracing::warn!(%link, %to, resent, probes_lost_of_128 = lost, "the link in use loses far more frames than the other; switching to the other link");
            }
            ChangeReason::Delay => {
                tracing::warn!(%link, %to, resent, "the link in use delays frames much longer than the other; switching to the other link");
            }
            ChangeReason::Return => {
                tracing::info!(%link, %to, resent, "the preferred link has been up for long enough; switching back to it");
            }
            ChangeReason::Request => {
                tracing::info!(%link, %to, resent, "switching to the other link, as requested")
            }
            ChangeReason::Peer => {
                tracing::info!(%link, %to, resent, "switching to the other link, as requested at the peer")
            }
        }
    }

    /// Logs what a change has cost, once that is known.
    fn log_cost(&mut self) {
        let Some(failover) = &mut self.failover else { return };
        let Some(LastChange { resent_frames, gap: Some(gap), to, .. }) = failover.paths.last_failover()
        else {
            return;
        };
        if !std::mem::replace(&mut failover.cost_is_logged, true) {
            let gap_us = gap.0 / 1_000;
            tracing::info!(link = %self.settings.name, %to, resent_frames, gap_us, "the switch to the other link is complete");
        }
    }

    /// Uses one of the links while both are up.
    pub(super) fn prefer(&mut self, now: u64, path: Path) {
        let Some(failover) = &mut self.failover else { return };
        let usable = failover.paths.prefer(Instant(now), path);
        tracing::info!(link = %self.settings.name, preferred = %path, usable, "the preferred link was changed on request");
        if let Some(change) = failover.paths.poll_change() {
            self.change_path(now, change);
        }
    }

    /// Tells the protocol about a carrier.
    pub(super) fn handle_carrier(&mut self, now: u64, path: Path, state: InterfaceState) {
        if let Some(failover) = &mut self.failover {
            failover.set_carrier(now, path, state.up && state.carrier);
        }
    }

    /// An interface of one of the links was removed. `true` if the other one goes on.
    pub(super) fn handle_gone(&mut self, now: u64, path: Path) -> bool {
        let Some(failover) = &mut self.failover else { return false };
        if let Some(gone) = self.sides.iter().find(|side| side.is_gone()) {
            return gone.path == path;
        }
        let side = &mut self.sides[path];
        side.look_at = Some(now + LOOK_FOR_GONE_NS);
        failover.set_carrier(now, path, false);
        let (port, link) = (side.port.name(), &self.settings.name);
        tracing::error!(%link, port, "the interface of the {path} link is gone; continuing with the other link alone");
        true
    }

    /// Looks whether an interface that was removed is back.
    fn look_for_gone(&mut self, now: u64) {
        let Some(failover) = &mut self.failover else { return };
        let is_due = |side: &&mut LinkSide| side.look_at.is_some_and(|at| at <= now);
        let Some(side) = self.sides.iter_mut().find(is_due).filter(|_| !failover.is_back) else { return };
        side.look_at = Some(now + LOOK_FOR_GONE_NS);
        let (port, mtu) = (side.port.name(), side.port.mtu());
        // Not before it is as it was, or the link end could not start with it.
        let usable = |facts: linkmend_linux::route::InterfaceFacts| facts.up && facts.mtu >= mtu;
        if linkmend_linux::route::interface(port).is_ok_and(|facts| facts.is_some_and(usable)) {
            tracing::info!(link = %self.settings.name, port, "the interface is back; the link end starts again");
            failover.is_back = true;
        }
    }

    /// When something is to be done about the links.
    pub(super) fn paths_timeout(&self) -> Option<u64> {
        let failover = self.failover.as_ref()?;
        let held = failover.both.as_ref().and_then(|both| both.merge.next_timeout());
        let look_at = self.sides.iter().filter_map(|side| side.look_at).chain(held.map(|at| at.0));
        let at = look_at.chain(self.mark_due().map(|(at, _)| at));
        Some(at.fold(failover.paths.next_timeout().0, u64::min))
    }

    /// `backup` is the report of the second port.
    pub(super) fn failover_report(&self, now: u64, backup: PortReport) -> Option<FailoverReport> {
        let failover = self.failover.as_ref()?;
        let (paths, bypass) = (&failover.paths, self.bypass.as_ref());
        let stats = paths.stats();
        let last = paths.last_failover().map(|last| LastChangeReport {
            ago_s: now.saturating_sub(last.at.0) as f64 / 1e9,
            to: last.to.into(),
            reason: last.reason.into(),
            resent_frames: last.resent_frames,
            gap_ns: last.gap.map(|gap| gap.0),
        });
        Some(FailoverReport {
            active: paths.active().into(),
            preferred: paths.preferred().into(),
            backup,
            backup_corruption: self.sides[Path::Backup].corruption_model(),
            corrupted_frames: Path::ALL.map(|path| self.sides[path].corrupted_frames),
            peer_watches: paths.peer_watches(),
            heard: Path::ALL.map(|path| paths.is_heard(path)),
            peer_is_deaf: Path::ALL.map(|path| paths.sees(path).fails),
            loses_full_size: Path::ALL.map(|path| paths.sees(path).loses_full),
            loss: Path::ALL.map(|path| f64::from(paths.sees(path).lost) / 128.0),
            strangers: Path::ALL.map(|path| {
                let LinkSide { ends, stranger, .. } = &self.sides[path];
                let third = ends.third().filter(|_| paths.is_foreign(path));
                stranger.or(third).map(|address| address.to_string())
            }),
            crossed: Path::ALL.iter().any(|&path| paths.is_crossed(path)),
            kernel_follows_carriers: bypass.is_some_and(|bypass| bypass.follows_carriers()),
            detection_ns: paths.config().detection.0,
            failovers: stats.failovers,
            quality_changes: stats.quality_changes,
            moves: stats.moves,
            resent_frames: stats.resent_frames,
            late_frames: stats.late_frames,
            duplicate: failover.both.as_ref().and_then(BothLinks::duplicate_report),
            share: failover.both.as_ref().and_then(BothLinks::share_report),
            peer_duplicates: paths.peer_uses_both(),
            probes_sent: stats.probes_sent,
            probes_received: stats.probes_received,
            probes_lost: stats.probes_lost,
            last,
        })
    }

    /// Logs, when a session opens, what a failure that only silence reveals may cost on this link.
    pub(super) fn warn_of_long_detection(&self, rate_bps: u64) {
        let Some(failover) = &self.failover else { return };
        let detection = failover.paths.config().detection;
        let needed = (u128::from(rate_bps / 8) * u128::from(detection.0) / 1_000_000_000) as u64;
        let room = self.end.config().window_bytes + self.settings.queue_bytes;
        if needed > room {
            tracing::warn!(
                link = %self.settings.name, needed, room,
                "at full rate, more frames arrive before a silent failure is noticed than the Tx buffer and \
                 queue can hold, and the excess is dropped; hint: set a shorter --failure-detection, or a larger --pool"
            );
        }
    }
}

const _: () = assert!(to_link::URGENT_ROOM > 8, "probes of both links find room beside copies");
