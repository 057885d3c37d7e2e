//! `linkmend sim links`: generators over several links, or over one in more than one way.

use super::parameters::{ParameterArgs, Preset, usage};
use super::stress::FRAMES;
use crate::commands::links_table::{closing, tables};
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::{Error, Hinted, Interrupted, Result};
use linkmend_sim::links::{self, LinksReport};
use linkmend_sim::parameters::Runs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Width of tables when standard output is no terminal.
const TABLE_WIDTH: usize = 110;

/// Generators over several links, or over one in more than one way.
#[derive(Debug)]
pub struct Links;

impl Preset for Links {
    const RUNS: Runs = Runs::LINKS;
    const HELP: &'static [(&'static str, &'static str)] = &[
        ("load", "Share of the first link that the traffic takes [default: as much as it can carry]"),
        ("frames", "Frames that each generator sends, like 1M [default: 100k]"),
        (
            "reverse-loss",
            "Share of frames corrupted in the other direction [default: the same as in this direction with \
             --reverse-load or --second-link, otherwise 0]",
        ),
    ];
}

/// Arguments of `linkmend sim links`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim links --hops 4 --loss 1e-2
      Four corrupting links in a row: each recovers its own losses, delays add up, and where a link has less \
capacity than the one before it, the queue grows, marks and drops frames. With --scheme none, losses add up.

  linkmend sim links --hops 100G,1e-3/100G,0,off/25G --load 20%
      Three different links, the second of which is healthy and unprotected.

  linkmend sim links --parallel-links 4 --recirculation-ports 2
      Four links between two switches that share two recirculation ports. Links that together send \
more than their port can carry slow each other down, and copies that queue for it come too late.

  linkmend sim links --reverse-load 100% --buffering direct
      Data and corruption in both directions: ACKs, loss notifications, pauses and resumes can be lost as well, \
and ACKs are piggybacked on data. Nothing may stall.

  linkmend sim links --load 70% --non-blocking-load 20%
      Ordered and non-blocking traffic on one link: a lost ordered frame holds its class back, and may pause it; \
the other class continues.

  linkmend sim links --load 40% --phases 5ms,1e-4/5ms,8%/10ms,40%/30ms,1e-4 \\
    --buffering direct
      A loss rate that changes suddenly, and the automatic fallback that follows it. The hold times are \
short here, so that milliseconds show what takes seconds on a real link.

  linkmend sim links --spacing 100us --fixed-dummies --loss 5% --mean-burst 3 \\
    --frames 10k
      Every frame is a tail: the next one comes only after a silence, so only dummies reveal its loss in time. \
`examples/dummies.toml` has a row for each number of dummies.

  linkmend sim links --second-link --failure-every 2ms --down-for 500us \\
    --load 80% --cuts 20 --return-after 200us --silence 200us
      Two links between the same ends, one of which fails 20 times. With --hand-off sqr, SQR handles the same failures.

Every event is simulated, so runs are shorter than those of `sim stress`. The same seed gives the same report. Exit codes: 0 \
done, 1 stalled, 2 incorrect usage, 130 after Ctrl-C.")]
pub struct LinksArgs {
    #[command(flatten)]
    parameters: ParameterArgs<Links>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

/// After Ctrl-C, the results so far are shown.
impl Study for LinksArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let parameters = self.parameters.parameters();
        let config = parameters.links(Path::new("")).map_err(usage)?;
        watch.begin(config.frames_of_a_source(), FRAMES);
        let stop = watch.stop()?;
        let report = links::run(&config, &mut |frames| {
            watch.reach(frames);
            !stop.load(Ordering::Relaxed)
        });
        let report = report.map_err(usage)?;
        let found = Found::new(&report, TABLE_WIDTH, tables("", &report))?;
        Ok(found.closing(closing(&report)).failing(failure(&report, stop.load(Ordering::Relaxed))))
    }
}

/// Why the run did not end as it should have.
fn failure(report: &LinksReport, is_stopped: bool) -> Option<Error> {
    if report.ending.drained {
        return None;
    }
    if is_stopped {
        let message = "interrupted; the report covers the time until then";
        return Some(Interrupted::error(message, "a shorter run takes less time"));
    }
    let message = "the run stalled: some frames were neither delivered nor given up";
    let hint = "the seed in the report reproduces it; `linkmend sim links --help` lists what can be changed";
    Some(Hinted::error(message, hint))
}
