//! Links of a run that fail, as they are asked for: by names and numbers.

use super::config::FlowsConfig;
use super::parameters::unknown;
use crate::link::config::{ParameterError, check};
use crate::network::{FailingLink, HandOff, LinkId, SqrConfig};
use crate::time::Time;
use linkmend_quantity::{ByteSize, Span};
use linkmend_topology::Graph;
use std::fmt;
use std::str::FromStr;

/// Links that fail; none by default. What is `None` is as in SQR's evaluation, without SQR.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FailureSetup {
    /// From one failure of a link to the next; `None` if none fails. Nothing else may be set then.
    pub every: Option<Time>,
    /// How many links fail, of those between switches: the ones in the middle. Several fail one after the other, a fraction
    /// of a millisecond apart. One by default.
    pub links: Option<u32>,
    /// How long a failed link that has a backup stays down, 10 ms by default.
    pub down_for: Option<Time>,
    /// From the failure until the switches know.
    pub detection: Option<Detection>,
    pub reroute: Option<Reroute>,
    pub hand_off: Option<HandOffKind>,
    /// Most bytes that a switch keeps for one port with SQR.
    pub sqr_buffer: Option<ByteSize>,
    /// How much longer than detection takes copies are kept with SQR, if it is not for as long as a frame is on its way.
    pub sqr_margin: Option<Time>,
    /// Whether all copies of SQR are in the queue of the port itself.
    pub sqr_one_queue: bool,
}

/// How long a failed link that has a backup stays down, if nothing is said.
const DOWN_FOR: Time = Time::from_nanos(10_000_000);

/// How the switches learn that a link has failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detection {
    /// By frames that do not come any more: 30 us (F10, NSDI 2013).
    #[default]
    F10,
    /// By the port's hardware: 2.755 us (the SQR paper, section VI).
    Squelch,
    After(Time),
}

impl Detection {
    /// From the failure until the switches know.
    pub fn time(self) -> Time {
        match self {
            Detection::F10 => Time::from_nanos(30_000),
            Detection::Squelch => Time::from_nanos(2_755),
            Detection::After(time) => time,
        }
    }
}

/// What gives frames another way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reroute {
    /// Another switch takes the place of the failed end after 730 us, so that the link itself comes back (ShareBackup,
    /// SIGCOMM 2018, as the SQR paper emulates it).
    #[default]
    ShareBackup,
    /// A second link between the same switches, at once.
    Local,
    /// The link comes back after 65 ms (PortLand, SIGCOMM 2009).
    Portland,
    /// The link comes back after this.
    After(Time),
}

impl Reroute {
    /// From detection until there is another way.
    pub fn time(self) -> Time {
        match self {
            Reroute::ShareBackup => Time::from_nanos(730_000),
            Reroute::Local => Time::ZERO,
            Reroute::Portland => Time::from_nanos(65_000_000),
            Reroute::After(time) => time,
        }
    }
}

/// What switches do about frames that a failed link lost or cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandOffKind {
    #[default]
    None,
    /// SQR, as published.
    Sqr,
    /// Frames that the other end has not acknowledged are retransmitted.
    Acknowledged,
}

impl HandOffKind {
    /// All of them.
    pub const ALL: [HandOffKind; 3] = [HandOffKind::None, HandOffKind::Sqr, HandOffKind::Acknowledged];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HandOffKind::None => "none",
            HandOffKind::Sqr => "sqr",
            HandOffKind::Acknowledged => "acknowledged",
        }
    }
}

/// A time that is asked for.
fn after(parameter: &'static str, text: &str, names: &[&str]) -> Result<Time, ParameterError> {
    let span: Span = text.parse().map_err(|_| {
        let requirement = format!("must be {} or a time such as 100us", names.join(", "));
        ParameterError::new(parameter, format!("\"{text}\""), requirement)
    })?;
    Ok(Time::from_nanos(u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX)))
}

fn span(time: Time) -> Span {
    Span(std::time::Duration::from_nanos(time.0 / 1_000))
}

impl FromStr for Detection {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Detection, ParameterError> {
        match text {
            "f10" => Ok(Detection::F10),
            "squelch" => Ok(Detection::Squelch),
            _ => after("detection", text, &["f10", "squelch"]).map(Detection::After),
        }
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detection::F10 => f.write_str("f10"),
            Detection::Squelch => f.write_str("squelch"),
            Detection::After(time) => span(*time).fmt(f),
        }
    }
}

impl FromStr for Reroute {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Reroute, ParameterError> {
        match text {
            "sharebackup" => Ok(Reroute::ShareBackup),
            "local" => Ok(Reroute::Local),
            "portland" => Ok(Reroute::Portland),
            _ => after("reroute", text, &["sharebackup", "local", "portland"]).map(Reroute::After),
        }
    }
}

impl fmt::Display for Reroute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reroute::ShareBackup => f.write_str("sharebackup"),
            Reroute::Local => f.write_str("local"),
            Reroute::Portland => f.write_str("portland"),
            Reroute::After(time) => span(*time).fmt(f),
        }
    }
}

impl FromStr for HandOffKind {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<HandOffKind, ParameterError> {
        let found = HandOffKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| unknown("hand-off", text, &HandOffKind::ALL.map(HandOffKind::name)))
    }
}

impl FailureSetup {
    /// The links of a network that fail.
    ///
    /// # Errors
    /// The first parameter that cannot be used, or that says something about what is not asked for.
    pub(super) fn failing(&self, graph: &Graph) -> Result<Vec<FailingLink>, ParameterError> {
        self.check_needs()?;
        let Some(every) = self.every else { return Ok(Vec::new()) };
        let links = self.links.unwrap_or(1);
        let between_switches = FlowsConfig::middle_links(graph, usize::MAX).len();
        check(
            (1..=between_switches).contains(&(links as usize)),
            "failing-links",
            links,
            &match between_switches {
                0 => "there is no link between switches that could fail; take a topology such as line:switches=2,hosts=4".to_owned(),
                _ => format!("must be 1 to the {between_switches} links between switches of the topology"),
            },
        )?;
        let reroute = self.reroute.unwrap_or_default();
        let has_backup = reroute == Reroute::Local;
        let first_backup = graph.links().len() as u32;
        let failing: Vec<FailingLink> = FlowsConfig::middle_links(graph, links as usize)
            .into_iter()
            .enumerate()
            .map(|(number, link)| FailingLink {
                link,
                backup: has_backup.then(|| LinkId(first_backup + number as u32)),
                first: every + Time(every.0 / 50 * number as u64),
                every,
                failures_max: u64::MAX,
                down_for: self.down_for.unwrap_or(DOWN_FOR),
                detection: self.detection.unwrap_or_default().time(),
                reconfiguration: reroute.time(),
                hand_off: self.hand_off(),
            })
            .collect();
        failing.iter().try_for_each(FailingLink::validate)?;
        Ok(failing)
    }

    fn hand_off(&self) -> HandOff {
        let published = SqrConfig::published();
        match self.hand_off.unwrap_or_default() {
            HandOffKind::None => HandOff::None,
            HandOffKind::Acknowledged => HandOff::Acknowledged,
            HandOffKind::Sqr => HandOff::Sqr(SqrConfig {
                buffer_bytes: self.sqr_buffer.map_or(published.buffer_bytes, |size| size.0),
                margin: self.sqr_margin,
                one_queue: self.sqr_one_queue,
                ..published
            }),
        }
    }

    /// Refuses what is set and would mean nothing.
    fn check_needs(&self) -> Result<(), ParameterError> {
        let sqr = [
            ("sqr-buffer", self.sqr_buffer.map(|size| size.to_string())),
            ("sqr-margin", self.sqr_margin.map(|time| span(time).to_string())),
            ("sqr-one-queue", self.sqr_one_queue.then(|| "true".to_owned())),
        ];
        let all = [
            ("failing-links", self.links.map(|links| links.to_string())),
            ("down-for", self.down_for.map(|time| span(time).to_string())),
            ("detection", self.detection.map(|detection| detection.to_string())),
            ("reroute", self.reroute.map(|reroute| reroute.to_string())),
            ("hand-off", self.hand_off.map(|kind| kind.name().to_owned())),
        ];
        let refuse = |given: &[(&'static str, Option<String>)], needs: &str| {
            let first = given.iter().find_map(|(name, value)| Some((*name, value.as_ref()?)));
            first.map_or(Ok(()), |(name, value)| Err(ParameterError::new(name, value, needs)))
        };
        if self.every.is_none() {
            refuse(&all, "needs `failure-every`: no link fails")?;
            refuse(&sqr, "needs `failure-every`: no link fails")?;
        }
        if self.hand_off != Some(HandOffKind::Sqr) {
            refuse(&sqr, "needs `hand-off` sqr")?;
        }
        if self.reroute != Some(Reroute::Local) {
            let needs = "needs `reroute` local: without a backup, the link comes back when `reroute` says";
            refuse(&all[1..2], needs)?;
        }
        Ok(())
    }
}
