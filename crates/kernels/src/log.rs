//! What a machine's console tells: the runs of all scenarios.

use linkmend_kernel_guest::record::{Frame, Record, Sender};

/// One phase of a scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    pub name: String,
    pub since_tick_ns: u64,
    pub frames: Vec<Frame>,
    pub senders: Vec<Sender>,
    /// Why it was not played to its end.
    pub failure: Option<String>,
}

/// A timeout of so many ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    pub ticks: u32,
    pub since_tick_ns: u64,
    pub took_ns: u64,
}

/// All that a machine has done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Log {
    pub release: String,
    pub timers: Vec<Timer>,
    pub runs: Vec<Run>,
}

/// Reads a console.
///
/// # Errors
/// If the machine did not play everything: with its last words.
pub fn parse(console: &str) -> Result<Log, String> {
    let mut log = Log::default();
    let mut is_complete = false;
    for record in console.lines().filter_map(Record::parse) {
        match (record, log.runs.last_mut()) {
            (Record::Kernel(release), _) => log.release = release,
            (Record::Timer { ticks, since_tick_ns, took_ns }, _) => {
                log.timers.push(Timer { ticks, since_tick_ns, took_ns });
            }
            (Record::Begin { name, .. }, _) => log.runs.push(Run { name, ..Run::default() }),
            (Record::Failed(why), None) => return Err(why),
            (Record::Failed(why), Some(run)) => run.failure = Some(why),
            (Record::SinceTick(ns), Some(run)) => run.since_tick_ns = ns,
            (Record::Frame(frame), Some(run)) => run.frames.push(frame),
            (Record::Sender(sender), Some(run)) => run.senders.push(sender),
            (Record::SinceTick(_) | Record::Frame(_) | Record::Sender(_), None) => (),
            (Record::Complete, _) => is_complete = true,
        }
    }
    if is_complete {
        return Ok(log);
    }
    let mut last: Vec<_> = console.lines().rev().take(5).collect();
    last.reverse();
    Err(format!("the machine ended early; its console ends with:\n{}", last.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_belong_to_the_run_that_began_before_them() {
        let console = "@ kernel 6.1\n@ timer 1 5 7999995\n@ begin 0 a\n@ tick 5\n@ frame 1 0 1 2 3 4 5 0\n@ begin 1 a\n@ failed no\n@ complete\n";
        let log = parse(console).expect("a complete console");
        assert_eq!(log.release, "6.1");
        assert_eq!(log.timers, [Timer { ticks: 1, since_tick_ns: 5, took_ns: 7_999_995 }]);
        assert_eq!(log.runs.len(), 2);
        assert_eq!((log.runs[0].since_tick_ns, log.runs[0].frames.len()), (5, 1));
        assert_eq!(log.runs[1].failure.as_deref(), Some("no"));
    }

    #[test]
    fn a_console_without_an_end_is_an_error_with_its_last_words() {
        let error = parse("@ kernel 6.1\nKernel panic - not syncing").expect_err("incomplete");
        assert!(error.contains("Kernel panic"), "{error}");
    }
}
