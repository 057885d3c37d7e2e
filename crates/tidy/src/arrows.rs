//! Crates use each other as ARCHITECTURE draws it. The drawing itself is read, so that a wrong one is found, too.

use crate::Violation;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The document with the drawing.
pub const DOCUMENT: &str = "ARCHITECTURE.md";
/// What the names of all crates begin with; the drawing leaves it out.
const PREFIX: &str = "linkmend-";
/// What then follows in the names of examples.
const EXAMPLE: &str = "example-";

/// What each crate uses of the workspace, tests and build scripts aside.
pub type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The arrows of a workspace.
///
/// # Panics
/// If cargo cannot read the workspace.
pub fn of_workspace(root: &Path) -> Arrows {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).no_deps().other_options(vec!["--offline".to_owned()]);
    let metadata: Metadata = command.exec().unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    let short = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let names: BTreeSet<String> = metadata.packages.iter().map(|package| short(&package.name)).collect();
    let packages = metadata.packages.iter();
    packages
        .map(|package| {
            let normal = package.dependencies.iter().filter(|used| used.kind == DependencyKind::Normal);
            let ours = normal.map(|used| short(&used.name)).filter(|used| names.contains(used));
            (short(&package.name), ours.collect())
        })
        .collect()
}

/// What the document says of the crates.
struct Drawing {
    line: usize,
    /// From left to right; a crate may use those of levels to the right.
    levels: Vec<Vec<String>>,
    /// Crates that never use each other, whatever their levels.
    apart: Vec<String>,
    /// The rows of the table of crates, and their lines.
    rows: Vec<(String, usize)>,
}

fn drawing(document: &str) -> Option<Drawing> {
    let lines = || document.lines().enumerate().map(|(index, line)| (index + 1, line));
    let (line, drawn) = lines().find(|(_, line)| line.contains(" -> {"))?;
    let words = |text: &str| -> Vec<String> {
        let names = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let levels = drawn.split("->").map(words).collect();
    let apart =
        document.split("never import each other").next().filter(|before| before.len() < document.len());
    let sentence = apart.and_then(|before| before.rsplit(['.', '\n']).next()).unwrap_or_default();
    let apart = sentence.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let row = |(line, text): (usize, &str)| {
        let name =
            |folder| Some(text.strip_prefix("| `")?.strip_prefix(folder)?.split('`').next()?.to_owned());
        let name = name("crates/").or_else(|| Some(format!("{EXAMPLE}{}", name("examples/")?)));
        Some((name?, line))
    };
    Some(Drawing { line, levels, apart, rows: lines().filter_map(row).collect() })
}

/// Where a crate is.
fn folder(name: &str) -> String {
    name.strip_prefix(EXAMPLE).map_or_else(|| format!("crates/{name}"), |name| format!("examples/{name}"))
}

/// Where the arrows and the document differ.
pub fn violations(arrows: &Arrows, document: &str) -> Vec<Violation> {
    let at = |line, message| Violation { file: DOCUMENT.into(), line, message };
    let Some(drawing) = drawing(document) else {
        return vec![at(1, "no drawing of the crates (`a -> {b, c} -> d`)".to_owned())];
    };
    let mut found = Vec::new();
    let level = |name: &str| drawing.levels.iter().position(|level| level.iter().any(|other| other == name));
    for (user, uses) in arrows {
        if !drawing.rows.iter().any(|(name, _)| name == user) {
            found.push(at(drawing.line, format!("the table has no row for {}", folder(user))));
        }
        for used in uses {
            match (level(user), level(used)) {
                (Some(left), Some(right)) if left < right => (),
                (Some(_), Some(_)) => {
                    found.push(at(drawing.line, format!("{user} uses {used}, which is not to its right")))
                }
                _ => {
                    found.push(at(drawing.line, format!("{user} uses {used}, and one of them is not drawn")))
                }
            }
            if drawing.apart.contains(user) && drawing.apart.contains(used) {
                found.push(at(
                    drawing.line,
                    format!("{user} uses {used}, and the text says that it never does"),
                ));
            }
        }
    }
    let known = |name: &str| arrows.contains_key(name);
    for name in drawing.levels.iter().flatten().chain(&drawing.apart).filter(|name| !known(name)) {
        found.push(at(drawing.line, format!("there is no crate {name}")));
    }
    for (name, line) in drawing.rows.iter().filter(|(name, _)| !known(name)) {
        found.push(at(*line, format!("there is no crate {name}")));
    }
    found
}
