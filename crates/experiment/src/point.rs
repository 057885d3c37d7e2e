//! The points of an experiment.

use crate::sweep::Replacement;
use crate::{Parameters, Value};
use linkmend_random::Random;

/// One combination of parameters, and what is done there.
#[derive(Debug, Clone)]
pub struct Point<P, T> {
    /// All of its parameters, including those that the file leaves to the paper.
    pub parameters: P,
    /// The parameters that the file sets.
    pub written: P,
    /// What is done at this point.
    pub task: T,
    /// How many independent runs are pooled.
    pub runs: u64,
}

impl<P: Parameters, T> Point<P, T> {
    /// The value of a parameter.
    pub fn value(&self, key: &str) -> Option<Value> {
        self.parameters.value_of(key)
    }

    /// A parameter's value in words that need no heading.
    pub fn word(&self, key: &str) -> Option<String> {
        Some(P::word(key, self.value(key)?.text))
    }

    /// A name that no other point has: all parameters and their values.
    pub fn key(&self) -> String {
        self.key_without(&[])
    }

    fn key_without(&self, except: &[&str]) -> String {
        let keys = P::keys().filter(|key| !except.contains(key));
        let texts = keys.filter_map(|key| Some(format!("{key}={}", self.value(key)?.text)));
        texts.collect::<Vec<_>>().join(" ")
    }

    /// The seed of a run. It depends only on the experiment, the point, the run and the base, and is short enough to type.
    pub fn seed(&self, base: u64, id: &str, run: u64) -> u64 {
        self.shared_seed(base, id, run, &[])
    }

    /// The seed of a run that points share if they differ in nothing but these parameters.
    pub fn shared_seed(&self, base: u64, id: &str, run: u64, except: &[&str]) -> u64 {
        Random::new(base, &format!("{id} {} run {run}", self.key_without(except))).next_u64() >> 32
    }
}

/// Parameters that are not written alike for all points, in the order of tables. What follows from other parameters is
/// not varied.
pub(crate) fn varied<P: Parameters, T>(points: &[Point<P, T>]) -> Vec<&'static str> {
    let differs = |key: &&'static str| {
        let written = |point: &Point<P, T>| point.written.value_of(key);
        let first = points.first().map(written);
        points.iter().any(|point| Some(written(point)) != first)
    };
    P::keys().filter(|key| !P::only_lengthens(key)).filter(differs).collect()
}

/// The point that has all parameters of another, but for those that are replaced. Of the parameters, those that `varied`
/// names are compared.
pub(crate) fn counterpart<P: Parameters, T>(
    points: &[Point<P, T>],
    varied: &[&'static str],
    point: &Point<P, T>,
    replacement: &Replacement,
) -> Option<usize> {
    let text = |point: &Point<P, T>, key: &str| point.value(key).map(|value| value.text);
    let wanted = |other: &Point<P, T>| {
        varied.iter().all(|key| match replacement.value_of(key) {
            Some(value) => text(other, key).as_deref() == Some(value),
            None => text(other, key) == text(point, key),
        })
    };
    points.iter().position(wanted)
}
