//! Links that fail, and how their switches handle it.

use crate::link::LinkId;
use crate::link::config::{ParameterError, check};
use crate::time::Time;

/// A link that fails repeatedly, and what happens then. Both directions fail at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct FailingLink {
    /// The failing link. Both of its ends are switches.
    pub link: LinkId,
    /// The link that takes over, between the same switches; nothing else is routed over it. `None` if the failed link
    /// itself comes back when routes have been reconfigured, for example because another switch replaces one of its
    /// ends (ShareBackup).
    pub backup: Option<LinkId>,
    /// When it first fails. The mean interval is `every`, and intervals vary randomly by up to an eighth: with strictly
    /// periodic failures, traffic that waits for seconds would hit either all or none of them.
    pub first: Time,
    pub every: Time,
    /// Maximum number of failures.
    pub failures_max: u64,
    /// How long a failed link that has a backup stays down. One that has none comes back after detection and
    /// reconfiguration.
    pub down_for: Time,
    /// Time from the failure until both switches detect it.
    pub detection: Time,
    /// Time from then until frames have another path.
    pub reconfiguration: Time,
    /// What happens to frames until then.
    pub hand_off: HandOff,
}

/// What a switch does with frames that a failed link lost or cannot carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HandOff {
    /// Nothing: they are lost.
    None,
    /// It keeps a copy of each frame for the delay time, and sends the copies on the other path (SQR, ICNP 2019).
    Sqr(SqrConfig),
    /// It keeps each frame until the other end has acknowledged it, as the sender of a link that recovers losses does,
    /// and retransmits the others. The receiver identifies them by their numbers, and drops those that it already has.
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

/// Parameters that the paper leaves to the operator, and those that it does not give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SqrConfig {
    /// Number of bits of the nanosecond clock that stamps copies. It wraps around.
    pub clock_bits: u32,
    /// Time window over which the load of a port is measured (section III-F of the paper: 150 us).
    pub window: Time,
    /// How much longer copies are kept than detection takes, so that frames that were in flight when the link failed
    /// still have copies when the failure is detected. `None` for the time that a full frame takes from queue to queue.
    /// The paper has no such margin, and its links failed in front of the wire.
    pub margin: Option<Time>,
    /// Whether all copies are in the caching queue of the port itself, instead of that of the least loaded one.
    pub one_queue: bool,
    /// Time from one pass through the egress pipeline to the next, if the port is free. This is our assumption; the
    /// paper does not give it.
    pub loop_latency: Time,
    /// How much of its port's time a pass takes, as a share of the frame's time on the wire; the port is the one in
    /// whose caching queue the copy was. In the paper's Figure 14, 10 Gbit/s of copies take 750 Mbit/s of a port.
    pub pass_share: f64,
    /// A switch stops caching frames of a link for which it already holds this many bytes (the backstop of section VI).
    pub buffer_bytes: u64,
}

impl SqrConfig {
    /// The paper's program, as far as the paper describes it.
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

/// Longest failure, a minute. A hand-over after that would not be seamless.
const FAILURE_MAX: Time = Time::from_nanos(60_000_000_000);

impl FailingLink {
    /// Time from the failure until frames have another path: the paper's route failure time.
    pub fn route_failure_time(&self) -> Time {
        self.detection + self.reconfiguration
    }

    /// Maximum deviation of a failure from its average time.
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
        let us = |time: Time| format!("{} us", time.as_micros());
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
            // If copies were kept for longer than the time between failures, there would still be copies when the next
            // failure occurs.
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
