//! A study: it computes in a thread of its own, without the interpreter's lock, while the calling thread looks after
//! Ctrl-C and shows progress.

use crate::frame::Frame;
use crate::refused;
use linkmend_diagnose::Fault;
use linkmend_report::{Plot, Report, Table};
use linkmend_workbench::studies::{ENTRIES, Entry, Found, Outcome, Refused, Watch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often the calling thread looks for signals, and how long the shortest studies wait for it at most.
pub const LOOK: Duration = Duration::from_millis(50);

/// The progress of a study, as its thread reports it and another one reads it.
#[derive(Default)]
struct Shared {
    steps: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
}

impl Watch for Shared {
    fn begin(&self, steps: u64, _template: &'static str) {
        self.steps.store(steps, Ordering::Relaxed);
    }

    fn reach(&self, steps: u64) {
        self.done.store(steps, Ordering::Relaxed);
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn stop(&self) -> Outcome<&AtomicBool> {
        Ok(&self.stop)
    }
}

/// Calls a study with the arguments of its command. `progress` is called with the steps that are done and all of them.
#[pyfunction]
#[pyo3(signature = (name, arguments, progress=None))]
pub fn call(
    py: Python<'_>,
    name: &str,
    arguments: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Result> {
    let entry = ENTRIES.iter().find(|entry| entry.path.join(" ") == name);
    let entry = entry.ok_or_else(|| PyValueError::new_err(format!("there is no study `{name}`")))?;
    let shared = Shared::default();
    let found = watched(py, entry, &arguments, &shared, progress.as_ref())?;
    if let Some(progress) = progress.filter(|_| found.is_ok()) {
        let steps = shared.steps.load(Ordering::Relaxed);
        progress.call1((steps, steps))?;
    }
    Result::of(name, found.map_err(|error| refused::of_study(py, error))?, py)
}

fn watched(
    py: Python<'_>,
    entry: &Entry,
    arguments: &[String],
    shared: &Shared,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<std::result::Result<Found, Refused>> {
    let progress = progress.map(|progress| progress.clone().unbind());
    py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(1);
            scope.spawn(move || {
                let found = catch_unwind(AssertUnwindSafe(|| entry.find(arguments, shared)));
                // Nobody waits any longer if the caller was interrupted.
                let _ = send.send(found);
            });
            let mut interruption = Ok(());
            loop {
                match receive.recv_timeout(LOOK) {
                    Ok(Ok(found)) => return interruption.map(|()| found),
                    Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(broken()),
                    Err(RecvTimeoutError::Timeout) if interruption.is_ok() => {
                        interruption = Python::attach(|py| look(py, shared, progress.as_ref()));
                        if interruption.is_err() {
                            shared.stop.store(true, Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    })
}

/// Handles signals, and shows how far the study is.
fn look(py: Python<'_>, shared: &Shared, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(()) };
    let [done, steps] = [&shared.done, &shared.steps].map(|count| count.load(Ordering::Relaxed));
    if steps > 0 { progress.call1(py, (done.min(steps), steps)).map(|_| ()) } else { Ok(()) }
}

fn broken() -> PyErr {
    refused::StudyError::new_err(
        "the study ended unexpectedly; this is an error of linkmend: please report it with the call",
    )
}

/// What a study has found.
#[pyclass(frozen, module = "linkmend")]
pub struct Result {
    title: String,
    found: Found,
}

/// Width of tables as text.
const TEXT_WIDTH: usize = 100;

impl Result {
    fn of(name: &str, mut found: Found, py: Python<'_>) -> PyResult<Result> {
        // What was found counts, even if it is not what somebody hoped for.
        match found.failure() {
            Some(failure) if failure.fault() == Fault::Failure => {
                found.warnings.push(refused::in_words(&failure));
            }
            Some(failure) => return Err(refused::of_study(py, failure.into())),
            None => {}
        }
        Ok(Result { title: format!("linkmend {name}"), found })
    }
}

#[pymethods]
impl Result {
    /// All of it as JSON, as the command prints it with --json.
    #[getter]
    fn json(&self) -> &str {
        &self.found.json
    }

    /// Its tables and plots as a page.
    #[getter]
    fn page(&self) -> String {
        Report::new(self.title.as_str()).section(self.found.section("Results")).to_html()
    }

    /// Its tables as text.
    #[getter]
    fn texts(&self) -> Vec<String> {
        self.found.tables.iter().map(|table| table.to_text(TEXT_WIDTH, false)).collect()
    }

    /// Its tables as HTML, for a page that has a style for them.
    #[getter]
    fn htmls(&self) -> Vec<String> {
        self.found.tables.iter().map(Table::to_html).collect()
    }

    /// Its plots as SVG.
    #[getter]
    fn svgs(&self) -> Vec<String> {
        self.found.plots.iter().map(Plot::to_svg).collect()
    }

    /// Sentences that one should know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.found.warnings.clone()
    }

    /// Its tables as data.
    #[getter]
    fn tables(&self) -> PyResult<Vec<Frame>> {
        self.found.tables.iter().map(Frame::of).collect()
    }

    /// Values over time, and the points of experiments, by name.
    #[getter]
    fn series(&self) -> PyResult<Vec<(String, Frame)>> {
        self.found.series.iter().map(|(name, table)| Ok((name.clone(), Frame::of(table)?))).collect()
    }
}
