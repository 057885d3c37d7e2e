//! The commands in the documents are commands of this binary: subcommands and options exist. `make` targets as well.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
    let output = Command::new(env!("CARGO_BIN_EXE_linkmend"))
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
    for document in ["README.md", "CONTRIBUTING.md"] {
        for line in commands(&read(document)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(("linkmend", rest)) = words.split_first().map(|(first, rest)| (*first, rest)) else {
                continue;
            };
            let Some(&subcommand) = rest.first() else { continue };
            let mut path = vec![subcommand];
            if matches!(subcommand, "fleet" | "lab" | "sim")
                && let Some(next) = rest.get(1).filter(|word| !word.starts_with('-'))
            {
                path.push(next);
                if *next == "scenario" {
                    path.extend(rest.get(2).filter(|word| !word.starts_with('-')));
                }
            }
            let help = help(&path);
            for option in rest.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or(option);
                assert!(help.contains(name), "{document}: `{line}`: no option {name}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 5, "only {checked} commands were found; does the test still read the documents?");
}

#[test]
fn make_targets_in_the_documents_exist() {
    let makefile = read("Makefile");
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(':')).map(|(target, _)| target).collect();
    for document in ["README.md", "CONTRIBUTING.md"] {
        for line in commands(&read(document)) {
            let mut words = line.split_whitespace();
            if let (Some("make"), Some(target)) = (words.next(), words.next()) {
                assert!(targets.contains(target), "{document}: no target {target}");
            }
        }
    }
}
