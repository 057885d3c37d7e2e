//! The rules, held against this workspace.

use linkmend_tidy::{Violation, arrows, circles, docs, length, manifests, report};
use linkmend_tidy::{workspace_root, workspace_sources};
use std::path::PathBuf;

/// Crates that wait, measure or log in real time. All others take the time as an argument.
const IN_REAL_TIME: [&str; 8] =
    ["control", "dataplane", "lab", "linkmend", "matrix", "monitor", "python", "workbench"];

fn demand_none(violations: &[Violation]) {
    assert!(violations.is_empty(), "{} places break this rule:{}", violations.len(), report(violations));
}

#[test]
fn files_and_functions_are_short() {
    let sources = workspace_sources(&workspace_root());
    assert!(sources.len() > 300, "only {} files were found", sources.len());
    demand_none(&sources.iter().flat_map(length::violations).collect::<Vec<_>>());
}

#[test]
fn what_is_public_is_documented_and_no_documentation_is_there_for_its_own_sake() {
    let sources = workspace_sources(&workspace_root());
    demand_none(&sources.iter().flat_map(docs::violations).collect::<Vec<_>>());
}

#[test]
fn crates_use_each_other_as_the_document_draws_it() {
    let root = workspace_root();
    let document = std::fs::read_to_string(root.join(arrows::DOCUMENT)).expect("the document is there");
    demand_none(&arrows::violations(&arrows::of_workspace(&root), &document));
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let root = workspace_root();
    let sources = workspace_sources(&root);
    let roots = |source: &PathBuf| source.ends_with("src/lib.rs") || source.ends_with("src/main.rs");
    let roots: Vec<PathBuf> = sources.iter().map(|source| source.path.clone()).filter(roots).collect();
    assert!(roots.len() > 10, "only {} crates were found", roots.len());
    demand_none(&roots.iter().flat_map(|root| circles::violations(&sources, root)).collect::<Vec<_>>());
}

#[test]
fn every_crate_is_under_the_lints_of_the_workspace_and_no_library_needs_clap() {
    demand_none(&manifests::violations(&workspace_root(), &IN_REAL_TIME));
}

#[test]
fn property_tests_draw_the_same_cases_in_every_run() {
    let seed = proptest::test_runner::Config::default().rng_seed;
    let is_fixed = matches!(seed, proptest::test_runner::RngSeed::Fixed(_));
    assert!(is_fixed, "{seed:?}: cargo sets it to PROPTEST_RNG_SEED in .cargo/config.toml");
}
