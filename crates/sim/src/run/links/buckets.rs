//! Counts the frames of a source by time, while its link's loss rate changes.

use super::config::{Course, Source};
use crate::network::Frame;
use crate::time::Time;

/// Counts frames by time.
#[derive(Debug)]
pub(super) struct Buckets {
    pub(super) began: Time,
    interval: Time,
    pub(super) sample: Time,
    pub(super) buckets: Vec<Bucket>,
}

/// One sample's time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    /// Frames that the source produced then, and those of them that arrived at any time.
    pub(super) produced: u64,
    pub(super) arrived: u64,
    /// Originals sent then, and those of them that were corrupted.
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// Bytes delivered then.
    pub(super) bytes: u64,
}

impl Buckets {
    /// Of a source that sends a frame each `interval`.
    pub(super) fn new(course: &Course, source: &Source, interval: Time) -> Buckets {
        let sample = course.sample;
        let frames_before = |bucket: u64| (bucket * sample.0).div_ceil(interval.0).min(source.frames);
        let bucket = |index: u64| Bucket {
            produced: frames_before(index + 1) - frames_before(index),
            ..Bucket::default()
        };
        let buckets = (0..course.duration().0.div_ceil(sample.0)).map(bucket).collect();
        Buckets { began: Time::ZERO, interval, sample, buckets }
    }

    /// The bucket of a time since the beginning.
    fn at(&mut self, since: u64) -> Option<&mut Bucket> {
        self.buckets.get_mut((since / self.sample.0) as usize)
    }

    pub(super) fn sent(&mut self, at: Time, corrupted: bool) {
        if let Some(bucket) = self.at((at - self.began).0) {
            bucket.sent += 1;
            bucket.lost += u64::from(corrupted);
        }
    }

    pub(super) fn delivered(&mut self, at: Time, frame: &Frame) {
        if let Some(bucket) = self.at((at - self.began).0) {
            bucket.bytes += u64::from(frame.bytes);
        }
        if let Some(bucket) = self.at(frame.id * self.interval.0) {
            bucket.arrived += 1;
        }
    }
}
