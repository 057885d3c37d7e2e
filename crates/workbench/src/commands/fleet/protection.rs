//! What protection leaves of a loss rate: the published table, a simulated one, or one from a file.

use clap::{Args, ValueEnum};
use linkmend::failure::{Result, UsageError};
use linkmend_fleet::protection::{ProtectionLimits, ProtectionTable};

/// What may be written instead.
const HINT: &str = "use `authors`, `25G`, `100G`, `400G`, `llr-100G`, `llr-400G` or `llr-800G`, or a JSON file with rows of loss_rate, \
                    effective_loss_rate and capacity";

/// How the names of LLR's tables begin.
const LLR: &str = "llr-";

/// The mode whose rows of a table apply.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ModeName {
    Ordered,
    NonBlocking,
}

/// How many links can be protected.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Maximum number of protected links per forwarding pipe, the part of a switch chip that serves a group of ports
    /// [default: no limit]
    #[arg(long, value_name = "N")]
    max_protected_per_pipe: Option<u32>,
    /// Maximum number of protected links per switch [default: no limit]
    #[arg(long, value_name = "N")]
    max_protected_per_switch: Option<u32>,
}

impl LimitArgs {
    /// The limits that are set.
    pub fn limits(&self) -> ProtectionLimits {
        ProtectionLimits { per_pipe: self.max_protected_per_pipe, per_switch: self.max_protected_per_switch }
    }
}

/// The table of [`read`], with only the rows of one mode.
pub fn read_for(written: &str, mode: ModeName) -> Result<ProtectionTable> {
    let table = read(written)?;
    match mode {
        ModeName::Ordered => Ok(table),
        ModeName::NonBlocking => table.into_non_blocking().ok_or_else(|| {
            let message = format!("the protection table `{written}` was not measured in non-blocking mode");
            let hint = "use --protection 25G, 100G or 400G, or a file with `non_blocking_rows`";
            UsageError::hinted(message, hint.to_owned()).into()
        }),
    }
}

/// The table of [`read`] for switching LinkGuardian on, which does not help links with another scheme.
pub fn read_of_linkguardian(written: &str) -> Result<ProtectionTable> {
    if written.starts_with(LLR) {
        let message =
            format!("--protection {written}: a plan says where to switch LinkGuardian on, and this is LLR");
        let hint = "use --protection authors, 25G, 100G or 400G; `fleet simulate` takes LLR's tables";
        return Err(UsageError::hinted(message, hint.to_owned()).into());
    }
    read(written)
}

/// The table of this name, or else the one in this file.
pub fn read(written: &str) -> Result<ProtectionTable> {
    if let Some(table) = ProtectionTable::named(written) {
        return Ok(table);
    }
    let refused =
        |reason: String| UsageError::hinted(format!("--protection {written}: {reason}"), HINT.to_owned());
    let text = std::fs::read_to_string(written)
        .map_err(|error| refused(format!("no table has this name, and the file cannot be read: {error}")))?;
    Ok(ProtectionTable::from_json(&text).map_err(|error| refused(error.to_string()))?)
}
