//! The counters of a port at one moment.

use super::{FecCode, FecReading, RetryReading};
use serde::{Deserialize, Serialize};

/// What a port had counted when it was polled. Counters begin anywhere, and say nothing until they are polled again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reading {
    /// Frames received intact.
    pub good_frames: u64,
    /// Frames received with a wrong frame check sequence. `None` if the port does not count them: its link cannot be
    /// judged then. Frames that were dropped for lack of room are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupted_frames: Option<u64>,
    /// Frames with invalid symbols, where these are counted separately. Most of them have a wrong check sequence as well, so the
    /// two counters see the same losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol_errors: Option<u64>,
    /// Frames among `corrupted_frames` that the link has not corrupted: frames of a wrong length, which some ports count as
    /// errors, and frames that the sender had marked as corrupted (poisoned, in Link Layer Retry).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_corrupted: Option<u64>,
    /// Whether the port is in operation, where that is known. What a port counts while it is not says nothing of its link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// How often the carrier came or went, where that is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_changes: Option<u64>,
    /// Speed in bit/s, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u64>,
    /// The code by which it corrects errors, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FecCode>,
    /// What identifies the time since counters began, such as the number of a boot or of an interface. A port whose
    /// number differs from that of the last poll counts from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// When this was counted, in nanoseconds on a clock that never goes back, where that differs from when it was polled: a
    /// device that sends samples says it. Two polls between which this stays the same have seen the same sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_ns: Option<u64>,
    /// What its forward error correction has counted, if it has one that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fec: Option<FecReading>,
    /// What Link Layer Retry has counted, if it is on: frames that are sent again may be no errors to all other counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReading>,
}

impl Reading {
    /// Whether what this port loses may be sent again without any of its counters telling so. Codewords that could not be corrected
    /// are counted below Link Layer Retry, and tell it as well.
    pub(super) fn hides_losses(&self) -> bool {
        let is_uncounted = self.retry == Some(RetryReading::default());
        is_uncounted && self.fec.and_then(|fec| fec.uncorrectable_codewords).is_none()
    }
}
