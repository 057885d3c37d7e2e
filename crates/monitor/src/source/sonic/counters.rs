//! From the fields of a port to a reading.
//!
//! Names are those of SAI (`saiport.h`), which takes them from RFC 2863 (`IF_`) and RFC 2819 (`ETHER_STATS_`).

use super::Trouble;
use crate::counters::{ERRORS_COUNTED, FecCode, FecReading, Reading, RetryReading};
use crate::sonic::INTERNAL_ROLES;
use crate::source::names::{Counter, SAI_CODEWORDS};
use ::redis::Value;
use std::fmt;

const MEGABIT: u64 = 1_000_000;

/// What is read of a port's counters.
pub(super) const FIELDS: [&str; CODEWORDS + ERRORS_COUNTED] = {
    let mut fields = [""; CODEWORDS + ERRORS_COUNTED];
    let mut place = 0;
    while place < fields.len() {
        fields[place] =
            if place < CODEWORDS { COUNTERS[place].sai() } else { SAI_CODEWORDS[place - CODEWORDS] };
        place += 1;
    }
    fields
};
/// The first of them.
const COUNTERS: [Counter; CODEWORDS] = [
    Counter::Unicast,
    Counter::Multicast,
    Counter::Broadcast,
    Counter::NotUnicast,
    Counter::Errors,
    Counter::CheckSequenceUsualLength,
    Counter::Fragments,
    Counter::Jabbers,
    Counter::Oversize,
    Counter::Undersize,
    Counter::OversizeToo,
    Counter::Poisoned,
    Counter::LlrBad,
    Counter::LlrNacks,
    Counter::LlrReplays,
    Counter::CorrectedCodewords,
    Counter::Uncorrectable,
    Counter::CorrectedBits,
];
/// Places in [`FIELDS`].
const UNICAST: usize = 0;
const MULTICAST: usize = 1;
const BROADCAST: usize = 2;
const NOT_UNICAST: usize = 3;
const ERRORS: usize = 4;
const CHECK_SEQUENCE: usize = 5;
const FRAGMENTS: usize = 6;
const JABBERS: usize = 7;
const OVERSIZE: usize = 8;
const UNDERSIZE: usize = 9;
/// The same frames as [`OVERSIZE`] where a switch has both.
const OVERSIZE_TOO: usize = 10;
const POISONED: usize = 11;
const LLR_BAD: usize = 12;
const LLR_NACKS: usize = 13;
const LLR_REPLAYS: usize = 14;
const CORRECTED: usize = 15;
const UNCORRECTABLE: usize = 16;
const CORRECTED_BITS: usize = 17;
const CODEWORDS: usize = 18;

/// What is read of a port's state: its speed in Mbit/s, how often it went up or down, whether it is up, its lanes, its forward
/// error correction, what neighbours hear it called, and what it is for.
pub(super) const STATE_FIELDS: [&str; 7] =
    ["speed", "flap_count", "oper_status", "lanes", "fec", "alias", "role"];
/// Places in [`STATE_FIELDS`].
const OPER_STATUS: usize = 2;
const LANES: usize = 3;
const FEC: usize = 4;
const ALIAS: usize = 5;
const ROLE: usize = 6;

/// Where the corrupted frames of a port are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Corrupted {
    /// Frames with a wrong check sequence: of a usual length, shorter, or longer. RFC 2819 counts each in one of the three.
    CheckSequence,
    /// All frames with errors, those of a wrong length among them, as an MTU that differs between the ends makes them. Those
    /// are counted beside them too, and taken off.
    Errors,
    Nowhere,
}

/// Which counters of a port are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice {
    corrupted: Corrupted,
    /// Whether multicast and broadcast are counted apart.
    apart: bool,
    /// Whether codewords are those of a gearbox.
    gearbox: bool,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.corrupted {
            Corrupted::CheckSequence => "ETHER_STATS_CRC_ALIGN_ERRORS + FRAGMENTS + JABBERS of SAI",
            Corrupted::Errors => "IF_IN_ERRORS of SAI without frames that are too long or too short",
            Corrupted::Nowhere => "which do not count errors, so their links cannot be judged",
        })?;
        f.write_str(if self.apart { "" } else { "; frames by IF_IN_UCAST_PKTS + IF_IN_NON_UCAST_PKTS" })?;
        f.write_str(if self.gearbox { "; codewords of the gearbox's line side" } else { "" })
    }
}

impl Choice {
    /// The same with what a gearbox's line side has counted, if it counts: the switching chip counts codewords between it and the
    /// gearbox, and not those of the cable. Which code the cable has, the port does not say then.
    pub fn with_gearbox(self, reading: Reading, line: Option<FecReading>) -> (Choice, Reading) {
        match line {
            Some(line) => {
                (Choice { gearbox: true, ..self }, Reading { fec: Some(line), code: None, ..reading })
            }
            None => (self, reading),
        }
    }
}

/// What forward error correction has counted at the line side of a gearbox, or why it has no counters.
pub(super) fn line_fec(
    fields: Result<Vec<Value>, String>,
    troubles: &mut Vec<Trouble>,
) -> Option<FecReading> {
    match fields {
        Ok(fields) => fec(&mut |places| known(&fields, places, troubles)),
        Err(why) => {
            troubles.push(Trouble::new(format!("has no counters of its gearbox: {why}")));
            None
        }
    }
}

fn fec(known: &mut dyn FnMut(&[usize]) -> Option<u64>) -> Option<FecReading> {
    let fec = FecReading {
        corrected_codewords: known(&[CORRECTED]),
        uncorrectable_codewords: known(&[UNCORRECTABLE]),
        corrected_bits: known(&[CORRECTED_BITS]),
        codewords: codewords(|place| known(&[place])),
        ..FecReading::default()
    };
    (fec != FecReading::default()).then_some(fec)
}

/// The sum of those of these fields that are there; `None` if none is, or if one is no number.
fn known(fields: &[Value], places: &[usize], troubles: &mut Vec<Trouble>) -> Option<u64> {
    let is_there = |&place: &usize| !matches!(fields.get(place), None | Some(Value::Nil));
    if !places.iter().any(is_there) {
        return None;
    }
    sum(fields, places).map(Some).unwrap_or_else(|trouble| {
        troubles.push(trouble);
        None
    })
}

/// The counters that a port has, without those that only a comparison with the poll before can tell.
///
/// Good frames are those of RFC 2863: `IF_IN_*_PKTS` have no frame with errors, and depending on the chip they have those
/// that were dropped for lack of room (`IF_IN_DISCARDS`) or not.
///
/// # Errors
/// Why the port cannot be read at all. What else is wrong goes to `troubles`, and is taken as unknown.
pub(super) fn take(fields: &[Value], troubles: &mut Vec<Trouble>) -> Result<(Choice, Reading), Trouble> {
    let there = |place: usize| !matches!(fields.get(place), None | Some(Value::Nil));
    if !there(UNICAST) {
        return Err(Trouble::new(format!("has no {}", FIELDS[UNICAST])));
    }
    let corrupted = match (there(CHECK_SEQUENCE), there(ERRORS)) {
        (true, _) => Corrupted::CheckSequence,
        (false, true) => Corrupted::Errors,
        (false, false) => Corrupted::Nowhere,
    };
    let apart = there(MULTICAST) && there(BROADCAST);
    let choice = Choice { corrupted, apart, gearbox: false };
    let good: &[usize] =
        if choice.apart { &[UNICAST, MULTICAST, BROADCAST] } else { &[UNICAST, NOT_UNICAST] };
    let good_frames = sum(fields, good)?;
    let (corrupted, not_corrupted): (&[usize], &[usize]) = match corrupted {
        Corrupted::CheckSequence => (&[CHECK_SEQUENCE, FRAGMENTS, JABBERS], &[POISONED]),
        Corrupted::Errors if there(OVERSIZE) => (&[ERRORS], &[OVERSIZE, UNDERSIZE, POISONED]),
        Corrupted::Errors => (&[ERRORS], &[OVERSIZE_TOO, UNDERSIZE, POISONED]),
        Corrupted::Nowhere => (&[], &[]),
    };
    let mut known = |places: &[usize]| known(fields, places, troubles);
    let corrupted_frames = known(corrupted);
    let not_corrupted = known(not_corrupted);
    let fec = fec(&mut known);
    let retry = RetryReading {
        bad_frames: known(&[LLR_BAD]),
        nacks: known(&[LLR_NACKS]),
        replays: known(&[LLR_REPLAYS]),
    };
    let retry = (retry != RetryReading::default()).then_some(retry);
    Ok((choice, Reading { good_frames, corrupted_frames, not_corrupted, fec, retry, ..Reading::default() }))
}

/// What LLR has counted, where it `is_on` or has been; without numbers that nobody brings up to date.
pub(super) fn retry(reading: &Reading, is_on: bool, is_counted: bool) -> Option<RetryReading> {
    let counted = reading.retry.filter(|_| is_counted);
    counted.or_else(|| is_on.then(RetryReading::default))
}

/// Codewords by their errors; `None` unless all of them can be read.
fn codewords(mut known: impl FnMut(usize) -> Option<u64>) -> Option<[u64; ERRORS_COUNTED]> {
    let mut codewords = [0; ERRORS_COUNTED];
    for (errors, place) in codewords.iter_mut().enumerate() {
        *place = known(CODEWORDS + errors)?;
    }
    Some(codewords)
}

/// A port's speed in bit/s, and how often it went up or down, as far as they are known.
pub(super) fn speed_and_flaps(fields: &[Value], troubles: &mut Vec<Trouble>) -> (Option<u64>, Option<u64>) {
    let mut known = |place: usize| {
        number(fields, place, STATE_FIELDS[place]).unwrap_or_else(|trouble| {
            troubles.push(trouble);
            None
        })
    };
    let (speed, flaps) = (known(0), known(1));
    // A port that says 0 does not know.
    let speed = speed.filter(|&speed| speed > 0).and_then(|megabits| megabits.checked_mul(MEGABIT));
    (speed, flaps)
}

/// Whether a port is up; `None` if it does not say.
pub(super) fn is_up(fields: &[Value]) -> Option<bool> {
    match text(fields, OPER_STATUS)? {
        "up" => Some(true),
        "down" => Some(false),
        _ => None,
    }
}

/// The code by which a port of this speed in bit/s corrects errors; `None` if it does not say enough.
pub(super) fn code(fields: &[Value], speed: Option<u64>) -> Option<FecCode> {
    match text(fields, FEC)? {
        "rs" => {
            let lanes = text(fields, LANES).filter(|lanes| !lanes.is_empty())?.split(',').count();
            Some(FecCode::of_lanes(speed?, lanes as u64))
        }
        "fc" | "none" => Some(FecCode::Other),
        _ => None,
    }
}

/// Whether a port says that it is no end of a cable.
pub(super) fn is_inside(fields: &[Value]) -> bool {
    text(fields, ROLE).is_some_and(|role| INTERNAL_ROLES.contains(&role))
}

/// What neighbours hear a port called.
pub(super) fn alias(fields: &[Value]) -> Option<&str> {
    text(fields, ALIAS).filter(|alias| !alias.is_empty())
}

fn text(fields: &[Value], place: usize) -> Option<&str> {
    match fields.get(place) {
        Some(Value::BulkString(bytes)) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// The sum of those that are there.
fn sum(fields: &[Value], places: &[usize]) -> Result<u64, Trouble> {
    let mut sum = 0_u64;
    for &place in places {
        let count = number(fields, place, FIELDS[place])?.unwrap_or_default();
        let beyond = || Trouble::new(format!("its {} and others need more than 64 bits", FIELDS[place]));
        sum = sum.checked_add(count).ok_or_else(beyond)?;
    }
    Ok(sum)
}

/// A number of at most 64 bits; `None` if the field is not there.
fn number(fields: &[Value], place: usize, name: &str) -> Result<Option<u64>, Trouble> {
    match fields.get(place) {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::BulkString(bytes)) => {
            let digits = std::str::from_utf8(bytes).ok().filter(|text| !text.starts_with('+'));
            digits.and_then(|digits| digits.parse().ok()).map(Some).ok_or_else(|| {
                let text = String::from_utf8_lossy(bytes);
                Trouble::with(format!("its {name} is not a whole number of at most 64 bits"), text)
            })
        }
        Some(_) => Err(Trouble::new(format!("its {name} is not a string"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(known: &[(usize, &str)]) -> Vec<Value> {
        let mut fields = vec![Value::Nil; FIELDS.len()];
        for &(place, text) in known {
            fields[place] = Value::BulkString(text.as_bytes().to_vec());
        }
        fields
    }

    #[test]
    fn frames_with_a_wrong_check_sequence_are_preferred_to_all_errors() {
        let corrupted = |known: &[(usize, &str)]| {
            let mut troubles = Vec::new();
            let mut all = vec![(UNICAST, "5"), (NOT_UNICAST, "2")];
            all.extend(known);
            let (choice, reading) = take(&fields(&all), &mut troubles).expect("it has frames");
            assert_eq!(reading.good_frames, 7);
            (choice.corrupted, reading.corrupted_frames, troubles.len())
        };
        let both = [(CHECK_SEQUENCE, "3"), (JABBERS, "1"), (ERRORS, "9")];
        assert_eq!(corrupted(&both), (Corrupted::CheckSequence, Some(4), 0));
        assert_eq!(corrupted(&both[1..]), (Corrupted::Errors, Some(9), 0));
        assert_eq!(corrupted(&both[1..2]), (Corrupted::Nowhere, None, 0));
        // A counter that cannot be read is no reason to take another one.
        assert_eq!(corrupted(&[(CHECK_SEQUENCE, "N/A"), (ERRORS, "9")]), (Corrupted::CheckSequence, None, 1));
    }

    #[test]
    fn frames_of_a_wrong_length_and_poisoned_ones_are_not_the_links() {
        let not_corrupted = |known: &[(usize, &str)]| {
            let mut all = vec![(UNICAST, "5"), (ERRORS, "9")];
            all.extend(known);
            take(&fields(&all), &mut Vec::new()).expect("it has frames").1.not_corrupted
        };
        assert_eq!(not_corrupted(&[]), None);
        assert_eq!(not_corrupted(&[(OVERSIZE, "7"), (UNDERSIZE, "1"), (POISONED, "2")]), Some(10));
        // Some switches count frames that are too long under the other name only, and some under both.
        assert_eq!(not_corrupted(&[(OVERSIZE_TOO, "7"), (UNDERSIZE, "1")]), Some(8));
        assert_eq!(not_corrupted(&[(OVERSIZE, "7"), (OVERSIZE_TOO, "7")]), Some(7));
        // RFC 2819 has frames of a wrong length among its wrong check sequences only if these are wrong.
        assert_eq!(not_corrupted(&[(CHECK_SEQUENCE, "3"), (OVERSIZE, "7")]), None);
        assert_eq!(not_corrupted(&[(CHECK_SEQUENCE, "3"), (OVERSIZE, "7"), (POISONED, "2")]), Some(2));
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for wrong in ["N/A", "", "-1", "+1", "1.0", "1e3", " 1", "0x1", "18446744073709551616"] {
            let error = take(&fields(&[(UNICAST, wrong)]), &mut Vec::new()).expect_err("refused");
            assert!(error.what.contains("SAI_PORT_STAT_IF_IN_UCAST_PKTS"), "{error:?}");
            assert_eq!(error.value.as_deref(), Some(wrong));
        }
        let most = u64::MAX.to_string();
        let error = take(&fields(&[(UNICAST, &most), (NOT_UNICAST, "1")]), &mut Vec::new());
        assert!(error.expect_err("refused").what.contains("more than 64 bits"));
        assert!(take(&[], &mut Vec::new()).is_err());
    }

    #[test]
    fn a_speed_is_in_megabits() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let mut troubles = Vec::new();
        assert_eq!(
            speed_and_flaps(&[text("400000"), text("3")], &mut troubles),
            (Some(400_000_000_000), Some(3))
        );
        assert_eq!(speed_and_flaps(&[text("0"), Value::Nil], &mut troubles), (None, None));
        assert_eq!(troubles, []);
        assert_eq!(speed_and_flaps(&[text("fast"), text("-1")], &mut troubles), (None, None));
        assert_eq!(troubles.len(), 2);
    }

    #[test]
    fn a_port_is_up_or_down_or_does_not_say() {
        let state =
            |text: &str| is_up(&[Value::Nil, Value::Nil, Value::BulkString(text.as_bytes().to_vec())]);
        assert_eq!(["up", "down", "N/A", ""].map(state), [Some(true), Some(false), None, None]);
        assert_eq!(is_up(&[]), None);
    }

    #[test]
    fn lanes_of_25g_have_the_short_code() {
        let of = |speed: u64, lanes: &str, fec: &str| {
            let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
            code(&[Value::Nil, Value::Nil, Value::Nil, text(lanes), text(fec)], Some(speed * 1_000_000_000))
        };
        assert_eq!(of(100, "1,2,3,4", "rs"), Some(FecCode::Rs528));
        assert_eq!(of(25, "1", "rs"), Some(FecCode::Rs528));
        assert_eq!(of(100, "1,2", "rs"), Some(FecCode::Rs544));
        assert_eq!(of(100, "1", "rs"), Some(FecCode::Rs544));
        assert_eq!(of(400, "1,2,3,4,5,6,7,8", "rs"), Some(FecCode::Rs544));
        assert_eq!(of(25, "1", "fc"), Some(FecCode::Other));
        assert_eq!((of(100, "1,2", "auto"), of(100, "", "rs"), code(&[], Some(1))), (None, None, None));
    }

    proptest! {
        #[test]
        fn no_fields_panic(texts in prop::collection::vec(prop::option::of("[0-9N/A.+-]{0,22}"), 0..40)) {
            let fields: Vec<Value> = texts
                .iter()
                .map(|text| text.as_ref().map_or(Value::Nil, |text| Value::BulkString(text.clone().into_bytes())))
                .collect();
            let mut troubles = Vec::new();
            if let Ok((_, reading)) = take(&fields, &mut troubles) {
                prop_assert!(matches!(&fields[UNICAST], Value::BulkString(_)));
                prop_assert!(reading.fec != Some(FecReading::default()));
            }
            let (speed, _) = speed_and_flaps(&fields, &mut troubles);
            let _ = (code(&fields, speed), alias(&fields), is_up(&fields));
        }
    }
}
