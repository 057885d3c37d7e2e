//! What is sent over which links.

use crate::link::config::{Copies, REPEAT};
use crate::link::{LinkConfig, Side, WIRE_OVERHEAD_BYTES};
use crate::network::{Cuts, LinkId, PortId};
use crate::run::flows::Recovery;
use crate::time::{Rate, TICK, Time};
use linkmend_protocol::{Config, FallbackConfig, Format, Mode};

/// Frames after which the order of the classes repeats.
pub(super) const PATTERN_FRAMES: u64 = 1_000;

/// Two links between the same ends.
pub(super) const PRIMARY: LinkId = LinkId(0);
pub(super) const BACKUP: LinkId = LinkId(1);
/// The ports of the hosts behind them, by the end that is next to them.
pub(super) const SOURCES_OF_TWO: [PortId; 2] =
    [PortId::new(LinkId(2), Side::A), PortId::new(LinkId(3), Side::B)];
/// Where their frames leave the two links.
pub(super) const SINKS_OF_TWO: [[PortId; 2]; 2] = [
    [PortId::new(PRIMARY, Side::B), PortId::new(BACKUP, Side::B)],
    [PortId::new(PRIMARY, Side::A), PortId::new(BACKUP, Side::A)],
];

/// Links, and the traffic of the generators at their ends.
#[derive(Debug, Clone, PartialEq)]
pub struct LinksConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Frames that each source sends, as long as the first link's description says. If the loss rate changes or links fail,
    /// traffic lasts as long as that.
    pub frames: u64,
    /// In the direction of the data: 1 to 16 in a row, 1 to 8 side by side, or the one that has a second one beside it.
    pub links: Vec<LinkConfig>,
    pub layout: Layout,
    /// Share of the first link that the traffic takes, above 0 to 1; 1 is as much as it takes. With `non_blocking_load`, that
    /// of ordered traffic.
    pub load: f64,
    /// The share of non-blocking traffic beside it, or 0: then all frames are in the mode of the link's protection.
    pub non_blocking_load: f64,
    /// The share of traffic in the other direction, or 0. Both directions are protected then.
    pub reverse_load: f64,
    /// From one frame to the next, instead of a load.
    pub spacing: Option<Time>,
    /// The headers, unless they follow from the rest.
    pub format: Option<Format>,
    /// Whether an idle port sends as many dummies as the protection says and no more, as in software. On the Tofino, a queue
    /// replenishes itself until a dummy arrives.
    pub fixed_dummies: bool,
    /// A loss rate that changes. The link falls back by itself.
    pub course: Option<Course>,
    /// What recovers on the link, if it is not what its description says. This and what follows are of [stress](crate::stress)
    /// runs.
    pub recovery: Recovery,
    /// Importance sampling: the link corrupts retransmitted copies with this probability instead, and the report
    /// corrects the effective loss for it. For losses too rare to count; everything else in the report then describes a
    /// link that loses more copies. Only with iid corruption, and above its rate.
    pub copy_loss: Option<f64>,
    /// Simulate every event, even those of the steady state. The results are the same.
    pub full: bool,
}

/// How links are connected.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// One after the other.
    Row,
    /// Side by side between two switches. They take turns at the `ports` recirculation ports of each switch.
    Parallel { ports: usize },
    /// Two between the same ends.
    Pair(Pair),
}

/// A second link, like the first one, and the failures of one of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub cuts: Cuts,
    /// The silence that counts as a failure where the carrier tells of one. At least 20 us.
    pub silence: Time,
    /// How long the primary link must have been up before it is used again.
    pub return_after: Time,
    /// Whether switches recover with SQR (ICNP 2019), as published, instead of link ends.
    pub sqr: bool,
}

/// Loss rates one after the other, and when a link falls back.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// In their order; there must be one.
    pub phases: Vec<Phase>,
    /// Time between samples, above 0.
    pub sample: Time,
    /// Actual loss rate above which ordered mode is left, and above which protection is given up.
    pub ordered_loss_max: f64,
    pub non_blocking_loss_max: f64,
    /// How long the loss rate must be half of the limit before protection returns, and how long a link stays dormant before it
    /// is tried again. Seconds in practice.
    pub return_hold: Time,
    pub dormant_hold: Time,
    /// Frames over which the loss rate is measured.
    pub loss_window_frames: u32,
}

/// A loss rate and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Above 0.
    pub duration: Time,
    /// Share of frames corrupted, 0 to 1.
    pub loss: f64,
}

impl Course {
    /// These phases with limits of 5% and 30%, and holds of 2 ms.
    pub fn of(phases: Vec<Phase>) -> Course {
        let two_ms = Time::from_nanos(2_000_000);
        Course {
            phases,
            sample: Time::from_nanos(1_000_000),
            ordered_loss_max: 0.05,
            non_blocking_loss_max: 0.3,
            return_hold: two_ms,
            dormant_hold: two_ms,
            loss_window_frames: 2_000,
        }
    }

    /// How long all phases take together.
    pub(super) fn duration(&self) -> Time {
        Time(self.phases.iter().fold(0, |sum: u64, phase| sum.saturating_add(phase.duration.0)))
    }
}

impl Pair {
    /// How long the traffic lasts: until a while after the last failure.
    pub(super) fn lasts(&self) -> Time {
        Time(self.cuts.every.0.saturating_mul(self.cuts.failures_max.saturating_add(1)))
    }
}

/// The frames of one generator, from where they enter the links to where they leave them.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub name: String,
    /// The port that sends them.
    pub port: PortId,
    /// The ports that deliver them at last: one, or one for each of two links.
    pub sinks: [PortId; 2],
    pub frames: u64,
    /// Time between two frames; `None` at line rate.
    pub interval: Option<Time>,
}

impl LinksConfig {
    /// A million frames over a link of the paper's testbed, as fast as they go: see [`LinkConfig::paper`].
    pub fn paper(rate: Rate, loss: f64, mode: Mode) -> LinksConfig {
        LinksConfig::row(vec![LinkConfig::paper(rate, loss, mode)], 1_000_000)
    }

    /// A hundred thousand frames over this link, as fast as they go.
    pub fn over(link: LinkConfig) -> LinksConfig {
        LinksConfig::row(vec![link], 100_000)
    }

    /// So many frames over these links in a row, as fast as they go.
    pub fn row(links: Vec<LinkConfig>, frames: u64) -> LinksConfig {
        LinksConfig {
            seed: 1,
            frames,
            links,
            layout: Layout::Row,
            load: 1.0,
            non_blocking_load: 0.0,
            reverse_load: 0.0,
            spacing: None,
            format: None,
            fixed_dummies: false,
            course: None,
            recovery: Recovery::Described,
            copy_loss: None,
            full: false,
        }
    }

    /// The same run with another first link, which `change` makes of this one.
    #[must_use]
    pub fn with_link(mut self, change: impl FnOnce(&mut LinkConfig)) -> LinksConfig {
        change(&mut self.links[0]);
        self
    }

    /// How long an unprotected frame lasts on the wire of the first link.
    pub(super) fn frame_time(&self) -> Time {
        let link = &self.links[0];
        link.rate.time_of(u64::from(link.frame_bytes) + WIRE_OVERHEAD_BYTES)
    }

    /// The share of the first link that all traffic of one direction takes.
    pub(super) fn total_load(&self) -> f64 {
        self.load + self.non_blocking_load
    }

    /// How long the traffic lasts, where that does not follow from the number of frames.
    fn duration(&self) -> Option<Time> {
        match &self.layout {
            Layout::Pair(pair) => Some(pair.lasts()),
            _ => self.course.as_ref().map(Course::duration),
        }
    }

    /// Time between frames of this load; `None` for as many as the link takes.
    pub(super) fn interval(&self, load: f64) -> Option<Time> {
        let is_paced = load < 1.0 || self.non_blocking_load > 0.0 || self.duration().is_some();
        let paced = is_paced.then(|| Time((self.frame_time().0 as f64 / load).ceil() as u64));
        self.spacing.or(paced)
    }

    /// How many frames a source with this interval sends.
    fn frames_at(&self, interval: Option<Time>) -> u64 {
        let every = interval.unwrap_or(self.frame_time()).0.max(1);
        match (&self.layout, self.duration()) {
            (Layout::Pair(_), Some(lasts)) => lasts.0 / every,
            (_, Some(lasts)) => lasts.0.div_ceil(every),
            (_, None) => self.frames,
        }
    }

    /// The frames of the first source.
    pub fn frames_of_a_source(&self) -> u64 {
        self.frames_at(self.interval(self.total_load()))
    }

    /// All sources. Those of links side by side are alike.
    pub(super) fn sources(&self) -> Vec<Source> {
        let source = |name: String, load: f64, port, sinks| {
            let interval = self.interval(load);
            Source { name, port, sinks, frames: self.frames_at(interval), interval }
        };
        let last = self.links.len() - 1;
        let [first, last] = [0, last].map(|link| PortId::both(LinkId(link as u32)));
        let ends = match self.layout {
            Layout::Pair(_) => SOURCES_OF_TWO,
            _ => [first[0], last[1]],
        };
        let sinks = match self.layout {
            Layout::Pair(_) => SINKS_OF_TWO,
            _ => [[last[1]; 2], [first[0]; 2]],
        };
        if matches!(self.layout, Layout::Parallel { .. }) {
            let of_link = |link: usize| {
                let port = PortId::new(LinkId(link as u32), Side::A);
                source(format!("link {}", link + 1), self.total_load(), port, [port.peer(); 2])
            };
            return (0..self.links.len()).map(of_link).collect();
        }
        let reverse = (self.reverse_load > 0.0)
            .then(|| source("reverse".to_owned(), self.reverse_load, ends[1], sinks[1]));
        [source("forward".to_owned(), self.total_load(), ends[0], sinks[0])]
            .into_iter()
            .chain(reverse)
            .collect()
    }

    /// The classes of successive frames: those of both classes are as evenly mixed as whole frames can be.
    pub(super) fn modes(&self) -> Vec<Mode> {
        if self.non_blocking_load == 0.0 {
            return vec![self.links[0].protection.map_or(Mode::Ordered, |protection| protection.mode)];
        }
        let ordered_of =
            |count: u64| (count as f64 * self.load / (self.load + self.non_blocking_load)).round() as u64;
        let mode = |index| {
            if ordered_of(index + 1) > ordered_of(index) { Mode::Ordered } else { Mode::NonBlocking }
        };
        (0..PATTERN_FRAMES).map(mode).collect()
    }

    /// The parameters of the ends of a link.
    pub(super) fn protocol(&self, link: &LinkConfig) -> Option<Config> {
        let mut protocol = link.protocol_config()?;
        let both_ways = self.reverse_load > 0.0;
        // The authors' headers know one class at a time, count no losses, and let no ACK ride on data.
        let needs_more = both_ways || self.non_blocking_load > 0.0 || self.course.is_some();
        if let Some(format) = self.format.or(needs_more.then_some(Format::Transparent)) {
            protocol.format = format;
        }
        if both_ways || self.course.is_some() {
            // The ports need never be idle, whatever is corrupted.
            protocol.ack_interval = REPEAT;
        }
        if both_ways {
            // A resume may be lost each time it is sent, so a stalled sender asks again now and then.
            protocol.keepalive = REPEAT * 10;
        }
        if let Some(course) = &self.course {
            protocol.loss_window_frames = course.loss_window_frames;
            protocol.fallback = FallbackConfig {
                enabled: true,
                ordered_loss_max: course.ordered_loss_max,
                non_blocking_loss_max: course.non_blocking_loss_max,
                return_hold: course.return_hold.ticks(),
                dormant_hold: course.dormant_hold.ticks(),
                ..FallbackConfig::new(TICK)
            };
        }
        Some(protocol)
    }

    /// How the sending end chooses copies if the loss rate changes: by what it measures.
    pub(super) fn measured_copies(&self, link: &LinkConfig) -> Option<linkmend_protocol::Copies> {
        Some(match link.protection?.copies {
            Copies::Fixed(copies) => linkmend_protocol::Copies::Fixed(copies),
            Copies::Target { loss } => linkmend_protocol::Copies::Target {
                target_loss: loss,
                initial_loss: self.course.as_ref()?.phases.first()?.loss,
            },
        })
    }
}
