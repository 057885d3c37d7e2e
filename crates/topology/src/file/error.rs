//! Why a topology file was refused, and where.

use crate::TopologyError;
use linkmend_diagnose::{Diagnose, Fault, ParameterError};
use std::fmt;

/// A line of a file, or the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the file.
    pub file: String,
    /// Number of the line, from 1; `None` if the fault is not in a line of its own.
    pub line: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Why a topology file was refused.
#[derive(Debug, thiserror::Error)]
pub enum TopologyFileError {
    /// A file could not be read.
    #[error("{file}: {source}")]
    Io {
        /// Path of the file.
        file: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file says something impossible.
    #[error("{place}: {fault}")]
    Refused {
        place: Place,
        /// What is wrong.
        fault: Box<TopologyFault>,
    },
}

impl Diagnose for TopologyFileError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            TopologyFileError::Refused { fault, .. } => fault.hint(),
            TopologyFileError::Io { .. } => None,
        }
    }
}

/// What is wrong with a topology file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopologyFault {
    /// Not of the expected form: bad YAML or JSON, an unknown or missing key, a value of another kind.
    #[error("{reason}")]
    Form {
        /// What is wrong.
        reason: String,
    },
    /// None of the formats.
    #[error("unknown format: this is {finding}; supported formats are\n{}", super::known_formats())]
    Unrecognised {
        /// What the file is instead.
        finding: String,
    },
    /// More than this reader takes.
    #[error("there are more than {most} {what}")]
    TooMany { what: &'static str, most: u64 },
    /// A network without switches.
    #[error("the network has no switches")]
    Empty,
    /// A lab of hosts alone.
    #[error(
        "all nodes are of kinds that are treated as hosts, such as linux, and no keyword identifies a leaf or spine"
    )]
    OnlyHosts,
    /// A network without ToRs.
    #[error("no switch has layer 0, the layer of the ToRs")]
    NoTors,
    /// A name that is empty.
    #[error("a {what} has an empty name")]
    EmptyName { what: &'static str },
    /// Two switches of one name.
    #[error("switch {name} is already defined at {first}")]
    DuplicateSwitch {
        name: String,
        /// Where it was defined first.
        first: Place,
    },
    /// A host that has the name of a switch.
    #[error("host {name} has the name of the switch at {switch}")]
    HostIsSwitch {
        name: String,
        /// Where the switch was defined.
        switch: Place,
    },
    /// Two links of one name.
    #[error("link {name} is already defined at {first}")]
    DuplicateLink {
        name: String,
        /// Where it was defined first.
        first: Place,
    },
    /// A link with the name of other links' ends.
    #[error("the name of link {name} also means {means}")]
    NameOfEnds {
        name: String,
        /// Ends of these links, as text.
        means: String,
    },
    /// A link with an end that is no switch of the file.
    #[error("link {link} ends at {switch}, which is not defined")]
    UnknownSwitch {
        link: String,
        /// The unknown switch.
        switch: String,
    },
    /// A link with both ends on one switch.
    #[error("link {link} connects {switch} to itself")]
    SelfLink { link: String, switch: String },
    /// A number that is too small or too large.
    #[error("{} of {of} is {}; it {}", .error.parameter, .error.value, .error.requirement)]
    OutOfRange {
        /// Which switch or link has it.
        of: String,
        /// Which number, and what is required of it.
        error: ParameterError,
    },
    /// A link whose speed nobody says.
    #[error("link {link} has no speed")]
    NoSpeed {
        link: String,
        /// How a link of this format is given a speed.
        how: &'static str,
    },
    /// A switch whose layer nobody says.
    #[error("{switch} has no layer")]
    NoLayer {
        switch: String,
        /// How a switch of this format is given a layer.
        how: &'static str,
    },
    /// Layers that do not follow from names.
    #[error("cannot determine the layers: {reason}")]
    AmbiguousLayers {
        /// What speaks against it.
        reason: String,
    },
    /// A top layer that nothing says for sure.
    #[error("the top layer is a guess: {reason}")]
    GuessedTop {
        /// Why it is one.
        reason: String,
        /// The option that says the layers as they were guessed.
        layers: String,
    },
    /// LLDP dumps without rules that say which switch is of which layer.
    #[error("the layers of the switches are unknown")]
    NoRules,
    /// A port with two links.
    #[error("{switch} port {port} leads to {one} and to {other}")]
    TwoNeighbours { switch: String, port: String, one: String, other: String },
    /// A port with two cables.
    #[error("{port} is connected to {other}, but at {first} to {one}")]
    PortTwice {
        /// Switch and port.
        port: String,
        one: String,
        /// Where the first cable is.
        first: Place,
        other: String,
    },
    /// A link that one of two dumps sees and the other does not.
    #[error("{port} sees {sees}, but {far}, which also has a dump, does not see it on any remaining \
     port{}", .instead)]
    OneSided {
        /// The port whose neighbour does not see it.
        port: String,
        /// What it sees there.
        sees: String,
        /// The switch at the other end, which does not see the port.
        far: String,
        /// What a port of the neighbour sees instead, as the rest of the sentence; empty if there is none.
        instead: String,
    },
    /// A name that several switches may have.
    #[error("`{name}` is ambiguous: it may be {}", .candidates.join(", "))]
    SeveralSwitches { name: String, candidates: Vec<String> },
    /// Switches and links that are no layered network.
    #[error(transparent)]
    Network(#[from] TopologyError),
}

impl TopologyFault {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            TopologyFault::OnlyHosts | TopologyFault::AmbiguousLayers { .. } => {
                "specify the layers by name, like `--layers 'leaf*=0,spine*=1'`, or with the label `linkmend.layer`"
            }
            TopologyFault::GuessedTop { layers, .. } => {
                return Some(format!("if it is right, confirm it: --layers '{layers}'"));
            }
            TopologyFault::NoSpeed { how, .. } => {
                return Some(format!("give it {how}, or give a default speed"));
            }
            TopologyFault::NoLayer { how, .. } => how,
            TopologyFault::NoRules => {
                "specify them by name, like `--layers 'tor*=0,spine*=1'`, or with rules like `layers: \
                 [{match: \"tor*\", layer: 0}]` in \
                 layers.yaml beside the dumps"
            }
            TopologyFault::OneSided { .. } => {
                "regenerate both dumps, or list the port in `ignore_ports` if it is not part of the fabric"
            }
            TopologyFault::SeveralSwitches { .. } => {
                "name the dumps by full host names, or add the output of `lldpcli -f json show chassis` to them"
            }
            TopologyFault::NameOfEnds { .. } => {
                "give the link a different `name`, or none, so that it is identified by its switches and ports"
            }
            TopologyFault::TwoNeighbours { .. } => "if it is a management port, add it to `ignore_ports`",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// A number of a switch or link that is out of its range; `requirement` begins with `must`.
    pub(super) fn out_of_range(
        of: String,
        name: &'static str,
        value: impl fmt::Display,
        requirement: &str,
    ) -> TopologyFault {
        TopologyFault::OutOfRange { of, error: ParameterError::new(name, value, requirement) }
    }

    pub(super) fn form(reason: impl Into<String>) -> TopologyFault {
        TopologyFault::Form { reason: reason.into() }
    }

    /// In a file, at a line where there is one.
    pub(super) fn at(self, file: &str, line: impl Into<Option<u32>>) -> TopologyFileError {
        TopologyFileError::Refused {
            place: Place { file: file.to_owned(), line: line.into() },
            fault: Box::new(self),
        }
    }
}
