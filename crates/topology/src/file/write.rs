//! Writes networks as files of the layered format.

use super::{Loaded, MAX_PIPES, NamedCable};
use crate::{LinkId, SwitchId, Topology};
use linkmend_quantity::{BitRate, Distance};
use std::io::{self, Write};

/// Writes a network as a file that [`super::read_topology`] reads back as the same network, for instance to change a
/// generated network by hand, or to keep one that was read from LLDP dumps. Zones are written as the pods of their
/// switches.
///
/// # Errors
/// If the writer fails.
pub fn write_layered(topology: &Topology, writer: &mut impl Write) -> io::Result<()> {
    write_network(topology, |_| None, &[], writer)
}

impl Loaded {
    /// Writes the network with its hosts, as a file of the layered format that reads back as the same.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let length = |link: LinkId| self.lengths.get(link.index()).copied().flatten();
        write_network(&self.topology, length, &self.cables, writer)?;
        if !self.host_links.is_empty() {
            writeln!(writer, "hosts:")?;
        }
        for link in &self.host_links {
            let to = quoted(self.topology.names().switch(link.switch))?;
            write!(writer, "  - {{name: {}, to: {to}", quoted(link.host.clone())?)?;
            if let Some(port) = &link.port {
                write!(writer, ", port: {}", quoted(port.clone())?)?;
            }
            if let Some(speed) = link.speed {
                write!(writer, ", speed: {speed}")?;
            }
            write_length(link.length, writer)?;
            writeln!(writer, "}}")?;
        }
        Ok(())
    }
}

fn write_length(length: Option<Distance>, writer: &mut impl Write) -> io::Result<()> {
    length.map_or(Ok(()), |length| write!(writer, ", length: {length}"))
}

fn write_network(
    topology: &Topology,
    length: impl Fn(LinkId) -> Option<Distance>,
    cables: &[NamedCable],
    writer: &mut impl Write,
) -> io::Result<()> {
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
    let mut cables = cables.iter().peekable();
    writeln!(writer, "links:")?;
    for id in (0..topology.link_count() as u32).map(LinkId) {
        let link = topology.link(id);
        let [from, to] = [link.lower, link.upper].map(|end| quoted(topology.names().switch(end)));
        let speed = BitRate(topology.capacity(id));
        let name = quoted(topology.names().link(id))?;
        write!(writer, "  - {{from: {}, to: {}, name: {name}, speed: {speed}", from?, to?)?;
        write_length(length(id), writer)?;
        if let Some(cable) = cables.next_if(|cable| cable.link == id) {
            for (key, end) in [("from_port", link.lower), ("to_port", link.upper)] {
                let port = cable.ends.iter().find(|(switch, _)| *switch == end).map(|(_, port)| port.clone());
                write!(writer, ", {key}: {}", quoted(port.unwrap_or_default())?)?;
            }
        }
        writeln!(writer, "}}")?;
    }
    Ok(())
}

/// A JSON string is a YAML string, whatever is in it.
fn quoted(text: String) -> io::Result<String> {
    Ok(serde_json::to_string(&text)?)
}
