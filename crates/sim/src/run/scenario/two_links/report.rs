//! What is measured.

use super::config::Setting;
use super::tally::Tally;
use crate::flows::Summary;
use crate::time::Time;
use linkmend_protocol::paths::Path;
use serde::Serialize;

/// What runs measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TwoLinksReport {
    /// The seed they were run with.
    pub seed: u64,
    /// Each link with each detection time, and with SQR if that was asked for.
    pub rows: Vec<TwoLinksRow>,
}

/// What happened to the frames of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Delivered {
    pub frames_sent: u64,
    pub frames_delivered: u64,
    /// Frames that were not.
    pub frames_lost: u64,
    /// Frames that were delivered a second time.
    pub frames_twice: u64,
    /// Frames that were delivered after one that was sent later.
    pub frames_reordered: u64,
}

/// What one failure of a link cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CutRow {
    /// When the link failed, since the traffic began, us.
    pub at_us: f64,
    pub link: Path,
    /// Whether frames took it.
    pub in_use: bool,
    /// Frames of the traffic, copies included, that the failed link lost. This and the next two until it worked again, and only
    /// of link ends.
    pub frames_lost: u64,
    /// Frames that went out again on the other link.
    pub frames_resent: u64,
    /// Those, and other copies, that the receiver had already.
    pub duplicates_dropped: u64,
    /// From the last delivery before the failure to the first one after it, us; `None` if none came before the next failure.
    pub recovery_us: Option<f64>,
}

/// What a run with one link, detection time and scheme measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TwoLinksRow {
    /// `linkguardian` or `sqr`.
    pub scheme: &'static str,
    /// Rate of each link, Gbit/s.
    pub speed_gbps: f64,
    /// From a failure until the ends are to know, us.
    pub detection_us: f64,
    pub forward: Delivered,
    /// The other direction, if it has traffic.
    pub reverse: Option<Delivered>,
    /// Frames of the traffic, copies included, that failed links lost, and that links corrupted.
    pub frames_cut: u64,
    pub frames_corrupted: u64,
    /// Frames that went out again because of a change of links; those of returns included.
    pub frames_resent: u64,
    /// All copies, those included.
    pub copies_sent: u64,
    /// Copies that the receiver had already, and dropped.
    pub duplicates_dropped: u64,
    /// Frames that came on a link that the sender had left.
    pub late_frames: u64,
    /// The most bytes that the sender kept while both links worked, and while one did not. SQR's switch takes a link to work until it
    /// knows better.
    pub steady_buffer_bytes: u64,
    pub failed_buffer_bytes: u64,
    /// The most bytes that the receiver kept.
    pub rx_buffer_bytes: u64,
    /// The most bytes that waited to be sent for the first time.
    pub queue_bytes: u64,
    /// How often the sender left a failed link, and how often it changed links for another reason.
    pub failovers: u64,
    pub returns: u64,
    /// How long the receiver delivered nothing because a link in use failed, us.
    pub recovery_us: Option<Summary>,
    /// Whether everything was sent and delivered. With SQR, what a link corrupts is not.
    pub drained: bool,
    /// Whether the run was ended early.
    pub interrupted: bool,
    pub cuts: Vec<CutRow>,
}

impl Delivered {
    pub(super) fn new(frames_sent: u64, tally: &Tally) -> Delivered {
        Delivered {
            frames_sent,
            frames_delivered: tally.delivered,
            frames_lost: frames_sent - tally.delivered,
            frames_twice: tally.twice,
            frames_reordered: tally.reordered,
        }
    }
}

impl TwoLinksRow {
    /// A run with these failures, of which nothing else is known yet.
    pub(super) fn new(setting: &Setting<'_>, scheme: &'static str, cuts: Vec<CutRow>) -> TwoLinksRow {
        let in_use = cuts.iter().filter(|cut| cut.in_use);
        TwoLinksRow {
            scheme,
            speed_gbps: setting.link.rate.bits_per_second() as f64 / 1e9,
            detection_us: setting.detection.time().as_nanos() / 1e3,
            forward: Delivered::default(),
            reverse: None,
            frames_cut: 0,
            frames_corrupted: 0,
            frames_resent: 0,
            copies_sent: 0,
            duplicates_dropped: 0,
            late_frames: 0,
            steady_buffer_bytes: 0,
            failed_buffer_bytes: 0,
            rx_buffer_bytes: 0,
            queue_bytes: 0,
            failovers: 0,
            returns: 0,
            recovery_us: Summary::from_values(in_use.filter_map(|cut| cut.recovery_us).collect()),
            drained: false,
            interrupted: false,
            cuts,
        }
    }

    /// Whether nothing was lost, delivered twice or, unless that is allowed, delivered out of order, in either direction.
    pub fn is_hitless(&self, is_ordered: bool) -> bool {
        [Some(self.forward), self.reverse]
            .into_iter()
            .flatten()
            .all(|way| way.frames_lost + way.frames_twice == 0 && (way.frames_reordered == 0 || !is_ordered))
    }
}

/// A time in us.
pub(super) fn micros(time: Time) -> f64 {
    time.as_nanos() / 1e3
}
