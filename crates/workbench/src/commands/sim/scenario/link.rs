//! The link of a scenario, from the parameters of line-rate traffic.

use crate::commands::sim::parameters::{ParameterArgs, Preset, usage};
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::Share;
use linkmend_sim::flows::SchemeKind;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::stress::StressConfig;
use std::path::Path;
use std::str::FromStr;

/// Frames of each source, unless a scenario has a default of its own.
const FRAMES: &[(&str, &str)] = &[("frames", "100k")];

/// The link that the arguments describe, with seed and number of frames.
pub fn link<P: Preset>(arguments: &ParameterArgs<P>) -> Result<StressConfig> {
    described(&arguments.parameters())
}

/// The link that parameters describe, with seed and number of frames.
pub fn described(parameters: &RunParameters) -> Result<StressConfig> {
    if parameters.scheme() == SchemeKind::Wharf {
        let text = "--scheme wharf: must be none, ordered or non-blocking in a scenario";
        return Err(UsageError::new(text.to_owned()).into());
    }
    parameters.clone().or(FRAMES).line_rate(Path::new("")).map_err(usage)
}

/// The same for scenarios that only make sense with protection.
pub fn protected_link<P: Preset>(arguments: &ParameterArgs<P>) -> Result<StressConfig> {
    check_protected(&arguments.given)?;
    link(arguments)
}

/// Refuses an unprotected link.
pub fn check_protected(parameters: &RunParameters) -> Result<(), UsageError> {
    if parameters.scheme == Some(SchemeKind::None) {
        let text = "--scheme none: this scenario is of protected links; choose ordered or non-blocking";
        return Err(UsageError::new(text.to_owned()));
    }
    Ok(())
}

/// The share of the link that traffic takes: `0.4`, `40%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load(pub f64);

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let load = text.parse().ok().map(|Share(share)| share);
        load.filter(|load| *load > 0.0)
            .map(Load)
            .ok_or_else(|| format!("`{text}` is not a load: above 0 and at most 1, like `0.4` or `40%`"))
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
