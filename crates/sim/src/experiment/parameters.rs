//! The parameters of a stress run as people write them, on the command line and in experiment files.

use super::names::{BufferingName, ProtectionName, TransceiverName};
use crate::link::config::ProfileName;
use linkmend_quantity::{BitRate, ByteSize, Count, Decibels, Distance, LossRate, Span};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The parameters of a stress run. What is not set is the paper's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StressParameters {
    /// What several parameters together are called, in experiment files; it decides nothing.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Rate of the link, like 25G; a byte must last a whole number of picoseconds [default: 100G]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Link and traffic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<BitRate>,
    /// Frames to send at line rate, like 100M [default: 10M]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COUNT", help_heading = "Link and traffic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Count>,
    /// Length of each, with its frame check sequence and without Linkmend's header, 64B to 9216B [default: 1518B]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", help_heading = "Link and traffic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<ByteSize>,
    /// Length of the fibre, like 2km; 5 ns each metre [default: 2m]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LENGTH", help_heading = "Link and traffic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
    /// Seed of everything random; the same seed gives the same results on every machine [default: 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Link and traffic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Simulate every event, even in the steady state between losses; slower, with the same results
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Link and traffic"))]
    #[serde(skip_serializing_if = "is_false")]
    pub full: bool,

    /// Share of frames the link corrupts, each independently or in bursts [default: 1e-3]
    #[cfg_attr(feature = "clap", arg(
        long,
        value_name = "RATE",
        help_heading = "Corruption",
        conflicts_with_all = ["bit_error_rate", "transceiver", "attenuation", "losses"]
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossRate>,
    /// Corrupt in bursts of this many frames on average (Gilbert-Elliott); --loss stays the share in the long run
    #[cfg_attr(feature = "clap", arg(
        long,
        value_name = "FRAMES",
        help_heading = "Corruption",
        conflicts_with_all = ["bit_error_rate", "transceiver", "attenuation", "losses"]
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// Corrupt each bit independently, so that longer frames suffer more, like 1e-9
    #[cfg_attr(feature = "clap", arg(
        long,
        value_name = "RATE",
        help_heading = "Corruption",
        conflicts_with_all = ["transceiver", "attenuation", "losses"]
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<LossRate>,
    /// Corrupt as this transceiver does on an attenuated fibre (Figure 1)
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "NAME",
            help_heading = "Corruption",
            requires = "attenuation",
            conflicts_with = "losses"
        )
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transceiver: Option<TransceiverName>,
    /// Attenuation of that fibre beyond what the standard allows, like 3.5dB
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "DECIBELS", help_heading = "Corruption", requires = "transceiver")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attenuation: Option<Decibels>,
    /// Corrupt exactly the frames whose numbers this file lists in ascending order, one a line; counted from 0 over all
    /// frames sent in that direction, on a protected link from the handshake on, copies and dummies included
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Corruption"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<PathBuf>,
    /// Corrupt retransmitted copies with this probability instead, and correct the effective loss for it (importance
    /// sampling, for losses too rare to count); everything else then describes a link that loses more copies
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Corruption"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_loss: Option<LossRate>,
    /// Share of frames corrupted in the other direction, where ACKs and loss notifications go [default: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Corruption"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<LossRate>,

    /// How frames are protected [default: ordered]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ProtectionName>,
    /// Parameters of the link ends; the defaults below are those of tofino [default: tofino]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// Always retransmit this many copies of a lost frame (1 to 16), instead of as many as --target needs
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", help_heading = "Protection", conflicts_with = "target")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<u8>,
    /// Effective loss rate to stay below, which decides the copies (Equation 2) [default: 1e-8]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<LossRate>,
    /// Give up a frame that has been missing for this long (ackNoTimeout) [default: 7.5us, above 50G 7us]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_timeout: Option<Span>,
    /// Bytes in the Rx buffer at which the sender is paused; at most --recirculation-buffer, or 16MiB with --buffering
    /// direct [default: --resume-threshold and 2 frames]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SIZE", help_heading = "Protection", conflicts_with = "no_backpressure")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_threshold: Option<ByteSize>,
    /// Bytes in the Rx buffer at which the sender may resume; below --pause-threshold [default: 40kB, above 50G 37kB]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SIZE", help_heading = "Protection", conflicts_with = "no_backpressure")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_threshold: Option<ByteSize>,
    /// Never pause the sender (Figure 9b)
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Protection"))]
    #[serde(skip_serializing_if = "is_false")]
    pub no_backpressure: bool,
    /// Dummy frames sent each time the queue runs empty, so that a lost tail is noticed; 0 for none [default: 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dummy_copies: Option<u8>,
    /// Times a loss may be retransmitted; the paper's protocol has 1 [default: 1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u8>,
    /// Maximum number of outstanding frames: a power of two from 16 to 32768, half the sequence space [default: 1024]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FRAMES", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,

    /// How buffered frames can be reached [default: what switches of that speed have: recirculating up to 100G, as on the
    /// Tofino, and direct beyond, as on the Tofino2; recirculating if anything is said of a recirculation port]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffering: Option<BufferingName>,
    /// Time from the queue to the wire, with either buffering [default: 260ns, calibrated]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_latency: Option<Span>,
    /// Time from the wire to the forwarding decision, with either buffering [default: 850ns, calibrated]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress_latency: Option<Span>,
    /// Latency of one pass through the recirculation port, without serialisation; this and the options below have no effect
    /// with --buffering direct [default: 2.35us, calibrated]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_latency: Option<Span>,
    /// Rate of the recirculation port, at which the Rx buffer drains [default: 100G, beyond that the link's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recirculation_speed: Option<BitRate>,
    /// Capacity of each recirculation buffer [default: 200kB]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recirculation_buffer: Option<ByteSize>,
    /// Packets per second that a pipe can process, of which recirculation takes a share [default: 1220M]
    #[cfg_attr(feature = "clap", arg(long, value_name = "COUNT", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_capacity: Option<Count>,
    /// Time between the packets that keep time in the receiver's pipe, for which timeouts, pauses and resumes wait; 0ns
    /// for no wait [default: 100ns]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", help_heading = "Switches"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_interval: Option<Span>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}
