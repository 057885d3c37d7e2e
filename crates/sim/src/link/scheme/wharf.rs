//! Wharf: forward error correction over blocks of frames on one link (Giesen et al., "In-network computing to the
//! rescue of faulty links", NetCompute 2018), with which the paper compares LinkGuardian (section 4.7).
//!
//! A block consists of `data` frames in the order of sending, followed by `parity` frames, each as long as the longest
//! frame of the block. The code is maximum distance separable, like the Reed-Solomon codes of the original: any `data`
//! of the `data + parity` frames are enough to restore the others. Frames that arrive are passed on immediately. A lost
//! frame is passed on when enough of its block has arrived, after the frames that followed it. A block that is not full
//! after a while is closed with fewer frames, so that a lost tail can be recovered.

use super::{
    ControlFrame, ControlFrames, ControlPlace, Header, PortSeed, Reception, Scheme, SchemeContext, Shown,
    Urgent,
};
use crate::link::frame::{FRAME_BYTES_MIN, Frame};
use crate::time::Time;
use linkmend_protocol::{Admission, ConfigError, Mode};
use std::collections::VecDeque;
use std::convert::Infallible;

/// Header of a protected frame: number of the block, and place in it.
pub const WHARF_HEADER_BYTES: u32 = 4;
/// Maximum number of frames in a block, including parity: the limit of Reed-Solomon codes over bytes.
const BLOCK_FRAMES_MAX: u32 = 255;
/// Number of blocks whose frames a receiver remembers. Parity follows its block, so one would be enough, and a second
/// is being filled.
const BLOCKS_REMEMBERED: usize = 4;

/// Parameters of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WharfConfig {
    /// Frames in a block.
    pub data: u32,
    /// Parity frames per block; with 0, frames are sent unchanged.
    pub parity: u32,
    /// A block is closed this long after its first frame, full or not.
    pub close_after: Time,
}

impl WharfConfig {
    /// Parameters of the two ends of a link that loses this share of frames in one direction, starting with the end
    /// whose frames are lost. There is nothing to correct in the other direction.
    pub fn one_way(loss: f64) -> [WharfConfig; 2] {
        [WharfConfig::published(loss), WharfConfig::OFF]
    }

    /// The published parameters with the best goodput at a loss rate, as the paper chose them (section 4.7, Table 3): one
    /// parity frame for 25 up to 1e-3, and five at 1e-2.
    pub fn published(loss: f64) -> WharfConfig {
        let parity = if loss > 3e-3 { 5 } else { 1 };
        WharfConfig { data: 25, parity, close_after: Time::from_nanos(100_000) }
    }

    /// No coding: the other direction of a link.
    pub const OFF: WharfConfig = WharfConfig { data: 1, parity: 0, close_after: Time::ZERO };
}

/// The header of a frame of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WharfHeader {
    block: u32,
    place: u8,
}

/// A parity frame. Here it contains the frames that a decoder would compute.
#[derive(Debug, Clone, PartialEq)]
pub struct Parity {
    block: u32,
    frames: Vec<Frame>,
    bytes: u32,
}

/// The part of a block that has arrived.
#[derive(Debug, Clone, Default)]
struct Arrived {
    block: u32,
    /// Whether the frame at each place of the block has arrived.
    frames: Vec<bool>,
    parity: usize,
    recovered: bool,
}

/// One end of a link with Wharf.
#[derive(Debug)]
pub struct Wharf {
    config: WharfConfig,
    block: u32,
    filling: Vec<Frame>,
    close_at: Time,
    urgent: VecDeque<Parity>,
    arrived: VecDeque<Arrived>,
    recovered: VecDeque<Frame>,
}

impl Wharf {
    /// Closes the block that is being filled, so that its parity is sent.
    fn close<C: SchemeContext>(&mut self, context: &mut C) {
        self.close_at = Time::NEVER;
        let frames = std::mem::take(&mut self.filling);
        let longest = frames.iter().map(|frame| u32::from(frame.bytes)).max().unwrap_or(0);
        let bytes = longest.max(FRAME_BYTES_MIN) + WHARF_HEADER_BYTES;
        for _ in 0..self.config.parity {
            self.urgent.push_back(Parity { block: self.block, frames: frames.clone(), bytes });
        }
        self.block = self.block.wrapping_add(1);
        context.request_service();
    }

    /// The part of this block that has arrived, possibly nothing so far.
    fn arrived(&mut self, block: u32) -> &mut Arrived {
        let place = self.arrived.iter().position(|arrived| arrived.block == block);
        let place = place.unwrap_or_else(|| {
            if self.arrived.len() == BLOCKS_REMEMBERED {
                self.arrived.pop_front();
            }
            self.arrived.push_back(Arrived { block, ..Arrived::default() });
            self.arrived.len() - 1
        });
        &mut self.arrived[place]
    }
}

impl Scheme for Wharf {
    type Config = WharfConfig;
    type Header = WharfHeader;
    type Ack = Infallible;
    type Control = Parity;

    fn new(config: &WharfConfig, _: &WharfConfig, _: PortSeed) -> Result<Wharf, ConfigError> {
        let frames = config.data.saturating_add(config.parity);
        if config.data == 0 || frames > BLOCK_FRAMES_MAX {
            return Err(ConfigError {
                parameter: "wharf",
                value: f64::from(frames),
                requirement: "must have 1 to 255 frames in a block with its parity",
            });
        }
        Ok(Wharf {
            config: *config,
            block: 0,
            filling: Vec::new(),
            close_at: Time::NEVER,
            urgent: VecDeque::new(),
            arrived: VecDeque::new(),
            recovered: VecDeque::new(),
        })
    }

    fn header_bytes(&self) -> u32 {
        WHARF_HEADER_BYTES
    }

    fn admission(&self, _: Mode, _: u32) -> Admission {
        if self.config.parity == 0 { Admission::Unprotected } else { Admission::Protected }
    }

    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> WharfHeader {
        let header = WharfHeader { block: self.block, place: self.filling.len() as u8 };
        if self.filling.is_empty() {
            self.close_at = context.now() + self.config.close_after;
            context.wake_at(self.close_at);
        }
        self.filling.push(frame);
        if self.filling.len() as u32 == self.config.data {
            self.close(context);
        }
        header
    }

    fn handle_data<C: SchemeContext>(&mut self, _: &mut C, header: &WharfHeader, _: Frame) -> Reception {
        let place = usize::from(header.place);
        let arrived = self.arrived(header.block);
        if arrived.frames.len() <= place {
            arrived.frames.resize(place + 1, false);
        }
        arrived.frames[place] = true;
        Reception::Deliver
    }

    fn poll_deliver<C: SchemeContext>(&mut self, _: &mut C) -> Option<Frame> {
        self.recovered.pop_front()
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        if self.close_at <= context.now() {
            self.close(context);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        (self.close_at != Time::NEVER).then_some(self.close_at)
    }

    fn is_drained(&self) -> bool {
        self.filling.is_empty() && self.urgent.is_empty() && self.recovered.is_empty()
    }

    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Infallible, Parity>> {
        Some(self)
    }
}

impl ControlFrames<Infallible, Parity> for Wharf {
    fn handle_control<C: SchemeContext>(&mut self, _: &mut C, parity: &Parity) {
        let arrived = self.arrived(parity.block);
        arrived.parity += 1;
        arrived.frames.resize(parity.frames.len(), false);
        let missing = arrived.frames.iter().filter(|arrived| !**arrived).count();
        if arrived.recovered || missing > arrived.parity {
            return;
        }
        arrived.recovered = true;
        let places = std::mem::take(&mut arrived.frames);
        let lost = parity.frames.iter().zip(places).filter(|(_, arrived)| !arrived);
        self.recovered.extend(lost.map(|(frame, _)| *frame));
    }

    fn poll_urgent<C: SchemeContext>(
        &mut self,
        context: &mut C,
        store: impl FnOnce(Parity) -> ControlPlace,
    ) -> Option<Urgent> {
        let parity = self.urgent.pop_front()?;
        Some(Urgent { place: store(parity), ready_at: context.now(), overtakes: false })
    }
}

impl Header for WharfHeader {
    fn is_copy(&self) -> bool {
        false
    }

    fn show(&self, _: &Frame) -> String {
        format!("Wharf: frame {} of block {}", self.place, self.block)
    }
}

impl ControlFrame for Parity {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn show(&self, _: [u8; 6]) -> Shown {
        let text = format!("Wharf: parity of block {}, {} frames", self.block, self.frames.len());
        Shown { text, bytes: None }
    }
}
