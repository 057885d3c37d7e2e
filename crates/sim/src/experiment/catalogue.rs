//! The experiments that are built in, or those of a folder.

use super::definition::Experiment;
use linkmend_experiment::ExperimentError;
use std::path::Path;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("experiments/", $name, ".toml"),
             include_str!(concat!("../../../../experiments/", $name, ".toml")))),*]
    };
}

/// Built into the program, in the order in which they are listed and run: first the paper's, in the order of its figures
/// and tables, then those beyond it.
static BUILT_IN: &[(&str, &str)] = built_in![
    "fig1",
    "fig8",
    "fig8-rare",
    "artifact-stress",
    "timeouts",
    "fig9b",
    "fig14",
    "fig19",
    "fig20",
    "resume-flight",
    "table4",
    "tuning",
    "mechanisms",
    "speeds",
    "frame-sizes",
    "distance",
    "buffering",
    "bursts",
    "frontier",
];

/// The experiments that are built in.
///
/// # Errors
/// Never, unless a file was broken when the program was built; a test rules that out.
pub fn built_in() -> Result<Vec<Experiment>, ExperimentError> {
    BUILT_IN.iter().map(|(path, text)| Experiment::parse(path, text, Path::new("experiments"))).collect()
}

/// Reads an experiment from a file.
///
/// # Errors
/// If the file cannot be read, or is not a valid experiment.
pub fn read(path: &Path) -> Result<Experiment, ExperimentError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| ExperimentError::Unreadable { path: name.clone(), source })?;
    Experiment::parse(&name, &text, path.parent().unwrap_or(Path::new("")))
}

/// Reads all experiments of a folder, in the order of file names.
///
/// # Errors
/// The first file that cannot be used, or that there is none.
pub fn read_folder(folder: &Path) -> Result<Vec<Experiment>, ExperimentError> {
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
    let mut experiments: Vec<Experiment> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let experiment = read(path)?;
        if let Some(other) = experiments.iter().position(|other| other.id == experiment.id) {
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
