//! Several kinds of traffic in one run: each between hosts of its own, with parameters of its own.

use super::RunConfig;
use super::table::RunParameters;
use crate::flows::{FlowsConfig, TrafficHosts};
use crate::link::config::ParameterError;
use serde::Deserialize;
use std::path::Path;

/// One kind of traffic, as files write it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrafficTable {
    /// What it is called in reports.
    pub name: String,
    /// The hosts that take part, by their names in the topology.
    pub hosts: Vec<String>,
    /// What is different from the rest of the run.
    #[serde(flatten)]
    pub parameters: RunParameters,
}

/// A run of several kinds of traffic that cannot be.
#[derive(Debug)]
pub struct TrafficError {
    /// The kind of traffic at fault, by its place in the list. None if it is what they share.
    pub table: Option<usize>,
    pub error: ParameterError,
}

impl From<ParameterError> for TrafficError {
    fn from(error: ParameterError) -> TrafficError {
        TrafficError { table: None, error }
    }
}

impl RunParameters {
    /// The same parameters with those that `others` set instead.
    #[must_use]
    pub fn replaced_by(&self, others: &RunParameters) -> RunParameters {
        let mut parameters = others.clone();
        for parameter in super::PARAMETERS {
            if (parameter.value)(others).is_none()
                && let Some(value) = (parameter.value)(self)
                && (parameter.read)(&mut parameters, &value.text).is_err()
            {
                debug_assert!(false, "what is shown reads back");
            }
        }
        parameters
    }

    /// The run of several kinds of traffic. Relative paths start from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used, or a host that there is not, and which kind of traffic it is of.
    pub fn run_with(&self, traffic: &[TrafficTable], folder: &Path) -> Result<RunConfig, TrafficError> {
        let mut run: Option<FlowsConfig> = None;
        for (index, table) in traffic.iter().enumerate() {
            let at_fault = |error| TrafficError { table: Some(index), error };
            let mut part = self.replaced_by(&table.parameters).flows(folder).map_err(at_fault)?;
            let mut of_part = part.traffic.remove(0);
            of_part.name.clone_from(&table.name);
            let node = |name: &String| {
                let known = || part.graph.hosts().map(|host| part.graph.node(host).name.clone());
                part.graph.hosts().find(|host| part.graph.node(*host).name == *name).ok_or_else(|| {
                    let known = known().take(16).collect::<Vec<_>>().join(", ");
                    let requirement = format!("must be a host of the topology for `{}`: {known}", table.name);
                    ParameterError::new("hosts", name, requirement)
                })
            };
            let between: Result<_, ParameterError> = table.hosts.iter().map(node).collect();
            of_part.between = TrafficHosts::Listed(between.map_err(at_fault)?);
            match &mut run {
                Some(run) => {
                    run.traffic.push(of_part);
                    // Switches pause if any traffic needs it.
                    run.pfc = run.pfc.or(part.pfc);
                }
                None => {
                    part.traffic = vec![of_part];
                    run = Some(part);
                }
            }
        }
        let Some(run) = run else { return Ok(self.run(folder)?) };
        run.validate()?;
        Ok(RunConfig::Flows(Box::new(run)))
    }
}
