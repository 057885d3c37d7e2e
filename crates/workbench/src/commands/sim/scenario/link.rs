//! The link of a scenario, from the flags of the stress test.

use crate::commands::sim::stress::usage;
use clap::Arg;
use linkmend::failure::{Context, Result, UsageError};
use linkmend_quantity::Count;
use linkmend_sim::experiment::{ProtectionName, StressParameters, check};
use linkmend_sim::stress::StressConfig;
use std::path::Path;
use std::str::FromStr;

/// Default number of frames of each source.
const FRAMES_DEFAULT: u64 = 100_000;
/// Flags that no scenario takes: every event is simulated, and every loss counted.
const NEVER: [&str; 2] = ["full", "copy-loss"];

/// Hides flags that mean nothing here from the help, and adds what others mean here.
pub fn describe(argument: Arg, without: &[&str]) -> Arg {
    match argument.get_long() {
        Some(name) if NEVER.contains(&name) || without.contains(&name) => argument.hide(true),
        Some("frames") => argument.help("Frames that each source sends, like 1M [default: 100k]"),
        _ => argument,
    }
}

/// The link that the flags describe, with seed and number of frames. Flags in `without` are refused.
pub fn link(parameters: &StressParameters, without: &[&str]) -> Result<StressConfig> {
    let written = serde_json::to_value(parameters).context("the parameters are no JSON")?;
    if let Some(name) = NEVER.iter().chain(without).find(|name| written.get(name).is_some()) {
        return Err(UsageError::new(format!("--{name} has no meaning in this scenario; remove it")).into());
    }
    let parameters = StressParameters {
        frames: Some(parameters.frames.unwrap_or(Count(FRAMES_DEFAULT))),
        ..parameters.clone()
    };
    let config = parameters.config(Path::new("")).map_err(usage)?;
    check(&config).map_err(usage)?;
    Ok(config)
}

/// The same for scenarios that only make sense with protection.
pub fn protected_link(parameters: &StressParameters, without: &[&str]) -> Result<StressConfig> {
    if parameters.mode == Some(ProtectionName::Off) {
        let text = "--mode off: this scenario is of protected links; choose ordered or non-blocking";
        return Err(UsageError::new(text.to_owned()).into());
    }
    link(parameters, without)
}

/// The share of the link that traffic takes: `0.4`, `40%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load(pub f64);

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
        let load = number.trim().parse::<f64>().ok().map(|number| number / divisor);
        load.filter(|load| *load > 0.0 && *load <= 1.0)
            .map(Load)
            .ok_or_else(|| format!("`{text}` is not a load: above 0 and at most 1, like `0.4` or `40%`"))
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
