//! A command that computes: what it has found is a value first, which is then printed, or passed to Python.

use super::progress;
use indicatif::ProgressBar;
use linkmend::failure::{Context, Error, Result};
use linkmend::{interrupt, output};
use linkmend_report::{Cell, Content, Plot, Section, Table, wrap};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A command that computes.
pub trait Study {
    /// Computes. What it finds before somebody stops it may be incomplete, or an error.
    ///
    /// # Errors
    /// What cannot be used, or has failed.
    fn find(&self, watch: &dyn Watch) -> Result<Found>;
}

/// Whoever waits for a study, and may stop it.
pub trait Watch: Sync {
    /// The study begins, with so many steps; `template` is how a terminal shows them.
    fn begin(&self, steps: u64, template: &'static str);
    /// So many steps are done.
    fn reach(&self, steps: u64);
    /// One more step is done.
    fn advance(&self);
    /// Something worth a line of its own has happened.
    fn note(&self, _line: &str) {}
    /// What is being done now.
    fn say(&self, _state: String) {}
    /// Becomes true when the study should end. Until somebody asks for it, an interruption ends the program at once.
    ///
    /// # Errors
    /// If the kernel refuses to catch the signals.
    fn stop(&self) -> Result<&AtomicBool>;
}

/// What a study has found.
pub struct Found {
    /// As one JSON value.
    pub json: String,
    /// Width of the tables when standard output is no terminal.
    width: usize,
    /// The longest line of prose, if there is a limit besides the terminal's width.
    prose_width: usize,
    /// Paragraphs before the tables.
    before: Vec<String>,
    /// What people read.
    pub tables: Vec<Table>,
    /// Paragraphs after the tables.
    after: Vec<String>,
    /// What people should know, whatever is printed.
    pub warnings: Vec<String>,
    /// What people look at, besides the tables.
    pub plots: Vec<Plot>,
    /// Values over time, and others that are too many to read: a name, and a row for each.
    pub series: Vec<(String, Table)>,
    /// Why the command fails after what was found has been shown.
    failure: Option<Error>,
}

impl Found {
    /// A value, and the tables that show it.
    ///
    /// # Errors
    /// If the value cannot be written as JSON.
    pub fn new(value: &(impl Serialize + ?Sized), width: usize, tables: Vec<Table>) -> Result<Found> {
        let json = serde_json::to_string_pretty(value).context("cannot serialise the results")?;
        let (before, after, warnings) = (Vec::new(), Vec::new(), Vec::new());
        let (plots, series) = (Vec::new(), Vec::new());
        Ok(Found {
            json,
            width,
            prose_width: usize::MAX,
            before,
            tables,
            after,
            warnings,
            plots,
            series,
            failure: None,
        })
    }

    /// Limits lines of prose, because longer ones are hard to read, however wide the terminal is.
    pub fn prose_at_most(mut self, columns: usize) -> Found {
        self.prose_width = columns;
        self
    }

    /// Adds a paragraph before the tables.
    pub fn beginning(mut self, paragraph: impl Into<String>) -> Found {
        self.before.push(paragraph.into());
        self
    }

    /// Adds a paragraph after the tables.
    pub fn closing(mut self, paragraph: impl Into<String>) -> Found {
        self.after.push(paragraph.into());
        self
    }

    /// Adds a sentence that people should know, whatever is printed.
    pub fn warning(mut self, sentence: impl Into<String>) -> Found {
        self.warnings.push(sentence.into());
        self
    }

    /// Adds what people look at.
    pub fn plots(mut self, plots: impl IntoIterator<Item = impl Into<Plot>>) -> Found {
        self.plots.extend(plots.into_iter().map(Into::into));
        self
    }

    /// Adds a series.
    pub fn series(mut self, name: impl Into<String>, rows: Table) -> Found {
        self.series.push((name.into(), rows));
        self
    }

    /// The command fails in the end.
    pub fn failing(mut self, failure: Option<Error>) -> Found {
        self.failure = failure;
        self
    }

    /// As a section of a page.
    pub fn section(&self, heading: &str) -> Section {
        let section = Section::new(heading).prose(self.before.join("\n\n"));
        let section = self.tables.iter().cloned().fold(section, Section::table);
        let section = self.plots.iter().cloned().fold(section, Section::plot);
        section.prose(self.after.join("\n\n"))
    }

    /// Why the command fails in spite of what it has found.
    pub fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Prints it.
    ///
    /// # Errors
    /// Why the command fails, or cannot print.
    pub fn print(mut self, as_json: bool) -> Result<()> {
        if as_json {
            output::print(&self.json)?;
        } else {
            let (width, colour) = output::terminal(self.width);
            let wrapped = |text: &String| format!("{}\n", wrap(text, width.min(self.prose_width)));
            let tables = self.tables.iter().map(|table| table.to_text(width, colour));
            let before = self.before.iter().map(wrapped);
            let texts: Vec<String> = before.chain(tables).chain(self.after.iter().map(wrapped)).collect();
            output::print(&texts.join("\n"))?;
        }
        for warning in &self.warnings {
            output::remark(&format!("warning: {warning}\n"));
        }
        self.failure().map_or(Ok(()), Err)
    }
}

/// A table as JSON: its columns by name.
pub struct Columns<'a>(pub &'a Table);

impl Serialize for Columns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0.columns().map(|(name, _, cells)| (name, cells.map(plain).collect::<Vec<_>>())),
        )
    }
}

/// A cell as JSON.
fn plain(cell: &Cell) -> Value {
    match cell.content() {
        Content::Text(text) => Value::from(text.as_str()),
        Content::Number { value, .. } => Value::from(*value),
        Content::Missing => Value::Null,
    }
}

/// Executes a study on the terminal, and prints what it has found, as JSON or for people.
///
/// # Errors
/// Those of the study.
pub fn execute(study: &impl Study, as_json: bool) -> Result<()> {
    let watch = OnTerminal { stop: OnceLock::new(), bar: Mutex::new(ProgressBar::hidden()) };
    let found = study.find(&watch);
    watch.with_bar(ProgressBar::finish_and_clear);
    found?.print(as_json)
}

/// How often a bar is drawn whose steps are rare.
const TICK: Duration = Duration::from_millis(500);

/// Somebody at a terminal, who sees a progress bar and presses Ctrl-C.
struct OnTerminal {
    stop: OnceLock<Arc<AtomicBool>>,
    bar: Mutex<ProgressBar>,
}

impl OnTerminal {
    fn with_bar(&self, act: impl FnOnce(&ProgressBar)) {
        act(&self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Watch for OnTerminal {
    fn begin(&self, steps: u64, template: &'static str) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = progress::bar(steps, template);
    }

    fn reach(&self, steps: u64) {
        self.with_bar(|bar| bar.set_position(steps));
    }

    fn advance(&self) {
        self.with_bar(|bar| bar.inc(1));
    }

    fn note(&self, line: &str) {
        self.with_bar(|bar| bar.println(line));
    }

    fn say(&self, state: String) {
        self.with_bar(|bar| {
            bar.enable_steady_tick(TICK);
            bar.set_message(state);
        });
    }

    fn stop(&self) -> Result<&AtomicBool> {
        if let Some(stop) = self.stop.get() {
            return Ok(stop);
        }
        let stop = interrupt::flag()?;
        Ok(self.stop.get_or_init(|| stop))
    }
}
