//! What a kind of experiments has to say, and the form of its files.

mod reader;

pub use reader::{PublishedTable, Reader};

use crate::error::{ExperimentError, Source};
use crate::metric::Metric;
use crate::point::Point;
use crate::pool::Pooled;
use crate::runner::Run;
use crate::sweep::{Combination, Parameters, Settings};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::path::Path;
use toml::Spanned;

/// A kind of experiments: what can be varied, what one run does, and what is measured.
pub trait Kind: Clone + Debug + Send + Sync + Sized + 'static {
    /// What can be varied, as files write it.
    type Parameters: Parameters + Send + Sync;
    /// What is done at a point: the parameters, checked and completed.
    type Task: Clone + Debug + Send + Sync;
    /// What a run measures.
    type Outcome: Pooled;
    /// Why a run fails.
    type Error: Send;
    /// The form of its files: [`Head`], if they say nothing that others do not say.
    type File: ExperimentFile<Self>;

    /// What is measured, in the order of tables.
    fn metrics(rest: &RestOf<Self>) -> &'static [Metric<Self::Outcome>];

    /// Completes and checks the parameters of a point. `folder` is that of the file.
    ///
    /// # Errors
    /// The first parameter that cannot be used, with its line in `source`.
    fn task(
        rest: &RestOf<Self>,
        at: &Combination<Self::Parameters>,
        source: Source<'_>,
        folder: &Path,
    ) -> Result<(Self::Parameters, Self::Task), ExperimentError>;

    /// Does one run. `progress` takes the share of it that is done, from 0 to 1, and says whether to go on; the result is
    /// `None` if there is none because it said no.
    ///
    /// # Errors
    /// Why the run failed.
    fn run(
        task: &Self::Task,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Self::Outcome>, Self::Error>;

    /// The work of one run, in a unit that all experiments of the kind share.
    fn work(_task: &Self::Task) -> f64 {
        1.0
    }

    /// The work that one core of an ordinary machine does in a second, for progress bars and estimates.
    const WORK_PER_SECOND: f64 = 1.0;

    /// Whether results show each run by itself. Otherwise they show the pooled runs of each point.
    const SHOWS_RUNS: bool = false;

    /// The seed of a run of a point. By default no two runs share one. A kind gives the same seed to points that are
    /// compared run by run, so that they differ in nothing but what is compared.
    fn seed(base_seed: u64, id: &str, point: &PointOf<Self>, number: u64) -> u64 {
        point.seed(base_seed, id, number)
    }

    /// The same point, so reduced that its runs take a fraction of a second.
    fn quick(point: &PointOf<Self>) -> PointOf<Self> {
        point.clone()
    }
}

/// The form of an experiment file.
pub trait ExperimentFile<K: Kind>: DeserializeOwned {
    /// What it says beyond what all files say.
    type Rest;
    /// The same, checked.
    type Extra: Clone + Debug + Send + Sync;

    /// Divides the file.
    fn split(self) -> (Head, Self::Rest);

    /// Checks the rest of a file whose points are known.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    fn extra(rest: Self::Rest, reader: &Reader<'_, K>) -> Result<Self::Extra, ExperimentError>;
}

/// What the files of a kind say beyond what all files say.
pub type RestOf<K> = <<K as Kind>::File as ExperimentFile<K>>::Rest;
/// The same, checked.
pub type ExtraOf<K> = <<K as Kind>::File as ExperimentFile<K>>::Extra;
/// A point of an experiment of this kind.
pub type PointOf<K> = Point<<K as Kind>::Parameters, <K as Kind>::Task>;

/// What all experiment files say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Head {
    pub id: Spanned<String>,
    pub title: String,
    pub source: String,
    #[serde(default)]
    pub about: String,
    /// Parameters of all points, unless a sweep sets them.
    #[serde(default)]
    pub base: Settings,
    /// What is varied.
    #[serde(default)]
    pub sweep: Vec<Settings>,
    /// Why the tolerances of the published values are what they are, unless one says so itself.
    pub tolerance_reason: Option<String>,
    #[serde(default)]
    pub published: Vec<Spanned<PublishedTable>>,
}

impl<K: Kind> ExperimentFile<K> for Head {
    type Rest = ();
    type Extra = ();

    fn split(self) -> (Head, ()) {
        (self, ())
    }

    fn extra((): (), _reader: &Reader<'_, K>) -> Result<(), ExperimentError> {
        Ok(())
    }
}
