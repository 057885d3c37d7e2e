//! Reads what the operator reports: a CSV file of links that corrupt or are disabled.

use crate::FileError;
use linkmend_quantity::LossRate;
use linkmend_topology::{Link, LinkFinder, LinkId, SwitchId, Topology};
use std::collections::BTreeMap;
use std::io::BufRead;

/// A link that counts corrupted frames or is disabled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportedLink {
    pub link: LinkId,
    /// The switch whose port counts them, if that is known. A link that counts at both ends is reported twice.
    pub receiver: Option<SwitchId>,
    /// Share of frames that it loses, 0 to 1; a disabled link may have none.
    pub loss_rate: Option<f64>,
    /// Whether it is disabled already.
    pub disabled: bool,
}

/// The expected first line, for messages.
const HEADER: &str = "link,loss_rate`, `link,loss_rate,state` or `link,loss_rate,receiver,state";

/// Reads links as CSV with the header `link,loss_rate` and, optionally, `receiver` (the switch whose port counts) and
/// `state`. `file` is the name to use in messages.
/// Columns may come in any order; empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// If a line is not of that form, names a link that does not exist or was named before (with the same receiver, if lines
/// have one), or has no loss rate from 0 to 1.
pub fn read_links(
    reader: impl BufRead,
    file: &str,
    topology: &Topology,
) -> Result<Vec<ReportedLink>, FileError> {
    let finder = LinkFinder::new(topology);
    let mut columns = None;
    let mut lines: BTreeMap<(LinkId, Option<SwitchId>), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, text) in reader.lines().enumerate() {
        let form = |reason| FileError::Form { file: file.to_owned(), line: index + 1, reason };
        let text = text.map_err(|source| FileError::line(source, file, index + 1))?;
        // Spreadsheets begin their files with a byte order mark.
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let fields = fields(text).map_err(form)?;
        let Some(columns) = &columns else {
            columns = Some(Columns::parse(&fields).map_err(form)?);
            continue;
        };
        let reported = columns.link(&fields, &finder, topology).map_err(form)?;
        if let Some(first) = lines.insert((reported.link, reported.receiver), index + 1) {
            let name = topology.full_label(reported.link);
            let reason = format!("link {name} is already on line {first}; list each link only once");
            return Err(form(reason));
        }
        found.push(reported);
    }
    if columns.is_none() {
        let reason = format!("the header is missing; the first line must be `{HEADER}`");
        return Err(FileError::Form { file: file.to_owned(), line: 1, reason });
    }
    Ok(found)
}

/// The position of each column.
struct Columns {
    link: usize,
    loss_rate: usize,
    receiver: Option<usize>,
    state: Option<usize>,
    count: usize,
}

impl Columns {
    fn parse(fields: &[String]) -> Result<Columns, String> {
        let (mut link, mut loss_rate, mut receiver, mut state) = (None, None, None, None);
        for (index, field) in fields.iter().enumerate() {
            let place = match field.as_str() {
                "link" => &mut link,
                "loss_rate" => &mut loss_rate,
                "receiver" => &mut receiver,
                "state" => &mut state,
                _ if !fields.iter().any(|field| field == "link") => {
                    return Err(format!("the header is missing; the first line must be `{HEADER}`"));
                }
                _ => return Err(format!("there is no column `{field}`; the header is `{HEADER}`")),
            };
            if place.replace(index).is_some() {
                return Err(format!("the column `{field}` occurs twice"));
            }
        }
        match (link, loss_rate) {
            (Some(link), Some(loss_rate)) => {
                Ok(Columns { link, loss_rate, receiver, state, count: fields.len() })
            }
            (None, _) => Err(format!("the column `link` is missing; the header is `{HEADER}`")),
            (_, None) => Err(format!("the column `loss_rate` is missing; the header is `{HEADER}`")),
        }
    }

    fn link(
        &self,
        fields: &[String],
        finder: &LinkFinder,
        topology: &Topology,
    ) -> Result<ReportedLink, String> {
        // The state may be omitted at the end of a line, together with its comma.
        let shortened = self.state == Some(self.count - 1) && fields.len() == self.count - 1;
        if fields.len() != self.count && !shortened {
            return Err(format!("{} fields, but the header has {}", fields.len(), self.count));
        }
        let link = finder.find(&fields[self.link]).map_err(|error| error.to_string())?;
        let receiver =
            self.receiver.map(|receiver| fields[receiver].as_str()).filter(|name| !name.is_empty());
        let receiver = receiver.map(|name| end_of(topology, link, name)).transpose()?;
        let state = self.state.and_then(|state| fields.get(state)).map_or("", String::as_str);
        let disabled = match state {
            "" | "active" => false,
            "disabled" => true,
            _ => return Err(format!("state `{state}` is neither `active` nor `disabled`")),
        };
        let written = fields[self.loss_rate].as_str();
        if written.is_empty() {
            if disabled {
                return Ok(ReportedLink { link, receiver, loss_rate: None, disabled });
            }
            return Err("the loss rate is missing; it is optional only for disabled links".to_owned());
        }
        let loss_rate: LossRate = written.parse().map_err(|_| {
            format!("loss rate `{written}` is not a number from 0 to 1 or a percentage, like 1e-3 or 0.1%")
        })?;
        Ok(ReportedLink { link, receiver, loss_rate: Some(loss_rate.0), disabled })
    }
}

/// The end of a link that has this name.
fn end_of(topology: &Topology, link: LinkId, name: &str) -> Result<SwitchId, String> {
    let Link { lower, upper, .. } = *topology.link(link);
    let named = |end: &SwitchId| topology.names().switch(*end) == name;
    [lower, upper].into_iter().find(named).ok_or_else(|| {
        let [lower, upper] = [lower, upper].map(|end| topology.names().switch(end));
        format!("receiver `{name}` is neither end of the link; write {lower} or {upper}")
    })
}

/// The fields of a line, without the spaces around them. A field in double quotes may contain commas (RFC 4180).
fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (field, after) = quoted_field(quoted)?;
                (field, after.trim_start())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim_end().to_owned(), &rest[end..])
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err("text follows the closing quote of a field".to_owned()),
        }
    }
}

/// The text of a field after its opening quote, and what follows its closing one. A doubled quote stands for one.
fn quoted_field(text: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    while let Some(end) = rest.find('"') {
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return Ok((field, rest)),
        }
    }
    Err("a quote is not closed".to_owned())
}
