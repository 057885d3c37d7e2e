//! Where a program runs: on frames as they are received (XDP), or where traffic control sees them.
//!
//! Everywhere but at an inner port that carries a host's large segments, it is XDP. XDP would have to copy such segments,
//! and an AF_XDP socket cannot take them. There, traffic control hands them to the daemon's TAP device, and forwards them
//! whole while the daemon is dormant or gone.

use super::assembler::Register::{R0, R1, R2, R3, R4, R5, R8, R10};
use super::assembler::{Assembler, Condition, Label, Operation, Register, Width};
use linkmend_linux::route::XdpMode;
use linkmend_protocol::wire::ethertype;
use std::fmt;
use std::os::fd::BorrowedFd;

const XDP_ABORTED: i32 = 0;
const XDP_DROP: i32 = 1;
const XDP_REDIRECT: i32 = 4;
pub(super) const TC_ACT_SHOT: i32 = 2;
const HELPER_MAP_LOOKUP: i32 = 1;
pub(super) const HELPER_REDIRECT: i32 = 23;
const HELPER_REDIRECT_MAP: i32 = 51;
const HELPER_CHECK_MTU: i32 = 163;
const HELPER_XDP_GET_BUFF_LEN: i32 = 188;

/// Offsets in `struct xdp_md`.
const XDP_DATA: [i16; 2] = [0, 4];
const XDP_QUEUE: i16 = 16;
/// Offsets in `struct __sk_buff`.
pub(super) const BUFFER_DATA: [i16; 2] = [76, 80];
const BUFFER_LENGTH: i16 = 0;
const BUFFER_VLAN_PRESENT: i16 = 20;

/// An EtherType as a little- or big-endian machine loads it from the frame.
pub(super) fn loaded(ethertype: u16) -> i32 {
    i32::from(u16::from_ne_bytes(ethertype.to_be_bytes()))
}

/// Where our program on an interface is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Xdp(XdpMode),
    TrafficControl,
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hook::Xdp(mode) => write!(f, "{mode} XDP"),
            Hook::TrafficControl => f.write_str("traffic control"),
        }
    }
}

/// What the daemon receives frames by.
#[derive(Clone, Copy)]
pub(crate) enum Receiver<'a> {
    /// Sockets by receive queue; the program is an XDP program.
    Sockets(BorrowedFd<'a>),
    /// A map with one interface; the program is one for traffic control.
    Interface(BorrowedFd<'a>),
}

impl Receiver<'_> {
    /// Where the context of the program says where the frame begins and ends.
    pub(super) fn data(self) -> [i16; 2] {
        match self {
            Receiver::Sockets(_) => XDP_DATA,
            Receiver::Interface(_) => BUFFER_DATA,
        }
    }

    /// Traffic control keeps the tag of a frame beside it; `R8` becomes the EtherType of a tag. Needs the context in
    /// `context`.
    pub(super) fn emit_tag(self, code: &mut Assembler, context: Register) {
        if let Receiver::Interface(_) = self {
            let untagged = code.label();
            code.load(Width::Word, R1, context, BUFFER_VLAN_PRESENT);
            code.jump_if(R1, Condition::Equal, 0, untagged);
            code.immediate(Operation::Move, R8, loaded(ethertype::VLAN));
            code.bind(untagged);
        }
    }

    /// Ends with the frame at the daemon, or goes on at `gone`. The kernel takes a closed socket, or a device that goes with
    /// its process, out of the map immediately, so a dead daemon is noticed here, without waiting for its heartbeat to age.
    pub(super) fn emit_hand_over(self, code: &mut Assembler, context: Register, gone: Label) {
        match self {
            Receiver::Sockets(map) => {
                code.load_map(R1, map);
                code.load(Width::Word, R2, context, XDP_QUEUE);
                code.immediate(Operation::Move, R3, XDP_ABORTED);
                code.call(HELPER_REDIRECT_MAP);
                code.jump_if(R0, Condition::NotEqual, XDP_REDIRECT, gone);
            }
            Receiver::Interface(map) => {
                code.immediate(Operation::Move, R1, 0);
                code.store(Width::Word, R10, -4, R1);
                code.load_map(R1, map);
                code.register(Operation::Move, R2, R10);
                code.immediate(Operation::Add, R2, -4);
                code.call(HELPER_MAP_LOOKUP);
                code.jump_if(R0, Condition::Equal, 0, gone);
                code.load(Width::Word, R1, R0, 0);
                code.immediate(Operation::Move, R2, 0);
                code.call(HELPER_REDIRECT);
            }
        }
        code.exit();
    }

    /// Ends with the frame dropped.
    pub(super) fn emit_drop(self, code: &mut Assembler) {
        let verdict = match self {
            Receiver::Sockets(_) => XDP_DROP,
            Receiver::Interface(_) => TC_ACT_SHOT,
        };
        code.immediate(Operation::Move, R0, verdict);
        code.exit();
    }

    /// Puts the length of the whole frame into `R0`. Of a frame of several buffers, only the first lies between the two data
    /// pointers.
    pub(super) fn emit_length(self, code: &mut Assembler, context: Register, several_buffers: bool) {
        match self {
            Receiver::Sockets(_) if !several_buffers => {
                code.load(Width::Word, R1, context, XDP_DATA[0]);
                code.load(Width::Word, R0, context, XDP_DATA[1]);
                code.register(Operation::Sub, R0, R1);
            }
            Receiver::Sockets(_) => {
                code.register(Operation::Move, R1, context);
                code.call(HELPER_XDP_GET_BUFF_LEN);
            }
            Receiver::Interface(_) => code.load(Width::Word, R0, context, BUFFER_LENGTH),
        }
    }
}

/// Ends with the frame in the queue of interface `R8`; goes on at `failed` if it is too long for that. For traffic
/// control.
pub(super) fn emit_queue(code: &mut Assembler, context: Register, failed: Label) {
    // A driver must not be given frames that are longer than it takes. The helper wants a length to fill in, 0 before.
    code.immediate(Operation::Move, R1, 0);
    code.store(Width::Word, R10, -4, R1);
    code.register(Operation::Move, R1, context);
    code.register(Operation::Move, R2, R8);
    code.register(Operation::Move, R3, R10);
    code.immediate(Operation::Add, R3, -4);
    code.immediate(Operation::Move, R4, 0);
    code.immediate(Operation::Move, R5, 0);
    code.call(HELPER_CHECK_MTU);
    code.jump_if(R0, Condition::NotEqual, 0, failed);
    code.register(Operation::Move, R1, R8);
    code.immediate(Operation::Move, R2, 0);
    code.call(HELPER_REDIRECT);
    code.exit();
}
