//! Two ends, two links, and the loop that runs them.

use super::config::{Cut, Noticed, Setting};
use super::end::End;
use super::report::{CutRow, Delivered, TwoLinksRow};
use super::wire::Wire;
use crate::event_queue::EventQueue;
use crate::link::LinkId;
use crate::network::{FailureTimes, OPENING_MAX};
use crate::random::Random;
use crate::scenario::{ParameterError, Progress};
use crate::time::Time;
use linkmend_protocol::paths::Path;

/// Frames between two calls of the progress function.
const PROGRESS_FRAMES: u64 = 1 << 16;
/// How much longer than its traffic a run may last, besides as long again; then it has stalled.
const PATIENCE: Time = Time::from_nanos(10_000_000);

/// Sources of events, in the order in which they act at one time.
const SOURCES: usize = 9;
const FAILURES: usize = 4;
const fn arrivals(end: usize, path: usize) -> usize {
    2 * end + path
}
const fn traffic(end: usize) -> usize {
    5 + end
}
const fn wake(end: usize) -> usize {
    7 + end
}

/// What happens next to the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Cut,
    /// Its ports lose their carrier.
    Noticed,
    Mend,
}

/// The failures of the links.
#[derive(Debug)]
struct Failures {
    times: FailureTimes,
    /// Which link fails, if that is by chance.
    random: Random,
    next: Change,
    at: Time,
    cut_at: Time,
    path: Path,
    left: u64,
}

/// What has been counted at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    lost: u64,
    resent: u64,
    duplicates: u64,
}

/// Two ends and two links.
#[derive(Debug)]
pub(super) struct World<'a> {
    setting: &'a Setting<'a>,
    now: Time,
    began: Time,
    ends: [End; 2],
    /// By sending end and path.
    wires: [[Wire; 2]; 2],
    events: EventQueue,
    failures: Failures,
    /// The failures so far, and what had been counted when the latest began.
    rows: Vec<CutRow>,
    before: Counts,
}

impl<'a> World<'a> {
    /// # Errors
    /// The first parameter that cannot be used.
    pub(super) fn new(setting: &'a Setting<'a>) -> Result<World<'a>, ParameterError> {
        let seed = setting.config.seed;
        let wire = |end: usize, path: usize| {
            Wire::new(&setting.link, end == 1, seed, &format!("corruption of path {path} from end {end}"))
        };
        Ok(World {
            setting,
            now: Time::ZERO,
            began: Time::ZERO,
            ends: [End::new(setting, 0)?, End::new(setting, 1)?],
            wires: [[wire(0, 0)?, wire(0, 1)?], [wire(1, 0)?, wire(1, 1)?]],
            events: EventQueue::new(SOURCES),
            failures: Failures {
                times: setting.failures(LinkId(0), Time::ZERO),
                random: Random::new(seed, "which link fails"),
                next: Change::Cut,
                at: Time::NEVER,
                cut_at: Time::NEVER,
                path: Path::Primary,
                left: setting.config.cuts,
            },
            rows: Vec::new(),
            before: Counts::default(),
        })
    }

    /// Opens the session, lets the frames come and links fail, and waits until all is delivered.
    ///
    /// # Errors
    /// Which parameter kept the session from opening.
    pub(super) fn run(mut self, progress: &mut Progress<'_>) -> Result<TwoLinksRow, ParameterError> {
        (0..2).for_each(|end| self.service(end));
        while !self.ends.iter().all(End::is_ready) {
            if !self.step(OPENING_MAX) {
                return Err(self.setting.link.not_opened(OPENING_MAX));
            }
        }
        self.begin();
        let lasts = self.setting.lasts();
        let deadline = self.began + lasts + lasts + PATIENCE;
        let (mut asked, mut wanted) = (0, true);
        while wanted && !self.is_drained() && self.step(deadline) {
            let produced = self.ends[0].source.produced;
            if produced >= asked + PROGRESS_FRAMES {
                asked = produced;
                wanted = progress(produced);
            }
        }
        self.end_row();
        let drained = self.is_drained();
        (0..2).for_each(|end| self.ends[end].note_buffers(self.is_down()));
        Ok(self.measure(drained, !wanted))
    }

    fn begin(&mut self) {
        self.began = self.now;
        self.failures.times = self.setting.failures(LinkId(0), self.began);
        self.failures.at = self.failures.times.at();
        self.events.set(FAILURES, self.failures.at);
        for end in 0..2 {
            self.ends[end].end.reset_buffer_extremes();
            self.ends[end].start(self.now);
            self.events.set(traffic(end), self.ends[end].source.next_at);
        }
    }

    fn is_drained(&self) -> bool {
        let delivered = |end: usize| self.ends[1 - end].tally.delivered == self.ends[end].source.frames;
        self.failures.left == 0 && self.ends.iter().all(End::is_idle) && (0..2).all(delivered)
    }

    fn is_down(&self) -> bool {
        self.failures.next != Change::Cut
    }

    /// Lets the next thing happen, unless that is later than `until`.
    fn step(&mut self, until: Time) -> bool {
        let Some((now, source)) = self.events.next().filter(|(at, _)| *at <= until) else { return false };
        self.now = now;
        match source {
            0..FAILURES => {
                let (end, path) = (source / 2, Path::ALL[source % 2]);
                if let Some(item) = self.wires[1 - end][source % 2].pop_arrival(now) {
                    self.ends[end].arrive(now, path, item);
                }
                self.events.set(source, self.wires[1 - end][source % 2].next_arrival());
                self.service(end);
            }
            FAILURES => {
                self.change();
                (0..2).for_each(|end| self.service(end));
            }
            _ if source < wake(0) => {
                let end = source - traffic(0);
                self.ends[end].generate(now);
                self.events.set(source, self.ends[end].source.next_at);
                self.service(end);
            }
            _ => self.service(source - wake(0)),
        }
        true
    }

    fn service(&mut self, end: usize) {
        let (this, wires) = (&mut self.ends[end], &mut self.wires[end]);
        this.service(self.now, wires);
        self.events.set(wake(end), this.wakes_at(self.now, wires));
        for (path, wire) in wires.iter().enumerate() {
            self.events.set(arrivals(1 - end, path), wire.next_arrival());
        }
    }

    /// A link fails, is known to have failed, or works again.
    fn change(&mut self) {
        let Setting { config, detection, .. } = self.setting;
        match self.failures.next {
            Change::Cut => {
                self.cut();
                let noticed = config.noticed == Noticed::Carrier;
                let (next, after) = if noticed {
                    (Change::Noticed, detection.time())
                } else {
                    (Change::Mend, config.down_for)
                };
                (self.failures.next, self.failures.at) = (next, self.now + after);
            }
            Change::Noticed => {
                self.set_carrier(false);
                (self.failures.next, self.failures.at) =
                    (Change::Mend, self.failures.cut_at + config.down_for);
            }
            Change::Mend => {
                let path = self.failures.path as usize;
                self.wires.iter_mut().for_each(|wires| wires[path].mend());
                if config.noticed == Noticed::Carrier {
                    self.set_carrier(true);
                }
                self.mended();
                self.failures.times.skip_to(self.now);
                let goes_on = self.failures.left > 0;
                let at = if goes_on { self.failures.times.at() } else { Time::NEVER };
                (self.failures.next, self.failures.at) = (Change::Cut, at);
            }
        }
        self.events.set(FAILURES, self.failures.at);
    }

    fn set_carrier(&mut self, has_carrier: bool) {
        for end in &mut self.ends {
            end.paths.handle_carrier(self.now.instant(), self.failures.path, has_carrier);
        }
    }

    fn cut(&mut self) {
        self.end_row();
        let config = self.setting.config;
        let is_other = config.cut == Cut::Either && self.failures.random.uniform() < 0.5;
        let path = if is_other { Path::Backup } else { Path::Primary };
        self.failures.left -= 1;
        (self.failures.path, self.failures.cut_at) = (path, self.now);
        self.before = self.counts();
        self.rows.push(CutRow {
            at_us: micros(self.now - self.began),
            link: path,
            in_use: self.ends[0].paths.active() == path,
            ..CutRow::default()
        });
        for end in 0..2 {
            self.wires[end][path as usize].cut(self.now);
            self.events.set(arrivals(1 - end, path as usize), self.wires[end][path as usize].next_arrival());
            self.ends[end].note_buffers(false);
            self.ends[end].tally.cut(self.now + self.setting.link.ingress_latency());
        }
    }

    /// The latest failure is over.
    fn mended(&mut self) {
        self.ends.iter_mut().for_each(|end| end.note_buffers(true));
        let (now, before) = (self.counts(), self.before);
        if let Some(row) = self.rows.last_mut() {
            row.frames_lost = now.lost - before.lost;
            row.frames_resent = now.resent - before.resent;
            row.duplicates_dropped = now.duplicates - before.duplicates;
        }
    }

    /// Takes down how long the latest failure was felt.
    fn end_row(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.recovery_us = self.ends[1].tally.recovery().map(micros);
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            lost: self.wires[0].iter().map(|wire| wire.lost_by_cuts).sum(),
            resent: self.ends[0].end.stats().resent_frames,
            duplicates: self.ends[1].end.stats().duplicates_dropped,
        }
    }

    fn measure(self, drained: bool, interrupted: bool) -> TwoLinksRow {
        let World { setting, ends: [sender, receiver], wires, rows, .. } = &self;
        let (sent, received) = (sender.end.stats(), receiver.end.stats());
        let counts = self.counts();
        let reverse = receiver.source.frames > 0;
        TwoLinksRow {
            forward: Delivered::new(sender.source.produced, &receiver.tally),
            reverse: reverse.then(|| Delivered::new(receiver.source.produced, &sender.tally)),
            frames_cut: counts.lost,
            frames_corrupted: wires[0].iter().map(|wire| wire.corrupted).sum(),
            frames_resent: counts.resent,
            copies_sent: sent.retransmitted_copies,
            duplicates_dropped: counts.duplicates,
            late_frames: receiver.late_frames,
            steady_buffer_bytes: sender.steady_bytes_max,
            failed_buffer_bytes: sender.failed_bytes_max,
            rx_buffer_bytes: receiver.rx_bytes_max.max(received.rx_buffer.max),
            queue_bytes: sender.queue_bytes_max,
            failovers: sender.paths.stats().failovers,
            returns: sender.paths.stats().moves,
            drained,
            interrupted,
            ..TwoLinksRow::new(setting, "linkguardian", rows.clone())
        }
    }
}

pub(super) fn micros(time: Time) -> f64 {
    time.as_nanos() / 1e3
}
