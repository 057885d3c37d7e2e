//! What a file says of a network before layers are known, and the network that this makes.

use super::draft::{Draft, DraftSwitch, Location, counted, some_of};
use super::infer::{self, Basis, Hints, Inferred, Place};
use super::loaded::{Outside, Understood};
use super::rules::Rules;
use super::{HostLink, Loaded, Place as FilePlace, TopologyFault, TopologyFileError, TopologyFileOptions};
use crate::SwitchId;
use linkmend_quantity::{BitRate, Distance};
use std::collections::BTreeMap;

/// A node of a file.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub hints: Hints,
    pub line: u32,
    pub pod: Option<String>,
    /// Whether it only joins others, and is left out with its links.
    pub is_bridge: bool,
}

/// A link between two nodes of a file.
#[derive(Debug)]
pub(super) struct Wire {
    /// Places of its ends in the list of nodes.
    pub ends: [usize; 2],
    /// The names of the ports, as far as the file has them.
    pub ports: [Option<String>; 2],
    pub name: Option<String>,
    pub speed: Option<BitRate>,
    pub length: Option<Distance>,
    pub line: u32,
}

/// A network as one file describes it.
#[derive(Debug)]
pub(super) struct Sketch {
    pub file: String,
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
    pub warnings: Vec<String>,
    /// How a link of this format is given a speed.
    pub speed_hint: &'static str,
}

impl Sketch {
    /// The layered network. Rules of the options come before everything that the file says.
    pub fn build(mut self, options: &TopologyFileOptions) -> Result<Loaded, TopologyFileError> {
        let rules = options.layers.as_ref().map(Rules::of_option).transpose()?;
        let hints: Vec<Hints> = self.nodes.iter().map(|node| node.hints(rules.as_ref())).collect();
        let is_node = |wire: &&Wire| wire.ends.iter().all(|&end| !self.nodes[end].is_bridge);
        let links: Vec<[usize; 2]> = self.wires.iter().filter(is_node).map(|wire| wire.ends).collect();
        if self.nodes.is_empty() {
            return Err(TopologyFault::Empty.at(&self.file, None));
        }
        self.check_names()?;
        if rules.is_some() && hints.iter().all(|hints| hints.layer.is_none()) {
            let reason = "no rule matches the name of a node".to_owned();
            return Err(TopologyFault::AmbiguousLayers { reason }.at(&self.file, None));
        }
        let Inferred { mut places, top_guess } =
            infer::infer(&hints, &links).map_err(|fault| fault.at(&self.file, None))?;
        for (node, place) in self.nodes.iter().zip(&mut places) {
            if rules.is_some() && !node.hints.is_host && *place == Place::Host {
                *place = Place::Outside { reason: "no rule says its layer".to_owned() };
            }
        }
        let mut understood = Understood { top_guess, ..Understood::default() };
        self.warn(&places, rules.is_some());
        let mut draft = Draft::default();
        let file = draft.file(self.file.clone());
        let switches = self.add_switches(&mut draft, &places, &mut understood)?;
        let mut assumed = 0;
        for wire in self.wires {
            let location = Location { file, line: wire.line };
            let speed = wire.speed.or(options.default_speed);
            match wire.ends.map(|end| switches[end]) {
                [Some(one), Some(other)] => {
                    assumed += usize::from(wire.speed.is_none());
                    let ends = [one, other];
                    let Some(speed) = speed else {
                        let link = wire.name.unwrap_or_else(|| ends.map(|end| draft.name(end)).join("--"));
                        let fault = TopologyFault::NoSpeed { link, how: self.speed_hint };
                        return Err(draft.refuse(location, fault));
                    };
                    draft.link(ends, wire.name, speed, wire.length, location)?;
                    draft.ports(wire.ports.map(Option::unwrap_or_default));
                }
                [None, None] => {}
                ends => {
                    let at = usize::from(ends[0].is_none());
                    let far = wire.ends[1 - at];
                    if self.nodes[far].is_bridge || places[far] != Place::Host {
                        continue;
                    }
                    let [near_port, far_port] = wire.ports;
                    let port = if at == 0 { near_port } else { far_port };
                    let host = self.nodes[far].hints.name.clone();
                    if let Some(switch) = ends[at] {
                        let link = HostLink { host, switch, port, speed, length: wire.length };
                        draft.host_link(link, location)?;
                    }
                }
            }
        }
        understood.assumed_speeds = assumed;
        draft.finish_with(self.warnings, understood)
    }

    /// Adds the switches of the layers, and notes what is in doubt. Returns the switch that each node is.
    fn add_switches(
        &self,
        draft: &mut Draft,
        places: &[Place],
        understood: &mut Understood,
    ) -> Result<Vec<Option<SwitchId>>, TopologyFileError> {
        let mut switches = vec![None; self.nodes.len()];
        for (number, (node, place)) in self.nodes.iter().zip(places).enumerate() {
            let location = Location { file: 0, line: node.line };
            let name = node.hints.name.clone();
            match place {
                Place::Layer { layer, basis, reason } => {
                    let pod = node.pod.clone();
                    let switch =
                        draft.switch(DraftSwitch { name, layer: *layer, pod, pipes: None, location })?;
                    switches[number] = Some(switch);
                    understood.reasons.insert(switch, (*basis, reason.clone()));
                    if *basis == Basis::Guessed {
                        let text = format!("{}: layer {layer} is a guess: {reason}", node.hints.name);
                        understood.doubt(&self.file, node.line, text);
                    }
                }
                Place::Outside { reason } => {
                    let text = format!("{name} is left out of the layers, with its links: {reason}");
                    understood.doubt(&self.file, node.line, text);
                    understood.outside.push(Outside { name, reason: reason.clone() });
                }
                Place::Host => {}
            }
        }
        Ok(switches)
    }

    fn check_names(&self) -> Result<(), TopologyFileError> {
        let mut first_of = BTreeMap::new();
        for Node { hints, line, .. } in &self.nodes {
            if let Some(first) = first_of.insert(&hints.name, *line) {
                let first = FilePlace { file: self.file.clone(), line: Some(first) };
                let fault = TopologyFault::DuplicateSwitch { name: hints.name.clone(), first };
                return Err(fault.at(&self.file, *line));
            }
        }
        Ok(())
    }

    fn warn(&mut self, places: &[Place], by_rules: bool) {
        let hosts: Vec<String> = self
            .nodes
            .iter()
            .zip(places)
            .filter(|(node, place)| node.is_bridge || **place == Place::Host)
            .map(|(node, _)| node.hints.name.clone())
            .collect();
        if !hosts.is_empty() {
            let told = self.nodes.iter().any(|node| node.hints.layer.is_some());
            let why = match (by_rules, told) {
                (true, _) => "for which there is no rule",
                (false, true) => "without a label `linkmend.layer`",
                (false, false) => "of host kinds",
            };
            let count = counted(hosts.len(), "node", "nodes");
            self.warnings.push(format!("left out {count} {why}, with their links: {}", some_of(&hosts)));
        }
    }
}

impl Node {
    fn hints(&self, rules: Option<&Rules>) -> Hints {
        let mut hints = self.hints.clone();
        if let Some(rules) = rules {
            hints.layer = rules.layer(&hints.name);
        }
        if self.is_bridge {
            // No word in its name counts.
            hints = Hints { is_host: true, ..Hints::default() };
        }
        hints
    }
}
