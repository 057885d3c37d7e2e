//! Two link ends and the link between them, in memory and in simulated time.

use linkmend_dataplane::bench::{BenchedEnd, Side};
use linkmend_dataplane::{LinkSettings, ProtectionSettings};
use linkmend_protocol::Mode;
use std::time::{Duration, Instant};

/// Frames that arrive between two rounds: nearly full load. A round takes 64, copies of lost frames included; if as many new
/// ones came, the queue would overflow in the end.
pub const BATCH: usize = 60;
/// Long enough for the frames and the longest header.
const MTU: u32 = 1500;
/// Chunks of a pool: enough for a window of 1,024 frames, which is more than arrive between two ACKs.
const POOL_CHUNKS: u32 = 8_192;
/// A million frames a second.
const ROUND_NS: u64 = 1_000 * BATCH as u64;
/// Where a frame carries its number: behind the headers of Ethernet and IPv4.
const NUMBER_AT: usize = 34;
const START_NS: u64 = 1_000_000_000;
/// How long sessions take to open and the last frames to arrive, at most, in rounds of [`QUIET_NS`].
const QUIET_ROUNDS_MAX: u32 = 10_000;
const QUIET_NS: u64 = 50_000;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// `None` forwards without protection.
    pub mode: Option<Mode>,
    /// The share of frames that the link loses, in the directions that carry traffic.
    pub loss: f64,
    /// Traffic in both directions, so that ACKs travel on frames and not alone.
    pub both_ways: bool,
    /// Length of a frame in memory, without check sequence.
    pub frame_bytes: usize,
}

/// One direction of the traffic.
struct Flow {
    active: bool,
    sent: u64,
    delivered: u64,
    /// The sum of the numbers of all delivered frames.
    sum: u64,
    template: Vec<u8>,
}

/// The link; see the module documentation. The traffic goes from end 0 to end 1, or both ways.
pub struct Link {
    case: Case,
    ends: [BenchedEnd; 2],
    flows: [Flow; 2],
    /// Time spent in the rounds of each end.
    pub spent: [Duration; 2],
    now_ns: u64,
    losses: Losses,
    buffer: Vec<u8>,
}

impl Link {
    /// Opens both ends, and their sessions if frames are to be protected.
    pub fn open(case: Case) -> Link {
        let active = [true, case.both_ways];
        let end = |index: usize| {
            let mut settings = LinkSettings::new("bench", "inner", "link");
            settings.seed = Some(index as u64);
            settings.pool_chunks = POOL_CHUNKS;
            settings.protection = case.mode.filter(|_| active[index]).map(ProtectionSettings::new);
            BenchedEnd::open(settings, MTU, START_NS).expect("it needs nothing of the system but memory")
        };
        let flow = |index: usize| Flow {
            active: active[index],
            sent: 0,
            delivered: 0,
            sum: 0,
            template: template(case.frame_bytes, index as u8),
        };
        let mut link = Link {
            case,
            ends: [end(0), end(1)],
            flows: [flow(0), flow(1)],
            spent: [Duration::ZERO; 2],
            now_ns: START_NS,
            losses: Losses { share: 0.0, state: 0x9e37_79b9_7f4a_7c15 },
            buffer: Vec::with_capacity(2_048),
        };
        let protects = active.map(|active| active && case.mode.is_some());
        let is_open = |link: &Link| {
            link.ends[0].is_open(protects[0], protects[1]) && link.ends[1].is_open(protects[1], protects[0])
        };
        link.quiet_until(is_open, "the sessions are open");
        link.losses.share = case.loss;
        link
    }

    /// Sends `frames` in each direction that has traffic. Returns how many that are.
    pub fn run(&mut self, frames: u64) -> u64 {
        let batches = frames.div_ceil(BATCH as u64);
        for _ in 0..batches {
            for index in 0..2 {
                self.offer(index);
            }
            self.round();
            self.now_ns += ROUND_NS;
        }
        batches * BATCH as u64 * self.flows.iter().filter(|flow| flow.active).count() as u64
    }

    /// Ends the traffic. Every frame that was to be protected must have arrived once, and so must all others on a link
    /// without losses.
    pub fn finish(mut self) {
        let arrived = |link: &Link| link.flows.iter().all(|flow| flow.delivered == flow.sent);
        self.quiet_until(arrived, "every frame has arrived");
        for flow in &self.flows {
            assert_eq!(flow.sum, (0..flow.sent).sum::<u64>(), "no frame twice: {:?}", self.case);
        }
    }

    fn quiet_until(&mut self, done: impl Fn(&Link) -> bool, what: &str) {
        for _ in 0..QUIET_ROUNDS_MAX {
            if done(self) {
                return;
            }
            self.round();
            self.now_ns += QUIET_NS;
        }
        let reports = self.ends.each_mut().map(|end| end.report());
        panic!("{what}: not after {QUIET_ROUNDS_MAX} rounds, {:?}\n{reports:#?}", self.case);
    }

    fn offer(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if !flow.active {
            return;
        }
        for _ in 0..BATCH {
            flow.template[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&flow.sent.to_be_bytes());
            assert!(self.ends[index].arrive(Side::Inner, &flow.template), "the port has room");
            flow.sent += 1;
        }
    }

    /// One round of each end. What an end sends is at the other one before its next round.
    fn round(&mut self) {
        for index in 0..2 {
            let began = Instant::now();
            self.ends[index].round(self.now_ns);
            self.spent[index] += began.elapsed();
            self.cross(index);
            self.deliver(index);
        }
    }

    /// Moves what has left the link port of one end to that of the other.
    fn cross(&mut self, index: usize) {
        let lossy = self.flows[index].active;
        while self.ends[index].depart(Side::Link, &mut self.buffer) {
            if !(lossy && self.losses.next()) {
                assert!(self.ends[1 - index].arrive(Side::Link, &self.buffer), "the port has room");
            }
        }
    }

    /// Looks at what has left the inner port of one end: frames of the other end's flow.
    fn deliver(&mut self, index: usize) {
        let ordered = self.case.mode != Some(Mode::NonBlocking);
        let flow = &mut self.flows[1 - index];
        while self.ends[index].depart(Side::Inner, &mut self.buffer) {
            assert_eq!(self.buffer.len(), self.case.frame_bytes, "{:?}", self.case);
            let number = &self.buffer[NUMBER_AT..NUMBER_AT + 8];
            let number = number.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            if ordered && number != flow.delivered {
                let delivered = flow.delivered;
                let reports = self.ends.each_mut().map(|end| end.report());
                panic!("frame {number} in place of {delivered}: {:?}\n{reports:#?}", self.case);
            }
            flow.delivered += 1;
            flow.sum += number;
        }
    }
}

/// A frame with the headers of Ethernet and IPv4.
fn template(bytes: usize, source: u8) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 1, 1 - source, 2, 0, 0, 0, 1, source, 0x08, 0x00]);
    frame[14] = 0x45;
    frame
}

/// Which frames are lost: xorshift, so that a run depends on nothing else.
struct Losses {
    share: f64,
    state: u64,
}

impl Losses {
    fn next(&mut self) -> bool {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state as f64) < self.share * u64::MAX as f64
    }
}
