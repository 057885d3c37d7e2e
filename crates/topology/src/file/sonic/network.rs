//! One network of what several switches say.

use super::super::TopologyFileError;
use super::super::draft::Location;
use super::super::formats::Format;
use super::super::gather::{End, Entry, Gathering, Order};
use super::super::roles::{self, Word};
use super::super::sketch::Sketch;
use super::super::some_of::some_of;
use super::super::yaml::Text;
use super::{Cable, DevicePort, Facts, config_db, minigraph};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file of a switch, and which of the two formats it has.
pub struct File {
    pub text: Text,
    pub format: Format,
}

/// Joins the files of switches, in which each cable may stand once or twice.
pub fn read(
    files: impl Iterator<Item = Result<File, TopologyFileError>>,
) -> Result<Sketch, TopologyFileError> {
    let mut gathering = Gathering::default();
    let mut all: Vec<(u32, Facts)> = Vec::new();
    for file in files {
        let File { text: Text { file, text }, format } = file?;
        let mut facts = match format {
            Format::Minigraph => minigraph::parse(&text, &file)?,
            _ => config_db::parse(&text, &file)?,
        };
        if facts.own.is_none() {
            facts.name_after(&file);
        }
        all.push((gathering.file(file), facts));
    }
    let has_cables = all.iter().any(|(_, facts)| !facts.cables.is_empty());
    if let Some((file, _)) = all.first().filter(|_| !has_cables) {
        let reason = "no neighbours are listed: there is no `DEVICE_NEIGHBOR` of a CONFIG_DB, no \
                      `DeviceInterfaceLinks` of a minigraph, and no dump of `lldpctl -f json`";
        return Err(gathering.form(Location { file: *file, line: 0 }, reason));
    }
    let mut names = Names::default();
    for (_, facts) in &mut all {
        let Some(own) = &facts.own else { continue };
        names.ports.entry(own.clone()).or_default().extend(std::mem::take(&mut facts.aliases));
        names.speeds.entry(own.clone()).or_default().extend(std::mem::take(&mut facts.speeds));
    }
    let shared = shared_ports(&all);
    let mut seen = Seen::new();
    for (file, facts) in all {
        for (line, text) in facts.doubts {
            gathering.doubt(Location { file, line }, text);
        }
        if let Some(own) = &facts.own {
            gathering.node(own, Location { file, line: 0 })?;
        }
        for Cable { ends, speed, line } in facts.cables {
            let of_host = |device: &str, port: &Option<String>| {
                port.as_ref().is_some_and(|port| shared.contains(&(device.to_owned(), port.clone())))
            };
            let ends = ends.map(|(device, port)| match of_host(&device, &port) {
                true => (device, None),
                false => names.port(device, port),
            });
            let speed = speed.or_else(|| ends.iter().filter_map(|end| names.speed(end)).min());
            let mut sorted = ends.clone();
            sorted.sort();
            seen.entry(sorted).or_default().insert(file);
            add(&mut gathering, ends, speed, Location { file, line })?;
        }
        for (device, kind, _) in facts.types {
            // A device without a cable is only known by its loopback or its management port.
            if let Some(node) = gathering.find(&device) {
                gathering.say(node, "type", &kind);
            }
        }
    }
    one_sided(&mut gathering, &names, &seen);
    gathering.finish(Order::Undirected, "a `speed` of its port")
}

fn add(
    gathering: &mut Gathering,
    ends: [DevicePort; 2],
    speed: Option<linkmend_quantity::BitRate>,
    at: Location,
) -> Result<(), TopologyFileError> {
    let [one, other] = ends;
    let mut end = |(device, port): DevicePort| {
        Ok::<End, TopologyFileError>(End { node: gathering.node(&device, at)?, port })
    };
    let ends = [end(one)?, end(other)?];
    gathering.cable(Entry { ends, speed, length: None, at })
}

impl Facts {
    /// Calls the switch as its file or, where that is `config_db.json`, its folder.
    fn name_after(&mut self, file: &str) {
        let path = Path::new(file);
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let own = match &stem[..] {
            "config_db" | "minigraph" => folder.filter(|folder| !folder.is_empty()).unwrap_or(stem),
            _ => stem,
        };
        for cable in &mut self.cables {
            for (device, _) in cable.ends.iter_mut().filter(|(device, _)| device.is_empty()) {
                device.clone_from(&own);
            }
        }
        self.own = Some(own);
    }
}

/// What the switches with files call their ports, and how fast these are.
#[derive(Default)]
struct Names {
    ports: BTreeMap<String, BTreeMap<String, String>>,
    speeds: BTreeMap<String, BTreeMap<String, linkmend_quantity::BitRate>>,
}

impl Names {
    /// A port by its own name, where it is known by an alias.
    fn port(&self, device: String, port: Option<String>) -> DevicePort {
        let own = port.as_ref().and_then(|port| self.ports.get(&device)?.get(port)).cloned();
        (device, own.or(port))
    }

    fn speed(&self, (device, port): &DevicePort) -> Option<linkmend_quantity::BitRate> {
        self.speeds.get(device)?.get(port.as_ref()?).copied()
    }
}

/// Ports of hosts at which a file has several cables: minigraphs call each port of a server the same.
fn shared_ports(all: &[(u32, Facts)]) -> BTreeSet<(String, String)> {
    let kinds = all.iter().flat_map(|(_, facts)| &facts.types);
    let typed: BTreeSet<&str> =
        kinds.filter(|(_, kind, _)| kind == "Server").map(|(name, ..)| name.as_str()).collect();
    let mut at: BTreeMap<(String, String), BTreeSet<&DevicePort>> = BTreeMap::new();
    for Cable { ends: [one, other], .. } in all.iter().flat_map(|(_, facts)| &facts.cables) {
        for (end, far) in [(one, other), (other, one)] {
            if let (device, Some(port)) = end
                && (typed.contains(device.as_str()) || roles::word(device) == Some(Word::Host))
            {
                at.entry((device.clone(), port.clone())).or_default().insert(far);
            }
        }
    }
    at.into_iter().filter(|(_, far)| far.len() > 1).map(|(port, _)| port).collect()
}

/// The files that name each cable.
type Seen = BTreeMap<[DevicePort; 2], BTreeSet<u32>>;

/// Doubts cables that one of two switches with files does not have.
fn one_sided(gathering: &mut Gathering, names: &Names, seen: &Seen) {
    let lone: Vec<String> = seen
        .iter()
        .filter(|(ends, files)| {
            files.len() == 1
                && ends[0].0 != ends[1].0
                && ends.iter().all(|(device, _)| names.ports.contains_key(device))
        })
        .map(|(ends, _)| {
            ends.each_ref()
                .map(|(device, port)| format!("{device}:{}", port.as_deref().unwrap_or("?")))
                .join("--")
        })
        .collect();
    if !lone.is_empty() {
        let text = format!("only one of the two switches' files contains these cables: {}", some_of(&lone));
        gathering.doubt(Location::default(), text);
    }
}
