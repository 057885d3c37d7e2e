//! Every decision, in the log and in a file of its own.

use crate::agent::{Decision, DecisionKind, PlanVerdict};
use crate::detection::State;
use crate::exchange::Effect;
use linkmend_diagnose::printable;
use linkmend_linux::private_file;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// See the module's documentation.
#[derive(Debug)]
pub struct Audit {
    file: Option<(PathBuf, File)>,
    lost: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    /// Seconds since 1970, by the machine's clock, which may be set while the monitor runs.
    time_s: f64,
    #[serde(flatten)]
    decision: &'a Decision,
    /// The same as a sentence.
    text: String,
}

impl Audit {
    /// Appends to the file at this path, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: Option<PathBuf>) -> io::Result<Audit> {
        let file = path.map(|path| {
            let file = private_file::open(&path, OpenOptions::new().append(true))?;
            Ok::<_, io::Error>((path, file))
        });
        Ok(Audit { file: file.transpose()?, lost: 0 })
    }

    /// Opens the file again, which may have been moved away for a new one.
    pub fn reopen(&mut self) {
        let Some((path, file)) = &mut self.file else { return };
        match private_file::open(path, OpenOptions::new().append(true)) {
            Ok(opened) => *file = opened,
            Err(error) => tracing::warn!(
                "{}: cannot reopen the audit log, so the open file is still used: \
             {error}",
                path.display()
            ),
        }
    }

    /// Writes a decision down.
    pub fn write(&mut self, decision: &Decision) {
        match &decision.kind {
            DecisionKind::Effect { effect: Effect::Failed, .. } => tracing::warn!("{decision}"),
            DecisionKind::Plan { verdict, .. }
                if !matches!(verdict, PlanVerdict::Returned | PlanVerdict::Tried | PlanVerdict::Unsure) =>
            {
                tracing::warn!("{decision}")
            }
            DecisionKind::Flaps { .. }
            | DecisionKind::FlapsAtOnce { .. }
            | DecisionKind::FlapsOfModules { .. } => tracing::warn!("{decision}"),
            // Every port that is polled begins so.
            DecisionKind::State { from: State::Unknown, to: State::Healthy, .. } => {
                tracing::debug!("{decision}")
            }
            DecisionKind::State { to, .. } if to.corrupts() => tracing::warn!("{decision}"),
            _ => tracing::info!("{decision}"),
        }
        let Some((path, file)) = &mut self.file else { return };
        let time_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let before = file.metadata().map(|metadata| metadata.len());
        let written = serde_json::to_string(&Line { time_s, decision, text: decision.to_string() })
            .map_err(io::Error::other)
            .and_then(|line| {
                // One call for each line, so that none is ever torn.
                file.write_all(format!("{}\n", printable(&line)).as_bytes())
            });
        match written {
            Ok(()) if self.lost > 0 => {
                let path = path.display();
                tracing::warn!("{path}: decisions are recorded again; {} were lost", self.lost);
                self.lost = 0;
            }
            Ok(()) => {}
            Err(error) => {
                // What a full disk has left of the line would be the beginning of the next one.
                let _ = before.and_then(|length| file.set_len(length));
                if self.lost == 0 {
                    let path = path.display();
                    tracing::warn!("{path}: cannot record decisions: {error}");
                }
                self.lost += 1;
            }
        }
    }
}
