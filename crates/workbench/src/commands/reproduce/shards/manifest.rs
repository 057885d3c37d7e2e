//! What a shard is a part of: `shard.json`, beside its outcomes.

use super::super::planned::Planned;
use super::super::{Options, files, folder};
use linkmend::failure::{Context, Result, UsageError};
use linkmend_experiment::Shard;
use linkmend_quantity::Count;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the file.
const FILE: &str = "shard.json";

/// A shard, and the study to which it belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its number, from 1.
    shard: u32,
    /// How many shards there are.
    of: u32,
    pub study: Study,
}

/// Experiments, and what their results depend on besides them. It is the same for all shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Study {
    version: String,
    /// Digest of the program.
    program: String,
    pub seed: u64,
    pub quick: bool,
    pub trials: Option<u64>,
    /// Whether the experiments are those that are built in.
    pub built_in: bool,
    experiments: Vec<StudyExperiment>,
}

/// An experiment of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StudyExperiment {
    id: String,
    /// Name of the file, from which files that it mentions are looked for.
    path: String,
    text: String,
    /// Digest of its points, with everything that the files contain that it mentions.
    points: String,
}

impl Manifest {
    /// That of a shard of these experiments.
    pub fn new(planned: &[Planned], options: &Options, shard: Shard, built_in: bool) -> Result<Manifest> {
        let experiments = planned.iter().map(|planned| StudyExperiment {
            id: planned.overview().id.to_owned(),
            path: planned.path().to_owned(),
            text: planned.text().to_owned(),
            points: hex(planned.digest()),
        });
        let study = Study {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program: hex(folder::program()?),
            seed: options.seed,
            quick: options.quick,
            trials: options.trials.map(|trials| trials.0),
            built_in,
            experiments: experiments.collect(),
        };
        Ok(Manifest { shard: shard.number(), of: shard.of(), study })
    }

    /// Reads that of a folder; `None` if it has none.
    pub fn read(folder: &Path) -> Result<Option<Manifest>> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let refused = |error: String| {
            let message = format!("{} does not describe a shard: {error}", path.display());
            let hint = "remove the directory, and run the shard again with the command that made it";
            UsageError::hinted(message, hint.to_owned())
        };
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        manifest.shard().map_err(refused)?;
        Ok(Some(manifest))
    }

    /// Writes it into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        files::write(&folder.join(FILE), &text)
    }

    /// Which part it is.
    pub fn shard(&self) -> Result<Shard, String> {
        format!("{}/{}", self.shard, self.of).parse()
    }

    /// How this one differs from another, such as `seed 1 and 2`; nothing if both are shards of the same study.
    pub fn differences(&self, other: &Manifest) -> String {
        let mut found = self.study.differences(&other.study);
        differ(&mut found, "number of shards", &self.of, &other.of);
        found.join(", ")
    }
}

impl Study {
    fn differences(&self, other: &Study) -> Vec<String> {
        let mut found = Vec::new();
        let program = |study: &Study| format!("{} (build {})", study.version, study.program);
        let length = |study: &Study| match (study.quick, study.trials) {
            (true, _) => "--quick".to_owned(),
            (false, Some(trials)) => format!("--trials {}", Count(trials)),
            (false, None) => "neither --quick nor --trials".to_owned(),
        };
        let ids = |study: &Study| {
            let ids = study.experiments.iter().map(|experiment| experiment.id.as_str());
            ids.collect::<Vec<_>>().join(" ")
        };
        differ(&mut found, "program", &program(self), &program(other));
        differ(&mut found, "seed", &self.seed, &other.seed);
        differ(&mut found, "length", &length(self), &length(other));
        differ(&mut found, "experiments", &ids(self), &ids(other));
        for own in &self.experiments {
            let Some(other) = other.experiments.iter().find(|other| other.id == own.id) else { continue };
            if own.text != other.text {
                found.push(format!("the text of {}", own.path));
            } else if own.points != other.points && found.is_empty() {
                found.push(format!("the points of {}, or files that it mentions", own.path));
            }
        }
        found
    }

    /// Its experiments, as they were planned.
    pub fn planned(&self) -> Result<Vec<Planned>> {
        let read = |experiment: &StudyExperiment| Planned::of_file(&experiment.path, &experiment.text);
        self.experiments.iter().map(read).collect()
    }
}

fn differ<T: PartialEq + std::fmt::Display>(found: &mut Vec<String>, what: &str, one: &T, other: &T) {
    if one != other {
        found.push(format!("{what}: {one} and {other}"));
    }
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}
