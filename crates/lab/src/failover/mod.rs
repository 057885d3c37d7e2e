//! A link that is cut under traffic, with a second one beside it: Linkmend over both, and the kernel's usual answer to the
//! same cuts.
//!
//! Each way of surviving gets a laboratory of its own and carries a transfer of kernel TCP, then numbered datagrams. The first
//! link is cut several times with loss of carrier, and several times silently, and is whole again in between. Hosts keep the
//! kernel's minimum retransmission timeout of 200 ms.

mod course;
mod gap;
mod host;
mod stage;
mod usual;

use std::time::Duration;

use linkmend_dataplane::config::LinkUse;
use linkmend_diagnose::Diagnose;
use serde::{Deserialize, Serialize};

use crate::datagrams::DatagramError;
use crate::delay_line::DelayLineError;
use crate::impairments::{BackupLink, Impairments};
use crate::link_ends::LinkEndsError;
use crate::namespace::NamespaceError;
use crate::stop::{RunControl, StopFlag};
use crate::tcp::TcpError;
use crate::topology::{Cut, Direction, LabError};
use stage::Stage;
pub use usual::Usual;

/// What is cut, how often, and under which traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailoverOptions {
    /// Prefix of the laboratory's namespaces.
    pub prefix: String,
    /// Seed of the link ends.
    pub seed: u64,
    /// Uses AF_PACKET ports even if AF_XDP is available.
    pub packet_ports: bool,
    /// How Linkmend uses the two links.
    #[serde(default)]
    pub link_use: LinkUse,
    /// Rate and delays of the path and of the first link.
    pub impairments: Impairments,
    /// Rate and delay of the second link.
    pub backup: BackupLink,
    /// How often the first link is cut in each way and under each kind of traffic.
    pub cuts: u32,
    /// How long it is whole before each cut: longer than Linkmend takes to return to it.
    pub whole: Duration,
    /// How long it is cut.
    pub cut: Duration,
    /// Datagrams per second.
    pub datagrams_per_second: u32,
}

impl Default for FailoverOptions {
    /// 300 Mbit/s and a round trip of 4 ms over either link, as in the other demos, and three cuts of a second each.
    fn default() -> FailoverOptions {
        let rate_bps = Some(300_000_000);
        FailoverOptions {
            prefix: "lmfail".to_owned(),
            seed: 1,
            packet_ports: false,
            link_use: LinkUse::Active,
            impairments: Impairments {
                rate_bps,
                delay: Duration::from_millis(2),
                link_delay: Duration::ZERO,
                queue_bytes: Some(1 << 20),
            },
            backup: BackupLink { rate_bps, delay: Duration::ZERO },
            cuts: 3,
            whole: Duration::from_millis(2_200),
            cut: Duration::from_secs(1),
            datagrams_per_second: 10_000,
        }
    }
}

impl FailoverOptions {
    /// From one cut to the next.
    fn cycle(&self) -> Duration {
        self.whole + self.cut
    }

    /// All cuts of one kind, and a while in which the link is whole again.
    fn duration(&self) -> Duration {
        self.cycle() * self.cuts + self.whole
    }

    /// When a cut begins, from the beginning of the run.
    fn cut_at(&self, cut: u32) -> Duration {
        self.cycle() * cut + self.whole
    }
}

/// How the first link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutKind {
    /// Both link ends lose the carrier.
    Carrier,
    /// The carrier stays, and frames vanish in both directions.
    Silent,
}

impl CutKind {
    /// Both, in the order in which they are tried.
    pub const ALL: [CutKind; 2] = [CutKind::Carrier, CutKind::Silent];

    /// Its name in headings.
    pub fn label(self) -> &'static str {
        match self {
            CutKind::Carrier => "carrier lost",
            CutKind::Silent => "silent",
        }
    }

    fn cut(self) -> Cut {
        match self {
            CutKind::Carrier => Cut::Carrier,
            CutKind::Silent => Cut::Silent(Direction::Both),
        }
    }
}

/// What survives the cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survivor {
    /// Linkmend over both links, in ordered mode in both directions.
    Linkmend,
    /// The kernel alone; see [`Usual`].
    Kernel,
}

impl Survivor {
    /// Both, in the order in which they are tried.
    pub const ALL: [Survivor; 2] = [Survivor::Linkmend, Survivor::Kernel];
}

/// What a link end of Linkmend reports of one cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedChange {
    /// Why it changed to the other link, in the words of the report.
    pub reason: String,
    /// Frames that the left end retransmitted.
    pub resent_frames: u64,
    /// From the last sign of the left end on the link before to its first frame on the other, as the right end saw it, ns.
    pub gap_ns: Option<u64>,
}

/// One cut and what followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutCourse {
    /// When, in seconds since the run began.
    pub at_s: f64,
    /// The longest time without delivery from then on, until the next cut, ns.
    pub gap_ns: u64,
    /// What Linkmend says of it; `None` for the kernel, or if Linkmend did not change to the other link.
    pub reported: Option<ReportedChange>,
}

/// A moment of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoodputSample {
    /// End of the interval, in seconds since the run began.
    pub at_s: f64,
    /// Payload received in it, bit/s.
    pub goodput_bps: f64,
}

/// A transfer of kernel TCP (CUBIC) through cuts of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferCourse {
    pub cuts: Vec<CutCourse>,
    pub samples: Vec<GoodputSample>,
    /// Mean goodput of the whole run, bit/s.
    pub goodput_bps: f64,
    /// Mean goodput before the first cut, bit/s.
    pub whole_bps: f64,
    /// Segments that the sending host retransmitted, as its kernel counts them (RetransSegs).
    pub retransmitted_segments: u64,
    /// Expirations of its retransmission timer (TCPTimeouts).
    pub timeouts: u64,
    /// Probes that it sent because an acknowledgement was overdue (TCPLossProbes), which are retransmissions as well.
    pub loss_probes: u64,
}

/// Numbered datagrams through cuts of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatagramCourse {
    pub cuts: Vec<CutCourse>,
    pub sent: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
}

/// Cuts of one kind, survived in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailoverColumn {
    pub survivor: Survivor,
    pub kind: CutKind,
    pub transfer: TransferCourse,
    pub datagrams: DatagramCourse,
    /// How often the machine kept a link end from running for so long that the kernel took over, which costs frames.
    pub stalls: u64,
}

/// What came of it. `linkmend demo --failover --json` prints this object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailoverResult {
    /// Version of Linkmend.
    pub version: String,
    pub options: FailoverOptions,
    pub kernel: String,
    /// The kernel's answer that was run beside Linkmend.
    pub usual: Usual,
    /// Why that one.
    pub usual_reason: String,
    /// One entry for each way of surviving and each kind of cut.
    pub columns: Vec<FailoverColumn>,
}

/// Why it could not be shown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is the part that failed, with its error")]
pub enum FailoverError {
    #[error("laboratory")]
    Lab(#[from] LabError),
    #[error("delay lines")]
    DelayLines(#[from] DelayLineError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("link ends")]
    LinkEnds(#[from] LinkEndsError),
    #[error("TCP traffic")]
    Tcp(#[from] TcpError),
    #[error("datagrams")]
    Datagrams(#[from] DatagramError),
    #[error("the kernel's counters of TCP")]
    Counters(#[source] std::io::Error),
    #[error("stopped before its end")]
    Stopped,
}

impl Diagnose for FailoverError {
    fn hint(&self) -> Option<String> {
        match self {
            FailoverError::Lab(error) => error.hint(),
            FailoverError::DelayLines(error) => error.hint(),
            FailoverError::LinkEnds(error) => error.hint(),
            FailoverError::Tcp(error) => error.hint(),
            FailoverError::Datagrams(error) => error.hint(),
            _ => None,
        }
    }
}

/// Runs all cuts, in one laboratory after the other. `progress` is told what begins, and once which of the kernel's answers is
/// run and why.
///
/// # Errors
/// [`FailoverError`]. The laboratory is taken down in that case, too.
pub fn run(
    options: &FailoverOptions,
    stop: &StopFlag,
    progress: &dyn Fn(&str),
) -> Result<FailoverResult, FailoverError> {
    let control = RunControl { stop: stop.clone(), ..RunControl::default() };
    let mut columns = Vec::new();
    let mut usual = (Usual::Routes, String::new());
    for survivor in Survivor::ALL {
        let stage = Stage::set(options, survivor, &control)?;
        if let Some((kind, reason)) = stage.usual() {
            usual = (kind, reason.to_owned());
            progress(&format!("beside it: {kind}, because {reason}"));
        }
        for kind in CutKind::ALL {
            let who =
                if survivor == Survivor::Linkmend { "Linkmend".to_owned() } else { usual.0.to_string() };
            progress(&format!("{who}, {}: one transfer, then datagrams", kind.label()));
            columns.push(course::run(&stage, options, survivor, kind, &control)?);
        }
    }
    Ok(FailoverResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.clone(),
        kernel: crate::kernel_release(),
        usual: usual.0,
        usual_reason: usual.1,
        columns,
    })
}
