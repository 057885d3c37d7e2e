//! Follows frames from their sources to where they leave the network.

use crate::measure::Histogram;
use crate::network::{Frame, Observer, PortId, Sent};
use crate::stress::{Percentiles, percentiles};
use crate::time::Time;
use linkmend_protocol::{Mode, PerMode};
use serde::Serialize;

/// Frames of a line-rate source under way at a time: more than the queues of a path hold.
const UNDER_WAY_MAX: usize = 1 << 18;

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
    /// Frames that a queue marked on the way (ECN).
    pub frames_marked: u64,
    /// Octets delivered per time, from the first delivery to the last; Gbit/s.
    pub speed_gbps: f64,
    /// From entering the first queue (for a line-rate source: from leaving it) to leaving the network, ns.
    pub delay_ns: Percentiles,
}

/// Follows several streams.
#[derive(Debug)]
pub(super) struct Watch {
    began: Time,
    streams: Vec<Stream>,
}

/// The frames between a source and a sink.
#[derive(Debug)]
struct Stream {
    source: PortId,
    sink: PortId,
    /// Time between frames of a paced source; `None` at line rate.
    interval: Option<Time>,
    /// When the latest frames of a line-rate source were sent, by their number modulo the length.
    sent_at: Vec<Time>,
    classes: PerMode<Class>,
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
    marked: u64,
    delay: Histogram,
}

impl Watch {
    /// Takes streams as (port of the source, port where they leave, interval of a paced source).
    pub(super) fn new(streams: impl IntoIterator<Item = (PortId, PortId, Option<Time>)>) -> Watch {
        let stream = |(source, sink, interval): (PortId, PortId, Option<Time>)| Stream {
            source,
            sink,
            interval,
            sent_at: if interval.is_none() { vec![Time::ZERO; UNDER_WAY_MAX] } else { Vec::new() },
            classes: PerMode::default(),
        };
        Watch { began: Time::ZERO, streams: streams.into_iter().map(stream).collect() }
    }

    /// The traffic begins now.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// What happened to the `sent` frames of a stream, or to those of `class`, if it is given.
    pub(super) fn delivery(&self, stream: usize, class: Option<Mode>, sent: u64) -> Delivery {
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
            frames_marked: sum(|class| class.marked),
            speed_gbps,
            delay_ns: percentiles(&delay),
        }
    }
}

impl Observer for Watch {
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_>) {
        let Some(frame) = sent.frame.original() else { return };
        let line_rate = |stream: &&mut Stream| stream.source == port && stream.interval.is_none();
        if let Some(stream) = self.streams.iter_mut().find(line_rate) {
            stream.sent_at[frame.id as usize % UNDER_WAY_MAX] = at;
        }
    }

    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.sink == port) else { return };
        let born = match stream.interval {
            Some(interval) => Time(self.began.0 + frame.id * interval.0),
            None => stream.sent_at[frame.id as usize % UNDER_WAY_MAX],
        };
        let class = &mut stream.classes[frame.mode];
        class.frames += 1;
        class.bytes += u64::from(frame.bytes);
        class.first.get_or_insert((at, u64::from(frame.bytes)));
        class.last_at = at;
        class.reordered += u64::from(frame.id < class.next_id);
        class.next_id = class.next_id.max(frame.id + 1);
        class.marked += u64::from(frame.marked);
        class.delay.record((at - born).0);
    }
}
