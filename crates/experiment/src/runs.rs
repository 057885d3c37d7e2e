//! Runs that stand side by side.

use crate::measurement::Measurement;
use crate::pool::Pooled;
use std::fmt::Debug;
use std::sync::Arc;

/// The outcomes of the runs of a point, in the order of the runs: for kinds that show runs one by one, take a mean over
/// them, or compare them in pairs.
#[derive(Debug, PartialEq)]
pub struct Runs<T>(Vec<Arc<T>>);

impl<T> Runs<T> {
    /// The outcome of a single run.
    pub fn one(run: T) -> Runs<T> {
        Runs(vec![Arc::new(run)])
    }

    /// The outcomes of these runs.
    pub(crate) fn new(runs: Vec<T>) -> Runs<T> {
        Runs(runs.into_iter().map(Arc::new).collect())
    }

    /// All runs, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.0.iter().map(|run| &**run)
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Each run by itself.
    pub fn each(&self) -> impl ExactSizeIterator<Item = Runs<T>> {
        self.0.iter().map(|run| Runs(vec![Arc::clone(run)]))
    }

    /// Mean over the runs that have the value, with its interval.
    pub fn mean(&self, value: impl Fn(&T) -> Option<f64>) -> Option<Measurement> {
        Measurement::mean(&self.iter().filter_map(value).collect::<Vec<f64>>())
    }

    /// The greatest value of all runs that have one.
    pub fn greatest(&self, value: impl Fn(&T) -> Option<f64>) -> Option<Measurement> {
        self.iter().filter_map(value).reduce(f64::max).and_then(Measurement::exact)
    }
}

/// Runs are shared, not copied.
impl<T> Clone for Runs<T> {
    fn clone(&self) -> Runs<T> {
        Runs(self.0.clone())
    }
}

impl<T: Debug + Send + Sync> Pooled for Runs<T> {
    type Pool = Runs<T>;

    fn pool(first: Runs<T>) -> Runs<T> {
        first
    }

    fn add(pool: &mut Runs<T>, other: Runs<T>) {
        pool.0.extend(other.0);
    }

    fn finish(pool: Runs<T>) -> Runs<T> {
        pool
    }

    fn runs(&self) -> usize {
        self.0.len()
    }

    fn only(&self, keeps: &dyn Fn(usize) -> bool) -> Option<Runs<T>> {
        let kept = (0..self.0.len()).filter(|run| keeps(*run));
        Some(Runs(kept.map(|run| Arc::clone(&self.0[run])).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::pooled;

    #[test]
    fn runs_keep_their_order_and_have_a_mean_and_a_greatest_value() {
        let runs = pooled([2.0, 1.0, f64::NAN, 3.0].map(Runs::one)).expect("four runs");
        assert_eq!(runs.iter().copied().take(2).collect::<Vec<f64>>(), [2.0, 1.0]);
        let number = |run: &f64| (!run.is_nan()).then_some(*run);
        let mean = runs.mean(number).expect("three have a value");
        assert!(mean.value == 2.0 && mean.interval.is_some(), "{mean:?}");
        assert_eq!(runs.greatest(number), Measurement::exact(3.0));
        let alone: Vec<Option<Measurement>> = runs.each().map(|run| run.mean(number)).collect();
        assert_eq!(
            alone,
            [Some(2.0), Some(1.0), None, Some(3.0)].map(|value| value.and_then(Measurement::exact))
        );
    }

    #[test]
    fn some_of_the_runs_can_be_chosen() {
        let three = pooled([1, 2, 3].map(Runs::one)).expect("three runs");
        assert_eq!(three.runs(), 3);
        let chosen = three.only(&|run| run != 1).expect("they are kept apart");
        assert_eq!(chosen.iter().copied().collect::<Vec<i32>>(), [1, 3]);
    }
}
