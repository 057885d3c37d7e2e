//! The list of experiments, and how long each takes.

use super::Options;
use super::planned::{Overview, Planned};
use crate::commands::shown;
use linkmend::failure::Result;
use linkmend_report::{Cell, Column, Table, Unit};
use serde_json::json;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 110;

/// Prints the list.
pub fn print(experiments: &[Planned], options: &Options) -> Result<()> {
    let experiments: Vec<Overview<'_>> = experiments.iter().map(Planned::overview).collect();
    let seconds = |experiment: &Overview<'_>| {
        let threads = options.threads().min(experiment.points.max(1));
        experiment.core_seconds / threads as f64
    };
    if options.json {
        let list = experiments.iter().map(|experiment| {
            json!({
                "id": experiment.id,
                "title": experiment.title,
                "source": experiment.source,
                "points": experiment.points,
                "published": experiment.published,
                "about_s": seconds(experiment).ceil(),
            })
        });
        return shown::json(&list.collect::<Vec<_>>());
    }
    let mut table = Table::new("Experiments")
        .column(Column::text("ID"))
        .column(Column::text("Title"))
        .column(Column::text("Reproduces"))
        .column(Column::number("Points", Unit::Count))
        .column(Column::number("Published", Unit::Count))
        .column(Column::text("About").align(linkmend_report::Alignment::Right));
    for experiment in &experiments {
        table.push_row([
            Cell::text(experiment.id),
            Cell::text(experiment.title),
            Cell::text(experiment.source).neutral(),
            Cell::number(experiment.points as f64),
            Cell::number(experiment.published as f64),
            Cell::text(about(seconds(experiment))),
        ]);
    }
    let all: f64 = experiments.iter().map(seconds).sum();
    let threads = options.threads();
    let table = table.note(format!("All of them: about {} on {threads} cores.", about(all)));
    shown::tables(TABLE_WIDTH, &[table])
}

/// Rounds a duration to the precision of an estimate.
fn about(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 20.0 => format!("{s:.0} s"),
        s if s < 90.0 => format!("{:.0} s", (s / 10.0).ceil() * 10.0),
        s => format!("{:.0} min", (s / 60.0).ceil()),
    }
}
