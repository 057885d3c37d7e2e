//! `linkmend fleet show`: how a network file is understood in a file.
//!
//! - [`tables`] and [`json`] write what is printed, [`drawing`] the picture of the HTML file.

mod drawing;
mod json;
mod tables;

use super::network::ReadingArgs;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::Result;
use linkmend::written_file;
use linkmend_report::{Report, Section};
use std::path::PathBuf;

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 120;
/// The largest number of rows of a table on a terminal. The page and JSON have all of them.
const MAX_ROWS_ON_TERMINAL: usize = 60;

/// Arguments of `linkmend fleet show`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct ShowArgs {
    /// Network: a file or folder in any format listed below
    file: PathBuf,
    #[command(flatten)]
    reading: ReadingArgs,
    /// Write an HTML page with a drawing of the network to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

fn after_help() -> String {
    format!(
        "\
Examples:
  linkmend fleet show lab.clab.yml                     # the network that a plan would see
  linkmend fleet show dumps/ --html network.html       # write a page with a drawing
  linkmend fleet show cables.csv --layers 'l*=0,s*=1'  # specify the layers

Formats, recognised by their content (docs/network-formats.md has an example of each):
{}

Layers come from --layers, labels, groups, roles or names; the table says which. If the top layer is a guess, \
`fleet plan` refuses the network and shows the option that confirms it.",
        linkmend_topology::file::known_formats()
    )
}

impl Study for ShowArgs {
    fn find(&self, _watch: &dyn Watch) -> Result<Found> {
        let loaded = self.reading.read(&self.file)?;
        let line = self.reading.line(&loaded, &self.file);
        let drawing = drawing::network(&loaded, &self.file);
        if let Some(path) = &self.html {
            let tables = tables::all(&loaded, usize::MAX);
            let network = Section::new("Network").plot(drawing.clone());
            let report = tables.into_iter().fold(
                Report::new("linkmend fleet show").subtitle(&line).section(network),
                |report, table| report.section(Section::new(table.title().to_owned()).table(table)),
            );
            written_file::write_private(path, report.to_html())?;
        }
        let found =
            Found::new(&json::network(&loaded), TABLE_WIDTH, tables::all(&loaded, MAX_ROWS_ON_TERMINAL))?;
        Ok(found.beginning(line).plots([drawing]))
    }
}
