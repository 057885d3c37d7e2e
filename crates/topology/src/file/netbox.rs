//! Cables as NetBox's REST API gives them: `/api/dcim/cables/`, a page or its list of results alone.

use super::draft::{Location, counted};
use super::gather::{End, Entry, Gathering, Order};
use super::sketch::Sketch;
use super::value::Value;
use super::yaml::{self, Text, WithLine};
use super::{TopologyFault, TopologyFileError};
use std::collections::BTreeMap;

/// The kind of port of which cables are links.
const INTERFACE: &str = "dcim.interface";

pub(super) fn read(
    text: &str,
    file: String,
    roles: &BTreeMap<String, String>,
) -> Result<Sketch, TopologyFileError> {
    let page: WithLine<Value> = yaml::parse_foreign(text, &file)?;
    let cables = results(&page, &file)?;
    let mut gathering = Gathering::default();
    let number = gathering.file(file);
    let mut not_interfaces = 0;
    for cable in cables {
        let at = Location { file: number, line: cable.line };
        let sides = ["a", "b"].map(|side| terminations(&cable.value, side));
        let [Some(one), Some(other)] = &sides else {
            let reason = "this is not a NetBox cable: it has no `a_terminations` and `b_terminations`";
            return Err(gathering.form(at, reason));
        };
        if one.iter().chain(other).any(|end| end.kind != INTERFACE) {
            not_interfaces += 1;
            continue;
        }
        if let Some(status) = cable.value.get("status").map(|status| named(&status.value, "value"))
            && status.as_deref().is_some_and(|status| status != "connected" && status != "active")
        {
            let text = format!("a cable is left out: its status is {}", status.unwrap_or_default());
            gathering.doubt(at, text);
            continue;
        }
        let ([one], [other]) = (&one[..], &other[..]) else {
            let ports = |side: &[Termination]| {
                side.iter().map(|end| format!("{}:{}", end.device, end.port)).collect::<Vec<_>>().join(", ")
            };
            let text = format!(
                "a cable is left out: it does not connect two ports, but {} and {}",
                ports(one),
                ports(other)
            );
            gathering.doubt(at, linkmend_diagnose::printable(&text));
            continue;
        };
        let mut end = |end: &Termination| {
            Ok::<End, TopologyFileError>(End {
                node: gathering.node(&end.device, at)?,
                port: Some(end.port.clone()),
            })
        };
        let ends = [end(one)?, end(other)?];
        gathering.cable(Entry { ends, speed: None, length: None, at })?;
    }
    if not_interfaces > 0 {
        let cables = counted(not_interfaces, "cable", "cables");
        gathering.warnings.push(format!("left out {cables} between ports other than interfaces"));
    }
    gathering.learn_roles(roles, number);
    gathering.finish(Order::Undirected, "an option `--default-speed`, as NetBox's cables have no speeds")
}

/// Roles by name in what `/api/dcim/devices/` gives.
pub(super) fn roles(Text { file, text }: &Text) -> Result<BTreeMap<String, String>, TopologyFileError> {
    let page: WithLine<Value> = yaml::parse_foreign(text, file)?;
    let role = |device: &WithLine<Value>| {
        let role = device.value.get("role").or_else(|| device.value.get("device_role"))?;
        Some((device.value.text_of("name")?.to_owned(), named(&role.value, "slug")?))
    };
    Ok(results(&page, file)?.iter().filter_map(role).collect())
}

/// The entries of a page, which must be the only one.
fn results<'a>(page: &'a WithLine<Value>, file: &str) -> Result<&'a [WithLine<Value>], TopologyFileError> {
    if let Some(next) = page.value.get("next").filter(|next| next.value.text().is_some()) {
        let reason = "this is only one page of several (`next`); request all from NetBox with `?limit=0`";
        return Err(TopologyFault::form(reason).at(file, next.line));
    }
    match &page.value {
        Value::List(entries) => Ok(entries),
        page => Ok(page.get("results").map_or(&[][..], |results| results.value.entries())),
    }
}

/// One end of a cable.
struct Termination {
    kind: String,
    device: String,
    port: String,
}

/// The ends of one side: a list since version 3.3, and one end before.
fn terminations(cable: &Value, side: &str) -> Option<Vec<Termination>> {
    if let Some(list) = cable.get(&format!("{side}_terminations")) {
        let end = |end: &WithLine<Value>| {
            let kind = end.value.text_of("object_type").unwrap_or_default().to_owned();
            Some(termination(kind, &end.value.get("object")?.value))
        };
        return Some(list.value.entries().iter().filter_map(end).collect());
    }
    let object = cable.get(&format!("termination_{side}"))?;
    let kind = cable.text_of(&format!("termination_{side}_type")).unwrap_or_default().to_owned();
    Some(vec![termination(kind, &object.value)])
}

fn termination(kind: String, object: &Value) -> Termination {
    let device = object.get("device").and_then(|device| named(&device.value, "name"));
    let port = object.text_of("name").unwrap_or_default().to_owned();
    Termination { kind, device: device.unwrap_or_default(), port }
}

/// A text, or that of a key of a mapping.
fn named(value: &Value, key: &str) -> Option<String> {
    let of_key = || value.text_of(key).or_else(|| value.text_of("name")).or_else(|| value.text_of("display"));
    value.text().or_else(of_key).map(str::to_owned)
}
