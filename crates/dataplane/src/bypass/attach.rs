//! Attaches the program to an interface, and distinguishes our programs from others'.

use std::io;

use super::{PROGRAM_NAME, census};
use crate::port::{Interface, PortError};
use crate::sys::bpf::Program;
use linkmend_linux::route::{self, AttachedProgram, XdpMode};

/// Attaches `program`, replacing one that an earlier run of ours left. In the same mode the exchange is atomic: no
/// frame passes the interface without a program.
///
/// # Errors
/// [`PortError::ForeignProgram`], [`PortError::UnknownProgram`], [`PortError::System`].
pub(super) fn attach(interface: &Interface, program: &Program, mode: XdpMode) -> Result<(), PortError> {
    if let Some(old) = own_program(interface)?
        && old.mode != mode
    {
        // The kernel runs one mode at a time.
        route::set_xdp_program(interface.index, None, old.mode)
            .map_err(PortError::system(&interface.name, "detaching the former bypass program"))?;
    }
    route::set_xdp_program(interface.index, Some(program.as_fd()), mode)
        .map_err(PortError::system(&interface.name, "attaching the bypass program"))
}

/// Detaches our program from the interface. Returns its mode, or `None` if there was none.
pub(super) fn detach(interface: &Interface) -> Result<Option<XdpMode>, PortError> {
    let Some(program) = own_program(interface)? else {
        return Ok(None);
    };
    route::set_xdp_program(interface.index, None, program.mode)
        .map_err(PortError::system(&interface.name, "detaching the bypass program"))?;
    Ok(Some(program.mode))
}

/// Whether the interface carries a program of ours, as far as the kernel says.
pub(crate) fn carries_bypass(interface: &str) -> bool {
    let facts = route::interface(interface).ok().flatten();
    let held = facts.and_then(|facts| census::program(facts.program?.id).ok());
    held.is_some_and(|held| held.name == PROGRAM_NAME)
}

/// Our program on the interface; `None` if the interface has no program at all, or is gone.
pub(super) fn own_program(interface: &Interface) -> Result<Option<AttachedProgram>, PortError> {
    let facts = route::interface_by_index(interface.index)
        .map_err(PortError::system(&interface.name, "looking the interface up"))?;
    let Some(program) = facts.and_then(|facts| facts.program) else {
        return Ok(None);
    };
    let (name, id) = (|| interface.name.clone(), program.id);
    match census::program(id) {
        Ok(held) if held.name == PROGRAM_NAME => Ok(Some(program)),
        Ok(held) => Err(PortError::ForeignProgram { interface: name(), id, name: held.name }),
        // It has been detached meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PortError::UnknownProgram { interface: name(), id, source }),
    }
}
