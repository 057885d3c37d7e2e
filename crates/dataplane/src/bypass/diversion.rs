//! Where no link can be forwarded to: a program that only hands the frames of a port to the daemon's TAP device.
//!
//! A link over UDP has no network device, so there is nothing that a bypass could forward between. Without a daemon its
//! hosts' frames are dropped, as on a cable that has been pulled out: a number of a device that is gone leads nowhere.

use super::assembler::Assembler;
use super::assembler::Operation::Move;
use super::assembler::Register::{R1, R2};
use super::hook::HELPER_REDIRECT;
use super::{PROGRAM_NAME, attach};
use crate::port::{Interface, PortError};
use crate::sys::bpf::{LoadError, Program, ProgramKind};
use std::io;
use std::sync::Arc;

/// The program at a port. It goes when this is dropped.
pub(crate) struct Diversion(Arc<Interface>);

impl Diversion {
    /// Hands every frame that arrives at the interface to a TAP device, as large as it is, in place of a program that an earlier
    /// run has left.
    ///
    /// # Errors
    /// As [`Bypass::attach`](super::Bypass::attach).
    pub(crate) fn attach(interface: Arc<Interface>, tap_index: u32) -> Result<Diversion, PortError> {
        let refused = |source, verifier_log| PortError::ProgramRefused {
            interface: interface.name.clone(),
            verifier_log,
            source,
        };
        let mut code = Assembler::new();
        code.immediate(Move, R1, tap_index as i32);
        code.immediate(Move, R2, 0);
        code.call(HELPER_REDIRECT);
        code.exit();
        let code = code.finish().map_err(|error| refused(io::Error::other(error), String::new()))?;
        let program = Program::load(ProgramKind::TrafficControl, &code, PROGRAM_NAME)
            .map_err(|LoadError { source, verifier_log }| refused(source, verifier_log))?;
        attach::attach_to_traffic_control(&interface, &program)?;
        Ok(Diversion(interface))
    }
}

impl Drop for Diversion {
    fn drop(&mut self) {
        if let Err(error) = super::remove(&self.0) {
            tracing::warn!(
                interface = %self.0.name, %error,
                "a program is left in the kernel; hint: `linkmend detach {}`", self.0.name
            );
        }
    }
}
