//! The link ports of Linkmend's own daemons on this machine.
//!
//! A port has the name of its link end. That of a second link (`--backup`) has `:backup` behind it.

use super::{Source, SourceError};
use crate::counters::Reading;
use linkmend_control::report::{PortReport, PortState};
use linkmend_control::{Client, LinkReport, sockets};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Asks the daemons for the counters of their links. A port has the name of its link.
#[derive(Debug, Default)]
pub struct LinkmendSource {
    /// The daemons' sockets; empty for all that are in the usual folder.
    paths: Vec<PathBuf>,
    /// One connection to each daemon, kept from poll to poll.
    clients: BTreeMap<PathBuf, Client>,
    /// Daemons that have not answered, which took seconds, and when they are asked again.
    silent: BTreeMap<PathBuf, (Instant, String)>,
}

/// How long a daemon that hangs is left alone: others are read meanwhile.
const SILENCE: Duration = Duration::from_secs(30);
/// An answer that takes longer comes from one that hangs.
const ANSWER_MOST: Duration = Duration::from_secs(1);

impl LinkmendSource {
    /// Asks the daemons at these sockets, or all those in the usual folder if there are none.
    pub fn new(paths: Vec<PathBuf>) -> LinkmendSource {
        LinkmendSource { paths, ..LinkmendSource::default() }
    }

    fn reports(&mut self, path: &PathBuf) -> Result<Vec<LinkReport>, String> {
        let asked = Instant::now();
        if let Some((_, why)) = self.silent.get(path).filter(|(until, _)| asked < *until) {
            return Err(why.clone());
        }
        self.silent.remove(path);
        let reports = self.ask(path);
        if let Err(why) = &reports
            && asked.elapsed() > ANSWER_MOST
        {
            tracing::warn!("{}: {why}; the next attempt is in {} s", path.display(), SILENCE.as_secs());
            self.silent.insert(path.clone(), (Instant::now() + SILENCE, why.clone()));
        }
        reports
    }

    fn ask(&mut self, path: &PathBuf) -> Result<Vec<LinkReport>, String> {
        let client = match self.clients.remove(path) {
            Some(client) => Ok(client),
            None => Client::connect(path),
        };
        let mut client = client.map_err(|error| error.to_string())?;
        let reports = client.status(None).map_err(|error| error.to_string())?;
        self.clients.insert(path.clone(), client);
        Ok(reports)
    }
}

impl Source for LinkmendSource {
    fn describe(&self) -> String {
        "links of Linkmend's daemons: frames that arrive at the link port, and of these the ones with a wrong frame check \
         sequence (the kernel's rx_crc_errors) or dropped by `linkmend corrupt`"
            .to_owned()
    }

    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let paths = if self.paths.is_empty() { sockets() } else { self.paths.clone() };
        let mut readings = Vec::new();
        let mut failure = None;
        for path in &paths {
            match self.reports(path) {
                Ok(reports) => readings.extend(reports.iter().flat_map(readings_of)),
                Err(error) => failure = Some(error),
            }
        }
        self.clients.retain(|path, _| paths.contains(path));
        match failure {
            Some(what) if readings.is_empty() => Err(SourceError { what, hint: None }),
            _ if paths.is_empty() => Err(SourceError {
                what: "no daemon of Linkmend is running here".to_owned(),
                hint: Some("start one with `linkmend run`, or choose another --source".to_owned()),
            }),
            _ => Ok(readings),
        }
    }
}

/// What a link's report says of its link ports; nothing while the link does not run.
fn readings_of(report: &LinkReport) -> Vec<(String, Reading)> {
    if report.gone.is_some() {
        return Vec::new();
    }
    let reading = |port: &PortReport, injected: u64| {
        let arrived = port.rx_frames.saturating_add(port.bypassed_frames);
        Reading {
            good_frames: arrived.saturating_sub(injected),
            corrupted_frames: Some(injected.saturating_add(port.kernel_rx_crc_errors)),
            up: Some(port.state == PortState::Up),
            // Counters of a daemon begin again with it.
            epoch: Some(u64::from(report.pid)),
            ..Reading::default()
        }
    };
    let Some(failover) = &report.failover else {
        return vec![(report.name.clone(), reading(&report.link, report.counters.corrupted_frames))];
    };
    let [first, second] = failover.corrupted_frames;
    vec![
        (report.name.clone(), reading(&report.link, first)),
        (backup_port(&report.name), reading(&failover.backup, second)),
    ]
}

/// What the port of a second link is called.
pub(crate) fn backup_port(link_end: &str) -> String {
    format!("{link_end}:backup")
}
