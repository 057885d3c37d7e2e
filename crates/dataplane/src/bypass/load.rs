//! Loads the programs of a link end.

use std::sync::Arc;

use super::hook::Receiver;
use super::program::{self, Parameters};
use super::target::{self, CarrierReader, DeviceLayout, Target};
use super::{Attached, PROGRAM_NAME, QUEUE_PROGRAM_NAME, QUEUES, assembler, attach, queue};
use crate::port::{Interface, PortError};
use crate::sys::bpf::{LiveMap, LoadError, Program, ProgramKind, SharedWords};
use linkmend_control::Side;

/// Finds the devices of two links for the program, or says why it will not look at their carriers.
pub(super) fn find_devices(
    inner: &str,
    links: [u32; 2],
    config: &SharedWords,
) -> Option<(DeviceLayout, CarrierReader)> {
    let found = DeviceLayout::read().and_then(|layout| {
        target::find(layout, links, config)?;
        Ok((layout, CarrierReader::load(layout, links, config)?))
    });
    found
        .inspect_err(|error| {
            tracing::warn!(
                inner, %error,
                "the kernel cannot follow the carriers of the links by itself: if the daemon stops, frames stay \
                 on the link in use"
            );
        })
        .ok()
}

/// What the programs of a port are assembled with besides the port.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) side: Side,
    pub(super) target: Target,
    pub(super) config: &'a SharedWords,
    pub(super) tag_bytes: u8,
    /// Whether the inner port carries a host's large segments.
    pub(super) offloads: bool,
}

/// Loads the programs of one port. Nothing is attached yet.
pub(super) fn load(interface: &Arc<Interface>, inputs: Inputs<'_>) -> Result<Attached, PortError> {
    let device =
        queue::Device::open(interface).map_err(PortError::system(&interface.name, "reading its counters"))?;
    let found = attach::own_program(interface)?.is_some();
    let longest = inputs.offloads.then(|| interface.frame_bytes() as u32);
    let loaded = load_programs(&interface.name, longest, inputs)?;
    Ok(Attached {
        side: inputs.side,
        interface: Arc::clone(interface),
        found,
        receiver: loaded.receiver,
        program: loaded.bypass,
        queue_program: loaded.queue,
        device,
    })
}

pub(super) struct Loaded {
    pub(super) receiver: LiveMap,
    pub(super) bypass: Program,
    /// `None` where the bypass itself is a program of traffic control, and on kernels without what it needs.
    pub(super) queue: Option<Program>,
}

pub(super) fn load_programs(
    interface: &str,
    longest: Option<u32>,
    Inputs { side, target, config, tag_bytes, offloads }: Inputs<'_>,
) -> Result<Loaded, PortError> {
    let by_interface = offloads && side == Side::Inner;
    let map = match by_interface {
        true => LiveMap::of_interface("linkmend_device"),
        false => LiveMap::of_sockets(QUEUES, "linkmend_socket"),
    };
    let map = map.map_err(PortError::system(interface, "creating the map of the bypass's receiver"))?;
    let receiver = match by_interface {
        true => Receiver::Interface(map.as_fd()),
        false => Receiver::Sockets(map.as_fd()),
    };
    let longest = longest.filter(|_| !by_interface);
    let parameters = |several_buffers| Parameters {
        side,
        target,
        config: config.as_fd(),
        receiver,
        longest,
        several_buffers,
        tag_bytes,
    };
    let refused = |source, verifier_log| PortError::ProgramRefused {
        interface: interface.to_owned(),
        verifier_log,
        source,
    };
    let load = |kind, assembled: Result<Vec<_>, assembler::AssembleError>, name| {
        let code = assembled.map_err(|error| refused(std::io::Error::other(error), String::new()))?;
        Program::load(kind, &code, name)
            .map_err(|LoadError { source, verifier_log }| refused(source, verifier_log))
    };
    if by_interface {
        let bypass = load(ProgramKind::TrafficControl, program::bypass(&parameters(true)), PROGRAM_NAME)?;
        return Ok(Loaded { receiver: map, bypass, queue: None });
    }
    let xdp = |several_buffers| {
        load(
            ProgramKind::Xdp { several_buffers },
            program::bypass(&parameters(several_buffers)),
            PROGRAM_NAME,
        )
    };
    // Linux before 5.18 knows only frames of one buffer, and takes the flag for a mistake.
    let bypass = xdp(true).or_else(|error| xdp(false).map_err(|_| error))?;
    // It is attached to a hook of Linux 6.6, and uses what Linux before 5.12 does not have.
    let queue = load(ProgramKind::TrafficControl, program::queue(&parameters(true)), QUEUE_PROGRAM_NAME);
    let queue = queue.inspect_err(|error| tracing::debug!(interface, %error, "no program for queues")).ok();
    Ok(Loaded { receiver: map, bypass, queue })
}
