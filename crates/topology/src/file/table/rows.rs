//! The rows of a table of cables.

use super::super::draft::{Location, counted};
use super::super::gather::{End, Entry, Gathering, Order};
use super::super::sketch::Sketch;
use super::super::yaml::Text;
use super::super::{TopologyFault, TopologyFileError, speed};
use super::dialect;
use super::headers::{self, Column};
use linkmend_diagnose::excerpt;
use linkmend_quantity::BitRate;
use std::collections::BTreeMap;

/// Words of a status that say that a cable is not plugged.
const ABSENT: [&str; 3] = ["planned", "decommissioning", "decommissioned"];

/// Where the columns are.
#[derive(Default)]
struct Columns {
    device: [Option<usize>; 2],
    port: [Option<usize>; 2],
    role: [Option<usize>; 2],
    kind: [Option<usize>; 2],
    /// Each with the unit of its numbers.
    speeds: Vec<(usize, Option<u64>)>,
    status: Option<usize>,
}

struct Table<'a> {
    columns: Columns,
    /// Roles of devices, from a list beside the table.
    roles: &'a BTreeMap<String, String>,
    gathering: Gathering,
    file: u32,
    not_interfaces: usize,
}

/// Reads a table of cables, with the roles of devices that a list beside it has.
pub fn read(text: &str, file: String, roles: &BTreeMap<String, String>) -> Result<Sketch, TopologyFileError> {
    // The reader counts a line that ends with two characters from the second one on.
    let text = text.replace("\r\n", "\n");
    let (text, skipped, separator) = dialect::split(&text);
    let mut reader = dialect::reader(text, separator);
    let mut gathering = Gathering::default();
    let file = gathering.file(file);
    let at =
        |line: u64| Location { file, line: u32::try_from(line).unwrap_or(u32::MAX).saturating_add(skipped) };
    let headers = reader.headers().map_err(|error| gathering.form(at(0), error.to_string()))?.clone();
    let header_at = at(headers.position().map_or(1, csv::Position::line));
    let columns = columns(&headers).map_err(|reason| gathering.form(header_at, reason))?;
    let mut table = Table { columns, roles, gathering, file, not_interfaces: 0 };
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                return Err(table.gathering.form(at(line), error.to_string()));
            }
        }
        if record.iter().any(|cell| !cell.is_empty()) {
            table.row(&record, at(record.position().map_or(0, csv::Position::line)))?;
        }
    }
    table.finish()
}

/// Roles by name in a table of devices, such as NetBox exports.
pub fn roles(text: &Text) -> Result<BTreeMap<String, String>, TopologyFileError> {
    let (content, _, separator) = dialect::split(&text.text);
    let mut reader = dialect::reader(content, separator);
    let form = |reason: String| TopologyFault::form(reason).at(&text.file, 1);
    let headers = reader.headers().map_err(|error| form(error.to_string()))?.clone();
    let position = |wanted: &[&str]| {
        headers.iter().position(|header| wanted.contains(&&header.to_lowercase().replace('_', " ")[..]))
    };
    let name = position(&["name", "device", "hostname"]);
    let role = position(&["role", "device role"]);
    let (Some(name), Some(role)) = (name, role) else {
        let reason = "a table of devices has the columns `name` and `role`";
        return Err(form(reason.to_owned()));
    };
    let mut roles = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| form(error.to_string()))?;
        if let (Some(name), Some(role)) = (record.get(name), record.get(role)) {
            roles.insert(name.to_owned(), role.to_owned());
        }
    }
    Ok(roles)
}

fn columns(headers: &csv::StringRecord) -> Result<Columns, String> {
    let mut columns = Columns::default();
    let names: Vec<&str> = headers.iter().collect();
    let set = |slot: &mut Option<usize>, number: usize| match slot.replace(number) {
        Some(first) => Err(format!(
            "the columns `{}` and `{}` have the same meaning; rename or remove one",
            excerpt(names[first], 40),
            excerpt(names[number], 40)
        )),
        None => Ok(()),
    };
    // `side_a_name` is the port where `side_a_device` is the device.
    let has_device = |side: usize| {
        names.iter().any(|name| {
            headers::meaning(name) == Some(Column::Device(side)) && !name.to_lowercase().ends_with("name")
        })
    };
    for (number, name) in names.iter().enumerate() {
        let is_name = name.to_lowercase().starts_with("side_") && name.to_lowercase().ends_with("_name");
        match headers::meaning(name) {
            Some(Column::Device(side)) if is_name && has_device(side) => {
                set(&mut columns.port[side], number)?
            }
            Some(Column::Device(side)) => set(&mut columns.device[side], number)?,
            Some(Column::Port(side)) => set(&mut columns.port[side], number)?,
            Some(Column::Role(side)) => set(&mut columns.role[side], number)?,
            Some(Column::Kind(side)) => set(&mut columns.kind[side], number)?,
            Some(Column::Status) => set(&mut columns.status, number)?,
            Some(Column::Speed(unit)) => columns.speeds.push((number, unit.or(sonic_unit(&names)))),
            None => {}
        }
    }
    for side in 0..2 {
        if columns.device[side].is_none() {
            // A port alone may hold both: `leaf1:swp1`.
            columns.device[side] = columns.port[side].take();
        }
    }
    if columns.device.iter().any(Option::is_none) {
        let have: Vec<String> =
            names.iter().take(12).map(|name| format!("`{}`", excerpt(name, 40))).collect();
        return Err(format!(
            "the columns {} do not name a device at each end; {}",
            have.join(", "),
            headers::KNOWN
        ));
    }
    Ok(columns)
}

/// The lists of cables of SONiC's test beds have numbers of megabits.
fn sonic_unit(headers: &[&str]) -> Option<u64> {
    let has = |wanted: &str| headers.iter().any(|header| header.eq_ignore_ascii_case(wanted));
    ["StartDevice", "EndDevice", "BandWidth"].into_iter().all(has).then_some(1_000_000)
}

impl Table<'_> {
    fn row(&mut self, record: &csv::StringRecord, at: Location) -> Result<(), TopologyFileError> {
        let cell = |column: Option<usize>| {
            column.and_then(|column| record.get(column)).filter(|cell| !cell.is_empty())
        };
        let is_interface = |kind: &str| kind.ends_with("interface") || !kind.contains('.');
        let kinds = self.columns.kind.map(cell);
        if kinds.iter().flatten().any(|kind| !is_interface(kind)) {
            self.not_interfaces += 1;
            return Ok(());
        }
        let mut ends = Vec::with_capacity(2);
        for side in 0..2 {
            let device = cell(self.columns.device[side]).unwrap_or_default();
            let (device, port) = match cell(self.columns.port[side]) {
                Some(port) => (device, Some(port)),
                None => device.split_once(':').map_or((device, None), |(device, port)| (device, Some(port))),
            };
            let name = ["a", "b"][side];
            if device.is_empty() && port.is_none() {
                return Err(self.gathering.form(at, format!("this row names no device at its end {name}")));
            }
            if device.is_empty() {
                // Such as a circuit, whose termination is no port of a device.
                self.gathering
                    .doubt(at, format!("a cable is left out: there is no device at its end {name}"));
                return Ok(());
            }
            let node = self.gathering.node(device, at)?;
            if let Some(role) = cell(self.columns.role[side]) {
                self.gathering.say(node, "role", role);
            }
            ends.push(End { node, port: port.map(str::to_owned) });
        }
        let [one, other] = [ends.remove(0), ends.remove(0)];
        if let Some(status) =
            cell(self.columns.status).filter(|status| ABSENT.contains(&&status.to_lowercase()[..]))
        {
            let ends = [&one, &other].map(|end| self.gathering.name(end.node));
            let text = format!("{} is left out: its status is {}", ends.join("--"), excerpt(status, 20));
            self.gathering.doubt(at, text);
            return Ok(());
        }
        let speed = self.speed(record, at)?;
        self.gathering.cable(Entry { ends: [one, other], speed, length: None, at })
    }

    /// The lowest of the speeds that a row has.
    fn speed(&self, record: &csv::StringRecord, at: Location) -> Result<Option<BitRate>, TopologyFileError> {
        let mut lowest: Option<BitRate> = None;
        for (column, unit) in &self.columns.speeds {
            let Some(cell) = record.get(*column).filter(|cell| !cell.is_empty()) else { continue };
            let scaled = || speed::scaled(cell, (*unit)? as f64);
            let speed = speed::parse(cell).or_else(scaled).ok_or_else(|| {
                let reason = format!("speed `{}` is not a number with a unit, like 100G", excerpt(cell, 40));
                self.gathering.form(at, reason)
            })?;
            lowest = Some(lowest.map_or(speed, |lowest| lowest.min(speed)));
        }
        Ok(lowest)
    }

    fn finish(mut self) -> Result<Sketch, TopologyFileError> {
        if self.not_interfaces > 0 {
            let cables = counted(self.not_interfaces, "cable", "cables");
            self.gathering.warnings.push(format!("left out {cables} between ports other than interfaces"));
        }
        self.gathering.learn_roles(self.roles, self.file);
        self.gathering.finish(Order::Undirected, "a column `speed`, with values like `100G`")
    }
}
