//! Makes a network from dumps: one switch for each system, one link for its one or two views.

use super::super::draft::{Draft, DraftSwitch, Location, counted};
use super::super::rules::Rules;
use super::super::some_of::some_of;
use super::super::yaml::Text;
use super::super::{HostLink, Loaded, PortCable, TopologyFault, TopologyFileError, TopologyFileOptions};
use super::config_db::ConfigDb;
use super::dump::View;
use super::identity::{SystemId, Systems};
use super::pairing::{self, End, Known, Ports, Unpaired};
use super::parse_dump;
use crate::SwitchId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A port of a switch.
type SwitchPort = (SwitchId, String);

/// What a dump says of one port.
struct Seen {
    by: SystemId,
    view: View,
    location: Location,
    /// Its system, once all dumps are known; `None` if nothing identifies it.
    neighbour: Option<SystemId>,
}

/// The far end of a view.
struct Far {
    switch: SwitchId,
    /// What the switch calls its port, if that is known.
    port: Option<String>,
    /// The number by which the neighbour knows a port without a name.
    number: Option<String>,
}

pub(super) struct Reader<'a> {
    rules: Rules,
    options: &'a TopologyFileOptions,
    draft: Draft,
    systems: Systems,
    seen: Vec<Seen>,
    /// The ports of each system with a dump.
    ports: BTreeMap<SystemId, Ports>,
    /// The switch that a system is, if it is one.
    switches: BTreeMap<SystemId, SwitchId>,
    leads_to: BTreeMap<SwitchPort, SwitchPort>,
    hosts: BTreeSet<String>,
    nameless: usize,
    /// Switches that neighbours see but that have no dump.
    silent: BTreeSet<String>,
    /// Ports that dumps know, but which rules leave out.
    ignored: BTreeSet<(SystemId, String)>,
    warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    /// The network.
    pub fn read(
        dumps: impl Iterator<Item = Result<Text, TopologyFileError>>,
        rules: Rules,
        options: &'a TopologyFileOptions,
    ) -> Result<Loaded, TopologyFileError> {
        let mut reader = Reader::gather(dumps, rules, options)?;
        let mut warnings = std::mem::take(&mut reader.warnings);
        reader.warn(&mut warnings);
        reader.draft.finish(warnings)
    }

    /// The cables alone, which layers do not matter for.
    pub fn cables(
        dumps: impl Iterator<Item = Result<Text, TopologyFileError>>,
        rules: Option<Rules>,
        options: &'a TopologyFileOptions,
    ) -> Result<Vec<PortCable>, TopologyFileError> {
        Ok(Reader::gather(dumps, Rules::of_every_node(rules), options)?.draft.into_cables())
    }

    fn gather(
        dumps: impl Iterator<Item = Result<Text, TopologyFileError>>,
        rules: Rules,
        options: &'a TopologyFileOptions,
    ) -> Result<Reader<'a>, TopologyFileError> {
        let mut reader = Reader {
            rules,
            options,
            draft: Draft::default(),
            systems: Systems::default(),
            seen: Vec::new(),
            ports: BTreeMap::new(),
            switches: BTreeMap::new(),
            leads_to: BTreeMap::new(),
            hosts: BTreeSet::new(),
            nameless: 0,
            silent: BTreeSet::new(),
            ignored: BTreeSet::new(),
            warnings: Vec::new(),
        };
        let mut configs = Vec::new();
        for dump in dumps {
            let Text { file, text } = dump?;
            match ConfigDb::parse(&text, &file)? {
                Some(config) => configs.push((file, config)),
                None => reader.dump(file, &text)?,
            }
        }
        for (file, config) in configs {
            reader.learn_aliases(&file, config)?;
        }
        reader.identify()?;
        reader.links()?;
        Ok(reader)
    }

    /// Adds the switch of a dump, and keeps what it sees until all switches are known.
    fn dump(&mut self, file: String, text: &str) -> Result<(), TopologyFileError> {
        let dump = parse_dump(text, &file)?;
        let stem = Path::new(&file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = dump.local_name().map(str::to_owned).or(stem).unwrap_or_default();
        let location = Location { file: self.draft.file(file), line: 0 };
        let layer = self.rules.layer(&name).ok_or_else(|| {
            let how = "add a rule to `layers` that matches it, or remove its dump";
            self.draft.refuse(location, TopologyFault::NoLayer { switch: name.clone(), how })
        })?;
        let pod = self.rules.pod(&name);
        let switch =
            self.draft.switch(DraftSwitch { name: name.clone(), layer, pod, pipes: None, location })?;
        let by = self.systems.add(&name, dump.local_chassis());
        self.switches.insert(by, switch);
        let ports = self.ports.entry(by).or_default();
        for view in dump.views() {
            if self.rules.ignores(&view.port) {
                self.ignored.insert((by, view.port));
                continue;
            }
            ports.known.insert(view.port.clone());
            let location = Location { line: view.line, ..location };
            self.seen.push(Seen { by, view, location, neighbour: None });
        }
        Ok(())
    }

    fn learn_aliases(&mut self, file: &str, config: ConfigDb) -> Result<(), TopologyFileError> {
        let ConfigDb { hostname, by_alias, ports } = config;
        let system = self.systems.find(hostname.as_deref(), None).ok().flatten();
        let Some(of) = system.and_then(|system| self.ports.get_mut(&system)) else {
            let name = hostname.unwrap_or_default();
            let reason =
                format!("this is the CONFIG_DB of `{name}`, for which there is no dump of `lldpctl -f json`");
            return Err(TopologyFault::form(reason).at(file, None));
        };
        of.known.extend(ports);
        of.by_alias.extend(by_alias);
        Ok(())
    }

    /// Finds the system in each view. Those with names come first: a chassis may be known by one of them.
    fn identify(&mut self) -> Result<(), TopologyFileError> {
        for has_name in [true, false] {
            for seen in self.seen.iter_mut().filter(|seen| seen.view.neighbour.is_some() == has_name) {
                let View { neighbour, chassis, .. } = &seen.view;
                let found =
                    self.systems.find(neighbour.as_deref(), chassis.as_deref()).map_err(|several| {
                        let fault = TopologyFault::SeveralSwitches {
                            name: neighbour.clone().unwrap_or_default(),
                            candidates: several
                                .iter()
                                .map(|system| self.systems.name(*system).to_owned())
                                .collect(),
                        };
                        self.draft.refuse(seen.location, fault)
                    })?;
                let new = || Some(self.systems.add(neighbour.as_deref()?, chassis.as_deref()));
                seen.neighbour = found.or_else(new);
                self.nameless += usize::from(seen.neighbour.is_none());
            }
        }
        // lldpd hears some neighbours twice on a port, by two protocols.
        let mut heard = BTreeSet::new();
        self.seen.retain(|seen| {
            seen.neighbour.is_some_and(|neighbour| heard.insert((seen.by, seen.view.port.clone(), neighbour)))
        });
        Ok(())
    }

    /// Makes one link from its one or two views.
    fn links(&mut self) -> Result<(), TopologyFileError> {
        let mut between: BTreeMap<[SystemId; 2], [Vec<usize>; 2]> = BTreeMap::new();
        for (number, Seen { by, neighbour, .. }) in self.seen.iter().enumerate() {
            let Some(far) = neighbour.filter(|far| self.ports.contains_key(far) && far != by) else {
                continue;
            };
            let ends = [*by.min(&far), *by.max(&far)];
            between.entry(ends).or_default()[usize::from(*by == ends[1])].push(number);
        }
        let mut partner: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
        for (systems, views) in between {
            let (pairs, ports_known) = self.pair(systems, &views)?;
            for [one, other] in pairs {
                partner.insert(one, (other, ports_known));
                partner.insert(other, (one, ports_known));
            }
        }
        let seen = std::mem::take(&mut self.seen);
        let ambiguous = ambiguous_descriptions(&seen);
        for (number, of) in seen.iter().enumerate() {
            let Some(switch) = self.neighbour(of)? else {
                self.host(of)?;
                continue;
            };
            let far = match partner.get(&number) {
                Some((other, _)) if *other < number => continue,
                Some((other, ports_known)) => {
                    Far { switch, port: ports_known.then(|| seen[*other].view.port.clone()), number: None }
                }
                None if self.is_ignored(of) => continue,
                None => self.silent_port(switch, of, &ambiguous),
            };
            self.link((self.switches[&of.by], of.view.port.clone()), far, of.location)?;
        }
        Ok(())
    }

    /// Pairs what two switches with dumps see of each other, by number of the view.
    fn pair(
        &mut self,
        systems: [SystemId; 2],
        numbers: &[Vec<usize>; 2],
    ) -> Result<(Vec<[usize; 2]>, bool), TopologyFileError> {
        let numbers = [0, 1].map(|end| {
            let of_links =
                numbers[end].iter().copied().filter(|&number| !self.is_ignored(&self.seen[number]));
            of_links.collect::<Vec<usize>>()
        });
        let ends = [0, 1].map(|end| End {
            name: self.systems.name(systems[end]),
            ports: &self.ports[&systems[end]],
            views: numbers[end].iter().map(|&number| &self.seen[number].view).collect(),
        });
        let found = match pairing::pair(&ends) {
            Ok(found) => found,
            Err(unpaired) => return Err(self.one_sided(systems, &numbers, &unpaired)),
        };
        let [one, other] = systems.map(|system| self.systems.name(system));
        let what = match found.known {
            Known::Ports => None,
            Known::Order => Some("are assigned in the order of the aliases that they announce"),
            Known::Number => Some("are unknown; only their number is known"),
        };
        let warning = what.map(|what| format!("the ports of the links between {one} and {other} {what}"));
        self.warnings.extend(warning);
        let pairs = found.pairs.iter().map(|[one, other]| [numbers[0][*one], numbers[1][*other]]).collect();
        Ok((pairs, found.known != Known::Number))
    }

    fn one_sided(
        &self,
        systems: [SystemId; 2],
        numbers: &[Vec<usize>; 2],
        Unpaired { end, view, other }: &Unpaired,
    ) -> TopologyFileError {
        let of = &self.seen[numbers[*end][*view]];
        let [near, far] = [systems[*end], systems[1 - *end]].map(|system| self.systems.name(system));
        let says = |view: &View| {
            let named = view.interface.clone().or_else(|| view.description.clone());
            named.unwrap_or_else(|| view.id.clone())
        };
        let instead = other.map(|other| {
            let back = &self.seen[numbers[1 - *end][other]].view;
            format!("; {far}:{} sees {near}:{} instead", back.port, says(back))
        });
        let fault = TopologyFault::OneSided {
            port: format!("{near}:{}", of.view.port),
            sees: format!("{far}:{}", says(&of.view)),
            far: far.to_owned(),
            instead: instead.unwrap_or_default(),
        };
        self.draft.refuse(of.location, fault)
    }

    /// Whether a view is of a port that the other end's rules leave out.
    fn is_ignored(&self, seen: &Seen) -> bool {
        let Some(far) = seen.neighbour else { return false };
        let named = [&seen.view.interface, &seen.view.description].into_iter().flatten();
        named.into_iter().any(|port| self.ignored.contains(&(far, port.clone())))
    }

    /// The switch in a view; `None` if it is a host. A switch without a dump is added when it is first seen.
    fn neighbour(&mut self, seen: &Seen) -> Result<Option<SwitchId>, TopologyFileError> {
        let Some(system) = seen.neighbour else { return Ok(None) };
        if let Some(switch) = self.switches.get(&system) {
            return Ok(Some(*switch));
        }
        let name = self.systems.name(system).to_owned();
        let Some(layer) = self.rules.layer(&name) else { return Ok(None) };
        self.silent.insert(name.clone());
        let pod = self.rules.pod(&name);
        let location = seen.location;
        let switch = self.draft.switch(DraftSwitch { name, layer, pod, pipes: None, location })?;
        self.switches.insert(system, switch);
        Ok(Some(switch))
    }

    /// Adds the host in a view.
    fn host(&mut self, seen: &Seen) -> Result<(), TopologyFileError> {
        let Some(system) = seen.neighbour else { return Ok(()) };
        let host = self.systems.name(system).to_owned();
        self.hosts.insert(host.clone());
        let speed = self.rules.default_speed.or(self.options.default_speed);
        let (switch, port) = (self.switches[&seen.by], Some(seen.view.port.clone()));
        self.draft.host_link(HostLink { host, switch, port, speed, length: None }, seen.location)
    }

    /// The port of a switch without a dump: the interface, or else a description that no other port has.
    fn silent_port(&self, switch: SwitchId, seen: &Seen, ambiguous: &BTreeSet<(SystemId, String)>) -> Far {
        let View { interface, description, id, neighbour, .. } = &seen.view;
        let own = self.systems.name(seen.by);
        let faces_us = |text: &&String| text.strip_prefix(own).is_some_and(|rest| rest.starts_with(':'));
        let description = description.as_ref().filter(|text| !faces_us(text));
        let description = description.map(|text| {
            let name = neighbour.as_deref().unwrap_or_default();
            text.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')).unwrap_or(text).to_owned()
        });
        let system = seen.neighbour.unwrap_or_default();
        let description = description.filter(|text| !ambiguous.contains(&(system, text.clone())));
        let port = interface.clone().or(description);
        Far { switch, number: port.is_none().then(|| id.clone()), port }
    }

    /// Adds a link. It is named after switches and ports, the lower switch first, whichever end sees it. A far port
    /// without a name is at no cable: what an agent calls it is not known.
    fn link(&mut self, near: SwitchPort, far: Far, location: Location) -> Result<(), TopologyFileError> {
        let shown = far.port.clone().or(far.number);
        if let Some(shown) = &shown {
            let far = (far.switch, shown.clone());
            for (one, other) in [(&near, &far), (&far, &near)] {
                if let Some(before) = self.leads_to.insert(one.clone(), other.clone()) {
                    return Err(self.two_neighbours(location, one, &before, other));
                }
            }
        }
        let is_up = self.draft.layer(near.0) <= self.draft.layer(far.switch);
        let ends = if is_up { [near.0, far.switch] } else { [far.switch, near.0] };
        let ports = shown.map(|shown| if is_up { [near.1, shown] } else { [shown, near.1] });
        let name = ports.as_ref().map(|[low, high]| {
            format!("{}:{low}--{}:{high}", self.draft.name(ends[0]), self.draft.name(ends[1]))
        });
        let Some(speed) = self.rules.default_speed.or(self.options.default_speed) else {
            let how = "a `default_speed` beside the rules";
            let link = name.unwrap_or_else(|| ends.map(|end| self.draft.name(end).to_owned()).join("--"));
            return Err(self.draft.refuse(location, TopologyFault::NoSpeed { link, how }));
        };
        self.draft.link(ends, name, speed, None, location)?;
        if let Some(mut ports) = ports {
            if far.port.is_none() {
                ports[usize::from(is_up)].clear();
            }
            self.draft.ports(ports);
        }
        Ok(())
    }

    fn two_neighbours(
        &self,
        location: Location,
        port: &SwitchPort,
        one: &SwitchPort,
        other: &SwitchPort,
    ) -> TopologyFileError {
        let describe = |(switch, port): &SwitchPort| format!("{}:{port}", self.draft.name(*switch));
        let fault = TopologyFault::TwoNeighbours {
            switch: self.draft.name(port.0).to_owned(),
            port: port.1.clone(),
            one: describe(one),
            other: describe(other),
        };
        self.draft.refuse(location, fault)
    }

    fn warn(&self, warnings: &mut Vec<String>) {
        let list = |names: &BTreeSet<String>| some_of(&names.iter().cloned().collect::<Vec<_>>());
        if !self.hosts.is_empty() {
            let hosts = counted(self.hosts.len(), "neighbour", "neighbours");
            warnings.push(format!("left out {hosts} for which there is no rule: {}", list(&self.hosts)));
        }
        if self.nameless > 0 {
            let views = counted(self.nameless, "neighbour", "neighbours");
            warnings.push(format!("left out {views} without a system name"));
        }
        if !self.silent.is_empty() {
            let switches = counted(self.silent.len(), "switch", "switches");
            let silent = list(&self.silent);
            warnings.push(format!("{switches} without a dump, known only from neighbours: {silent}"));
        }
    }
}

/// Descriptions that several ports of a system have, so that they are no names.
fn ambiguous_descriptions(seen: &[Seen]) -> BTreeSet<(SystemId, String)> {
    let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for Seen { neighbour, view, .. } in seen {
        if let (Some(system), None, Some(text)) = (neighbour, &view.interface, &view.description)
            && !once.insert((*system, text.clone()))
        {
            twice.insert((*system, text.clone()));
        }
    }
    twice
}
