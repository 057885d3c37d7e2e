//! Links that fail.

use super::flows::check_links;
use super::table::RunParameters;
use crate::link::config::ParameterError;
use crate::network::{Cut, Cuts, FailingLink, HandOff, LinkId, Noticed, SqrConfig};
use crate::run::flows::{HandOffKind, Reroute, SecondLink};
use crate::time::Time;
use linkmend_topology::Graph;

/// How long a failed link that has a backup stays down, if nothing is said.
const DOWN_FOR: Time = Time::from_nanos(10_000_000);

impl RunParameters {
    /// The links of a network that fail.
    ///
    /// # Errors
    /// The first parameter that cannot be used, or that says something about what is not asked for.
    pub(super) fn failing(&self, graph: &Graph) -> Result<Vec<FailingLink>, ParameterError> {
        self.check_failures()?;
        if self.has_second_link() {
            return Ok(Vec::new());
        }
        let Some(every) = self.failure_every.map(Time::from) else { return Ok(Vec::new()) };
        let links = self.failing_links.unwrap_or(1);
        check_links(graph, "failing-links", (1, links), "could fail; use")?;
        let reroute = self.reroute.unwrap_or_default();
        let has_backup = reroute == Reroute::Local;
        let first_backup = graph.links().len() as u32;
        let failing: Vec<FailingLink> = self
            .chosen_links(graph, links)
            .into_iter()
            .enumerate()
            .map(|(number, link)| FailingLink {
                link,
                backup: has_backup.then(|| LinkId(first_backup + number as u32)),
                first: self.first_failure.map_or(every, Time::from) + Time(every.0 / 50 * number as u64),
                every,
                failures_max: self.failures.map_or(u64::MAX, |failures| failures.0),
                down_for: self.down_for.map_or(DOWN_FOR, Time::from),
                detection: self.detection.unwrap_or_default().time(),
                reconfiguration: reroute.time(),
                hand_off: self.handing_off(),
            })
            .collect();
        failing.iter().try_for_each(FailingLink::validate)?;
        Ok(failing)
    }

    fn has_second_link(&self) -> bool {
        self.second_link.unwrap_or(false)
    }

    /// Second links beside those that corrupt, if they are asked for.
    ///
    /// # Errors
    /// What is set without one.
    pub(super) fn beside(&self) -> Result<Option<SecondLink>, ParameterError> {
        if !self.has_second_link() {
            self.refuse(&["cut", "noticed", "silence", "return-after"], "needs `second-link`")?;
            return Ok(None);
        }
        let others: &[_] = if self.has_hosts() {
            &["failing-links", "first-failure", "failures", "reroute", "hand-off"]
        } else {
            &[]
        };
        self.refuse(others, "cannot be combined with `second-link`")?;
        let of_daemon = SecondLink::default();
        let cuts = self.failure_every.map(|every| Cuts {
            cut: self.cut.unwrap_or(Cut::Primary),
            noticed: self.noticed.unwrap_or(Noticed::Carrier),
            detection: self.detection.unwrap_or_default().time(),
            every: Time::from(every),
            down_for: self.down_for.map_or(DOWN_FOR, Time::from),
            failures_max: u64::MAX,
        });
        Ok(Some(SecondLink {
            cuts,
            silence: self.silence.map_or(of_daemon.silence, Time::from),
            return_after: self.return_after.map_or(of_daemon.return_after, Time::from),
            corruption: None,
        }))
    }

    /// Refuses the first of these parameters that is set.
    pub(super) fn refuse(&self, keys: &[&'static str], needs: &str) -> Result<(), ParameterError> {
        let set = keys.iter().filter_map(|key| Some((*key, self.value(key)?.text)));
        let first = set.into_iter().find(|(_, text)| text != "no");
        first.map_or(Ok(()), |(key, text)| Err(ParameterError::new(key, text, needs)))
    }

    fn handing_off(&self) -> HandOff {
        let published = SqrConfig::published();
        match self.hand_off.unwrap_or_default() {
            HandOffKind::None => HandOff::None,
            HandOffKind::Acknowledged => HandOff::Acknowledged,
            HandOffKind::Sqr => HandOff::Sqr(SqrConfig {
                buffer_bytes: self.sqr_buffer.map_or(published.buffer_bytes, |size| size.0),
                margin: self.sqr_margin.map(Time::from),
                one_queue: self.sqr_one_queue.unwrap_or(false),
                ..published
            }),
        }
    }

    /// Refuses what is set and would mean nothing.
    fn check_failures(&self) -> Result<(), ParameterError> {
        const OF_SQR: [&str; 3] = ["sqr-buffer", "sqr-margin", "sqr-one-queue"];
        const OF_FAILURES: [&str; 7] =
            ["failing-links", "first-failure", "failures", "down-for", "detection", "reroute", "hand-off"];
        if self.failure_every.is_none() {
            self.refuse(&OF_FAILURES, "needs `failure-every`; without it, no link fails")?;
            self.refuse(&OF_SQR, "needs `failure-every`; without it, no link fails")?;
        }
        if self.hand_off != Some(HandOffKind::Sqr) {
            self.refuse(&OF_SQR, "needs `hand-off` sqr")?;
        }
        if self.reroute != Some(Reroute::Local) && !self.has_second_link() {
            let needs = "needs `reroute` local: without a backup, the link comes back when `reroute` says";
            self.refuse(&["down-for"], needs)?;
        }
        Ok(())
    }
}
