//! Figure 9: one transfer over a link that is healthy, then corrupts, then is protected.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Condition;
use super::slots::{Demo, DemoError};
use super::turns::{NoiseSummary, TurnPlan};
use crate::tcp::{self, BulkOptions, BulkReport, TcpError, TrafficPath};

const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The timeline of the transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// When corruption started, in seconds since the transfer began.
    pub corruption_at_s: f64,
    /// When protection started.
    pub protection_at_s: f64,
    /// One sample for every 50 ms.
    pub samples: Vec<TimelineSample>,
}

/// One interval of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineSample {
    /// End of the interval, in seconds since the transfer began.
    pub at_s: f64,
    /// Payload received in it, bit/s.
    pub goodput_bps: f64,
    /// Segments that the sending host's kernel retransmitted in it.
    pub retransmitted_segments: u64,
    /// The largest number of bytes in the Rx buffer during it.
    pub rx_buffer_bytes: u64,
    /// The largest number of bytes in the sending link end's queue during it.
    pub queue_bytes: u64,
}

/// Levels of the link ends, sampled during the transfer.
struct Levels {
    at_s: f64,
    rx_buffer_bytes: u64,
    queue_bytes: u64,
}

/// How often a disturbed transfer is repeated; each takes seconds.
const REPEATS: usize = 2;

pub(super) fn run(demo: &mut Demo) -> Result<(Timeline, NoiseSummary), DemoError> {
    let plan = TurnPlan { rounds: 1, repeats: REPEATS, tolerance: demo.options.tolerance };
    let course = [("healthy, corrupting, protected".to_owned(), ())];
    let (turns, calm) = demo.in_turns("timeline", &plan, &course, |demo, ()| measure(demo))?;
    let timeline = turns.slots.into_iter().flatten().next().map(|slot| slot.value);
    Ok((timeline.ok_or(DemoError::Stopped)?, calm))
}

fn measure(demo: &Demo) -> Result<Timeline, DemoError> {
    let phase = demo.options.phase_time;
    // Dormant in the daemon's view, but forwarded by it, so that frames take the same path in all phases.
    demo.set(Condition::Unprotected, 0.0)?;
    let options = BulkOptions {
        duration: phase * 3,
        warm_up: Duration::ZERO,
        sample_interval: SAMPLE_INTERVAL,
        congestion_control: "cubic".to_owned(),
        ..BulkOptions::default()
    };
    let path = TrafficPath::ipv4(demo.lab);
    std::thread::scope(|scope| {
        let transfer = scope.spawn(|| tcp::bulk(&path, &options, &demo.control));
        let started = Instant::now();
        let mut levels = Vec::new();
        let mut times = [0.0; 2];
        let conditions = [Condition::Unprotected, Condition::Ordered];
        sample_until(demo, started, started + phase, &mut levels)?;
        for (i, condition) in conditions.into_iter().enumerate() {
            times[i] = started.elapsed().as_secs_f64();
            demo.set(condition, demo.options.loss)?;
            sample_until(demo, started, started + phase * (i as u32 + 2), &mut levels)?;
        }
        let report: Result<BulkReport, TcpError> =
            transfer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let samples = join(&report?, &levels);
        Ok(Timeline { corruption_at_s: times[0], protection_at_s: times[1], samples })
    })
}

fn sample_until(
    demo: &Demo,
    started: Instant,
    until: Instant,
    levels: &mut Vec<Levels>,
) -> Result<(), DemoError> {
    while Instant::now() < until {
        if !demo.control.stop.sleep(SAMPLE_INTERVAL) {
            return Err(DemoError::Stopped);
        }
        let (sender, receiver) = demo.ends.report()?;
        demo.ends.reset_extremes()?;
        levels.push(Levels {
            at_s: started.elapsed().as_secs_f64(),
            rx_buffer_bytes: receiver.rx_buffer.max,
            queue_bytes: sender.queue.max,
        });
    }
    Ok(())
}

fn join(report: &BulkReport, levels: &[Levels]) -> Vec<TimelineSample> {
    let mut retransmitted_before = 0;
    report
        .samples
        .iter()
        .map(|sample| {
            let at_s = sample.at_ns as f64 / 1e9;
            let retransmitted = u64::from(sample.sender.retransmitted_segments);
            let new = retransmitted.saturating_sub(retransmitted_before);
            retransmitted_before = retransmitted;
            let level = levels.iter().min_by(|a, b| (a.at_s - at_s).abs().total_cmp(&(b.at_s - at_s).abs()));
            TimelineSample {
                at_s,
                goodput_bps: sample.goodput_bits_per_second,
                retransmitted_segments: new,
                rx_buffer_bytes: level.map_or(0, |level| level.rx_buffer_bytes),
                queue_bytes: level.map_or(0, |level| level.queue_bytes),
            }
        })
        .collect()
}
