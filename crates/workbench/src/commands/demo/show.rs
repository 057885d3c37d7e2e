//! What a demo has found, in every form in which it is shown.

use super::DemoArgs;
use super::progress::Steps;
use crate::commands::shown;
use linkmend::failure::{Context, Result};
use linkmend::output;
use linkmend::written_file;
use linkmend_report::{Plot, Table};
use serde::Serialize;
use std::path::Path;

/// Width of the tables if the terminal does not say.
const TABLE_WIDTH: usize = 100;

/// What people see of a result.
pub(super) struct Shown {
    pub(super) tables: Vec<Table>,
    /// What is to be said below them.
    pub(super) sentences: Vec<String>,
    /// Its plots, by their names.
    pub(super) plots: Vec<(&'static str, Plot)>,
}

/// Prints a result as tables or JSON, and writes the report, which `page` makes, and the plots, as the arguments ask for.
pub(super) fn show<R: Serialize>(
    arguments: &DemoArgs,
    progress: &Steps,
    result: &R,
    shown: &Shown,
    page: fn(&R) -> Result<String>,
) -> Result<()> {
    if arguments.json {
        shown::json(result)?;
    } else {
        print(shown)?;
    }
    if !arguments.no_report {
        let path = &arguments.report;
        written_file::write(path, page(result)?)?;
        progress.print_line(&format!("report: {}", path.display()));
    }
    if let Some(folder) = &arguments.plots {
        write_plots(&shown.plots, folder)?;
    }
    Ok(())
}

fn print(shown: &Shown) -> Result<()> {
    let (width, colour) = output::terminal(TABLE_WIDTH);
    for table in &shown.tables {
        output::print(&table.to_text(width, colour))?;
        output::print("\n")?;
    }
    for sentence in &shown.sentences {
        output::print(&indented(sentence, width))?;
    }
    Ok(())
}

/// Wraps a paragraph with the indentation of the tables.
fn indented(paragraph: &str, width: usize) -> String {
    const INDENT: &str = "  ";
    let lines = linkmend_report::wrap(paragraph, width.saturating_sub(INDENT.len()).max(1));
    lines.lines().map(|line| format!("{INDENT}{line}\n")).collect()
}

fn write_plots(plots: &[(&'static str, Plot)], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, plot) in plots {
        for (ending, content) in [("svg", plot.to_svg()), ("csv", plot.to_csv())] {
            let path = folder.join(format!("demo-{name}.{ending}"));
            written_file::write(&path, content)?;
        }
    }
    Ok(())
}
