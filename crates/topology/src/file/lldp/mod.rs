//! LLDP neighbour dumps, one for each switch.

mod dump;
mod forms;
mod rules;

use super::draft::{Draft, DraftSwitch, Location, counted, some_of};
use super::yaml::{self, Text};
use super::{
    FarPort, HostLink, LldpNeighbour, Loaded, TopologyFault, TopologyFileError, TopologyFileOptions,
};
use crate::SwitchId;
use dump::{Dump, View};
use rules::Rules;
use std::collections::{BTreeMap, BTreeSet};
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
    let dump: Dump = yaml::parse_foreign(&text, &file)?;
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
        let fault = TopologyFault::form("there are no LLDP dumps (*.json) in this directory");
        return Err(fault.at(&directory.display().to_string(), None));
    }
    let beside = ["layers.yaml", "layers.yml"].map(|name| directory.join(name));
    let rules = options.layers.iter().chain(beside.iter().filter(|path| path.is_file())).next();
    let rules = rules.ok_or_else(|| TopologyFault::NoRules.at(&directory.display().to_string(), None))?;
    parse(dumps.iter().map(|path| yaml::read(path)), yaml::read(rules)?, options)
}

/// Reads dumps with their rules. Each dump is processed before the next one is read.
pub(super) fn parse(
    dumps: impl Iterator<Item = Result<Text, TopologyFileError>>,
    rules: Text,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    let mut reader = Reader {
        rules: Rules::parse(&rules)?,
        draft: Draft::default(),
        views: Vec::new(),
        own: BTreeMap::new(),
        hosts: BTreeSet::new(),
        nameless: 0,
        silent: BTreeSet::new(),
    };
    for dump in dumps {
        reader.dump(dump?)?;
    }
    let mut warnings = Vec::new();
    reader.links(options, &mut warnings)?;
    reader.warn(&mut warnings);
    reader.draft.finish(warnings)
}

/// A port of a switch.
type SwitchPort = (SwitchId, String);

struct Reader {
    rules: Rules,
    draft: Draft,
    /// What each switch with a dump sees, with the number of the file.
    views: Vec<(SwitchId, u32, View)>,
    /// For each switch with a dump, the neighbour that it sees on each port.
    own: BTreeMap<SwitchId, BTreeMap<String, String>>,
    hosts: BTreeSet<String>,
    nameless: usize,
    /// Switches that neighbours see but that have no dump.
    silent: BTreeSet<String>,
}

impl Reader {
    /// Adds the switch of a dump, and keeps what it sees until all switches are known.
    fn dump(&mut self, Text { file, text }: Text) -> Result<(), TopologyFileError> {
        let dump: Dump = yaml::parse_foreign(&text, &file)?;
        let stem = Path::new(&file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = dump.local_name().map(str::to_owned).or(stem).unwrap_or_default();
        let file = self.draft.file(file);
        let whole = Location { file, line: 0 };
        let layer = self.rules.layer(&name).ok_or_else(|| {
            let how = "add a rule to `layers` that matches it, or remove its dump";
            self.draft.refuse(whole, TopologyFault::NoLayer { switch: name.clone(), how })
        })?;
        let pod = self.rules.pod(&name);
        let switch = self.draft.switch(DraftSwitch { name, layer, pod, pipes: None, location: whole })?;
        let own = self.own.entry(switch).or_default();
        for view in dump.views() {
            match &view.neighbour {
                _ if self.rules.ignores(&view.port) => {}
                None => self.nameless += 1,
                Some(neighbour) => {
                    own.insert(view.port.clone(), neighbour.clone());
                    self.views.push((switch, file, view));
                }
            }
        }
        Ok(())
    }

    /// Makes one link from its one or two views.
    fn links(
        &mut self,
        options: &TopologyFileOptions,
        warnings: &mut Vec<String>,
    ) -> Result<(), TopologyFileError> {
        let mut seen_by: BTreeMap<[SwitchPort; 2], u32> = BTreeMap::new();
        let mut leads_to: BTreeMap<SwitchPort, SwitchPort> = BTreeMap::new();
        let views = std::mem::take(&mut self.views);
        for (switch, file, view) in &views {
            let location = Location { file: *file, line: view.line };
            let Some(neighbour) = self.neighbour(view, location)? else {
                self.host(*switch, view, location, options)?;
                continue;
            };
            let near = (*switch, view.port.clone());
            let (far_port, far_is_named) = self.far_port(*switch, neighbour, view);
            let far = (neighbour, far_port);
            let key = if near <= far { [near.clone(), far.clone()] } else { [far.clone(), near.clone()] };
            if let Some(views) = seen_by.get_mut(&key) {
                *views += 1;
                continue;
            }
            seen_by.insert(key, 1);
            for (one, other) in [(&near, &far), (&far, &near)] {
                if let Some(before) = leads_to.insert(one.clone(), other.clone()) {
                    return Err(self.two_neighbours(location, one, &before, other));
                }
            }
            self.link(near, (far, far_is_named), options, location)?;
        }
        let one_sided = seen_by
            .iter()
            .filter(|([one, other], views)| {
                **views == 1 && self.own.contains_key(&one.0) && self.own.contains_key(&other.0)
            })
            .map(|([one, other], _)| format!("{}--{}", self.describe(one), self.describe(other)))
            .collect::<Vec<_>>();
        if !one_sided.is_empty() {
            let links = counted(one_sided.len(), "link", "links");
            warnings.push(format!("{links} that only one end sees: {}", some_of(&one_sided)));
        }
        Ok(())
    }

    /// Adds the host in a view.
    fn host(
        &mut self,
        switch: SwitchId,
        view: &View,
        location: Location,
        options: &TopologyFileOptions,
    ) -> Result<(), TopologyFileError> {
        let Some(host) = view.neighbour.clone() else { return Ok(()) };
        self.hosts.insert(host.clone());
        let speed = self.rules.default_speed.or(options.default_speed);
        let port = Some(view.port.clone());
        self.draft.host_link(HostLink { host, switch, port, speed, length: None }, location)
    }

    /// The switch in a view; `None` if it is a host. A switch without a dump is added when it is first seen.
    fn neighbour(&mut self, view: &View, location: Location) -> Result<Option<SwitchId>, TopologyFileError> {
        let Some(name) = view.neighbour.clone() else { return Ok(None) };
        if let Some(switch) = self.draft.find(&name) {
            return Ok(Some(switch));
        }
        let Some(layer) = self.rules.layer(&name) else { return Ok(None) };
        self.silent.insert(name.clone());
        let pod = self.rules.pod(&name);
        self.draft.switch(DraftSwitch { name, layer, pod, pipes: None, location }).map(Some)
    }

    /// The name of the port in the neighbour's own dump, or else the likeliest of the names that it announces; and whether
    /// it is one, and not a mere number.
    fn far_port(&self, switch: SwitchId, neighbour: SwitchId, view: &View) -> (String, bool) {
        let own = self.own.get(&neighbour);
        let known = view.far_ports.iter().find(|port| {
            let back = own.and_then(|own| own.get(&port[..]));
            back.is_some_and(|back| self.draft.find(back) == Some(switch))
        });
        let is_named = known.is_some() || view.far_is_named;
        (known.or(view.far_ports.first()).cloned().unwrap_or_default(), is_named)
    }

    /// Adds a link. It is named after switches and ports, the lower switch first, whichever end sees it. A
    /// far port without a name is at no cable: what an agent calls it is not known.
    fn link(
        &mut self,
        near: SwitchPort,
        (far, far_is_named): (SwitchPort, bool),
        options: &TopologyFileOptions,
        location: Location,
    ) -> Result<(), TopologyFileError> {
        let [low, high] =
            if self.draft.layer(near.0) <= self.draft.layer(far.0) { [near, far] } else { [far, near] };
        let name = format!("{}--{}", self.describe(&low), self.describe(&high));
        let Some(speed) = self.rules.default_speed.or(options.default_speed) else {
            let how = "a `default_speed` beside the rules";
            return Err(self.draft.refuse(location, TopologyFault::NoSpeed { link: name, how }));
        };
        self.draft.link([low.0, high.0], Some(name), speed, None, location)?;
        if far_is_named {
            self.draft.ports([low.1, high.1]);
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
        let fault = TopologyFault::TwoNeighbours {
            switch: self.draft.name(port.0).to_owned(),
            port: port.1.clone(),
            one: self.describe(one),
            other: self.describe(other),
        };
        self.draft.refuse(location, fault)
    }

    fn describe(&self, (switch, port): &SwitchPort) -> String {
        format!("{}:{port}", self.draft.name(*switch))
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
            warnings.push(format!(
                "{switches} without a dump, known from neighbours only: {}",
                list(&self.silent)
            ));
        }
    }
}
