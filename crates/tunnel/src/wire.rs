//! The format of the datagrams.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | version (high four bits, 1) and kind |
//! | 8 | token: what the receiving end has given the sending end; 0 if that has none |
//! | 8 | number: of a datagram with frames, its outer number; of a hello or report, its place among these; of a probe or its acknowledgement, the length of the probe |
//! | rest | depends on the kind |
//!
//! Numbers are sent in full, so nothing has to be restored from the context. All fields are in network byte order.
//!
//! *Frames* (kind 0) carry one record after another: two bits for the part (0 a whole frame, 1 the first part of one, 2 a
//! part in the middle, 3 the last part), 14 bits for the length, and the bytes. A first part is the last record of its
//! datagram, a last part the first record, and a part in the middle the only one.
//!
//! *Hello* (1) carries the sender's session (8), the token that it grants (8, 0 for none), and whether it knows the
//! receiver (1).
//!
//! *Probe* (2) is filled with zeros up to the length to be tried. *Probe acknowledgement* (3) carries nothing more.
//!
//! *Report* (7) says which datagrams with frames have arrived: the highest number (8), when it arrived by the sender's
//! clock in nanoseconds (8), nanoseconds since then (8), bytes of all that have arrived (8), the number below which it is
//! certain which are lost (8), how many are (8), and how many arrived with a mark of congestion (8).

/// Length of the header.
pub const HEADER_BYTES: usize = 17;
/// Length of the head of a record.
pub const RECORD_BYTES: usize = 2;
/// Length of a hello.
pub const HELLO_BYTES: usize = HEADER_BYTES + 17;
/// Length of a report.
pub const REPORT_BYTES: usize = HEADER_BYTES + 7 * 8;
/// The longest datagram: a packet of 9,000 bytes without the headers of IPv4 and UDP.
pub const DATAGRAM_BYTES_MAX: usize = 8_972;
/// The longest frame: one of an MTU of 9,216 and 1,010 bytes for headers and tags.
pub const FRAME_BYTES_MAX: usize = 10_240;
/// The shortest frame: an Ethernet header.
pub const FRAME_BYTES_MIN: usize = 14;
/// The largest outer number. At a million datagrams a second, it lasts for 292,000 years.
pub const NUMBER_MAX: u64 = u64::MAX >> 1;

const VERSION: u8 = 1;
const LENGTH_MASK: u16 = 0x3fff;
const _: () = assert!(DATAGRAM_BYTES_MAX <= FRAME_BYTES_MAX && FRAME_BYTES_MAX <= LENGTH_MASK as usize);

/// What a record carries of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    First,
    Middle,
    Last,
}

/// A part of a frame, or a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub part: Part,
    pub bytes: &'a [u8],
}

/// How an end introduces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Drawn at random when the end started. Not 0.
    pub session: u64,
    /// The token with which the receiver is to answer; 0 for none.
    pub grant: u64,
    /// Whether the sender knows the receiver.
    pub knows_receiver: bool,
}

/// What the sender of a report has received, all in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The highest outer number that has arrived.
    pub highest: u64,
    /// When it arrived, by the clock of the sender of the report.
    pub arrived_ns: u64,
    /// How long that was ago.
    pub held_ns: u64,
    /// Bytes of all datagrams that have arrived, with the header and each once.
    pub bytes: u64,
    /// Below this number, it is certain which datagrams are lost.
    pub decided: u64,
    /// How many are.
    pub lost: u64,
    /// How many datagrams arrived with a mark of congestion.
    pub marked: u64,
}

impl Report {
    /// What has happened since an earlier one, as the differences of the counters. `None` if one of them cannot follow the other.
    pub(crate) fn since(&self, before: &Report) -> Option<Report> {
        let lost = self.lost.checked_sub(before.lost)?;
        let decided = self.decided.checked_sub(before.decided)?;
        let is_possible = lost <= decided && self.highest >= before.highest;
        is_possible.then_some(Report {
            bytes: self.bytes.checked_sub(before.bytes)?,
            marked: self.marked.checked_sub(before.marked)?,
            lost,
            decided,
            ..*self
        })
    }
}

/// What a datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Records, which [`records`] takes apart.
    Frames(&'a [u8]),
    Hello(Hello),
    /// Tries this length.
    Probe(usize),
    /// A probe of this length has arrived.
    ProbeAcknowledged(usize),
    /// What has arrived.
    Report(Report),
}

/// A datagram that follows the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub token: u64,
    pub number: u64,
    pub body: Body<'a>,
}

/// Takes a datagram apart. `None` if it does not follow the format.
pub fn parse(datagram: &[u8]) -> Option<Datagram<'_>> {
    if datagram.len() > DATAGRAM_BYTES_MAX {
        return None;
    }
    let (&first, rest) = datagram.split_first()?;
    let (token, rest) = number_at(rest)?;
    let (number, rest) = number_at(rest)?;
    if first >> 4 != VERSION || number > NUMBER_MAX {
        return None;
    }
    let length = || usize::try_from(number).ok().filter(|length| *length <= DATAGRAM_BYTES_MAX);
    let body = match first & 0xf {
        0 if are_records(rest) => Body::Frames(rest),
        1 => Body::Hello(hello(rest)?),
        2 if length()? == datagram.len() => Body::Probe(datagram.len()),
        3 if rest.is_empty() => Body::ProbeAcknowledged(length()?),
        7 => Body::Report(report(rest)?),
        _ => return None,
    };
    Some(Datagram { token, number, body })
}

fn number_at(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}

fn hello(bytes: &[u8]) -> Option<Hello> {
    let (session, rest) = number_at(bytes)?;
    let (grant, rest) = number_at(rest)?;
    let &[knows @ (0 | 1)] = rest else { return None };
    (session != 0).then_some(Hello { session, grant, knows_receiver: knows == 1 })
}

fn report(bytes: &[u8]) -> Option<Report> {
    let (fields, []) = bytes.as_chunks::<8>() else { return None };
    let fields: &[[u8; 8]; 7] = fields.try_into().ok()?;
    let [highest, arrived_ns, held_ns, bytes, decided, lost, marked] = fields.map(u64::from_be_bytes);
    let is_possible = highest <= NUMBER_MAX && decided <= highest + 1;
    is_possible.then_some(Report { highest, arrived_ns, held_ns, bytes, decided, lost, marked })
}

/// The records of a body of frames, up to the first that is damaged. [`parse`] accepts none that is.
pub fn records(mut body: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (record, rest) = record(body)?;
        body = rest;
        Some(record)
    })
}

fn record(body: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let (head, rest) = body.split_first_chunk()?;
    let head = u16::from_be_bytes(*head);
    let (bytes, rest) = rest.split_at_checked(usize::from(head & LENGTH_MASK))?;
    let part = match head >> 14 {
        0 => Part::Whole,
        1 => Part::First,
        2 => Part::Middle,
        _ => Part::Last,
    };
    Some((Record { part, bytes }, rest))
}

fn are_records(body: &[u8]) -> bool {
    let mut left = body;
    while let Some((Record { part, bytes }, rest)) = record(left) {
        let (is_first, is_last) = (left.len() == body.len(), rest.is_empty());
        let fits = match part {
            Part::Whole => (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&bytes.len()),
            Part::First => is_last,
            Part::Middle => is_first && is_last,
            Part::Last => is_first,
        };
        if !fits || bytes.is_empty() {
            return false;
        }
        left = rest;
    }
    left.is_empty() && !body.is_empty()
}

pub(crate) fn write_header(out: &mut Vec<u8>, kind: u8, token: u64, number: u64) {
    out.clear();
    out.push(VERSION << 4 | kind);
    out.extend_from_slice(&token.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
}

pub(crate) fn write_record_head(out: &mut Vec<u8>, part: Part, bytes: usize) {
    let part = match part {
        Part::Whole => 0,
        Part::First => 1,
        Part::Middle => 2,
        Part::Last => 3,
    };
    out.extend_from_slice(&(part << 14 | bytes as u16).to_be_bytes());
}

/// Writes a datagram without frames.
pub(crate) fn write(out: &mut Vec<u8>, token: u64, number: u64, body: &Body<'_>) {
    match *body {
        Body::Frames(records) => {
            write_header(out, 0, token, number);
            out.extend_from_slice(records);
        }
        Body::Hello(hello) => {
            write_header(out, 1, token, number);
            out.extend_from_slice(&hello.session.to_be_bytes());
            out.extend_from_slice(&hello.grant.to_be_bytes());
            out.push(u8::from(hello.knows_receiver));
        }
        Body::Probe(length) => {
            write_header(out, 2, token, length as u64);
            out.resize(length, 0);
        }
        Body::ProbeAcknowledged(length) => write_header(out, 3, token, length as u64),
        Body::Report(report) => {
            write_header(out, 7, token, number);
            let Report { highest, arrived_ns, held_ns, bytes, decided, lost, marked } = report;
            for field in [highest, arrived_ns, held_ns, bytes, decided, lost, marked] {
                out.extend_from_slice(&field.to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back() {
        let hello = Hello { session: 7, grant: 9, knows_receiver: true };
        let records = [[0, 14].as_slice(), &[1; 14], &[0x40, 3], &[2; 3]].concat();
        let report =
            Report { highest: 9, arrived_ns: 1, held_ns: 2, bytes: 3, decided: 10, lost: 5, marked: 6 };
        let bodies = [Body::Frames(&records), Body::Hello(hello), Body::Probe(1200), Body::Report(report)];
        for body in bodies.into_iter().chain([Body::ProbeAcknowledged(1472)]) {
            let mut out = Vec::new();
            write(&mut out, 3, 5, &body);
            let read = parse(&out).expect("it follows the format");
            assert_eq!((read.token, read.body), (3, body));
            let is_boundary = |end: usize| matches!(body, Body::Frames(_)) && end == HEADER_BYTES + 16;
            let mut parts = (0..out.len()).filter(|end| !is_boundary(*end));
            assert!(parts.all(|end| parse(&out[..end]).is_none()), "a part of {body:?}");
        }
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        let refused: [&[u8]; 7] = [
            &[],
            &[0, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x40, 0],
            &[0x40, 1, 1, 0xc0, 1, 1],
            &[0x80, 1, 1, 0x80, 1, 1],
            &[0xc0, 1, 1, 0xc0, 1, 1],
            &[0xc0, 2, 1],
        ];
        for records in refused {
            assert!(!are_records(records), "{records:?}");
        }
        assert!(are_records(&[0xc0, 1, 1, 0x40, 1, 1]), "the end of a frame and the beginning of the next");
    }
}
