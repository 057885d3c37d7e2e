//! `linkmend fleet trace`: writes a trace.

use super::network::NetworkArgs;
use super::source::DrawArgs;
use clap::Args;
use linkmend::failure::Result;
use linkmend::output;
use linkmend::written_file::{self, cannot_write};
use linkmend_fleet::trace::write_csv;
use linkmend_topology::FabricParameters;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Arguments of `linkmend fleet trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend fleet trace --out year.csv                       # a year of the paper's fabric
  linkmend fleet trace --days 30 --shared 18% --out month.csv
  linkmend fleet trace --topology fat-tree:k=8 --mttf 1000  # to standard output

Each line is a link that begins to corrupt frames, or whose loss rate changes: seconds since the beginning, link number, share \
of frames lost. As in the authors' simulator, no two events share a second.")]
pub struct TraceArgs {
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    draw: DrawArgs,
    /// CSV file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Executes the command.
pub fn execute(arguments: &TraceArgs) -> Result<()> {
    let topology = arguments.network.build(FabricParameters::PAPER)?;
    let trace = arguments.draw.trace(&topology)?;
    let Some(path) = &arguments.out else {
        let mut text = Vec::new();
        write_csv(&trace, &topology, &mut text)?;
        return Ok(output::print(&String::from_utf8_lossy(&text))?);
    };
    let mut file = BufWriter::new(written_file::create_private(path)?);
    write_csv(&trace, &topology, &mut file).and_then(|()| file.flush()).map_err(cannot_write(path))?;
    let events = trace.events().len();
    Ok(output::print(&format!("{events} events in {}", path.display()))?)
}
