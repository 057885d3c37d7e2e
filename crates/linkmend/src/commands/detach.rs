//! Removing a bypass that was left behind.

use crate::cli::DetachArgs;
use crate::output::print;
use linkmend_dataplane::bypass;
use linkmend_dataplane::port::Interface;

/// `linkmend detach`.
pub fn execute(arguments: &DetachArgs) -> anyhow::Result<()> {
    for name in &arguments.interfaces {
        // Taking the interface refuses one that a daemon serves.
        let interface = Interface::acquire(name)?;
        bypass::remove(&interface)?;
        print(&format!("{name}: carries no program of Linkmend's"))?;
    }
    Ok(())
}
