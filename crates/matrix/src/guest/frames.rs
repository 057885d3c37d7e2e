//! Numbered frames, and the check that they arrived unchanged.
//!
//! ```text
//! dst(6) src(6) [tag(4)] EtherType(2) | kind(4) run(4) number(8) | bytes that follow from the number ... | number(8)
//! ```
//! The receiver answers with frames of another kind, whose number is one more than the highest that has arrived.

use crate::request::Traffic;

/// IEEE 802 local experimental 2, which no host answers. The first one is Linkmend's own.
const ETHERTYPE: [u8; 2] = [0x88, 0xb6];
const VLAN: [u8; 2] = [0x81, 0x00];
const BYTES_MIN: usize = 60;
const HEADER: usize = 14;
const BODY: usize = 16;
const TRAILER: usize = 8;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Data,
    /// Tells the sender how far the receiver is.
    Credit,
}

/// What a received frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Intact(Kind, u64),
    /// A frame of this run that has changed on its way.
    Changed,
    Foreign,
}

/// Builds the frame of a run with this number, from `source`.
pub fn build(traffic: &Traffic, source: [u8; 6], kind: Kind, number: u64) -> Vec<u8> {
    let mut frame: Vec<u8> = traffic.peer.into_iter().chain(source).collect();
    if let Some(control) = traffic.vlan {
        frame.extend(VLAN);
        frame.extend(control.to_be_bytes());
    }
    frame.extend(ETHERTYPE);
    frame.extend(body(traffic, kind, number));
    frame
}

/// Looks at a frame that may belong to a run.
pub fn verdict(traffic: &Traffic, frame: &[u8]) -> Verdict {
    let tag = traffic.vlan.map_or(0, |_| 4);
    let of_body = |from: usize, to: usize| frame.get(HEADER + tag + from..HEADER + tag + to);
    let number = |from| Some(u64::from_be_bytes(of_body(from, from + 8)?.try_into().ok()?));
    let Some(number) = number(8) else { return Verdict::Foreign };
    if of_body(4, 8) != Some(&traffic.run.to_be_bytes()) {
        return Verdict::Foreign;
    }
    let kind = if of_body(0, 4) == Some(&mark(Kind::Credit)) { Kind::Credit } else { Kind::Data };
    let expected = body(traffic, kind, number);
    let control = traffic.vlan.map(u16::to_be_bytes);
    let is_tagged = control.is_none_or(|control| frame[12..14] == VLAN && frame[14..16] == control);
    let is_whole = frame[12 + tag..HEADER + tag] == ETHERTYPE && frame[HEADER + tag..] == expected;
    if is_tagged && is_whole { Verdict::Intact(kind, number) } else { Verdict::Changed }
}

fn mark(kind: Kind) -> [u8; 4] {
    match kind {
        Kind::Data => *b"data",
        Kind::Credit => *b"went",
    }
}

/// Everything behind the EtherType. Lengths go through all from the shortest frame to the longest.
fn body(traffic: &Traffic, kind: Kind, number: u64) -> Vec<u8> {
    let lengths = (traffic.bytes_max.max(BYTES_MIN) - BYTES_MIN + 1) as u64;
    let bytes = match kind {
        Kind::Data => BYTES_MIN + (number.wrapping_mul(7_919) % lengths) as usize,
        Kind::Credit => BYTES_MIN,
    };
    let mut body = Vec::with_capacity(bytes - HEADER);
    body.extend(mark(kind));
    body.extend(traffic.run.to_be_bytes());
    body.extend(number.to_be_bytes());
    let pattern = bytes - HEADER - BODY - TRAILER;
    body.extend((0..pattern).map(|at| (at as u64).wrapping_add(number) as u8));
    body.extend(number.to_be_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(vlan: Option<u16>) -> Traffic {
        Traffic { interface: String::new(), peer: [1; 6], run: 7, count: 10, bytes_max: 1514, vlan }
    }

    #[test]
    fn frames_of_all_lengths_arrive_intact_and_no_changed_bit_goes_unnoticed() {
        for traffic in [traffic(None), traffic(Some(0xa064))] {
            for number in 0..2_000 {
                let frame = build(&traffic, [2; 6], Kind::Data, number);
                assert_eq!(verdict(&traffic, &frame), Verdict::Intact(Kind::Data, number));
            }
            let frame = build(&traffic, [2; 6], Kind::Credit, 5);
            assert_eq!(verdict(&traffic, &frame), Verdict::Intact(Kind::Credit, 5));
            for bit in 12 * 8..frame.len() * 8 {
                let mut changed = frame.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(!matches!(verdict(&traffic, &changed), Verdict::Intact(..)), "bit {bit}");
            }
            assert_eq!(verdict(&traffic, &frame[..20]), Verdict::Foreign);
        }
    }

    #[test]
    fn a_frame_that_has_lost_its_tag_is_not_intact() {
        let frame = build(&traffic(None), [2; 6], Kind::Data, 3);
        assert!(!matches!(verdict(&traffic(Some(1)), &frame), Verdict::Intact(..)));
    }
}
