//! A rig of reference kernels: plays the same connections on Linux kernels in virtual machines and on simulated hosts, and
//! writes what both did into a document. `make kernels` runs it.
//!
//! - `machine`: a virtual machine, which counts instructions as its time, and so does the same every time; `archive` is its
//!   first file system.
//! - `log`: the runs that its console tells of.
//! - `simulated`: the same runs on simulated hosts.
//! - `measure`: what is compared, from the frames of a run.
//! - `table`: the comparison as Markdown.

mod log;
mod machine;
mod measure;
mod simulated;
mod table;

use linkmend_kernel_guest::scenario;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `make kernels` passes.
#[derive(Debug)]
struct Arguments {
    /// The program that plays the scenarios inside of a machine, linked statically.
    guest: PathBuf,
    /// Document whose generated part is replaced.
    document: PathBuf,
    /// Folders with a kernel each: `vmlinuz`, and `modules` to load.
    kernels: Vec<PathBuf>,
    /// Whether only the simulator plays, and what the kernels did is taken from their last time.
    is_played: bool,
}

fn main() -> ExitCode {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from).peekable();
    let is_played = paths.next_if(|first| first.as_os_str() == "--played").is_some();
    let (Some(guest), Some(document)) = (paths.next(), paths.next()) else {
        eprintln!("usage: linkmend-kernels [--played] GUEST DOCUMENT KERNEL... (`make kernels` passes them)");
        return ExitCode::from(2);
    };
    match run(&Arguments { guest, document, kernels: paths.collect(), is_played }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<()> {
    let scenarios = scenario::all();
    let mut columns = Vec::new();
    for folder in &arguments.kernels {
        // Also for a look at single frames.
        let kept = folder.join("console.txt");
        if !arguments.is_played {
            eprintln!("{}: playing {} scenarios", folder.display(), scenarios.len());
            fs::write(&kept, machine::run(folder, &arguments.guest)?)?;
        }
        let console = fs::read_to_string(&kept)
            .map_err(|error| io::Error::other(format!("cannot read {}: {error}", kept.display())))?;
        let log = log::parse(&console)
            .map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))?;
        report_failures(&folder.display().to_string(), &log.runs);
        columns.push(measure::column(log.release, &log.runs, &log.timers));
    }
    let (runs, timers) = simulated::play(&scenarios)?;
    report_failures("simulated", &runs);
    let simulated = measure::column("simulated".to_owned(), &runs, &timers);
    let markdown = table::markdown(&columns, &simulated);
    replace(&arguments.document, &markdown)?;
    eprintln!("{}: {}", arguments.document.display(), table::summary(&columns, &simulated));
    Ok(())
}

/// Says which runs are missing in the table, or are there in part.
fn report_failures(player: &str, runs: &[log::Run]) {
    for run in runs {
        if let Some(failure) = &run.failure {
            eprintln!("{player}: {} did not finish: {failure}", run.name);
        }
    }
}

/// Replaces the generated part of a document.
fn replace(document: &Path, markdown: &str) -> io::Result<()> {
    let text = fs::read_to_string(document)?;
    let replaced = table::replace(&text, markdown).ok_or_else(|| {
        io::Error::other(format!(
            "{} has no lines `{}` and `{}` to write between",
            document.display(),
            table::BEGIN,
            table::END
        ))
    })?;
    fs::write(document, replaced)
}
