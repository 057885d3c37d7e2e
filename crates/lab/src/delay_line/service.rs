//! Delay lines as a process of their own, which writes down what they do.

use super::{DelayLineError, DelayLines, LineReport};
use crate::impairments::{BackupLink, Impairments};
use crate::process::TrackedProcess;
use crate::stop::StopFlag;
use crate::topology::Lab;
use linkmend_control::CONTROL_FOLDER;
use linkmend_diagnose::Diagnose;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the report is written: often enough for somebody who looks right after the first ping.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// The report that the process of the delay lines writes to a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct WiresReport {
    /// The process that wrote it.
    pub process: TrackedProcess,
    /// The impairments that it applies.
    pub impairments: Impairments,
    /// The second link, if there is one.
    #[serde(default)]
    pub backup: Option<BackupLink>,
    /// Whether it runs at real-time priority.
    pub real_time: bool,
    /// Counters of each direction of each line.
    pub lines: Vec<LineReport>,
}

/// Why the process of the delay lines could not go on, or its report not be read.
#[derive(Debug, thiserror::Error)]
pub enum WiresError {
    /// Without impairments there are no lines.
    #[error("this laboratory has no impairments")]
    NoImpairments,
    /// `/proc` does not have it.
    #[error("cannot find this process")]
    NoProcess,
    /// See [`DelayLineError`].
    #[error(transparent)]
    Lines(#[from] DelayLineError),
    /// The report could not be read or written.
    #[error("cannot {action} {path}")]
    Access { action: &'static str, path: String, source: io::Error },
    /// The file of the report holds something else.
    #[error("{path} is not a report")]
    Contents { path: String, source: serde_json::Error },
}

impl Diagnose for WiresError {
    fn hint(&self) -> Option<String> {
        match self {
            WiresError::Lines(error) => error.hint(),
            _ => None,
        }
    }
}

impl WiresReport {
    /// The file of the report of a laboratory's delay lines.
    pub fn path(prefix: &str) -> PathBuf {
        Path::new(CONTROL_FOLDER).join(format!("{prefix}-w.json"))
    }

    /// What the lines of a laboratory have done, up to a moment ago; `None` if it has no impairments.
    ///
    /// # Errors
    /// If the report cannot be read.
    pub fn of_lab(prefix: &str) -> Result<Option<WiresReport>, WiresError> {
        WiresReport::read(&WiresReport::path(prefix))
    }

    fn read(path: &Path) -> Result<Option<WiresReport>, WiresError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(access("read", path)(source)),
        };
        let contents = |source| WiresError::Contents { path: path.display().to_string(), source };
        serde_json::from_str(&text).map(Some).map_err(contents)
    }

    /// Replaces the report in one step, so that a reader finds the old one or the new one.
    fn write(&self, path: &Path) -> Result<(), WiresError> {
        let contents = |source| WiresError::Contents { path: path.display().to_string(), source };
        let text = serde_json::to_vec_pretty(self).map_err(contents)?;
        let draft = path.with_extension("draft");
        std::fs::write(&draft, text)
            .and_then(|()| std::fs::rename(&draft, path))
            .map_err(access("write", path))
    }
}

fn access(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WiresError {
    let path = path.display().to_string();
    move |source| WiresError::Access { action, path, source }
}

/// Runs the lines of a laboratory until `stop` is raised or the laboratory is gone.
///
/// # Errors
/// If the lines cannot be started, or their report cannot be written.
pub fn serve(lab: &Lab, stop: &StopFlag) -> Result<(), WiresError> {
    let lines = DelayLines::start(lab)?.ok_or(WiresError::NoImpairments)?;
    let path = WiresReport::path(&lab.options().prefix);
    let process = TrackedProcess::of(std::process::id(), "delay lines").ok_or(WiresError::NoProcess)?;
    while !stop.is_stopped() && lines.is_running() {
        let report = WiresReport {
            process: process.clone(),
            impairments: lab.options().impairments.clone(),
            backup: lab.options().backup.clone(),
            real_time: lines.is_real_time(),
            lines: lines.report(),
        };
        report.write(&path)?;
        stop.sleep(REPORT_INTERVAL);
    }
    // A report that is left over would be mistaken for a running process.
    let _ = std::fs::remove_file(&path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_back_and_anything_else_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x-w.json");
        assert!(WiresReport::read(&path).expect("nothing there is no error").is_none());
        let process = TrackedProcess { pid: 1, start_ticks: 2, program: "delay lines".to_owned() };
        let impairments = Impairments { rate_bps: Some(1_000_000_000), ..Impairments::default() };
        let report = WiresReport { process, impairments, backup: None, real_time: true, lines: Vec::new() };
        report.write(&path).expect("written");
        let read = WiresReport::read(&path).expect("it is a report").expect("it is there");
        assert_eq!(
            (read.process, read.impairments, read.real_time),
            (report.process, report.impairments, true)
        );
        std::fs::write(&path, "{").expect("written");
        let error = WiresReport::read(&path).expect_err("no report");
        assert_eq!(error.to_string(), format!("{} is not a report", path.display()));
    }
}
