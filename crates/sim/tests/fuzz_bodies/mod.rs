//! The body of the fuzz target of protocol logs. The target under `fuzz/` includes this file, and so does the ordinary
//! test, which replays the committed corpus with it.

use linkmend_sim::replay::{ProtocolLog, ReplayError, repeat};

/// A log, which is repeated. An error of reading must name a line of the text.
pub fn recording(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match ProtocolLog::parse("the/log", &text) {
        Ok(log) => drop(repeat(&log)),
        Err(ReplayError::Line { line, .. }) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
        Err(ReplayError::Version { version, .. }) => assert_ne!(version, 1),
        Err(error) => panic!("it was parsed only: {error}"),
    }
}
