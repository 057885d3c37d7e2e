//! The sending end: numbers, groups, parity, and frames that are kept until their deadline.

use crate::code::{Code, GROUP_MAX, PARITY_MAX};
use crate::feedback::{Feedback, Header, MISSING_SPAN, ParityFrame, STAMP_NS, stamp, unwrapped};
use std::collections::VecDeque;

/// Most frames that are kept for retransmission.
pub const KEPT_MAX: usize = 8_192;
/// Most copies that wait to be sent.
const COPIES_QUEUED_MAX: usize = 4_096;

/// If more parity frames wait to be sent, groups have none.
const PARITY_QUEUED_MAX: usize = 4 * PARITY_MAX;

/// What a sender needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// Frames are of no use this long after they were sent.
    pub deadline_ns: u64,
    /// How long a frame takes to the receiver: half of the round trip.
    pub one_way_ns: u64,
    /// Frames and parity frames of a group, until the receiver says otherwise.
    pub group: u8,
    pub parity: u8,
    /// A group is closed this long after its first frame.
    pub age_ns: u64,
}

/// What a sender has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderCounters {
    pub frames: u64,
    pub parity_frames: u64,
    pub copies: u64,
    /// Requests for frames that would arrive late, or were not kept.
    pub refused: u64,
    /// Groups closed by their age.
    pub closed_by_age: u64,
}

/// A frame that may be sent again.
#[derive(Debug)]
struct Kept<F> {
    sent_ns: u64,
    /// Requests before this time are repetitions of the last one.
    answered_until_ns: u64,
    header: Header,
    frame: F,
}

/// The sender of a class. See the [order of calls](crate#the-order-of-calls).
#[derive(Debug)]
pub struct Sender<C: Code> {
    config: SenderConfig,
    code: C,
    /// Number of the next frame.
    next: u64,
    group: u8,
    parity: u8,
    age_ns: u64,
    filling: Vec<(u16, C::Frame)>,
    close_at_ns: Option<u64>,
    parity_frames: VecDeque<ParityFrame<C::Parity>>,
    /// The frames before `next`.
    kept: VecDeque<Kept<C::Frame>>,
    copies: VecDeque<u64>,
    counters: SenderCounters,
}

impl<C: Code> Sender<C> {
    /// A sender that has sent nothing.
    pub fn new(config: SenderConfig, code: C) -> Sender<C> {
        Sender {
            config,
            code,
            next: 0,
            group: config.group.clamp(1, GROUP_MAX as u8),
            parity: config.parity.min(PARITY_MAX as u8),
            age_ns: config.age_ns,
            filling: Vec::new(),
            close_at_ns: None,
            parity_frames: VecDeque::new(),
            kept: VecDeque::new(),
            copies: VecDeque::new(),
            counters: SenderCounters::default(),
        }
    }

    /// Sends a frame with the header that is returned. Parity may be due afterwards.
    pub fn send(&mut self, now_ns: u64, frame: C::Frame) -> Header {
        let stamp = stamp(now_ns);
        let place = self.filling.len() as u8;
        let header = Header { number: self.next as u32, stamp, place, is_copy: false };
        self.next += 1;
        self.counters.frames += 1;
        self.forget(now_ns);
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(Kept { sent_ns: now_ns, answered_until_ns: 0, header, frame: frame.clone() });
        if self.parity > 0 {
            if self.filling.is_empty() {
                self.close_at_ns = Some(now_ns.saturating_add(self.age_ns));
            }
            self.filling.push((stamp, frame));
            if self.filling.len() >= usize::from(self.group) {
                self.close();
            }
        }
        header
    }

    /// Number of the next frame, modulo 2^32.
    pub fn next_number(&self) -> u32 {
        self.next as u32
    }

    /// Changes how long a frame takes to the receiver.
    pub fn set_one_way(&mut self, one_way_ns: u64) {
        self.config.one_way_ns = one_way_ns;
    }

    /// The next parity frame to send.
    pub fn poll_parity(&mut self) -> Option<ParityFrame<C::Parity>> {
        let parity = self.parity_frames.pop_front()?;
        self.counters.parity_frames += 1;
        Some(parity)
    }

    /// Handles what the receiver says.
    pub fn handle_feedback(&mut self, now_ns: u64, feedback: Feedback) {
        match feedback {
            Feedback::Missing { first, others, copies } => {
                let Some(first) = unwrapped(first, self.next) else { return };
                self.repeat(now_ns, first, copies);
                for place in (1..MISSING_SPAN).filter(|place| others & (1 << place) != 0) {
                    self.repeat(now_ns, first + place, copies);
                }
            }
            Feedback::Group { frames, parity, age } => {
                // A group that is being filled keeps its parity.
                if !self.filling.is_empty() && (parity == 0 || usize::from(frames) <= self.filling.len()) {
                    self.close();
                }
                self.group = frames.clamp(1, GROUP_MAX as u8);
                self.parity = parity.min(PARITY_MAX as u8);
                self.age_ns = u64::from(age) * STAMP_NS;
            }
        }
    }

    /// The next copy to send.
    pub fn poll_retransmission(&mut self) -> Option<(Header, C::Frame)> {
        while let Some(number) = self.copies.pop_front() {
            if let Some(Kept { header, frame, .. }) = self.kept(number) {
                let copy = (Header { is_copy: true, ..*header }, frame.clone());
                self.counters.copies += 1;
                return Some(copy);
            }
        }
        None
    }

    /// Closes a group that is old enough.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.forget(now_ns);
        if self.close_at_ns.is_some_and(|at| at <= now_ns) {
            self.counters.closed_by_age += 1;
            self.close();
        }
    }

    /// When the group has to be closed.
    pub fn next_timeout(&self) -> Option<u64> {
        self.close_at_ns
    }

    /// Whether nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.filling.is_empty() && self.parity_frames.is_empty() && self.copies.is_empty()
    }

    /// What it has counted.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    fn close(&mut self) {
        self.close_at_ns = None;
        let frames = std::mem::take(&mut self.filling);
        // A driver that does not poll gets no more parity.
        let parity = if self.parity_frames.len() > PARITY_QUEUED_MAX { 0 } else { self.parity };
        let contents = self.code.encode(&frames, parity);
        let first = (self.next - frames.len() as u64) as u32;
        let count = contents.len() as u8;
        for (index, content) in contents.into_iter().enumerate() {
            let (frames, index) = (frames.len() as u8, index as u8);
            self.parity_frames.push_back(ParityFrame { first, frames, count, index, content });
        }
    }

    fn repeat(&mut self, now_ns: u64, number: u64, copies: u8) {
        let arrives_ns = now_ns.saturating_add(self.config.one_way_ns);
        let SenderConfig { deadline_ns, one_way_ns, .. } = self.config;
        let room = COPIES_QUEUED_MAX - self.copies.len();
        let kept = self.kept(number).filter(|kept| arrives_ns <= kept.sent_ns.saturating_add(deadline_ns));
        let Some(kept) = kept.filter(|_| room > 0) else {
            self.counters.refused += 1;
            return;
        };
        // A receiver that has not seen the answer asks again after a round trip.
        if now_ns < std::mem::replace(&mut kept.answered_until_ns, now_ns.saturating_add(one_way_ns)) {
            return;
        }
        self.copies.extend(std::iter::repeat_n(number, usize::from(copies).min(room)));
    }

    fn kept(&mut self, number: u64) -> Option<&mut Kept<C::Frame>> {
        let ago = usize::try_from(self.next.checked_sub(number)?).ok()?;
        let place = self.kept.len().checked_sub(ago)?;
        self.kept.get_mut(place)
    }

    fn forget(&mut self, now_ns: u64) {
        let deadline_ns = self.config.deadline_ns;
        while self.kept.pop_front_if(|kept| kept.sent_ns.saturating_add(deadline_ns) < now_ns).is_some() {}
    }
}
