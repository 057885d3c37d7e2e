//! Cuts, with traffic on the link.

use std::time::{Duration, Instant};

use linkmend_protocol::paths::Path;

use super::host::TcpCounters;
use super::stage::Stage;
use super::{
    CutCourse, CutKind, DatagramCourse, FailoverColumn, FailoverError, FailoverOptions, GoodputSample,
    ReportedChange, Survivor, TransferCourse, gap,
};
use crate::datagrams::{self, DatagramOptions};
use crate::stop::RunControl;
use crate::tcp::{self, BulkOptions, BulkReport, TrafficPath};
use crate::topology::Role;

/// Time between two looks at the receiver: what a gap is exact to.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);
/// Samples that become one of the result.
const SAMPLES_TOGETHER: usize = 25;
/// How long TCP may take to find its rate.
const SETTLE: Duration = Duration::from_millis(500);

/// A cut as it was made.
struct Made {
    at: Duration,
    reported: Option<ReportedChange>,
}

/// Runs a transfer and then datagrams, each through all cuts of one kind.
pub(super) fn run(
    stage: &Stage,
    options: &FailoverOptions,
    survivor: Survivor,
    kind: CutKind,
    control: &RunControl,
) -> Result<FailoverColumn, FailoverError> {
    let stalls = stage.stalls()?;
    let transfer = transfer(stage, options, kind, control)?;
    let datagrams = datagrams(stage, options, kind, control)?;
    Ok(FailoverColumn { survivor, kind, transfer, datagrams, stalls: stage.stalls()? - stalls })
}

fn transfer(
    stage: &Stage,
    options: &FailoverOptions,
    kind: CutKind,
    control: &RunControl,
) -> Result<TransferCourse, FailoverError> {
    let bulk = BulkOptions {
        duration: options.duration(),
        warm_up: Duration::ZERO,
        sample_interval: SAMPLE_INTERVAL,
        ..BulkOptions::default()
    };
    let path = TrafficPath::ipv4(&stage.lab);
    let host = stage.lab.namespace(Role::Host1);
    let before = TcpCounters::read(host)?;
    let (report, made) = with_traffic(stage, options, kind, control, || tcp::bulk(&path, &bulk, control))?;
    let counted = TcpCounters::read(host)?.since(before);
    let report = report?;
    let delivered = || report.samples.iter().map(|sample| (sample.at_ns, sample.received_bytes > 0));
    let cuts = cuts(options, made, |from, to| gap::longest(delivered(), from, to));
    let (samples, whole_bps) = (samples(&report), mean(&report, SETTLE, options.whole));
    Ok(TransferCourse {
        cuts,
        samples,
        goodput_bps: report.goodput_bits_per_second,
        whole_bps,
        retransmitted_segments: counted.retransmitted_segments,
        timeouts: counted.timeouts,
        loss_probes: counted.loss_probes,
    })
}

fn datagrams(
    stage: &Stage,
    options: &FailoverOptions,
    kind: CutKind,
    control: &RunControl,
) -> Result<DatagramCourse, FailoverError> {
    let numbered = DatagramOptions {
        duration: options.duration(),
        per_second: options.datagrams_per_second,
        ..DatagramOptions::default()
    };
    let path = TrafficPath::ipv4(&stage.lab);
    let (report, made) =
        with_traffic(stage, options, kind, control, || datagrams::send(&path, &numbered, control))?;
    let report = report?;
    Ok(DatagramCourse {
        cuts: cuts(options, made, |from, to| report.longest_silence_ns(from, to)),
        sent: report.sent,
        lost: report.lost,
        duplicated: report.duplicated,
        reordered: report.reordered,
    })
}

/// Runs the traffic in a thread, and the cuts beside it.
fn with_traffic<T: Send>(
    stage: &Stage,
    options: &FailoverOptions,
    kind: CutKind,
    control: &RunControl,
    traffic: impl FnOnce() -> T + Send,
) -> Result<(T, Vec<Made>), FailoverError> {
    std::thread::scope(|scope| {
        let started = Instant::now();
        let traffic = scope.spawn(traffic);
        let made = make_cuts(stage, options, kind, control, started);
        let report = traffic.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((report, made?))
    })
}

fn make_cuts(
    stage: &Stage,
    options: &FailoverOptions,
    kind: CutKind,
    control: &RunControl,
    started: Instant,
) -> Result<Vec<Made>, FailoverError> {
    let wait_until = |moment: Duration| {
        let slept = control.stop.sleep(moment.saturating_sub(started.elapsed()));
        if slept { Ok(()) } else { Err(FailoverError::Stopped) }
    };
    let mut made = Vec::new();
    for cut in 0..options.cuts {
        wait_until(options.cut_at(cut))?;
        let at = started.elapsed();
        stage.lab.cut(Path::Primary, kind.cut())?;
        wait_until(options.cut_at(cut) + options.cut)?;
        let reported = stage.reported(started.elapsed() - at)?;
        stage.lab.mend(Path::Primary)?;
        made.push(Made { at, reported });
    }
    wait_until(options.duration())?;
    Ok(made)
}

/// Each cut with the longest gap until the next one, or until the end.
fn cuts(options: &FailoverOptions, made: Vec<Made>, gap: impl Fn(u64, u64) -> u64) -> Vec<CutCourse> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let with_gap = |Made { at, reported }| CutCourse {
        at_s: at.as_secs_f64(),
        gap_ns: gap(nanos(at), nanos(at + options.cycle())),
        reported,
    };
    made.into_iter().map(with_gap).collect()
}

fn samples(report: &BulkReport) -> Vec<GoodputSample> {
    let mut began_ns = 0;
    let together = report.samples.chunks(SAMPLES_TOGETHER).filter_map(|chunk| {
        let at_ns = chunk.last()?.at_ns;
        let bits: u64 = chunk.iter().map(|sample| sample.received_bytes * 8).sum();
        let goodput_bps = bits as f64 * 1e9 / (at_ns - began_ns).max(1) as f64;
        began_ns = at_ns;
        Some(GoodputSample { at_s: at_ns as f64 / 1e9, goodput_bps })
    });
    together.collect()
}

/// Mean goodput between two moments, bit/s.
fn mean(report: &BulkReport, from: Duration, to: Duration) -> f64 {
    let within = report.samples.iter().filter(|sample| {
        let at = Duration::from_nanos(sample.at_ns);
        at > from && at <= to
    });
    let bits: u64 = within.map(|sample| sample.received_bytes * 8).sum();
    bits as f64 / (to - from).as_secs_f64()
}
