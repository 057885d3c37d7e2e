//! `linkmend sim packetdrill`: runs packetdrill scripts against the simulated TCP.

use crate::commands::shown;
use clap::Args;
use linkmend::failure::{Context, Plain, Result, UsageError};
use linkmend::output;
use linkmend_packetdrill::{Outcome, ParseError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// The ending of the scripts that a folder is searched for.
const EXTENSION: &str = "pkt";

/// Arguments of `linkmend sim packetdrill`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim packetdrill crates/packetdrill/tests/scripts  # the scripts that come with linkmend
  linkmend sim packetdrill gtests/net/tcp                    # a suite written for Linux
  linkmend sim packetdrill handshake.pkt --json              # one script, as JSON

Each script passes, fails (the first line that differs is shown, with what it expects and what the simulated \
TCP did), or is reported as `lacking`: it needs a feature that the simulated TCP does not have. Kernel settings that a script changes (`sysctl`, `ip route`, shell scripts such as ../common/defaults.sh) apply to the simulated TCP; the commands are never executed.
Exit codes: 0 all scripts pass, 1 a script fails or needs a missing feature, 2 a file cannot be read or is not a script.")]
pub struct PacketdrillArgs {
    /// Scripts, and folders that are searched for *.pkt
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What became of all scripts.
#[derive(Debug, Default, Serialize)]
struct Report {
    scripts: Vec<ScriptResult>,
    counts: Counts,
    /// What scripts are lacking, and how many of them.
    lacking: BTreeMap<String, usize>,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    total: usize,
    pass: usize,
    fail: usize,
    lacking: usize,
    unreadable: usize,
}

/// What became of one script.
#[derive(Debug, Serialize)]
struct ScriptResult {
    file: String,
    outcome: &'static str,
    /// The line at which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// What differs, what is lacking, or why it is no script.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
}

/// Runs the scripts and prints what became of them.
pub fn execute(arguments: &PacketdrillArgs) -> Result<()> {
    let mut report = Report::default();
    for file in scripts(&arguments.files)? {
        let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        report.add(&file, run(&file, &text));
    }
    if arguments.json {
        shown::json(&report)?;
    } else {
        output::print(&report.to_string())?;
    }
    report.verdict()
}

/// Runs one script; a file that one of its commands calls lies relative to the script.
fn run(file: &Path, text: &str) -> Result<Outcome, ParseError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    Ok(linkmend_packetdrill::run(&linkmend_packetdrill::parse(text)?, &read))
}

/// The scripts that are meant by files and folders.
fn scripts(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in given {
        let about = std::fs::metadata(path).map_err(|error| {
            UsageError::hinted(
                format!("cannot read {}: {error}", path.display()),
                "give packetdrill scripts, or folders with *.pkt files".to_owned(),
            )
        })?;
        if !about.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        search(path, &mut found)?;
        if found.len() == before {
            let message = format!("{}: no *.pkt file in this folder or below", path.display());
            return Err(UsageError::hinted(
                message,
                "to run a script with another file extension, name the file itself".to_owned(),
            )
            .into());
        }
    }
    Ok(found)
}

/// Finds scripts in a folder and below, in the order of their names. Links to folders are not followed, since they may
/// lead in a circle.
fn search(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let context = || format!("cannot list {}", folder.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        entries.push((entry.path(), entry.file_type().with_context(context)?.is_dir()));
    }
    entries.sort();
    for (path, is_folder) in entries {
        if is_folder {
            search(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
            found.push(path);
        }
    }
    Ok(())
}

impl Report {
    fn add(&mut self, file: &Path, outcome: Result<Outcome, ParseError>) {
        let mut result = ScriptResult {
            file: file.display().to_string(),
            outcome: "pass",
            line: None,
            message: None,
            expected: None,
            actual: None,
        };
        self.counts.total += 1;
        match outcome {
            Ok(Outcome::Pass) => self.counts.pass += 1,
            Ok(Outcome::Fail(difference)) => {
                self.counts.fail += 1;
                result.outcome = "fail";
                result.line = Some(difference.at.line);
                result.message = Some(difference.message);
                result.expected = difference.expected;
                result.actual = difference.actual;
            }
            Ok(Outcome::Lacking { at, feature }) => {
                self.counts.lacking += 1;
                *self.lacking.entry(feature.clone()).or_default() += 1;
                result.outcome = "lacking";
                result.line = Some(at.line);
                result.message = Some(feature);
            }
            Err(error) => {
                self.counts.unreadable += 1;
                result.outcome = "unreadable";
                result.line = Some(error.at.line);
                result.message = Some(error.message);
            }
        }
        self.scripts.push(result);
    }

    /// An error unless every script passes.
    fn verdict(&self) -> Result<()> {
        let Counts { total, pass, unreadable, .. } = self.counts;
        if unreadable > 0 {
            let message = format!("{unreadable} of {total} files are not packetdrill scripts");
            let hint = "packetdrill's documentation (\"Syntax\") describes the language".to_owned();
            return Err(UsageError::hinted(message, hint).into());
        }
        if pass < total {
            return Err(Plain(format!("{} of {total} scripts do not pass", total - pass)).into());
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for script in &self.scripts {
            writeln!(f, "{script}")?;
        }
        let Counts { total, pass, fail, lacking, unreadable } = self.counts;
        let noun = if total == 1 { "script" } else { "scripts" };
        write!(f, "{total} {noun}: {pass} pass, {fail} fail, {lacking} lacking a feature")?;
        if unreadable > 0 {
            write!(f, ", {unreadable} unreadable")?;
        }
        if !self.lacking.is_empty() {
            let mut features: Vec<_> = self.lacking.iter().collect();
            features.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            f.write_str("\nlacking:")?;
            for (feature, count) in features {
                write!(f, "\n  {count:>4}  {feature}")?;
            }
        }
        f.write_char('\n')
    }
}

impl fmt::Display for ScriptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<10}  {}", self.outcome, self.file)?;
        if let (Some(line), Some(message)) = (self.line, &self.message) {
            write!(f, ":{line}: {message}")?;
        }
        for (name, text) in [("expected", &self.expected), ("actual", &self.actual)] {
            if let Some(text) = text {
                write!(f, "\n              {name:<8}  {text}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(texts: &[&str]) -> Report {
        let mut report = Report::default();
        for (number, text) in texts.iter().enumerate() {
            let file = PathBuf::from(format!("{number}.pkt"));
            report.add(&file, run(&file, text));
        }
        report
    }

    #[test]
    fn a_report_names_lines_differences_and_what_is_lacking() {
        let report = report(&[
            "0 `true`",
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 close(3) = 1",
            "0 %{ assert 1 == 2 }%",
            "0 `iptables -F`",
            "0 )",
        ]);
        let wanted = "pass        0.pkt\n\
                      fail        1.pkt:2: `close` returns 0 instead of 1\n\
                      fail        2.pkt:1: the assertion does not hold\n              expected  assert 1 == 2\n\
                      lacking     3.pkt:1: the command `iptables`\n\
                      unreadable  4.pkt:1: expected a packet (`<` or `>`), a call, a command or code, found `)`\n\
                      5 scripts: 1 pass, 2 fail, 1 lacking a feature, 1 unreadable\n\
                      lacking:\n     1  the command `iptables`\n";
        assert_eq!(report.to_string(), wanted);
    }

    #[test]
    fn only_passing_is_success() {
        let code = |texts: &[&str]| report(texts).verdict().map_err(|error| error.to_string());
        assert_eq!(code(&["0 `true`"]), Ok(()));
        assert_eq!(code(&["0 `true`", "0 `nstat`"]), Err("1 of 2 scripts do not pass".to_owned()));
        assert_eq!(code(&["0 `nstat`", ")"]), Err("1 of 2 files are not packetdrill scripts".to_owned()));
    }
}
