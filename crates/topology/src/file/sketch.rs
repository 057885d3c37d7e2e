//! What a file says of a network before layers are known, and the network that this makes.

use super::draft::{Draft, DraftSwitch, Location, counted};
use super::infer::{self, Basis, Hints, Inferred, Place};
use super::loaded::{Outside, Understood};
use super::rules::Rules;
use super::some_of::some_of;
use super::{
    HostLink, Loaded, Place as FilePlace, PortCable, TopologyFault, TopologyFileError, TopologyFileOptions,
};
use crate::SwitchId;
use linkmend_quantity::{BitRate, Distance};
use std::collections::BTreeMap;

/// A node of a file.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub hints: Hints,
    pub at: Location,
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
    pub at: Location,
}

/// A network as files describe it.
#[derive(Debug, Default)]
pub(super) struct Sketch {
    /// The files, to which locations refer by number. A fault of the whole network is one of the first.
    pub files: Vec<String>,
    pub nodes: Vec<Node>,
    pub wires: Vec<Wire>,
    pub warnings: Vec<String>,
    /// What the reader left out or decided.
    pub doubts: Vec<(Location, String)>,
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
            return Err(TopologyFault::Empty.at(&self.files[0], None));
        }
        self.check_names()?;
        if rules.is_some() && hints.iter().all(|hints| hints.layer.is_none()) {
            let reason = "no rule matches the name of a node".to_owned();
            return Err(TopologyFault::AmbiguousLayers { reason }.at(&self.files[0], None));
        }
        let Inferred { mut places, top_guess } =
            infer::infer(&hints, &links).map_err(|fault| fault.at(&self.files[0], None))?;
        for (node, place) in self.nodes.iter().zip(&mut places) {
            if rules.is_some() && !node.hints.is_host && *place == Place::Host {
                *place = Place::Outside { reason: "no rule gives its layer".to_owned() };
            }
        }
        let mut understood = Understood { top_guess, ..Understood::default() };
        self.warn(&places, rules.is_some());
        let mut draft = Draft::default();
        for file in &self.files {
            draft.file(file.clone());
        }
        for (at, text) in std::mem::take(&mut self.doubts) {
            understood.doubt(&self.files[at.file as usize], at.line, text);
        }
        let switches = self.add_switches(&mut draft, &places, &mut understood)?;
        let warnings = std::mem::take(&mut self.warnings);
        self.add_wires(&mut draft, &places, &switches, options, &mut understood)?;
        draft.finish_with(warnings, understood)
    }

    /// Adds links between switches, and those of hosts.
    fn add_wires(
        self,
        draft: &mut Draft,
        places: &[Place],
        switches: &[Option<SwitchId>],
        options: &TopologyFileOptions,
        understood: &mut Understood,
    ) -> Result<(), TopologyFileError> {
        for wire in self.wires {
            let location = wire.at;
            let speed = wire.speed.or(options.default_speed);
            match wire.ends.map(|end| switches[end]) {
                [Some(one), Some(other)] if one == other => {
                    let name = draft.name(one);
                    let text = format!("a cable from {name} to itself is left out, because it is on no path");
                    understood.doubt(&self.files[location.file as usize], location.line, text);
                }
                [Some(one), Some(other)] => {
                    understood.assumed_speeds += usize::from(wire.speed.is_none());
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
        Ok(())
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
            let location = node.at;
            let file = &self.files[location.file as usize];
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
                        understood.doubt(file, location.line, text);
                    }
                }
                Place::Outside { reason } => {
                    let text = format!("{name} is left out of the layers, with its links: {reason}");
                    understood.doubt(file, location.line, text);
                    understood.outside.push(Outside { name, reason: reason.clone() });
                }
                Place::Host => {}
            }
        }
        Ok(switches)
    }

    fn refuse(&self, Location { file, line }: Location, fault: TopologyFault) -> TopologyFileError {
        fault.at(&self.files[file as usize], (line > 0).then_some(line))
    }

    /// The cables whose ports are named at both ends, whatever their ends are.
    pub fn cables(self) -> Vec<PortCable> {
        let mut cables = Vec::new();
        for Wire { ends, ports, .. } in self.wires {
            if let [Some(one), Some(other)] = ports
                && ends.iter().all(|&end| !self.nodes[end].is_bridge)
                && !one.is_empty()
                && !other.is_empty()
            {
                let name = |end: usize| self.nodes[end].hints.name.clone();
                cables.push([(name(ends[0]), one), (name(ends[1]), other)]);
            }
        }
        cables
    }

    fn check_names(&self) -> Result<(), TopologyFileError> {
        let mut first_of = BTreeMap::new();
        for Node { hints, at, .. } in &self.nodes {
            if let Some(first) = first_of.insert(&hints.name, *at) {
                let Location { file, line } = first;
                let file = self.files[file as usize].clone();
                let first = FilePlace { file, line: (line > 0).then_some(line) };
                let fault = TopologyFault::DuplicateSwitch { name: hints.name.clone(), first };
                return Err(self.refuse(*at, fault));
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
