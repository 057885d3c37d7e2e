//! Networks in one line: `fat-tree:k=8`, `dumbbell:hosts=4,speed=25G`.
//!
//! | kind | parameters, with their defaults |
//! | --- | --- |
//! | `facebook-fabric` | `pods=261,tors=48,fabric-switches=4,spines=48` (the paper's) |
//! | `fat-tree` | `k=48` |
//! | `leaf-spine` | `leaves=64,spines=16` |
//! | `line` | `switches=2`: a row of switches, hosts at both ends |
//! | `dumbbell` | a line of two switches |
//! | `star` | one switch |
//!
//! All take `speed=100G`. Those with hosts take `hosts`, of a ToR or of an end, and `host-speed`; where cables have a
//! length, `length=2m` and `host-length=2m`. The first three are layered networks, which [`layered`] builds without hosts.

use crate::graph::{self, Cable, Graph};
use crate::{FabricParameters, Topology, TopologyError, fat_tree, leaf_spine};
use linkmend_diagnose::{Diagnose, Fault};
use linkmend_quantity::{BitRate, Distance, QuantityError};
use std::path::Path;

/// Kinds with layers.
const LAYERED: &str = "facebook-fabric, fat-tree or leaf-spine";

/// The kinds of networks that a line can describe.
const KINDS: &str = "facebook-fabric, fat-tree, leaf-spine, line, dumbbell or star";

/// Why a line describes no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No such kind of network.
    #[error("there is no topology `{kind}`")]
    UnknownKind {
        /// What was written.
        kind: String,
        /// The kinds that there are.
        kinds: &'static str,
    },
    /// A network without layers where layers are needed.
    #[error("topology `{kind}` has no layers")]
    NoLayers { kind: String },
    /// A parameter that is not written as one.
    #[error("topology {spec}: `{pair}` does not have the form NAME=VALUE")]
    NoValue {
        /// The whole line.
        spec: String,
        /// What stands where a parameter would.
        pair: String,
    },
    /// A parameter that comes twice.
    #[error("topology {spec}: `{name}` is given twice, as {first} and as {second}")]
    Twice {
        /// The whole line.
        spec: String,
        name: String,
        /// Its first value.
        first: String,
        /// Its second value.
        second: String,
    },
    /// A parameter that this kind does not have.
    #[error("topology {spec}: there is no parameter `{name}`")]
    UnknownParameter {
        /// The whole line.
        spec: String,
        name: String,
        /// The parameters that there are.
        known: String,
    },
    /// A value that is no number.
    #[error("topology {spec}: {name}={value} is not a number")]
    NotANumber {
        /// The whole line.
        spec: String,
        name: &'static str,
        value: String,
    },
    /// A value that is no rate or no distance.
    #[error("topology {spec}: {name}={value}: {error}")]
    Quantity {
        /// The whole line.
        spec: String,
        name: &'static str,
        value: String,
        /// What is wrong with it.
        error: Box<QuantityError>,
    },
    /// A network that cannot be.
    #[error("topology {spec}: {error}")]
    Network {
        /// The whole line.
        spec: String,
        /// What is wrong with it.
        error: Box<TopologyError>,
    },
}

impl Diagnose for SpecError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            SpecError::UnknownKind { kinds, .. } => Some((*kinds).to_owned()),
            SpecError::NoLayers { .. } => Some(LAYERED.to_owned()),
            SpecError::Twice { .. } => Some("leave one of them out".to_owned()),
            SpecError::UnknownParameter { known, .. } => Some(known.clone()),
            _ => None,
        }
    }
}

/// Whether a name means a file and not a description in one line: it has a dot or a slash, or a file of that name
/// exists. Kinds of networks have neither.
pub fn names_file(written: &str) -> bool {
    let kind = written.split(':').next().unwrap_or(written);
    kind.contains(['.', '/']) || Path::new(written).exists()
}

/// Builds the layered network that a line describes.
///
/// # Errors
/// If the line is no description of a layered network.
pub fn layered(spec: &str) -> Result<Topology, SpecError> {
    let mut parameters = Parameters::parse(spec)?;
    let shape = Layered::take(&mut parameters)?.ok_or_else(|| match parameters.kind {
        "line" | "dumbbell" | "star" => SpecError::NoLayers { kind: parameters.kind.to_owned() },
        kind => SpecError::UnknownKind { kind: kind.to_owned(), kinds: LAYERED },
    })?;
    let speed = parameters.speed("speed", BitRate(FabricParameters::PAPER.bits_per_second))?;
    parameters.finish()?;
    shape.build(speed).map_err(|error| parameters.refuse(error))
}

/// Builds the network of hosts and switches that a line describes.
///
/// # Errors
/// If the line is no description of a network.
pub fn graph(spec: &str) -> Result<Graph, SpecError> {
    graph_with_speed(spec, Cable::DEFAULT.speed)
}

/// The same with links of another speed where the line says none.
///
/// # Errors
/// If the line is no description of a network.
pub fn graph_with_speed(spec: &str, speed: BitRate) -> Result<Graph, SpecError> {
    let mut parameters = Parameters::parse(spec)?;
    let layered = Layered::take(&mut parameters)?;
    let kind = parameters.kind;
    let switches = if kind == "line" { parameters.number("switches", 2)? } else { 2 };
    let hosts = match (layered, kind) {
        // Half of a fat tree's ToR ports lead to hosts.
        (Some(Layered::FatTree { k }), _) => parameters.number("hosts", k / 2)?,
        (Some(_), _) | (None, "line" | "dumbbell") => parameters.number("hosts", 1)?,
        (None, "star") => parameters.number("hosts", 4)?,
        (None, kind) => return Err(SpecError::UnknownKind { kind: kind.to_owned(), kinds: KINDS }),
    };
    let mut cable = Cable { speed, ..Cable::DEFAULT };
    if kind != "star" {
        cable.speed = parameters.speed("speed", cable.speed)?;
        cable.length = parameters.length("length", cable.length)?;
    }
    // A star has no other cables.
    let (host_speed, host_length) =
        if kind == "star" { ("speed", "length") } else { ("host-speed", "host-length") };
    let host_cable = Cable {
        speed: parameters.speed(host_speed, cable.speed)?,
        length: parameters.length(host_length, Cable::DEFAULT.length)?,
    };
    parameters.finish()?;
    let built = match (layered, kind) {
        (Some(shape), _) => shape
            .build(cable.speed)
            .and_then(|topology| Graph::with_hosts(&topology, hosts, host_cable, cable.length)),
        (None, "star") => graph::star(hosts, host_cable),
        (None, _) => graph::line(switches, hosts, cable, host_cable),
    };
    built.map_err(|error| parameters.refuse(error))
}

/// A layered network, except for its speed.
#[derive(Debug, Clone, Copy)]
enum Layered {
    Fabric(FabricParameters),
    FatTree { k: u32 },
    LeafSpine { leaves: u32, spines: u32 },
}

impl Layered {
    /// Takes the parameters of a layered kind; `None` if the kind is not layered.
    fn take(parameters: &mut Parameters<'_>) -> Result<Option<Layered>, SpecError> {
        let paper = FabricParameters::PAPER;
        Ok(Some(match parameters.kind {
            "facebook-fabric" => Layered::Fabric(FabricParameters {
                pods: parameters.number("pods", paper.pods)?,
                tors_per_pod: parameters.number("tors", paper.tors_per_pod)?,
                fabric_switches_per_pod: parameters
                    .number("fabric-switches", paper.fabric_switches_per_pod)?,
                spines_per_plane: parameters.number("spines", paper.spines_per_plane)?,
                bits_per_second: paper.bits_per_second,
            }),
            "fat-tree" => Layered::FatTree { k: parameters.number("k", 48)? },
            "leaf-spine" => Layered::LeafSpine {
                leaves: parameters.number("leaves", 64)?,
                spines: parameters.number("spines", 16)?,
            },
            _ => return Ok(None),
        }))
    }

    fn build(self, speed: BitRate) -> Result<Topology, TopologyError> {
        match self {
            Layered::Fabric(fabric) => FabricParameters { bits_per_second: speed.0, ..fabric }.build(),
            Layered::FatTree { k } => fat_tree(k, speed.0),
            Layered::LeafSpine { leaves, spines } => leaf_spine(leaves, spines, speed.0),
        }
    }
}

/// `name=value` pairs of a line, which are taken one by one. What is left over is unknown.
struct Parameters<'a> {
    spec: &'a str,
    kind: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    fn parse(spec: &'a str) -> Result<Parameters<'a>, SpecError> {
        let (kind, written) = spec.split_once(':').unwrap_or((spec, ""));
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for pair in written.split(',').filter(|pair| !pair.is_empty()) {
            let no_value = || SpecError::NoValue { spec: spec.to_owned(), pair: pair.to_owned() };
            let pair = pair.split_once('=').ok_or_else(no_value)?;
            if let Some((name, first)) = pairs.iter().find(|(name, _)| *name == pair.0) {
                let [spec, name, first, second] = [spec, name, first, pair.1].map(str::to_owned);
                return Err(SpecError::Twice { spec, name, first, second });
            }
            pairs.push(pair);
        }
        Ok(Parameters { spec, kind, pairs, known: Vec::new() })
    }

    fn take(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let place = self.pairs.iter().position(|(other, _)| *other == name)?;
        Some(self.pairs.remove(place).1)
    }

    fn number(&mut self, name: &'static str, otherwise: u32) -> Result<u32, SpecError> {
        let Some(value) = self.take(name) else { return Ok(otherwise) };
        let [spec, value] = [self.spec, value].map(str::to_owned);
        value.parse().map_err(|_| SpecError::NotANumber { spec, name, value })
    }

    fn speed(&mut self, name: &'static str, otherwise: BitRate) -> Result<BitRate, SpecError> {
        self.take(name).map_or(Ok(otherwise), |value| self.quantity(name, value))
    }

    fn length(&mut self, name: &'static str, otherwise: Distance) -> Result<Distance, SpecError> {
        self.take(name).map_or(Ok(otherwise), |value| self.quantity(name, value))
    }

    fn quantity<Q: std::str::FromStr<Err = QuantityError>>(
        &self,
        name: &'static str,
        value: &str,
    ) -> Result<Q, SpecError> {
        let [spec, written] = [self.spec, value].map(str::to_owned);
        value.parse().map_err(|error| SpecError::Quantity {
            spec,
            name,
            value: written,
            error: Box::new(error),
        })
    }

    fn finish(&self) -> Result<(), SpecError> {
        match self.pairs.first() {
            None => Ok(()),
            Some((name, _)) => Err(SpecError::UnknownParameter {
                spec: self.spec.to_owned(),
                name: (*name).to_owned(),
                known: self.known.join(", "),
            }),
        }
    }

    fn refuse(&self, error: TopologyError) -> SpecError {
        SpecError::Network { spec: self.spec.to_owned(), error: Box::new(error) }
    }
}
