//! docs/commands.md is the help of every command, which clap generates from the declarations. `UPDATE_EXPECT=1` writes it
//! anew.

use super::{read, root};
use std::fmt::Write as _;
use std::process::Command;

pub const PAGE: &str = "docs/commands.md";
const INTRODUCTION: &str = "\
# Commands

This page is the help of every command, generated from the declarations that parse it. `linkmend COMMAND --help` prints
the same, and `linkmend generate man DIR` writes it as manual pages. [The manual](manual.md) and [the how-tos](start.md#where-to-go-next)
say which command to use when.
";

fn help(path: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
    command.args(path).arg("--help").env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "linkmend {}", path.join(" "));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The commands that a help text lists. Lines that continue a description are indented further.
fn listed(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    list.take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn describe(path: &[String], page: &mut String) {
    let help = help(path);
    let level = if path.len() > 1 { "###" } else { "##" };
    let name = ["linkmend"].into_iter().chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    write!(page, "\n{level} {name}\n\n```text\n{}\n```\n", help.trim_end()).expect("memory");
    for command in listed(&help) {
        describe(&[path, &[command]].concat(), page);
    }
}

#[test]
fn the_page_of_commands_is_their_help() {
    let mut page = INTRODUCTION.to_owned();
    describe(&[], &mut page);
    let commands = page.lines().filter(|line| line.starts_with("##")).count();
    assert!(commands >= 35, "only {commands} commands were found; does the test still read the help?");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(root().join(PAGE), &page).expect("written");
    }
    let how = "UPDATE_EXPECT=1 cargo test -p linkmend-workbench --test docs writes it anew";
    assert!(read(PAGE) == page, "{PAGE} differs from the help; {how}");
}
