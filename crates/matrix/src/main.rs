//! The program of `make matrix`, and in its virtual machines the first process.

use linkmend_matrix::card::{CARDS, Card};
use linkmend_matrix::cell::{self, CHECKS, Cell, Check, Outcome, Plan};
use linkmend_matrix::kernel::{Kernel, Programs, order, version};
use linkmend_matrix::{guest, table};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: linkmend-matrix [--kernel VERSION] [--card NAME] [--check NAME] [--frames N] EMULATOR KERNELS GUEST LINKMEND \
     RESULTS DOCUMENT (`make matrix` passes the files; GUEST is this program, built for the processor of the kernels)";
const FRAMES: u64 = 10_000;

/// What `make matrix` passes.
struct Arguments {
    /// Beginnings of kernel versions, names of cards, names of checks; empty for all.
    kernels: Vec<String>,
    cards: Vec<Card>,
    checks: Vec<Check>,
    frames: u64,
    emulator: PathBuf,
    /// Folder with a folder for each kernel.
    kernel_folder: PathBuf,
    programs: Programs,
    /// File that keeps the results of all cells, as JSON.
    results: PathBuf,
    /// Document whose generated part is replaced.
    document: PathBuf,
}

fn main() -> ExitCode {
    if guest::is_wanted() {
        return guest::main();
    }
    let Some(arguments) = arguments(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let (mut kernels, mut cards, mut checks, mut frames) = (Vec::new(), Vec::new(), Vec::new(), FRAMES);
    let mut paths = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--kernel" => kernels.push(words.next()?),
            "--card" => cards.push(Card::find(&words.next()?)?),
            "--check" => checks.push(serde_json::from_value(words.next()?.into()).ok()?),
            "--frames" => frames = words.next()?.parse().ok()?,
            word if word.starts_with("--") => return None,
            path => paths.push(PathBuf::from(path)),
        }
    }
    // Each check expects the daemons as those before it leave them.
    checks.sort();
    let [emulator, kernel_folder, guest, linkmend, results, document] = paths.try_into().ok()?;
    let programs = Programs { guest, linkmend };
    Some(Arguments { kernels, cards, checks, frames, emulator, kernel_folder, programs, results, document })
}

/// Runs the cells that were asked for, one after the other, and keeps the results of the others. Returns whether all
/// checks have passed.
fn run(arguments: &Arguments) -> io::Result<bool> {
    let kernels = Kernel::all(&arguments.kernel_folder)?;
    let chosen = chosen(&kernels, &arguments.kernels)?;
    let cards = if arguments.cards.is_empty() { CARDS.to_vec() } else { arguments.cards.clone() };
    let checks = if arguments.checks.is_empty() { CHECKS.to_vec() } else { arguments.checks.clone() };
    let plan = Plan { checks: &checks, frames: arguments.frames };
    let mut cells = kept(&arguments.results)?;
    let mut is_passed = true;
    for kernel in chosen {
        for card in &cards {
            eprintln!("{}, {}", kernel.version, card.name);
            let said = |check: Check, outcome: &Outcome| eprintln!("    {check:?}: {}", text(outcome));
            match cell::run(&arguments.emulator, kernel, &arguments.programs, *card, &plan, said) {
                Ok(cell) => {
                    eprintln!("    {} ({}), {} s", cell.port, cell.description, cell.seconds);
                    is_passed &= cell.is_passed();
                    let place = cells
                        .iter()
                        .position(|other| (&other.kernel, &other.card) == (&cell.kernel, &cell.card));
                    match place {
                        Some(place) => cells[place].update(cell),
                        None => cells.push(cell),
                    }
                    fs::write(&arguments.results, serde_json::to_string_pretty(&cells)? + "\n")?;
                }
                Err(error) => {
                    eprintln!("    not measured: {error}");
                    is_passed = false;
                }
            }
        }
    }
    write(arguments, &cells, &kernels)?;
    Ok(is_passed)
}

/// The kernels whose versions begin with one of these names; all without a name.
fn chosen<'a>(kernels: &'a [Kernel], names: &[String]) -> io::Result<Vec<&'a Kernel>> {
    let is_named =
        |kernel: &Kernel, name: &str| format!("{}.", kernel.version).starts_with(&format!("{name}."));
    if let Some(name) = names.iter().find(|name| !kernels.iter().any(|kernel| is_named(kernel, name))) {
        let versions: Vec<&str> = kernels.iter().map(|kernel| kernel.version.as_str()).collect();
        return Err(io::Error::other(format!("--kernel {name}: there are only {}", versions.join(", "))));
    }
    let is_chosen = |kernel: &&Kernel| names.is_empty() || names.iter().any(|name| is_named(kernel, name));
    Ok(kernels.iter().filter(is_chosen).collect())
}

/// The results of earlier runs.
fn kept(results: &std::path::Path) -> io::Result<Vec<Cell>> {
    match fs::read_to_string(results) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| io::Error::other(format!("{}: {error}; remove it", results.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn write(arguments: &Arguments, cells: &[Cell], kernels: &[Kernel]) -> io::Result<()> {
    // A kernel that is not there now may have been measured.
    let measured = cells.iter().map(|cell| version(&cell.kernel));
    let mut versions: Vec<String> =
        kernels.iter().map(|kernel| kernel.version.clone()).chain(measured).collect();
    versions.sort_by_key(|version| order(version));
    versions.dedup();
    let document = &arguments.document;
    let replaced = table::replace(&fs::read_to_string(document)?, &table::markdown(cells, &versions));
    let text = replaced.ok_or_else(|| {
        io::Error::other(format!(
            "{} has no lines `{}` and `{}` to write between",
            document.display(),
            table::BEGIN,
            table::END
        ))
    })?;
    fs::write(document, text)
}

fn text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(figures) => format!("passed: {figures}"),
        Outcome::Failed(reason) => format!("FAILED: {reason}"),
    }
}
