//! Writes pcapng files (draft-ietf-opsawg-pcapng), the capture format of packet analysers.
//!
//! The few blocks that captures need are written here because the simulator's times are in picoseconds (at 800 Gbit/s a
//! short frame lasts 0.64 ns), and the libraries keep times in nanoseconds. In the tests of the simulator and the
//! daemon, a library reads the files back.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINK_TYPE_ETHERNET: u16 = 1;

/// Options (sections 3.5, 4.2 and 4.3 of the draft).
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_SPEED: u16 = 8;
const TIME_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;

/// Link-layer error in the packet flags: a bad frame check sequence.
const CRC_ERROR: u32 = 1 << 24;

/// A port of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortId(u32);

/// The direction of a packet at its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Into the device.
    Inbound,
    /// Out of it.
    Outbound,
}

/// What is known about a port. The times of its packets are in ticks of 10^-`tick_exponent` s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortOptions<'a> {
    pub name: &'a str,
    /// 9 for nanoseconds, 12 for picoseconds; less than 128.
    pub tick_exponent: u8,
    /// In bits per second, if known.
    pub speed: Option<u64>,
}

/// A packet to be written.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Where it was seen.
    pub port: PortId,
    /// When, in ticks of its port, since 1970 or since a simulation began.
    pub at_ticks: u64,
    /// Which way it went.
    pub direction: Direction,
    /// Its first bytes, from the destination address on; what exceeds the snap length is not written.
    pub head: &'a [u8],
    /// Its whole length in bytes, without the frame check sequence.
    pub bytes: u32,
    /// Whether the link corrupts it. Analysers show it as a bad frame check sequence.
    pub corrupted: bool,
    /// A note for whoever reads the capture.
    pub comment: Option<&'a str>,
}

/// Writes one section of a pcapng file, always in little-endian order so that the same run gives the same bytes.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    output: W,
    ports: u32,
    snap_bytes: u32,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins the file and names `application` as its writer. At most `snap_bytes` of each packet are written.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn new(output: W, application: &str, snap_bytes: u32) -> io::Result<Self> {
        let mut writer = PcapngWriter { output, ports: 0, snap_bytes, block: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0; the length of the section is unknown.
        writer.put(&1u16.to_le_bytes());
        writer.put(&0u16.to_le_bytes());
        writer.put(&u64::MAX.to_le_bytes());
        writer.option(APPLICATION, application.as_bytes());
        writer.end_options();
        writer.end()?;
        Ok(writer)
    }

    /// Adds a port.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add_port(&mut self, port: &PortOptions) -> io::Result<PortId> {
        self.begin(INTERFACE_DESCRIPTION);
        self.put(&LINK_TYPE_ETHERNET.to_le_bytes());
        self.put(&0u16.to_le_bytes());
        self.put(&self.snap_bytes.to_le_bytes());
        self.option(INTERFACE_NAME, port.name.as_bytes());
        if let Some(speed) = port.speed {
            self.option(INTERFACE_SPEED, &speed.to_le_bytes());
        }
        self.option(TIME_RESOLUTION, &[port.tick_exponent]);
        self.end_options();
        self.end()?;
        self.ports += 1;
        Ok(PortId(self.ports - 1))
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, packet: &Packet) -> io::Result<()> {
        let head = &packet.head[..packet.head.len().min(self.snap_bytes as usize).min(packet.bytes as usize)];
        self.begin(ENHANCED_PACKET);
        self.put(&packet.port.0.to_le_bytes());
        self.put(&((packet.at_ticks >> 32) as u32).to_le_bytes());
        self.put(&(packet.at_ticks as u32).to_le_bytes());
        self.put(&(head.len() as u32).to_le_bytes());
        self.put(&packet.bytes.to_le_bytes());
        self.put(head);
        self.pad();
        let direction = match packet.direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        let error = if packet.corrupted { CRC_ERROR } else { 0 };
        self.option(PACKET_FLAGS, &u32::to_le_bytes(direction | error));
        if let Some(comment) = packet.comment {
            self.option(COMMENT, truncated(comment).as_bytes());
        }
        self.end_options();
        self.end()
    }

    /// Flushes the output, so that a reader sees what has been written so far.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }

    /// A block is its type, its length, its body, and its length again.
    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.put(&block_type.to_le_bytes());
        self.put(&[0; 4]);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.put(&length);
        self.output.write_all(&self.block)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }

    fn end_options(&mut self) {
        self.put(&[0; 4]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// Every field begins at a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}

/// The length of an option has 16 bits; a longer comment is cut at the end of a character.
fn truncated(comment: &str) -> &str {
    let mut end = comment.len().min(usize::from(u16::MAX));
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    &comment[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_comments_end_at_a_character() {
        let long = "é".repeat(40_000);
        assert_eq!(truncated(&long).len(), 65_534);
        assert_eq!(truncated("short"), "short");
    }
}
