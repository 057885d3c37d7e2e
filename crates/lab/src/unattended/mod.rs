//! A link that begins to corrupt, with nobody there but `corruptd`: it finds the corruption, has the link protected, and ends
//! that after the repair. Daemons and `corruptd` are those of `linkmend run` and `linkmend corruptd`, in this process.

mod course;
mod stage;

use std::time::Duration;

use linkmend_control::ClientError;
use linkmend_dataplane::{DaemonError, config::ConfigError};
use linkmend_diagnose::Diagnose;
use linkmend_monitor::config::ConfigError as MonitorConfigError;
use linkmend_monitor::daemon::{StartError, StatusError};
use serde::{Deserialize, Serialize};

use crate::delay_line::DelayLineError;
use crate::generator::GeneratorError;
use crate::impairments::Impairments;
use crate::namespace::NamespaceError;
use crate::stop::{RunControl, StopFlag};
use crate::tcp::TcpError;
use crate::topology::LabError;
use stage::Stage;

/// What happens to the link, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnattendedOptions {
    /// Prefix of the laboratory's namespaces.
    pub prefix: String,
    /// Seed of the injected corruption.
    pub seed: u64,
    /// Uses AF_PACKET ports even if AF_XDP is available.
    pub packet_ports: bool,
    /// Rate and delays of the path.
    pub impairments: Impairments,
    /// Share of frames that the link corrupts.
    pub loss: f64,
    /// How long the link is healthy at first.
    pub healthy: Duration,
    /// How long it corrupts.
    pub corrupting: Duration,
    /// How long `corruptd` waits after the repair.
    pub hold_down: Duration,
    /// How long the course goes on after that.
    pub after: Duration,
}

impl Default for UnattendedOptions {
    /// The demo's link, 300 Mbit/s with a round trip of 4 ms, and a loss of 1e-3.
    fn default() -> UnattendedOptions {
        UnattendedOptions {
            prefix: "lmauto".to_owned(),
            seed: 1,
            packet_ports: false,
            impairments: Impairments {
                rate_bps: Some(300_000_000),
                delay: Duration::from_millis(2),
                link_delay: Duration::ZERO,
                queue_bytes: Some(1 << 20),
            },
            loss: 1e-3,
            healthy: Duration::from_secs(4),
            corrupting: Duration::from_secs(8),
            hold_down: Duration::from_secs(4),
            after: Duration::from_secs(4),
        }
    }
}

impl UnattendedOptions {
    fn duration(&self) -> Duration {
        self.healthy + self.corrupting + self.hold_down + self.after
    }
}

/// When what happened, in seconds since the course began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    pub corruption_s: f64,
    /// When frames began to be protected; `None` if that did not happen.
    pub protected_s: Option<f64>,
    pub repair_s: f64,
    /// When they were no longer.
    pub unprotected_s: Option<f64>,
}

impl Moments {
    /// From the first corrupted frame, or shortly before it, to protection.
    pub fn detection_s(&self) -> Option<f64> {
        self.protected_s.map(|protected| protected - self.corruption_s)
    }

    /// From the repair to the end of protection.
    pub fn release_s(&self) -> Option<f64> {
        self.unprotected_s.map(|unprotected| unprotected - self.repair_s)
    }
}

/// A moment of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoodputSample {
    /// End of the interval, in seconds since the course began.
    pub at_s: f64,
    /// Payload received in it, bit/s.
    pub goodput_bps: f64,
    /// Segments that the sending host's kernel retransmitted in it.
    pub retransmitted_segments: u64,
    /// Whether the link was protected.
    pub protected: bool,
}

/// One transfer of kernel TCP (CUBIC) through it all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferCourse {
    pub moments: Moments,
    pub samples: Vec<GoodputSample>,
    /// Mean goodput in bit/s before the corruption, from then to protection, and while protected and corrupting.
    pub healthy_bps: f64,
    pub unprotected_bps: Option<f64>,
    pub protected_bps: Option<f64>,
}

/// Numbered frames through it all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramesCourse {
    pub moments: Moments,
    pub sent: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
    /// Frames that the link corrupted before the link was protected. No others may be lost.
    pub corrupted_unprotected: u64,
    /// Frames that it corrupted in all, copies among them.
    pub corrupted: u64,
    /// How often the machine kept a daemon from running for so long that the kernel took over, which costs frames.
    pub stalls: u64,
}

impl FramesCourse {
    /// Frames that were lost though the link was protected, or because that began or ended.
    pub fn lost_by_switching(&self) -> u64 {
        self.lost.saturating_sub(self.corrupted_unprotected)
    }
}

/// What came of it. `linkmend demo --corruptd --json` prints this object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnattendedResult {
    /// Version of Linkmend.
    pub version: String,
    pub options: UnattendedOptions,
    pub kernel: String,
    pub transfer: TransferCourse,
    pub frames: FramesCourse,
    /// What `corruptd` decided during the transfer, for people.
    pub decisions: Vec<String>,
}

/// Why it could not be shown.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is the part that failed, with its error")]
pub enum UnattendedError {
    #[error("laboratory")]
    Lab(#[from] LabError),
    #[error("delay lines")]
    DelayLines(#[from] DelayLineError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("the daemons' configuration")]
    Config(#[from] ConfigError),
    #[error("a link's daemon")]
    Daemon(#[from] DaemonError),
    #[error("a link's control socket")]
    Client(#[from] ClientError),
    #[error("corruptd's configuration")]
    MonitorConfig(#[from] MonitorConfigError),
    #[error("corruptd")]
    Monitor(#[from] StartError),
    #[error("corruptd's status")]
    Status(#[from] StatusError),
    #[error("TCP traffic")]
    Tcp(#[from] TcpError),
    #[error("frame generator")]
    Generator(#[from] GeneratorError),
    #[error("a folder for sockets")]
    Folder(#[source] std::io::Error),
    #[error("stopped before its end")]
    Stopped,
}

impl Diagnose for UnattendedError {
    fn hint(&self) -> Option<String> {
        match self {
            UnattendedError::Lab(error) => error.hint(),
            UnattendedError::Daemon(error) => error.hint(),
            UnattendedError::Monitor(error) => error.hint(),
            UnattendedError::Tcp(error) => error.hint(),
            UnattendedError::Generator(error) => error.hint(),
            _ => None,
        }
    }
}

/// Runs the course twice in a laboratory of its own, with a transfer and with numbered frames. `progress` is told what
/// begins.
///
/// # Errors
/// [`UnattendedError`]. The laboratory is taken down in that case, too.
pub fn run(
    options: &UnattendedOptions,
    stop: &StopFlag,
    progress: &dyn Fn(&str),
) -> Result<UnattendedResult, UnattendedError> {
    let control = RunControl { stop: stop.clone(), ..RunControl::default() };
    progress("one transfer: healthy, corrupting, repaired");
    let stage = Stage::set(options, &control)?;
    let (transfer, decisions) = course::transfer(&stage, options, &control)?;
    drop(stage);
    progress("numbered frames: the same again");
    let stage = Stage::set(options, &control)?;
    let frames = course::frames(&stage, options, &control)?;
    Ok(UnattendedResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.clone(),
        kernel: crate::kernel_release(),
        transfer,
        frames,
        decisions,
    })
}
