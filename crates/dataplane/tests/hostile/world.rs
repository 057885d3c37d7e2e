//! Two link ends, the link between them, the hosts behind them and the stranger, in virtual time.

use crate::hosts::{self, pick};
use crate::ledger::{Ledger, pad};
use crate::rules::{Case, Holds, Stranger};
use crate::stranger::{self, Memory};
use linkmend_control::LinkReport;
use linkmend_control::report::FallbackLevel;
use linkmend_dataplane::bench::{BenchedEnd, Side};
use linkmend_dataplane::{LinkSettings, ProtectionSettings};
use linkmend_protocol::Mode;
use linkmend_protocol::wire::{HEADER_GROWTH_MAX, SEALED_GROWTH_MAX};
use linkmend_random::Random;
use std::os::unix::fs::OpenOptionsExt as _;

/// Of the link's ports: room for the longest honest frame with each header. Hostile hosts send longer ones.
const MTU: u32 = 1_512;
const ROOM: usize = MTU as usize + 14;
const POOL_CHUNKS: u32 = 8_192;
pub const START_NS: u64 = 1_000_000_000;
/// Losses that resolve 1 % in a short run, too.
const LOSS: f64 = 0.01;
/// Frames over which an end measures the loss that it reports for what it sends.
const LOSS_WINDOW_FRAMES: u32 = 20_000;
/// How long everything may take to arrive, and an end to know its peer again.
const QUIET_NS: u64 = 30_000_000_000;
/// How long after a sender has returned to ordered mode what it sent before may arrive.
const FALLEN_BACK_NS: u64 = 1_000_000_000;
/// The largest relative error of a reported loss, and how many losses resolve that.
const LOSS_ERROR_MAX: f64 = 0.01;
const LOSSES_MIN: u64 = 300;
/// One in as many steps begins a pause.
const PAUSE_EVERY: u64 = 4_000;

/// The mean of the loss rates that an end reported for what it sends, and of what was true then.
#[derive(Debug, Default)]
struct Measured {
    latest: Option<f64>,
    windows: u64,
    sum: f64,
    /// Originals that had left, and how many were lost, when the latest window ended.
    until: (u64, u64),
}

pub struct World {
    case: Case,
    seed: u64,
    ends: [BenchedEnd; 2],
    /// By the end that sends.
    ledgers: [Ledger; 2],
    heard: [Memory; 2],
    measured: [Measured; 2],
    random: Random,
    hostile: Random,
    now_ns: u64,
    steps: u64,
    honest_frames: u64,
    hostile_frames: [u64; 2],
    /// Steps without traffic that are left.
    pause: u64,
    /// Until when frames of an end that has fallen back may be late.
    late_until_ns: [u64; 2],
    buffer: Vec<u8>,
}

/// Two link ends, which have not met.
pub fn open_ends(case: Case, seed: u64) -> [BenchedEnd; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    let create =
        || std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&key);
    let key_text = b"000102030405060708090a0b0c0d0e0f";
    std::io::Write::write_all(&mut create().expect("created"), key_text).expect("written");
    [0, 1].map(|index| {
        let mut settings = LinkSettings::new("hostile", "inner", "link");
        settings.seed = Some(2 * seed + index as u64);
        settings.pool_chunks = POOL_CHUNKS;
        let protection = ProtectionSettings::new(Mode::Ordered);
        settings.protection = case.protects[index].then_some(protection);
        settings.key = case.has_key.then(|| key.clone());
        settings.overrides.loss_window_frames = Some(LOSS_WINDOW_FRAMES);
        BenchedEnd::open(settings, MTU, START_NS).expect("it needs nothing of the system but memory")
    })
}

impl World {
    pub fn open(case: Case, seed: u64) -> World {
        let mut world = World {
            case,
            seed,
            ends: open_ends(case, seed),
            ledgers: Default::default(),
            heard: Default::default(),
            measured: Default::default(),
            random: Random::new(seed, "the link and honest hosts"),
            hostile: Random::new(seed, "hostile hosts and strangers"),
            now_ns: START_NS,
            steps: 0,
            honest_frames: 0,
            hostile_frames: [0; 2],
            pause: 0,
            late_until_ns: [0; 2],
            buffer: Vec::with_capacity(2_048),
        };
        world.settle("the sessions are open");
        world
    }

    /// Lets hosts and stranger send for as long.
    pub fn run(&mut self, length_ns: u64) {
        let until = self.now_ns + length_ns;
        while self.now_ns < until {
            if self.pause == 0 && pick(&mut self.random, PAUSE_EVERY) == 0 {
                self.pause = 1 + pick(&mut self.random, 200);
            }
            self.pause = self.pause.saturating_sub(1);
            // From busy to nearly idle: 20 us to 2 ms, uniform on a logarithmic scale.
            let gap = 20e3 * 100_f64.powf(self.random.uniform());
            self.now_ns += gap as u64;
            for end in 0..2 {
                if self.pause == 0 {
                    self.offer(end);
                }
                self.intrude(end);
            }
            self.round(self.case.holds(), LOSS);
            if self.steps.is_multiple_of(64) {
                self.measure();
            }
        }
    }

    /// The hosts behind an end send.
    fn offer(&mut self, end: usize) {
        let mut frame = std::mem::take(&mut self.buffer);
        for _ in 0..pick(&mut self.random, 4) {
            self.honest_frames += 1;
            hosts::honest(&mut self.random, end, self.honest_frames, &mut frame);
            self.host_sends(end, &frame);
        }
        for _ in 0..pick(&mut self.hostile, 3) {
            let memory = &self.heard[pick(&mut self.hostile, 2) as usize];
            let heard = memory.recall(&mut self.hostile);
            hosts::hostile(&mut self.hostile, self.hostile_frames[0], heard, &mut frame);
            self.host_sends(end, &frame);
            self.hostile_frames[0] += 1;
        }
        self.buffer = frame;
    }

    fn host_sends(&mut self, end: usize, frame: &[u8]) {
        let growth = if self.case.has_key { SEALED_GROWTH_MAX } else { HEADER_GROWTH_MAX };
        assert!(self.ends[end].arrive(Side::Inner, frame), "the port has room");
        if self.case.holds() > Holds::Afterwards {
            let is_protected = self.case.protects[end] && frame.len() + growth <= ROOM;
            self.ledgers[end].send(frame, is_protected);
        }
    }

    /// The stranger sends frames that arrive at an end.
    fn intrude(&mut self, end: usize) {
        if self.case.stranger == Stranger::None {
            return;
        }
        let mut frame = std::mem::take(&mut self.buffer);
        for _ in 0..pick(&mut self.hostile, 4) {
            let heard = [&self.heard[0], &self.heard[1]];
            stranger::frame(&mut self.hostile, self.case.stranger, heard, &mut frame);
            pad(&mut frame);
            let is_judged = self.case.protects[1 - end] && self.case.holds() == Holds::Everything;
            self.ledgers[1 - end].intrude(&frame, self.case.has_key, is_judged);
            assert!(self.ends[end].arrive(Side::Link, &frame), "the port has room");
            self.hostile_frames[1] += 1;
        }
        self.buffer = frame;
    }

    /// One round of each end. What an end sends is at the other one before its next round.
    fn round(&mut self, holds: Holds, loss: f64) {
        self.steps += 1;
        let mut frame = std::mem::take(&mut self.buffer);
        for end in 0..2 {
            self.ends[end].round(self.now_ns);
            while self.ends[end].depart(Side::Link, &mut frame) {
                pad(&mut frame);
                let is_lost = self.random.uniform() < loss;
                self.ledgers[end].cross(&frame, is_lost);
                if !is_lost {
                    self.heard[1 - end].hear(&mut self.hostile, &frame);
                    assert!(self.ends[1 - end].arrive(Side::Link, &frame), "the port has room");
                }
            }
            let holds = self.holds_now(1 - end, holds);
            while self.ends[end].depart(Side::Inner, &mut frame) {
                if let Err(wrong) = self.ledgers[1 - end].deliver(&frame, holds) {
                    self.fail(&format!("at end {end}: {wrong}"));
                }
            }
        }
        self.buffer = frame;
    }

    /// What holds of a sender's frames now: while it has fallen back, and until what it sent then has arrived, they may be late.
    fn holds_now(&mut self, sender: usize, holds: Holds) -> Holds {
        if holds != Holds::Order {
            return holds;
        }
        if self.ends[sender].report().fallback_level != FallbackLevel::Full {
            self.late_until_ns[sender] = self.now_ns + FALLEN_BACK_NS;
        }
        if self.now_ns < self.late_until_ns[sender] { Holds::NoDuplicates } else { holds }
    }

    /// Waits, without traffic and losses, until both sessions are open and everything has arrived.
    fn settle(&mut self, what: &str) {
        let (until, protects) = (self.now_ns + QUIET_NS, self.case.protects);
        loop {
            let is_open = (0..2).all(|end| self.ends[end].is_open(protects[end], protects[1 - end]));
            let arrived = self.reports().iter().all(|report| report.tx_buffer.now == 0);
            if is_open && arrived {
                return;
            }
            if self.now_ns > until {
                self.fail(&format!("{what}: not after {} s", QUIET_NS / 1_000_000_000));
            }
            self.now_ns += 100_000;
            self.round(self.case.holds(), 0.0);
        }
    }

    fn reports(&mut self) -> [LinkReport; 2] {
        self.ends.each_mut().map(BenchedEnd::report)
    }

    /// Notes the loss that the ends report for what they send.
    fn measure(&mut self) {
        for (end, report) in self.reports().iter().enumerate() {
            let (measured, on_link) = (&mut self.measured[end], &self.ledgers[end].on_link);
            if let Some(loss) = report.measured_loss.filter(|&loss| measured.latest != Some(loss)) {
                measured.latest = Some(loss);
                measured.windows += 1;
                measured.sum += loss;
                measured.until = (on_link.originals, on_link.originals_lost);
            }
        }
    }

    /// Checks the books when everything has arrived.
    pub fn judge(mut self) {
        self.settle("everything has arrived");
        self.ledgers.iter_mut().for_each(Ledger::close);
        let reports = self.reports();
        for (end, report) in reports.iter().enumerate() {
            let (sent, received) = (&self.ledgers[end], &self.ledgers[1 - end]);
            println!(
                "end {end}: {} frames of hosts, {} delivered there ({} late), {} of strangers; the link lost {} of {}, reported {}; \
                 {} forged, {} ambiguous",
                sent.sent,
                received.delivered,
                received.late,
                received.strange_delivered,
                received.on_link.originals_lost,
                received.on_link.originals,
                report.counters.lost_frames,
                report.counters.forged_frames,
                report.counters.ambiguous_frames,
            );
        }
        let (seconds, [hosts, strangers]) = ((self.now_ns - START_NS) / 1_000_000_000, self.hostile_frames);
        println!(
            "{seconds} s, {} rounds, {hosts} hostile frames of hosts, {strangers} of strangers",
            self.steps
        );
        if self.case.holds() == Holds::Afterwards {
            return self.works_again();
        }
        for end in 0..2 {
            self.judge_sessions(end, &reports[end]);
            self.judge_missing(end, &reports[end]);
            if self.case.holds() == Holds::Everything && self.case.protects[end] {
                self.judge_loss(end, &reports);
            }
        }
    }

    fn judge_sessions(&mut self, end: usize, report: &LinkReport) {
        let counters = &report.counters;
        let sessions = [counters.sessions_opened, counters.sessions_accepted, counters.peers_lost];
        let expected = [u64::from(self.case.protects[end]), u64::from(self.case.protects[1 - end]), 0];
        self.check(sessions == expected, &format!("sessions of end {end}: {sessions:?}"));
        self.check(report.peer_known && report.third_end.is_none(), "the peer is known, and alone");
    }

    fn judge_missing(&mut self, end: usize, report: &LinkReport) {
        let ledger = &self.ledgers[end];
        let counters = &report.counters;
        let dropped = counters.ambiguous_frames + counters.oversize_dropped_frames;
        let (missing, expected) = (ledger.unprotected_missing, ledger.on_link.unprotected_lost + dropped);
        let protected = ledger.missing;
        if self.case.holds() == Holds::Everything {
            self.check(
                missing == expected,
                &format!("{missing} unprotected frames are missing, not {expected}"),
            );
            self.check(protected == 0, &format!("{protected} protected frames are missing"));
        } else {
            let strangers = self.hostile_frames[1];
            self.check(
                protected <= strangers,
                &format!("{protected} frames are missing, {strangers} were sent"),
            );
        }
    }

    fn judge_loss(&mut self, end: usize, reports: &[LinkReport; 2]) {
        let on_link = self.ledgers[end].on_link;
        let reported = reports[1 - end].counters.lost_frames as f64;
        let error = reported / on_link.originals_lost as f64 - 1.0;
        self.check(on_link.originals_lost >= LOSSES_MIN, "enough frames are lost to tell");
        self.check(error.abs() <= LOSS_ERROR_MAX, &format!("the receiver's loss is wrong by {error:.4}"));
        let measured = &self.measured[end];
        let (originals, lost) = measured.until;
        let mean = measured.sum / measured.windows as f64;
        let error = mean / (lost as f64 / originals as f64) - 1.0;
        println!("the loss reported by sender {end} is wrong by {error:.5}, in {} windows", measured.windows);
        self.check(error.abs() <= LOSS_ERROR_MAX, &format!("the sender's loss is wrong by {error:.4}"));
    }

    /// Without a stranger, everything holds.
    fn works_again(&mut self) {
        let stranger = std::mem::replace(&mut self.case.stranger, Stranger::None);
        self.run(1_000_000_000);
        self.settle("everything has arrived afterwards");
        self.case.stranger = stranger;
        self.ledgers.iter_mut().for_each(Ledger::close);
        let missing = self.ledgers[0].missing + self.ledgers[1].missing;
        self.check(missing == 0, &format!("{missing} frames are missing afterwards"));
    }

    fn check(&mut self, holds: bool, what: &str) {
        if !holds {
            self.fail(what);
        }
    }

    fn fail(&mut self, what: &str) -> ! {
        let reports = self.reports().map(|report| report.counters);
        panic!(
            "{what}\n{:?}, seed {}, at {} ns, in round {}\n{reports:#?}",
            self.case, self.seed, self.now_ns, self.steps
        );
    }
}
