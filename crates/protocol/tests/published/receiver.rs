//! The receiver of the published program, as registers, queues and integers: sections 3.1 to 3.5, Algorithms 1 and 2,
//! and what the program does where the paper is silent. It shares nothing with the state machines under test.

use super::frame::{self, Header, Kind};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// `ackNoTimeout`, in ticks.
    pub ack_no_timeout: u32,
    /// Ticks of one turn through the reordering buffer.
    pub loop_ticks: u64,
    /// `pauseThreshold` and `resumeThreshold`, in frames.
    pub pause: usize,
    pub resume: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { ack_no_timeout: 150, loop_ticks: 4, pause: 40, resume: 20 }
    }
}

#[derive(Default)]
pub struct Receiver {
    settings: Settings,
    tick: u64,
    expected: u16,
    ack_no: u16,
    ack_era: bool,
    time_left: u32,
    reordering: Vec<(u64, Header, Vec<u8>)>,
    leading: (u16, bool),
    leading_pending: bool,
    urgent: VecDeque<Vec<u8>>,
    paused: bool,
    /// What went to the host, in order.
    pub delivered: Vec<Vec<u8>>,
    pub timeouts: u64,
    pub notified: Vec<(u16, u8, u16)>,
    pub pauses: u64,
    pub duplicates: u64,
}

impl Receiver {
    pub fn new(settings: Settings) -> Receiver {
        Receiver { settings, time_left: settings.ack_no_timeout, ..Receiver::default() }
    }

    /// Takes a frame from the link; `false` if it is not for the receiver.
    pub fn take(&mut self, bytes: &[u8]) -> bool {
        let Some(header) = frame::read(bytes).filter(|header| header.kind == Kind::Data) else {
            return false;
        };
        if !header.copy {
            self.look_for_holes(&header);
        }
        if !header.dummy {
            self.order(header, frame::unwrapped(bytes));
        }
        true
    }

    fn look_for_holes(&mut self, header: &Header) {
        let lost = header.number.wrapping_sub(self.expected);
        let first = self.expected;
        self.expected = if header.dummy { header.number } else { header.number.wrapping_add(1) };
        if lost != 0 {
            let mut leading = (header.number, header.era);
            if header.dummy {
                leading = (header.number.wrapping_sub(1), header.era != (header.number == 0));
            }
            self.notified.push((leading.0, lost as u8, first));
            self.urgent.push_back(frame::notification(leading, lost as u8, first));
            // A leading ACK that still waits would be stale behind the notification.
            self.leading_pending = false;
        } else if !header.dummy {
            self.leading = (header.number, header.era);
            self.leading_pending = true;
        }
    }

    /// Algorithm 1. The non-blocking mode passes on whatever arrives, every copy of it.
    fn order(&mut self, header: Header, frame: Vec<u8>) {
        if !header.blocking {
            return self.delivered.push(frame);
        }
        if header.number == self.ack_no {
            self.delivered.push(frame);
            self.ack_era ^= self.ack_no == u16::MAX;
            self.ack_no = self.ack_no.wrapping_add(1);
            self.time_left = self.settings.ack_no_timeout;
        } else if frame::at_most((self.ack_no, self.ack_era), (header.number, header.era)) {
            self.reordering.push((self.tick + self.settings.loop_ticks, header, frame));
        } else {
            self.duplicates += 1;
        }
    }

    /// One timer packet, and every buffered frame whose turn it is.
    pub fn tick(&mut self) {
        self.tick += 1;
        if self.ack_no != self.expected {
            if self.time_left == 0 {
                self.ack_no = self.ack_no.wrapping_add(1);
                self.time_left = self.settings.ack_no_timeout;
                self.timeouts += 1;
            } else {
                self.time_left -= 1;
            }
        }
        let tick = self.tick;
        let (due, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.reordering).into_iter().partition(|(at, ..)| *at <= tick);
        self.reordering = waiting;
        for (_, header, frame) in due {
            self.order(header, frame);
        }
        self.back_pressure();
    }

    /// Algorithm 2.
    fn back_pressure(&mut self) {
        let depth = self.reordering.len();
        if !self.paused && depth >= self.settings.pause || self.paused && depth <= self.settings.resume {
            self.paused = !self.paused;
            self.pauses += u64::from(self.paused);
            self.urgent.push_back(frame::priority_pause(self.paused));
        }
    }

    /// The next frame for the link: notifications and pauses, the host's frames with the ACK on them, or the ACK alone.
    pub fn send(&mut self, reverse: &mut VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        if let Some(urgent) = self.urgent.pop_front() {
            return Some(urgent);
        }
        let pending = std::mem::take(&mut self.leading_pending);
        match reverse.pop_front() {
            Some(plain) if pending => Some(frame::with_ack(self.leading, &plain)),
            Some(plain) => Some(plain),
            None => pending.then(|| frame::ack(self.leading)),
        }
    }

    pub fn holds(&self) -> usize {
        self.reordering.len()
    }
}
