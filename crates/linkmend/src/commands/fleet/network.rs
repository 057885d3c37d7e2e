//! The network: generated from a name and parameters, or the operator's own from a file.

use crate::failure::{Error, Result, UsageError};
use clap::Args;
use linkmend_fleet::FileKind;
use linkmend_quantity::BitRate;
use linkmend_topology::file::{NamedCable, TopologyFileOptions, read_topology};
use linkmend_topology::spec::{self, names_file};
use linkmend_topology::{FabricParameters, Topology};
use std::path::{Path, PathBuf};

/// Arguments that describe the network.
#[derive(Debug, Args)]
pub struct NetworkArgs {
    /// Network: a kind with parameters, or a file of your own
    ///
    /// facebook-fabric[:pods=261,tors=48,fabric-switches=4,spines=48,speed=100G] (the paper's, 100,224 links);
    /// fat-tree[:k=48,speed=100G]; leaf-spine[:leaves=64,spines=16,speed=100G]; a YAML or JSON file with switches and
    /// links, a containerlab topology, or a folder of `lldpctl -f json` dumps with a layers.yaml.
    #[arg(long, value_name = "KIND[:NAME=VALUE,...]|FILE", verbatim_doc_comment)]
    topology: Option<String>,
    /// Speed of links whose file does not give one
    #[arg(long, value_name = "RATE")]
    default_speed: Option<BitRate>,
    /// Which switch is on which layer, for LLDP dumps [default: layers.yaml beside them]
    #[arg(long, value_name = "FILE")]
    layers: Option<PathBuf>,
}

impl NetworkArgs {
    /// Builds the network that was described, or `alternative` if none was.
    pub fn build(&self, alternative: FabricParameters) -> Result<Topology> {
        Ok(self.build_with_cables(alternative)?.0)
    }

    /// The same with the ports of its links, as far as a file names them.
    pub fn build_with_cables(&self, alternative: FabricParameters) -> Result<(Topology, Vec<NamedCable>)> {
        if let Some(layers) = &self.layers
            && self.file().is_none_or(|path| path.exists() && !path.is_dir())
        {
            let text = "is for a folder of LLDP dumps, and --topology names none";
            return Err(UsageError::new(format!("--layers {}: {text}", layers.display())).into());
        }
        match &self.topology {
            Some(written) if names_file(written) => self.read(Path::new(written)),
            Some(written) => Ok((spec::layered(written)?, Vec::new())),
            None => Ok((alternative.build()?, Vec::new())),
        }
    }

    /// The file that the network is read from, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.topology.as_deref().filter(|written| names_file(written)).map(Path::new)
    }

    fn read(&self, path: &Path) -> Result<(Topology, Vec<NamedCable>)> {
        let options = TopologyFileOptions { default_speed: self.default_speed, layers: self.layers.clone() };
        let loaded = read_topology(path, &options).map_err(|error| match FileKind::detect(path) {
            FileKind::List => {
                let hint = "this is a list of links or events, and --topology takes a network: YAML or JSON";
                UsageError::hinted(error.to_string(), hint.to_owned()).into()
            }
            _ => Error::from(error),
        })?;
        for warning in loaded.warnings {
            tracing::warn!("{warning}");
        }
        Ok((loaded.topology, loaded.cables))
    }
}
