//! A path of the Internet between two sites, which delays, loses, reorders and duplicates: without repair, and with Linkmend's
//! encrypted link over UDP in either mode, and with a deadline.
//!
//! ```text
//!   h1 <--> g1 <-- path: rate, delay, losses, both ways --> g2 <--> h2
//! ```
//!
//! Each repair gets a laboratory of its own, and carries numbered datagrams, then a transfer of kernel TCP, except where
//! datagrams have a deadline. Without repair, g1
//! and g2 forward frames as bridges; the same path then carries the hosts' own frames.

mod course;
mod path;
mod stage;

use std::time::Duration;

use linkmend_control::DEADLINES;
use linkmend_diagnose::{Diagnose, ParameterError};
use linkmend_protocol::Mode;
use serde::{Deserialize, Serialize};

use crate::datagrams::DatagramError;
use crate::delay_line::DelayLineError;
use crate::failover::GoodputSample;
use crate::impairments::Impairments;
use crate::link_ends::LinkEndsError;
use crate::namespace::NamespaceError;
use crate::stop::{RunControl, StopFlag};
use crate::summary::Summary;
use crate::tcp::TcpError;
use crate::topology::LabError;
use stage::Stage;

/// The largest loss rate of the path in each direction.
pub const LOSS_MAX: f64 = 0.25;

/// The path, and how long it is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WanOptions {
    /// Prefix of the laboratory's namespaces.
    pub prefix: String,
    /// Seed of the path and of the link ends.
    pub seed: u64,
    /// Uses AF_PACKET ports even if AF_XDP is available.
    pub packet_ports: bool,
    /// Rate, one-way delay (`link_delay`) and queue of the path.
    pub impairments: Impairments,
    /// Share of frames that the path loses in each direction, up to [`LOSS_MAX`].
    pub loss: f64,
    /// Share of frames that arrive later than those behind them, by up to `late` more.
    pub reordered: f64,
    pub late: Duration,
    /// Share of frames that arrive twice.
    pub duplicated: f64,
    /// Datagrams per second.
    pub datagrams_per_second: u32,
    /// How long datagrams are sent.
    pub datagram_time: Duration,
    /// Measured time of the transfer.
    pub transfer_time: Duration,
    /// How long TCP may take to find its rate before that.
    pub warm_up: Duration,
}

impl Default for WanOptions {
    /// A round trip of 100 ms at 50 Mbit/s, 5 % of losses, and 2 % of frames each that are reordered or duplicated.
    fn default() -> WanOptions {
        WanOptions {
            prefix: "lmwan".to_owned(),
            seed: 1,
            packet_ports: false,
            impairments: Impairments {
                rate_bps: Some(50_000_000),
                link_delay: Duration::from_millis(50),
                ..Impairments::default()
            },
            loss: 0.05,
            reordered: 0.02,
            late: Duration::from_millis(10),
            duplicated: 0.02,
            datagrams_per_second: 100,
            datagram_time: Duration::from_secs(12),
            transfer_time: Duration::from_secs(15),
            warm_up: Duration::from_secs(3),
        }
    }
}

impl WanOptions {
    /// Shorter measurements, which take about half a minute.
    #[must_use]
    pub fn quick(self) -> WanOptions {
        WanOptions {
            datagram_time: Duration::from_secs(3),
            transfer_time: Duration::from_secs(4),
            warm_up: Duration::from_secs(1),
            ..self
        }
    }

    /// The deadline of datagrams: the delay of the path, one round trip, and 10 ms.
    pub fn deadline(&self) -> Duration {
        let delay = self.impairments.link_delay + self.impairments.round_trip() + Duration::from_millis(10);
        delay.clamp(*DEADLINES.start(), *DEADLINES.end())
    }

    fn validate(&self) -> Result<(), ParameterError> {
        if self.loss > 0.0 && self.loss <= LOSS_MAX {
            return Ok(());
        }
        Err(ParameterError::new("loss", self.loss, format!("must be above 0 and up to {LOSS_MAX}")))
    }
}

/// What repairs the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Nothing: the hosts see the path as it is.
    None,
    /// Linkmend over UDP, in ordered mode.
    Ordered,
    /// Linkmend over UDP, in non-blocking mode.
    NonBlocking,
    /// Linkmend over UDP, with a deadline for the datagrams: parity and retransmissions in time.
    InTime,
}

impl Repair {
    /// All, in the order in which they are tried.
    pub const ALL: [Repair; 4] = [Repair::None, Repair::Ordered, Repair::NonBlocking, Repair::InTime];

    /// Its name in headings.
    pub fn label(self) -> &'static str {
        match self {
            Repair::None => "without",
            Repair::Ordered => "ordered",
            Repair::NonBlocking => "non-blocking",
            Repair::InTime => "in time",
        }
    }

    fn mode(self) -> Option<Mode> {
        match self {
            Repair::None => None,
            Repair::Ordered | Repair::InTime => Some(Mode::Ordered),
            Repair::NonBlocking => Some(Mode::NonBlocking),
        }
    }
}

/// Numbered datagrams from h1 to h2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WanDatagrams {
    pub sent: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
    /// From one host to the other, ns; `None` if none arrived.
    pub delay_ns: Option<Summary>,
    /// The delay of each, in the order of their arrival, ns.
    pub delays_ns: Vec<u64>,
}

/// A transfer of kernel TCP (CUBIC) from h1 to h2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WanTransfer {
    /// Goodput after the warm-up, bit/s.
    pub goodput_bps: f64,
    /// Segments that the sending host retransmitted after the warm-up.
    pub retransmitted_segments: u64,
    pub samples: Vec<GoodputSample>,
}

/// What the path did in both directions, during both kinds of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathReport {
    /// Frames that came to the path.
    pub frames: u64,
    /// Of these, lost on purpose.
    pub lost: u64,
    pub reordered: u64,
    pub duplicated: u64,
    /// Frames for which the queue in front of the path had no room.
    pub queue_drops: u64,
}

/// What a repair adds to the traffic of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairCost {
    /// Frames that were sent for the first time.
    pub protected_frames: u64,
    /// Copies of lost ones, and parity.
    pub retransmitted_copies: u64,
}

/// One repair, and what it was measured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WanColumn {
    pub repair: Repair,
    pub datagrams: WanDatagrams,
    /// `None` where a deadline makes no difference to it.
    pub transfer: Option<WanTransfer>,
    pub path: PathReport,
    /// `None` without repair.
    pub cost: Option<RepairCost>,
}

/// What came of it. `linkmend demo --wan --json` prints this object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WanResult {
    /// Version of Linkmend.
    pub version: String,
    pub options: WanOptions,
    pub kernel: String,
    /// One entry for each repair.
    pub columns: Vec<WanColumn>,
}

/// Why it could not be shown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is the part that failed, with its error")]
pub enum WanError {
    #[error("{} = {} cannot be used: {}", .0.parameter, .0.value, .0.requirement)]
    Option(ParameterError),
    #[error("laboratory")]
    Lab(#[from] LabError),
    #[error("the path between the sites")]
    Path(#[from] DelayLineError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("cannot write the key that both ends share, `{path}`")]
    Key { path: String, source: std::io::Error },
    #[error("link ends")]
    LinkEnds(#[from] LinkEndsError),
    #[error("TCP traffic")]
    Tcp(#[from] TcpError),
    #[error("datagrams")]
    Datagrams(#[from] DatagramError),
    #[error("stopped before its end")]
    Stopped,
}

impl Diagnose for WanError {
    fn hint(&self) -> Option<String> {
        match self {
            WanError::Lab(error) => error.hint(),
            WanError::Path(error) => error.hint(),
            WanError::LinkEnds(error) => error.hint(),
            WanError::Tcp(error) => error.hint(),
            WanError::Datagrams(error) => error.hint(),
            _ => None,
        }
    }
}

/// Measures every repair, in one laboratory after the other. `progress` is told what begins.
///
/// # Errors
/// [`WanError`]. The laboratory is taken down in that case, too.
pub fn run(options: &WanOptions, stop: &StopFlag, progress: &dyn Fn(&str)) -> Result<WanResult, WanError> {
    options.validate().map_err(WanError::Option)?;
    let control = RunControl { stop: stop.clone(), ..RunControl::default() };
    let mut columns = Vec::new();
    for repair in Repair::ALL {
        let who = if repair == Repair::None { "without Linkmend" } else { "with Linkmend, " };
        let mode = if repair == Repair::None { "" } else { repair.label() };
        let then = if repair == Repair::InTime { "" } else { ", then one transfer" };
        progress(&format!("{who}{mode}: datagrams{then}"));
        let stage = Stage::set(options, repair, &control)?;
        columns.push(course::run(&stage, options, repair, &control)?);
    }
    Ok(WanResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.clone(),
        kernel: crate::kernel_release(),
        columns,
    })
}
