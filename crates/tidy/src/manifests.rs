//! Every crate is under the workspace's lints, and no library needs a parser of arguments.

use crate::Violation;
use std::path::Path;

/// The crates that read the command line.
const PROGRAMS: [&str; 2] = ["linkmend", "workbench"];

/// Crates whose manifest does not take the workspace's lints, clippy configurations that only some may have, and
/// libraries that cannot be used without `clap`.
///
/// A `clippy.toml` of its own takes the place of the workspace's, with all its bans. Only crates that live in real time
/// have one. Types of libraries are arguments of the program behind a feature, which the program switches on.
///
/// # Panics
/// If the folder of crates or a manifest cannot be read.
pub fn violations(root: &Path, in_real_time: &[&str]) -> Vec<Violation> {
    let entries = ["crates", "examples"].into_iter().flat_map(|folder| {
        let path = root.join(folder);
        // Not every workspace has examples.
        let has_none = folder == "examples" && !path.exists();
        let entries = (!has_none).then(|| {
            std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).flatten()
        });
        entries.into_iter().flatten().map(move |entry| (folder, entry))
    });
    let mut violations = Vec::new();
    for (folder, entry) in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut violation = |file: &str, message: &str| {
            let file = Path::new(folder).join(&name).join(file);
            violations.push(Violation { file, line: 1, message: message.to_owned() });
        };
        let Ok(manifest) = std::fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let lints = manifest.split("[lints]").nth(1);
        if !lints.is_some_and(|lints| lints.trim_start().starts_with("workspace = true")) {
            violation(
                "Cargo.toml",
                "the crate does not take the workspace's lints (`[lints] workspace = true`)",
            );
        }
        // Not a list: `clap = ["dep:clap"]` is the feature.
        let needs_clap = |line: &str| {
            line.starts_with("clap") && !line.contains("= [") && !line.contains("optional = true")
        };
        if !PROGRAMS.contains(&name.as_str()) && manifest.lines().any(needs_clap) {
            violation("Cargo.toml", "a library parses no arguments; make `clap` optional, behind a feature");
        }
        if entry.path().join("clippy.toml").exists() && !in_real_time.contains(&name.as_str()) {
            violation("clippy.toml", "a configuration of its own takes the place of the workspace's bans");
        }
    }
    violations.sort();
    violations
}
