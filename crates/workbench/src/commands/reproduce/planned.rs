//! An experiment of any kind, before it runs.

use linkmend::failure::{Result, UsageError};
use linkmend_experiment::{self as experiment, Kind};
use linkmend_fleet::experiment::FleetExperiment;
use linkmend_quantity::Count;
use linkmend_sim::experiment::{Experiment, with_trials};
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// What a file can say that it is.
const KINDS: &str = "`kind` is `fleet`; without it, a file describes runs of links and hosts";

/// An experiment of any kind, before it runs.
pub enum Planned {
    /// Simulated links, with or without hosts.
    Runs(Experiment),
    /// A simulated fleet.
    Fleet(FleetExperiment),
}

/// What can be said of an experiment before it runs.
pub struct Overview<'a> {
    /// Its name on the command line.
    pub id: &'a str,
    /// Its subject, in a few words.
    pub title: &'a str,
    /// What it reproduces.
    pub source: &'a str,
    /// The number of results that it will have.
    pub points: usize,
    /// The number of published values with which it is compared.
    pub published: usize,
    /// Approximate time that one core takes, in seconds.
    pub core_seconds: f64,
}

impl Planned {
    /// All built-in experiments: runs first, then fleets.
    ///
    /// # Errors
    /// None, unless a file was broken before the program was built; a test sees to that.
    pub fn built_in() -> Result<Vec<Planned>> {
        let runs = linkmend_sim::experiment::built_in()?.into_iter().map(Planned::Runs);
        let fleets = linkmend_fleet::experiment::built_in()?.into_iter().map(Planned::Fleet);
        Ok(runs.chain(fleets).collect())
    }

    /// Reads an experiment from a file, which says of what kind it is.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid experiment.
    pub fn read(path: &Path) -> Result<Planned> {
        Planned::parse(&path.display().to_string(), &experiment::text_of(path)?, folder_of(path))
    }

    /// Reads an experiment from the text of a file.
    ///
    /// # Errors
    /// If it is not a valid experiment, or a file that it mentions cannot be read.
    pub fn of_file(path: &str, text: &str) -> Result<Planned> {
        Planned::parse(path, text, folder_of(Path::new(path)))
    }

    fn parse(path: &str, text: &str, folder: &Path) -> Result<Planned> {
        match experiment::kind_of(text).as_deref() {
            None => Ok(Planned::Runs(Experiment::parse(path, text, folder)?)),
            Some("fleet") => Ok(Planned::Fleet(FleetExperiment::parse(path, text, folder)?)),
            Some(other) => {
                let message = format!("{path}: there is no kind of experiment called `{other}`");
                Err(UsageError::hinted(message, KINDS.to_owned()).into())
            }
        }
    }

    /// Reads all experiments of a folder, in the order of file names.
    ///
    /// # Errors
    /// The first file that cannot be used, or that there is none.
    pub fn read_folder(folder: &Path) -> Result<Vec<Planned>> {
        experiment::read_each(folder, Planned::read, |planned| planned.overview().id)
    }

    /// The experiment, if it is one with runs.
    pub fn runs(&self) -> Option<&Experiment> {
        match self {
            Planned::Runs(experiment) => Some(experiment),
            Planned::Fleet(_) => None,
        }
    }

    /// The experiment, if it is one with fleets.
    pub fn fleet(&self) -> Option<&FleetExperiment> {
        match self {
            Planned::Runs(_) => None,
            Planned::Fleet(experiment) => Some(experiment),
        }
    }

    /// What can be said of it before it runs.
    pub fn overview(&self) -> Overview<'_> {
        match self {
            Planned::Runs(experiment) => overview(experiment),
            Planned::Fleet(experiment) => overview(experiment),
        }
    }

    /// The experiment's file.
    pub fn text(&self) -> &str {
        match self {
            Planned::Runs(experiment) => &experiment.text,
            Planned::Fleet(experiment) => &experiment.text,
        }
    }

    /// The name of the file.
    pub fn path(&self) -> &str {
        match self {
            Planned::Runs(experiment) => &experiment.path,
            Planned::Fleet(experiment) => &experiment.path,
        }
    }

    /// A digest of its points, with what the files contain that the experiment's file mentions.
    pub fn digest(&self) -> u64 {
        let mut hashed = Hashed::default();
        // Everything can be written into a digest.
        let _ = match self {
            Planned::Runs(experiment) => write!(hashed, "{:?}", experiment.points),
            Planned::Fleet(experiment) => write!(hashed, "{:?}", experiment.points),
        };
        hashed.0.finish()
    }

    /// The same experiment, reduced so that it takes about a second.
    pub fn quick(self) -> Planned {
        match self {
            Planned::Runs(experiment) => Planned::Runs(experiment.quick()),
            Planned::Fleet(experiment) => Planned::Fleet(experiment.quick()),
        }
    }

    /// The same experiment with another number of trials in each run.
    ///
    /// # Errors
    /// If it has no trials, or cannot have so many.
    pub fn with_trials(self, trials: Count) -> Result<Planned> {
        let refused =
            |message| UsageError::hinted(message, "choose other experiments, or omit --trials".to_owned());
        let Planned::Runs(experiment) = self else {
            let message = format!("`{}` has no trials: hosts send no flows in it", self.overview().id);
            return Err(refused(message).into());
        };
        let resized = with_trials(experiment, trials).map_err(|error| refused(error.to_string()))?;
        Ok(Planned::Runs(resized))
    }
}

/// The folder from which a file's paths start.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// A digest of a text that is never held in whole.
#[derive(Default)]
struct Hashed(DefaultHasher);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn overview<K: Kind>(experiment: &experiment::Experiment<K>) -> Overview<'_> {
    Overview {
        id: &experiment.id,
        title: &experiment.title,
        source: &experiment.source,
        points: experiment.results() as usize,
        published: experiment.published.len(),
        core_seconds: experiment.core_seconds(),
    }
}
