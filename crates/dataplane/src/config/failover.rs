//! The second link between the same two ends.

use super::bounds::RATE_BPS;
use super::error::Problem;
use crate::link_use::LinkUse;
use crate::settings::BackupSettings;
use linkmend_quantity::{BitRate, Span};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The detection times that a daemon can keep.
const DETECTION: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(150);
/// The longest wait before a link is used again.
const RETURN_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// `[link.failover]`: when the two links of a link end change places.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", command(next_help_heading = "Failover between --link and --backup"))]
pub struct FailoverConfig {
    /// A link has failed if nothing has arrived on it for this long while the other one works; loss of carrier counts
    /// immediately. At least 1ms
    #[cfg_attr(feature = "clap", arg(
        long = "failure-detection",
        value_name = "TIME",
        default_value_t = FailoverConfig::default().detection
    ))]
    pub detection: Span,
    /// How long --link must have been up continuously before it is used again
    #[cfg_attr(feature = "clap", arg(
        long = "failover-return-after",
        value_name = "TIME",
        default_value_t = FailoverConfig::default().return_after
    ))]
    pub return_after: Span,
    /// Rate of a backup that is slower than its port, like 1G [default: as fast as the port accepts frames]
    #[cfg_attr(feature = "clap", arg(long = "backup-rate", value_name = "RATE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_rate: Option<BitRate>,
}

impl Default for FailoverConfig {
    fn default() -> Self {
        let BackupSettings { detection, return_after, .. } = BackupSettings::new("");
        FailoverConfig { detection: Span(detection), return_after: Span(return_after), backup_rate: None }
    }
}

impl FailoverConfig {
    /// Translates the table into the link end's settings.
    pub fn settings(&self, interface: &str) -> BackupSettings {
        BackupSettings {
            interface: interface.to_owned(),
            rate_bps: self.backup_rate.map(|rate| rate.0),
            detection: self.detection.0,
            return_after: self.return_after.0,
            link_use: LinkUse::default(),
        }
    }

    /// # Errors
    /// The key of the first value that cannot be used, with the reason.
    pub(super) fn validate(&self, has_backup: bool) -> Result<(), (&'static str, Problem)> {
        let defaults = FailoverConfig::default();
        let set = [
            ("failover.detection", self.detection != defaults.detection),
            ("failover.return-after", self.return_after != defaults.return_after),
            ("failover.backup-rate", self.backup_rate.is_some()),
        ];
        if !has_backup && let Some((key, _)) = set.into_iter().find(|(_, set)| *set) {
            return Err((key, Problem::WithoutBackup));
        }
        if !DETECTION.contains(&self.detection.0) {
            let requirement = "must be from 1ms to 150ms: shorter times cost too many probes, and with longer ones sessions end before a failure is noticed";
            return Err(Problem::value("failover.detection", self.detection, requirement));
        }
        if self.return_after < self.detection || self.return_after.0 > RETURN_AFTER_MAX {
            let requirement = "must be at least the detection time, and at most 24h";
            return Err(Problem::value("failover.return-after", self.return_after, requirement));
        }
        match self.backup_rate {
            Some(rate) if !RATE_BPS.contains(&rate.0) => {
                Err(Problem::value("failover.backup-rate", rate, "must be from 100k to 1T"))
            }
            _ => Ok(()),
        }
    }
}
