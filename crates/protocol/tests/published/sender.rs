//! The sender of the published program, as registers, queues and integers: sections 3.1 to 3.5 and A.2, and what the
//! program does where the paper is silent.

use super::frame::{self, Header, Kind};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub blocking: bool,
    pub copies: usize,
    /// Dummies sent each time the normal queue runs empty.
    pub dummies: u32,
    /// Ticks of one turn through the recirculating Tx buffer.
    pub loop_ticks: u64,
}

pub struct Sender {
    settings: Settings,
    tick: u64,
    next: u16,
    era: bool,
    leading: (u16, bool),
    /// `reTxReqs`: five 1-bit registers, of which number `k` belongs to the `k`-th frame of a hole.
    requests: [Vec<bool>; 5],
    circulating: Vec<(u64, u16, bool, Vec<u8>)>,
    urgent: VecDeque<Vec<u8>>,
    dummies_left: u32,
    pub paused: bool,
    pub resent: Vec<u16>,
    pub pauses: u64,
}

impl Sender {
    pub fn new(settings: Settings) -> Sender {
        Sender {
            settings,
            tick: 0,
            next: 0,
            era: false,
            leading: (0, false),
            requests: std::array::from_fn(|_| vec![false; 1 << 16]),
            circulating: Vec::new(),
            urgent: VecDeque::new(),
            dummies_left: 0,
            paused: false,
            resent: Vec::new(),
            pauses: 0,
        }
    }

    /// Takes a frame from the link, and returns what it carries for the host.
    pub fn take(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if let Some(paused) = frame::read_priority_pause(bytes) {
            self.pauses += u64::from(paused && !self.paused);
            self.paused = paused;
            return None;
        }
        let header = frame::read(bytes)?;
        match header.kind {
            Kind::Data => return None,
            Kind::Ack | Kind::Notification => self.leading = (header.number, header.era),
        }
        if header.kind == Kind::Notification {
            for (place, register) in self.requests.iter_mut().enumerate() {
                if place == 0 || usize::from(header.hole_size) > place {
                    register[usize::from(header.first_lost.wrapping_add(place as u16))] = true;
                }
            }
        }
        header.piggybacked.then(|| frame::unwrapped(bytes))
    }

    /// Every buffered frame whose turn it is (Figure 18).
    pub fn tick(&mut self) {
        self.tick += 1;
        let tick = self.tick;
        let (due, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.circulating).into_iter().partition(|(at, ..)| *at <= tick);
        self.circulating = waiting;
        for (_, number, era, plain) in due {
            if !frame::at_most((number, era), self.leading) {
                self.circulating.push((tick + self.settings.loop_ticks, number, era, plain));
                continue;
            }
            let asked = |register: &mut Vec<bool>| std::mem::take(&mut register[usize::from(number)]);
            if self.requests.iter_mut().map(asked).fold(false, |any, asked| any | asked) {
                self.resent.push(number);
                let copy = frame::data(&self.header(number, era, true, false), &plain);
                self.urgent.extend(std::iter::repeat_n(copy, self.settings.copies));
            }
        }
    }

    pub fn send(&mut self, normal: &mut VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        if let Some(urgent) = self.urgent.pop_front() {
            return Some(urgent);
        }
        if !self.paused
            && let Some(plain) = normal.pop_front()
        {
            let (number, era) = (self.next, self.era);
            self.era ^= self.next == u16::MAX;
            self.next = self.next.wrapping_add(1);
            self.dummies_left = self.settings.dummies;
            let sent = frame::data(&self.header(number, era, false, false), &plain);
            self.circulating.push((self.tick + self.settings.loop_ticks, number, era, plain));
            return Some(sent);
        }
        self.dummies_left = self.dummies_left.checked_sub(1)?;
        Some(frame::dummy(&self.header(self.next, self.era, false, true)))
    }

    fn header(&self, number: u16, era: bool, copy: bool, dummy: bool) -> Header {
        Header {
            kind: Kind::Data,
            number,
            era,
            copy,
            dummy,
            blocking: self.settings.blocking,
            ..Header::default()
        }
    }

    /// Frames that are not acknowledged.
    pub fn holds(&self) -> usize {
        self.circulating.len() + self.urgent.len()
    }
}
