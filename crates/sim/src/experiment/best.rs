//! Which of several series is the best at a place of a map, and by how much.

use super::metric::among_runs;
use super::outcome::{Metric, Outcome};

/// A series at a place of the map.
pub(super) struct Candidate {
    name: String,
    value: f64,
    /// Of several runs.
    interval: (f64, f64),
}

impl Candidate {
    pub(super) fn new(name: String, metric: &Metric, outcome: &Outcome) -> Option<Candidate> {
        let value = metric.value(outcome)?.value;
        Some(Candidate { name, value, interval: among_runs(metric, outcome).unwrap_or((value, value)) })
    }
}

/// Which candidates cannot be told from the best one, because they are less than `least` below it or their intervals
/// overlap, and the distance from the best one to the others. If that is all of them, it is a `draw`, or `unclear` if some
/// are further apart than `least`. With one candidate, it is the best without a distance.
pub(super) fn verdict(mut candidates: Vec<Candidate>, least: f64) -> (String, f64) {
    candidates.sort_by(|one, other| other.value.total_cmp(&one.value));
    let [best, .., last] = candidates.as_slice() else {
        return (candidates.pop().map_or_else(String::new, |only| only.name), f64::NAN);
    };
    let is_beaten =
        |other: &Candidate| best.value - other.value >= least && best.interval.0 > other.interval.1;
    let (beaten, among): (Vec<&Candidate>, Vec<&Candidate>) =
        candidates.iter().partition(|other| is_beaten(other));
    match beaten.first() {
        Some(next) => {
            let mut names: Vec<&str> = among.iter().map(|candidate| candidate.name.as_str()).collect();
            names.sort_unstable();
            (names.join(" = "), best.value - next.value)
        }
        None => {
            let name = if best.value - last.value < least { "draw" } else { "unclear" };
            (name.to_owned(), best.value - last.value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, value: f64, width: f64) -> Candidate {
        Candidate { name: name.to_owned(), value, interval: (value - width, value + width) }
    }

    #[test]
    fn the_best_is_named_only_if_it_is_clear() {
        let two = |apart: f64, width: f64| {
            verdict(vec![candidate("a", 0.9, width), candidate("b", 0.9 + apart, width)], 0.001)
        };
        assert_eq!(two(0.01, 0.001).0, "b");
        assert_eq!(two(-0.01, 0.001).0, "a");
        assert_eq!(two(0.0005, 0.0).0, "draw");
        assert_eq!(two(0.01, 0.006).0, "unclear");
        assert_eq!(verdict(Vec::new(), 0.0).0, "");
        let three = |value: f64| {
            verdict(
                vec![candidate("b", 0.9, 0.001), candidate("c", 0.8, 0.001), candidate("a", value, 0.001)],
                0.001,
            )
        };
        assert_eq!(three(0.9005), ("a = b".to_owned(), 0.9005 - 0.8));
        assert_eq!(three(0.7), ("b".to_owned(), 0.9 - 0.8));
        assert_eq!(verdict(vec![candidate("a", 1.0, 0.0)], 0.0).0, "a");
    }
}
