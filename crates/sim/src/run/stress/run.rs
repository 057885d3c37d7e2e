//! Runs a stress test: opens the session, sends at line rate, waits for the last frame, and measures.

use super::report::{BufferSeries, PortCounter, StressReport, Undelivered};
use crate::link::config::{Hardware, LinkConfig, ParameterError};
use crate::link::scheme::{Account, Scheme, Schemes, SelectiveConfig};
use crate::measure::{
    GivenUp, Histogram, Levels, LinkMark, LinkMeasures, Percentiles, Quartiles, TimeSeries,
};
use crate::network::{
    FRAME_BYTES_MIN, LinkId, Moment, NoHosts, OPENING_MAX, Observer, PortId, Side, WIRE_OVERHEAD_BYTES,
};
use crate::run::flows::Recovery;
use crate::run::links::{LinksConfig, Watched};
use crate::time::Time;
use linkmend_protocol::effective_loss;
use std::collections::VecDeque;

/// The port that sends the traffic, and the one that receives it.
const SENDER: PortId = PortId::new(LinkId(0), Side::A);
const RECEIVER: PortId = SENDER.peer();
/// Their recirculation ports.
const LOOPS: [usize; 2] = [0, 1];
/// Frames between two calls of the progress function.
const PROGRESS_FRAMES: u64 = 1 << 20;
/// Frames before buffer levels are recorded: the time in which they rise to their steady state.
const WARM_UP_FRAMES: u64 = 1_000;
/// Most samples of a series; beyond that time, steps double.
const SERIES_SAMPLES_MAX: usize = 100_000;
/// Frames between two checks whether the link is steady again.
const LOOK_FRAMES: u64 = 8;
/// How many cycles are remembered, each of which takes as much memory as all frames in flight.
const KNOWN_CYCLES: usize = 16;

/// The network of a stress run. `X` is a scheme of another crate, if it has one.
type StressNetwork<O, X> = Watched<NoHosts, O, X>;

/// See [`super::run`]; with a `series_step`, buffer levels are kept over time.
pub(super) fn run<O: Observer<Schemes<X>>, X: Scheme>(
    config: &LinksConfig,
    other: Option<&[X::Config; 2]>,
    observer: O,
    series_step: Option<Time>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(StressReport, O, Option<BufferSeries>), ParameterError> {
    config.validate_stress()?;
    // A pipeline delays every frame alike, and nothing comes behind it.
    let without = config.clone().with_link(|link| link.switch.pipeline_latency_ns = 0);
    let mut network = without.network(other, observer)?;
    let opening = network.open_sessions(&mut || progress(0));
    let mut ended_early = !opening.goes_on(|_| config.links[0].not_opened(OPENING_MAX))?;
    let began = network.now();
    if let Some(step) = series_step {
        let series = TimeSeries::new(network.now(), step, SERIES_SAMPLES_MAX);
        network.observer.links.watch_levels(SENDER, RECEIVER, &series);
    }
    network.start_traffic();
    let mut pace = Pace::new(config);
    while !ended_early && network.produced(SENDER) < config.frames {
        if !network.run_until_produced(SENDER, pace.next_at.min(config.frames)) {
            break;
        }
        ended_early = !pace.act(&mut network, progress);
    }
    network.observer.links.stop_recording(network.now());
    if !ended_early {
        network.drain(&mut || progress(config.frames));
    }
    network.observer.links.finish();
    let report = measure(config, &network, began);
    let now = network.now();
    let series = network.observer.links.watched_levels(SENDER, RECEIVER, now);
    let series = series.map(|(tx, rx)| BufferSeries { began, tx, rx });
    Ok((report, network.observer.watch, series))
}

/// Actions at certain frames.
struct Pace {
    next_at: u64,
    warm_up: u64,
    progress_at: u64,
    cycle: Option<u64>,
    check_at: u64,
    /// The moments of the last cycle.
    before: VecDeque<(u64, Moment<LinkMark>)>,
    /// Cycles that were repeated, by their first and last moments. Most losses are followed by the same states.
    known: VecDeque<(Moment<LinkMark>, Moment<LinkMark>)>,
}

impl Pace {
    fn new(config: &LinksConfig) -> Pace {
        let warm_up = WARM_UP_FRAMES.min(config.frames / 10);
        let cycle = (!config.full).then(|| config.cycle_frames());
        Pace {
            next_at: warm_up,
            warm_up,
            progress_at: PROGRESS_FRAMES,
            cycle,
            check_at: warm_up + 1,
            before: VecDeque::new(),
            known: VecDeque::new(),
        }
    }

    /// `false` to end the run.
    fn act<O: Observer<Schemes<X>>, X: Scheme>(
        &mut self,
        network: &mut StressNetwork<O, X>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> bool {
        let produced = network.produced(SENDER);
        if produced == self.warm_up {
            network.observer.links.start_recording(network.now());
        }
        if produced >= self.progress_at || produced < self.next_at {
            self.progress_at = (produced / PROGRESS_FRAMES + 1) * PROGRESS_FRAMES;
            if !progress(produced) {
                return false;
            }
        }
        if let Some(cycle) = self.cycle
            && produced >= self.check_at
        {
            self.check_state(network, cycle);
        }
        let check_at = if self.cycle.is_some() { self.check_at } else { u64::MAX };
        self.next_at = check_at.min(self.progress_at);
        true
    }

    /// Compares this moment with the ends of known cycles and with the moment a cycle ago, and skips what will repeat.
    /// Where a cycle can be halved, there are two checks in each: the sooner a steady state is noticed, the less of it is
    /// simulated.
    fn check_state<O: Observer<Schemes<X>>, X: Scheme>(
        &mut self,
        network: &mut StressNetwork<O, X>,
        cycle: u64,
    ) {
        let produced = network.produced(SENDER);
        let Some(now) = network.moment() else {
            self.before.clear();
            self.check_at = produced + LOOK_FRAMES;
            return;
        };
        let place = match self.known.iter().position(|(_, after)| after.is_like(&now)) {
            Some(place) => place,
            None => {
                let before = self.before.pop_front_if(|(at, _)| *at + cycle == produced);
                let repeats = |(_, before): &(u64, Moment<LinkMark>)| network.repeats(before, &now) > 0;
                let Some((_, before)) = before.filter(repeats) else {
                    return self.watch(produced, now, cycle);
                };
                self.known.truncate(KNOWN_CYCLES - 1);
                self.known.push_front((before, now));
                0
            }
        };
        let (before, after) = &self.known[place];
        match network.repeats(before, after) {
            0 => {}
            times => network.repeat(before, after, times),
        }
        self.before.clear();
        // A frame is corrupted before another cycle is over: here, or in the other direction.
        let clean = network.clean_frames(SENDER).saturating_add(1);
        self.check_at = network.produced(SENDER) + clean.min(cycle);
    }

    /// Keeps a moment, to compare it with the one a cycle later.
    fn watch(&mut self, produced: u64, now: Moment<LinkMark>, cycle: u64) {
        self.before.push_back((produced, now));
        self.check_at = produced + if cycle.is_multiple_of(2) { cycle / 2 } else { cycle };
    }
}

fn measure<O: Observer<Schemes<X>>, X: Scheme>(
    config: &LinksConfig,
    network: &StressNetwork<O, X>,
    began: Time,
) -> StressReport {
    let (link, links) = (&config.links[0], &network.observer.links);
    let sent = network.produced(SENDER);
    let (lost, runs) = links.losses(SENDER);
    let delivered = links.deliveries(RECEIVER);
    let elapsed = link.since_first_arrival(began, delivered.last_at, network.now());
    let rate = |count: u64| if sent == 0 { 0.0 } else { count as f64 / sent as f64 };
    let stats = |port| network.link_end(port).map(|end| end.stats()).unwrap_or_default();
    let (sender, receiver) = (stats(SENDER), stats(RECEIVER));
    let undelivered = sent - delivered.frames.min(sent);
    let copies = copies(config, network);
    let (frames_weighted, weight) = weighted(config, links, undelivered, copies.unwrap_or(0));
    let bits_per_ps =
        if elapsed == Time::ZERO { 0.0 } else { delivered.bytes as f64 * 8.0 / elapsed.0 as f64 };
    let passes = LOOPS.map(|at| network.passes(at) as f64);
    let [tx_share, rx_share] = passes.map(|passes| share_of_pipe_pct(link, passes, elapsed));
    let [tx_busy, rx_busy] = passes.map(|passes| busy_pct(link, passes, elapsed));
    let report = StressReport {
        seed: config.seed,
        frames_sent: sent,
        frames_lost: lost,
        actual_loss_rate: rate(lost),
        frames_undelivered: undelivered,
        undelivered: why_undelivered(config, network, undelivered),
        missing: links.missing(RECEIVER, sent),
        burst_frames: link.corruption.mean_burst_frames(),
        frames_weighted,
        weight,
        effective_loss_rate_expected: copies.map(|copies| effective_loss(rate(lost), copies)),
        copies,
        frames_reordered: delivered.reordered,
        effective_speed_gbps: bits_per_ps * 1e3,
        effective_speed_pct: bits_per_ps * 1e14 / link.rate.bits_per_second() as f64,
        tx_buffer_bytes: Quartiles::of(links.tx_levels(SENDER)),
        rx_buffer_bytes: Quartiles::of(links.rx_levels(RECEIVER)),
        tx_buffer_full_pct: config.full_pct(&shares(links.tx_levels(SENDER))),
        tx_buffer_levels: shares(links.tx_levels(SENDER)),
        rx_buffer_levels: shares(links.rx_levels(RECEIVER)),
        recovery_timeouts: receiver.recovery_timeouts,
        loss_events: runs.iter().sum(),
        hole_lengths: runs.to_vec(),
        retransmitted_copies: copies_sent(network),
        counters: counters(network),
        rx_buffer_overflows: receiver.rx_buffer_overflows,
        pauses: receiver.pauses_sent,
        paused_ns: sender.paused_ticks as f64 / 1e3,
        retransmission_delay_ns: Percentiles::of(links.retransmission_delay(SENDER)),
        retransmission_delays: distribution_ns(links.retransmission_delay(SENDER)),
        resume_flight_max_ns: links.resume_flight_max(SENDER).as_nanos(),
        tx_recirculation_pct: tx_share,
        rx_recirculation_pct: rx_share,
        tx_recirculation_busy_pct: tx_busy,
        rx_recirculation_busy_pct: rx_busy,
        hardware: config.hardware(),
        simulated_ns: elapsed.as_nanos(),
        events: network.events(),
        ..StressReport::default()
    };
    StressReport {
        effective_loss_rate: report.effective_loss(),
        effective_loss_rate_interval: report.effective_loss_interval(),
        warnings: config.warnings_of(&report),
        ..report
    }
}

impl LinkConfig {
    /// From the earliest arrival of what is sent from `began` on until the last delivery; until `now` if there was none.
    fn since_first_arrival(&self, began: Time, last_at: Time, now: Time) -> Time {
        let first_at = began + self.wire_latency() + self.ingress_latency();
        match last_at {
            Time::ZERO => Time(now.0.saturating_sub(began.0)),
            _ => Time(last_at.0.saturating_sub(first_at.0)),
        }
    }
}

/// Copies of a lost frame.
fn copies<O: Observer<Schemes<X>>, X: Scheme>(
    config: &LinksConfig,
    network: &StressNetwork<O, X>,
) -> Option<u8> {
    match network.scheme(SENDER) {
        Schemes::Other(scheme) => scheme.account().map_or(Some(0), Account::copies),
        _ => Some(config.links[0].copies().unwrap_or(0)),
    }
}

/// Copies that the sender has sent, if its scheme counts them.
fn copies_sent<O: Observer<Schemes<X>>, X: Scheme>(network: &StressNetwork<O, X>) -> u64 {
    network.scheme(SENDER).account().map_or(0, Account::copies_sent)
}

/// What both ends have counted.
fn counters<O: Observer<Schemes<X>>, X: Scheme>(network: &StressNetwork<O, X>) -> Vec<PortCounter> {
    let [sender, receiver] = [SENDER, RECEIVER]
        .map(|port| network.scheme(port).account().map(Account::counters).unwrap_or_default());
    let joined = sender.into_iter().zip(receiver);
    joined.map(|((name, sender), (_, receiver))| PortCounter { name, sender, receiver }).collect()
}

/// The share of the pipe's capacity that so many passes take.
fn share_of_pipe_pct(link: &LinkConfig, passes: f64, elapsed: Time) -> f64 {
    let capacity = link.switch.pipe_packets_per_second as f64 * elapsed.as_secs();
    if capacity == 0.0 { 0.0 } else { 100.0 * passes / capacity }
}

/// How busy so many passes keep a recirculation port.
fn busy_pct(link: &LinkConfig, passes: f64, elapsed: Time) -> f64 {
    let circling = u64::from(link.frame_bytes + link.header_bytes()) + WIRE_OVERHEAD_BYTES;
    let pass = link.switch.recirculation_rate.time_of(circling);
    let busy = 100.0 * passes * pass.0 as f64 / elapsed.0.max(1) as f64;
    // Frames go on circling until the run has ended, which is after the last delivery.
    if elapsed == Time::ZERO { 0.0 } else { busy.min(100.0) }
}

/// Divides undelivered frames by cause. Frames that were given up are divided by what the link did to their copies.
fn why_undelivered<O: Observer<Schemes<X>>, X: Scheme>(
    config: &LinksConfig,
    network: &StressNetwork<O, X>,
    undelivered: u64,
) -> Undelivered {
    let links = &network.observer.links;
    if let Schemes::Other(scheme) = network.scheme(SENDER) {
        let copies_corrupted = links.all_copies_lost(SENDER).min(undelivered);
        let discarded = scheme.account().map_or(0, Account::discarded).min(undelivered - copies_corrupted);
        let other = undelivered - copies_corrupted - discarded;
        return Undelivered { copies_corrupted, discarded, other, ..Undelivered::default() };
    }
    if config.links[0].protection.is_none() {
        let unprotected = links.losses(SENDER).0.min(undelivered);
        return Undelivered { unprotected, other: undelivered - unprotected, ..Undelivered::default() };
    }
    let GivenUp { corrupted: copies_corrupted, late: copies_late, overflowed } = links.given_up(SENDER);
    let given_up = copies_corrupted + copies_late + overflowed;
    let said = network.link_end(RECEIVER).map(|end| end.stats().given_up_frames());
    debug_assert_eq!(Some(given_up), said, "each is counted once");
    debug_assert!(given_up <= undelivered, "a frame that was given up has come out");
    let other = undelivered.saturating_sub(given_up);
    Undelivered { copies_corrupted, copies_late, overflowed, other, ..Undelivered::default() }
}

/// How many undelivered frames are weighted, and with which weight. With importance sampling, a frame that lost all its
/// copies counts as often as that would have happened with copies that are corrupted like other frames; a frame that
/// was lost otherwise counts once.
fn weighted<S: Scheme>(
    config: &LinksConfig,
    links: &LinkMeasures<S>,
    undelivered: u64,
    copies: u8,
) -> (u64, f64) {
    let Some(copy_loss) = config.copy_loss else { return (0, 1.0) };
    let ratio = config.links[0].corruption.frame_loss(config.links[0].frame_bytes) / copy_loss;
    let weight = effective_loss(ratio, copies.saturating_sub(1));
    if weight == 1.0 { (0, 1.0) } else { (links.all_copies_lost(SENDER).min(undelivered), weight) }
}

fn shares(levels: &Levels) -> Vec<(u64, f64)> {
    let total: u64 = levels.iter().map(|(_, time)| time).sum();
    levels.iter().map(|(bytes, time)| (bytes, time as f64 / total as f64)).collect()
}

/// How often each delay occurred.
fn distribution_ns(delays: &Histogram) -> Vec<(f64, u64)> {
    delays.iter().map(|(delay, count)| (delay as f64 / 1e3, count)).collect()
}

impl LinksConfig {
    /// The assumed hardware of the switches, or of the ports if these retransmit.
    fn hardware(&self) -> Hardware {
        let hardware = self.links[0].hardware();
        match self.recovery {
            Recovery::Llr(_) | Recovery::Selective(_) => Hardware {
                reason: "the ports keep frames until they are acknowledged".to_owned(),
                ..hardware
            },
            _ => hardware,
        }
    }

    /// Frames after which data and idle slots, or the spacing of ACKs in ordered sets, stand in the same relation again: all
    /// last whole byte times.
    fn cycle_frames(&self) -> u64 {
        let data = u64::from(self.links[0].frame_bytes + self.links[0].header_bytes()) + WIRE_OVERHEAD_BYTES;
        if let Recovery::Llr(llr) = self.recovery {
            let spacing = u64::from(llr.registers.ctlos_spacing_bytes);
            return if data >= spacing { 1 } else { spacing / greatest_common_divisor(data, spacing) };
        }
        if let Recovery::Selective(_) = self.recovery {
            return SelectiveConfig::cycle_frames(data);
        }
        let slot = u64::from(FRAME_BYTES_MIN) + WIRE_OVERHEAD_BYTES;
        slot / greatest_common_divisor(data, slot)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
