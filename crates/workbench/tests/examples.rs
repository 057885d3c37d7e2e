//! The examples in the help of both programs: each is on one line that can be pasted, is accepted by the parser, and runs,
//! with less work, unless it needs root, real interfaces, a daemon or minutes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_linkmend-workbench");

/// The columns of a terminal that nobody has enlarged.
const NARROW: usize = 80;
/// The columns at which help is wrapped in a wider terminal.
const WIDE: usize = 100;

/// What is done with an example.
enum Treatment {
    /// It is only parsed.
    Parse,
    /// It is run, with these options in place of its own, or in addition.
    Run(&'static [(&'static str, &'static str)]),
}

use Treatment::{Parse, Run};

/// How the words after `linkmend` begin, and what is done with such an example. The first rule that fits counts.
const RULES: &[(&str, Treatment)] = &[
    // They need interfaces, or a daemon.
    ("run --inner", Parse),
    ("run --config", Run(&[("--config", "linkmend.toml")])),
    ("status", Parse),
    ("protect", Parse),
    ("unprotect", Parse),
    ("prefer", Parse),
    ("capture", Parse),
    ("corrupt ", Parse),
    ("detach", Parse),
    ("doctor eth1", Parse),
    ("doctor", Run(&[])),
    ("corruptd --replay", Run(&[])),
    ("corruptd evaluate", Run(&[("--runs", "1"), ("--years", "0.01"), ("--losses", "1e-4")])),
    ("corruptd", Parse),
    ("fleet plan --topology network.yaml --corruptd", Parse),
    // They need root, or several seconds.
    ("demo", Parse),
    ("lab", Parse),
    ("sim kernel --simulated", Run(&[("--duration", "1s"), ("--losses", "burst")])),
    ("sim kernel", Parse),
    ("reproduce all", Parse),
    ("reproduce --list", Run(&[])),
    ("reproduce rdma-fig12", Parse),
    ("reproduce fig8", Run(&[("--quick", ""), ("--out", "one")])),
    ("reproduce fig19", Run(&[("--quick", ""), ("--out", "two")])),
    ("sim run", Run(&[])),
    ("merge shard-1", Run(&[])),
    ("merge shards/*", Parse),
    ("sim replay", Run(&[])),
    ("sim packetdrill", Run(&[])),
    ("sim links --load 40% --phases", Run(&[])),
    ("sim links --second-link", Run(&[("--cuts", "2")])),
    ("sim links", Run(&[("--frames", "2k")])),
    ("sim llr", Run(&[])),
    ("sim stress", Run(&[("--frames", "2k")])),
    (
        "sim timeline",
        Run(&[
            ("--corruption-at", "2ms"),
            ("--protection-at", "5ms"),
            ("--duration", "10ms"),
            ("--sample", "1ms"),
        ]),
    ),
    ("sim flows --transport cubic", Run(&[("--duration", "5ms")])),
    ("sim flows --topology fat-tree", Run(&[("--duration", "200us")])),
    ("sim flows --program", Run(&[])),
    ("sim flows --collective", Run(&[("--size", "100kB"), ("--steps", "1")])),
    ("sim flows", Run(&[("--trials", "20")])),
    ("rdma check", Run(&[("--trials", "500")])),
    ("rdma", Run(&[])),
    ("fleet plan --topology fat-tree", Run(&[("--links", "fat-tree.csv")])),
    ("fleet plan", Run(&[])),
    ("fleet show", Run(&[])),
    ("fleet deploy --topology", Run(&[])),
    ("fleet deploy", Run(&[("--days", "3")])),
    ("fleet trace", Run(&[("--days", "3")])),
    ("fleet simulate --trace", Run(&[])),
    ("fleet simulate", Run(&[("--days", "3")])),
    ("generate man", Run(&[])),
    ("generate completions", Run(&[])),
];

/// An example: a line of a help text, or several that end with `\`, without remark.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Example {
    line: String,
}

impl Example {
    /// Its words after `linkmend`, without what a shell does with the output.
    fn words(&self) -> Vec<String> {
        let command = self.line.split(['|', '>']).next().unwrap_or_default();
        // Quotes protect `*`; no example has a space between them.
        let words = command.split_whitespace().map(|word| word.replace('\'', ""));
        words.skip_while(|word| word != "linkmend").skip(1).collect()
    }

    fn rule(&self) -> Option<usize> {
        let words = self.words().join(" ");
        RULES.iter().position(|(beginning, _)| words.starts_with(beginning))
    }
}

/// The examples in a text. A remark begins with `#`.
fn examples_in(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut goes_on = false;
    let lines = text.lines().skip_while(|line| !matches!(*line, "Examples:" | "Example:"));
    for line in lines {
        let command = line.split(" # ").next().unwrap_or(line).trim_end();
        let words = command.trim_start();
        if goes_on {
            let last = found.last_mut().expect("it began");
            last.line = format!("{} {words}", last.line);
        } else if ["  linkmend ", "  sudo linkmend "].iter().any(|start| command.starts_with(start)) {
            found.push(Example { line: words.to_owned() });
        } else {
            continue;
        }
        let last = found.last_mut().expect("there is one");
        goes_on = last.line.ends_with(" \\");
        last.line.truncate(last.line.trim_end_matches(" \\").len());
    }
    found
}

/// The help of a command and of those below it, for a terminal of this many columns (0: unlimited).
fn help(command: &clap::Command, columns: usize) -> Vec<String> {
    let own = command.clone().max_term_width(0).term_width(columns).render_long_help().to_string();
    let below = command.get_subcommands().flat_map(|below| help(below, columns));
    std::iter::once(own).chain(below).collect()
}

/// The examples of both programs, each once, in the order of the commands.
fn examples() -> Vec<Example> {
    let mut seen = BTreeSet::new();
    let both = [linkmend::cli::command(), linkmend_workbench::command()];
    let texts = both.iter().flat_map(|command| help(command, 0));
    texts.flat_map(|text| examples_in(&text)).filter(|example| seen.insert(example.clone())).collect()
}

#[test]
fn examples_are_not_wrapped() {
    for command in [linkmend::cli::command(), linkmend_workbench::command()] {
        for (narrow, whole) in help(&command, NARROW).iter().zip(help(&command, 0)) {
            assert_eq!(examples_in(narrow), examples_in(&whole), "at {NARROW} columns");
        }
        for text in help(&command, 0) {
            let lines = text.lines().skip_while(|line| !matches!(*line, "Examples:" | "Example:"));
            for line in lines.filter(|line| line.contains(" # ")) {
                assert!(line.chars().count() <= WIDE, "the remark would be wrapped: {line}");
            }
        }
    }
}

#[test]
fn examples_are_accepted_by_the_parser() {
    let examples = examples();
    assert!(examples.len() >= 130, "only {} examples were found", examples.len());
    for example in examples {
        let words = std::iter::once("linkmend".to_owned()).chain(example.words());
        let parsed = linkmend_workbench::command()
            .try_get_matches_from(linkmend::cli::arguments(words.map(OsString::from)));
        if let Err(error) = parsed {
            panic!("`{}`: {error}", example.line);
        }
    }
}

#[test]
fn every_example_has_a_rule_and_every_rule_an_example() {
    let examples = examples();
    let missing: Vec<&Example> = examples.iter().filter(|example| example.rule().is_none()).collect();
    assert!(missing.is_empty(), "run them, or say why not: {missing:?}");
    let used: BTreeSet<usize> = examples.iter().filter_map(Example::rule).collect();
    let unused: Vec<&str> =
        (0..RULES.len()).filter(|rule| !used.contains(rule)).map(|rule| RULES[rule].0).collect();
    assert!(unused.is_empty(), "no example begins with {unused:?}");
}

/// Sets an option in place of what an example gives it.
fn set(words: &mut Vec<String>, option: &str, value: &str) {
    match words.iter().position(|word| word == option) {
        Some(place) if !value.is_empty() => value.clone_into(&mut words[place + 1]),
        Some(_) => {}
        None => words.extend([option, value].into_iter().filter(|word| !word.is_empty()).map(str::to_owned)),
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
}

/// Makes the files that the examples name.
fn make_files(folder: &Path) {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    let copy = |from: &str, name: &str| {
        fs::copy(repository().join(from), folder.join(name))
            .unwrap_or_else(|error| panic!("{from}: {error}"));
    };
    let [_, own @ ..] = &help(&linkmend_workbench::command(), 0)[..] else { panic!("commands below it") };
    let file = own.iter().find(|text| text.contains("  id = \"mine\"")).expect("the help of `sim run`");
    let lines = file.lines().skip_while(|line| !line.contains("id = \"mine\""));
    let lines: Vec<&str> = lines.take_while(|line| line.is_empty() || line.starts_with("  ")).collect();
    write("mine.toml", &lines.join("\n").replace("5M", "5k"));
    write("lost.txt", "3\n17\n");
    write("corrupting.csv", "link,loss_rate\npod3-tor7--pod3-fabric1,1e-3\npod0-tor0--pod0-fabric0,1e-4\n");
    write("fat-tree.csv", "link,loss_rate\nswitch0--switch8,1e-3\n");
    write("cables.csv", "a,b\nl1,s1\nl1,s2\nl2,s1\nl2,s2\n");
    write("history.csv", "time_s,link,loss_rate\n0,0,1e-3\n86400,1,1e-4\n");
    copy("fuzz/corpus/trace_authors/small", "authors-trace.json");
    copy("examples/net.yaml", "net.yaml");
    copy("examples/counters.csv", "counters.csv");
    fs::create_dir(folder.join("examples")).expect("created");
    copy("examples/pipeline.goal", "examples/pipeline.goal");
    copy("dist/linkmend.toml", "linkmend.toml");
    copy("crates/sim/tests/replay/g1.jsonl", "a.jsonl");
    copy("crates/sim/tests/replay/g2.jsonl", "b.jsonl");
    copy("crates/packetdrill/tests/scripts/connect.pkt", "handshake.pkt");
    for name in ["lab.clab.yml", "network.clab.yml"] {
        copy("crates/topology/tests/data/clos.clab.yml", name);
    }
    copy_folder(&repository().join("crates/topology/tests/data/lldp"), &folder.join("dumps"));
    let scripts = "crates/packetdrill/tests/scripts";
    for name in [scripts, "gtests/net/tcp"] {
        copy_folder(&repository().join(scripts), &folder.join(name));
    }
}

/// Runs the program, which succeeds and says something.
fn run(folder: &Path, words: &[String]) -> Result<(), String> {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(words).env_remove("RUST_LOG").env("NO_COLOR", "1");
    let output = command.output().expect("it starts");
    if output.status.success() && !output.stdout.is_empty() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{}, {} bytes of output: {said}", output.status, output.stdout.len()))
}

#[test]
fn examples_run() {
    let folder = tempfile::tempdir().expect("a folder");
    make_files(folder.path());
    let mut failed = Vec::new();
    for example in examples() {
        let Some((_, Run(options))) = example.rule().map(|rule| &RULES[rule]) else { continue };
        let mut words = example.words();
        for (option, value) in *options {
            set(&mut words, option, value);
        }
        let own_folder = folder.path().to_str().expect("UTF-8");
        for word in &mut words {
            *word = word.replace("/usr/local", own_folder).replace('~', own_folder);
        }
        if let Err(said) = run(folder.path(), &words) {
            failed.push(format!("`{}`, run as `linkmend {}`: {said}", example.line, words.join(" ")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
