//! A file for packet analysers, with a limit of packets.

use crate::time::Rate;
use linkmend_pcapng::{Packet, PcapngWriter, PortId, PortOptions};
use std::io::{self, Write};

/// 10^-12 s, the simulator's unit of time.
const PICOSECONDS: u8 = 12;

/// A pcapng file that a run writes; when it is full, the run continues without it.
#[derive(Debug)]
pub struct CaptureFile<W> {
    writer: PcapngWriter<W>,
    packets_left: u64,
    /// The first error, which [`CaptureFile::finish`] returns.
    error: Option<io::Error>,
}

impl<W: Write> CaptureFile<W> {
    /// Begins a file of so many packets with at most so many bytes each.
    pub(crate) fn new(output: W, snap_bytes: u32, packets_max: u64) -> io::Result<CaptureFile<W>> {
        let writer = PcapngWriter::new(output, "Linkmend simulator", snap_bytes)?;
        Ok(CaptureFile { writer, packets_left: packets_max, error: None })
    }

    /// Adds a port.
    pub(crate) fn port(&mut self, name: &str, rate: Rate) -> io::Result<PortId> {
        let speed = Some(rate.bits_per_second());
        self.writer.add_port(&PortOptions { name, tick_exponent: PICOSECONDS, speed })
    }

    /// Ends the file and returns its output.
    ///
    /// # Errors
    /// The first that occurred while capturing; what was captured before it is in the file.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }

    /// Whether the limit of packets is reached; later ones may be missing.
    pub fn is_full(&self) -> bool {
        self.packets_left == 0
    }

    /// Whether anything is written any more.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_full() && self.error.is_none()
    }

    /// Counts a packet that will be written.
    pub(crate) fn take(&mut self) {
        self.packets_left -= 1;
    }

    /// Writes a packet that was counted, unless there was an error.
    pub(crate) fn write(&mut self, packet: &Packet) {
        if self.error.is_none() {
            self.error = self.writer.write(packet).err();
        }
    }
}
