//! Links that fail, and what their switches do about it.

use crate::link::LinkId;
use crate::link::config::{ParameterError, check};
use crate::time::Time;

/// A link that fails again and again, and what happens then. Both directions fail at once.
#[derive(Debug, Clone, PartialEq)]
pub struct FailingLink {
    /// Which link it is. Both of its ends are switches.
    pub link: LinkId,
    /// The link that takes over, between the same switches; nothing is routed over it otherwise. `None` if the failed one
    /// itself comes back when routes have been reconfigured, as where another switch takes the place of its end
    /// (ShareBackup).
    pub backup: Option<LinkId>,
    /// When it fails first, and from one failure to the next on average, by chance up to an eighth
    /// more or less: what waits for seconds would meet every failure or none if they came like a clock.
    pub first: Time,
    pub every: Time,
    /// How often it fails at most.
    pub failures_max: u64,
    /// How long a failed link that has a backup stays down. One that has none comes back after detection and
    /// reconfiguration.
    pub down_for: Time,
    /// From the failure until both switches know.
    pub detection: Time,
    /// From then until frames have another way.
    pub reconfiguration: Time,
    /// What becomes of frames until then.
    pub hand_off: HandOff,
}

/// What a switch does about frames that a failed link lost or cannot take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HandOff {
    /// Nothing: they are lost.
    None,
    /// It keeps a copy of each for the delay time, and sends what it has on the other way (SQR, ICNP 2019).
    Sqr(SqrConfig),
    /// It keeps each until the other end has acknowledged it, as the sender of a link that recovers losses does, and sends the
    /// others; the receiver knows them by their numbers, and drops what it has already.
    Acknowledged,
}

impl HandOff {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HandOff::None => "none",
            HandOff::Sqr(_) => "sqr",
            HandOff::Acknowledged => "acknowledged",
        }
    }
}

/// What the paper leaves to who runs it, and what it does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SqrConfig {
    /// Bits of the clock that stamps copies, in ns: it wraps around.
    pub clock_bits: u32,
    /// How far back the load of a port is measured (section III-F of the paper: 150 us).
    pub window: Time,
    /// How much longer than detection takes copies are kept, so that frames that were on their way when the link failed still have
    /// one when it is known; `None` for as long as a full frame takes from queue to queue. The paper's has none, and its links
    /// failed before the wire.
    pub margin: Option<Time>,
    /// Whether all copies are in the caching queue of the port itself, instead of that of the least loaded one.
    pub one_queue: bool,
    /// From one pass through the egress pipeline to the next, when the port is free. The paper does not say; ours.
    pub loop_latency: Time,
    /// What a pass takes of the time of the port in whose caching queue the copy was, as a share of what the frame would take on
    /// its wire. The paper's Figure 14: 10 Gbit/s of copies take 750 Mbit/s of a port.
    pub pass_share: f64,
    /// A switch caches nothing more for a link of which it has this many bytes (the backstop of section VI).
    pub buffer_bytes: u64,
}

impl SqrConfig {
    /// The paper's program, as far as it is described.
    pub fn published() -> SqrConfig {
        SqrConfig {
            clock_bits: 32,
            window: Time::from_nanos(150_000),
            margin: None,
            one_queue: false,
            loop_latency: Time::from_nanos(500),
            pass_share: 0.075,
            buffer_bytes: 22_000_000,
        }
    }
}

/// Longest failure, a minute: what is not handed over by then is not seamless.
const FAILURE_MAX: Time = Time::from_nanos(60_000_000_000);

impl FailingLink {
    /// From the failure until frames have another way: the paper's route failure time.
    pub fn route_failure_time(&self) -> Time {
        self.detection + self.reconfiguration
    }

    /// Most that a failure comes earlier or later than on average.
    pub(crate) fn jitter_max(&self) -> Time {
        Time(self.every.0 / 8).min(Time(self.every.0.saturating_sub(self.outage().0)))
    }

    /// How long the link is down.
    pub(super) fn outage(&self) -> Time {
        if self.backup.is_some() { self.down_for } else { self.route_failure_time() }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let us = |time: Time| format!("{} us", time.as_nanos() / 1e3);
        check(
            self.detection > Time::ZERO && self.detection <= FAILURE_MAX,
            "detection",
            us(self.detection),
            "must be above 0 and at most 60 s",
        )?;
        let reconfiguration = us(self.reconfiguration);
        check(self.reconfiguration <= FAILURE_MAX, "reroute", reconfiguration, "must be at most 60 s")?;
        if self.backup.is_some() {
            check(
                self.down_for > self.route_failure_time(),
                "down-for",
                us(self.down_for),
                &format!(
                    "must be longer than detection and reconfiguration, {}",
                    us(self.route_failure_time())
                ),
            )?;
        }
        check(
            self.every > self.outage(),
            "failure-every",
            us(self.every),
            &format!("must be longer than the outage of the link, {}", us(self.outage())),
        )?;
        let HandOff::Sqr(sqr) = &self.hand_off else { return Ok(()) };
        check(sqr.buffer_bytes > 0, "sqr-buffer", "0B", "must be above 0B, or no copies could be kept")?;
        if let Some(margin) = sqr.margin {
            // Copies that outlive the time between two failures would never be gone when the next one comes.
            let longest = Time(self.every.0.saturating_sub(self.detection.0));
            check(
                margin < longest,
                "sqr-margin",
                us(margin),
                &format!(
                    "must be shorter than the time from the detection of a failure to the next failure, {}",
                    us(longest)
                ),
            )?;
        }
        check((1..=64).contains(&sqr.clock_bits), "clock-bits", sqr.clock_bits, "must be 1 to 64")?;
        let longest = self.route_failure_time() + sqr.margin.unwrap_or(Time::ZERO) + sqr.loop_latency;
        let wraps_after = 2f64.powi(sqr.clock_bits as i32);
        check(
            longest.as_nanos() < wraps_after,
            if sqr.margin.is_some() { "sqr-margin" } else { "reroute" },
            us(sqr.margin.unwrap_or(self.reconfiguration)),
            &format!(
                "copies are kept for {}, and the clock of {} bits that stamps them must not wrap around earlier",
                us(longest),
                sqr.clock_bits
            ),
        )?;
        let share = sqr.pass_share;
        check(share > 0.0 && share < 1.0, "pass-share", share, "must be above 0 and below 1")?;
        check(sqr.window > Time::ZERO, "window", us(sqr.window), "must be above 0 us")?;
        check(sqr.loop_latency > Time::ZERO, "loop-latency", us(sqr.loop_latency), "must be above 0 us")
    }
}
