//! A loss rate that changes suddenly, and the automatic fallback that follows it (section 5, "Automatic fallback").

use super::drive::{Completion, open};
use super::link::{RECEIVER, SENDER, frame_time, one_link};
use super::{ParameterError, Progress, TRAFFIC_SECONDS_MAX, Watched, check, check_load, network};
use crate::corruption::Corruption;
use crate::link::LinkConfig;
use crate::link::config::{Copies, REPEAT, of_protocol};
use crate::link::scheme::AnyConfig;
use crate::network::{Frame, Observer, PortId, Sent, Traffic};
use crate::random::Random;
use crate::time::{TICK, Time};
use linkmend_protocol::{Config, FallbackConfig, Format, Level, Mode, Status};
use linkmend_quantity::Span;
use serde::Serialize;
use std::time::Duration;

const PS_PER_US: u64 = 1_000_000;
/// Most samples of a run.
const SAMPLES_MAX: u64 = 1_000_000;
/// Waited for the last deliveries: 10 ms.
const DRAIN_MAX: Time = Time(10_000_000_000);

/// A loss rate and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Above 0, us.
    pub duration_us: u64,
    /// Share of frames corrupted, 0 to 1.
    pub loss: f64,
}

/// A link whose loss rate changes.
#[derive(Debug, Clone, PartialEq)]
pub struct FallbackRunConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// The link. How many frames are sent follows from the phases; `corruption` gives way to them.
    pub link: LinkConfig,
    /// What the link loses, and how long; not empty.
    pub phases: Vec<Phase>,
    /// Share of the link that the traffic takes, above 0 to 1.
    pub load: f64,
    /// Time between samples, above 0, us.
    pub sample_us: u64,
    /// Actual loss rate above which ordered mode is left.
    pub ordered_loss_max: f64,
    /// Actual loss rate above which protection is given up.
    pub non_blocking_loss_max: f64,
    /// How long the loss rate must be half of the limit before protection returns, us. Seconds in practice.
    pub return_hold_us: u64,
    /// How long a link stays dormant before it is tried again, us. Seconds in practice.
    pub dormant_hold_us: u64,
    /// Frames over which the loss rate is measured.
    pub loss_window_frames: u32,
}

/// The link in the time before `at_us`, since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// End of the sample, since the traffic began, us.
    pub at_us: u64,
    /// Loss rate in force.
    pub loss: f64,
    /// Level at the end: `full`, `non-blocking` or `dormant`.
    pub level: &'static str,
    /// Copies of a lost frame at the end.
    pub copies: u8,
    /// Loss rate as the link end measures it, at the end.
    pub measured_loss: Option<f64>,
    /// Share of original frames corrupted.
    pub actual_loss: f64,
    /// Share of the frames produced in this time that never arrived.
    pub effective_loss: f64,
    /// Octets delivered in this time, Gbit/s.
    pub speed_gbps: f64,
}

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelChange {
    /// When, since the traffic began, us.
    pub at_us: f64,
    /// The new level: `full`, `non-blocking` or `dormant`.
    pub level: &'static str,
    /// Loss rate in force.
    pub loss: f64,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FallbackReport {
    /// The seed it was run with.
    pub seed: u64,
    pub frames_sent: u64,
    /// Frames that never arrived.
    pub frames_undelivered: u64,
    /// All changes of the level.
    pub changes: Vec<LevelChange>,
    pub samples: Vec<Sample>,
    /// How it ended.
    pub ending: Completion,
}

impl FallbackRunConfig {
    /// A loss rate that rises from 1e-4 to 8e-2 and 0.4, and returns, with limits of 5% and 30% and holds of 2 ms.
    pub fn sudden(link: LinkConfig) -> FallbackRunConfig {
        let phase = |duration_us, loss| Phase { duration_us, loss };
        FallbackRunConfig {
            seed: 1,
            link,
            phases: vec![phase(5_000, 1e-4), phase(5_000, 8e-2), phase(10_000, 0.4), phase(30_000, 1e-4)],
            load: 0.4,
            sample_us: 500,
            ordered_loss_max: 0.05,
            non_blocking_loss_max: 0.3,
            return_hold_us: 2_000,
            dormant_hold_us: 2_000,
            loss_window_frames: 2_000,
        }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.link.validate()?;
        check(
            self.link.protection.is_some(),
            "protection",
            "off",
            "must be enabled, because the scenario shows how it falls back",
        )?;
        check(!self.phases.is_empty(), "phases", "none", "at least one phase is needed")?;
        for phase in &self.phases {
            check(
                phase.duration_us > 0,
                "duration",
                written(phase.duration_us),
                "must be at least 1 us in each phase",
            )?;
            Corruption::iid(phase.loss).validate()?;
        }
        check_load("load", self.load, &self.link, 1)?;
        let seconds = self.duration().as_secs();
        let duration_us = self.duration().0 / PS_PER_US;
        let requirement = format!("all phases together may last at most {TRAFFIC_SECONDS_MAX} s");
        check(seconds <= TRAFFIC_SECONDS_MAX, "phases", written(duration_us), &requirement)?;
        let holds = (1..=duration_us).contains(&self.sample_us);
        check(holds, "sample", written(self.sample_us), "must be above 0 and no longer than all phases")?;
        let samples = duration_us / self.sample_us;
        check(
            samples <= SAMPLES_MAX,
            "sample",
            written(self.sample_us),
            "must be longer: at most a million samples are possible",
        )?;
        self.protocol().map_or(Ok(()), |config| config.validate()).map_err(of_protocol)
    }

    /// How long all phases take together.
    fn duration(&self) -> Time {
        let us = self.phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.duration_us));
        Time(us.saturating_mul(PS_PER_US))
    }

    /// Time between frames.
    fn interval(&self) -> Time {
        Time((frame_time(&self.link).0 as f64 / self.load).ceil() as u64)
    }

    fn protocol(&self) -> Option<Config> {
        let us = |us: u64| TICK.micros(us);
        self.link.protocol_config().map(|protocol| Config {
            // The authors' headers do not count losses.
            format: Format::Transparent,
            ack_interval: REPEAT,
            loss_window_frames: self.loss_window_frames,
            fallback: FallbackConfig {
                enabled: true,
                ordered_loss_max: self.ordered_loss_max,
                non_blocking_loss_max: self.non_blocking_loss_max,
                return_hold: us(self.return_hold_us),
                dormant_hold: us(self.dormant_hold_us),
                ..FallbackConfig::new(TICK)
            },
            ..protocol
        })
    }

    fn copies(&self) -> Option<linkmend_protocol::Copies> {
        Some(match self.link.protection?.copies {
            Copies::Fixed(copies) => linkmend_protocol::Copies::Fixed(copies),
            Copies::Target { loss } => {
                let initial_loss = self.phases.first().map_or(0.0, |phase| phase.loss);
                linkmend_protocol::Copies::Target { target_loss: loss, initial_loss }
            }
        })
    }

    fn build(&self) -> Result<Watched<Series>, ParameterError> {
        let link = &self.link;
        let interval = self.interval();
        let mut ports = link.ports([0, 1]);
        ports[0].corruption = Corruption::None;
        for (port, protect) in ports.iter_mut().zip([self.copies(), None]) {
            if let (AnyConfig::LinkGuardian(scheme), Some(protocol)) = (&mut port.scheme, self.protocol()) {
                (scheme.protocol, scheme.protect) = (protocol, protect);
            }
        }
        let traffic = Traffic::Paced {
            frames: self.duration().0.div_ceil(interval.0),
            bytes: link.frame_bytes as u16,
            modes: vec![link.protection.map_or(Mode::Ordered, |protection| protection.mode)],
            interval,
        };
        let series = Series::new(interval, Time(self.sample_us * PS_PER_US), self.duration());
        Ok(network(self.seed, link, one_link(link, ports, traffic), series)?)
    }
}

/// A time as people write it.
fn written(us: u64) -> Span {
    Span(Duration::from_micros(us))
}

/// Checks, simulates, and reports. `progress` is called after every sample.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(
    config: &FallbackRunConfig,
    progress: &mut Progress<'_>,
) -> Result<FallbackReport, ParameterError> {
    config.validate()?;
    let mut network = config.build()?;
    // The phases, which corrupt the data, have not begun.
    let opening = LinkConfig { corruption: Corruption::None, ..config.link.clone() };
    let mut wanted = open(&mut network, &|_| opening.clone(), progress)?;
    let began = network.now();
    network.observer.watch.began = began;
    network.start_traffic();
    let mut recorder = Recorder { began, changes: Vec::new(), samples: Vec::new(), level: "full" };
    let mut phase_end = began;
    let sample = Time(config.sample_us * PS_PER_US);
    let mut sample_end = began + sample;
    for (index, phase) in config.phases.iter().enumerate() {
        let random = Random::new(config.seed, &format!("phase {index} corruption"));
        network.set_corruption(SENDER, &Corruption::iid(phase.loss), random)?;
        phase_end += Time(phase.duration_us * PS_PER_US);
        while wanted && network.now() < phase_end && network.step() {
            recorder.check_state(&network, phase.loss);
            while network.now() >= sample_end {
                recorder.sample(&network, sample_end, phase.loss);
                sample_end += sample;
                wanted = progress(network.produced(SENDER));
            }
        }
    }
    let produced_at = network.now();
    if wanted {
        let produced = network.produced(SENDER);
        let last = produced_at + DRAIN_MAX;
        network.run_while(last, |network| !network.is_drained(), &mut || progress(produced));
    }
    network.observer.links.finish();
    let ending = Completion {
        drained: network.is_drained(),
        drained_after_ns: (network.now() - produced_at).as_nanos(),
        simulated_ns: (network.now() - began).as_nanos(),
        events: network.events(),
    };
    Ok(recorder.report(config, &network, ending))
}

/// What can only be seen while the network runs.
struct Recorder {
    began: Time,
    changes: Vec<LevelChange>,
    samples: Vec<Sample>,
    level: &'static str,
}

impl Recorder {
    fn check_state(&mut self, network: &Watched<Series>, loss: f64) {
        let level = network.status(SENDER).map_or(self.level, |status| name(&status));
        if level != self.level {
            self.level = level;
            let at_us = (network.now() - self.began).as_nanos() / 1e3;
            self.changes.push(LevelChange { at_us, level, loss });
        }
    }

    fn sample(&mut self, network: &Watched<Series>, at: Time, loss: f64) {
        let Some(status) = network.status(SENDER) else { return };
        self.samples.push(Sample {
            at_us: (at - self.began).0 / PS_PER_US,
            loss,
            level: name(&status),
            copies: status.copies,
            measured_loss: status.measured_loss,
            actual_loss: 0.0,
            effective_loss: 0.0,
            speed_gbps: 0.0,
        });
    }

    /// Fills in what is known only at the end: a frame may arrive after the sample in which it was produced.
    fn report(
        mut self,
        config: &FallbackRunConfig,
        network: &Watched<Series>,
        ending: Completion,
    ) -> FallbackReport {
        let series = &network.observer.watch;
        for (sample, bucket) in self.samples.iter_mut().zip(&series.buckets) {
            let share = |of: u64, all: u64| if all == 0 { 0.0 } else { of as f64 / all as f64 };
            sample.actual_loss = share(bucket.lost, bucket.sent);
            sample.effective_loss = share(bucket.produced.saturating_sub(bucket.arrived), bucket.produced);
            sample.speed_gbps = bucket.bytes as f64 * 8e3 / series.sample.0 as f64;
        }
        let frames_sent = network.produced(SENDER);
        FallbackReport {
            seed: config.seed,
            frames_sent,
            frames_undelivered: frames_sent
                .saturating_sub(network.observer.links.deliveries(RECEIVER).frames),
            changes: self.changes,
            samples: self.samples,
            ending,
        }
    }
}

fn name(status: &Status) -> &'static str {
    match status.level {
        Level::Full => "full",
        Level::NonBlocking => "non-blocking",
        Level::Dormant => "dormant",
    }
}

/// Counts frames by time.
#[derive(Debug)]
struct Series {
    began: Time,
    interval: Time,
    sample: Time,
    buckets: Vec<Bucket>,
}

/// One sample's time.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Frames that the source produced then, and those of them that arrived at any time.
    produced: u64,
    arrived: u64,
    /// Originals sent then, and those of them that were corrupted.
    sent: u64,
    lost: u64,
    /// Bytes delivered then.
    bytes: u64,
}

impl Series {
    fn new(interval: Time, sample: Time, duration: Time) -> Series {
        let count = duration.0.div_ceil(sample.0);
        let frames_before = |bucket: u64| (bucket * sample.0).min(duration.0).div_ceil(interval.0);
        let bucket = |index: u64| Bucket {
            produced: frames_before(index + 1) - frames_before(index),
            ..Bucket::default()
        };
        Series { began: Time::ZERO, interval, sample, buckets: (0..count).map(bucket).collect() }
    }

    /// The bucket of a time since the beginning.
    fn at(&mut self, since: u64) -> Option<&mut Bucket> {
        self.buckets.get_mut((since / self.sample.0) as usize)
    }
}

impl Observer for Series {
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_>) {
        if port == SENDER
            && sent.frame.original().is_some()
            && let Some(bucket) = self.at((at - self.began).0)
        {
            bucket.sent += 1;
            bucket.lost += u64::from(sent.corrupted);
        }
    }

    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        if port != RECEIVER {
            return;
        }
        let since = (at - self.began).0;
        if let Some(bucket) = self.at(since) {
            bucket.bytes += u64::from(frame.bytes);
        }
        if let Some(bucket) = self.at(frame.id * self.interval.0) {
            bucket.arrived += 1;
        }
    }
}
