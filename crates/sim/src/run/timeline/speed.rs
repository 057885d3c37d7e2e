//! The effective link speed, measured separately by line-rate traffic over the link (section 4.2).

use super::config::TimelineConfig;
use super::course::{Course, Ended};
use crate::link::config::ParameterError;
use crate::link::{FlowId, Frame, Observer, PortId, WIRE_OVERHEAD_BYTES};
use crate::network::{Network, Traffic};
use crate::run::flows::FlowSchemes;
use crate::time::Time;
use linkmend_protocol::Mode;

/// Counts what the link delivers.
#[derive(Debug)]
struct Delivered {
    port: PortId,
    /// Bytes with preambles and gaps.
    bytes: u64,
}

impl Observer<FlowSchemes> for Delivered {
    fn delivered(&mut self, port: PortId, _: Time, frame: &Frame) {
        if port == self.port {
            self.bytes += u64::from(frame.bytes) + WIRE_OVERHEAD_BYTES;
        }
    }
}

/// What the link delivers in each sample, Gbit/s; `None` if `wanted` ended it.
pub(super) fn effective_link_speed(
    config: &TimelineConfig,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<f64>>, ParameterError> {
    let port = config.port();
    let mut plan = config.flows.plan_dormant()?;
    let traffic = Traffic::LineRate {
        frames: u64::MAX,
        bytes: config.flows.link.frame_bytes as u16,
        mode: config.flows.traffic.first().map_or(Mode::Ordered, |traffic| traffic.hosts.mode),
    };
    let flow: FlowId = plan.traffic(port, plan.node_of(port.peer()), traffic);
    debug_assert_eq!(flow, FlowId(0));
    let observer = Delivered { port: port.peer(), bytes: 0 };
    let mut network: Network<Delivered, FlowSchemes> = plan.build(config.flows.seed, observer)?;
    let Some(course) = Course::begin(config, &mut network, wanted)? else { return Ok(None) };
    network.start_traffic();
    let mut before = 0;
    let mut speeds = Vec::with_capacity(config.samples() as usize);
    let ended = course.run(config, &mut network, wanted, &|_| (), &mut |network, _, length| {
        let bytes = network.observer.bytes;
        speeds.push((bytes - before) as f64 * 8e3 / length.0 as f64);
        before = bytes;
    })?;
    Ok(match ended {
        Ended::Stopped => None,
        Ended::Done { .. } => Some(speeds),
    })
}
