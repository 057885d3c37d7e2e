//! Attaches the program to an interface, and distinguishes our programs from others'.

use std::io;

use super::hook::Hook;
use super::{PROGRAM_NAME, QUEUE_PROGRAM_NAME, census};
use crate::port::{Interface, PortError};
use crate::sys::bpf::Program;
use crate::sys::tcx;
use linkmend_linux::route::{self, XdpMode};

/// Our program on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnProgram {
    pub(super) id: u32,
    pub(super) hook: Hook,
}

/// Attaches an XDP program, replacing one that an earlier run of ours left. In the same mode the exchange is atomic: no
/// frame passes the interface without a program.
///
/// # Errors
/// [`PortError::ForeignProgram`], [`PortError::UnknownProgram`], [`PortError::System`].
pub(super) fn attach(interface: &Interface, program: &Program, mode: XdpMode) -> Result<(), PortError> {
    if let Some(OwnProgram { hook: Hook::Xdp(old), .. }) = own_program(interface)?
        && old != mode
    {
        // The kernel runs one mode at a time.
        route::set_xdp_program(interface.index, None, old)
            .map_err(PortError::system(&interface.name, "detaching the former bypass program"))?;
    }
    route::set_xdp_program(interface.index, Some(program.as_fd()), mode)
        .map_err(PortError::system(&interface.name, "attaching the bypass program"))?;
    detach_from_traffic_control(interface, PROGRAM_NAME).map(drop)
}

/// Attaches a program of traffic control, replacing what an earlier run of ours left in either place.
///
/// # Errors
/// As [`attach`].
pub(super) fn attach_to_traffic_control(interface: &Interface, program: &Program) -> Result<(), PortError> {
    let former = own_program(interface)?;
    let replaced = former.filter(|former| former.hook == Hook::TrafficControl).map(|former| former.id);
    tcx::attach(interface.index, program.as_fd(), replaced).map_err(PortError::system(
        &interface.name,
        "attaching the bypass program to traffic control (offloads require Linux 6.6)",
    ))?;
    if let Some(OwnProgram { hook: Hook::Xdp(mode), .. }) = former {
        route::set_xdp_program(interface.index, None, mode)
            .map_err(PortError::system(&interface.name, "detaching the former bypass program"))?;
        detach_from_traffic_control(interface, QUEUE_PROGRAM_NAME)?;
    }
    Ok(())
}

/// Detaches our programs of this name from traffic control, and returns how many there were.
///
/// # Errors
/// [`PortError::System`].
pub(super) fn detach_from_traffic_control(interface: &Interface, name: &str) -> Result<usize, PortError> {
    let programs = in_traffic_control(interface, name);
    let mut detached = programs.iter().map(|&id| tcx::detach(interface.index, id));
    detached
        .try_for_each(|detached| detached)
        .map_err(PortError::system(&interface.name, "detaching the bypass program behind XDP"))?;
    Ok(programs.len())
}

/// Our programs of this name there. A start leaves one at most; versions that could not recognise it without
/// CAP_SYS_ADMIN left one with each start.
pub(super) fn in_traffic_control(interface: &Interface, name: &str) -> Vec<u32> {
    // An older kernel has no such hook, so nothing of ours can be there.
    let mut ids = tcx::programs(interface.index).unwrap_or_default();
    // A program that has disappeared meanwhile was not ours: our lock keeps other instances away.
    ids.retain(|&id| census::program(id).is_ok_and(|held| held.name == name));
    ids
}

/// Detaches our program from the interface. Returns where it was, or `None` if there was none.
pub(super) fn detach(interface: &Interface) -> Result<Option<Hook>, PortError> {
    let Some(program) = own_program(interface)? else {
        return Ok(None);
    };
    match program.hook {
        Hook::Xdp(mode) => route::set_xdp_program(interface.index, None, mode)
            .map_err(PortError::system(&interface.name, "detaching the bypass program"))?,
        Hook::TrafficControl => drop(detach_from_traffic_control(interface, PROGRAM_NAME)?),
    }
    Ok(Some(program.hook))
}

/// Whether the interface carries a program of ours, as far as the kernel says.
pub fn carries_bypass(interface: &str) -> bool {
    let Some(facts) = route::interface(interface).ok().flatten() else { return false };
    let in_traffic_control = tcx::programs(facts.index).unwrap_or_default();
    let mut ids = facts.program.map(|program| program.id).into_iter().chain(in_traffic_control);
    ids.any(|id| census::program(id).is_ok_and(|held| held.name == PROGRAM_NAME))
}

/// Our program on the interface; `None` if the interface has no program at all, or is gone.
pub(super) fn own_program(interface: &Interface) -> Result<Option<OwnProgram>, PortError> {
    let facts = route::interface_by_index(interface.index)
        .map_err(PortError::system(&interface.name, "looking the interface up"))?;
    let Some(program) = facts.and_then(|facts| facts.program) else {
        let id = in_traffic_control(interface, PROGRAM_NAME).first().copied();
        return Ok(id.map(|id| OwnProgram { id, hook: Hook::TrafficControl }));
    };
    let (name, id) = (|| interface.name.clone(), program.id);
    match census::program(id) {
        Ok(held) if held.name == PROGRAM_NAME => Ok(Some(OwnProgram { id, hook: Hook::Xdp(program.mode) })),
        Ok(held) => Err(PortError::ForeignProgram { interface: name(), id, name: held.name }),
        // It has been detached meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PortError::UnknownProgram { interface: name(), id, source }),
    }
}
