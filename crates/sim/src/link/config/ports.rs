//! The ports of a link, and the parameters of the protocol at its ends.

use super::hardware::DIRECT_BUFFER_BYTES;
use super::{Buffering, Copies, LinkConfig, Profile, Protection};
use crate::corruption::Corruption;
use crate::link::scheme::{AnyConfig, LinkGuardianConfig};
use crate::link::{PortConfig, Scheme};
use crate::time::{Rate, TICK, Time};
use linkmend_protocol::{Config, FallbackConfig, Format, Ticks, copies_for};

/// A day, which is longer than any simulated run: for timers that must never fire.
const NEVER: Ticks = TICK.secs(86_400);
/// How often missing frames are reported again if feedback frames can be lost.
pub(crate) const REPEAT: Ticks = TICK.micros(10);
/// Rounds of retransmission with a second link, as in the daemon, so that no frame is given up because a link fails.
const ROUNDS_OF_TWO: u8 = 32;

impl LinkConfig {
    /// The two ports of the link: the one that sends and is protected, and the one that receives. If buffered frames
    /// recirculate, they do so through the recirculation ports `loops`.
    pub fn ports(&self, loops: [usize; 2]) -> [PortConfig; 2] {
        self.ports_with(self.schemes(loops))
    }

    /// The schemes of these ports.
    pub(crate) fn schemes<P>(&self, loops: [usize; 2]) -> [AnyConfig<P>; 2] {
        let timer_ns = if self.recirculates() { self.switch.timer_interval_ns } else { 0 };
        let scheme = |protect, recirculation| {
            let protected = |protocol| {
                AnyConfig::LinkGuardian(LinkGuardianConfig {
                    protocol,
                    protect,
                    begins_dormant: false,
                    recirculation: self.recirculates().then_some(recirculation),
                    timer_interval: Time::from_nanos(timer_ns),
                })
            };
            self.protocol_config().map_or(AnyConfig::Unprotected(()), protected)
        };
        let protect = self.protected_copies();
        [scheme(protect, loops[0]), scheme(None, loops[1])]
    }

    /// The same two ports with other schemes, instead of the protection in the description.
    pub fn ports_with<S: Scheme>(&self, schemes: [S::Config; 2]) -> [PortConfig<S>; 2] {
        let port = |corruption: &Corruption, scheme: S::Config| PortConfig {
            rate: self.rate,
            wire_latency: self.wire_latency(),
            ingress_latency: self.ingress_latency(),
            pipeline_latency: Time::from_nanos(self.switch.pipeline_latency_ns),
            corruption: corruption.clone(),
            copy_corruption: None,
            frame_bytes: self.frame_bytes,
            scheme,
            queue: self.queue,
        };
        let [sender, receiver] = schemes;
        [port(&self.corruption, sender), port(&self.reverse_corruption, receiver)]
    }

    /// Rate and loop latency of a recirculation port.
    pub fn recirculation_port(&self) -> (Rate, Time) {
        (self.switch.recirculation_rate, Time::from_nanos(self.switch.loop_latency_ns))
    }

    /// Time from the queue to the peer's port, without serialisation; light takes 5 ns per metre of fibre.
    pub(crate) fn wire_latency(&self) -> Time {
        Time::from_nanos(self.switch.egress_latency_ns + 5 * u64::from(self.distance_m))
    }

    /// Time from there to the peer's ingress decision.
    pub(crate) fn ingress_latency(&self) -> Time {
        Time::from_nanos(self.switch.ingress_latency_ns)
    }

    /// Number of copies of a lost frame, if the link is protected.
    pub fn copies(&self) -> Option<u8> {
        self.protection.map(|protection| match protection.copies {
            Copies::Fixed(copies) => copies,
            Copies::Target { loss } => copies_for(self.corruption.frame_loss(self.frame_bytes), loss),
        })
    }

    /// How the sending link end chooses copies. The switch is told the loss rate. The daemon measures it, starting from
    /// what corruptd has measured.
    fn protected_copies(&self) -> Option<linkmend_protocol::Copies> {
        match (self.profile, self.protection?.copies) {
            (Profile::Daemon(_), Copies::Target { loss }) => Some(linkmend_protocol::Copies::Target {
                target_loss: loss,
                initial_loss: self.corruption.frame_loss(self.frame_bytes),
            }),
            _ => self.copies().map(linkmend_protocol::Copies::Fixed),
        }
    }

    /// The link ends' parameters. Their clock ticks picoseconds here.
    pub fn protocol_config(&self) -> Option<Config> {
        let protection = self.protection?;
        match self.profile {
            Profile::Tofino => Some(self.tofino_config(&protection)),
            Profile::Daemon(overrides) => Some(self.daemon_config(overrides)),
        }
    }

    /// The same for ends that have a second link: in a format that can change paths, and without a timeout after which
    /// the receiver gives up. The daemon's parameters already meet this.
    pub(crate) fn protocol_config_of_two(&self) -> Option<Config> {
        let config = self.protocol_config()?;
        if matches!(self.profile, Profile::Daemon(_)) {
            return Some(config);
        }
        Some(Config {
            format: Format::Transparent,
            max_rounds: ROUNDS_OF_TWO,
            give_up_by_clock: false,
            // Even if the link corrupts nothing, the frames on it are lost when it fails.
            ack_interval: REPEAT,
            keepalive: REPEAT * 10,
            ..config
        })
    }

    fn tofino_config(&self, protection: &Protection) -> Config {
        let buffer_bytes = match self.buffering {
            Buffering::Recirculating => self.switch.recirculation_bytes,
            Buffering::Direct => DIRECT_BUFFER_BYTES,
        };
        // Without backpressure, the buffer never reaches the pause threshold.
        let (pause_bytes, resume_bytes) = match protection.backpressure {
            Some(backpressure) => (backpressure.pause_bytes, backpressure.resume_bytes),
            None => (buffer_bytes, buffer_bytes - 1),
        };
        let rx_buffer_bytes = match protection.backpressure {
            None if buffer_bytes.is_multiple_of(u64::from(self.frame_bytes)) => buffer_bytes + 1,
            _ => buffer_bytes,
        };
        let reverse_is_clean = self.reverse_corruption == Corruption::None;
        Config {
            format: Format::Compact,
            window_frames: protection.window_frames,
            window_bytes: buffer_bytes,
            rx_buffer_bytes,
            pause_bytes: if protection.backpressure.is_none() { rx_buffer_bytes } else { pause_bytes },
            resume_bytes,
            recovery_timeout: TICK.nanos(protection.recovery_timeout_ns),
            max_rounds: protection.max_rounds,
            give_up_by_clock: true,
            ack_gap: Ticks::ZERO,
            ack_interval: if reverse_is_clean { NEVER } else { REPEAT },
            explicit_acks: false,
            dummy_delay: if protection.dummy_copies == 0 { NEVER } else { Ticks::ZERO },
            dummy_copies: protection.dummy_copies.max(1),
            dummy_interval_min: REPEAT,
            dummy_interval_max: NEVER,
            keepalive: if reverse_is_clean { NEVER } else { REPEAT * 10 },
            peer_timeout: NEVER * 4,
            session_expiry: NEVER * 4,
            handshake_min: REPEAT * 10,
            handshake_max: REPEAT * 100,
            hello_interval: NEVER,
            loss_window_frames: 100_000,
            fallback: FallbackConfig { enabled: false, ..FallbackConfig::new(TICK) },
        }
    }
}
