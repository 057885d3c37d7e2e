//! The files of the results: the report, the summary, and a folder for each experiment.

use super::finished::{Finished, Tally};
use super::kept::Kept;
use super::{Options, page};
use linkmend::failure::{Context, Result};
use linkmend::written_file::cannot_write;
use linkmend_report::Judged;
use serde_json::{Value, json};
use std::path::Path;

/// Writes the folder of an experiment that has just finished, if there is to be one.
pub fn write_experiment(finished: &Finished, options: &Options) -> Result<()> {
    let Some(out) = &options.out else { return Ok(()) };
    let folder = out.join(&finished.id);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for plot in &finished.presented.plots {
        let name = slug(plot.title());
        write(&folder.join(format!("{name}.svg")), &plot.to_svg())?;
        write(&folder.join(format!("{name}.csv")), &plot.to_csv())?;
    }
    write(&folder.join("points.csv"), &finished.presented.points.to_csv())?;
    if !finished.comparisons.is_empty() {
        write(&folder.join("comparisons.csv"), &finished.comparison_table().to_csv())?;
    }
    write(&folder.join("results.json"), &pretty(&results(finished, options))?)
}

/// Writes the report and the summary of all finished experiments; `of` is how many there will be.
pub fn write_report(finished: &[&Kept], options: &Options, of: usize) -> Result<()> {
    let Some(folder) = &options.out else { return Ok(()) };
    write(&folder.join("report.html"), &page::render(finished, options, of))?;
    write(&folder.join("summary.json"), &pretty(&summary(finished, options))?)
}

/// The comparisons of all finished experiments. Nothing in it depends on how long a run took.
pub fn summary(finished: &[&Kept], options: &Options) -> Value {
    let tally = Tally::sum(finished.iter().map(|finished| finished.tally));
    let experiments: Vec<&Value> = finished.iter().map(|finished| &finished.summary).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "quick": options.quick,
        "trials": options.trials.map(|trials| trials.0),
        "verdicts": tally,
        "experiments": experiments,
    })
}

/// What the summary says of an experiment.
pub fn summary_of(finished: &Finished) -> Value {
    json!({
        "id": finished.id,
        "title": finished.title,
        "source": finished.source,
        "points": finished.point_count,
        "verdicts": finished.tally(),
        "comparisons": judged(finished),
    })
}

fn judged<'a>(finished: &'a Finished) -> Vec<Judged<'a>> {
    Judged::all(&finished.comparisons)
}

fn results(finished: &Finished, options: &Options) -> Value {
    json!({
        "id": finished.id,
        "title": finished.title,
        "source": finished.source,
        "seed": options.seed,
        "quick": options.quick,
        "trials": options.trials.map(|trials| trials.0),
        "comparisons": judged(finished),
        "points": finished.presented.results,
    })
}

fn pretty(value: &Value) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// Writes to a temporary file first, so that the file is always complete.
pub fn write(path: &Path, content: &str) -> Result<()> {
    let beside = path.with_extension("part");
    let written = std::fs::write(&beside, content).and_then(|()| std::fs::rename(&beside, path));
    Ok(written.map_err(cannot_write(path))?)
}

/// A file name: lower-case letters and digits, with hyphens between them.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in title.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}
