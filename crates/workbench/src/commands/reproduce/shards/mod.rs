//! Experiments on several machines: each does a shard, and `linkmend merge` combines the shards.
//!
//! - [`part`] does the runs of one shard, and [`merge`] combines them;
//! - [`manifest`] says what a shard is a part of.

mod manifest;
pub mod merge;
pub mod part;

use super::planned::Planned;
use linkmend_experiment::{Experiment, Kind, Shard, Unit, balanced};
use std::collections::BTreeSet;

/// The runs of a shard. It depends on nothing but the experiments and their order.
fn units_of(planned: &[Planned], shard: Shard) -> BTreeSet<Unit> {
    let (units, work): (Vec<Unit>, Vec<f64>) = planned.iter().enumerate().flat_map(units).unzip();
    let part = shard.number() - 1;
    let parts = balanced(&work, shard.of());
    units.into_iter().zip(parts).filter(|(_, of)| *of == part).map(|(unit, _)| unit).collect()
}

/// All runs of an experiment, with the seconds that one core takes for each.
fn units((place, planned): (usize, &Planned)) -> Vec<(Unit, f64)> {
    match planned {
        Planned::Runs(experiment) => of_points(place, experiment),
        Planned::Fleet(experiment) => of_points(place, experiment),
    }
}

fn of_points<K: Kind>(experiment: usize, of: &Experiment<K>) -> Vec<(Unit, f64)> {
    let of_point = |(point, of): (usize, &linkmend_experiment::PointOf<K>)| {
        let seconds = K::work(&of.task) / K::WORK_PER_SECOND;
        (0..of.runs).map(move |run| (Unit { experiment, point, run }, seconds))
    };
    of.points.iter().enumerate().flat_map(of_point).collect()
}
