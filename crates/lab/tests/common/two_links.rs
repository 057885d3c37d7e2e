//! Two link ends with two links, datagrams through them, and cuts.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

use std::time::{Duration, Instant};

use linkmend_control::LinkReport;
use linkmend_control::report::FailoverReport;
use linkmend_dataplane::ProtectionSettings;
use linkmend_dataplane::config::LinkUse;
use linkmend_lab::datagrams::{self, DatagramOptions, DatagramReport};
use linkmend_lab::tcp::{TrafficPath, wait_until_reachable};
use linkmend_lab::{
    BackupLink, Cut, DelayLines, Direction, Impairments, Lab, LabOptions, LinkEnds, Path, RunControl,
    StopFlag,
};
use linkmend_protocol::Mode;

/// So long that a gap of it is none that a busy machine makes in most windows.
pub const DETECTION: Duration = Duration::from_millis(100);
/// Half a cycle a link is cut, and half a cycle both are whole.
pub const CYCLE: Duration = Duration::from_millis(600);
pub const CUTS: u32 = 8;
/// Before the first cut.
pub const WARM_UP: Duration = Duration::from_millis(300);
/// How often a busy machine is asked for a run in which most windows are calm.
pub const TRIES: u32 = 3;
pub const PATIENCE: Duration = Duration::from_secs(10);

pub struct Pair {
    pub ends: LinkEnds,
    /// They end with the pair.
    _lines: Option<DelayLines>,
    pub lab: Lab,
}

/// What waits for the links at most: the bandwidth-delay product of both links, several times.
const QUEUE_BYTES: u64 = 1 << 20;

impl Pair {
    /// Two links of these delays, in ms, between ends that use them in these ways.
    pub fn new(name: &str, delays_ms: [u64; 2], uses: [LinkUse; 2]) -> Pair {
        Pair::with_rates(name, delays_ms, [None; 2], uses)
    }

    /// The same with these rates, in bit/s.
    pub fn with_rates(
        name: &str,
        delays_ms: [u64; 2],
        rates_bps: [Option<u64>; 2],
        uses: [LinkUse; 2],
    ) -> Pair {
        let [primary, backup] = delays_ms.map(Duration::from_millis);
        let [rate_bps, backup_bps] = rates_bps;
        let options = LabOptions {
            impairments: Impairments {
                rate_bps,
                link_delay: primary,
                queue_bytes: rate_bps.map(|_| QUEUE_BYTES),
                ..Impairments::default()
            },
            backup: Some(BackupLink { rate_bps: backup_bps, delay: backup }),
            ..crate::common::options(name)
        };
        let lab = Lab::up(options).expect("the lab comes up");
        let lines = DelayLines::start(&lab).expect("the lines start");
        let ends = LinkEnds::start_with(&lab, |settings| {
            let is_second = settings.name.ends_with('2');
            settings.seed = Some(7 ^ u64::from(is_second));
            if let Some(backup) = &mut settings.backup {
                backup.link_use = uses[usize::from(is_second)];
                backup.detection = DETECTION;
            }
        });
        let pair = Pair { ends: ends.expect("the link ends start"), _lines: lines, lab };
        let ordered = || Some(ProtectionSettings::new(Mode::Ordered));
        pair.ends.protect(ordered()).expect("it gets active");
        pair.ends.protect_reverse(ordered()).expect("it gets active");
        // While a host's kernel asks for the other's address, it holds datagrams back, and when it knows it, a new one may overtake them.
        wait_until_reachable(&TrafficPath::ipv4(&pair.lab), PATIENCE, &StopFlag::new()).expect("it answers");
        pair.wait_for("both ends hear each other on both links", |two| two.heard == [true; 2]);
        pair
    }

    pub fn reports(&self) -> [LinkReport; 2] {
        self.ends.report().expect("a report").into()
    }

    pub fn failovers(&self) -> [FailoverReport; 2] {
        self.reports().map(|report| report.failover.expect("two links"))
    }

    pub fn wait_for(&self, what: &str, reached: impl Fn(&FailoverReport) -> bool) {
        let begun = Instant::now();
        while !self.failovers().iter().all(&reached) {
            assert!(begun.elapsed() < PATIENCE, "{what}: {:#?}", self.reports());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends datagrams from left to right while links are cut in turns.
    pub fn send(&self) -> Course {
        let options = DatagramOptions {
            duration: WARM_UP + CYCLE * CUTS + Duration::from_millis(300),
            per_second: 5_000,
            drain: Duration::from_secs(2),
            ..DatagramOptions::default()
        };
        let path = TrafficPath::ipv4(&self.lab);
        let before = self.reports();
        std::thread::scope(|scope| {
            let began = Instant::now();
            let traffic = scope.spawn(|| datagrams::send(&path, &options, &RunControl::default()));
            let wait_until = |at: Duration| std::thread::sleep(at.saturating_sub(began.elapsed()));
            let mut gaps = Vec::new();
            for index in 0..CUTS {
                let link = if index % 2 == 0 { Path::Primary } else { Path::Backup };
                let cut = if index % 4 < 2 { Cut::Silent(Direction::Both) } else { Cut::Carrier };
                wait_until(WARM_UP + CYCLE * index);
                let at = began.elapsed();
                self.lab.cut(link, cut).expect("it is cut");
                let done = began.elapsed();
                wait_until(WARM_UP + CYCLE * index + CYCLE / 2);
                self.lab.mend(link).expect("it is mended");
                gaps.push((link, cut, at, done));
            }
            let datagrams = traffic.join().expect("no panic").expect("the traffic runs");
            Course { datagrams, gaps, before, after: self.reports() }
        })
    }
}

/// What happened to the datagrams of a run with cuts.
#[derive(Debug)]
pub struct Course {
    pub datagrams: DatagramReport,
    /// What was cut, how, when it began to be, and when it was.
    gaps: Vec<(Path, Cut, Duration, Duration)>,
    before: [LinkReport; 2],
    pub after: [LinkReport; 2],
}

impl Course {
    /// What both ends have counted.
    fn counted(&self, count: impl Fn(&LinkReport) -> u64) -> u64 {
        let sum = |reports: &[LinkReport; 2]| reports.iter().map(&count).sum::<u64>();
        sum(&self.after) - sum(&self.before)
    }

    /// The longest gap after each cut of a link, and before it, in as long a time.
    fn gaps_ms(&self, of: Path) -> [Vec<f64>; 2] {
        let span = CYCLE / 2 - Duration::from_millis(50);
        let longest = |from: Duration, to: Duration| {
            self.datagrams.longest_silence_ns(from.as_nanos() as u64, to.as_nanos() as u64) as f64 / 1e6
        };
        let cuts = || self.gaps.iter().filter(move |(link, ..)| *link == of);
        let cut = cuts().map(|&(_, _, at, done)| longest(at, done + span)).collect();
        let whole = cuts().map(|&(_, _, at, _)| longest(at.saturating_sub(span), at)).collect();
        [cut, whole]
    }

    /// Whether the gaps after most cuts are hardly longer than those before them.
    pub fn has_no_longer_gaps(&self) -> bool {
        let limit = DETECTION.as_secs_f64() * 1e3 / 4.0;
        Path::ALL.into_iter().all(|path| {
            let [cut, whole] = self.gaps_ms(path).map(median);
            cut < whole + limit
        })
    }

    /// Demands that nothing was lost, duplicated or reordered. A run says nothing in which the machine kept an end from running for
    /// so long that the kernel took over.
    pub fn judge(&self, what: &str) {
        let stalls = self.counted(|report| report.counters.stalls);
        let DatagramReport { sent, lost, duplicated, reordered, .. } = self.datagrams;
        let copies = self.counted(|report| report.counters.retransmitted_copies);
        let resent = self.counted(|report| report.failover.as_ref().map_or(0, |two| two.resent_frames));
        println!(
            "{what}: sent {sent}, lost {lost}, duplicated {duplicated}, reordered {reordered}, retransmitted {copies}, \
             resent {resent}, stalls {stalls}"
        );
        for path in Path::ALL {
            let [cut, whole] = self.gaps_ms(path);
            println!("  gaps of the {path}: cut {cut:.1?} ms, whole {whole:.1?} ms");
        }
        if stalls > 0 {
            eprintln!(
                "\n######## NOT JUDGED: {what}: the machine stalled a link end {stalls} times ########\n"
            );
        } else {
            assert_eq!((lost, duplicated, reordered), (0, 0, 0), "{what}: {self:#?}");
        }
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
