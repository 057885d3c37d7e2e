//! `linkmend merge`: combines shards into the results of one command.

use super::super::outcomes::Outcomes;
use super::super::{Options, run};
use super::manifest::Manifest;
use super::units_of;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend_experiment::Shard;
use linkmend_quantity::Count;
use std::path::{Path, PathBuf};

/// Arguments of `linkmend merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim run mine.toml --shard 1/2 --out shard-1  # on one machine
  linkmend sim run mine.toml --shard 2/2 --out shard-2  # on another machine
  linkmend merge shard-1 shard-2 --out results          # on either of them
  linkmend merge shards/* --out results                 # all shards in a directory

The files are those that the command without --shard would have written, byte for byte.
All shards of a study are needed, each once. They must have been run by the same build of Linkmend as `merge`, with the same \
experiments, seed, --quick and --trials. If shards are missing or do not belong together, nothing is written. \
examples/cluster has job files for Slurm and Kubernetes.
Exit codes: 0 if all verdicts match the recorded ones, 1 if some do not, 2 if the shards cannot be merged, 130 after Ctrl-C.")]
pub struct MergeArgs {
    /// Directories of the shards
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,
    /// Directory for the report, plots and data; it is created if necessary
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// A shard, where it is, and what it is a part of.
struct Given<'a> {
    folder: &'a Path,
    shard: Shard,
    manifest: Manifest,
}

impl Study for MergeArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let mut found = self.shards.iter().map(|folder| given(folder)).collect::<Result<Vec<Given<'_>>>>()?;
        found.sort_by_key(|found| found.shard.number());
        belong_together(&found)?;
        let Some(first) = found.first() else { return Err(UsageError::new("there are no shards").into()) };
        let study = &first.manifest.study;
        let options = Options {
            quick: study.quick,
            trials: study.trials.map(Count),
            out: Some(self.out.clone()),
            json: self.json,
            jobs: None,
            seed: study.seed,
            shard: None,
        };
        let planned = options.resized(study.planned()?)?;
        let here = Manifest::new(&planned, &options, first.shard, study.built_in)?;
        let differences = first.manifest.differences(&here);
        if !differences.is_empty() {
            let message = format!(
                "the shard in {} is not what this program runs: {differences}",
                first.folder.display()
            );
            let hint =
                "merge with the program that ran the shards, in the same directory, with the same files";
            return Err(UsageError::hinted(message, hint.to_owned()).into());
        }
        let mut all = Outcomes::default();
        let mut unfinished = Vec::new();
        for Given { folder, shard, .. } in &found {
            let outcomes = Outcomes::read(folder)?;
            let units = units_of(&planned, *shard);
            let missing = units.iter().filter(|unit| !outcomes.has(unit)).count();
            if missing > 0 {
                unfinished.push(format!(
                    "{shard} in {} ({missing} of {} runs)",
                    folder.display(),
                    units.len()
                ));
            }
            all.extend(outcomes);
        }
        if !unfinished.is_empty() {
            let message = format!("some shards lack runs: {}", unfinished.join(", "));
            let hint = "run each of them again with the same command and the same --out: it continues";
            return Err(UsageError::hinted(message, hint.to_owned()).into());
        }
        run::with_outcomes(&planned, &options, study.built_in, &all, watch)
    }
}

fn given(folder: &Path) -> Result<Given<'_>> {
    let Some(manifest) = Manifest::read(folder)? else {
        let message = format!("there is no shard in {}", folder.display());
        let hint = "`linkmend reproduce` and `linkmend sim run` write one with --shard and --out";
        return Err(UsageError::hinted(message, hint.to_owned()).into());
    };
    let shard = manifest.shard().map_err(UsageError::new)?;
    Ok(Given { folder, shard, manifest })
}

/// Refuses shards of different studies, one that is given twice, and a study that is not complete.
fn belong_together(found: &[Given<'_>]) -> Result<()> {
    for pair in found.windows(2) {
        let [one, other] = pair else { continue };
        let (here, there) = (one.folder.display(), other.folder.display());
        let differences = one.manifest.differences(&other.manifest);
        if !differences.is_empty() {
            let message = format!("{here} and {there} are shards of different studies: {differences}");
            let hint = "merge only shards of the same command, or run those that differ again";
            return Err(UsageError::hinted(message, hint.to_owned()).into());
        }
        if one.shard == other.shard {
            let message = format!("{here} and {there} are the same shard, {}", one.shard);
            return Err(UsageError::hinted(message, "leave one of them out".to_owned()).into());
        }
    }
    let Some(of) = found.first().map(|found| found.shard.of()) else { return Ok(()) };
    let is_missing = |number: &u32| found.iter().all(|found| found.shard.number() != *number);
    let missing: Vec<String> = (1..=of).filter(is_missing).map(|number| format!("{number}/{of}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = match missing.as_slice() {
        [one] => format!("shard {one} is missing"),
        several => format!("shards {} are missing", several.join(", ")),
    };
    let hint = "run the command of the other shards with this --shard, and an --out of its own".to_owned();
    Err(UsageError::hinted(message, hint).into())
}
