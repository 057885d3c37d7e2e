//! The link ports of Linkmend's own daemons on this machine.

use super::{Source, SourceError};
use crate::counters::Reading;
use linkmend_dataplane::LinkReport;
use linkmend_dataplane::control::{Client, sockets};
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
            tracing::warn!("{}: {why}; it is asked again in {} s", path.display(), SILENCE.as_secs());
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
                Ok(reports) => readings.extend(reports.iter().filter_map(reading)),
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

/// What a link's report says of its link port; `None` while the link does not run.
fn reading(report: &LinkReport) -> Option<(String, Reading)> {
    if report.gone.is_some() {
        return None;
    }
    let injected = report.counters.corrupted_frames;
    let arrived = report.link.rx_frames.saturating_add(report.link.bypassed_frames);
    let reading = Reading {
        good_frames: arrived.saturating_sub(injected),
        corrupted_frames: Some(injected.saturating_add(report.link.kernel_rx_crc_errors)),
        // Counters of a daemon begin again with it.
        epoch: Some(u64::from(report.pid)),
        ..Reading::default()
    };
    Some((report.name.clone(), reading))
}
