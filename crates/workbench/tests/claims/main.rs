//! The papers' claims (`experiments/claims`) are complete, and docs/coverage.md shows them with their verdicts.
//! `UPDATE_EXPECT=1` writes the page anew.

mod list;
mod page;
mod record;

use list::{Claim, Kind, Paper, papers};
use record::{Row, rows};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The page that is generated.
const PAGE: &str = "docs/coverage.md";
/// How the reason begins of a claim that could have a row.
const NO_ROW_YET: &str = "no row yet: ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All claims, each with its paper.
fn claims(papers: &[Paper]) -> impl Iterator<Item = (&Paper, &Claim)> {
    papers.iter().flat_map(|paper| paper.claims.iter().map(move |claim| (paper, claim)))
}

#[test]
fn every_published_value_belongs_to_a_claim() {
    let (papers, rows) = (papers(), rows());
    let claimed = |row: &&Row| {
        claims(&papers).flat_map(|(_, claim)| &claim.rows).any(|selection| row.is_selected(selection))
    };
    let unclaimed: Vec<String> =
        rows.iter().filter(|row| !row.is_theory && !claimed(row)).map(Row::name).collect();
    assert!(unclaimed.is_empty(), "no claim in experiments/claims names {unclaimed:#?}");
    assert!(rows.len() > 300, "only {} published values are found", rows.len());
}

#[test]
fn every_tolerance_has_a_reason() {
    let rows = rows();
    let lacking: Vec<String> =
        rows.iter().filter(|row| !row.is_theory && row.lacks_reason()).map(Row::name).collect();
    assert!(lacking.is_empty(), "`tolerance-reason` is missing: {lacking:#?}");
}

#[test]
fn every_row_that_a_claim_names_exists() {
    let (papers, rows) = (papers(), rows());
    for (paper, claim) in claims(&papers) {
        for selection in &claim.rows {
            let found = rows.iter().any(|row| row.is_selected(selection));
            assert!(found, "{}: `{}`: no published value is {selection}", paper.file, claim.claim);
        }
    }
}

#[test]
fn every_test_that_a_claim_names_exists() {
    let papers = papers();
    for (paper, claim) in claims(&papers) {
        let Some(test) = &claim.test else { continue };
        let (package, function) = test.split_once(' ').unwrap_or_default();
        let folder = root().join("crates").join(package.trim_start_matches("linkmend-"));
        let head = format!("fn {function}()");
        assert!(contains(&folder, &head), "{}: `{}`: no test `{test}`", paper.file, claim.claim);
    }
}

/// Whether a Rust file below the folder contains a text.
fn contains(folder: &Path, text: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.map(|entry| entry.expect("an entry").path()).any(|path| {
        if path.is_dir() {
            return contains(&path, text);
        }
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        is_rust && std::fs::read_to_string(&path).expect("a file").contains(text)
    })
}

#[test]
fn every_claim_has_a_row_or_a_test_or_a_reason() {
    let papers = papers();
    for (paper, claim) in claims(&papers) {
        let place = format!("{}: `{}`", paper.file, claim.claim);
        let shown = !claim.rows.is_empty() || claim.test.is_some();
        let Some(reason) = &claim.why_not else {
            assert!(shown, "{place}: neither a row nor a test nor a reason");
            continue;
        };
        assert!(!shown, "{place}: a reason why there is no row, and a row or a test");
        let excused = matches!(claim.kind, Kind::Setting | Kind::NotTestable);
        let yet = reason.starts_with(NO_ROW_YET);
        assert!(
            excused != yet,
            "{place}: the reason of a claim that can be tested begins with `{NO_ROW_YET}`"
        );
    }
}

#[test]
fn no_claim_is_listed_twice() {
    for paper in papers() {
        let mut known = BTreeSet::new();
        for claim in &paper.claims {
            let is_new = known.insert((&claim.place, &claim.claim));
            assert!(is_new, "{}: `{}` is listed twice for {}", paper.file, claim.claim, claim.place);
        }
    }
}

#[test]
fn the_page_shows_the_claims_and_their_verdicts() {
    let expected = page::text(&papers(), &rows());
    let path = root().join(PAGE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &expected).expect("written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "UPDATE_EXPECT=1 cargo test -p linkmend-workbench --test claims writes it anew";
    assert!(written == expected, "{PAGE} does not show the claims; {how}");
}
