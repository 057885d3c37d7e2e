//! Loads the programs of a link end.

use std::sync::Arc;

use super::program::{self, Parameters};
use super::target::{self, CarrierReader, DeviceLayout, Target};
use super::{Attached, PROGRAM_NAME, QUEUE_PROGRAM_NAME, QUEUES, assembler, attach, queue};
use crate::port::{Interface, PortError};
use crate::sys::bpf::{LoadError, Program, ProgramKind, SharedWords, XskMap};
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

/// Loads the programs of one port. Nothing is attached yet.
pub(super) fn load(
    side: Side,
    interface: &Arc<Interface>,
    target: Target,
    config: &SharedWords,
    tag_bytes: u8,
) -> Result<Attached, PortError> {
    let device =
        queue::Device::open(interface).map_err(PortError::system(&interface.name, "reading its counters"))?;
    let found = attach::own_program(interface)?.is_some();
    let loaded = load_programs(side, &interface.name, target, config, tag_bytes)?;
    Ok(Attached {
        side,
        interface: Arc::clone(interface),
        found,
        sockets: loaded.sockets,
        program: loaded.bypass,
        queue_program: loaded.queue,
        device,
    })
}

pub(super) struct Loaded {
    pub(super) sockets: XskMap,
    pub(super) bypass: Program,
    pub(super) queue: Program,
}

pub(super) fn load_programs(
    side: Side,
    interface: &str,
    target: Target,
    config: &SharedWords,
    tag_bytes: u8,
) -> Result<Loaded, PortError> {
    let sockets = XskMap::new(QUEUES, "linkmend_socket")
        .map_err(PortError::system(interface, "creating the bypass socket map"))?;
    let parameters = Parameters { side, target, config: config.as_fd(), sockets: sockets.as_fd(), tag_bytes };
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
    let bypass = load(ProgramKind::Xdp, program::bypass(&parameters), PROGRAM_NAME)?;
    let queue = load(ProgramKind::TrafficControl, program::queue(&parameters), QUEUE_PROGRAM_NAME)?;
    Ok(Loaded { sockets, bypass, queue })
}
