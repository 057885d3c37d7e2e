//! An idealised selective retry: a bound on what a retry in the port can achieve. Only the lost frames are retransmitted,
//! and the receiver holds later ones until they have arrived. Numbers and buffers have no limits that a link reaches. As with
//! LLR, numbers travel in the preamble, feedback consists of ordered sets, and a damaged frame reveals its number.

use super::{
    Account, Acknowledgement, ControlFrames, Cycles, FastForward, Header, LinkRetry, PortSeed, Reception,
    Scheme, SchemeContext, Shown,
};
use crate::link::frame::{Frame, WIRE_OVERHEAD_BYTES};
use crate::time::{Rate, Time};
use linkmend_protocol::{Admission, ConfigError, Mode};
use std::collections::VecDeque;
use std::convert::Infallible;

/// Most frames that wait for an acknowledgement, far more than any link holds.
const OUTSTANDING_MAX: usize = 1 << 22;
/// Distance between acknowledgements on the line, as LLR's default.
const ACK_SPACING_BYTES: u64 = 2_048;

/// Intervals of acknowledgements after which fast-forward looks whether the link is steady.
const INTERVALS_PER_CYCLE: u64 = 64;

/// Configuration of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectiveConfig {
    /// The rate of the line, which determines the time between acknowledgements.
    pub rate: Rate,
    /// The oldest frame is retransmitted after this time without progress, in case feedback was lost.
    pub timeout: Time,
}

impl SelectiveConfig {
    /// For a link with this time from an ordered set to its answer. Feedback may also wait for frames of this length.
    pub(crate) fn new(rate: Rate, loop_time: Time, frame_bytes: u32) -> SelectiveConfig {
        let waiting =
            rate.time_of(2 * ACK_SPACING_BYTES + 4 * (u64::from(frame_bytes) + WIRE_OVERHEAD_BYTES));
        SelectiveConfig { rate, timeout: Time(2 * (loop_time + waiting).0) }
    }

    /// Frames that take this much of a line and are sent during some intervals of acknowledgements: enough that a long link's
    /// frames in flight are not compared too often.
    pub(crate) fn cycle_frames(wire_bytes: u64) -> u64 {
        INTERVALS_PER_CYCLE * (ACK_SPACING_BYTES / wire_bytes + 1)
    }
}

/// A port with selective retry in both directions. Numbers wrap; far fewer than half of them are outstanding.
#[derive(Debug)]
pub struct Selective {
    config: SelectiveConfig,
    sender: Sender,
    receiver: Receiver,
    /// The port's timer fires at this time or earlier.
    timer: Time,
}

#[derive(Debug, Default)]
struct Sender {
    /// Number of the oldest frame in `kept`.
    oldest: u32,
    /// Frames that are not acknowledged.
    kept: VecDeque<Frame>,
    kept_bytes: u64,
    /// Numbers to retransmit.
    retries: VecDeque<u32>,
    /// When the oldest frame is retransmitted unless something is acknowledged before.
    deadline: Time,
    retransmitted: u64,
    timeouts: u64,
}

#[derive(Debug, Default)]
struct Receiver {
    /// The next number to deliver.
    expected: u32,
    /// Frames from `expected` on, where they have arrived.
    held: VecDeque<Option<Frame>>,
    held_bytes: u64,
    /// The number after the highest that arrived, damaged or not.
    unseen: u32,
    /// Numbers that the sender has to be told of.
    nacks: VecDeque<u32>,
    /// When an acknowledgement is due, if one is owed.
    ack_at: Option<Time>,
    nacks_sent: u64,
}

/// The number of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectiveHeader {
    number: u32,
    is_copy: bool,
}

/// Feedback, in an ordered set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// All frames before this one have arrived.
    Ack(u32),
    /// This frame has not.
    Nack(u32),
}

/// How far `number` lies after `other`; negative if it lies before.
fn after(number: u32, other: u32) -> i32 {
    number.wrapping_sub(other).cast_signed()
}

impl Sender {
    /// Forgets the frames before `number`. Returns whether there were any.
    fn acknowledge(&mut self, number: u32, deadline: Time) -> bool {
        let count = after(number, self.oldest);
        if count <= 0 || count as usize > self.kept.len() {
            return false;
        }
        self.kept_bytes -= self.kept.drain(..count as usize).map(|frame| u64::from(frame.bytes)).sum::<u64>();
        self.oldest = number;
        self.deadline = deadline;
        true
    }
}

impl Receiver {
    /// Asks for the numbers before `number` that have been skipped.
    fn see(&mut self, number: u32) {
        while after(number, self.unseen) > 0 && self.nacks.len() < OUTSTANDING_MAX {
            self.nacks.push_back(self.unseen);
            self.unseen = self.unseen.wrapping_add(1);
        }
        if number == self.unseen {
            self.unseen = number.wrapping_add(1);
        }
    }

    fn owe_ack(&mut self, at: Time) {
        self.ack_at.get_or_insert(at);
    }
}

impl Selective {
    fn set_timer<C: SchemeContext>(&mut self, context: &mut C) {
        // Progress only makes the deadline later.
        if self.timer <= context.now()
            && let Some(at) = self.next_timeout()
        {
            self.timer = at;
            context.wake_at(at.max(context.now()));
        }
    }
}

impl Scheme for Selective {
    type Config = SelectiveConfig;
    type Header = SelectiveHeader;
    type Ack = Feedback;
    type Control = Infallible;

    fn new(config: &SelectiveConfig, _: &SelectiveConfig, _: PortSeed) -> Result<Selective, ConfigError> {
        let (sender, receiver) = (Sender::default(), Receiver::default());
        Ok(Selective { config: *config, sender, receiver, timer: Time::ZERO })
    }

    #[inline(always)]
    fn header_bytes(&self) -> u32 {
        0
    }

    #[inline]
    fn admission(&self, _: Mode, _: u32) -> Admission {
        if self.sender.kept.len() < OUTSTANDING_MAX { Admission::Protected } else { Admission::Held }
    }

    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> SelectiveHeader {
        let sender = &mut self.sender;
        if sender.kept.is_empty() {
            sender.deadline = context.now() + self.config.timeout;
        }
        let number = sender.oldest.wrapping_add(sender.kept.len() as u32);
        sender.kept.push_back(frame);
        sender.kept_bytes += u64::from(frame.bytes);
        context.tx_level(sender.kept_bytes);
        self.set_timer(context);
        SelectiveHeader { number, is_copy: false }
    }

    #[inline]
    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &SelectiveHeader,
        frame: Frame,
    ) -> Reception {
        let receiver = &mut self.receiver;
        let now = context.now();
        receiver.see(header.number);
        let ahead = after(header.number, receiver.expected);
        if ahead < 0 {
            receiver.owe_ack(now);
            return Reception::Dropped;
        }
        if ahead == 0 {
            receiver.expected = receiver.expected.wrapping_add(1);
            receiver.held.pop_front();
            receiver.owe_ack(now + self.config.rate.time_of(ACK_SPACING_BYTES));
            let releases = matches!(receiver.held.front(), Some(Some(_)));
            return if releases { Reception::DeliverMore } else { Reception::Deliver };
        }
        let place = ahead as usize;
        if receiver.held.len() <= place {
            receiver.held.resize(place + 1, None);
        }
        if receiver.held[place].replace(frame).is_some() {
            return Reception::Dropped;
        }
        receiver.held_bytes += u64::from(frame.bytes);
        context.rx_level(receiver.held_bytes);
        Reception::Buffered
    }

    fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
        let receiver = &mut self.receiver;
        let frame = receiver.held.pop_front_if(|frame| frame.is_some())??;
        receiver.expected = receiver.expected.wrapping_add(1);
        receiver.held_bytes -= u64::from(frame.bytes);
        context.rx_level(receiver.held_bytes);
        Some(frame)
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        self.timer = Time::ZERO;
        let sender = &mut self.sender;
        if !sender.kept.is_empty() && sender.deadline <= context.now() {
            sender.deadline = context.now() + self.config.timeout;
            sender.timeouts += 1;
            if !sender.retries.contains(&sender.oldest) {
                sender.retries.push_back(sender.oldest);
            }
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        (!self.sender.kept.is_empty()).then_some(self.sender.deadline)
    }

    fn is_drained(&self) -> bool {
        self.sender.kept.is_empty() && self.receiver.held.is_empty()
    }

    #[inline(always)]
    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Feedback, Infallible>> {
        Some(self)
    }

    #[inline(always)]
    fn link_retry(&mut self) -> Option<&mut impl LinkRetry<SelectiveHeader>> {
        Some(self)
    }

    fn fast_forward(&mut self) -> Option<&mut impl FastForward<SelectiveHeader, Feedback>> {
        Some(self)
    }

    fn account(&self) -> Option<&impl Account<SelectiveHeader>> {
        Some(self)
    }
}

impl ControlFrames<Feedback, Infallible> for Selective {
    fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, feedback: Feedback) {
        let deadline = context.now() + self.config.timeout;
        match feedback {
            Feedback::Ack(number) => {
                if self.sender.acknowledge(number, deadline) {
                    context.tx_level(self.sender.kept_bytes);
                }
            }
            Feedback::Nack(number) => self.sender.retries.push_back(number),
        }
        self.set_timer(context);
    }

    #[inline]
    fn poll_ack(&mut self, now: Time) -> Option<Feedback> {
        let receiver = &mut self.receiver;
        if let Some(number) = receiver.nacks.pop_front() {
            receiver.nacks_sent += 1;
            return Some(Feedback::Nack(number));
        }
        receiver.ack_at.take_if(|at| *at <= now)?;
        Some(Feedback::Ack(receiver.expected))
    }

    fn has_more(&mut self) -> bool {
        !self.sender.kept.is_empty() || self.next_service().is_some()
    }

    fn idle_until(&mut self, now: Time) -> Option<Time> {
        self.next_timeout().filter(|at| *at > now)
    }
}

impl LinkRetry<SelectiveHeader> for Selective {
    fn poll_retry(&mut self, _: Time) -> Option<(SelectiveHeader, Frame)> {
        let sender = &mut self.sender;
        while let Some(number) = sender.retries.pop_front() {
            // What has been acknowledged since is no longer kept.
            if let Ok(place) = usize::try_from(after(number, sender.oldest))
                && let Some(frame) = sender.kept.get(place)
            {
                sender.retransmitted += 1;
                return Some((SelectiveHeader { number, is_copy: true }, *frame));
            }
        }
        None
    }

    fn next_service(&mut self) -> Option<Time> {
        if self.sender.retries.is_empty() && self.receiver.nacks.is_empty() {
            return self.receiver.ack_at;
        }
        Some(Time::ZERO)
    }

    fn handle_damaged<C: SchemeContext>(&mut self, _: &mut C, header: &SelectiveHeader) {
        let receiver = &mut self.receiver;
        receiver.see(header.number);
        let is_missing = usize::try_from(after(header.number, receiver.expected))
            .is_ok_and(|place| receiver.held.get(place).is_none_or(Option::is_none));
        if is_missing {
            receiver.nacks.push_back(header.number);
        }
    }
}

impl FastForward<SelectiveHeader, Feedback> for Selective {
    fn steady_state(&mut self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let nothing_is_missing = receiver.held.is_empty() && receiver.unseen == receiver.expected;
        let is_steady = sender.retries.is_empty() && receiver.nacks.is_empty() && nothing_is_missing;
        state.push(receiver.ack_at.map_or(u64::MAX, |at| at.0.wrapping_sub(now.0)));
        state.push(sender.kept.len() as u64);
        state.extend((!sender.kept.is_empty()).then(|| sender.deadline.0.wrapping_sub(now.0)));
        is_steady.then_some(())
    }

    /// A timer that fires before the deadline sets itself again.
    fn timer_matters(&mut self) -> bool {
        false
    }

    fn header_state(&mut self, header: &SelectiveHeader, frame: &Frame, state: &mut Vec<u64>) {
        state.extend([u64::from(header.number.wrapping_sub(frame.id as u32)), u64::from(header.is_copy)]);
    }

    fn ack_state(&mut self, feedback: &Feedback, arriving: u64) -> u64 {
        match feedback {
            Feedback::Ack(number) => u64::from(number.wrapping_sub(arriving as u32)),
            Feedback::Nack(_) => u64::MAX,
        }
    }

    fn skip(&mut self, cycles: &Cycles) {
        let (sender, receiver) = (&mut self.sender, &mut self.receiver);
        sender.oldest = sender.oldest.wrapping_add(cycles.sent as u32);
        sender.kept.iter_mut().for_each(|frame| frame.id += cycles.sent);
        sender.deadline += cycles.elapsed;
        receiver.expected = receiver.expected.wrapping_add(cycles.received as u32);
        receiver.unseen = receiver.unseen.wrapping_add(cycles.received as u32);
        if let Some(at) = &mut receiver.ack_at {
            *at += cycles.elapsed;
        }
        if self.timer != Time::ZERO {
            self.timer += cycles.elapsed;
        }
    }

    fn skip_header(&mut self, header: &mut SelectiveHeader, frames: u64) {
        header.number = header.number.wrapping_add(frames as u32);
    }

    fn skip_ack(&mut self, feedback: &mut Feedback, frames: u64) {
        if let Feedback::Ack(number) = feedback {
            *number = number.wrapping_add(frames as u32);
        }
    }
}

impl Account<SelectiveHeader> for Selective {
    /// It never gives up.
    fn copies(&self) -> Option<u8> {
        None
    }

    fn copies_sent(&self) -> u64 {
        self.sender.retransmitted
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("retransmitted frames", self.sender.retransmitted),
            ("timeouts", self.sender.timeouts),
            ("NACKs sent", self.receiver.nacks_sent),
        ]
    }

    fn has_moved_past(&self, header: &SelectiveHeader) -> bool {
        after(header.number, self.receiver.expected) < 0
    }
}

impl Header for SelectiveHeader {
    #[inline(always)]
    fn is_copy(&self) -> bool {
        self.is_copy
    }

    fn show(&self, _: &Frame) -> String {
        let what = if self.is_copy { "copy of frame" } else { "frame" };
        format!("selective retry: {what} {}", self.number)
    }
}

impl Acknowledgement for Feedback {
    #[inline(always)]
    fn is_ordered_set(&self) -> bool {
        true
    }

    fn show(&self, _: [u8; 6]) -> Shown {
        let text = match self {
            Feedback::Ack(number) => format!("selective retry: ACK before {number}"),
            Feedback::Nack(number) => format!("selective retry: NACK {number}"),
        };
        Shown { text: format!("{text} (an ordered set of 8 octets)"), bytes: None }
    }
}
