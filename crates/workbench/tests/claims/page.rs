//! The page that shows which claims are tested, and with what result.

use crate::NO_ROW_YET;
use crate::list::{Claim, Kind, Paper};
use crate::record::Row;
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "\
# Coverage of the papers

This page lists every number and every claim of the papers, with the recorded verdict of the experiments that test it. A \
test (`crates/workbench/tests/claims`) generates it from `experiments/claims` and from the rows of the experiments, and \
fails if a row belongs to no claim. [simulator.md](simulator.md) explains how to repeat an experiment; \
[rdma-published.md](rdma-published.md) has the numbers that the RDMA paper derives.

If several rows test a claim, the claim has the worst of their verdicts: *not reproduced* if any row is, then *too few to \
tell*, then *differs as predicted*. *By a test* means that a test of the suite checks the claim at every commit, and \
*setting* that it is a parameter of the paper's testbed or design. *Not testable* means that nothing here can check the \
claim, for the reason given.
";

/// What is known about a claim, from the best to the least.
const STATUSES: [&str; 8] = [
    "reproduced",
    "by a test",
    "differs as predicted",
    "too few to tell",
    "not reproduced",
    "no row yet",
    "setting",
    "not testable",
];

/// The status of a claim.
fn status(claim: &Claim, rows: &[&Row]) -> &'static str {
    let any = |verdict| rows.iter().any(|row| row.verdict() == verdict);
    match (claim.kind, &claim.why_not) {
        (Kind::NotTestable, _) => "not testable",
        (Kind::Setting, Some(_)) => "setting",
        (_, Some(_)) => "no row yet",
        _ if rows.is_empty() => "by a test",
        _ if any("not-reproduced") => "not reproduced",
        _ if any("too-few-to-tell") => "too few to tell",
        _ if any("differs-as-predicted") => "differs as predicted",
        _ => "reproduced",
    }
}

/// The rows that test a claim.
fn rows_of<'a>(claim: &Claim, rows: &'a [Row]) -> Vec<&'a Row> {
    rows.iter().filter(|row| claim.rows.iter().any(|selection| row.is_selected(selection))).collect()
}

/// All of docs/coverage.md: the counts of each paper, then a table of its claims.
pub fn text(papers: &[Paper], rows: &[Row]) -> String {
    let mut text = HEAD.to_owned();
    text.push_str(&totals(papers, rows));
    for paper in papers {
        write!(text, "\n## {}\n\n", paper.paper).expect("memory");
        text.push_str("| place | claim | published | verdict | by |\n| --- | --- | --- | --- | --- |\n");
        for claim in &paper.claims {
            text.push_str(&line(claim, &rows_of(claim, rows)));
        }
    }
    text
}

/// How many claims of each paper have which status.
fn totals(papers: &[Paper], rows: &[Row]) -> String {
    let mut text = format!("\n| paper | claims | {} |\n| --- |", STATUSES.join(" | "));
    text.push_str(&" --- |".repeat(STATUSES.len() + 1));
    text.push('\n');
    let count = |papers: &[&Paper], name: &str| {
        let claims: Vec<&Claim> = papers.iter().flat_map(|paper| &paper.claims).collect();
        let of = |wanted: &str| {
            claims.iter().filter(|claim| status(claim, &rows_of(claim, rows)) == wanted).count().to_string()
        };
        format!("| {name} | {} | {} |\n", claims.len(), STATUSES.map(of).join(" | "))
    };
    for paper in papers {
        text.push_str(&count(&[paper], &paper.paper));
    }
    text.push_str(&count(&papers.iter().collect::<Vec<_>>(), "all"));
    text
}

/// The line of a claim.
fn line(claim: &Claim, rows: &[&Row]) -> String {
    let mut verdict = status(claim, rows).to_owned();
    let shared = rows.iter().filter(|row| row.verdict().replace('-', " ") == verdict).count();
    if rows.len() > 1 {
        write!(verdict, " ({shared} of {})", rows.len()).expect("memory");
    }
    let experiments: BTreeSet<String> = rows.iter().map(|row| format!("`{}`", row.experiment)).collect();
    let mut by: Vec<String> = experiments.into_iter().collect();
    by.extend(claim.test.as_ref().map(|test| format!("`cargo test -p {test}`")));
    by.extend(claim.why_not.as_ref().map(|reason| reason.trim_start_matches(NO_ROW_YET).to_owned()));
    let value = claim.value.as_deref().unwrap_or_default();
    let cells =
        [&claim.place, &claim.claim, value, &verdict, &by.join(", ")].map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}
