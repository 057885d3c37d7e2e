//! Modules do not use each other in circles.
//!
//! A module may always look at those around it, as a part looks at its whole; between all others, arrows point one way.
//! A name that is passed on (`pub use`) counts for the module that defines it.

use crate::modules::{self, Module, ModulePath};
use crate::{Source, Violation};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names that pass names on, one after the other; more are a circle of `use`.
const PASSED_ON_MAX: usize = 16;

/// Files that use each other, with one name for each arrow.
type Files = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Groups of files of a crate that use each other in a circle. `root` is its `lib.rs` or `main.rs`.
pub fn violations(sources: &[Source], root: &Path) -> Vec<Violation> {
    let modules = modules::of_crate(sources, root);
    let files = arrows(&modules);
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        files.keys().map(|file| (file, reachable(&files, file))).collect();
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for file in files.keys() {
        let in_circle = |other: &&PathBuf| reach[file].contains(*other) && reach[*other].contains(file);
        let circle: BTreeSet<&PathBuf> = files.keys().filter(in_circle).collect();
        if circle.is_empty() || !seen.insert(circle.clone()) {
            continue;
        }
        let mut message = "files use each other in a circle:".to_owned();
        for user in &circle {
            for (used, name) in files[*user].iter().filter(|(used, _)| circle.contains(used)) {
                message.push_str(&format!("\n    {} uses `{name}` of {}", user.display(), used.display()));
            }
        }
        violations.push(Violation { file: file.clone(), line: 1, message });
    }
    violations
}

fn reachable<'a>(files: &'a Files, from: &'a PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in files.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

fn arrows(modules: &BTreeMap<ModulePath, Module>) -> Files {
    let mut files = Files::new();
    for module in modules.values() {
        files.entry(module.file.clone()).or_default();
    }
    for (path, module) in modules {
        let imports = module.imports.iter().map(|import| &import.path);
        for mentioned in imports.chain(&module.mentions) {
            let Some(used) = resolve(modules, path, mentioned, 0) else { continue };
            // A part may look at its whole.
            let is_around = path.starts_with(&used);
            let file = &modules[&used].file;
            if !is_around && *file != module.file {
                let arrows = files.entry(module.file.clone()).or_default();
                arrows.entry(file.clone()).or_insert_with(|| mentioned.join("::"));
            }
        }
    }
    files
}

/// The module of this crate that defines what `path` means in the module `here`.
fn resolve(
    modules: &BTreeMap<ModulePath, Module>,
    here: &ModulePath,
    path: &[String],
    passed_on: usize,
) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    if passed_on > PASSED_ON_MAX {
        return None;
    }
    match first.as_str() {
        "crate" => step(modules, ModulePath::new(), rest, passed_on),
        "self" => step(modules, here.clone(), rest, passed_on),
        "super" => step(modules, here.split_last()?.1.to_vec(), rest, passed_on),
        // A module below, or a name that is known here; all else is of another crate.
        _ => {
            let known = step(modules, here.clone(), path, passed_on)?;
            let is_own = modules[here].items.contains(first);
            (known != *here || is_own).then_some(known)
        }
    }
}

/// Follows names from a module on.
fn step(
    modules: &BTreeMap<ModulePath, Module>,
    at: ModulePath,
    names: &[String],
    passed_on: usize,
) -> Option<ModulePath> {
    let module = modules.get(&at)?;
    let Some((name, rest)) = names.split_first() else { return Some(at) };
    if name == "super" {
        return step(modules, at.split_last()?.1.to_vec(), rest, passed_on);
    }
    let mut below = at.clone();
    below.push(name.clone());
    if modules.contains_key(&below) {
        return step(modules, below, rest, passed_on);
    }
    if module.items.contains(name) {
        return Some(at);
    }
    let named = module.imports.iter().find(|import| import.name.as_ref() == Some(name));
    if let Some(import) = named {
        let whole: Vec<String> = import.path.iter().chain(rest).cloned().collect();
        return resolve(modules, &at, &whole, passed_on + 1);
    }
    let passed = module.imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
        let whole: Vec<String> = import.path.iter().chain(names).cloned().collect();
        let found = resolve(modules, &at, &whole, passed_on + 1)?;
        modules[&found].items.contains(name).then_some(found)
    });
    passed.or(Some(at))
}
