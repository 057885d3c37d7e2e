//! Checks what is sent over which links, and warns of switches that are too slow for it.

use super::config::{Course, Layout, LinksConfig, Pair};
use crate::corruption::Corruption;
use crate::link::LinkConfig;
use crate::link::config::{ParameterError, check, of_protocol};
use crate::network::{Cut, SecondLinkConfig};
use crate::run::flows::{Recovery, SchemeKind};
use crate::time::Time;
use linkmend_protocol::Format;
use linkmend_protocol::wire::HEADER_GROWTH_MAX;
use linkmend_quantity::{LossRate, Span};
use std::fmt::Display;

/// An hour. The clock holds 213 days, of which a run that stalls may take a hundred times as long as its traffic.
const TRAFFIC_SECONDS_MAX: f64 = 3_600.0;
/// Most links in a row, and side by side.
const ROW_MAX: usize = 16;
const PARALLEL_MAX: usize = 8;
/// Most samples of a run.
const SAMPLES_MAX: u64 = 1_000_000;
/// Most failures of a run: each has a line in the report.
const CUTS_MAX: u64 = 100_000;
/// Most frames of a run with failures.
const FRAMES_MAX: u64 = 1_000_000_000;

impl LinksConfig {
    /// Checks a [stress](crate::stress) run.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate_stress(&self) -> Result<(), ParameterError> {
        let LinksConfig { seed, frames, recovery, copy_loss, full, .. } = *self;
        let requirement = "must be one, with traffic at line rate in one direction";
        check(self.links.len() == 1, "links", self.links.len(), requirement)?;
        self.links[0].validate()?;
        self.links[0].validate_frames(frames)?;
        copy_loss.map_or(Ok(()), |copy_loss| self.validate_copy_loss(copy_loss))?;
        let row = LinksConfig::row(self.links.clone(), frames);
        let is_plain = *self == LinksConfig { seed, recovery, copy_loss, full, ..row };
        check(is_plain, "links", "more than line-rate traffic", requirement)
    }

    /// Checks that a stress run can be watched: what recovers is what the link's description says.
    ///
    /// # Errors
    /// [`ParameterError`], if it is another scheme.
    pub fn validate_observed(&self) -> Result<(), ParameterError> {
        self.check_described("where a run is captured or recorded over time")
    }

    fn check_described(&self, place: &str) -> Result<(), ParameterError> {
        let kind = match self.recovery {
            Recovery::Described => return Ok(()),
            Recovery::Wharf(_) => SchemeKind::Wharf,
            Recovery::Llr(_) => SchemeKind::Llr,
            Recovery::Selective(_) => SchemeKind::Selective,
            Recovery::Parity(_) => SchemeKind::Parity,
        };
        let requirement = format!("must be none, ordered or non-blocking {place}");
        Err(ParameterError::new("scheme", kind.name(), requirement))
    }

    /// Whether copies can be lost more often than originals.
    fn validate_copy_loss(&self, copy_loss: f64) -> Result<(), ParameterError> {
        let link = &self.links[0];
        let least = match link.corruption {
            Corruption::Iid { loss } => loss,
            _ => f64::INFINITY,
        };
        let single_round = link.protection.is_some_and(|protection| protection.max_rounds == 1);
        let requirement = "needs a protected link with one round of retransmission";
        check(single_round, "copy-loss", LossRate(copy_loss), requirement)?;
        let requirement = "must lie between the loss rate of iid corruption and 1";
        check((least..1.0).contains(&copy_loss), "copy-loss", LossRate(copy_loss), requirement)
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.layout.check_count(self.links.len())?;
        self.check_described("between such links")?;
        if let Some(copy_loss) = self.copy_loss {
            let requirement = "needs a single link at line rate";
            return Err(ParameterError::new("copy-loss", LossRate(copy_loss), requirement));
        }
        if let Layout::Parallel { ports } = self.layout {
            self.validate_parallel(ports)?;
        }
        for link in &self.links {
            link.validate()?;
            link.validate_frames(self.frames)?;
            self.protocol(link).map_or(Ok(()), |config| config.validate()).map_err(of_protocol)?;
        }
        self.validate_loads()?;
        self.validate_protection()?;
        if let Some(course) = &self.course {
            self.validate_course(course)?;
        }
        match &self.layout {
            Layout::Pair(pair) => self.validate_pair(pair),
            _ => Ok(()),
        }
    }

    fn validate_parallel(&self, ports: usize) -> Result<(), ParameterError> {
        let count = self.links.len();
        let requirement = format!("must be 1 to the number of links, which is {count}");
        check((1..=count).contains(&ports), "recirculation-ports", ports, &requirement)?;
        for link in &self.links {
            let requirement = "must be recirculating, on protected links: direct buffers share no port";
            check(link.recirculates(), "buffering", link.buffering.name(), requirement)?;
        }
        let one_way = "cannot be combined with `parallel-links`";
        check(self.reverse_load == 0.0, "reverse-load", self.reverse_load, one_way)
    }

    fn validate_loads(&self) -> Result<(), ParameterError> {
        let requirement = "must be above 0 and at most 1";
        for (name, load, least) in [
            ("load", self.load, f64::MIN_POSITIVE),
            ("non-blocking-load", self.non_blocking_load, 0.0),
            ("reverse-load", self.reverse_load, 0.0),
        ] {
            check((least..=1.0).contains(&load), name, load, requirement)?;
            if load > 0.0 {
                self.check_lasts(name, load, self.frames, self.frame_time().0 as f64 / load)?;
            }
        }
        let requirement = "both loads must be at most 1 together";
        check(self.total_load() <= 1.0, "non-blocking-load", self.non_blocking_load, requirement)?;
        let Some(spacing) = self.spacing else { return Ok(()) };
        let requirement =
            format!("must be at least a frame's time on the link, {}", Span::from(self.frame_time()));
        check(spacing >= self.frame_time(), "spacing", Span::from(spacing), &requirement)?;
        self.check_lasts("spacing", Span::from(spacing), self.frames, spacing.0 as f64)
    }

    /// Whether so many frames, one each `interval_ps`, fit the simulator's clock.
    fn check_lasts(
        &self,
        parameter: &'static str,
        value: impl Display,
        frames: u64,
        interval_ps: f64,
    ) -> Result<(), ParameterError> {
        let seconds = frames as f64 * interval_ps / 1e12;
        let requirement = format!(
            "{frames} frames would take {seconds:.0} s, and {TRAFFIC_SECONDS_MAX} s can be simulated"
        );
        check(seconds <= TRAFFIC_SECONDS_MAX, parameter, value, &requirement)
    }

    /// What makes sense only between link ends.
    fn validate_protection(&self) -> Result<(), ParameterError> {
        let is_protected = self.links.iter().all(|link| link.protection.is_some());
        for (parameter, is_asked_for) in [
            ("reverse-load", self.reverse_load > 0.0),
            ("non-blocking-load", self.non_blocking_load > 0.0),
            ("format", self.format.is_some()),
            ("phases", self.course.is_some()),
            ("second-link", matches!(self.layout, Layout::Pair(_))),
        ] {
            let requirement = format!("must be ordered or non-blocking: `{parameter}` is of protected links");
            check(is_protected || !is_asked_for, "scheme", "none", &requirement)?;
        }
        let sessions = self.format != Some(Format::Linkguardian);
        check(
            sessions,
            "format",
            "linkguardian",
            "simulated ends have sessions; compact has the same headers",
        )?;
        self.links.iter().map(LinkConfig::reversed).try_for_each(|link| link.validate())
    }

    fn validate_course(&self, course: &Course) -> Result<(), ParameterError> {
        let is_one = matches!(self.layout, Layout::Row) && self.links.len() == 1;
        check(is_one, "phases", course.phases.len(), "must be those of one link")?;
        check(!course.phases.is_empty(), "phases", "none", "at least one phase is needed")?;
        for phase in &course.phases {
            let requirement = "each phase must last at least 1 us";
            check(
                phase.duration >= Time::from_nanos(1_000),
                "phases",
                Span::from(phase.duration),
                requirement,
            )?;
            Corruption::iid(phase.loss).validate()?;
        }
        let duration = course.duration();
        let requirement = format!("all phases together may last at most {TRAFFIC_SECONDS_MAX} s");
        check(duration.as_secs() <= TRAFFIC_SECONDS_MAX, "phases", Span::from(duration), &requirement)?;
        let sample = course.sample;
        let requirement = "must be above 0 and no longer than all phases";
        check((1..=duration.0).contains(&sample.0), "sample", Span::from(sample), requirement)?;
        let requirement = "must be longer: at most a million samples are possible";
        check(duration.0 / sample.0 <= SAMPLES_MAX, "sample", Span::from(sample), requirement)
    }

    fn validate_pair(&self, pair: &Pair) -> Result<(), ParameterError> {
        let cuts = pair.cuts.failures_max;
        check((1..=CUTS_MAX).contains(&cuts), "cuts", cuts, "must be 1 to 100000")?;
        let requirement = "must be primary or either: if both links fail, none is left";
        check(pair.cuts.cut != Cut::Both, "cut", "both", requirement)?;
        let requirement = "must be primary with SQR, whose switches fail over to a standby link";
        check(!pair.sqr || pair.cuts.cut == Cut::Primary, "cut", pair.cuts.cut.name(), requirement)?;
        pair.between_ends(&self.links[0]).validate()?;
        self.check_lasts("cuts", cuts, 1, pair.lasts().0 as f64)?;
        let requirement = "must be fewer: at most 1000000000 frames can be tracked";
        check(self.frames_of_a_source() <= FRAMES_MAX, "cuts", cuts, requirement)?;
        let protocol = self.links[0].protocol_config_of_two();
        protocol.map_or(Ok(()), |protocol| protocol.validate()).map_err(of_protocol)
    }

    /// What of the switches is too slow for the traffic of the links that share a recirculation port.
    pub(super) fn warnings(&self) -> Vec<String> {
        let sharing = match self.layout {
            Layout::Parallel { ports } => self.links.len().div_ceil(ports),
            _ => 1,
        };
        let offered = self.links[0].rate.bits_per_second() as f64 * self.total_load();
        let mut warnings: Vec<String> = Vec::new();
        for link in &self.links {
            let of_each = (offered as u64).min(link.rate.bits_per_second());
            let warning = link.too_slow_a_port(sharing, of_each * sharing as u64);
            warnings.extend(warning.filter(|warning| !warnings.contains(warning)));
        }
        warnings
    }
}

impl Layout {
    /// # Errors
    /// If there cannot be so many links.
    pub(crate) fn check_count(&self, count: usize) -> Result<(), ParameterError> {
        match self {
            Layout::Row => check((1..=ROW_MAX).contains(&count), "hops", count, "must be 1 to 16"),
            Layout::Parallel { .. } => {
                check((1..=PARALLEL_MAX).contains(&count), "parallel-links", count, "must be 1 to 8")
            }
            Layout::Pair(_) => check(count == 1, "hops", count, "cannot be combined with `second-link`"),
        }
    }
}

impl Pair {
    /// How the ends of this link use two links.
    pub(super) fn between_ends(&self, link: &LinkConfig) -> SecondLinkConfig {
        let full_bytes = link.frame_bytes + HEADER_GROWTH_MAX as u32;
        SecondLinkConfig::new(self.silence, self.return_after, Some(self.cuts), full_bytes)
    }
}
