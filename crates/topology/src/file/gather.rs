//! Cables as lists and graphs name them: nodes by their names, and each cable once, however often a file lists it.

use super::draft::{Location, counted};
use super::infer::Hints;
use super::sketch::{Node, Sketch, Wire};
use super::{MAX_HOST_LINKS, MAX_LINKS, MAX_SWITCHES, Place, TopologyFault, TopologyFileError};
use linkmend_diagnose::printable;
use linkmend_quantity::{BitRate, Distance};
use std::collections::BTreeMap;

/// The largest number of nodes: switches and hosts.
const MAX_NODES: u64 = MAX_SWITCHES + MAX_HOST_LINKS;

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    pub node: usize,
    pub port: Option<String>,
}

/// A cable as one entry of a file describes it.
#[derive(Debug)]
pub(super) struct Entry {
    pub ends: [End; 2],
    pub speed: Option<BitRate>,
    pub length: Option<Distance>,
    pub at: Location,
}

/// What a list without ports means by the same two nodes in both orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Each entry is a cable, unless all of the list has them in both orders.
    Undirected,
    /// Entries are directions, of which a cable has two.
    Directed,
}

/// Nodes and cables of a format that names nodes where it uses them.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    files: Vec<String>,
    nodes: Vec<Node>,
    by_name: BTreeMap<String, usize>,
    entries: Vec<Entry>,
    pub warnings: Vec<String>,
    pub doubts: Vec<(Location, String)>,
}

impl Gathering {
    pub fn file(&mut self, file: String) -> u32 {
        self.files.push(file);
        self.files.len() as u32 - 1
    }

    pub fn refuse(&self, at: Location, fault: TopologyFault) -> TopologyFileError {
        fault.at(&self.files[at.file as usize], (at.line > 0).then_some(at.line))
    }

    pub fn form(&self, at: Location, reason: impl Into<String>) -> TopologyFileError {
        self.refuse(at, TopologyFault::form(reason))
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(printable(name.trim()).as_ref()).copied()
    }

    /// The node of this name, which is new if no other place has named it.
    pub fn node(&mut self, name: &str, at: Location) -> Result<usize, TopologyFileError> {
        let name = printable(name.trim());
        if let Some(known) = self.by_name.get(name.as_ref()) {
            return Ok(*known);
        }
        if name.is_empty() {
            return Err(self.refuse(at, TopologyFault::EmptyName { what: "node" }));
        }
        if self.nodes.len() as u64 == MAX_NODES {
            return Err(self.refuse(at, TopologyFault::TooMany { what: "nodes", most: MAX_NODES }));
        }
        let number = self.nodes.len();
        let hints = Hints { name: name.clone().into_owned(), ..Hints::default() };
        self.nodes.push(Node { hints, at, ..Node::default() });
        self.by_name.insert(name.into_owned(), number);
        Ok(number)
    }

    pub fn node_mut(&mut self, node: usize) -> &mut Node {
        &mut self.nodes[node]
    }

    pub fn name(&self, node: usize) -> &str {
        &self.nodes[node].hints.name
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.hints.name.as_str())
    }

    /// Adds what somebody says of a node, unless it was said before.
    pub fn say(&mut self, node: usize, what: &'static str, word: &str) {
        let words = &mut self.nodes[node].hints.words;
        let word = (what, printable(word.trim()).into_owned());
        if !word.1.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }

    /// Adds the roles that a list of devices has. A device that it lacks is in doubt.
    pub fn learn_roles(&mut self, roles: &BTreeMap<String, String>, file: u32) {
        if roles.is_empty() {
            return;
        }
        for node in 0..self.nodes.len() {
            match roles.get(self.name(node)).cloned() {
                Some(role) => self.say(node, "role", &role),
                None => {
                    let text = format!("{} is not in the device list, so it has no role", self.name(node));
                    self.doubt(Location { file, line: self.nodes[node].at.line }, text);
                }
            }
        }
    }
    pub fn doubt(&mut self, at: Location, text: impl Into<String>) {
        self.doubts.push((at, text.into()));
    }

    pub fn cable(&mut self, mut entry: Entry) -> Result<(), TopologyFileError> {
        if self.entries.len() as u64 == 2 * MAX_LINKS {
            return Err(self.refuse(entry.at, TopologyFault::TooMany { what: "cables", most: 2 * MAX_LINKS }));
        }
        for end in &mut entry.ends {
            let port = end.port.take().map(|port| printable(port.trim()).into_owned());
            end.port = port.filter(|port| !port.is_empty());
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Each cable once. Where a file names ports, these tell cables apart; otherwise the order of ends does.
    pub fn finish(mut self, order: Order, speed_hint: &'static str) -> Result<Sketch, TopologyFileError> {
        let entries = std::mem::take(&mut self.entries);
        let (named, plain): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.ends.iter().any(|end| end.port.is_some()));
        let mut cables = self.by_ports(named)?;
        cables.extend(self.by_order(plain, order));
        cables.sort_by_key(|entry| (entry.at.file, entry.at.line));
        let wires = cables.into_iter().map(|entry| self.wire(entry)).collect();
        Ok(Sketch {
            files: self.files,
            nodes: self.nodes,
            wires,
            warnings: self.warnings,
            doubts: self.doubts,
            speed_hint,
        })
    }

    fn wire(&self, Entry { ends, speed, length, at }: Entry) -> Wire {
        let shown = |end: &End| Some(format!("{}:{}", self.name(end.node), end.port.as_deref()?));
        let name = shown(&ends[0]).zip(shown(&ends[1])).map(|(one, other)| format!("{one}--{other}"));
        let nodes = [ends[0].node, ends[1].node];
        Wire { ends: nodes, ports: ends.map(|end| end.port), name, speed, length, at }
    }

    /// Cables with ports. An entry that names the same two ports again is the same cable, and a port has one cable.
    fn by_ports(&mut self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, TopologyFileError> {
        // Entries with both ports come first, so that one with a single port finds the cable that it is part of.
        entries.sort_by_key(|entry| entry.ends.iter().any(|end| end.port.is_none()));
        let mut of_port: BTreeMap<End, usize> = BTreeMap::new();
        let mut cables: Vec<Entry> = Vec::new();
        let mut again = 0;
        for entry in entries {
            let with_port = entry.ends.iter().filter(|end| end.port.is_some());
            let Some(&known) = with_port.clone().find_map(|end| of_port.get(end)) else {
                with_port.for_each(|end| _ = of_port.insert(end.clone(), cables.len()));
                cables.push(entry);
                continue;
            };
            if !is_same(&cables[known], &entry) {
                return Err(self.port_twice(&cables[known], &entry));
            }
            again += 1;
            self.unite(&mut cables[known], &entry);
        }
        if again > 0 {
            let cables = counted(again, "cable is", "cables are");
            self.warnings.push(format!("{cables} listed from both ends or twice, and merged"));
        }
        Ok(cables)
    }

    fn unite(&mut self, known: &mut Entry, again: &Entry) {
        match (known.speed, again.speed) {
            (Some(one), Some(other)) if one != other => {
                let link = known.ends.each_ref().map(|end| self.shown(end)).join("--");
                let text = format!("{link} has {one} here and {other} elsewhere; using the lower one");
                self.doubts.push((again.at, text));
                known.speed = Some(one.min(other));
            }
            _ => known.speed = known.speed.or(again.speed),
        }
        known.length = known.length.or(again.length);
    }

    fn shown(&self, end: &End) -> String {
        let port = end.port.as_ref().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port}", self.name(end.node))
    }

    fn port_twice(&self, known: &Entry, entry: &Entry) -> TopologyFileError {
        let is_of = |end: &&End, other: &Entry| end.port.is_some() && other.ends.contains(end);
        let shared = entry.ends.iter().find(|end| is_of(end, known)).unwrap_or(&entry.ends[0]);
        let far = |of: &Entry| self.shown(of.ends.iter().find(|end| *end != shared).unwrap_or(shared));
        let Location { file, line } = known.at;
        let fault = TopologyFault::PortTwice {
            port: self.shown(shared),
            one: far(known),
            first: Place { file: self.files[file as usize].clone(), line: (line > 0).then_some(line) },
            other: far(entry),
        };
        self.refuse(entry.at, fault)
    }

    /// Cables without ports: of two nodes, as many as one order has, if orders are directions.
    fn by_order(&mut self, entries: Vec<Entry>, order: Order) -> Vec<Entry> {
        let mut between: BTreeMap<[usize; 2], [Vec<Entry>; 2]> = BTreeMap::new();
        for entry in entries {
            let [one, other] = entry.ends.each_ref().map(|end| end.node);
            let of_pair = between.entry([one.min(other), one.max(other)]).or_default();
            of_pair[usize::from(one > other)].push(entry);
        }
        let is_loop = |[one, other]: &[usize; 2]| one == other;
        let is_doubled = order == Order::Directed
            || !between.is_empty()
                && between.iter().all(|(pair, [up, down])| !is_loop(pair) && up.len() == down.len());
        if is_doubled && order == Order::Undirected {
            let text = "every link is listed in both directions, so the two are merged".to_owned();
            self.doubts.push((Location { file: 0, line: 0 }, text));
        }
        let kept = between.into_iter().flat_map(|(pair, [up, down])| {
            if is_doubled && !is_loop(&pair) {
                let first = |entries: &[Entry]| entries.first().map(|entry| entry.at.line);
                let is_up = (up.len(), first(&down)) >= (down.len(), first(&up));
                return if is_up { up } else { down };
            }
            up.into_iter().chain(down).collect()
        });
        kept.collect()
    }
}

/// Whether two entries with a port in common are one cable: all they say of ports and nodes agrees.
fn is_same(one: &Entry, other: &Entry) -> bool {
    let agree =
        |a: &End, b: &End| a.node == b.node && (a.port.is_none() || b.port.is_none() || a.port == b.port);
    let [c, d] = &other.ends;
    (agree(&one.ends[0], c) && agree(&one.ends[1], d)) || (agree(&one.ends[0], d) && agree(&one.ends[1], c))
}
