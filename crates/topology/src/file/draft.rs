//! The common part of all formats: named switches and links with the lines that they come from, checked and built.

use super::some_of::some_of;
use super::{
    HostLink, Loaded, MAX_HOST_LINKS, MAX_LAYER, MAX_LINKS, MAX_PIPES, MAX_SPEED, MAX_SWITCHES, NamedCable,
    Place, PortCable, TopologyFault, TopologyFileError, Understood, link_names,
};
use crate::layered::PortNames;
use crate::link_name::BETWEEN;
use crate::{LinkId, Names, SwitchId, Topology, TopologyBuilder, TopologyError};
use linkmend_diagnose::printable;
use linkmend_quantity::{BitRate, Distance};
use std::collections::{BTreeMap, BTreeSet};

/// How many pod labels a zone's name lists before it counts the others.
const LABELS_IN_A_NAME: usize = 4;

/// A line of one of a draft's files; line 0 is the file as a whole.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub file: u32,
    pub line: u32,
}

/// A switch as a file describes it.
#[derive(Debug)]
pub(super) struct DraftSwitch {
    pub name: String,
    pub layer: u64,
    pub pod: Option<String>,
    pub pipes: Option<u64>,
    pub location: Location,
}

#[derive(Debug)]
struct DraftLink {
    ends: [SwitchId; 2],
    speed: u64,
    length: Option<Distance>,
    location: Location,
}

/// A network that is being read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    files: Vec<String>,
    layers: Vec<u8>,
    pipes: Vec<Option<u32>>,
    pods: Vec<Option<String>>,
    switch_locations: Vec<Location>,
    switch_names: Vec<String>,
    by_name: BTreeMap<String, SwitchId>,
    links: Vec<DraftLink>,
    /// Empty for links without a name of their own, which are named after their ends once all are known.
    link_names: Vec<String>,
    host_links: Vec<(HostLink, Location)>,
    cables: Vec<NamedCable>,
    ports: PortNames,
}

impl Draft {
    /// Adds a file; locations refer to it by the number that this returns.
    pub fn file(&mut self, file: String) -> u32 {
        self.files.push(file);
        self.files.len() as u32 - 1
    }

    fn place(&self, location: Location) -> Place {
        Place {
            file: self.files[location.file as usize].clone(),
            line: (location.line > 0).then_some(location.line),
        }
    }

    pub fn refuse(&self, location: Location, fault: impl Into<TopologyFault>) -> TopologyFileError {
        TopologyFileError::Refused { place: self.place(location), fault: Box::new(fault.into()) }
    }

    /// The switch with this name.
    pub fn find(&self, name: &str) -> Option<SwitchId> {
        self.by_name.get(printable(name).as_ref()).copied()
    }

    pub fn name(&self, switch: SwitchId) -> &str {
        &self.switch_names[switch.index()]
    }

    pub fn layer(&self, switch: SwitchId) -> u8 {
        self.layers[switch.index()]
    }

    /// Adds a switch.
    pub fn switch(&mut self, switch: DraftSwitch) -> Result<SwitchId, TopologyFileError> {
        let DraftSwitch { name, layer, pod, pipes, location } = switch;
        let (name, pod) = (printable(&name).into_owned(), pod.map(|pod| printable(&pod).into_owned()));
        if self.layers.len() as u64 == MAX_SWITCHES {
            let too_many = TopologyFault::TooMany { what: "switches", most: MAX_SWITCHES };
            return Err(self.refuse(location, too_many));
        }
        if name.is_empty() {
            return Err(self.refuse(location, TopologyFault::EmptyName { what: "switch" }));
        }
        if let Some(first) = self.by_name.get(&name) {
            let first = self.place(self.switch_locations[first.index()]);
            return Err(self.refuse(location, TopologyFault::DuplicateSwitch { name, first }));
        }
        if layer > u64::from(MAX_LAYER) {
            let fault = TopologyFault::out_of_range(name, "layer", layer, "must be from 0, the ToRs, to 31");
            return Err(self.refuse(location, fault));
        }
        if let Some(pipes) = pipes.filter(|&pipes| pipes == 0 || pipes > u64::from(MAX_PIPES)) {
            let fault = TopologyFault::out_of_range(name, "pipes", pipes, "must be from 1 to 256");
            return Err(self.refuse(location, fault));
        }
        let id = SwitchId(self.layers.len() as u32);
        self.by_name.insert(name.clone(), id);
        self.switch_names.push(name);
        self.layers.push(layer as u8);
        self.pods.push(pod.filter(|pod| !pod.is_empty()));
        self.pipes.push(pipes.map(|pipes| pipes as u32));
        self.switch_locations.push(location);
        Ok(id)
    }

    /// Adds a link. A link without a name is named after its ends and ports: see [`super::link_names`].
    pub fn link(
        &mut self,
        ends: [SwitchId; 2],
        name: Option<String>,
        speed: BitRate,
        length: Option<Distance>,
        location: Location,
    ) -> Result<(), TopologyFileError> {
        let given = name.map(|name| printable(&name).into_owned());
        let by_ends = || ends.map(|end| self.name(end)).join(BETWEEN);
        let name = given.clone().unwrap_or_else(by_ends);
        if self.links.len() as u64 == MAX_LINKS {
            return Err(self.refuse(location, TopologyFault::TooMany { what: "links", most: MAX_LINKS }));
        }
        if name.is_empty() {
            return Err(self.refuse(location, TopologyFault::EmptyName { what: "link" }));
        }
        if ends[0] == ends[1] {
            let switch = self.switch_names[ends[0].index()].clone();
            return Err(self.refuse(location, TopologyFault::SelfLink { link: name, switch }));
        }
        self.check_speed(&name, speed, location)?;
        self.link_names.push(given.unwrap_or_default());
        self.links.push(DraftLink { ends, speed: speed.0, length, location });
        Ok(())
    }

    /// Says which ports the link has that was added last, in the order of its ends. An empty one is not known; a cable has
    /// both.
    pub fn ports(&mut self, ports: [String; 2]) {
        let Some(ends) = self.links.last().map(|link| link.ends) else { return };
        let link = LinkId(self.links.len() as u32 - 1);
        let mut shown =
            ports.each_ref().map(|port| (!port.is_empty()).then(|| printable(port).into_owned().into()));
        if shown.iter().any(Option::is_some) {
            if self.layer(ends[0]) > self.layer(ends[1]) {
                shown.reverse();
            }
            self.ports.push(link, shown);
        }
        if ports.iter().all(|port| !port.is_empty()) {
            let [one, other] = ports;
            self.cables.push(NamedCable { link, ends: [(ends[0], one), (ends[1], other)] });
        }
    }

    /// Adds a link of a host.
    pub fn host_link(&mut self, link: HostLink, location: Location) -> Result<(), TopologyFileError> {
        if self.host_links.len() as u64 == MAX_HOST_LINKS {
            let too_many = TopologyFault::TooMany { what: "links of hosts", most: MAX_HOST_LINKS };
            return Err(self.refuse(location, too_many));
        }
        if link.host.is_empty() {
            return Err(self.refuse(location, TopologyFault::EmptyName { what: "host" }));
        }
        if let Some(speed) = link.speed {
            self.check_speed(&link.host, speed, location)?;
        }
        self.host_links.push((link, location));
        Ok(())
    }

    fn check_speed(&self, of: &str, speed: BitRate, location: Location) -> Result<(), TopologyFileError> {
        if speed.0 == 0 || speed.0 > MAX_SPEED.0 {
            let fault = TopologyFault::out_of_range(
                of.to_owned(),
                "speed",
                speed,
                "must be above 0 and at most 1600G",
            );
            return Err(self.refuse(location, fault));
        }
        Ok(())
    }

    /// No host may have the name of a switch, wherever in the files it comes.
    fn check_host_names(&self) -> Result<(), TopologyFileError> {
        for (link, location) in &self.host_links {
            if let Some(switch) = self.find(&link.host) {
                let switch = self.place(self.switch_locations[switch.index()]);
                let fault = TopologyFault::HostIsSwitch { name: link.host.clone(), switch };
                return Err(self.refuse(*location, fault));
            }
        }
        Ok(())
    }

    /// The cables whose ports are named, with the names of the switches.
    pub fn into_cables(self) -> Vec<PortCable> {
        let named = |(switch, port): (SwitchId, String)| (self.switch_names[switch.index()].clone(), port);
        self.cables.into_iter().map(|cable| cable.ends.map(named)).collect()
    }

    /// Checks and builds a network whose layers were told. Adds to `warnings` what is unusual but allowed.
    pub fn finish(self, warnings: Vec<String>) -> Result<Loaded, TopologyFileError> {
        self.finish_with(warnings, Understood::default())
    }

    /// Checks and builds the network.
    pub fn finish_with(
        mut self,
        mut warnings: Vec<String>,
        mut understood: Understood,
    ) -> Result<Loaded, TopologyFileError> {
        let whole = Location { file: 0, line: 0 };
        if self.layers.is_empty() {
            return Err(self.refuse(whole, TopologyFault::Empty));
        }
        if !self.layers.contains(&0) {
            return Err(self.refuse(whole, TopologyFault::NoTors));
        }
        self.check_host_names()?;
        let mut builder = TopologyBuilder::with_capacity(self.links.len());
        for (&layer, &pipes) in self.layers.iter().zip(&self.pipes) {
            builder.switch(layer, pipes);
        }
        for link in &self.links {
            builder.link(link.ends[0], link.ends[1], link.speed);
        }
        let names = Names::Given {
            switches: std::mem::take(&mut self.switch_names),
            links: std::mem::take(&mut self.link_names),
            zones: Vec::new(),
        };
        let mut topology =
            builder.build(names).map_err(|error| self.refuse(self.location_of(&error), error))?;
        topology.ports = std::mem::take(&mut self.ports);
        link_names::derive(&mut topology, |link| self.links[link.index()].ends[0]);
        self.check_link_names(&topology)?;
        let named = self.zone_names(&topology);
        if let Names::Given { zones, .. } = &mut topology.names {
            *zones = named;
        }
        warn_of_dead_ends(&topology, &mut warnings);
        for switch in unreached(&topology) {
            let Place { file, line } = self.place(self.switch_locations[switch.index()]);
            let text = format!("no ToR has a path to {}", topology.names.switch(switch));
            understood.doubt(&file, line.unwrap_or(0), text);
        }
        let lengths = self.links.iter().map(|link| link.length).collect();
        let host_links = self.host_links.into_iter().map(|(link, _)| link).collect();
        Ok(Loaded { topology, host_links, lengths, cables: self.cables, warnings, understood })
    }

    /// Each name must mean one link, because tables and lists of corrupting links use them.
    fn check_link_names(&self, topology: &Topology) -> Result<(), TopologyFileError> {
        let location = |link: LinkId| self.links[link.index()].location;
        if let Some([link, first]) = link_names::twice(topology) {
            let (name, first) = (topology.names().link(link), self.place(location(first)));
            return Err(self.refuse(location(link), TopologyFault::DuplicateLink { name, first }));
        }
        match link_names::misleading(topology) {
            Some((link, fault)) => Err(self.refuse(location(link), fault)),
            None => Ok(()),
        }
    }

    /// The line that an error of the builder is about.
    fn location_of(&self, error: &TopologyError) -> Location {
        let switch = match error {
            TopologyError::NoPath { tor, .. } | TopologyError::TooManyPaths { tor, .. } => self.find(tor),
            _ => None,
        };
        switch.map_or(Location { file: 0, line: 0 }, |switch| self.switch_locations[switch.index()])
    }

    /// Names every zone after the pod labels of its switches, joined by `+` if there are several. A name that is taken
    /// gets a number, as parallel links do; a zone without labels is named by its own number.
    fn zone_names(&self, topology: &Topology) -> Vec<String> {
        let mut labels: Vec<Vec<&str>> = vec![Vec::new(); topology.zone_count()];
        let mut more = vec![0_u32; topology.zone_count()];
        let mut seen = BTreeSet::new();
        for (number, pod) in self.pods.iter().enumerate() {
            let zone = topology.switch(SwitchId(number as u32)).zone;
            let (Some(zone), Some(pod)) = (zone, pod.as_deref()) else { continue };
            if !seen.insert((zone, pod)) {
                continue;
            }
            if labels[zone.index()].len() < LABELS_IN_A_NAME {
                labels[zone.index()].push(pod);
            } else {
                more[zone.index()] += 1;
            }
        }
        let zones = topology.switches.iter().filter_map(|switch| switch.zone);
        let below_top = zones.max().map_or(0, |zone| zone.index() + 1);
        let wanted = labels.iter().zip(more).enumerate().map(|(zone, (labels, more))| match more {
            0 if labels.is_empty() && zone >= below_top => "top layer".to_owned(),
            0 if labels.is_empty() => format!("pod{zone}"),
            0 => labels.join("+"),
            more => format!("{}+{more} more", labels.join("+")),
        });
        let mut used: BTreeMap<String, u32> = BTreeMap::new();
        let mut names = Vec::with_capacity(topology.zone_count());
        for wanted in wanted {
            let mut name = wanted.clone();
            while used.contains_key(&name) {
                let number = used.entry(wanted.clone()).or_insert(1);
                *number += 1;
                name = format!("{wanted}#{number}");
            }
            used.insert(name.clone(), 1);
            names.push(name);
        }
        names
    }
}

/// Warns of switches above the ToRs without a link up. They carry nothing, which is unusual but harmless; a ToR without
/// a path is refused.
fn warn_of_dead_ends(topology: &Topology, warnings: &mut Vec<String>) {
    let top = topology.layer_count() - 1;
    let dead: Vec<String> = (0..topology.switch_count() as u32)
        .map(SwitchId)
        .filter(|&switch| usize::from(topology.switch(switch).layer) < top && topology.up(switch).is_empty())
        .map(|switch| topology.names.switch(switch))
        .collect();
    if !dead.is_empty() {
        warnings.push(format!(
            "{} below the top layer without a link up: {}",
            counted(dead.len(), "switch", "switches"),
            some_of(&dead)
        ));
    }
}

/// Switches above the ToRs to which no path climbs.
fn unreached(topology: &Topology) -> Vec<SwitchId> {
    let mut reached = vec![false; topology.switch_count()];
    let mut to_visit = topology.tors().to_vec();
    while let Some(switch) = to_visit.pop() {
        if !std::mem::replace(&mut reached[switch.index()], true) {
            to_visit.extend(topology.up(switch).iter().map(|hop| hop.switch));
        }
    }
    topology.switches().filter(|switch| !reached[switch.index()]).collect()
}

/// `1 host`, `2 hosts`.
pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
