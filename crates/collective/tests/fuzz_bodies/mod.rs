//! Bodies of the fuzz targets of the readers. The targets under `fuzz/` include this file, and so do the ordinary
//! tests, which replay the committed corpora with it.

use linkmend_collective::ideal::{IdealLink, completion_nanos};
use linkmend_collective::read::{
    GoalOptions, Input, InputError, WorkloadOptions, parse_connection_matrix, parse_goal, parse_workload,
};

/// A connection matrix of htsim.
pub fn connection_matrix(data: &[u8]) {
    check(data, parse_connection_matrix(data));
}

/// A schedule in GOAL, with messages that are buffered and messages that are not.
pub fn goal(data: &[u8]) {
    for eager_bytes in [0, 65_535] {
        check(data, parse_goal(data, &GoalOptions { eager_bytes }));
    }
}

/// A workload for SimAI, with as many ranks as it says and with few.
pub fn training_workload(data: &[u8]) {
    for ranks in [None, Some(8)] {
        check(
            data,
            parse_workload(data, &WorkloadOptions { ranks, passes: 2, ..WorkloadOptions::default() }),
        );
    }
}

/// An error must name a line of the file. A program must run to its end.
fn check(data: &[u8], parsed: Result<Input, InputError>) {
    match parsed {
        Ok(Input { program, .. }) => {
            let link = IdealLink { bits_per_second: 400_000_000_000, latency_nanos: 1_000 };
            assert!(completion_nanos(&program, &link).iter().all(|&nanos| nanos < u64::MAX));
        }
        Err(error) => {
            let lines = data.iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&(line as usize))), "{error}");
        }
    }
}
