//! The XDP program, and the small one behind it that sends through a port's queue.
//!
//! The XDP program runs on both ports of a link end for every received frame, and decides between the daemon (the
//! AF_XDP socket) and the other port. It continues when the daemon dies; from then on it *is* the link end, and traffic
//! must survive: everything passes, Linkmend's own headers are removed, and what could be a duplicate is dropped.

use std::os::fd::BorrowedFd;

use linkmend_control::Side;
use linkmend_protocol::wire::{self, ethertype};

use super::assembler::Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use super::assembler::{AssembleError, Assembler, Condition, Label, Operation, Width};
use super::hook::{self, BUFFER_DATA, HELPER_REDIRECT, Receiver, TC_ACT_SHOT, loaded};
use super::target::Target;
use super::words;
use crate::sys::bpf::Instruction;

/// The values that the program is assembled with.
pub(crate) struct Parameters<'a> {
    /// The port that it is attached to.
    pub(crate) side: Side,
    /// The interface to which bypassed frames go.
    pub(crate) target: Target,
    pub(crate) config: BorrowedFd<'a>,
    pub(crate) receiver: Receiver<'a>,
    /// The longest frame that the daemon takes here, if longer ones may arrive. They are forwarded.
    pub(crate) longest: Option<u32>,
    /// Whether frames may have several buffers (Linux 5.18).
    pub(crate) several_buffers: bool,
    /// Bytes of the tag behind the headers of protected frames and of ACKs on unprotected ones.
    pub(crate) tag_bytes: u8,
}

const MAC_BYTES: i16 = wire::ADDRESSES_BYTES as i16;
/// Position on the stack, below the MAC addresses.
const PROTECTED_AT: i16 = -16;
const ETHERNET_BYTES: i32 = wire::ETHERNET_HEADER_BYTES as i32;
/// Ethernet header, the longest Linkmend header, and the EtherType behind it.
const LONGEST_HEADER: i32 = ETHERNET_BYTES + 6 + 2;
const COMPACT_HEADER: i32 = wire::COMPACT_HEADER_BYTES as i32;

const RETRANSMITTED: i32 = 1 << 3;
/// Distinguishes, among escaped frames, an unprotected one with an ACK: laid out like data, but without a sequence
/// number.
const ESCAPED_WITH_ACK: i32 = 1 << 5;
const COMPACT_DUMMY: i32 = 1 << 2;
/// Bits 7..5 of an ACK that rides on an unprotected frame.
const COMPACT_PIGGYBACKED_ACK: i32 = 0b011;

const XDP_PASS: i32 = 2;
const HELPER_KTIME_GET_NS: i32 = 5;
const HELPER_STORE_BYTES: i32 = 9;
const HELPER_CHANGE_HEAD: i32 = 43;
const HELPER_XDP_ADJUST_HEAD: i32 = 44;
const HELPER_LOAD_BYTES_RELATIVE: i32 = 68;
/// `BPF_HDR_START_MAC`.
const FROM_MAC_HEADER: i32 = 0;

/// Assembles the program for one port. Throughout, `R6` is the context, `R7` the frame, `R8` the EtherType and `R9` the
/// configuration.
pub(crate) fn bypass(parameters: &Parameters<'_>) -> Result<Vec<Instruction>, AssembleError> {
    let mut program = Program { code: Assembler::new(), parameters };
    program.assemble();
    program.code.finish()
}

/// Assembles the program that runs at traffic control's ingress hook of one port. It gets what the XDP program lets
/// pass, which is all that is forwarded. A frame that is redirected from there waits in the queue of the other port, as
/// a bridge's would, and the queue slows the sender down when the port is full. A frame that XDP redirects would be
/// dropped.
pub(crate) fn queue(parameters: &Parameters<'_>) -> Result<Vec<Instruction>, AssembleError> {
    let mut code = Assembler::new();
    let failed = code.label();
    code.register(Operation::Move, R6, R1);
    code.load_map_value(R9, parameters.config);
    put_addresses_back(&mut code, failed);
    parameters.target.emit(&mut code);
    hook::emit_queue(&mut code, R6, failed);
    code.bind(failed);
    fail(&mut code, parameters.side);
    code.finish()
}

/// Ends with the frame dropped, which could not leave at the other port.
fn fail(code: &mut Assembler, side: Side) {
    code.immediate(Operation::Move, R1, 1);
    code.atomic_add(R9, word(words::COUNTERS[side as usize] + words::FAILED_REDIRECTS), R1);
    code.immediate(Operation::Move, R0, TC_ACT_SHOT);
    code.exit();
}

/// Works around a kernel bug. A generic XDP program gets its own copy of a frame that the sender still holds, and the
/// kernel (6.18) does not record in the copy how long the Ethernet header is, so the frame would seem to begin behind
/// the header. The symptom is a header in front of the frame's beginning; in that case room is made there, and the
/// header is written into it.
fn put_addresses_back(code: &mut Assembler, failed: Label) {
    let begins_with_header = code.label();
    code.load(Width::Word, R7, R6, BUFFER_DATA[0]);
    code.load(Width::Word, R2, R6, BUFFER_DATA[1]);
    code.register(Operation::Sub, R2, R7);
    // The length of the frame's first part, as an offset from the beginning of the header, is inside that part only if
    // the header is missing from it.
    code.register(Operation::Move, R3, R10);
    code.immediate(Operation::Add, R3, -24);
    code.immediate(Operation::Move, R1, 0);
    code.store(Width::Double, R10, -24, R1);
    code.register(Operation::Move, R1, R6);
    code.immediate(Operation::Move, R4, 1);
    code.immediate(Operation::Move, R5, FROM_MAC_HEADER);
    code.call(HELPER_LOAD_BYTES_RELATIVE);
    code.jump_if(R0, Condition::NotEqual, 0, begins_with_header);
    copy_header(code, HELPER_LOAD_BYTES_RELATIVE, FROM_MAC_HEADER, failed);
    code.register(Operation::Move, R1, R6);
    code.immediate(Operation::Move, R2, ETHERNET_BYTES);
    code.immediate(Operation::Move, R3, 0);
    code.call(HELPER_CHANGE_HEAD);
    code.jump_if(R0, Condition::NotEqual, 0, failed);
    copy_header(code, HELPER_STORE_BYTES, 0, failed);
    code.bind(begins_with_header);
}

/// Copies the Ethernet header from the frame to the stack, or back, as `helper` does; `option` is its last argument.
fn copy_header(code: &mut Assembler, helper: i32, option: i32, failed: Label) {
    code.register(Operation::Move, R1, R6);
    code.immediate(Operation::Move, R2, 0);
    code.register(Operation::Move, R3, R10);
    code.immediate(Operation::Add, R3, -24);
    code.immediate(Operation::Move, R4, ETHERNET_BYTES);
    code.immediate(Operation::Move, R5, option);
    code.call(helper);
    code.jump_if(R0, Condition::NotEqual, 0, failed);
}

struct Program<'a> {
    code: Assembler,
    parameters: &'a Parameters<'a>,
}

fn word(index: usize) -> i16 {
    (index * 8) as i16
}

impl Program<'_> {
    fn assemble(&mut self) {
        let bypass = self.code.label();
        let forward = self.code.label();
        self.load_frame(forward);
        self.forward_longer(forward);
        self.hand_to_daemon(bypass, forward);
        self.code.bind(bypass);
        match self.parameters.side {
            Side::Inner => self.bypass_from_inner(forward),
            Side::Link | Side::Backup => self.bypass_from_link(forward),
        }
        self.code.bind(forward);
        self.forward();
    }

    /// `R6` = context, `R7` = frame, `R8` = EtherType, `R9` = configuration.
    fn load_frame(&mut self, runt: Label) {
        let config = self.parameters.config;
        self.code.register(Operation::Move, R6, R1);
        self.code.load_map_value(R9, config);
        self.code.immediate(Operation::Move, R8, 0);
        self.load_data(ETHERNET_BYTES, runt);
        self.code.load(Width::Half, R8, R7, MAC_BYTES);
        self.parameters.receiver.emit_tag(&mut self.code, R6);
    }

    /// A port that sends a host's large segments may send them whole, until both ends are active.
    fn forward_longer(&mut self, forward: Label) {
        if let Some(longest) = self.parameters.longest {
            let Parameters { receiver, several_buffers, .. } = *self.parameters;
            receiver.emit_length(&mut self.code, R6, several_buffers);
            self.code.jump_if(R0, Condition::Greater, longest as i32, forward);
        }
    }

    /// `R7` = start of the frame, of which `bytes` bytes may be read; jumps when it is shorter.
    fn load_data(&mut self, bytes: i32, shorter: Label) {
        let [data, data_end] = self.parameters.receiver.data();
        self.code.load(Width::Word, R7, R6, data);
        self.code.load(Width::Word, R2, R6, data_end);
        self.code.register(Operation::Move, R3, R7);
        self.code.immediate(Operation::Add, R3, bytes);
        self.code.jump_if_register(R3, Condition::Greater, R2, shorter);
    }

    /// Either ends with the frame at the daemon's socket, or continues at `bypass`.
    fn hand_to_daemon(&mut self, bypass: Label, forward: Label) {
        self.count(words::SEEN);
        let code = &mut self.code;
        let wanted = code.label();
        code.call(HELPER_KTIME_GET_NS);
        code.load(Width::Double, R1, R9, word(words::HEARTBEAT));
        code.load(Width::Double, R2, R9, word(words::STALL_AFTER));
        // A heartbeat written after our clock was read lies in the future. The age is then negative, and must not look
        // like an eternity.
        code.jump_if_register(R1, Condition::Greater, R0, wanted);
        code.register(Operation::Sub, R0, R1);
        code.jump_if_register(R0, Condition::Greater, R2, bypass);
        code.bind(wanted);
        let ours = code.label();
        code.load(Width::Double, R1, R9, word(words::ACTIVE));
        code.jump_if(R1, Condition::NotEqual, 0, ours);
        // Dormant: only Linkmend's own frames concern the daemon.
        code.jump_if(R8, Condition::Equal, loaded(ethertype::TRANSPARENT), ours);
        code.jump_if(R8, Condition::NotEqual, loaded(ethertype::COMPACT), forward);
        code.bind(ours);
        self.parameters.receiver.emit_hand_over(code, R6, bypass);
    }

    /// Handles a frame from the host when the daemon is gone. Nobody can escape it, so it is dropped if the peer could take
    /// it for this end's.
    fn bypass_from_inner(&mut self, forward: Label) {
        let (own, unknown, drop) = (self.code.label(), self.code.label(), self.code.label());
        self.code.jump_if(R8, Condition::Equal, loaded(ethertype::TRANSPARENT), own);
        self.code.jump_if(R8, Condition::NotEqual, loaded(ethertype::COMPACT), forward);
        self.code.bind(own);
        self.jump_unless_known(unknown);
        self.code.jump(drop);
        self.code.bind(unknown);
        // A peer that does not know this end still answers a handshake.
        self.load_data(ETHERNET_BYTES + 1 + wire::MAGIC.len() as i32, forward);
        self.jump_unless_magic(forward);
        self.code.bind(drop);
        self.drop_frame();
    }

    /// Handles a frame from the link when the daemon is gone: removes what the peer, which may not know this yet, has
    /// added.
    fn bypass_from_link(&mut self, forward: Label) {
        let compact = self.code.label();
        let drop = self.code.label();
        let decapsulate = self.code.label();
        self.note_protected(false);
        // If the peer does not speak Linkmend, these EtherTypes belong to some host.
        self.jump_unless_known(forward);
        let code = &mut self.code;
        code.jump_if(R8, Condition::Equal, loaded(ethertype::COMPACT), compact);
        code.jump_if(R8, Condition::NotEqual, loaded(ethertype::TRANSPARENT), forward);
        self.transparent(decapsulate, drop, forward);
        self.code.bind(compact);
        self.compact(decapsulate, drop);
        self.code.bind(decapsulate);
        self.decapsulate(drop);
        self.code.bind(drop);
        self.drop_frame();
    }

    fn drop_frame(&mut self) {
        self.count(words::DROPPED);
        self.parameters.receiver.emit_drop(&mut self.code);
    }

    /// Jumps if the peer is not known to speak Linkmend. A peer outlives the daemon only for a while: it stops adding
    /// headers when it no longer hears this end.
    fn jump_unless_known(&mut self, unknown: Label) {
        self.code.call(HELPER_KTIME_GET_NS);
        self.code.load(Width::Double, R1, R9, word(words::KNOWN_UNTIL));
        self.code.jump_if_register(R0, Condition::Greater, R1, unknown);
    }

    /// Compares the magic without the byte in front of it. The frame must be loaded up to there.
    fn jump_unless_magic(&mut self, other: Label) {
        let code = &mut self.code;
        code.load(Width::Half, R1, R7, ETHERNET_BYTES as i16 + 1);
        code.jump_if(R1, Condition::NotEqual, loaded(0x4c4d), other);
        code.load(Width::Byte, R1, R7, ETHERNET_BYTES as i16 + 3);
        code.jump_if(R1, Condition::NotEqual, 0x31, other);
    }

    /// Ends at `decapsulate` with `R2` = bytes to remove and `R8` = EtherType to put back.
    fn transparent(&mut self, decapsulate: Label, drop: Label, forward: Label) {
        let tag = i32::from(self.parameters.tag_bytes);
        self.load_data(LONGEST_HEADER + tag, drop);
        let code = &mut self.code;
        let (control, escaped, data) = (code.label(), code.label(), code.label());
        code.load(Width::Byte, R1, R7, ETHERNET_BYTES as i16);
        code.register(Operation::Move, R3, R1);
        code.immediate(Operation::ShiftRight, R3, 6);
        code.immediate(Operation::Move, R2, 3);
        code.jump_if(R3, Condition::Equal, 3, escaped);
        code.jump_if(R3, Condition::Equal, 2, control);
        // A retransmission is dropped: the daemon may have delivered the original just before it died, and a lost frame
        // harms the hosts less than a duplicate.
        code.jump_if(R1, Condition::AnyBit, RETRANSMITTED, drop);
        self.note_protected(true);
        let code = &mut self.code;
        code.jump_if(R3, Condition::Equal, 0, data);
        code.immediate(Operation::Move, R2, 6);
        code.bind(data);
        code.immediate(Operation::And, R1, 7);
        code.immediate(Operation::Add, R2, tag);
        for (index, &ethertype) in wire::CODED_ETHERTYPES.iter().enumerate() {
            code.immediate(Operation::Move, R8, loaded(ethertype));
            code.jump_if(R1, Condition::Equal, index as i32 + 1, decapsulate);
        }
        // Code 0: the EtherType follows the header.
        let explicit_after_ack = code.label();
        code.jump_if(R2, Condition::Equal, 6 + tag, explicit_after_ack);
        code.load(Width::Half, R8, R7, (ETHERNET_BYTES + 3 + tag) as i16);
        code.immediate(Operation::Add, R2, 2);
        code.jump(decapsulate);
        code.bind(explicit_after_ack);
        code.load(Width::Half, R8, R7, (ETHERNET_BYTES + 6 + tag) as i16);
        code.immediate(Operation::Add, R2, 2);
        code.jump(decapsulate);

        code.bind(control);
        self.jump_unless_magic(forward);
        let code = &mut self.code;
        code.jump(drop);

        code.bind(escaped);
        code.jump_if(R1, Condition::AnyBit, ESCAPED_WITH_ACK, data);
        code.load(Width::Half, R1, R7, ETHERNET_BYTES as i16);
        code.jump_if(R1, Condition::NotEqual, loaded(0xc04c), forward);
        code.load(Width::Half, R1, R7, ETHERNET_BYTES as i16 + 2);
        code.jump_if(R1, Condition::NotEqual, loaded(0x4d31), forward);
        code.load(Width::Half, R8, R7, ETHERNET_BYTES as i16 + 4);
        code.immediate(Operation::Move, R2, 6);
        code.jump(decapsulate);
    }

    /// The authors' format: type in bits 7..6, IPv4 behind three bytes.
    fn compact(&mut self, decapsulate: Label, drop: Label) {
        self.load_data(ETHERNET_BYTES + COMPACT_HEADER, drop);
        let code = &mut self.code;
        let original = code.label();
        code.load(Width::Byte, R1, R7, ETHERNET_BYTES as i16);
        code.register(Operation::Move, R3, R1);
        code.immediate(Operation::ShiftRight, R3, 5);
        code.jump_if(R3, Condition::Equal, COMPACT_PIGGYBACKED_ACK, original);
        code.jump_if(R1, Condition::Greater, 0x3f, drop);
        code.jump_if(R1, Condition::AnyBit, RETRANSMITTED | COMPACT_DUMMY, drop);
        self.note_protected(true);
        let code = &mut self.code;
        code.bind(original);
        code.immediate(Operation::Move, R8, loaded(ethertype::IPV4));
        code.immediate(Operation::Move, R2, COMPACT_HEADER);
        code.jump(decapsulate);
    }

    /// Removes `R2` bytes behind the MAC addresses and puts EtherType `R8` there.
    fn decapsulate(&mut self, failed: Label) {
        // The addresses are kept on the stack while the frame is moved.
        for part in [0, 4, 8] {
            self.code.load(Width::Word, R1, R7, part);
            self.code.store(Width::Word, R10, part - 12, R1);
        }
        self.code.register(Operation::Move, R1, R6);
        self.code.call(HELPER_XDP_ADJUST_HEAD);
        self.code.jump_if(R0, Condition::NotEqual, 0, failed);
        self.load_data(ETHERNET_BYTES, failed);
        for part in [0, 4, 8] {
            self.code.load(Width::Word, R1, R10, part - 12);
            self.code.store(Width::Word, R7, part, R1);
        }
        self.code.store(Width::Half, R7, MAC_BYTES, R8);
        let unprotected = self.code.label();
        self.code.load(Width::Word, R1, R10, PROTECTED_AT);
        self.code.jump_if(R1, Condition::Equal, 0, unprotected);
        self.count(words::DECAPSULATED);
        self.code.bind(unprotected);
        self.forward();
    }

    /// Records on the stack whether the frame is protected, because the receiver believes only protected frames
    /// missing.
    fn note_protected(&mut self, protected: bool) {
        self.code.immediate(Operation::Move, R4, i32::from(protected));
        self.code.store(Width::Word, R10, PROTECTED_AT, R4);
    }

    /// Sends the frame out of the other port, directly or through [`queue`].
    fn forward(&mut self) {
        self.count(words::BYPASSED_FRAMES);
        let Parameters { side, target, receiver, several_buffers, .. } = *self.parameters;
        let code = &mut self.code;
        receiver.emit_length(code, R6, several_buffers);
        code.atomic_add(R9, word(words::COUNTERS[side as usize] + words::BYPASSED_BYTES), R0);
        if let Receiver::Interface(_) = receiver {
            let failed = code.label();
            target.emit(code);
            hook::emit_queue(code, R6, failed);
            code.bind(failed);
            return fail(code, side);
        }
        let redirect = code.label();
        code.load(Width::Double, R1, R9, word(words::QUEUED[side as usize]));
        code.jump_if(R1, Condition::Equal, 0, redirect);
        code.immediate(Operation::Move, R0, XDP_PASS);
        code.exit();
        code.bind(redirect);
        target.emit(code);
        code.register(Operation::Move, R1, R8);
        code.immediate(Operation::Move, R2, 0);
        code.call(HELPER_REDIRECT);
        code.exit();
    }

    fn count(&mut self, counter: usize) {
        let counters = words::COUNTERS[self.parameters.side as usize];
        self.code.immediate(Operation::Move, R1, 1);
        self.code.atomic_add(R9, word(counters + counter), R1);
    }
}
