//! The Rust files of a workspace.

use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A Rust file.
pub struct Source {
    /// From the root of the workspace.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
    /// The same, parsed.
    pub syntax: syn::File,
}

impl Source {
    /// Parses a file's text.
    ///
    /// # Panics
    /// If it is not Rust.
    pub fn parse(path: impl Into<PathBuf>, text: &str) -> Source {
        let path = path.into();
        let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Source { path, text: text.to_owned(), syntax }
    }
}

/// The folder that holds the workspace's `Cargo.toml`.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// All Rust files of the crates, of the examples and of the fuzz targets, by path.
///
/// # Panics
/// If a file cannot be read or is not Rust.
pub fn workspace_sources(root: &Path) -> Vec<Source> {
    let folders = ["crates", "examples", "fuzz"].map(|folder| root.join(folder));
    let entries = folders.iter().flat_map(|folder| {
        let is_source = |name: &str| name != "target" && name != "corpus";
        let walk = WalkDir::new(folder).sort_by_file_name().into_iter();
        walk.filter_entry(move |entry| entry.file_name().to_str().is_some_and(is_source))
    });
    let files = entries.map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).into_path());
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Source::parse(path.strip_prefix(root).unwrap_or(&path), &text)
    })
    .collect()
}
