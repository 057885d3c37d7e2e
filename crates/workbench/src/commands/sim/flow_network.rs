//! Arguments of runs with flows about their hosts, links that fail, and switches that reorder.

use super::stress::usage;
use clap::Args;
use linkmend::failure::Result;
use linkmend_quantity::{ByteSize, Span};
use linkmend_sim::flows::{FailureSetup, HostSetup, SpreadingSetup};
use linkmend_sim::stress::ParameterError;
use linkmend_sim::time::Time;
use std::str::FromStr;

/// How hosts differ from those of the testbed.
#[derive(Debug, Args)]
pub(super) struct HostArgs {
    /// Begin TCP flows with the handshake of their connection
    #[arg(long)]
    handshake: bool,
    /// Minimum retransmission timeout of TCP [default: 1ms]
    #[arg(long, value_name = "TIME")]
    rto_min: Option<Span>,
    /// Median latency that a host adds to a frame: stack, NIC, interrupts [default: 15.5us with TCP, 1.23us with RDMA]
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
    /// Interval at which links between switches fail, both directions together [default: none fails]
    #[arg(long, value_name = "TIME", help_heading = "Failures")]
    failure_every: Option<Span>,
    /// Failing links: those in the middle, of the links between switches [default: 1]
    #[arg(long, value_name = "N", requires = "failure_every", help_heading = "Failures")]
    failing_links: Option<u32>,
    /// Time until switches detect a failure: f10 (30us), squelch (2.755us) or a time [default: f10]
    #[arg(long, value_name = "TIME", requires = "failure_every", help_heading = "Failures")]
    detection: Option<String>,
    /// How traffic is rerouted: sharebackup (the link itself comes back after 730us), local (a second link, immediately),
    /// portland (the link comes back after 65ms), or a time after which it comes back [default: sharebackup]
    #[arg(long, value_name = "NAME|TIME", requires = "failure_every", help_heading = "Failures")]
    reroute: Option<String>,
    /// How long a failed link that has a backup (local) stays down [default: 10ms]
    #[arg(long, value_name = "TIME", requires = "failure_every", help_heading = "Failures")]
    down_for: Option<Span>,
    /// How switches recover frames that a failed link lost: none; sqr, which keeps a copy of each frame until a failure would
    /// have been detected; or acknowledged, which keeps each frame until it is acknowledged [default: none]
    #[arg(long, value_name = "NAME", requires = "failure_every", help_heading = "Failures")]
    hand_off: Option<String>,
    /// Maximum size of the copies that a switch keeps for one port with SQR [default: 22MB]
    #[arg(long, value_name = "SIZE", requires = "failure_every", help_heading = "Failures")]
    sqr_buffer: Option<ByteSize>,
    /// How much longer than the detection time SQR keeps copies [default: as long as a frame is in flight; the paper's: 0s]
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
            down_for: self.down_for.map(time),
            detection: parsed(self.detection.as_deref())?,
            reroute: parsed(self.reroute.as_deref())?,
            hand_off: parsed(self.hand_off.as_deref())?,
            sqr_buffer: self.sqr_buffer,
            sqr_margin: self.sqr_margin.map(time),
            sqr_one_queue: self.sqr_one_queue,
        })
    }
}

/// What a name means, if one is given.
fn parsed<T: FromStr<Err = ParameterError>>(name: Option<&str>) -> Result<Option<T>> {
    name.map(str::parse).transpose().map_err(usage)
}

/// Switches that may reorder.
#[derive(Debug, Args)]
pub(super) struct SpreadingArgs {
    /// Parallel queues before the middle link, served round-robin (a load-balanced switch)
    #[arg(long, value_name = "N", help_heading = "Reordering")]
    parallel_queues: Option<u32>,
    /// Where frames go among them: uniform (each anywhere, which reorders) or hashed (by flow, which does not) [default:
    /// uniform]
    #[arg(long, value_name = "NAME", requires = "parallel_queues", help_heading = "Reordering")]
    placement: Option<String>,
    /// Additional delay of frames in the reverse direction of the middle link
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
            placement: parsed(self.placement.as_deref())?,
            reverse_delay: time(self.reverse_delay),
            balance: self.balance.parse().map_err(usage)?,
        })
    }
}

/// A time of the command line in the simulator's.
pub(super) fn time(span: Span) -> Time {
    Time::from_nanos(u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX))
}
