//! Writes networks as files of the layered format.

use super::MAX_PIPES;
use crate::{LinkId, SwitchId, Topology};
use linkmend_quantity::BitRate;
use std::io::{self, Write};

/// Writes a network as a file that [`super::read_topology`] reads back as the same network, for instance to change a
/// generated network by hand, or to keep one that was read from LLDP dumps. Zones are written as the pods of their
/// switches.
///
/// # Errors
/// If the writer fails.
pub fn write_layered(topology: &Topology, writer: &mut impl Write) -> io::Result<()> {
    writeln!(writer, "switches:")?;
    for id in (0..topology.switch_count() as u32).map(SwitchId) {
        let switch = topology.switch(id);
        write!(writer, "  - {{name: {}, layer: {}", quoted(topology.names().switch(id))?, switch.layer)?;
        if let Some(zone) = switch.zone {
            write!(writer, ", pod: {}", quoted(topology.names().zone(zone))?)?;
        }
        // A file may not name more pipes. A switch that has more has so many ports that it gets the same number when it
        // is read.
        if switch.pipes <= MAX_PIPES {
            write!(writer, ", pipes: {}", switch.pipes)?;
        }
        writeln!(writer, "}}")?;
    }
    writeln!(writer, "links:")?;
    for id in (0..topology.link_count() as u32).map(LinkId) {
        let link = topology.link(id);
        let [from, to] = [link.lower, link.upper].map(|end| quoted(topology.names().switch(end)));
        let speed = BitRate(topology.capacity(id));
        let name = quoted(topology.names().link(id))?;
        writeln!(writer, "  - {{from: {}, to: {}, name: {name}, speed: {speed}}}", from?, to?)?;
    }
    Ok(())
}

/// A JSON string is a YAML string, whatever is in it.
fn quoted(text: String) -> io::Result<String> {
    Ok(serde_json::to_string(&text)?)
}
