//! Tables of experiments: a row for each point, with its parameters and what was measured there.

use crate::definition::Experiment;
use crate::kind::Kind;
use crate::metric::Metric;
use crate::sweep::Parameters;
use linkmend_report::{Cell, Column, Table};

/// How the columns of a table are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headings {
    /// By the names that files use, without their units.
    Names,
    /// By the names that people read.
    Labels,
    /// The parameters as people read them; the metrics, which are all of one distribution, by the part of it: `99.9 %`.
    Parts,
}

/// A row for each point: these parameters, then these metrics. `outcomes` has one for each point.
pub fn of_points<K: Kind>(
    title: String,
    (experiment, outcomes): (&Experiment<K>, &[K::Outcome]),
    keys: &[&'static str],
    metrics: &[&'static Metric<K::Outcome>],
    headings: Headings,
) -> Table {
    let mut table = Table::new(title);
    for key in keys {
        let name = if headings == Headings::Names { *key } else { K::Parameters::label_of(key) };
        table = table.column(Column::text(name));
    }
    for metric in metrics {
        let name = match headings {
            Headings::Names => metric.name_without_unit(),
            Headings::Labels => metric.label.to_owned(),
            Headings::Parts => metric.part_in_words(),
        };
        table = table.column(Column::number(name, metric.quantity.unit()));
    }
    for (point, outcome) in experiment.points.iter().zip(outcomes) {
        let parameters = keys.iter().map(|key| match point.value(key) {
            Some(value) if headings == Headings::Names => Cell::text(value.text),
            Some(value) => Cell::text(K::Parameters::in_words(key, &value.text)),
            None => Cell::text(""),
        });
        let measured = metrics.iter().map(|metric| {
            metric.value(outcome).map_or_else(Cell::missing, |measured| Cell::number(measured.value))
        });
        table.push_row(parameters.chain(measured));
    }
    table
}

/// A distribution at each point: a column for each metric whose name begins with `distribution` and a dot, such as the
/// percentiles `fct_ns.p50` and `fct_ns.p99_9` of `fct_ns`. The parameters are those that vary.
pub fn of_distribution<K: Kind>(
    title: String,
    (experiment, outcomes): (&Experiment<K>, &[K::Outcome]),
    distribution: &str,
) -> Table {
    let of_it = |metric: &&Metric<K::Outcome>| metric.distribution() == Some(distribution);
    let metrics: Vec<&'static Metric<K::Outcome>> = experiment.metrics.iter().filter(of_it).collect();
    of_points(title, (experiment, outcomes), &experiment.varied, &metrics, Headings::Parts)
}
