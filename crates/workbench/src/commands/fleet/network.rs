//! The network: generated from a name and parameters, or the operator's own from a file.

use clap::Args;
use linkmend::failure::{Error, Result, UsageError};
use linkmend_fleet::FileKind;
use linkmend_quantity::BitRate;
use linkmend_topology::file::{
    Doubt, LayersOption, Loaded, NamedCable, Place, TopologyFileOptions, read_topology,
};
use linkmend_topology::spec::{self, names_file};
use linkmend_topology::{FabricParameters, SwitchId, Topology};
use std::collections::BTreeSet;
use std::path::Path;

/// Speed of links for which neither their file nor an option has one.
const DEFAULT_SPEED: BitRate = BitRate(100_000_000_000);

/// Arguments that describe the network.
#[derive(Debug, Args)]
pub struct NetworkArgs {
    /// Network: a kind with parameters, or a file
    ///
    /// facebook-fabric[:pods=261,tors=48,fabric-switches=4,spines=48,speed=100G]
    /// fat-tree[:k=48,speed=100G]
    /// leaf-spine[:leaves=64,spines=16,speed=100G]
    /// or a file or directory in one of the formats that `fleet show --help` lists.
    /// These values are the defaults. Those of facebook-fabric describe the paper's network
    /// of 100,224 links.
    #[arg(long, value_name = "KIND[:NAME=VALUE,...]|FILE", verbatim_doc_comment)]
    topology: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// What a file leaves open.
#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// Speed of links without a speed in the file [default: 100G]
    #[arg(long, value_name = "RATE")]
    default_speed: Option<BitRate>,
    /// Layer of each switch (0: the ToRs), overriding the file: patterns, like `leaf*=0,spine*=1`, or a file of rules
    /// [default: from the network file; for LLDP dumps, from layers.yaml beside them]
    #[arg(long, value_name = "PATTERN=LAYER,...|FILE")]
    layers: Option<LayersOption>,
}

impl NetworkArgs {
    /// Builds the network that was described, or `alternative` if none was.
    pub fn build(&self, alternative: FabricParameters) -> Result<Topology> {
        Ok(self.build_described(alternative)?.topology)
    }

    /// The same with what a file says besides.
    pub fn build_described(&self, alternative: FabricParameters) -> Result<Described> {
        let generated = |topology| Described { topology, cables: Vec::new(), line: None };
        match (self.file(), &self.topology) {
            (Some(path), _) => {
                let loaded = self.reading.read_certain(path)?;
                let line = Some(self.reading.line(&loaded, path));
                Ok(Described { topology: loaded.topology, cables: loaded.cables, line })
            }
            (None, written) => {
                if self.reading.layers.is_some() {
                    let text = "--layers requires a network file in --topology";
                    return Err(UsageError::new(text).into());
                }
                match written {
                    Some(written) => Ok(generated(spec::layered(written)?)),
                    None => Ok(generated(alternative.build()?)),
                }
            }
        }
    }

    /// The file that the network is read from, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.topology.as_deref().filter(|written| names_file(written)).map(Path::new)
    }
}

/// A network, and what its file says besides.
pub struct Described {
    pub topology: Topology,
    /// Ports of links, as far as the file names them.
    pub cables: Vec<NamedCable>,
    /// What was understood of the file, in one line.
    pub line: Option<String>,
}

impl ReadingArgs {
    /// Reads a network, whether or not its layers are certain.
    pub fn read(&self, path: &Path) -> Result<Loaded> {
        let default_speed = Some(self.default_speed.unwrap_or(DEFAULT_SPEED));
        let options = TopologyFileOptions { default_speed, layers: self.layers.clone() };
        let mut loaded = read_topology(path, &options).map_err(|error| match FileKind::detect(path) {
            FileKind::List => {
                let hint = "this is a list of links or events, but --topology takes a network; `linkmend \
                 fleet show --help` lists the formats";
                UsageError::hinted(error.to_string(), hint.to_owned()).into()
            }
            _ => Error::from(error),
        })?;
        let assumed = loaded.understood.assumed_speeds as u64;
        if assumed > 0 && self.default_speed.is_none() {
            let text = format!(
                "{} no speed, and {} assumed to run at {DEFAULT_SPEED}; --default-speed changes this",
                counted(assumed, "link has", "links have"),
                if assumed == 1 { "is" } else { "are" }
            );
            loaded.understood.doubts.push(Doubt { place: whole(path), text });
        }
        Ok(loaded)
    }

    /// Reads a network of which something is to be decided: its top layer must not be a guess.
    fn read_certain(&self, path: &Path) -> Result<Loaded> {
        let loaded = self.read(path)?;
        loaded.require_known_top(&path.display().to_string())?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        Ok(loaded)
    }

    /// What was understood of a network, in one line.
    pub fn line(&self, loaded: &Loaded, path: &Path) -> String {
        let topology = &loaded.topology;
        let in_layer = |layer: usize| {
            let of_layer = |switch: &SwitchId| usize::from(topology.switch(*switch).layer) == layer;
            topology.switches().filter(of_layer).count() as u64
        };
        let mut layers: Vec<String> =
            (1..topology.layer_count()).map(|layer| in_layer(layer).to_string()).collect();
        if let Some(top) = layers.last_mut() {
            *top += if top == "1" { " switch" } else { " switches" };
        }
        let peers = topology.links().filter(|&link| topology.is_peer(link)).count() as u64;
        let links = topology.link_count() as u64 - peers;
        let hosts: BTreeSet<&str> = loaded.host_links.iter().map(|link| link.host.as_str()).collect();
        let doubts = loaded.understood.doubts.len() as u64;
        let see = match doubts {
            0 => String::new(),
            _ => format!("; {} (linkmend fleet show {})", counted(doubts, "doubt", "doubts"), path.display()),
        };
        format!(
            "{}: {} below {}, {} up, {} between peers, {}{see}",
            path.display(),
            counted(in_layer(0), "ToR", "ToRs"),
            layers.join(" and "),
            counted(links, "link", "links"),
            peers,
            counted(hosts.len() as u64, "host", "hosts"),
        )
    }
}

fn whole(path: &Path) -> Place {
    Place { file: path.display().to_string(), line: None }
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
