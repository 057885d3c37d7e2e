//! The hardware that is assumed for a link's switches, the reason, and whether any of it is too slow for the link.

use super::{Buffering, LinkConfig};
use crate::link::WIRE_OVERHEAD_BYTES;
use crate::time::{Rate, Time};
use linkmend_protocol::{LinkConditions, Shortfall, Ticks};
use linkmend_quantity::{BitRate, ByteSize};
use serde::Serialize;

/// The fastest port of a Tofino.
pub(super) const TOFINO_PORT_MAX: Rate = match Rate::from_bits_per_second(100_000_000_000) {
    Some(rate) => rate,
    None => panic!("a byte lasts 80 ps"),
};

/// Buffer of a switch that can access its frames directly, in bytes.
pub(super) const DIRECT_BUFFER_BYTES: u64 = 16 << 20;

/// How the switches of a link buffer frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Hardware {
    /// `recirculating`, `direct`, or `none` on a link without protection.
    pub buffering: &'static str,
    /// Rate of the recirculation ports in Gbit/s, if the link uses any.
    pub recirculation_gbps: Option<f64>,
    /// The hardware that buffers this way.
    pub reason: String,
}

impl LinkConfig {
    /// The assumed hardware of the switches.
    pub fn hardware(&self) -> Hardware {
        let beyond = self.rate > TOFINO_PORT_MAX;
        let (buffering, reason) = match self.buffering {
            _ if self.protection.is_none() => ("none", "an unprotected link buffers nothing".to_owned()),
            Buffering::Direct if beyond => (
                "direct",
                "the Tofino has no ports beyond 100G, and the Tofino2 holds frames in its queues".to_owned(),
            ),
            Buffering::Direct => ("direct", "as in software or on a Tofino2".to_owned()),
            Buffering::Recirculating if beyond => {
                ("recirculating", "as a Tofino would if it had ports of this rate".to_owned())
            }
            Buffering::Recirculating => ("recirculating", "as on the Tofino".to_owned()),
        };
        let port = self.switch.recirculation_rate.bits_per_second() as f64 / 1e9;
        Hardware { buffering, recirculation_gbps: self.recirculates().then_some(port), reason }
    }

    /// Warnings about switches that prevent the link from reaching its rate under any conditions.
    pub fn warnings(&self) -> Vec<String> {
        self.too_slow_a_port(1, self.rate.bits_per_second()).into_iter().collect()
    }

    /// Whether links of this kind that together send this many bits per second exceed the capacity of the recirculation
    /// port that they share: every protected frame passes through it at least once.
    pub(crate) fn too_slow_a_port(&self, links: usize, bits_per_second: u64) -> Option<String> {
        let port = self.switch.recirculation_rate.bits_per_second();
        if !self.recirculates() || port >= bits_per_second {
            return None;
        }
        let whose = match links {
            1 => "the link sends".to_owned(),
            _ => format!("the {links} links that share it send"),
        };
        Some(format!(
            "the recirculation port is the bottleneck: {whose} up to {}, and every protected frame passes the port at least \
             once, but it carries only {}, {:.0} % of that; frames wait for it, and copies that wait longer than the recovery timeout arrive too late; raise `recirculation-speed`, or use direct `buffering`",
            BitRate(bits_per_second),
            BitRate(port),
            100.0 * port as f64 / bits_per_second as f64
        ))
    }

    /// Which of the protocol's parameters are too small for a link of this rate, length and loss.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let (Some(protocol), Some(protection)) = (self.protocol_config(), self.protection) else {
            return Vec::new();
        };
        let wire_bytes = u64::from(self.frame_bytes + self.header_bytes()) + WIRE_OVERHEAD_BYTES;
        let frame_time = self.rate.time_of(wire_bytes);
        let link = LinkConditions {
            round_trip: self.round_trip(),
            loss: self.corruption.frame_loss(self.frame_bytes),
            copies: self.copies().unwrap_or(1),
            frame_bytes: self.frame_bytes,
            frame_time: Ticks(frame_time.0),
            mode: protection.mode,
        };
        let buffer = if self.recirculates() { "`recirculation-buffer`" } else { "the buffer" };
        let text = |shortfall: Shortfall| {
            let Shortfall { field, value, needed, consequence } = shortfall;
            let bytes = |bytes: u64| ByteSize(bytes).to_string();
            let time = |ticks: u64| format!("{} us", Time(ticks).as_micros());
            let (name, value, needed) = match field {
                "window_frames" => ("`window`", format!("{value} frames"), needed.to_string()),
                "recovery_timeout" => ("`recovery-timeout`", time(value), time(needed)),
                // Without backpressure there is no pause, so nothing can overflow after one.
                "rx_buffer_bytes" if protection.backpressure.is_none() => return None,
                "window_bytes" | "rx_buffer_bytes" => (buffer, bytes(value), bytes(needed)),
                _ => return None,
            };
            Some(format!(
                "{name} is {value}, and a link of this rate and length needs {needed}: {consequence}"
            ))
        };
        protocol.shortfalls(&link).filter_map(text).collect()
    }
}
