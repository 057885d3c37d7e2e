//! Takes frames out of datagrams.

use crate::counters::Counters;
use crate::resequencer::{Resequencer, WAIT_MAX_NS};
use crate::wire::{self, FRAME_BYTES_MAX, FRAME_BYTES_MIN, Part, Record, Report};

/// A report follows a datagram after a quarter of a round trip, within these bounds.
const REPORT_MIN_NS: u64 = 2_000_000;
const REPORT_MAX_NS: u64 = 10_000_000;

/// The receiving half: datagrams in, frames out in the order of the outer numbers, each once.
#[derive(Debug)]
pub struct Receiver {
    order: Resequencer,
    assembly: Assembly,
    /// When a report is due; `None` if nothing has arrived since the latest.
    report_at_ns: Option<u64>,
    reported_at_ns: u64,
    /// How long a datagram that was given up may still come before it is reported as lost.
    grace_ns: u64,
}

/// The frame whose parts are arriving.
#[derive(Debug)]
struct Assembly {
    bytes: Vec<u8>,
    /// The outer number of the next part; `None` if no frame has begun.
    next: Option<u64>,
    incomplete_frames: u64,
}

impl Default for Receiver {
    fn default() -> Self {
        let assembly =
            Assembly { bytes: Vec::with_capacity(FRAME_BYTES_MAX), next: None, incomplete_frames: 0 };
        Receiver {
            order: Resequencer::default(),
            assembly,
            report_at_ns: None,
            reported_at_ns: 0,
            grace_ns: 0,
        }
    }
}

impl Receiver {
    /// Handles the body of a datagram with frames, which a queue may have marked. Calls `deliver` for each frame that is next.
    pub fn handle(
        &mut self,
        now_ns: u64,
        number: u64,
        body: &[u8],
        is_marked: bool,
        deliver: &mut impl FnMut(&[u8]),
    ) {
        let Receiver { order, assembly, .. } = self;
        let mut take = |number, body: &[u8]| assembly.take(number, body, deliver);
        order.handle(now_ns, number, body, is_marked, &mut take);
    }

    /// Gives up what has been waited for long enough, and delivers what waited behind it.
    pub fn handle_timeout(&mut self, now_ns: u64, deliver: &mut impl FnMut(&[u8])) {
        let Receiver { order, assembly, .. } = self;
        order.handle_timeout(now_ns, &mut |number, body| assembly.take(number, body, deliver));
    }

    /// When [`Receiver::handle_timeout`] and [`Receiver::poll_report`] are to be called.
    pub fn next_timeout(&self) -> Option<u64> {
        self.order.next_timeout().into_iter().chain(self.report_at_ns).min()
    }

    /// Something has arrived that the other end is to hear of. `round_trip_ns` is that of the path, if it is known.
    pub fn owe_report(&mut self, round_trip_ns: Option<u64>) {
        self.grace_ns = (round_trip_ns.unwrap_or(0) / 4).min(WAIT_MAX_NS);
        let interval_ns = (round_trip_ns.unwrap_or(0) / 4).clamp(REPORT_MIN_NS, REPORT_MAX_NS);
        self.report_at_ns.get_or_insert(self.reported_at_ns.saturating_add(interval_ns));
    }

    /// The report that is due.
    pub fn poll_report(&mut self, now_ns: u64) -> Option<Report> {
        self.report_at_ns.take_if(|at| now_ns >= *at)?;
        self.reported_at_ns = now_ns;
        self.order.report(now_ns, self.grace_ns)
    }

    /// Forgets a peer that was restarted, and the frames that waited. What is known of the path stays.
    pub fn restart(&mut self) {
        self.order.restart();
        self.report_at_ns = None;
        self.assembly.abandon();
    }

    /// How long the receiver waits for a missing datagram now, in nanoseconds.
    pub fn wait_ns(&self) -> u64 {
        self.order.wait_ns()
    }

    pub(crate) fn count(&self, counters: &mut Counters) {
        self.order.count(counters);
        counters.incomplete_frames = self.assembly.incomplete_frames;
    }
}

impl Assembly {
    fn take(&mut self, number: u64, body: &[u8], deliver: &mut impl FnMut(&[u8])) {
        for Record { part, bytes } in wire::records(body) {
            let continues = self.next == Some(number) && matches!(part, Part::Middle | Part::Last);
            if !continues {
                self.abandon();
            }
            match part {
                Part::Whole => deliver(bytes),
                Part::First => self.add(number, bytes),
                Part::Middle if continues => self.add(number, bytes),
                Part::Last if continues => {
                    self.add(number, bytes);
                    if self.next.take().is_some() && self.bytes.len() >= FRAME_BYTES_MIN {
                        deliver(&self.bytes);
                    }
                    self.bytes.clear();
                }
                // Its beginning was lost, and that has been counted.
                Part::Middle | Part::Last => {}
            }
        }
    }

    fn add(&mut self, number: u64, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > FRAME_BYTES_MAX {
            return self.abandon();
        }
        self.bytes.extend_from_slice(bytes);
        self.next = Some(number + 1);
    }

    fn abandon(&mut self) {
        self.incomplete_frames += u64::from(self.next.take().is_some());
        self.bytes.clear();
    }
}
