//! Checks whether a run is possible, with messages that name parameters as the command line and experiment files do.

use crate::link::config::ParameterError;
use crate::stress::StressConfig;

/// Names of parameters in the models and here.
const NAMES: [(&str, &str); 5] = [
    ("bit_error_rate", "bit-error-rate"),
    ("mean_burst_frames", "burst"),
    ("attenuation_db", "attenuation"),
    ("recorded", "losses"),
    ("dummy_copies", "dummy-copies"),
];

/// Checks all parameters before anything runs.
///
/// # Errors
/// The first parameter that cannot be used.
pub fn check(config: &StressConfig) -> Result<(), ParameterError> {
    config.validate().map_err(in_file_terms)
}

fn in_file_terms(error: ParameterError) -> ParameterError {
    let name = NAMES.iter().find(|(theirs, _)| *theirs == error.parameter).map(|(_, ours)| *ours);
    ParameterError { parameter: name.unwrap_or(error.parameter), ..error }
}
