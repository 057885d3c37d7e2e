//! Repair in time: parity across frames, retransmission, or both, for frames that are of no use after a deadline. The state
//! machines are those of `linkmend_parity`.

use super::{
    Account, ControlFrame, ControlFrames, ControlPlace, Header, PortSeed, Reception, Scheme, SchemeContext,
    Shown, Urgent,
};
use crate::histogram::Histogram;
use crate::link::frame::{FRAME_BYTES_MIN, Frame};
use crate::time::Time;
use linkmend_parity::{
    Code, Feedback, Limits, Losses, ParityFrame, Path, Plan, Receiver, ReceiverConfig, STAMP_NS, Sender,
    SenderConfig, plan,
};
use linkmend_protocol::{Admission, ConfigError, Mode};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

/// Header of a frame.
pub const PARITY_HEADER_BYTES: u32 = 8;
/// What a parity frame has in front of its content, and what the code adds to the longest frame: length and stamp.
const PARITY_FRAME_BYTES: u32 = 8 + 4;

/// How many frames the losses count that are planned for at first.
const PRIOR_FRAMES: f64 = 256.0;

/// Configuration of an end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParityConfig {
    pub limits: Limits,
    pub round_trip_ns: u64,
    /// The losses and the frames per second to plan for until both have been measured.
    pub losses: Losses,
    pub frame_rate: f64,
    /// A plan that does not change.
    pub fixed: Option<Plan>,
}

impl ParityConfig {
    fn ends(&self) -> (SenderConfig, ReceiverConfig) {
        let ParityConfig { limits, round_trip_ns, losses, frame_rate, fixed } = *self;
        let first = fixed.unwrap_or_else(|| plan(&Path { losses, round_trip_ns, frame_rate }, &limits));
        let sender = SenderConfig {
            deadline_ns: limits.deadline_ns,
            one_way_ns: round_trip_ns / 2,
            group: first.group,
            parity: first.parity,
            age_ns: first.age_ns,
        };
        let prior_frames = PRIOR_FRAMES;
        (sender, ReceiverConfig { limits, round_trip_ns, losses, frame_rate, prior_frames, fixed })
    }
}

/// A frame with the time at which it was sent, in units of [`STAMP_NS`].
#[derive(Debug, Clone, Copy)]
struct Sent {
    frame: Frame,
    stamp: u16,
}

/// A code on frames without contents: parity contains the frames that a decoder would compute.
#[derive(Debug, Clone, Copy)]
struct Ideal;

impl Code for Ideal {
    type Frame = Sent;
    type Parity = Arc<[Sent]>;

    fn encode(&mut self, frames: &[(u16, Sent)], parity: u8) -> Vec<Arc<[Sent]>> {
        let frames: Arc<[Sent]> = frames.iter().map(|(_, frame)| *frame).collect();
        vec![frames; usize::from(parity)]
    }

    fn decode(
        &mut self,
        frames: &[Option<(u16, Sent)>],
        parity: &[(u8, Arc<[Sent]>)],
        _: u8,
    ) -> Vec<(usize, u16, Sent)> {
        let Some((_, all)) = parity.first() else { return Vec::new() };
        let places = frames.iter().zip(all.iter()).enumerate();
        let missing = places.filter(|(_, (arrived, _))| arrived.is_none());
        missing.map(|(place, (_, frame))| (place, frame.stamp, *frame)).collect()
    }
}

/// A control frame: parity, or what the receiver says.
#[derive(Debug)]
pub struct ParityControl(Content);

#[derive(Debug)]
enum Content {
    Parity(ParityFrame<Arc<[Sent]>>),
    Feedback(Feedback),
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParityHeader(linkmend_parity::Header);

/// An end of a link that repairs in time.
#[derive(Debug)]
pub struct Parity {
    sender: Sender<Ideal>,
    receiver: Receiver<Ideal>,
    urgent: VecDeque<Content>,
    /// From sending a frame to its delivery, in us.
    delays_us: Histogram,
}

impl Parity {
    /// Collects what has to be sent, and sets the timer.
    fn act<C: SchemeContext>(&mut self, context: &mut C) {
        self.urgent.extend(std::iter::from_fn(|| self.sender.poll_parity()).map(Content::Parity));
        self.urgent.extend(std::iter::from_fn(|| self.receiver.poll_feedback()).map(Content::Feedback));
        if !self.urgent.is_empty() {
            context.request_service();
        }
        if let Some(at) = self.next_timeout() {
            context.wake_at(at.max(context.now()));
        }
    }
}

fn nanoseconds(time: Time) -> u64 {
    time.0 / Time::from_nanos(1).0
}

impl Scheme for Parity {
    type Config = ParityConfig;
    type Header = ParityHeader;
    type Ack = Infallible;
    type Control = ParityControl;

    fn new(config: &ParityConfig, _: &ParityConfig, _: PortSeed) -> Result<Parity, ConfigError> {
        let (sender, receiver) = config.ends();
        Ok(Parity {
            sender: Sender::new(sender, Ideal),
            receiver: Receiver::new(receiver, Ideal),
            urgent: VecDeque::new(),
            delays_us: Histogram::new(),
        })
    }

    fn header_bytes(&self) -> u32 {
        PARITY_HEADER_BYTES
    }

    fn admission(&self, _: Mode, _: u32) -> Admission {
        Admission::Protected
    }

    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> ParityHeader {
        let now_ns = nanoseconds(context.now());
        let stamp = (now_ns / STAMP_NS) as u16;
        let header = self.sender.send(now_ns, Sent { frame, stamp });
        self.act(context);
        ParityHeader(header)
    }

    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &ParityHeader,
        frame: Frame,
    ) -> Reception {
        let sent = Sent { frame, stamp: header.0.stamp };
        self.receiver.handle_frame(nanoseconds(context.now()), header.0, sent);
        self.act(context);
        Reception::BufferedMore
    }

    fn poll_retransmission(&mut self) -> Option<(ParityHeader, Frame)> {
        let (header, sent) = self.sender.poll_retransmission()?;
        Some((ParityHeader(header), sent.frame))
    }

    fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
        let now_ns = nanoseconds(context.now());
        let delivered = self.receiver.poll_deliver(now_ns);
        let Some(delivered) = delivered else {
            self.act(context);
            return None;
        };
        let Sent { frame, stamp } = delivered.frame;
        let delay = ((now_ns / STAMP_NS) as u16).wrapping_sub(stamp);
        self.delays_us.record(u64::from(delay) * STAMP_NS / 1_000);
        Some(frame)
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        let now_ns = nanoseconds(context.now());
        self.sender.handle_timeout(now_ns);
        self.receiver.handle_timeout(now_ns);
        self.act(context);
    }

    fn next_timeout(&self) -> Option<Time> {
        let times = [self.sender.next_timeout(), self.receiver.next_timeout()];
        times.into_iter().flatten().min().map(Time::from_nanos)
    }

    fn is_drained(&self) -> bool {
        self.sender.is_idle() && self.receiver.is_idle() && self.urgent.is_empty()
    }

    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Infallible, ParityControl>> {
        Some(self)
    }

    fn account(&self) -> Option<&impl Account<ParityHeader>> {
        Some(self)
    }
}

impl ControlFrames<Infallible, ParityControl> for Parity {
    fn handle_control<C: SchemeContext>(&mut self, context: &mut C, control: &ParityControl) {
        let now_ns = nanoseconds(context.now());
        match &control.0 {
            Content::Parity(parity) => self.receiver.handle_parity(now_ns, parity.clone()),
            Content::Feedback(feedback) => {
                self.sender.handle_feedback(now_ns, *feedback);
                context.request_service();
            }
        }
        self.act(context);
    }

    fn poll_urgent<C: SchemeContext>(
        &mut self,
        context: &mut C,
        store: impl FnOnce(ParityControl) -> ControlPlace,
    ) -> Option<Urgent> {
        let content = self.urgent.pop_front()?;
        Some(Urgent { place: store(ParityControl(content)), ready_at: context.now(), overtakes: false })
    }
}

impl Account<ParityHeader> for Parity {
    /// It asks again as long as there is time.
    fn copies(&self) -> Option<u8> {
        None
    }

    fn copies_sent(&self) -> u64 {
        self.sender.counters().copies
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (sender, receiver) = (self.sender.counters(), self.receiver.counters());
        vec![
            ("parity frames sent", sender.parity_frames),
            ("retransmitted frames", sender.copies),
            ("requests refused", sender.refused),
            ("requests sent", receiver.requests),
            ("frames delivered", receiver.delivered),
            ("frames restored from parity", receiver.restored),
            ("frames given up", receiver.given_up),
            ("frames that arrived later", receiver.arrived_later),
            ("late frames", receiver.late),
            ("median delay, us", self.delays_us.quantile(0.5)),
            ("99th percentile of the delay, us", self.delays_us.quantile(0.99)),
            ("longest delay, us", self.delays_us.max()),
        ]
    }

    fn has_moved_past(&self, header: &ParityHeader) -> bool {
        self.receiver.has_moved_past(header.0.number)
    }
}

impl Header for ParityHeader {
    fn is_copy(&self) -> bool {
        self.0.is_copy
    }

    fn show(&self, _: &Frame) -> String {
        let what = if self.0.is_copy { "copy of frame" } else { "frame" };
        format!("parity: {what} {}, place {} of its group", self.0.number, self.0.place)
    }
}

impl ControlFrame for ParityControl {
    fn bytes(&self) -> u32 {
        let Content::Parity(parity) = &self.0 else { return FRAME_BYTES_MIN };
        let longest = parity.content.iter().map(|sent| u32::from(sent.frame.bytes)).max().unwrap_or(0);
        longest.max(FRAME_BYTES_MIN) + PARITY_FRAME_BYTES
    }

    fn show(&self, _: [u8; 6]) -> Shown {
        let text = match &self.0 {
            Content::Parity(parity) => {
                let ParityFrame { first, frames, count, index, .. } = parity;
                format!("parity: {} of {count} for {frames} frames from {first}", index + 1)
            }
            Content::Feedback(Feedback::Missing { first, others, copies }) => {
                let count = 1 + others.count_ones();
                format!("parity: {count} frames from {first} are missing, {copies} copies")
            }
            Content::Feedback(Feedback::Group { frames, parity, .. }) => {
                format!("parity: groups of {frames} frames with {parity} parity frames")
            }
        };
        Shown { text, bytes: None }
    }
}
