//! The parameters of a file, completed with those of the paper.

use crate::parameters::RunParameters;
use linkmend_topology::spec;
use std::path::Path;

/// Flows of a run, if a file says neither how many there are nor for how long.
const TRIALS: &[(&str, &str)] = &[("trials", "5k")];
/// What flows are like, if a file does not say it.
const FLOWS: &[(&str, &str)] = &[("scheme", "none"), ("loss", "0"), ("speed", "100G")];

/// The same parameters with those of the paper where a file says nothing; paths start from its folder.
pub(super) fn completed(written: &RunParameters, folder: &Path) -> RunParameters {
    let mut parameters = written.clone();
    if !parameters.has_hosts() {
        return parameters;
    }
    if let Some(file) = parameters.topology.as_mut().filter(|written| spec::names_file(written)) {
        *file = folder.join(&file).to_string_lossy().into_owned();
    }
    let is_counted = parameters.duration.is_none() && parameters.load.is_none() && !parameters.is_training();
    parameters.or(FLOWS).or(if is_counted { TRIALS } else { &[] })
}
