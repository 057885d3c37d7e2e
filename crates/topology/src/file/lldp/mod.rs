//! LLDP neighbour dumps, one for each switch.
//!
//! - [`dump`] is what a dump says, in the two forms of [`forms`], and [`config_db`] what a CONFIG_DB adds;
//! - [`identity`] tells which names and chassis are one switch, [`pairing`] which views are of one link, and [`reader`]
//!   makes a network of both.

mod config_db;
mod dump;
mod forms;
mod identity;
mod pairing;
mod reader;

use super::rules::Rules;
use super::yaml::{self, Text};
use super::{
    FarPort, LayersOption, LldpNeighbour, Loaded, PortCable, TopologyFault, TopologyFileError,
    TopologyFileOptions,
};
use dump::{Dump, View};
use linkmend_quantity::BitRate;
use std::path::{Path, PathBuf};

/// The dumps of a directory, in order of their names, so that the same files always give the same network.
pub(super) fn dumps_in(directory: &Path) -> Result<Vec<PathBuf>, TopologyFileError> {
    let io = |source| TopologyFileError::Io { file: directory.display().to_string(), source };
    let mut dumps = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            dumps.push(path);
        }
    }
    dumps.sort();
    Ok(dumps)
}

/// What the dump of the switch called `own` says of its neighbours, in its order.
pub(super) fn neighbours(
    Text { file, text }: Text,
    own: &str,
) -> Result<Vec<LldpNeighbour>, TopologyFileError> {
    let dump = parse_dump(&text, &file)?;
    Ok(dump.views().into_iter().map(|view| neighbour(view, own)).collect())
}

/// SONiC describes a port by what is configured to be at the other end of its cable, as `SWITCH:PORT`. From a neighbour, that
/// is a port of this switch; if the switch is the neighbour itself, it is the neighbour's port.
fn neighbour(view: View, own: &str) -> LldpNeighbour {
    let View { port, neighbour, interface, alias, description, .. } = view;
    let of = |switch: &str| Some(description.as_deref()?.strip_prefix(switch)?.strip_prefix(':')?.to_owned());
    let faces = of(own);
    let named = interface.or_else(|| of(neighbour.as_deref()?));
    let plain = description.filter(|text| {
        let is_word = !text.contains(|c: char| c == ':' || c.is_whitespace());
        faces.is_none() && (is_word || alias.is_none())
    });
    let far_port = named.or(plain).map(FarPort::Name).or(alias.map(FarPort::Alias));
    LldpNeighbour { port, neighbour, far_port, faces }
}

/// Reads dumps, with the rules that the options name or else those in `directory`.
pub(super) fn read(
    directory: &Path,
    dumps: Vec<PathBuf>,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    if dumps.is_empty() {
        let reason = "there are no LLDP dumps (*.json) and no files of SONiC (config_db.json, minigraph.xml) in this directory";
        return Err(TopologyFault::form(reason).at(&directory.display().to_string(), None));
    }
    let rules = options.layers.clone().or(rules_beside(directory));
    let rules = rules.ok_or_else(|| TopologyFault::NoRules.at(&directory.display().to_string(), None))?;
    reader::Reader::read(dumps.iter().map(|path| yaml::read(path)), Rules::of_option(&rules)?, options)
}

/// The file of rules beside dumps.
fn rules_beside(directory: &Path) -> Option<LayersOption> {
    let beside = ["layers.yaml", "layers.yml"].map(|name| directory.join(name));
    beside.iter().find(|path| path.is_file()).map(|path| LayersOption::File(path.clone()))
}

/// The cables that dumps see. Rules beside them say which ports are left out.
pub(super) fn cables(directory: &Path, dumps: &[PathBuf]) -> Result<Vec<PortCable>, TopologyFileError> {
    let rules = rules_beside(directory).as_ref().map(Rules::of_option).transpose()?;
    let options = TopologyFileOptions { default_speed: Some(BitRate(1)), layers: None };
    reader::Reader::cables(dumps.iter().map(|path| yaml::read(path)), rules, &options)
}

/// Reads dumps with their rules.
pub(super) fn parse(
    dumps: impl Iterator<Item = Result<Text, TopologyFileError>>,
    rules: Text,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    reader::Reader::read(dumps, Rules::parse(&rules)?, options)
}

fn parse_dump(text: &str, file: &str) -> Result<Dump, TopologyFileError> {
    let dump: Dump = yaml::parse_foreign(text, file)?;
    if dump.is_dump() {
        return Ok(dump);
    }
    let reason = "this is not output of `lldpctl -f json`: it has neither `lldp` nor `local-chassis`";
    Err(TopologyFault::form(reason).at(file, None))
}
