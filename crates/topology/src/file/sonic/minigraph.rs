//! A minigraph: `DeviceInterfaceLinks` says which cables there are, and `Devices` what is at their ends.

use super::super::draft::counted;
use super::super::xml::{self, Xml};
use super::super::{TopologyFault, TopologyFileError};
use super::{Cable, Facts, megabits};
use roxmltree::Node;
use std::collections::BTreeSet;

/// The attribute in which a device's type is, too.
const TYPE: (&str, &str) = ("http://www.w3.org/2001/XMLSchema-instance", "type");

/// What the minigraph of a switch says of cables and devices.
pub fn parse(text: &str, file: &str) -> Result<Facts, TopologyFileError> {
    let xml = Xml::parse(text.trim_start_matches('\u{feff}'), file)?;
    let root = xml.document.root_element();
    let mut facts = Facts { own: xml::text(root, "Hostname").map(str::to_owned), ..Facts::default() };
    let Some(png) = xml::child(root, "PngDec") else {
        let reason = "this minigraph has no `PngDec`, which lists the cables";
        return Err(TopologyFault::form(reason).at(file, xml.line(root)));
    };
    for device in xml::child(png, "Devices").iter().flat_map(|devices| xml::children(*devices, "Device")) {
        let kind = xml::text(device, "ElementType").or_else(|| device.attribute(TYPE));
        if let (Some(name), Some(kind)) = (xml::text(device, "Hostname"), kind) {
            let kind = kind.rsplit_once(':').map_or(kind, |(_, kind)| kind);
            facts.types.push((name.to_owned(), kind.to_owned(), xml.line(device)));
        }
    }
    // Links to the ASICs of a chassis are inside of it.
    let asics: BTreeSet<String> =
        facts.types.iter().filter(|(_, kind, _)| kind == "Asic").map(|(name, ..)| name.clone()).collect();
    let is_asic = |name: &str| asics.contains(name);
    let mut inside = 0;
    for link in xml::child(png, "DeviceInterfaceLinks")
        .iter()
        .flat_map(|links| xml::children(*links, "DeviceLinkBase"))
    {
        let line = xml.line(link);
        // Console and management cables are no part of the fabric.
        if !xml::text(link, "ElementType").is_none_or(|kind| kind.ends_with("InterfaceLink")) {
            continue;
        }
        let end = |device: &str, port: &str| {
            Some((xml::text(link, device)?.to_owned(), xml::text(link, port).map(str::to_owned)))
        };
        let [Some(start), Some(far)] = [end("StartDevice", "StartPort"), end("EndDevice", "EndPort")] else {
            facts.doubts.push((line, "a link is left out: it has no device at one of its ends".to_owned()));
            continue;
        };
        if is_asic(&start.0) || is_asic(&far.0) {
            inside += 1;
            continue;
        }
        let speed = xml::text(link, "Bandwidth").and_then(megabits);
        facts.cables.push(Cable { ends: [start, far], speed, line });
    }
    if inside > 0 {
        facts
            .doubts
            .push((0, format!("left out {} to ASICs inside the chassis", counted(inside, "link", "links"))));
    }
    let interfaces = root.descendants().filter(|node| node.tag_name().name() == "EthernetInterface");
    facts.speeds.extend(interfaces.filter_map(speed_of));
    Ok(facts)
}

fn speed_of(interface: Node<'_, '_>) -> Option<(String, linkmend_quantity::BitRate)> {
    let speed = xml::text(interface, "Speed").and_then(megabits)?;
    Some((xml::text(interface, "InterfaceName")?.to_owned(), speed))
}
