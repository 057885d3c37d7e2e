//! The network: a generated one by name and parameters, or the operator's own from a file.

use crate::failure::UsageError;
use anyhow::Context;
use clap::Args;
use linkmend_quantity::BitRate;
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::{FabricParameters, Topology, fat_tree, leaf_spine};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// As much of a file is looked at to see what it is.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// Which network.
#[derive(Debug, Args)]
pub struct NetworkArgs {
    /// Network: a kind with parameters, or a file with one's own
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
    /// Builds the network that was asked for; `otherwise` if none was.
    pub fn build(&self, otherwise: FabricParameters) -> anyhow::Result<Topology> {
        match &self.topology {
            Some(written) if is_file(written) => self.read(Path::new(written)),
            Some(written) => generated(written),
            None => Ok(otherwise.build()?),
        }
    }

    /// The file that the network is read from, if it is one's own.
    pub fn file(&self) -> Option<&Path> {
        self.topology.as_deref().filter(|written| is_file(written)).map(Path::new)
    }

    fn read(&self, path: &Path) -> anyhow::Result<Topology> {
        let options = TopologyFileOptions { default_speed: self.default_speed, layers: self.layers.clone() };
        let loaded = read_topology(path, &options).map_err(|error| {
            let hint = match Written::of(path) {
                Written::List => {
                    "\nhint: this is a list of links or events, and --topology takes a network: YAML or JSON"
                }
                _ => "",
            };
            UsageError(format!("{error}{hint}"))
        })?;
        for warning in loaded.warnings {
            tracing::warn!("{warning}");
        }
        Ok(loaded.topology)
    }
}

/// What a file looks like, to tell people who gave one for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// CSV with a column of links.
    List,
    /// YAML or JSON of switches and links, or a folder of dumps.
    Network,
    /// None of them, or it cannot be read.
    Unclear,
}

impl Written {
    /// Looks at the beginning of a file.
    pub fn of(path: &Path) -> Written {
        if path.is_dir() {
            return Written::Network;
        }
        let mut beginning = String::new();
        let read =
            File::open(path).and_then(|file| file.take(LOOKED_AT_BYTES).read_to_string(&mut beginning));
        if read.is_err() {
            return Written::Unclear;
        }
        let text = beginning.trim_start_matches('\u{feff}').lines().map(str::trim);
        let mut lines = text.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = lines.next() else { return Written::Unclear };
        if first.split(',').any(|column| column.trim() == "link") {
            return Written::List;
        }
        let keys = ["switches:", "links:", "topology:"];
        let is_network = |line: &str| line.starts_with('{') || keys.iter().any(|key| line.starts_with(key));
        if is_network(first) || lines.any(is_network) { Written::Network } else { Written::Unclear }
    }
}

/// A name with a dot or a slash, or of something that is there; kinds have neither.
fn is_file(written: &str) -> bool {
    let kind = written.split(':').next().unwrap_or(written);
    kind.contains(['.', '/']) || Path::new(written).exists()
}

fn generated(written: &str) -> anyhow::Result<Topology> {
    let (kind, parameters) = written.split_once(':').unwrap_or((written, ""));
    let mut values = Parameters::parse(written, parameters)?;
    let paper = FabricParameters::PAPER;
    let built = match kind {
        "facebook-fabric" => {
            let fabric = FabricParameters {
                pods: values.number("pods", paper.pods)?,
                tors_per_pod: values.number("tors", paper.tors_per_pod)?,
                fabric_switches_per_pod: values.number("fabric-switches", paper.fabric_switches_per_pod)?,
                spines_per_plane: values.number("spines", paper.spines_per_plane)?,
                bits_per_second: values.speed()?,
            };
            values.finish()?;
            fabric.build()
        }
        "fat-tree" => {
            let (k, speed) = (values.number("k", 48)?, values.speed()?);
            values.finish()?;
            fat_tree(k, speed)
        }
        "leaf-spine" => {
            let (leaves, spines) = (values.number("leaves", 64)?, values.number("spines", 16)?);
            let speed = values.speed()?;
            values.finish()?;
            leaf_spine(leaves, spines, speed)
        }
        _ => {
            let message =
                format!("there is no topology `{kind}`\nhint: facebook-fabric, fat-tree or leaf-spine");
            return Err(UsageError(message).into());
        }
    };
    Ok(built.map_err(|error| UsageError(format!("topology {written}: {error}")))?)
}

/// `name=value` pairs of a topology, taken one by one; what is left over is unknown.
struct Parameters<'a> {
    written: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    fn parse(written: &'a str, parameters: &'a str) -> anyhow::Result<Parameters<'a>> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for pair in parameters.split(',').filter(|pair| !pair.is_empty()) {
            let pair = pair.split_once('=').ok_or_else(|| {
                UsageError(format!("topology {written}: `{pair}` is not written NAME=VALUE"))
            })?;
            if let Some((name, first)) = pairs.iter().find(|(name, _)| *name == pair.0) {
                let message = format!(
                    "topology {written}: `{name}` is given twice, as {first} and as {}\nhint: leave one of them out",
                    pair.1
                );
                return Err(UsageError(message).into());
            }
            pairs.push(pair);
        }
        Ok(Parameters { written, pairs, known: Vec::new() })
    }

    fn take(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let place = self.pairs.iter().position(|(other, _)| *other == name)?;
        Some(self.pairs.remove(place).1)
    }

    fn number(&mut self, name: &'static str, otherwise: u32) -> anyhow::Result<u32> {
        let Some(value) = self.take(name) else { return Ok(otherwise) };
        let error = || UsageError(format!("topology {}: {name}={value} is not a number", self.written));
        Ok(value.parse().map_err(|_| error())?)
    }

    fn speed(&mut self) -> anyhow::Result<u64> {
        let Some(value) = self.take("speed") else { return Ok(FabricParameters::PAPER.bits_per_second) };
        let rate: BitRate = value
            .parse()
            .map_err(|error| UsageError(format!("topology {}: speed={value}: {error}", self.written)))?;
        Ok(rate.0)
    }

    fn finish(&self) -> anyhow::Result<()> {
        match self.pairs.first() {
            None => Ok(()),
            Some((name, _)) => {
                let known = self.known.join(", ");
                let message =
                    format!("topology {}: there is no parameter `{name}`\nhint: {known}", self.written);
                Err(UsageError(message)).context("wrong topology")
            }
        }
    }
}
