//! Arguments of runs with flows about their hosts, links that fail, and switches that reorder.

use super::stress::usage;
use crate::failure::Result;
use clap::Args;
use linkmend_quantity::{ByteSize, Span};
use linkmend_sim::flows::{FailureSetup, HostSetup, SpreadingSetup};
use linkmend_sim::time::Time;

/// How hosts differ from those of the testbed.
#[derive(Debug, Args)]
pub(super) struct HostArgs {
    /// Begin flows of TCP with the handshake of their connection
    #[arg(long)]
    handshake: bool,
    /// Least retransmission timeout of TCP [default: 1ms]
    #[arg(long, value_name = "TIME")]
    rto_min: Option<Span>,
    /// Median of what a host adds to the time of a frame: stack, card, interrupts [default: 15.5us with TCP, 1.23us with RDMA]
    #[arg(long, value_name = "TIME")]
    host_latency: Option<Span>,
}

impl HostArgs {
    /// What these arguments ask for.
    pub(super) fn setup(&self) -> HostSetup {
        let HostArgs { handshake, rto_min, host_latency } = *self;
        HostSetup { handshake, rto_min: rto_min.map(time), latency: host_latency.map(time) }
    }
}

/// Links that fail.
#[derive(Debug, Args)]
pub(super) struct FailureArgs {
    /// Let links between switches fail, both directions at once, each time this has passed [default: none fails]
    #[arg(long, value_name = "TIME", help_heading = "Failures")]
    failure_every: Option<Span>,
    /// Failing links: those in the middle, of the links between switches
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        requires = "failure_every",
        help_heading = "Failures"
    )]
    failing_links: u32,
    /// From the failure until the switches know: f10 (30us), squelch (2.755us) or a time
    #[arg(
        long,
        default_value = "f10",
        value_name = "TIME",
        requires = "failure_every",
        help_heading = "Failures"
    )]
    detection: String,
    /// What gives frames another way then: sharebackup (the link itself comes back after 730us), local (a second link, at
    /// once), portland (the link comes back after 65ms), or a time after which it comes back
    #[arg(
        long,
        default_value = "sharebackup",
        value_name = "NAME|TIME",
        requires = "failure_every",
        help_heading = "Failures"
    )]
    reroute: String,
    /// How long a failed link that has a backup (local) stays down
    #[arg(
        long,
        default_value = "10ms",
        value_name = "TIME",
        requires = "failure_every",
        help_heading = "Failures"
    )]
    down_for: Span,
    /// What switches do about frames that a failed link lost or cannot take: none; sqr, which keeps a copy of each for as
    /// long as a failure may be unknown; or acknowledged, which keeps each until the other end has it
    #[arg(
        long,
        default_value = "none",
        value_name = "NAME",
        requires = "failure_every",
        help_heading = "Failures"
    )]
    hand_off: String,
    /// Most that a switch keeps for one port with SQR
    #[arg(
        long,
        default_value = "22MB",
        value_name = "SIZE",
        requires = "failure_every",
        help_heading = "Failures"
    )]
    sqr_buffer: ByteSize,
    /// How much longer than detection takes copies are kept with SQR [default: as long as a frame is on its way; the paper's: 0s]
    #[arg(long, value_name = "TIME", requires = "failure_every", help_heading = "Failures")]
    sqr_margin: Option<Span>,
    /// Keep all copies of SQR in the queue of the port itself, instead of that of the least loaded one
    #[arg(long, requires = "failure_every", help_heading = "Failures")]
    sqr_one_queue: bool,
}

impl FailureArgs {
    /// What these arguments ask for.
    pub(super) fn setup(&self) -> Result<FailureSetup> {
        Ok(FailureSetup {
            every: self.failure_every.map(time),
            links: self.failing_links,
            down_for: time(self.down_for),
            detection: self.detection.parse().map_err(usage)?,
            reroute: self.reroute.parse().map_err(usage)?,
            hand_off: self.hand_off.parse().map_err(usage)?,
            sqr_buffer: self.sqr_buffer,
            sqr_margin: self.sqr_margin.map(time),
            sqr_one_queue: self.sqr_one_queue,
        })
    }
}

/// Switches that may reorder.
#[derive(Debug, Args)]
pub(super) struct SpreadingArgs {
    /// Queues in parallel before the middle link, served in turns (a load-balanced switch)
    #[arg(long, value_name = "N", help_heading = "Reordering")]
    parallel_queues: Option<u32>,
    /// Where frames go among them: uniform (each anywhere, which reorders) or hashed (by flow, which does not)
    #[arg(
        long,
        default_value = "uniform",
        value_name = "NAME",
        requires = "parallel_queues",
        help_heading = "Reordering"
    )]
    placement: String,
    /// How much longer frames take in the other direction of the middle link
    #[arg(long, default_value = "0s", value_name = "TIME", help_heading = "Reordering")]
    reverse_delay: Span,
    /// How switches choose among equal paths: static, flow-hash or spray (each frame anywhere)
    #[arg(long, default_value = "flow-hash", value_name = "NAME", help_heading = "Reordering")]
    balance: String,
}

impl SpreadingArgs {
    /// What these arguments ask for.
    pub(super) fn setup(&self) -> Result<SpreadingSetup> {
        Ok(SpreadingSetup {
            queues: self.parallel_queues,
            placement: self.placement.parse().map_err(usage)?,
            reverse_delay: time(self.reverse_delay),
            balance: self.balance.parse().map_err(usage)?,
        })
    }
}

/// A time of the command line in the simulator's.
pub(super) fn time(span: Span) -> Time {
    Time::from_nanos(u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX))
}
