//! Follows frames from their sources to where they leave the links.

use super::buckets::Buckets;
use super::config::{Course, Source};
use crate::measure::{Histogram, Percentiles};
use crate::network::{Frame, Observer, PortId, Sent};
use crate::time::Time;
use linkmend_protocol::{Mode, PerMode};
use serde::Serialize;
use std::collections::BTreeSet;

/// Frames of a source in flight at a time: more than the queues of a path hold.
const IN_FLIGHT_MAX: usize = 1 << 18;

/// What happened to the frames of one source, or of one class of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Delivery {
    /// Frames that the source produced.
    pub frames_sent: u64,
    /// Frames that left the network.
    pub frames_delivered: u64,
    /// Frames that did not.
    pub frames_undelivered: u64,
    /// `frames_undelivered / frames_sent`.
    pub loss_rate: f64,
    /// Frames that left after one of their class that was sent later.
    pub frames_reordered: u64,
    /// Frames that left a second time.
    pub frames_duplicated: u64,
    /// Frames that a queue marked on the way (ECN).
    pub frames_marked: u64,
    /// Octets delivered per time, from the first delivery to the last; Gbit/s.
    pub speed_gbps: f64,
    /// From entering the first queue (for a line-rate source: from leaving it) to leaving the network, ns.
    pub delay_ns: Percentiles,
    /// What became of those that the source's link corrupted.
    pub recovery: Recovery,
}

/// Frames that the first link corrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recovery {
    pub frames_lost: u64,
    /// Of those, the ones that left the network within `ackNoTimeout` of when they would have, and those that left later.
    pub in_time: u64,
    pub late: u64,
    pub never: u64,
    /// How much later than the fastest frame that was not lost they came, ns.
    pub extra_delay_ns: Percentiles,
}

/// Follows several streams.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Time,
    pub(super) streams: Vec<Stream>,
    /// Frames by time, if the loss rate changes.
    pub(super) buckets: Option<Buckets>,
}

/// The frames between a source and a sink.
#[derive(Debug)]
pub(super) struct Stream {
    source: PortId,
    sinks: [PortId; 2],
    /// Time between frames of a paced source; `None` at line rate.
    interval: Option<Time>,
    /// When the latest frames left the source, by their number modulo the length.
    sent_at: Vec<Time>,
    /// One bit for each frame that has arrived.
    seen: Vec<u64>,
    classes: PerMode<Class>,
    last_at: Time,
    gap: Option<Gap>,
}

#[derive(Debug, Default)]
struct Class {
    frames: u64,
    bytes: u64,
    /// When the first frame left the network, and its length.
    first: Option<(Time, u64)>,
    last_at: Time,
    next_id: u64,
    reordered: u64,
    duplicated: u64,
    marked: u64,
    delay: Histogram,
    /// Corrupted by the source's link, and not delivered.
    missing: BTreeSet<u64>,
    lost: u64,
    /// From sending to delivery: of frames that were lost, and the least of the others.
    recovered: Vec<Time>,
    usual: Option<Time>,
}

/// The time without a frame that a failure causes.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// What arrives until then had passed the link before it failed.
    until: Time,
    closed: Option<Time>,
}

impl Watch {
    pub(super) fn new(sources: &[Source], course: Option<&Course>) -> Watch {
        let stream = |source: &Source| Stream {
            source: source.port,
            sinks: source.sinks,
            interval: source.interval,
            sent_at: vec![Time::ZERO; IN_FLIGHT_MAX],
            seen: Vec::new(),
            classes: PerMode::default(),
            last_at: Time::ZERO,
            gap: None,
        };
        let buckets = course.and_then(|course| Some(Buckets::new(course, &sources[0], sources[0].interval?)));
        Watch { began: Time::ZERO, streams: sources.iter().map(stream).collect(), buckets }
    }

    /// The traffic begins now.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
        if let Some(buckets) = &mut self.buckets {
            buckets.began = now;
        }
    }

    /// What happened to the `sent` frames of a stream, or to those of `class`, if it is given. Lost frames are recovered in
    /// time within `timeout`.
    pub(super) fn delivery(&self, stream: usize, class: Option<Mode>, sent: u64, timeout: Time) -> Delivery {
        let classes = &self.streams[stream].classes;
        let of = |mode: Mode| class.is_none_or(|class| class == mode).then_some(&classes[mode]);
        let of: Vec<&Class> = Mode::ALL.into_iter().filter_map(of).collect();
        let sum = |what: fn(&Class) -> u64| of.iter().map(|class| what(class)).sum::<u64>();
        let frames = sum(|class| class.frames);
        let first = of.iter().filter_map(|class| class.first).min();
        let last_at = of.iter().map(|class| class.last_at).max().unwrap_or_default();
        let speed_gbps = match first {
            Some((at, bytes)) if at < last_at => {
                (sum(|class| class.bytes) - bytes) as f64 * 8e3 / (last_at - at).0 as f64
            }
            _ => 0.0,
        };
        let mut delay = Histogram::new();
        of.iter().for_each(|class| delay.merge(&class.delay));
        let undelivered = sent.saturating_sub(frames);
        Delivery {
            frames_sent: sent,
            frames_delivered: frames,
            frames_undelivered: undelivered,
            loss_rate: if sent == 0 { 0.0 } else { undelivered as f64 / sent as f64 },
            frames_reordered: sum(|class| class.reordered),
            frames_duplicated: sum(|class| class.duplicated),
            frames_marked: sum(|class| class.marked),
            speed_gbps,
            delay_ns: Percentiles::of(&delay),
            recovery: recovery(&of, timeout),
        }
    }
}

fn recovery(classes: &[&Class], timeout: Time) -> Recovery {
    let usual = classes.iter().filter_map(|class| class.usual).min().unwrap_or_default();
    let extra = |took: &Time| Time(took.0.saturating_sub(usual.0));
    let recovered: Vec<Time> = classes.iter().flat_map(|class| class.recovered.iter().map(extra)).collect();
    let mut delays = Histogram::new();
    recovered.iter().for_each(|delay| delays.record(delay.0));
    let lost: u64 = classes.iter().map(|class| class.lost).sum();
    let in_time = recovered.iter().filter(|delay| **delay <= timeout).count() as u64;
    Recovery {
        frames_lost: lost,
        in_time,
        late: recovered.len() as u64 - in_time,
        never: lost - recovered.len() as u64,
        extra_delay_ns: Percentiles::of(&delays),
    }
}

impl Stream {
    fn deliver(&mut self, began: Time, now: Time, frame: &Frame) {
        let class = &mut self.classes[frame.mode];
        let (word, bit) = ((frame.id / 64) as usize, 1 << (frame.id % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            class.duplicated += 1;
            return;
        }
        self.seen[word] |= bit;
        if let Some(gap) = &mut self.gap
            && gap.closed.is_none()
            && now > gap.until
        {
            gap.closed = Some(now - self.last_at);
        }
        self.last_at = now;
        let sent_at = self.sent_at[frame.id as usize % IN_FLIGHT_MAX];
        let born = self.interval.map_or(sent_at, |interval| Time(began.0 + frame.id * interval.0));
        let took = now - sent_at;
        class.frames += 1;
        class.bytes += u64::from(frame.bytes);
        class.first.get_or_insert((now, u64::from(frame.bytes)));
        class.last_at = now;
        class.reordered += u64::from(frame.id < class.next_id);
        class.next_id = class.next_id.max(frame.id + 1);
        class.marked += u64::from(frame.marked);
        class.delay.record((now - born).0);
        if class.missing.remove(&frame.id) {
            class.recovered.push(took);
        } else {
            class.usual = Some(class.usual.map_or(took, |usual| usual.min(took)));
        }
    }

    /// A link has failed; what arrives until `until` had passed it before.
    pub(super) fn cut(&mut self, until: Time) {
        self.gap = Some(Gap { until, closed: None });
    }

    /// From the last delivery before the latest failure to the first one after it.
    pub(super) fn recovery(&self) -> Option<Time> {
        self.gap?.closed
    }

    /// How many frames have arrived.
    pub(super) fn delivered(&self) -> u64 {
        Mode::ALL.into_iter().map(|mode| self.classes[mode].frames).sum()
    }
}

impl Observer for Watch {
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_>) {
        let Some(frame) = sent.frame.original() else { return };
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.source == port) else { return };
        stream.sent_at[frame.id as usize % IN_FLIGHT_MAX] = at;
        if sent.corrupted {
            let class = &mut stream.classes[frame.mode];
            class.lost += 1;
            class.missing.insert(frame.id);
        }
        if let Some(buckets) = &mut self.buckets {
            buckets.sent(at, sent.corrupted);
        }
    }

    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.sinks.contains(&port)) else {
            return;
        };
        stream.deliver(self.began, at, frame);
        if let Some(buckets) = &mut self.buckets {
            buckets.delivered(at, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{SINKS_OF_TWO, SOURCES_OF_TWO};
    use super::*;

    #[test]
    fn what_comes_twice_or_late_is_counted_and_a_gap_begins_with_the_last_frame_before_it() {
        let (port, sinks) = (SOURCES_OF_TWO[0], SINKS_OF_TWO[0]);
        let source = Source { name: String::new(), port, sinks, frames: 5, interval: Some(Time(1)) };
        let mut watch = Watch::new(&[source], None);
        let deliver = |watch: &mut Watch, at, id| {
            let (flow, mode) = (crate::link::FlowId(0), Mode::Ordered);
            let frame = Frame { id, flow, bytes: 1_518, mode, marked: false };
            watch.delivered(sinks[(id % 2) as usize], Time(at), &frame);
        };
        deliver(&mut watch, 10, 0);
        deliver(&mut watch, 20, 1);
        watch.streams[0].cut(Time(25));
        deliver(&mut watch, 24, 3);
        assert_eq!(watch.streams[0].recovery(), None);
        deliver(&mut watch, 70, 1);
        assert_eq!(watch.streams[0].recovery(), None, "it had arrived");
        deliver(&mut watch, 80, 2);
        deliver(&mut watch, 90, 4);
        assert_eq!(watch.streams[0].recovery(), Some(Time(56)));
        let delivery = watch.delivery(0, None, 5, Time::ZERO);
        assert_eq!(
            (delivery.frames_delivered, delivery.frames_duplicated, delivery.frames_reordered),
            (5, 1, 1)
        );
    }
}
