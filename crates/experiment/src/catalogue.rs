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
        let folder = |path| Path::new(path).parent().unwrap_or(Path::new(""));
        files.iter().map(|(path, text)| Experiment::parse(path, text, folder(*path))).collect()
    }

    /// Reads an experiment from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid experiment.
    pub fn read(path: &Path) -> Result<Experiment<K>, ExperimentError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ExperimentError::Unreadable { path: name.clone(), source })?;
        Experiment::parse(&name, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads all experiments of a folder, in the order of file names.
    ///
    /// # Errors
    /// The first file that cannot be used, or that there is none.
    pub fn read_folder(folder: &Path) -> Result<Vec<Experiment<K>>, ExperimentError> {
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
            return Err(ExperimentError::NoExperiment { path: name });
        }
        let mut experiments: Vec<Experiment<K>> = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            let experiment = Experiment::read(path)?;
            if let Some(other) =
                experiments.iter().position(|other: &Experiment<K>| other.id == experiment.id)
            {
                return Err(ExperimentError::Twice {
                    path: paths[index].display().to_string(),
                    id: experiment.id,
                    other: paths[other].display().to_string(),
                });
            }
            experiments.push(experiment);
        }
        Ok(experiments)
    }
}
