//! The folder of the results, in which later commands find what earlier ones have finished.

use super::finished::Finished;
use super::kept::Kept;
use super::{Options, files, page};
use linkmend::failure::{Context, Hinted, Result};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// What is kept of an experiment.
const FILE: &str = "kept.json";

/// What is to be kept of an experiment that has finished. It is written if its results may be used again.
pub fn keep(finished: &Finished, out: Option<&Path>, circumstances: Option<u64>) -> Result<Kept> {
    let kept = Kept {
        circumstances,
        text: digest(finished.text.as_str()),
        id: finished.id.clone(),
        summary: files::summary_of(finished),
        tally: finished.tally(),
        section: page::section(finished).rendered(),
    };
    if let (Some(out), Some(_)) = (out, circumstances) {
        files::write(&out.join(&kept.id).join(FILE), &serde_json::to_string(&kept)?)?;
    }
    Ok(kept)
}

/// Whether it is the result of this experiment file.
pub fn is_of(kept: &Kept, id: &str, text: &str) -> bool {
    kept.id == id && kept.text == digest(text)
}

/// What results depend on besides the experiment: this program, and the options that are not in the experiment's file.
pub fn circumstances(options: &Options) -> Result<u64> {
    let trials = options.trials.map(|trials| trials.0);
    Ok(digest(&(program()?, options.seed, options.quick, trials)))
}

/// A digest of this program. Two builds of the same version may measure different values.
pub fn program() -> Result<u64> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let program = std::fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    Ok(digest(&program))
}

/// All that is kept in a folder under these circumstances, by name. What cannot be read counts as not kept.
pub fn read_all(out: &Path, circumstances: u64) -> Vec<Kept> {
    let folders = std::fs::read_dir(out).into_iter().flatten().flatten();
    let texts = folders.filter_map(|folder| std::fs::read_to_string(folder.path().join(FILE)).ok());
    let mut all: Vec<Kept> = texts
        .filter_map(|text| serde_json::from_str(&text).ok())
        .filter(|kept: &Kept| kept.circumstances == Some(circumstances))
        .collect();
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

/// Sees that no other command writes into the folder as long as the returned file is open.
pub fn lock(out: &Path) -> Result<File> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let path = out.join(".lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            let message = format!("another command writes its results into {}", out.display());
            Err(Hinted::error(message, "wait until it ends, or choose another --out"))
        }
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

/// A digest of anything. It is the same on every machine that runs the same program.
pub fn digest(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
