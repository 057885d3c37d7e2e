//! Where a program sends the frames that it forwards: to one interface, or to that of two links which has a carrier.
//!
//! A program cannot ask the kernel for the carrier of another interface, and a frame that is redirected to one without a
//! carrier vanishes. So the programs of a link end with two links look into the kernel's description of both devices,
//! whose addresses are found once, when they are attached ([`find`]). It is read by a helper that survives whatever is
//! there, and the interface's number in it is compared, so that a device that has gone is never mistaken for one with a
//! carrier. This works without a daemon, which is when it is needed.

use super::assembler::Register::{R0, R1, R2, R3, R6, R8, R9, R10};
use super::assembler::{AssembleError, Assembler, Condition, Operation, Width};
use super::words;
use crate::sys::bpf::{Instruction, Program, ProgramKind, SharedWords};
use linkmend_linux::kernel_types::KernelTypes;
use std::io;
use std::os::fd::BorrowedFd;

pub(super) const HELPER_PROBE_READ_KERNEL: i32 = 113;
const XDP_PASS: i32 = 2;
/// Where the programs put what they read, on the stack.
const READ_AT: i16 = -48;
/// `__LINK_STATE_START` and `__LINK_STATE_NOCARRIER` in `net_device.state`: it must be up, and not without a carrier.
const STATE_BITS: i32 = 0b101;
const STATE_USABLE: i32 = 0b001;
/// The length of the frame on which the finding program is run, which must be that of a frame.
const TRIAL_FRAME_BYTES: usize = 64;

/// Where members of the kernel's structures are, in bytes from their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceLayout {
    /// `net_device.state`, of 64 bits.
    state: i32,
    /// `net_device.ifindex`.
    ifindex: i32,
    /// `xdp_buff.rxq`.
    rxq: i32,
    /// `xdp_rxq_info.dev`.
    dev: i32,
}

impl DeviceLayout {
    /// That of the running kernel.
    pub(crate) fn read() -> io::Result<DeviceLayout> {
        if cfg!(not(target_pointer_width = "64")) {
            return Err(io::Error::other("it is not read on this machine"));
        }
        let types = KernelTypes::read()?;
        let offset = |structure: &str, member: &str| {
            let found = types.member_offset(structure, member).and_then(|at| i32::try_from(at).ok());
            found.ok_or_else(|| io::Error::other(format!("this kernel's {structure} has no {member}")))
        };
        Ok(DeviceLayout {
            state: offset("net_device", "state")?,
            ifindex: offset("net_device", "ifindex")?,
            rxq: offset("xdp_buff", "rxq")?,
            dev: offset("xdp_rxq_info", "dev")?,
        })
    }
}

/// Where forwarded frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Interface(u32),
    /// The interface of the first or the second link, as [`words::PATH`] says, unless that has no carrier and the other has
    /// one. Without a layout the carriers are not looked at.
    Links([u32; 2], Option<DeviceLayout>),
}

impl Target {
    /// Puts the number of the interface into `R8`. Needs the configuration in `R9`, and loses `R0` to `R5`.
    pub(super) fn emit(self, code: &mut Assembler) {
        let (links, layout) = match self {
            Target::Interface(interface) => return code.immediate(Operation::Move, R8, interface as i32),
            Target::Links(links, layout) => (links, layout),
        };
        let (chosen, second_first, use_first, use_second) =
            (code.label(), code.label(), code.label(), code.label());
        code.load(Width::Double, R1, R9, byte_offset(words::PATH));
        code.jump_if(R1, Condition::NotEqual, 0, second_first);
        if let Some(layout) = layout {
            layout.jump_if_usable(code, 0, links[0], use_first);
            layout.jump_if_usable(code, 1, links[1], use_second);
        }
        code.bind(use_first);
        code.immediate(Operation::Move, R8, links[0] as i32);
        code.jump(chosen);
        code.bind(second_first);
        if let Some(layout) = layout {
            layout.jump_if_usable(code, 1, links[1], use_second);
            layout.jump_if_usable(code, 0, links[0], use_first);
        }
        code.bind(use_second);
        code.immediate(Operation::Move, R8, links[1] as i32);
        code.bind(chosen);
    }
}

impl DeviceLayout {
    /// Jumps to `usable` if the device of a link is up and has a carrier.
    fn jump_if_usable(
        self,
        code: &mut Assembler,
        link: usize,
        interface: u32,
        usable: super::assembler::Label,
    ) {
        let not = code.label();
        read_kernel(code, Width::Word, self.ifindex, not, |code| {
            code.load(Width::Double, R3, R9, byte_offset(words::DEVICES[link]));
        });
        code.jump_if(R1, Condition::NotEqual, interface as i32, not);
        read_kernel(code, Width::Double, self.state, not, |code| {
            code.load(Width::Double, R3, R9, byte_offset(words::DEVICES[link]));
        });
        code.immediate(Operation::And, R1, STATE_BITS);
        code.jump_if(R1, Condition::Equal, STATE_USABLE, usable);
        code.bind(not);
    }
}

/// Reads kernel memory `offset` bytes behind what `base` puts into `R3`, into `R1`; jumps if there is none.
fn read_kernel(
    code: &mut Assembler,
    width: Width,
    offset: i32,
    failed: super::assembler::Label,
    base: impl FnOnce(&mut Assembler),
) {
    base(code);
    code.immediate(Operation::Add, R3, offset);
    code.register(Operation::Move, R1, R10);
    code.immediate(Operation::Add, R1, i32::from(READ_AT));
    code.immediate(Operation::Move, R2, if width == Width::Double { 8 } else { 4 });
    code.call(HELPER_PROBE_READ_KERNEL);
    code.jump_if(R0, Condition::NotEqual, 0, failed);
    code.load(width, R1, R10, READ_AT);
}

/// Writes down where the kernel describes the device of each link, for [`Target::Links`].
///
/// # Errors
/// If the kernel does not let a program look, or says something else than it should.
pub(super) fn find(layout: DeviceLayout, links: [u32; 2], config: &SharedWords) -> io::Result<()> {
    for (link, interface) in links.into_iter().enumerate() {
        let code = finder(layout, config.as_fd(), words::DEVICES[link]).map_err(io::Error::other)?;
        let program = Program::load(ProgramKind::Xdp { several_buffers: false }, &code, "linkmend_find")
            .map_err(|error| error.source)?;
        program.test_run_on(interface, &[0; TRIAL_FRAME_BYTES])?;
        if config.word(words::DEVICES[link]).load(std::sync::atomic::Ordering::Relaxed) == 0 {
            return Err(io::Error::other("no device was found"));
        }
    }
    Ok(())
}

/// Looks at the carriers of both links when the daemon asks. The kernel announces a lost carrier up to a second late, and a question
/// to it may wait for somebody who configures interfaces; this does neither.
pub(super) struct CarrierReader(Program);

impl CarrierReader {
    /// # Errors
    /// If the kernel does not let a program look.
    pub(super) fn load(
        layout: DeviceLayout,
        links: [u32; 2],
        config: &SharedWords,
    ) -> io::Result<CarrierReader> {
        let code = reader(layout, links, config.as_fd()).map_err(io::Error::other)?;
        Program::load(ProgramKind::Xdp { several_buffers: false }, &code, "linkmend_look")
            .map(CarrierReader)
            .map_err(|error| error.source)
    }

    /// Whether each of them is up and has a carrier; `None` if the kernel would not run the program.
    pub(super) fn read(&self, config: &SharedWords) -> Option<[bool; 2]> {
        self.0.test_run(&[0; TRIAL_FRAME_BYTES]).ok()?;
        Some(words::CARRIERS.map(|word| config.word(word).load(std::sync::atomic::Ordering::Relaxed) != 0))
    }
}

fn reader(
    layout: DeviceLayout,
    links: [u32; 2],
    config: BorrowedFd<'_>,
) -> Result<Vec<Instruction>, AssembleError> {
    let mut code = Assembler::new();
    code.load_map_value(R9, config);
    for (link, interface) in links.into_iter().enumerate() {
        let (usable, written) = (code.label(), code.label());
        layout.jump_if_usable(&mut code, link, interface, usable);
        code.immediate(Operation::Move, R1, 0);
        code.jump(written);
        code.bind(usable);
        code.immediate(Operation::Move, R1, 1);
        code.bind(written);
        code.store(Width::Double, R9, byte_offset(words::CARRIERS[link]), R1);
    }
    code.immediate(Operation::Move, R0, XDP_PASS);
    code.exit();
    code.finish()
}

/// A program that is run once as if a frame had arrived at a device, and writes down that device's address.
fn finder(
    layout: DeviceLayout,
    config: BorrowedFd<'_>,
    result: usize,
) -> Result<Vec<Instruction>, AssembleError> {
    let mut code = Assembler::new();
    let failed = code.label();
    code.register(Operation::Move, R6, R1);
    code.load_map_value(R9, config);
    read_kernel(&mut code, Width::Double, layout.rxq, failed, |code| {
        code.register(Operation::Move, R3, R6);
    });
    read_kernel(&mut code, Width::Double, layout.dev, failed, |code| {
        code.register(Operation::Move, R3, R1);
    });
    code.store(Width::Double, R9, byte_offset(result), R1);
    code.bind(failed);
    code.immediate(Operation::Move, R0, XDP_PASS);
    code.exit();
    code.finish()
}

/// Where a word of the configuration is.
fn byte_offset(index: usize) -> i16 {
    (index * 8) as i16
}
