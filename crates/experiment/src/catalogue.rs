//! Experiments from texts, files and folders.

use crate::definition::Experiment;
use crate::error::ExperimentError;
use crate::kind::Kind;
use std::path::Path;

impl<K: Kind> Experiment<K> {
    /// Reads experiments whose texts are part of the program, each with its path.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn built_in(files: &[(&str, &str)]) -> Result<Vec<Experiment<K>>, ExperimentError> {
        files.iter().map(|(path, text)| Experiment::of_file(path, text)).collect()
    }

    /// Reads an experiment from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid experiment.
    pub fn read(path: &Path) -> Result<Experiment<K>, ExperimentError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Experiment::parse(&path.display().to_string(), &text_of(path)?, folder)
    }

    /// Reads an experiment from the text of a file. Files that it mentions are looked for in the same folder as the file.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn of_file(path: &str, text: &str) -> Result<Experiment<K>, ExperimentError> {
        Experiment::parse(path, text, Path::new(path).parent().unwrap_or(Path::new("")))
    }

    /// Reads all experiments of a folder, in the order of file names.
    ///
    /// # Errors
    /// The first file that cannot be used, or that there is none.
    pub fn read_folder(folder: &Path) -> Result<Vec<Experiment<K>>, ExperimentError> {
        read_each(folder, Experiment::read, |experiment| &experiment.id)
    }
}

/// Reads each file of a folder whose name ends in `.toml`, in the order of their names.
///
/// # Errors
/// The first file that cannot be used or whose experiment has the name of another, or that there is none.
pub fn read_each<T, E: From<ExperimentError>>(
    folder: &Path,
    read: impl Fn(&Path) -> Result<T, E>,
    id: impl Fn(&T) -> &str,
) -> Result<Vec<T>, E> {
    let name = folder.display().to_string();
    let unreadable = |source| ExperimentError::Unreadable { path: name.clone(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(ExperimentError::NoExperiment { path: name }.into());
    }
    let mut experiments: Vec<T> = Vec::new();
    for path in &paths {
        let experiment = read(path)?;
        if let Some(other) = experiments.iter().position(|other| id(other) == id(&experiment)) {
            return Err(ExperimentError::Twice {
                path: path.display().to_string(),
                id: id(&experiment).to_owned(),
                other: paths[other].display().to_string(),
            }
            .into());
        }
        experiments.push(experiment);
    }
    Ok(experiments)
}

/// The text of an experiment's file.
///
/// # Errors
/// If the file cannot be read.
pub fn text_of(path: &Path) -> Result<String, ExperimentError> {
    let unreadable = |source| ExperimentError::Unreadable { path: path.display().to_string(), source };
    std::fs::read_to_string(path).map_err(unreadable)
}

/// What an experiment's file is about: its `kind`, if it says one. What is wrong with the file is said when it is read.
pub fn kind_of(text: &str) -> Option<String> {
    let kind = toml::from_str::<toml::Table>(text).ok().and_then(|mut file| file.remove("kind"));
    kind.and_then(|kind| kind.as_str().map(str::to_owned))
}
