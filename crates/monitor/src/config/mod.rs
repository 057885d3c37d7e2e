//! What people write: the configuration file, or the arguments of `linkmend corruptd`.

mod actuator;
mod audit;
mod bus;
mod error;
mod gnmi;
mod plan;
mod resolved;
mod source;
mod switch_database;
mod webhook;

pub use actuator::ActuatorChoice;
pub use audit::AuditChoice;
pub use bus::{BusChoice, BusConfig};
pub use error::ConfigError;
pub use gnmi::GnmiConfig;
pub use plan::{DisabledBy, PlanChoice, PlanConfig, network};
pub use resolved::Resolved;
pub use source::{CountersConfig, SourceChoice, SourceKind};
pub use switch_database::SwitchDatabase;
pub use webhook::WebhookConfig;

use crate::PortName;
use linkmend_control::ProtectMode;
use linkmend_quantity::{Count, LossRate, Span};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The largest configuration file.
const FILE_BYTES_MOST: u64 = 16 << 20;
/// Where `corruptd status` asks, unless configured. It does not end in `.sock`, because those are links' daemons.
pub const CONTROL_DEFAULT: &str = "/run/linkmend/corruptd.socket";
/// Where the embedded bus remembers, unless configured.
pub const STATE_DEFAULT: &str = "/var/lib/linkmend/corruptd.json";

/// A configuration file, or arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MonitorConfig {
    /// Name of this machine in links, like leaf1 [default: its host name]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Where counters come from
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub source: SourceKind,
    /// Interval at which counters are read, 100ms to 1h [default: 1s]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Span>,
    /// Two connected ports, like leaf1/eth4=spine1/eth0, or eth4=eth0 for two on this machine; may be repeated
    #[cfg_attr(feature = "clap", arg(long = "cable", value_name = "PORT=PORT"))]
    #[serde(rename = "cable", skip_serializing_if = "Vec::is_empty")]
    pub cables: Vec<Cable>,
    /// Read the cabling from a network file or folder that names ports, in any format that `linkmend fleet show` reads;
    /// layers are not needed
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cables_from: Option<PathBuf>,
    /// Read the cabling from lldpd: a file with the output of `lldpcli -f json show neighbors`
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldp: Option<PathBuf>,
    /// Control socket of a daemon whose links are monitored and protected [default: all in /run/linkmend]; may be
    /// repeated
    #[cfg_attr(feature = "clap", arg(long = "daemon", value_name = "PATH"))]
    #[serde(rename = "daemons", skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<PathBuf>,
    /// What the source of counters needs.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub counters: CountersConfig,
    /// What the source `gnmi` needs.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub gnmi: GnmiConfig,
    /// When a link corrupts.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(rename = "detection")]
    pub detection: DetectionConfig,
    /// What is done about it.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(rename = "protection")]
    pub protection: ProtectionConfig,
    /// Which links the network can spare.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub plan: PlanConfig,
    /// Where agents find each other.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub bus: BusConfig,
    /// Whom decisions are sent.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub webhook: WebhookConfig,
    /// Socket for `linkmend corruptd status` [default: /run/linkmend/corruptd.socket]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH", help_heading = "Files and addresses"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<PathBuf>,
    /// Address on which to serve Prometheus metrics, like 127.0.0.1:9465 [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDRESS", help_heading = "Files and addresses"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// File for state that must survive a restart, unless it is in Redis [default: /var/lib/linkmend/corruptd.json]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Files and addresses"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
    /// Append every decision with its evidence to this file, one JSON object per line
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Files and addresses"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<PathBuf>,
    /// File with a key for the seals of the lines in --audit, as in --webhook-key; without one, whoever can write the
    /// file can write a sealed one [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Files and addresses"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_key: Option<PathBuf>,
}

/// When a link counts as corrupting: `[detection]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Detection"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DetectionConfig {
    /// Protect links that corrupt more than this share of frames [default: 1e-8]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activate: Option<LossRate>,
    /// End protection when no more than this share is corrupted during the hold-down [default: a tenth of --activate]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deactivate: Option<LossRate>,
    /// Recommend disabling links that certainly corrupt more than this share of frames [default: 5%]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable: Option<LossRate>,
    /// Maximum probability of a false alarm, for each decision [default: 1e-6]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_alarm: Option<LossRate>,
    /// Number of most recent frames over which the displayed loss rate is computed [default: 100M]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FRAMES"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_frames: Option<Count>,
    /// Forget frames that are older than this; 24 times as old while a link does not corrupt frames [default: 1h]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_time: Option<Span>,
    /// How long a link must be healthy before its protection ends; doubles with each relapse, up to 16 times [default:
    /// 10min]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_down: Option<Span>,
    /// A link that corrupts frames again within this time has relapsed [default: 24h]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flap_memory: Option<Span>,
    /// Ignore errors for this long after a port comes up, because the flap causes them [default: 20s]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_up_hold_off: Option<Span>,
    /// Half-life of a port's flap penalty; after three flaps within about this time, the port is not evaluated until it has
    /// been stable for as long [default: 5min]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flap_half_life: Option<Span>,
    /// Symbol errors per codeword that FEC corrects, for all ports, 1 to 15 [default: depends on the port: 7 with lanes
    /// of up to 25 Gbit/s, as in RS(528,514); 15 above, as in RS(544,514)]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fec_corrects: Option<u32>,
}

/// What is done about it: `[protection]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Protection"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProtectionConfig {
    /// How links are protected
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    pub mode: ProtectMode,
    /// Effective loss rate to stay below [default: 1e-8]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<LossRate>,
    /// Protect links whose FEC counters predict frame loss, before the loss starts
    #[cfg_attr(feature = "clap", arg(long))]
    pub arm: bool,
    /// Run this program to protect a port, instead of asking Linkmend's daemons; environment variables tell it what to
    /// do: LINKMEND_PORT, LINKMEND_ACTION, LINKMEND_MODE, LINKMEND_COPIES, LINKMEND_LOSS_RATE
    #[cfg_attr(feature = "clap", arg(long, value_name = "PROGRAM"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<PathBuf>,
    /// Protect ports of a SONiC switch with Link Layer Retry (LLR), by its configuration database: `plan` writes a
    /// profile for each speed and cable length; anything else is the name of a profile that is there
    #[cfg_attr(feature = "clap", arg(long, value_name = "PROFILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llr: Option<String>,
    /// Maximum number of ports at which LLR is switched on at the same time [default: 8]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llr_ports: Option<usize>,
    /// Only report what would be done
    #[cfg_attr(feature = "clap", arg(long))]
    pub dry_run: bool,
}

/// The two ends of a cable: `leaf1/eth4=spine1/eth0`. A port without an agent is of the agent that reads this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cable([String; 2]);

impl FromStr for Cable {
    type Err = String;

    fn from_str(text: &str) -> Result<Cable, String> {
        match text.split('=').collect::<Vec<_>>()[..] {
            [one, other] if !one.is_empty() && !other.is_empty() => {
                Ok(Cable([one.to_owned(), other.to_owned()]))
            }
            _ => Err(format!("`{text}` is not a cable; write PORT=PORT, like leaf1/eth4=spine1/eth0")),
        }
    }
}

impl TryFrom<String> for Cable {
    type Error = String;

    fn try_from(text: String) -> Result<Cable, String> {
        text.parse()
    }
}

impl From<Cable> for String {
    fn from(cable: Cable) -> String {
        cable.to_string()
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.0[0], self.0[1])
    }
}

impl Cable {
    /// Its two ports, for an agent of this name.
    fn ports(&self, agent: &str) -> Result<[PortName; 2], crate::PortNameError> {
        let port = |text: &String| match text.split_once('/') {
            Some(_) => text.parse(),
            None => PortName::new(agent, text),
        };
        Ok([port(&self.0[0])?, port(&self.0[1])?])
    }
}

/// The content of a file that is no larger than any that makes sense.
fn read_bounded(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MOST {
        return Err(ConfigError::TooLarge { path: path.to_owned(), bytes, limit: FILE_BYTES_MOST });
    }
    std::fs::read(path).map_err(unreadable)
}

impl MonitorConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigError`], with the line where there is one.
    pub fn read(path: &Path) -> Result<MonitorConfig, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
        let text = String::from_utf8(read_bounded(path)?)
            .map_err(|error| unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
        toml::from_str(&text).map_err(|error| ConfigError::syntax(path, &text, &error))
    }

    /// As a file, with what was written and nothing else.
    ///
    /// # Panics
    /// Never: every value has a form in TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self)
            .unwrap_or_else(|error| unreachable!("a configuration is tables of texts: {error}"))
    }
}
