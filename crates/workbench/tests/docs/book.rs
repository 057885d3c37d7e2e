//! The table of contents of the book, docs/SUMMARY.md, which `make book` builds. The links of the table and of the pages are
//! checked with those of all documents.

use super::{documents, read};
use std::collections::BTreeSet;

const SUMMARY: &str = "docs/SUMMARY.md";
/// The first page is for somebody who decides where to go next.
const FIRST_PAGE_LINES_MAX: usize = 40;

/// The targets of the table, from the root of the repository.
fn pages() -> Vec<String> {
    let summary = read(SUMMARY);
    let targets =
        summary.match_indices("](").map(|(at, _)| summary[at + 2..].split(')').next().expect("an end"));
    targets.map(|target| target.strip_prefix("../").map_or(format!("docs/{target}"), str::to_owned)).collect()
}

#[test]
fn every_page_is_in_the_book_once() {
    let pages = pages();
    let distinct: BTreeSet<&String> = pages.iter().collect();
    assert_eq!(distinct.len(), pages.len(), "{SUMMARY} names a page twice");
    for document in documents().into_iter().filter(|name| name.starts_with("docs/") && name != SUMMARY) {
        assert!(distinct.contains(&document), "{SUMMARY} does not name {document}");
    }
}

#[test]
fn the_first_page_shows_the_picture_and_two_commands() {
    assert_eq!(pages().first().map(String::as_str), Some("docs/start.md"));
    let page = read("docs/start.md");
    assert!(page.contains("](demo-timeline.svg)"));
    let commands: Vec<String> = super::commands(&page);
    assert_eq!(commands, ["make demo", "linkmend run --inner eth1 --link eth2"]);
    let lines = page.lines().count();
    assert!(lines <= FIRST_PAGE_LINES_MAX, "docs/start.md has {lines} lines");
}
