//! Frames that leave on the link, in the order of [`linkmend_protocol::schedule`].

use super::Engine;
use super::from_inner::Queued;
use super::link_side::LinkSide;
use linkmend_control::capture::Direction;
use linkmend_protocol::paths::Path;
use linkmend_protocol::schedule::{Next, PortRoom, Round, Waiting};
use linkmend_protocol::wire::{
    self, ADDRESSES_BYTES, CONTROL_FRAME_MAX, Departure, Encapsulation, OtherEnd, VLAN_TAG_BYTES,
    VLAN_TAGS_MAX,
};
use linkmend_protocol::{Admission, Control, Format, FrameHandle, Instant, Transmit};
use linkmend_tunnel::Allowance;

/// Room on the link port that is kept free of normal frames, for urgent ones.
pub(super) const URGENT_ROOM: usize = 64;
/// How long after its start, in hellos of a dormant end, an end may be known to a peer that it does not know yet.
const STARTING_HELLOS: u64 = 3;
/// The warning about a host that sends frames like ours is not repeated sooner.
const WARN_OF_AMBIGUOUS_NS: u64 = 60_000_000_000;

impl Engine {
    pub(super) fn send_to_link(&mut self, now: u64) -> usize {
        let mut round = Round::new(Instant(now));
        let mut sent = 0;
        loop {
            let room = if self.shares() { self.route(now) } else { self.link_room(now, self.active) };
            let Some(next) = round.next(&mut self.end, &mut self.queues, room) else {
                if room == PortRoom::All {
                    self.delays.forgive();
                }
                return sent;
            };
            match next {
                Next::Urgent(Transmit::Retransmission { frame, header })
                | Next::Idle(Transmit::Retransmission { frame, header }) => {
                    wire::mark_retransmitted(self.pool.head_mut(frame));
                    self.post_numbered(now, frame, &header);
                }
                Next::Urgent(Transmit::Control(control)) | Next::Idle(Transmit::Control(control)) => {
                    self.send_control(now, &control);
                }
                Next::Normal(waiting, admission) => {
                    if self.survives_wait(now, &waiting) {
                        self.send_normal(now, waiting, admission);
                    }
                }
            }
            sent += 1;
        }
    }

    /// What the port of a link can take. A closed shaper or window makes the link count as busy; urgent frames wait for it only if
    /// they are many.
    pub(super) fn link_room(&self, now: u64, path: Path) -> PortRoom {
        let LinkSide { port, shaper, .. } = &self.sides[path];
        let allowance = port.allowance();
        match port.transmit_room() {
            0 => PortRoom::None,
            _ if shaper.is_overdrawn(now) || allowance == Allowance::Nothing => PortRoom::None,
            1..=URGENT_ROOM => PortRoom::Urgent,
            _ if !shaper.is_open(now) || allowance == Allowance::Urgent => PortRoom::Urgent,
            _ => PortRoom::All,
        }
    }

    fn send_normal(&mut self, now: u64, waiting: Waiting<Queued>, admission: Admission) {
        let Waiting { frame: Queued { frame, deadline, .. }, bytes, mode } = waiting;
        if let (Some(deadline), Admission::Protected) = (deadline, admission)
            && self.send_in_time(now, deadline, frame)
        {
            return;
        }
        let fits_with_header = self.lengths.takes_with_header(bytes as usize);
        let protectable = fits_with_header && wire::can_protect(self.settings.format, self.pool.head(frame));
        if admission == Admission::Protected
            && protectable
            && let Some(header) = self.end.send(Instant(now), mode, frame, bytes)
        {
            let head = self.pool.head(frame);
            if let Some(mut encapsulation) = wire::encapsulate(self.settings.format, &header, head) {
                self.seal_data(frame, &header, &mut encapsulation);
                self.wrap(frame, &encapsulation);
            }
            self.post_numbered(now, frame, &header);
        } else {
            self.send_unprotected(now, frame, bytes, fits_with_header);
        }
    }

    fn send_unprotected(&mut self, now: u64, frame: FrameHandle, bytes: u32, fits_with_header: bool) {
        self.counters.unprotected_frames += 1;
        let (length, room) = (bytes as usize, self.lengths.link_frame_bytes());
        let departure = wire::depart(self.pool.head(frame), length, room, self.other_end(now));
        // Most drivers do not count VLAN tags; one that does refuses the frame, and the port counts that.
        if length > room + VLAN_TAGS_MAX * VLAN_TAG_BYTES {
            self.counters.oversize_dropped_frames += 1;
            self.pool.release(frame);
            return;
        }
        self.counters.oversize_unprotected_frames += u64::from(!fits_with_header);
        let encapsulation = match departure {
            Departure::Never => {
                self.count_ambiguous(now);
                self.pool.release(frame);
                return;
            }
            Departure::Escaped(escape) => Some(escape),
            Departure::AsItIs if fits_with_header && self.believes_peer() => self.acknowledge_on(now, frame),
            Departure::AsItIs => None,
        };
        if let Some(encapsulation) = encapsulation {
            self.wrap(frame, &encapsulation);
        }
        self.post(now, frame);
        self.pool.release(frame);
    }

    /// Whether the peer is there and removes what this end adds to unprotected frames.
    fn believes_peer(&self) -> bool {
        self.end.peer_known() || self.settings.format == Format::Linkguardian
    }

    /// What to expect of the other end. One that was known once may come back at any time, and know this one before it
    /// is known itself; so may one that was there before this end started.
    fn other_end(&self, now: u64) -> OtherEnd {
        let start = STARTING_HELLOS * self.end.config().hello_interval.0;
        if self.settings.format == Format::Linkguardian {
            OtherEnd::MayBelieve
        } else if self.end.peer_known() {
            OtherEnd::Unescapes
        } else if self.end.peer_was_known() || now < self.started_ns.saturating_add(start) {
            OtherEnd::MayBelieve
        } else {
            OtherEnd::Indifferent
        }
    }

    /// Counts a host's frame that is dropped because the other end would take it for one of ours.
    fn count_ambiguous(&mut self, now: u64) {
        self.counters.ambiguous_frames += 1;
        if now < self.warn_of_ambiguous_at {
            return;
        }
        self.warn_of_ambiguous_at = now + WARN_OF_AMBIGUOUS_NS;
        tracing::warn!(
            link = %self.settings.name, dropped = self.counters.ambiguous_frames,
            "a host sends frames of EtherType 0x88B5 or 0xABCD that the other end could take for Linkmend's, and they are \
             dropped; hint: if they are legitimate, make the link's MTU at least 6 larger than the hosts'"
        );
    }

    /// Puts an owed ACK on an unprotected frame.
    fn acknowledge_on(&mut self, now: u64, frame: FrameHandle) -> Option<Encapsulation> {
        let format = self.settings.format;
        if !wire::can_protect(format, self.pool.head(frame)) {
            return None;
        }
        let ack = self.end.poll_piggyback(Instant(now))?;
        let mut encapsulation = wire::encapsulate_ack(format, ack, self.pool.head(frame))?;
        self.seal_ack(frame, ack, &mut encapsulation)?;
        Some(encapsulation)
    }

    fn send_control(&mut self, now: u64, control: &Control) {
        self.send_control_on(now, self.active, control);
        // Before the ends have met, no probe can be sealed, and the link in use may be dead.
        let is_hello = matches!(control, Control::Hello { .. });
        let reveals_end = is_hello && self.seal.is_some() && self.failover.is_some();
        if reveals_end || self.is_for_both(now, control) {
            self.send_control_on(now, self.active.other(), control);
        }
    }

    pub(super) fn send_control_on(&mut self, now: u64, path: Path, control: &Control) {
        let mut buffer = [0; CONTROL_FRAME_MAX];
        let Some(length) = self.emit_control(path, control, &mut buffer) else { return };
        let frame = self.pool.copy_in(&buffer[..length]);
        self.send_copied(now, path, frame);
    }

    /// Sends a control frame for which the pool may have had no room.
    pub(super) fn send_copied(&mut self, now: u64, path: Path, frame: Option<FrameHandle>) {
        match frame {
            Some(frame) => {
                self.post_on(now, path, frame);
                self.pool.release(frame);
            }
            // If this control frame is lost, the protocol repeats it.
            None => self.counters.pool_exhausted += 1,
        }
    }

    fn wrap(&mut self, frame: FrameHandle, encapsulation: &Encapsulation) {
        let growth = encapsulation.growth();
        let head = self.pool.push_front(frame, growth as u32);
        head.copy_within(growth..growth + ADDRESSES_BYTES, 0);
        let bytes = encapsulation.bytes();
        head[ADDRESSES_BYTES..ADDRESSES_BYTES + bytes.len()].copy_from_slice(bytes);
    }

    /// Puts a frame on the link port, which the caller has checked for room.
    pub(super) fn post(&mut self, now: u64, frame: FrameHandle) {
        self.post_on(now, self.active, frame);
    }

    #[inline]
    pub(super) fn post_on(&mut self, now: u64, path: Path, frame: FrameHandle) {
        let LinkSide { port, shaper, .. } = &mut self.sides[path];
        shaper.take(now, self.pool.frame_length(frame) as u64);
        // A frame of several chunks may still not fit; it then counts as lost on the link, and the protocol recovers
        // it.
        if port.send(&mut self.pool, frame).is_ok() {
            self.taps.show(path.into(), Direction::Outbound, frame, &self.pool);
        }
    }
}
