//! Checks the documents: the subcommands, options and `make` targets that they name exist, links and their anchors lead
//! somewhere, and the output that a document shows is what the command prints.

mod book;
mod commands;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Samples whose figures depend on the machine, so that they are not compared: those of `linkmend demo`, with and without
/// `--failover`.
const MEASURED: [&str; 3] = ["demo", "failover", "wan"];

/// The README is for somebody who decides within two minutes whether to try Linkmend.
const README_LINES_MAX: usize = 150;
/// The overview of the architecture has three pages; everything else belongs to `docs/design` and `docs/decisions`.
const ARCHITECTURE_WORDS_MAX: usize = 2_000;

/// Folders with documents, from the root of the repository.
const FOLDERS: [&str; 6] = ["", "docs", "docs/howto", DESIGN, DECISIONS, ".github"];
const DESIGN: &str = "docs/design";
const DECISIONS: &str = "docs/decisions";
/// Files whose documentation follows something through the code, in a section `One ...`.
const WALKS: [&str; 7] = [
    "protocol/src/lib.rs",
    "protocol/src/link_end.rs",
    "dataplane/src/lib.rs",
    "sim/src/lib.rs",
    "sim/src/host/mod.rs",
    "monitor/src/lib.rs",
    "fleet/src/simulate/mod.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all documents, relative to the root of the repository: `README.md`, `docs/manual.md` and so on.
fn documents() -> Vec<String> {
    let markdown = |folder: &str| {
        let entries = std::fs::read_dir(root().join(folder)).expect("the folder can be listed");
        entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .filter(|name| name.ends_with(".md"))
            .map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") })
            .collect::<Vec<String>>()
    };
    let mut names: Vec<String> = FOLDERS.into_iter().flat_map(markdown).collect();
    names.sort();
    names
}

/// The overview, the designs and the decisions, which speak about the code.
fn architecture() -> Vec<(String, String)> {
    let about_code =
        |name: &String| [DESIGN, DECISIONS, "ARCHITECTURE.md"].iter().any(|start| name.starts_with(start));
    documents().into_iter().filter(about_code).map(|name| (name.clone(), read(&name))).collect()
}

/// A sample of output in a document, between `<!-- NAME-results:begin -->` and its end.
struct Sample {
    name: String,
    /// The position of its text in the document.
    place: Range<usize>,
    /// The last command before it.
    command: Option<String>,
}

fn samples(document: &str) -> Vec<Sample> {
    let (begin, end) = ("-results:begin -->\n```text\n", "```\n<!-- ");
    document
        .match_indices(begin)
        .map(|(at, _)| {
            let name = document[..at].rsplit("<!-- ").next().unwrap_or_default().to_owned();
            let first = at + begin.len();
            let length = document[first..].find(end).unwrap_or_else(|| panic!("{name} has no end"));
            assert!(
                document[first + length + end.len()..].starts_with(&format!("{name}-results:end -->")),
                "{name} is ended by another"
            );
            let command = commands(&document[..at]).into_iter().rfind(|line| line.starts_with("linkmend "));
            Sample { name, place: first..first + length, command }
        })
        .collect()
}

/// The output without the line that says how long the command took, which differs from run to run.
fn masked(output: &str) -> String {
    let timeless = |line: &&str| !line.trim_start().starts_with("took ");
    output.lines().filter(timeless).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The output with the time that the document shows, because an unoptimised binary takes longer.
fn with_time_of(shown: &str, printed: &str) -> String {
    let is_time = |line: &&str| line.trim_start().starts_with("took ");
    let line = |line| if is_time(&line) { shown.lines().find(is_time).unwrap_or(line) } else { line };
    printed.lines().map(|printed| format!("{}\n", line(printed))).collect()
}

/// `UPDATE_EXPECT=1` writes the samples anew.
#[test]
fn samples_in_the_documents_are_what_their_commands_print() {
    let mut checked = Vec::new();
    for name in documents() {
        let mut document = read(&name);
        // The last sample comes first, so that positions stay valid.
        for sample in samples(&document).into_iter().rev() {
            if MEASURED.contains(&sample.name.as_str()) {
                continue;
            }
            let command = sample.command.unwrap_or_else(|| panic!("{name}: {} has no command", sample.name));
            let output = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
                .current_dir(root())
                .args(command.split_whitespace().skip(1))
                .env_remove("RUST_LOG")
                .env("NO_COLOR", "1")
                .output()
                .expect("it starts");
            assert!(output.status.success(), "`{command}`: {}", String::from_utf8_lossy(&output.stderr));
            let printed = String::from_utf8(output.stdout).expect("UTF-8");
            let shown = &document[sample.place.clone()];
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                if masked(shown) != masked(&printed) {
                    let anew = with_time_of(shown, &printed);
                    document.replace_range(sample.place, &anew);
                    std::fs::write(root().join(&name), &document).expect("written");
                }
            } else {
                let how = "UPDATE_EXPECT=1 cargo test -p linkmend --test docs writes it anew";
                assert_eq!(masked(shown), masked(&printed), "{name}: `{command}` prints another text; {how}");
            }
            checked.push(sample.name);
        }
    }
    assert_eq!(
        checked,
        ["corruptd-replay", "plan", "failover-run", "protected-flows", "flows", "sim"],
        "does the test still find the samples?"
    );
}

/// A regression: the text spoke of retransmission timeouts, and the table below it had none.
#[test]
fn what_the_simulators_page_says_about_a_lone_packet_is_what_its_table_shows() {
    let page = read("docs/simulator.md");
    let sample = samples(&page).into_iter().find(|sample| sample.name == "flows").expect("a sample");
    let row = |name: &str| {
        let line = page[sample.place.clone()].lines().find(|line| line.trim_start().starts_with(name));
        line.and_then(|line| line.split_once(name)).map(|(_, value)| value.trim().to_owned())
    };
    let before = page[..sample.place.start].rsplit("\n## ").next().unwrap_or_default();
    let says = |word: &str| before.split_whitespace().collect::<Vec<_>>().join(" ").contains(word);
    let timeouts = row("retransmission timeouts").expect("a row") != "0";
    assert_eq!((says("retransmission timer"), says("tail loss probe")), (timeouts, !timeouts));
    let p999 = row("99.9 %").expect("a row");
    assert!(p999.starts_with("2.") && p999.ends_with("ms") && says("some 2 ms"), "{p999}");
}

/// Lines of indented or fenced code blocks, as far as they are commands.
fn commands(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            let line = line
                .trim()
                .trim_start_matches("$ ")
                .trim_start_matches("sudo ")
                .trim_start_matches("target/release/");
            found.push(line.split(" #").next().unwrap_or(line).trim().to_owned());
        }
    }
    found
}

fn help(subcommands: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
        .args(subcommands)
        .arg("--help")
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "linkmend {} is no command", subcommands.join(" "));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn commands_in_the_documents_exist() {
    let mut checked = 0;
    // The page of commands is their help.
    for document in documents().into_iter().filter(|name| name != commands::PAGE) {
        for line in commands(&read(&document)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(("linkmend", rest)) = words.split_first().map(|(first, rest)| (*first, rest)) else {
                continue;
            };
            // In drawings, arrows follow the name.
            let Some(&subcommand) = rest.first().filter(|word| **word != "->") else { continue };
            let mut path = vec![subcommand];
            if matches!(subcommand, "corruptd" | "fleet" | "lab" | "rdma" | "sim")
                && let Some(next) = rest.get(1).filter(|word| !word.starts_with(['-', '<', '[']))
            {
                path.push(next);
            }
            let help = help(&path);
            for option in rest.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or(option);
                assert!(help.contains(name), "{document}: `{line}`: no option {name}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 25, "only {checked} commands were found; does the test still read the documents?");
}

#[test]
fn make_targets_in_the_documents_exist() {
    let makefile = read("Makefile");
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(':')).map(|(target, _)| target).collect();
    for document in documents() {
        for line in commands(&read(&document)) {
            let mut words = line.split_whitespace();
            if let (Some("make"), Some(target)) = (words.next(), words.next()) {
                assert!(targets.contains(target), "{document}: no target {target}");
            }
        }
    }
}

/// The README repeats the first table of the demo; `docs/demo.md` is its home.
#[test]
fn the_table_in_the_readme_is_that_of_the_demo() {
    let (readme, demo) = (read("README.md"), read("docs/demo.md"));
    let sample = samples(&demo).into_iter().find(|sample| sample.name == "demo").expect("the demo's sample");
    let excerpt = readme
        .split_once("<!-- demo-excerpt:begin -->\n```text\n")
        .and_then(|(_, rest)| rest.split_once("\n```\n<!-- demo-excerpt:end -->"))
        .map(|(excerpt, _)| excerpt)
        .expect("the README has an excerpt");
    assert!(demo[sample.place].contains(excerpt), "the README's table is not in docs/demo.md:\n{excerpt}");
}

/// The README has the medians of the table in `docs/limits.md`.
#[test]
fn the_speeds_in_the_readme_are_those_of_the_limits() {
    let limits = read("docs/limits.md");
    let medians = |name: &str| {
        let row = limits.lines().find(|line| line.trim_start().starts_with(&format!("| {name} |")));
        let cells =
            row.unwrap_or_else(|| panic!("docs/limits.md has no row `{name}`")).split('|').skip(2).take(2);
        cells.map(|cell| cell.split_whitespace().next().expect("a median").to_owned()).collect::<Vec<_>>()
    };
    let (protected, bridge) = (medians("protected link, ordered"), medians("bridge"));
    let sentence = format!(
        "carries {} Gbit/s of TCP with `--offloads` and {} without; a bridge carries {} and {}.",
        protected[1], protected[0], bridge[1], bridge[0]
    );
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&sentence), "README.md must say: {sentence}");
}

#[test]
fn the_readme_takes_two_minutes_to_read() {
    let lines = read("README.md").lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines; details belong to docs/");
}

#[test]
fn the_architecture_takes_three_pages() {
    let words = read("ARCHITECTURE.md").split_whitespace().count();
    assert!(words <= ARCHITECTURE_WORDS_MAX, "ARCHITECTURE.md has {words} words; details belong to {DESIGN}");
}

/// Decisions have an index of their own, which is a document like others.
#[test]
fn every_document_is_in_the_index() {
    for document in documents() {
        let index = if document.starts_with(DECISIONS) && !document.ends_with("README.md") {
            DECISIONS
        } else {
            "docs"
        };
        let Some(name) = document
            .strip_prefix(&format!("{index}/"))
            .filter(|name| !["README.md", "SUMMARY.md"].contains(name))
        else {
            continue;
        };
        let index = format!("{index}/README.md");
        assert!(read(&index).contains(&format!("]({name})")), "{index} does not name {name}");
    }
}

/// A decision has a number, a date, and the parts that let somebody judge later whether it still holds.
#[test]
fn decisions_are_numbered_dated_and_complete() {
    let index = read("docs/decisions/README.md");
    let names =
        documents().into_iter().filter(|name| name.starts_with(DECISIONS) && !name.ends_with("README.md"));
    let mut number = 0;
    for name in names {
        number += 1;
        let (text, heading) = (read(&name), format!("# {number:04}: "));
        let mut lines = text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix(&heading));
        let title = title.unwrap_or_else(|| panic!("{name} does not begin with `{heading}`"));
        let date = lines.nth(1).unwrap_or_default();
        let shape: String = date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00", "{name}: a date follows the title");
        let parts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(parts, ["Context", "Decision", "Evidence", "Consequences"], "{name}");
        assert!(index.contains(&format!("| {date} | {title} |")), "{DECISIONS}/README.md: {name}");
    }
    assert!(number >= 44, "only {number} decisions were found; does the test still read them?");
}

/// The anchor of a heading, as code hosts generate it: lower case, without punctuation, hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let mut checked = 0;
    for document in documents() {
        let text = read(&document);
        let folder = root().join(&document).parent().expect("a folder").to_owned();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            if target.starts_with("http") {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { root().join(&document) } else { folder.join(path) };
            assert!(path.exists(), "{document}: {target} leads nowhere");
            if !heading.is_empty() {
                let linked = std::fs::read_to_string(&path).expect("a document");
                let headings = linked.lines().filter_map(|line| line.strip_prefix('#'));
                let found =
                    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|name| name == heading);
                assert!(found, "{document}: {target}: no such heading");
            }
            checked += 1;
        }
    }
    assert!(checked >= 30, "only {checked} links were found; does the test still read the documents?");
}

/// Checks the files that the documents about the code name, and the functions listed after a file:
/// ``crates/fleet/src/timeline.rs` (`next`, `schedule`)`.
#[test]
fn files_and_functions_in_the_architecture_exist() {
    let mut files = 0;
    for (document, text) in architecture() {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let pieces: Vec<&str> = text.split('`').collect();
        for (at, path) in pieces.iter().enumerate() {
            let is_code = at % 2 == 1;
            let is_path =
                ["crates/", "docs/", "experiments/", "fuzz/"].iter().any(|top| path.starts_with(top));
            if !is_code || !is_path {
                continue;
            }
            assert!(root().join(path).exists(), "{document} names {path}, which does not exist");
            files += 1;
            if !path.ends_with(".rs") || pieces.get(at + 1).is_none_or(|between| *between != " (") {
                continue;
            }
            let source = read(path);
            for pair in pieces[at + 2..].chunks(2) {
                let [name, behind] = *pair else { break };
                let defined =
                    [format!("fn {name}("), format!("fn {name}<")].iter().any(|head| source.contains(head));
                assert!(defined, "{document} names the function {name} of {path}, which is not there");
                if behind != ", " {
                    break;
                }
            }
        }
    }
    assert!(files >= 60, "only {files} paths were found; does the test still read the documents?");
}

/// The walks through the code are in the documentation of crates, as links of which `cargo doc` demands that they lead to
/// something.
#[test]
fn walks_through_the_code_are_links_that_rustdoc_checks() {
    let links = |name: &str| {
        let source = read(&format!("crates/{name}"));
        let (_, walk) = source.split_once(" # One ").unwrap_or_else(|| panic!("crates/{name} has no walk"));
        let walk = walk.lines().skip(1).take_while(|line| line.starts_with("//"));
        walk.map(|line| line.matches("[`").count().max(line.matches("](").count())).sum::<usize>()
    };
    let total: usize = WALKS.into_iter().map(links).sum();
    assert!(total >= 90, "only {total} links; a walk names the functions to read, in the order of calls");
    assert!(read("scripts/test").contains("RUSTDOCFLAGS=\"-D warnings\" step cargo doc --workspace"));
}

/// Checks the modules that the documents about the code name, such as `fleet::simulate`: each part is a file, or occurs
/// in the file of the part before it.
#[test]
fn modules_in_the_architecture_exist() {
    let is_part_of_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
    let mut checked = 0;
    for (document, text) in architecture() {
        for path in text.split(|letter| !is_part_of_path(letter)) {
            let Some((name, parts)) = path.trim_end_matches(':').split_once("::") else { continue };
            let mut folder = root().join("crates").join(name).join("src");
            if !folder.exists() {
                continue;
            }
            let mut file = folder.join("lib.rs");
            for part in parts.split("::") {
                let source = std::fs::read_to_string(&file).expect("a module");
                let mut known = source.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
                assert!(known.any(|word| word == part), "{document}: {path}: no {part} in {name}");
                folder.push(part);
                let inside = [folder.with_extension("rs"), folder.join("mod.rs")]
                    .into_iter()
                    .find(|file| file.exists());
                file = inside.unwrap_or(file);
            }
            checked += 1;
        }
    }
    assert!(checked >= 60, "only {checked} modules were found; does the test still read the documents?");
}

/// The README says how many published values are reproduced. Each row of an experiment file records its verdict.
#[test]
fn the_readme_counts_the_verdicts_on_record() {
    let files = ["experiments", "experiments/fleet"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root().join(folder)).expect("the folder can be listed");
        entries.map(|entry| entry.expect("an entry").path())
    });
    let texts: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| std::fs::read_to_string(path).expect("a file"))
        .collect();
    let rows: Vec<&str> = texts
        .iter()
        .flat_map(|text| text.split("\n[["))
        .filter(|table| table.starts_with("published]]"))
        .collect();
    let [differ, not, few] = ["differs-as-predicted", "not-reproduced", "too-few-to-tell"].map(|verdict| {
        let line = format!("\nverdict = \"{verdict}\"");
        rows.iter().filter(|row| row.contains(&line)).count()
    });
    let all = rows.len();
    assert!(all > 300, "only {all} published values are found");
    let sentence = format!(
        "Of {all} published values, {} are reproduced, {differ} differ as a known cause predicts, {not} are not reproduced, and for \
         {few} there are too few events to tell.",
        all - differ - not - few,
    );
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&sentence), "README.md must say: {sentence}");
}
