//! Which of several series is the best at a place of a map, and by how much.

use super::outcome::{Metric, Outcome};
use linkmend_experiment::Pooled;
use linkmend_statistics::jackknife_interval;

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
        let part = |keeps: &dyn Fn(usize) -> bool| Some(metric.value(&outcome.only(keeps)?)?.value);
        let interval = jackknife_interval(outcome.runs(), |keeps| part(keeps)).unwrap_or((value, value));
        Some(Candidate { name, value, interval })
    }
}

/// The best of some candidates, and its distance from the second: `draw` if that is below `least`, and `unclear` if their
/// intervals overlap. With one candidate, it is the best without a distance.
pub(super) fn verdict(mut candidates: Vec<Candidate>, least: f64) -> (String, f64) {
    candidates.sort_by(|one, other| other.value.total_cmp(&one.value));
    match candidates.as_slice() {
        [] => (String::new(), f64::NAN),
        [only] => (only.name.clone(), f64::NAN),
        [best, second, ..] => {
            let distance = best.value - second.value;
            let name = match distance {
                _ if distance < least => "draw",
                _ if best.interval.0 <= second.interval.1 => "unclear",
                _ => &best.name,
            };
            (name.to_owned(), distance)
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
        assert_eq!(verdict(vec![candidate("a", 1.0, 0.0)], 0.0).0, "a");
    }
}
