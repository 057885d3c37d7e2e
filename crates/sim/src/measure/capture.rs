//! Captures a run as a file for packet analysers.

use super::capture_file::CaptureFile;
use super::sketch::Sketch;
use crate::link::{Frame, Observer, PortId as SimulatedPort, Received, Sent};
use crate::time::{Rate, Time};
use linkmend_pcapng::{Direction, Packet, PortId};
use linkmend_protocol::Format;
use std::io::{self, Write};

/// Settings of a capture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaptureOptions {
    /// The maximum number of bytes captured of each frame. 320 bytes are enough for headers and whole control frames.
    pub snap_bytes: u32,
    /// The maximum number of packets; the run continues without being captured.
    pub packets_max: u64,
    /// Header format of the link ends.
    pub format: Format,
    /// Rate of the ports.
    pub rate: Rate,
}

impl CaptureOptions {
    /// Captures 96 bytes of each frame, and a million packets.
    pub fn new(rate: Rate, format: Format) -> CaptureOptions {
        CaptureOptions { snap_bytes: 96, packets_max: 1_000_000, format, rate }
    }
}

/// The two ports of a link end.
#[derive(Debug, Clone, Copy)]
struct Ports {
    link: PortId,
    inner: PortId,
}

/// An [`Observer`] that writes a pcapng file with two interfaces for each link end. `end N link` shows frames when
/// their first bit leaves and when their last has arrived; `end N inner` shows them when they are delivered. A frame
/// that the link corrupts is marked where it leaves, and does not arrive. Simulated frames have no bytes, so the
/// capture contains the headers and control frames that a real link end would send, and represents each frame by an
/// IPv4 packet of an experimental protocol that contains its number and zeros. Headers of the transparent format are as
/// long as on a real link, 3 to 8 bytes; the simulator counts 8.
///
/// An observer does not see what fast-forward skips, so capture a full run.
#[derive(Debug)]
pub struct Capture<W> {
    file: CaptureFile<W>,
    ports: Vec<Ports>,
    sketch: Sketch,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of a link between two ends, 0 and 1.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn new(output: W, options: &CaptureOptions) -> io::Result<Capture<W>> {
        let mut file = CaptureFile::new(output, options.snap_bytes, options.packets_max)?;
        let mut port = |name: String| file.port(&name, options.rate);
        let ports = (0..2)
            .map(|end| {
                Ok(Ports { link: port(format!("end {end} link"))?, inner: port(format!("end {end} inner"))? })
            })
            .collect::<io::Result<_>>()?;
        Ok(Capture { file, ports, sketch: Sketch::new(options.format) })
    }

    /// The file, to be ended after the run.
    pub fn into_file(self) -> CaptureFile<W> {
        self.file
    }

    /// The ports of an end, unless the file is full.
    fn open_ports(&mut self, end: SimulatedPort) -> Option<Ports> {
        let ports = self.ports.get(end.index()).filter(|_| self.file.is_open()).copied()?;
        self.file.take();
        Some(ports)
    }
}

fn healthy(port: PortId, at: Time, direction: Direction, head: &[u8], bytes: u32) -> Packet<'_> {
    Packet { port, at_ticks: at.0, direction, head, bytes, corrupted: false, comment: None }
}

impl<W: Write> Observer for Capture<W> {
    fn sent(&mut self, end: SimulatedPort, at: Time, sent: &Sent<'_>) {
        let Some(Ports { link: port, .. }) = self.open_ports(end) else { return };
        let (head, bytes) = self.sketch.on_wire(end.index(), end.peer().index(), sent.frame, sent.control);
        let packet = Packet {
            port,
            at_ticks: at.0,
            direction: Direction::Outbound,
            head,
            bytes,
            corrupted: sent.corrupted,
            comment: sent.corrupted.then_some("corrupted on the link"),
        };
        self.file.write(&packet);
    }

    fn received(&mut self, end: SimulatedPort, at: Time, received: &Received<'_>) {
        let Some(Ports { link: port, .. }) = self.open_ports(end) else { return };
        let (head, bytes) =
            self.sketch.on_wire(end.peer().index(), end.index(), received.frame, received.control);
        let packet = healthy(port, at, Direction::Inbound, head, bytes);
        self.file.write(&packet);
    }

    fn delivered(&mut self, end: SimulatedPort, at: Time, frame: &Frame) {
        let Some(Ports { inner: port, .. }) = self.open_ports(end) else { return };
        let (head, bytes) = self.sketch.frame(end.peer().index(), end.index(), frame);
        let packet = healthy(port, at, Direction::Outbound, head, bytes);
        self.file.write(&packet);
    }
}
