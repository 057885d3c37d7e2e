//! `linkmend rdma published`: what the paper derives, compared.

use super::arguments::TABLE_WIDTH;
use crate::failure::{Context, Error, Hinted, Result};
use crate::output;
use clap::Args;
use linkmend_rdma::{Flows, Sizes, published};
use linkmend_report::{Comparison, Judged};
use linkmend_sim::host::FlowSizes;

/// Flows by which the distribution of sizes is computed.
const FLOWS: u32 = 1_000_000;

/// Arguments of `linkmend rdma published`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend rdma published
  linkmend rdma published --json

The paper prints one or two digits: a value is inside if it rounds to them. Where the paper contradicts itself, the \
explanation says what follows from its own theorems. Exit code 1 if a row is outside and nothing explains it.")]
pub struct PublishedArgs {
    /// Print one JSON list instead of a table
    #[arg(long)]
    json: bool,
}

/// Executes `linkmend rdma published`.
pub fn execute(arguments: &PublishedArgs) -> Result<()> {
    let flows = |workload: &str| {
        let sizes = FlowSizes::published(workload).map_or(Vec::new(), |sizes| sizes.spread(FLOWS));
        Flows::of_sizes(&sizes, Sizes::default().mtu)
    };
    let rows = published::comparisons(&flows("web-search"), &flows("data-mining"));
    if arguments.json {
        output::print(&serde_json::to_string_pretty(&Judged::all(&rows)).context("the rows are no JSON")?)?;
    } else {
        let (width, colour) = output::terminal(TABLE_WIDTH);
        let table = Comparison::table("what the paper derives (Gao et al., JCST 2022)", &rows);
        output::print(&table.to_text(width, colour))?;
    }
    let unexplained = rows.iter().filter(|row| row.is_unexplained()).count();
    if unexplained > 0 {
        let hint = "the column of explanations is empty where nothing explains a difference".to_owned();
        let error: Error =
            Hinted { message: format!("{unexplained} rows differ without cause"), hint }.into();
        return Err(error);
    }
    Ok(())
}
