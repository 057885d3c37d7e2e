//! Runs the commands of the how-tos (docs/howto) as root, on machines that are network namespaces, and compares the outputs
//! that they show with those of the commands.
//!
//! A comment before each block of a how-to says where it runs: `<!-- on left -->`, `<!-- on both -->`, `<!-- on clone -->`,
//! or `<!-- not run: REASON -->`. After `<!-- shows -->`, a block is the output of the last command before it: each line
//! must have a counterpart with the same words in the same order. Numbers, their units, and what is in parentheses may
//! differ, because they are measured. `<!-- test left: COMMAND -->` is run, but not shown to readers. `LINKMEND_HOWTO=print` prints what commands
//! printed.

mod world;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use world::{CLONE, MACHINES, Script, World};

/// Units and such, which differ with the numbers before them, and what `status` writes for a share of zero.
const IGNORED: [&str; 16] = [
    "ns", "us", "ms", "min", "kB", "MB", "GB", "KiB", "MiB", "bit", "kbit", "Mbit", "Gbit", "bytes", "none",
    "of",
];
/// Lines of a page, except for empty ones and those that only this test reads.
const LINES_MAX: usize = 90;
const PAGES: [&str; 8] = [
    "failing-cable",
    "gnmi",
    "notebook",
    "path-without-a-cable",
    "radio-bridge",
    "sonic",
    "virtual-machine",
    "white-box-rack",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto")
}

/// A part of a how-to that concerns this test.
#[derive(Debug, PartialEq)]
enum Step {
    Run { place: String, block: String },
    Shows(String),
    NotRun { block: String },
}

/// Takes the block at the beginning of a text, indented or fenced.
fn block(text: &str) -> String {
    if let Some(fenced) = text.strip_prefix("```") {
        let (_, rest) = fenced.split_once('\n').expect("a line");
        return rest.split("```").next().expect("an end").to_owned();
    }
    let lines = text.lines().take_while(|line| line.starts_with("    ") || line.is_empty());
    lines
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect::<String>()
        .trim_end()
        .to_owned()
}

fn steps(page: &str, text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, _) in text.match_indices("<!-- ") {
        let (directive, rest) = text[at + 5..].split_once(" -->").expect("the comment has an end");
        let block = || {
            let block = block(rest.trim_start_matches('\n'));
            assert!(!block.is_empty(), "{page}: no block after `{directive}`");
            block
        };
        if let Some(place) = directive.strip_prefix("on ") {
            steps.push(Step::Run { place: place.to_owned(), block: block() });
        } else if let Some((place, command)) =
            directive.strip_prefix("test ").and_then(|directive| directive.split_once(": "))
        {
            steps.push(Step::Run { place: place.to_owned(), block: command.to_owned() });
        } else if directive == "shows" {
            steps.push(Step::Shows(block()));
        } else {
            assert!(directive.starts_with("not run: "), "{page}: `{directive}`");
            steps.push(Step::NotRun { block: block() });
        }
    }
    steps
}

/// The words of a line, without numbers, units, and reasons in parentheses.
fn words(line: &str) -> Vec<&str> {
    line.split('(')
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) })
        .flat_map(|part| part.split(|letter: char| !letter.is_alphabetic()))
        .filter(|word| word.len() > 1 && !IGNORED.contains(word))
        .collect()
}

/// The first line that has no counterpart in the output.
fn missing<'a>(shown: &'a str, output: &str) -> Option<&'a str> {
    let printed: Vec<Vec<&str>> = output.lines().map(words).collect();
    shown.lines().filter(|line| !words(line).is_empty() && line.trim() != "...").find(|line| {
        let wanted = words(line);
        !printed.iter().any(|line| {
            let mut rest = line.iter();
            wanted.iter().all(|word| rest.any(|other| other == word))
        })
    })
}

fn places(place: &str) -> Vec<&str> {
    let places = if place == "both" { vec!["left", "right"] } else { vec![place] };
    assert!(places.iter().all(|place| MACHINES.contains(place) || *place == CLONE), "{place}");
    places
}

/// Follows a page from its beginning to its end.
fn follow(page: &str) {
    let text = fs::read_to_string(folder().join(format!("{page}.md"))).expect("a page");
    let skipped = |needs: &str| {
        // Written past the harness, which keeps what passing tests print to itself.
        let text = format!("\n######## SKIPPED: docs/howto/{page}.md needs {needs} ########\n");
        std::io::stderr().write_all(text.as_bytes()).expect("stderr");
    };
    if text.contains("redis-server") && Command::new("redis-server").arg("--version").output().is_err() {
        return skipped("redis-server, which scripts/require test fetches");
    }
    let Some(world) = World::new(page) else { return skipped("root and iproute2: sudo -E make test") };
    let mut before: Option<(String, Script, String)> = None;
    for step in steps(page, &text) {
        match step {
            Step::NotRun { .. } => {}
            Step::Run { place, block } => {
                let script = Script::new(&block);
                let mut first = None;
                for place in places(&place) {
                    let (succeeded, output) = world.run(place, &script);
                    assert!(succeeded, "{page}, {place}:\n{block}\n{output}\n{}", world.log(place));
                    print(place, &block, &output);
                    first.get_or_insert(output);
                }
                before = Some((places(&place)[0].to_owned(), script, first.unwrap_or_default()));
            }
            Step::Shows(shown) => {
                let (place, script, output) = before.as_mut().expect("an output follows a command");
                let what = || format!("{page}, {place}: `{}` does not print", script.last().text());
                let begun = std::time::Instant::now();
                while let Some(line) = missing(&shown, output) {
                    let late = begun.elapsed() > world::PATIENCE;
                    assert!(!late, "{}\n{line}\nbut\n{output}\n{}", what(), world.log(place));
                    *output = world.run(place, &script.last()).1;
                }
                print(place, script.last().text(), output);
            }
        }
    }
}

fn print(place: &str, command: &str, output: &str) {
    if std::env::var_os("LINKMEND_HOWTO").is_some() {
        writeln!(std::io::stderr(), "[{place}] {command}\n{output}").expect("stderr");
    }
}

#[test]
fn the_failing_cable() {
    follow("failing-cable");
}

#[test]
fn the_notebook() {
    follow("notebook");
}

#[test]
fn the_path_without_a_cable() {
    follow("path-without-a-cable");
}

#[test]
fn the_radio_bridge() {
    follow("radio-bridge");
}

#[test]
fn sonic() {
    follow("sonic");
}

#[test]
fn gnmi() {
    follow("gnmi");
}

#[test]
fn the_virtual_machine() {
    follow("virtual-machine");
}

#[test]
fn the_rack_of_white_boxes() {
    follow("white-box-rack");
}

/// Every page is followed, and every block of it is run or says why not.
#[test]
fn every_block_of_every_how_to_says_where_it_runs() {
    let entries = fs::read_dir(folder()).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    assert_eq!(names, PAGES.map(|page| format!("{page}.md")));
    for page in PAGES {
        let text = fs::read_to_string(folder().join(format!("{page}.md"))).expect("a page");
        let steps = steps(page, &text);
        let (mut before, mut fenced) = ("", false);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            fenced ^= line.starts_with("```");
            let begins = !fenced && line.starts_with("    ") && !before.starts_with("    ");
            assert!(!begins || before.ends_with("-->"), "{page}: no comment before the block of {line}");
            before = line;
        }
        let fences = text.lines().filter(|line| line.starts_with("```")).count() / 2;
        let fenced = text.matches("-->\n\n```").count();
        assert_eq!(fences, fenced, "{page}: a fenced block without a comment before it");
        assert!(steps.iter().any(|step| matches!(step, Step::Run { .. })), "{page}: nothing is run");
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("<!-- ")).count();
        assert!(lines <= LINES_MAX, "{page}: {lines} lines; details belong to the reference");
    }
}
