//! Linkmend's own format: lists of switches and links.

use super::draft::{Draft, DraftSwitch, Location};
use super::yaml::{self, WholeNumber, WithLine};
use super::{Loaded, MAX_LINKS, MAX_SWITCHES, TopologyFault, TopologyFileError, TopologyFileOptions};
use linkmend_quantity::BitRate;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default_speed: Option<BitRate>,
    #[serde(deserialize_with = "switches")]
    switches: Vec<WithLine<SwitchEntry>>,
    #[serde(default, deserialize_with = "links")]
    links: Vec<WithLine<LinkEntry>>,
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
    name: Option<String>,
    speed: Option<BitRate>,
}

fn switches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WithLine<SwitchEntry>>, D::Error> {
    yaml::at_most(deserializer, MAX_SWITCHES, "switches")
}

fn links<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WithLine<LinkEntry>>, D::Error> {
    yaml::at_most(deserializer, MAX_LINKS, "links")
}

pub(super) fn read(
    text: String,
    file: String,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    let parsed: File = yaml::parse(&text, &file)?;
    // The text of ten million links is most of a gigabyte, and everything needed has been copied out of it.
    drop(text);
    let default_speed = parsed.default_speed.or(options.default_speed);
    let mut draft = Draft::default();
    let file = draft.file(file);
    for WithLine { value: SwitchEntry { name, layer, pod, pipes }, line } in parsed.switches {
        let pipes = pipes.map(|pipes| pipes.0);
        draft.switch(DraftSwitch { name, layer: layer.0, pod, pipes, location: Location { file, line } })?;
    }
    for WithLine { value: link, line } in parsed.links {
        add_link(&mut draft, link, Location { file, line }, default_speed)?;
    }
    let mut warnings = Vec::new();
    let topology = draft.finish(&mut warnings)?;
    Ok(Loaded { topology, warnings })
}

fn add_link(
    draft: &mut Draft,
    link: LinkEntry,
    location: Location,
    default_speed: Option<BitRate>,
) -> Result<(), TopologyFileError> {
    let LinkEntry { from, to, name, speed } = link;
    let called = || name.clone().unwrap_or_else(|| format!("{}--{}", from.value, to.value));
    let end = |end: &WithLine<String>| {
        draft.find(&end.value).ok_or_else(|| {
            let fault = TopologyFault::UnknownSwitch { link: called(), switch: end.value.clone() };
            draft.refuse(Location { line: end.line, ..location }, fault)
        })
    };
    let ends = [end(&from)?, end(&to)?];
    let speed = speed.or(default_speed).ok_or_else(|| {
        draft.refuse(location, TopologyFault::NoSpeed { link: called(), how: "a `speed`, like `100G`" })
    })?;
    draft.link(ends, name, speed, location)
}
