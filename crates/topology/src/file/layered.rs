//! Linkmend's own format: lists of switches, links and hosts.

use super::draft::{Draft, DraftSwitch, Location};
use super::yaml::{self, WholeNumber, WithLine};
use super::{
    HostLink, Loaded, MAX_HOST_LINKS, MAX_LINKS, MAX_SWITCHES, PortCable, TopologyFault, TopologyFileError,
    TopologyFileOptions,
};
use linkmend_quantity::{BitRate, Distance};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default_speed: Option<BitRate>,
    default_length: Option<Distance>,
    #[serde(deserialize_with = "switches")]
    switches: Vec<WithLine<SwitchEntry>>,
    #[serde(default, deserialize_with = "links")]
    links: Vec<WithLine<LinkEntry>>,
    #[serde(default, deserialize_with = "hosts")]
    hosts: Vec<WithLine<HostEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchEntry {
    name: String,
    layer: WholeNumber,
    pod: Option<String>,
    pipes: Option<WholeNumber>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    from: WithLine<String>,
    to: WithLine<String>,
    from_port: Option<String>,
    to_port: Option<String>,
    name: Option<String>,
    speed: Option<BitRate>,
    length: Option<Distance>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostEntry {
    name: String,
    to: WithLine<String>,
    port: Option<String>,
    speed: Option<BitRate>,
    length: Option<Distance>,
}

const ONE_PORT: &str = "a link has both `from_port` and `to_port`, or neither";

/// What links have that say nothing themselves.
#[derive(Clone, Copy)]
struct Defaults {
    speed: Option<BitRate>,
    length: Option<Distance>,
}

fn switches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WithLine<SwitchEntry>>, D::Error> {
    yaml::at_most(deserializer, MAX_SWITCHES, "switches")
}

fn links<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WithLine<LinkEntry>>, D::Error> {
    yaml::at_most(deserializer, MAX_LINKS, "links")
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WithLine<HostEntry>>, D::Error> {
    yaml::at_most(deserializer, MAX_HOST_LINKS, "links of hosts")
}

pub(super) fn read(
    text: String,
    file: String,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    if options.layers.is_some() {
        let reason = "this file specifies the layers itself (`layer`), so rules for layers cannot be used";
        return Err(TopologyFault::form(reason).at(&file, None));
    }
    let parsed: File = yaml::parse(&text, &file)?;
    // The text of ten million links is most of a gigabyte, and everything needed has been copied out of it.
    drop(text);
    let speed = parsed.default_speed.or(options.default_speed);
    let defaults = Defaults { speed, length: parsed.default_length };
    let mut draft = Draft::default();
    let file = draft.file(file);
    for WithLine { value: SwitchEntry { name, layer, pod, pipes }, line } in parsed.switches {
        let pipes = pipes.map(|pipes| pipes.0);
        draft.switch(DraftSwitch { name, layer: layer.0, pod, pipes, location: Location { file, line } })?;
    }
    for WithLine { value: link, line } in parsed.links {
        add_link(&mut draft, link, Location { file, line }, defaults)?;
    }
    for WithLine { value: host, line } in parsed.hosts {
        add_host(&mut draft, host, Location { file, line }, defaults)?;
    }
    draft.finish(Vec::new())
}

#[derive(Deserialize)]
struct CablesOnly {
    #[serde(default, deserialize_with = "links")]
    links: Vec<WithLine<LinkEntry>>,
}

/// The cables with ports, whether or not the file says layers.
pub(super) fn cables(text: &str, file: &str) -> Result<Vec<PortCable>, TopologyFileError> {
    let parsed: CablesOnly = yaml::parse_foreign(text, file)?;
    let mut cables = Vec::new();
    for WithLine { value: link, line } in parsed.links {
        match (link.from_port, link.to_port) {
            (Some(one), Some(other)) => cables.push([(link.from.value, one), (link.to.value, other)]),
            (None, None) => {}
            _ => return Err(TopologyFault::form(ONE_PORT).at(file, line)),
        }
    }
    Ok(cables)
}

fn add_host(
    draft: &mut Draft,
    entry: HostEntry,
    location: Location,
    defaults: Defaults,
) -> Result<(), TopologyFileError> {
    let HostEntry { name: host, to, port, speed, length } = entry;
    let switch = draft.find(&to.value).ok_or_else(|| {
        let fault =
            TopologyFault::UnknownSwitch { link: format!("{host}--{}", to.value), switch: to.value.clone() };
        draft.refuse(Location { line: to.line, ..location }, fault)
    })?;
    let (speed, length) = (speed.or(defaults.speed), length.or(defaults.length));
    draft.host_link(HostLink { host, switch, port, speed, length }, location)
}

fn add_link(
    draft: &mut Draft,
    link: LinkEntry,
    location: Location,
    defaults: Defaults,
) -> Result<(), TopologyFileError> {
    let LinkEntry { from, to, from_port, to_port, name, speed, length } = link;
    let called = || name.clone().unwrap_or_else(|| format!("{}--{}", from.value, to.value));
    let end = |end: &WithLine<String>| {
        draft.find(&end.value).ok_or_else(|| {
            let fault = TopologyFault::UnknownSwitch { link: called(), switch: end.value.clone() };
            draft.refuse(Location { line: end.line, ..location }, fault)
        })
    };
    let ends = [end(&from)?, end(&to)?];
    let speed = speed.or(defaults.speed).ok_or_else(|| {
        draft.refuse(location, TopologyFault::NoSpeed { link: called(), how: "a `speed`, like `100G`" })
    })?;
    draft.link(ends, name, speed, length.or(defaults.length), location)?;
    match (from_port, to_port) {
        (Some(one), Some(other)) => draft.ports([one, other]),
        (None, None) => {}
        _ => {
            let fault = TopologyFault::form(ONE_PORT);
            return Err(draft.refuse(location, fault));
        }
    }
    Ok(())
}
