//! `linkmend detach`: removes a bypass that was left behind.

use crate::commands::arguments::DetachArgs;
use crate::failure::Result;
use crate::output::print;
use linkmend_dataplane::bypass::{self, Removed};
use linkmend_dataplane::port::Interface;

/// Executes the command.
pub fn execute(arguments: &DetachArgs) -> Result<()> {
    for name in &arguments.interfaces {
        // Acquiring the interface fails if a daemon serves it.
        let interface = Interface::acquire(name)?;
        let removed = bypass::remove(&interface)?;
        print(&match removed {
            Removed { hook: Some(hook), .. } => format!(
                "{name}: removed the bypass ({hook}); frames that arrive there are no longer forwarded to the \
                 other port of its link"
            ),
            Removed { hook: None, queue_programs: 0 } => {
                format!("{name}: there was no Linkmend bypass; nothing was changed")
            }
            Removed { hook: None, queue_programs } => {
                format!("{name}: removed {queue_programs} programs that a bypass had left behind")
            }
        })?;
    }
    Ok(())
}
