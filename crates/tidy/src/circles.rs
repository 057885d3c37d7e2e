//! Modules do not use each other in circles.
//!
//! A module may always look at those around it, as a part looks at its whole; between all others, arrows point one way.
//! Seen from outside, a module is one with its parts: what uses a part uses the whole, and what a part uses the whole
//! uses. Otherwise a circle could hide in the step from a part to its whole. A name that is passed on (`pub use`) counts
//! for the module that defines it, wherever it is taken from.

use crate::modules::{self, Module, ModulePath};
use crate::{Source, Violation};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names that pass names on, one after the other; more are a circle of `use`.
const PASSED_ON_MAX: usize = 16;

/// One use of a name: by which file, the name, and the file that defines it.
struct Use {
    user: PathBuf,
    name: String,
    used: PathBuf,
}

/// Modules of one whole that use each other, themselves or their parts, with one example for each arrow.
type Arrows = BTreeMap<ModulePath, BTreeMap<ModulePath, Use>>;

/// Groups of modules of a crate that use each other in a circle. `root` is its `lib.rs` or `main.rs`.
pub fn violations(sources: &[Source], root: &Path) -> Vec<Violation> {
    let arrows = arrows(&modules::of_crate(sources, root));
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        arrows.keys().map(|module| (module, reachable(&arrows, module))).collect();
    let reaches =
        |from: &ModulePath, to: &ModulePath| reach.get(from).is_some_and(|reach| reach.contains(to));
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for module in arrows.keys() {
        let in_circle = |other: &&ModulePath| reaches(module, other) && reaches(other, module);
        let circle: BTreeSet<&ModulePath> = arrows.keys().filter(in_circle).collect();
        if circle.is_empty() || !seen.insert(circle.clone()) {
            continue;
        }
        let inside = |user: &&ModulePath| {
            let used = arrows.get(*user).into_iter().flatten();
            used.filter(|(used, _)| circle.contains(used)).map(|(_, example)| example).collect::<Vec<_>>()
        };
        let examples: Vec<&Use> = circle.iter().flat_map(inside).collect();
        let mut message = "files use each other in a circle:".to_owned();
        for Use { user, name, used } in &examples {
            message.push_str(&format!("\n    {} uses `{name}` of {}", user.display(), used.display()));
        }
        let file = examples.first().map_or_else(PathBuf::new, |example| example.user.clone());
        violations.push(Violation { file, line: 1, message });
    }
    violations
}

fn reachable<'a>(arrows: &'a Arrows, from: &'a ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in arrows.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

fn arrows(modules: &BTreeMap<ModulePath, Module>) -> Arrows {
    let mut arrows = Arrows::new();
    for (path, module) in modules {
        let user = with_a_file(modules, path);
        let imports = module.imports.iter().map(|import| &import.path);
        for mentioned in imports.chain(&module.mentions) {
            let Some(used) = resolve(modules, path, mentioned, 0) else { continue };
            let used = with_a_file(modules, &used);
            let common = user.iter().zip(used).take_while(|(ours, theirs)| ours == theirs).count();
            // The modules below the whole that the two have in common; none if one of the two is the whole.
            let (Some(from), Some(to)) = (user.get(..=common), used.get(..=common)) else { continue };
            let arrows = arrows.entry(from.to_vec()).or_default();
            arrows.entry(to.to_vec()).or_insert_with(|| Use {
                user: module.file.clone(),
                name: mentioned.join("::"),
                used: modules[used].file.clone(),
            });
        }
    }
    arrows
}

/// The module itself, or the one around it in whose file it is written.
fn with_a_file<'a>(modules: &BTreeMap<ModulePath, Module>, path: &'a [String]) -> &'a [String] {
    match path.split_last() {
        Some((_, around)) if modules[around].file == modules[path].file => with_a_file(modules, around),
        _ => path,
    }
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
