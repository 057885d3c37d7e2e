//! The conformance plan, executable: published test cases, run on a virtual link, with exact counts.
//!
//! The cases are those of two public plans: the "LLR & CBFC Test Plan" (LLR-01 to 11) and the "LLR_Testplan" for a
//! FBOSS switch. For each case, [`run`] returns what was done, the expected result, and the actual result. [`ERRATA`]
//! lists errors in the plans and in other public texts, with the case that demonstrates each of them.

mod bench;
mod case;
mod errata;
mod flush;
mod line_rate;
mod pause;
mod repair;
mod second_plan;
mod throughput;

pub use case::{CaseResult, Check};
pub use errata::{ERRATA, Erratum};

/// A test case: its name, and the function that runs it.
type Case = (&'static str, fn() -> CaseResult);

/// All cases, in the order of the plans.
const CASES: [Case; 18] = [
    ("LLR-01", repair::no_fault),
    ("LLR-02", repair::number_skipped),
    ("LLR-03", repair::bad_frame),
    ("LLR-04", repair::frame_dropped),
    ("LLR-05", flush::no_acks),
    ("LLR-06", repair::poisoned_frames),
    ("LLR-07", flush::window_of_ten),
    ("LLR-08", line_rate::five_hundred_metres),
    ("LLR-09", flush::initialises_again),
    ("LLR-10", line_rate::all_sizes),
    ("LLR-11", line_rate::uncorrectable_codewords),
    ("TP2-05", second_plan::wrap),
    ("TP2-16", second_plan::burst),
    ("TP2-19", pause::replay_while_paused),
    ("TP2-20", pause::feedback_while_paused),
    ("TP2-init", second_plan::initialisation),
    ("TP2-timer", second_plan::timer),
    ("TP2-throughput", throughput::two_percent),
];

/// The names of all cases, in the order of [`run`].
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// Runs every case. It takes a second or two, and the results are the same on every machine.
pub fn run() -> Vec<CaseResult> {
    CASES.iter().map(|(_, case)| case()).collect()
}

/// Runs the case with this name; `None` if there is none.
pub fn run_one(name: &str) -> Option<CaseResult> {
    CASES.iter().find(|(known, _)| *known == name).map(|(_, case)| case())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_passes_under_its_own_name() {
        let results = run();
        for (name, result) in names().zip(&results) {
            assert_eq!(result.id, name);
            let failed: Vec<&Check> = result.checks.iter().filter(|check| !check.pass).collect();
            assert!(failed.is_empty() && !result.checks.is_empty(), "{name}: {failed:#?}");
        }
    }

    #[test]
    fn errata_name_cases_that_exist() {
        for erratum in ERRATA {
            let shown = erratum.shown_by;
            assert!(shown.is_empty() || names().any(|name| name == shown), "{shown}");
        }
        assert!(run_one("LLR-12").is_none());
    }
}
