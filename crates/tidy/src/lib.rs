//! The project's own rules that neither compiler nor linter knows. Tests check this workspace against them, and show for
//! each rule that it finds a piece of code that breaks it.
//!
//! - [`length`]: files and functions stay short;
//! - [`docs`]: public items are documented, and no documentation merely repeats a name;
//! - [`arrows`]: crates use each other as ARCHITECTURE draws it;
//! - [`circles`]: modules do not use each other in circles;
//! - [`manifests`]: every crate is under the workspace's lints.
//!
//! What clippy can check is left to clippy (`clippy.toml`, and the lints in `Cargo.toml`); `tests/clippy.rs` proves that
//! those rules catch what they are for.
#![forbid(unsafe_code)]

pub mod arrows;
pub mod circles;
pub mod docs;
pub mod length;
pub mod manifests;
mod modules;
mod sources;

pub use sources::{Source, workspace_root, workspace_sources};

use std::fmt;
use std::path::PathBuf;

/// A place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, from the root of the workspace.
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there, and what is asked for.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.message)
    }
}

/// All violations as one text, a line each.
pub fn report(violations: &[Violation]) -> String {
    violations.iter().map(|violation| format!("\n{violation}")).collect()
}
