//! The databases of a switch with several switching chips: each chip has a Redis of its own.
//!
//! Names of ports are unique on the whole switch, so that they are one source. Files and fields are those of SONiC's database
//! container (`database_global.json`, `database_config.json`).

use super::{SonicSettings, SonicSource};
use crate::counters::Reading;
use crate::optics::OpticsReading;
use crate::server::ServerUrl;
use crate::source::{Source, SourceError};
use linkmend_diagnose::ParameterError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Where a switch with several chips lists the databases of all.
const GLOBAL: &str = "/var/run/redis/sonic-db/database_global.json";
/// Chips of a switch; chassis have some dozen.
const CHIPS_MOST: usize = 128;

#[derive(Deserialize)]
struct Global {
    #[serde(rename = "INCLUDES")]
    includes: Vec<Include>,
}

#[derive(Deserialize)]
struct Include {
    #[serde(default)]
    namespace: String,
    /// Relative to the folder of the file that says so.
    include: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "INSTANCES")]
    instances: BTreeMap<String, Instance>,
}

#[derive(Deserialize)]
struct Instance {
    unix_socket_path: String,
}

/// The databases of chips, by the files at this path; none if there are no such files, or if they name no chips.
fn chips(global: &Path) -> Vec<ServerUrl> {
    let Some(Global { includes }) = read(global) else { return Vec::new() };
    let folder = global.parent().unwrap_or(global);
    let of_chips = includes.into_iter().filter(|include| !include.namespace.is_empty()).take(CHIPS_MOST);
    let socket = |Include { namespace, include }: Include| {
        let config: Option<Config> = read(&folder.join(include));
        let socket = config.and_then(|config| Some(config.instances.get("redis")?.unix_socket_path.clone()));
        if socket.is_none() {
            tracing::warn!("{}: {namespace} has no database that could be read", global.display());
        }
        socket.map(|path| ServerUrl::from(format!("unix:{path}").as_str()))
    };
    of_chips.filter_map(socket).collect()
}

fn read<File: for<'a> Deserialize<'a>>(path: &Path) -> Option<File> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The ports of all chips of a switch.
pub struct SonicSources {
    sources: Vec<SonicSource>,
    /// What is wrong with some of them, so that it is logged once.
    troubles: Vec<String>,
}

impl SonicSources {
    /// The databases of the switch on which this runs, or the one that the settings name.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(settings: &SonicSettings) -> Result<SonicSources, ParameterError> {
        SonicSources::listed(settings, Path::new(GLOBAL))
    }

    /// The same with the file at this path.
    ///
    /// # Errors
    /// See [`SonicSources::new`].
    pub fn listed(settings: &SonicSettings, global: &Path) -> Result<SonicSources, ParameterError> {
        let is_named = settings.url != SonicSettings::default().url;
        let chips = if is_named { Vec::new() } else { chips(global) };
        let sources = match &chips[..] {
            [] => vec![SonicSource::new(settings)?],
            chips => {
                let of = |url: &ServerUrl| {
                    SonicSource::new(&SonicSettings { url: url.clone(), ..settings.clone() })
                };
                chips.iter().map(of).collect::<Result<_, _>>()?
            }
        };
        Ok(SonicSources { sources, troubles: Vec::new() })
    }
}

impl Source for SonicSources {
    fn describe(&self) -> String {
        let described: Vec<String> = self.sources.iter().map(SonicSource::describe).collect();
        described.join("; ")
    }

    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let (mut readings, mut errors) = (Vec::new(), Vec::new());
        for source in &mut self.sources {
            match source.poll() {
                Ok(read) => readings.extend(read),
                Err(error) => errors.push(error),
            }
        }
        if readings.is_empty() && !errors.is_empty() {
            return Err(errors.swap_remove(0));
        }
        // The ports of one chip are missing then, and the others go on.
        let troubles: Vec<String> = errors.iter().map(ToString::to_string).collect();
        if troubles != self.troubles {
            troubles.iter().for_each(|trouble| tracing::warn!("{trouble}"));
            self.troubles = troubles;
        }
        Ok(readings)
    }

    fn take_aliases(&mut self) -> Vec<(String, String)> {
        self.sources.iter_mut().flat_map(SonicSource::take_aliases).collect()
    }

    fn take_optics(&mut self) -> Vec<(String, Option<OpticsReading>)> {
        self.sources.iter_mut().flat_map(SonicSource::take_optics).collect()
    }
}
