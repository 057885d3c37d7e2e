//! Trace files of the authors' simulator: JSON with `topo_type`, `topo_params` and `failure_events_list`.

use super::{EventList, LossEvent, Trace};
use crate::FileError;
use linkmend_topology::file::MAX_LINKS;
use linkmend_topology::{FabricParameters, LinkId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;

/// The authors' number for the Facebook fabric. 1 and 2 are the fat tree and leaf-spine, for which they have no traces.
const FABRIC: u64 = 3;

/// A trace and the fabric that it was made for.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthorsTrace {
    /// The fabric that it was made for.
    pub fabric: FabricParameters,
    /// The trace itself.
    pub trace: Trace,
}

#[derive(Deserialize)]
struct Kind {
    topo_type: u64,
}

#[derive(Deserialize)]
struct Head<'a> {
    topo_params: Parameters,
    #[serde(borrow)]
    failure_events_list: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Parameters {
    num_pods: u32,
    oversubscription: f64,
    link_capacity: f64,
    tors_per_pod: u32,
}

/// Reads a trace file of the authors' simulator.
///
/// # Errors
/// If the file cannot be read, is not of that form, is for another kind of network, or has an impossible event; with
/// the line.
pub fn read_authors(path: &Path) -> Result<AuthorsTrace, FileError> {
    let file = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => parse_authors(bytes, &file),
        Err(source) => Err(FileError::Io { file, source }),
    }
}

/// Reads the content of such a file; `file` is the name to use in messages.
///
/// # Errors
/// As [`read_authors`].
pub fn parse_authors(bytes: Vec<u8>, file: &str) -> Result<AuthorsTrace, FileError> {
    let form = |line, reason| FileError::Form { file: file.to_owned(), line, reason };
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        form(valid.iter().filter(|byte| **byte == b'\n').count() + 1, "not UTF-8 text".to_owned())
    })?;
    // The kind comes first, because other kinds have other parameters.
    let Kind { topo_type } =
        serde_json::from_str(&text).map_err(|error| form(error.line(), without_position(&error)))?;
    if topo_type != FABRIC {
        let reason = format!("topo_type {topo_type} is not 3, the Facebook fabric");
        return Err(form(line_of_key(&text, "topo_type"), reason));
    }
    let head: Head =
        serde_json::from_str(&text).map_err(|error| form(error.line(), without_position(&error)))?;
    let fabric = fabric(&head).map_err(|(key, reason)| form(line_of_key(&text, key), reason))?;
    let mut events = EventList::new(fabric.links() as usize);
    for raw in &head.failure_events_list {
        let at = |reason| form(line_of(&text, raw.get()), reason);
        event(raw).and_then(|event| events.push(event)).map_err(at)?;
    }
    Ok(AuthorsTrace { fabric, trace: events.finish() })
}

fn fabric(head: &Head) -> Result<FabricParameters, (&'static str, String)> {
    let Parameters { num_pods, oversubscription, link_capacity, tors_per_pod } = head.topo_params;
    if !(oversubscription >= 1.0 && oversubscription <= f64::from(tors_per_pod)) {
        let reason =
            format!("oversubscription {oversubscription} is not from 1 to tors_per_pod ({tors_per_pod})");
        return Err(("oversubscription", reason));
    }
    if !(1e-9..=10_000.0).contains(&link_capacity) {
        let reason = format!("link_capacity {link_capacity} is not from 1e-9 to 10000 Gb/s");
        return Err(("link_capacity", reason));
    }
    if num_pods == 0 || num_pods > 65_536 {
        return Err(("num_pods", format!("num_pods {num_pods} is not from 1 to 65536")));
    }
    if tors_per_pod == 0 || tors_per_pod > 4096 {
        return Err(("tors_per_pod", format!("tors_per_pod {tors_per_pod} is not from 1 to 4096")));
    }
    let fabric = FabricParameters {
        pods: num_pods,
        tors_per_pod,
        spines_per_plane: (f64::from(tors_per_pod) / oversubscription) as u32,
        bits_per_second: (link_capacity * 1e9).round() as u64,
        ..FabricParameters::PAPER
    };
    if fabric.links() > MAX_LINKS {
        let reason = format!("the fabric would have {} links; at most {MAX_LINKS} are read", fabric.links());
        return Err(("num_pods", reason));
    }
    Ok(fabric)
}

fn event(raw: &RawValue) -> Result<LossEvent, String> {
    let (time_s, link, loss_rate): (f64, u64, f64) = serde_json::from_str(raw.get()).map_err(|error| {
        // The library counts its position from the start of the event; the caller knows the position of the event in
        // the file.
        format!("not [time_s, link_id, loss_rate]: {}", without_position(&error))
    })?;
    if time_s < 0.0 || time_s.fract() != 0.0 || time_s > 2_f64.powi(53) {
        return Err(format!("time_s {time_s} is not a whole number of seconds, 0 or more"));
    }
    let link = u32::try_from(link).map_err(|_| format!("link {link} does not exist"))?;
    Ok(LossEvent { time_s: time_s as u64, link: LinkId(link), loss_rate })
}

/// The message without its position, since it already begins with the line.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(&message[..], |(reason, _)| reason).to_owned()
}

/// The line of a part of a text, from 1.
fn line_of(text: &str, part: &str) -> usize {
    let offset = part.as_ptr() as usize - text.as_ptr() as usize;
    text[..offset].matches('\n').count() + 1
}

fn line_of_key(text: &str, key: &str) -> usize {
    text.find(&format!("\"{key}\"")).map_or(1, |offset| line_of(text, &text[offset..]))
}
