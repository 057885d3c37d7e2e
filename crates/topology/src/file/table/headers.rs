//! What the columns of a table mean, by the words of their headers.

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// The device at one end, 0 or 1.
    Device(usize),
    Port(usize),
    Role(usize),
    /// The kind of port: `dcim.interface`.
    Kind(usize),
    /// A speed; a number without a unit is of this many bits per second, if the header says so.
    Speed(Option<u64>),
    Status,
}

/// How headers are named, for messages.
pub(super) const KNOWN: &str = "known are a device at each end (`a` and `b`, `source` and `target`, `from` and `to`, `local` and \
    `remote`, `Device A` and `Device B`, `side_a_device`), its port (`Interface A`, `source_port`), its role (`a_role`), and \
    `speed`; `switch:port` may be in one column";

const SIDES: [&[&str]; 2] = [
    &["a", "source", "src", "local", "from", "near", "left", "start", "lower"],
    &[
        "b",
        "z",
        "target",
        "tgt",
        "dst",
        "dest",
        "destination",
        "remote",
        "to",
        "far",
        "right",
        "end",
        "upper",
        "peer",
        "neighbor",
        "neighbour",
    ],
];
const DEVICES: [&str; 10] =
    ["device", "node", "switch", "host", "hostname", "system", "sysname", "router", "chassis", "endpoint"];
const PORTS: [&str; 8] = ["port", "interface", "intf", "int", "if", "ifname", "iface", "ports"];
const ROLES: [&str; 4] = ["role", "tier", "function", "layer"];
const SPEEDS: [&str; 5] = ["speed", "bandwidth", "band", "width", "rate"];
/// Units of the numbers in a column.
const UNITS: [(&str, u64); 6] = [
    ("mbps", 1_000_000),
    ("mb", 1_000_000),
    ("mbit", 1_000_000),
    ("gbps", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gbit", 1_000_000_000),
];
/// Words that add nothing.
const FILLERS: [&str; 4] = ["side", "name", "link", "cable"];

#[derive(Default)]
struct Words {
    side: Option<usize>,
    device: bool,
    port: bool,
    /// NetBox's word for what a cable ends at: a port, unless its device is named.
    termination: bool,
    role: bool,
    speed: bool,
    unit: Option<u64>,
    kind: bool,
    status: bool,
    filler: bool,
    /// Whether there is a word that changes what the column says: `rack`, `description`, `mac`.
    other: bool,
}

/// What a header means; `None` if its column is not used.
pub(super) fn meaning(header: &str) -> Option<Column> {
    let mut words = Words::default();
    for word in split(header) {
        let word = word.as_str();
        if let Some(side) = side(word) {
            words.other |= words.side.is_some();
            words.side = Some(side);
        } else if DEVICES.contains(&word) {
            words.device = true;
        } else if word == "termination" {
            words.termination = true;
        } else if PORTS.contains(&word) {
            words.port = true;
        } else if ROLES.contains(&word) {
            words.role = true;
        } else if SPEEDS.contains(&word) {
            words.speed = true;
        } else if let Some((_, unit)) = UNITS.iter().find(|(name, _)| *name == word) {
            words.unit = Some(*unit);
        } else if word == "type" {
            words.kind = true;
        } else if word == "status" {
            words.status = true;
        } else if FILLERS.contains(&word) {
            words.filler = true;
        } else {
            words.other = true;
        }
    }
    words.port |= words.termination && !words.device;
    column(&words)
}

fn column(words: &Words) -> Option<Column> {
    let Words { side, device, port, role, speed, unit, kind, status, filler: _, other, termination: _ } =
        *words;
    if other {
        return None;
    }
    match (side, speed, role, kind) {
        (_, true, false, false) => Some(Column::Speed(unit)),
        (Some(side), false, true, false) => Some(Column::Role(side)),
        (Some(side), false, false, true) => Some(Column::Kind(side)),
        (Some(side), false, false, false) if port => Some(Column::Port(side)),
        (Some(side), false, false, false) => Some(Column::Device(side)),
        (None, false, false, false) if status => Some(Column::Status),
        // `device, port, neighbor, neighbor_port`: what has no side is near.
        (None, false, false, false) if port => Some(Column::Port(0)),
        (None, false, false, false) if device => Some(Column::Device(0)),
        (None, false, true, false) if !port => Some(Column::Role(0)),
        _ => None,
    }
}

fn side(word: &str) -> Option<usize> {
    (0..2).find(|side| SIDES[*side].contains(&word) || word == ["1", "2"][*side])
}

/// Words in lower case: punctuation, digits and capitals within begin new ones.
fn split(header: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in header.chars() {
        let is_new = !letter.is_alphanumeric()
            || (letter.is_uppercase() && before.is_lowercase())
            || letter.is_ascii_digit() != before.is_ascii_digit();
        if is_new {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    // `Z end` and `A-end` are telecom's names of the sides, in which `end` says nothing.
    words.retain(|word| !word.is_empty());
    if words.len() > 1 && words.iter().any(|word| word.len() == 1) {
        words.retain(|word| word != "end");
    }
    words
}

/// Whether headers name a device or port at both ends.
pub(super) fn is_of_cables(headers: &[&str]) -> bool {
    let columns: Vec<Column> = headers.iter().filter_map(|header| meaning(header)).collect();
    let has = |side| {
        columns.iter().any(|column| matches!(column, Column::Device(s) | Column::Port(s) if *s == side))
    };
    has(0) && has(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Column::*;

    #[test]
    fn headers_are_known_in_many_spellings() {
        for (header, expected) in [
            ("a", Some(Device(0))),
            ("Device A", Some(Device(0))),
            ("DeviceB", Some(Device(1))),
            ("Interface B", Some(Port(1))),
            ("Termination A", Some(Port(0))),
            ("side_a_device", Some(Device(0))),
            ("side_b_name", Some(Device(1))),
            ("side_b_type", Some(Kind(1))),
            ("Source", Some(Device(0))),
            ("destination port", Some(Port(1))),
            ("localInterface", Some(Port(0))),
            ("Remote System Name", Some(Device(1))),
            ("A-End Device", Some(Device(0))),
            ("Z End Port", Some(Port(1))),
            ("device1", Some(Device(0))),
            ("device", Some(Device(0))),
            ("neighbor", Some(Device(1))),
            ("a_role", Some(Role(0))),
            ("Speed", Some(Speed(None))),
            ("speed_gbps", Some(Speed(Some(1_000_000_000)))),
            ("Speed (Mbps)", Some(Speed(Some(1_000_000)))),
            ("BandWidth", Some(Speed(None))),
            ("Status", Some(Status)),
            ("Rack A", None),
            ("Site B", None),
            ("remote port description", None),
            ("local mac", None),
            ("ID", None),
            ("Label", None),
            ("Length", None),
        ] {
            assert_eq!(meaning(header), expected, "{header}");
        }
    }
}
