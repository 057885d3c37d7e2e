//! How long packets are on the wire.

use linkmend_diagnose::ParameterError;

/// Ethernet header and frame check sequence, IPv4, UDP, base transport header and invariant CRC (section 3.2).
const HEADERS_BYTES: u32 = 62;
/// An ACK or a NAK as the paper counts it. It is 66 bytes long by the specification (62 and 4 of the AETH).
const NAK_BYTES: u32 = 68;
/// A dummy in the paper: headers alone.
const DUMMY_BYTES: u32 = 62;
/// Payload of full packets in the paper's figures.
const MTU_BYTES: u32 = 1_024;
/// Frames are no longer than this.
const FRAME_BYTES_MAX: u32 = 9_216;

/// Lengths of frames in bytes, frame check sequences included. The default is the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Payload of a full packet.
    pub mtu: u32,
    /// What a packet has besides its payload.
    pub headers: u32,
    /// An ACK or a NAK.
    pub nak: u32,
    /// A dummy header.
    pub dummy: u32,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { mtu: MTU_BYTES, headers: HEADERS_BYTES, nak: NAK_BYTES, dummy: DUMMY_BYTES }
    }
}

impl Sizes {
    /// A full packet.
    pub fn packet(&self) -> u32 {
        self.mtu + self.headers
    }

    /// # Errors
    /// The first length that no frame has.
    pub fn validate(&self) -> Result<(), ParameterError> {
        for (name, value) in [
            ("mtu", self.mtu),
            ("headers", self.headers),
            ("nak-bytes", self.nak),
            ("dummy-bytes", self.dummy),
        ] {
            if value == 0 || value > FRAME_BYTES_MAX {
                return Err(ParameterError::new(name, value, "must be 1 to 9216 bytes"));
            }
        }
        if self.packet() > FRAME_BYTES_MAX {
            return Err(ParameterError::new(
                "mtu",
                self.mtu,
                "must leave room for the headers in 9216 bytes",
            ));
        }
        Ok(())
    }
}
