//! Loss events: drawn at random, or read from a file.

use super::network::NetworkArgs;
use super::{share, word};
use clap::Args;
use linkmend::failure::{Error, Result};
use linkmend_fleet::FileError;
use linkmend_fleet::trace::{
    LossDistribution, SharedFailures, Trace, TraceFile, TraceParameters, WithinBucket,
};
use linkmend_topology::{FabricParameters, Topology};
use std::path::PathBuf;

/// Flags that only describe how a trace is drawn, and would silently have no effect on a trace from a file. The seed is
/// not one of them, because repairs are drawn as well.
const DRAWING: [&str; 6] = ["days", "mttf", "weibull_shape", "within_bucket", "shared", "shared_links"];

/// Arguments that say where the trace comes from.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Read the trace from a file instead of generating it: CSV, or JSON of the authors' simulator
    #[arg(long, value_name = "FILE", conflicts_with_all = DRAWING)]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub draw: DrawArgs,
}

/// Arguments that say how a trace is drawn.
#[derive(Debug, Args)]
pub struct DrawArgs {
    /// Length of the trace in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_600))]
    days: u32,
    /// Mean time to failure of a link in hours
    #[arg(long, value_name = "HOURS", default_value_t = 10_000.0, value_parser = positive)]
    mttf: f64,
    /// Shape of the Weibull distribution of times to failure: 1 is memoryless; above 1, links wear out
    #[arg(long, value_name = "SHAPE", default_value_t = 1.0, value_parser = shape)]
    weibull_shape: f64,
    /// Distribution of loss rates within the buckets of the paper's Table 1
    #[arg(long, default_value = WithinBucket::LogUniform.name(), value_parser = word::<WithinBucket>())]
    within_bucket: WithinBucket,
    /// Share of failures that affect several links of a switch simultaneously (measured: 10 to 26 %)
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    shared: f64,
    /// Number of links affected by such a failure
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=1024))]
    shared_links: u32,
    /// Seed for all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl DrawArgs {
    /// Draws the trace.
    pub fn trace(&self, topology: &Topology) -> Result<Trace> {
        self.check(topology)?;
        Ok(self.trace_of(topology, self.seed))
    }

    /// Checks whether the trace can be drawn for a network.
    pub fn check(&self, topology: &Topology) -> Result<()> {
        Ok(self.parameters().check(topology)?)
    }

    /// Draws the trace with another seed; the parameters must have been checked.
    pub fn trace_of(&self, topology: &Topology, seed: u64) -> Trace {
        TraceParameters { seed, ..self.parameters() }.generate(topology)
    }

    /// The parameters of the trace.
    fn parameters(&self) -> TraceParameters {
        let shared = SharedFailures { share: self.shared, links: self.shared_links };
        TraceParameters {
            length_s: u64::from(self.days) * 86_400,
            mttf_hours: self.mttf,
            weibull_shape: self.weibull_shape,
            loss: LossDistribution::table_1(self.within_bucket),
            shared: (self.shared > 0.0).then_some(shared),
            seed: self.seed,
        }
    }
}

impl SourceArgs {
    /// The network and its trace. Without a file, the trace is drawn. A file of the authors' simulator describes its
    /// network.
    pub fn network_and_trace(&self, network: &NetworkArgs) -> Result<(Topology, Trace)> {
        let file = self.trace.as_deref().map(TraceFile::open).transpose().map_err(unreadable)?;
        let own = file.as_ref().and_then(TraceFile::fabric);
        let topology = network.build(own.unwrap_or(FabricParameters::PAPER))?;
        let trace = match file {
            Some(file) => file.for_network(&topology).map_err(unreadable)?,
            None => self.draw.trace(&topology)?,
        };
        Ok((topology, trace))
    }
}

/// Adds to the error of an unreadable file what the file was needed for.
fn unreadable(error: FileError) -> Error {
    match error {
        FileError::Io { file, source } => Error::from(source).context(format!("cannot read {file}")),
        error => error.into(),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number.is_finite() { Ok(number) } else { Err("must be above 0".to_owned()) }
}

fn shape(text: &str) -> Result<f64, String> {
    let shape = positive(text)?;
    if (0.1..=100.0).contains(&shape) { Ok(shape) } else { Err("must be from 0.1 to 100".to_owned()) }
}
