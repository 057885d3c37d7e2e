//! Outcomes of several runs, pooled as if they had been one run.

use std::fmt::Debug;

/// What runs measure, if several runs can be pooled.
pub trait Pooled: Clone + Debug + Send {
    /// What is kept of several outcomes until the last of them is in.
    type Pool;

    /// Begins a pool with one outcome.
    fn pool(first: Self) -> Self::Pool;

    /// Adds another outcome.
    fn add(pool: &mut Self::Pool, other: Self);

    /// The outcome that stands for all that were added.
    fn finish(pool: Self::Pool) -> Self;

    /// How many runs the outcome keeps apart.
    fn runs(&self) -> usize {
        1
    }

    /// The outcome of only those of its runs for whose numbers, from 0, this returns true. `None` if the outcome does not
    /// keep its runs apart.
    fn only(&self, _keeps: &dyn Fn(usize) -> bool) -> Option<Self> {
        None
    }
}

/// Pools outcomes in their order. One alone stays as it is; `None` for none.
pub fn pooled<O: Pooled>(outcomes: impl IntoIterator<Item = O>) -> Option<O> {
    let mut pooling = Pooling::Empty;
    outcomes.into_iter().for_each(|outcome| pooling.add(outcome));
    pooling.finish()
}

/// Outcomes that are pooled one by one.
pub(crate) enum Pooling<O: Pooled> {
    Empty,
    One(O),
    Several(O::Pool),
}

impl<O: Pooled> Pooling<O> {
    pub(crate) fn add(&mut self, outcome: O) {
        *self = match std::mem::replace(self, Pooling::Empty) {
            Pooling::Empty => Pooling::One(outcome),
            Pooling::One(first) => {
                let mut pool = O::pool(first);
                O::add(&mut pool, outcome);
                Pooling::Several(pool)
            }
            Pooling::Several(mut pool) => {
                O::add(&mut pool, outcome);
                Pooling::Several(pool)
            }
        };
    }

    pub(crate) fn finish(self) -> Option<O> {
        match self {
            Pooling::Empty => None,
            Pooling::One(outcome) => Some(outcome),
            Pooling::Several(pool) => Some(O::finish(pool)),
        }
    }
}
