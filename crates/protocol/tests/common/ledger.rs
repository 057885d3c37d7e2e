//! A record of every frame of the run, which checks what the protocol promises about it.

use linkmend_protocol::{DataHeader, Mode, PiggybackAck, SequenceNumber};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// Why a frame need not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// Corrupted while it travelled without protection.
    Unprotected,
    /// Released without having arrived; a recovery timeout or a withdrawal counts it.
    GivenUp,
    /// Its session ended: `abandoned_frames` counts it.
    Abandoned,
    /// The end that held the only copy restarted.
    Crash,
}

/// One frame of a host.
#[derive(Debug, Clone)]
pub struct Record {
    pub from: usize,
    pub asked: Mode,
    pub bytes: u32,
    /// Count of sessions of the sending end when it left; 0 before it left and when it left unprotected.
    pub epoch: u64,
    pub lane: Option<(Mode, SequenceNumber)>,
    /// What the original carried; a copy of its bytes carries it again.
    pub ack: Option<PiggybackAck>,
    pub sent: bool,
    pub delivered_at: Option<u64>,
    pub buffered: bool,
    /// Transmissions on the link, and how many of them were corrupted.
    pub transmissions: u32,
    pub corrupted: u32,
    pub loss_cause: Option<LossCause>,
    given_up: bool,
    copies: u32,
    /// Number of the first copy that was not corrupted, 0 for the original; `None` if the receiver had to drop it.
    good: Option<u32>,
}

/// How a frame reached the inner port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Session,
    /// Protected, but the receiver has no session: no order is promised.
    Orphan,
    Plain,
}

#[derive(Debug, Default)]
pub struct Ledger {
    pub frames: Vec<Record>,
    /// By sending end: deliveries in order of time.
    pub deliveries: [Vec<FrameId>; 2],
    /// By sending end: frames known to have been given up, for comparison with what is counted.
    pub given_up: [u64; 2],
    /// By sending end: frames it gave up because the copies of their last round were lost.
    pub exhausted: [u64; 2],
    /// By sending end: undelivered frames released with the end of their session.
    pub abandoned: [u64; 2],
    pub undelivered: u64,
    last_ordered: [(u64, u32); 2],
    /// The two paths together are no queue, so a copy may turn out to have been needless.
    pub two_paths: bool,
    /// How often one did.
    pub needless: u64,
    /// Also demand order across sessions and unprotected frames, for runs without faults of an end.
    pub strict_order: bool,
    last_strict: [u32; 2],
}

impl Ledger {
    pub fn offer(&mut self, from: usize, asked: Mode, bytes: u32) -> FrameId {
        self.frames.push(Record {
            from,
            asked,
            bytes,
            epoch: 0,
            lane: None,
            ack: None,
            sent: false,
            delivered_at: None,
            buffered: false,
            transmissions: 0,
            corrupted: 0,
            loss_cause: None,
            given_up: false,
            copies: 0,
            good: None,
        });
        self.undelivered += 1;
        FrameId(self.frames.len() as u32 - 1)
    }

    pub fn record(&mut self, frame: FrameId) -> &mut Record {
        &mut self.frames[frame.0 as usize]
    }

    pub fn sent(&mut self, frame: FrameId, header: Option<&DataHeader>, epoch: u64) {
        let record = self.record(frame);
        assert!(!record.sent, "{frame:?} sent twice as an original");
        record.sent = true;
        if let Some(header) = header {
            assert!(!header.retransmitted);
            record.lane = Some((header.mode, header.sequence));
            record.ack = header.ack;
            record.epoch = epoch;
        }
    }

    /// Notes that a copy is sent, one of at most `round` in a row. None may follow a round in which one was not
    /// corrupted: the link is a queue, so no report can be beyond the copies and still miss the frame.
    pub fn copied(&mut self, frame: FrameId, header: &DataHeader, round: u8) {
        let two_paths = self.two_paths;
        let record = self.record(frame);
        assert!(header.retransmitted);
        assert_eq!(record.lane, Some((header.mode, header.sequence)), "a copy of the wrong frame");
        record.copies += 1;
        let needed = record.good.is_none_or(|good| good > 0 && record.copies < good + u32::from(round));
        assert!(needed || two_paths, "a copy without need: {record:?}");
        self.needless += u64::from(!needed);
    }

    pub fn transmitted(&mut self, frame: FrameId, corrupted: bool) {
        let record = self.record(frame);
        record.transmissions += 1;
        record.corrupted += u32::from(corrupted);
        if !corrupted {
            record.good.get_or_insert(record.copies);
        }
        if corrupted && record.lane.is_none() {
            self.loss_cause(frame, LossCause::Unprotected);
        }
    }

    pub fn buffered(&mut self, frame: FrameId) {
        let record = self.record(frame);
        assert!(
            record.delivered_at.is_none() && !record.buffered,
            "{frame:?} buffered though it arrived before"
        );
        record.buffered = true;
    }

    pub fn delivered(&mut self, now: u64, frame: FrameId, path: Path) {
        let record = self.record(frame);
        assert!(record.delivered_at.is_none(), "{frame:?} delivered twice: {record:?}");
        assert!(path != Path::Session || !record.given_up, "{frame:?} delivered after it was given up");
        record.delivered_at = Some(now);
        record.buffered = false;
        let (from, asked, epoch) = (record.from, record.asked, record.epoch);
        let in_ordered_lane = record.lane.is_some_and(|(mode, _)| mode == Mode::Ordered);
        if record.loss_cause.take().is_none() {
            self.undelivered -= 1;
        }
        self.deliveries[from].push(frame);
        if path == Path::Session && in_ordered_lane {
            let last = &mut self.last_ordered[from];
            assert!(
                last.0 < epoch || last.0 == epoch && last.1 <= frame.0,
                "{frame:?} delivered out of order"
            );
            *last = (epoch, frame.0 + 1);
        }
        if self.strict_order && asked == Mode::Ordered {
            assert!(self.last_strict[from] <= frame.0, "{frame:?} delivered out of order");
            self.last_strict[from] = frame.0 + 1;
        }
    }

    /// The receiver had no room or no session for the frame: it may be requested again.
    pub fn refused(&mut self, frame: FrameId) {
        self.record(frame).good = None;
    }

    /// The receiver in session dropped a copy as seen before. If it was not, it must have been given up.
    pub fn dropped_as_duplicate(&mut self, frame: FrameId) {
        let record = self.record(frame);
        if record.delivered_at.is_none() && !record.buffered {
            self.give_up(frame);
        }
    }

    /// What `from` has under way goes out again on another path, whatever became of it.
    pub fn path_changed(&mut self, from: usize) {
        let recent = self.frames.len().saturating_sub(8_192);
        for record in self.frames[recent..].iter_mut().filter(|record| record.from == from) {
            record.good = None;
        }
    }

    /// The sender released the frame; `abandoned` if its session ended before an acknowledgement.
    pub fn released(&mut self, frame: FrameId, abandoned: bool) {
        let record = self.record(frame);
        let from = record.from;
        if record.delivered_at.is_some() || record.buffered || record.loss_cause.is_some() {
            return;
        }
        if abandoned {
            self.abandoned[from] += 1;
            self.loss_cause(frame, LossCause::Abandoned);
        } else {
            self.give_up(frame);
            self.loss_cause(frame, LossCause::GivenUp);
        }
    }

    pub fn loss_cause(&mut self, frame: FrameId, loss_cause: LossCause) {
        let record = self.record(frame);
        if record.delivered_at.is_none() && record.loss_cause.is_none() {
            record.loss_cause = Some(loss_cause);
            self.undelivered -= 1;
        }
    }

    fn give_up(&mut self, frame: FrameId) {
        let record = self.record(frame);
        if !record.given_up {
            record.given_up = true;
            let from = record.from;
            self.given_up[from] += 1;
        }
    }

    pub fn count(&self, from: usize, loss_cause: LossCause) -> u64 {
        self.frames
            .iter()
            .filter(|record| record.from == from && record.loss_cause == Some(loss_cause))
            .count() as u64
    }
}
