//! A laboratory with two links, and what survives their cuts.

use std::time::Duration;

use linkmend_control::LinkReport;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_protocol::Mode;

use super::usual::{self, Usual};
use super::{FailoverError, FailoverOptions, ReportedChange, Survivor};
use crate::delay_line::DelayLines;
use crate::link_ends::LinkEnds;
use crate::stop::RunControl;
use crate::tcp::{self, TrafficPath};
use crate::topology::{Lab, LabOptions};

/// How long the first connection may take.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);
/// Socket buffers of the hosts. The window that they allow fits the queue in front of the link, so that nothing is lost by
/// congestion and every retransmission is due to a cut.
const TCP_BUFFER_BYTES: u32 = 1 << 20;

/// Everything that runs. Dropping it stops it all.
pub(super) struct Stage {
    ends: Option<LinkEnds>,
    usual: Option<(Usual, String)>,
    // In the order in which they are taken down.
    _lines: Option<DelayLines>,
    pub(super) lab: Lab,
}

impl Stage {
    pub(super) fn set(
        options: &FailoverOptions,
        survivor: Survivor,
        control: &RunControl,
    ) -> Result<Stage, FailoverError> {
        let lab = Lab::up(LabOptions {
            prefix: options.prefix.clone(),
            impairments: options.impairments.clone(),
            backup: Some(options.backup.clone()),
            rto_min_ms: None,
            tcp_buffer_max_bytes: TCP_BUFFER_BYTES,
            remove_on_drop: true,
            ..LabOptions::default()
        })?;
        let lines = DelayLines::start(&lab)?;
        let (ends, usual) = match survivor {
            Survivor::Linkmend => {
                let ports = if options.packet_ports { PortChoice::Packet } else { PortChoice::Auto };
                let ends = LinkEnds::start_with(&lab, |settings| {
                    settings.ports = ports;
                    settings.seed = Some(options.seed ^ u64::from(settings.name.ends_with('2')));
                    settings.backup.iter_mut().for_each(|backup| backup.link_use = options.link_use);
                })?;
                (Some(ends), None)
            }
            Survivor::Kernel => (None, Some(usual::set_up(&lab)?)),
        };
        tcp::wait_until_reachable(&TrafficPath::ipv4(&lab), REACH_TIMEOUT, &control.stop)?;
        if let Some(ends) = &ends {
            ends.protect(Some(ProtectionSettings::new(Mode::Ordered)))?;
            ends.protect_reverse(Some(ProtectionSettings::new(Mode::Ordered)))?;
        }
        Ok(Stage { ends, usual, _lines: lines, lab })
    }

    /// The kernel's answer and why it was chosen, if that is what survives.
    pub(super) fn usual(&self) -> Option<(Usual, &str)> {
        self.usual.as_ref().map(|(usual, reason)| (*usual, reason.as_str()))
    }

    fn reports(&self) -> Result<Option<(LinkReport, LinkReport)>, FailoverError> {
        Ok(self.ends.as_ref().map(LinkEnds::report).transpose()?)
    }

    /// What the link ends say of a change within the last `within`.
    pub(super) fn reported(&self, within: Duration) -> Result<Option<ReportedChange>, FailoverError> {
        let Some((left, right)) = self.reports()? else { return Ok(None) };
        let last = |report: LinkReport| report.failover?.last;
        let Some((left, right)) = last(left).zip(last(right)) else { return Ok(None) };
        Ok((left.ago_s <= within.as_secs_f64()).then(|| ReportedChange {
            reason: left.reason.to_string(),
            resent_frames: left.resent_frames,
            gap_ns: right.gap_ns,
        }))
    }

    /// How often the kernel took over from a link end.
    pub(super) fn stalls(&self) -> Result<u64, FailoverError> {
        let sum = |(left, right): (LinkReport, LinkReport)| left.counters.stalls + right.counters.stalls;
        Ok(self.reports()?.map_or(0, sum))
    }
}
