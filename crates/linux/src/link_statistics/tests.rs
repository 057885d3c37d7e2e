//! Messages are built byte by byte as `linux/ethtool_netlink.h` lays them out, not with the code that reads them.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::parse::{fec, groups, interface, speed_mbps};
use super::*;
use crate::netlink::attribute;
use proptest::prelude::*;

const NESTED: u16 = 0x8000;

fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn u32_attribute(kind: u16, value: u32) -> Vec<u8> {
    attribute_of(kind, &value.to_ne_bytes())
}

fn u64_attribute(kind: u16, values: &[u64]) -> Vec<u8> {
    attribute_of(kind, &values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>())
}

/// `ETHTOOL_A_STATS_GRP` with its number and string set at the place `id_at`; each counter is a nest of its own.
fn group(id: u32, id_at: usize, counters: &[(u16, u64)]) -> Vec<u8> {
    let stat = |(kind, value): &(u16, u64)| attribute_of(4 | NESTED, &u64_attribute(*kind, &[*value]));
    let mut parts: Vec<Vec<u8>> = counters.iter().map(stat).collect();
    parts.insert(id_at, [u32_attribute(2, id), u32_attribute(3, 17 + id)].concat());
    attribute_of(4 | NESTED, &parts.concat())
}

/// `ETHTOOL_A_STATS_GRP_HIST_RX`, or `_TX`, with its three parts.
fn bucket(kind: u16, low: u32, high: u32, frames: u64) -> Vec<u8> {
    let parts = [u32_attribute(7, low), u32_attribute(8, high), u64_attribute(9, &[frames])];
    attribute_of(kind | NESTED, &parts.concat())
}

fn header(kind: u16) -> Vec<u8> {
    attribute_of(kind | NESTED, &[u32_attribute(1, 12), attribute_of(2, b"swp7\0")].concat())
}

fn read(answer: &[u8]) -> LinkStatistics {
    let mut statistics = LinkStatistics::default();
    groups(answer, &mut statistics);
    statistics
}

#[test]
fn each_counter_of_each_group_has_its_place() {
    let mac: Vec<(u16, u64)> = (0..22).map(|kind| (kind, 100 + u64::from(kind))).collect();
    let rmon = [(0, 200), (1, 201), (2, 202), (3, 203)];
    let answer = [header(2), group(0, 0, &[(0, 50)]), group(1, 0, &mac), group(3, 0, &rmon)].concat();
    assert_eq!(interface(&answer, 2), Some((12, "swp7".to_owned())));
    let expected = LinkStatistics {
        symbol_errors: Some(50),
        frames_sent_ok: Some(100),
        frames_received_ok: Some(103),
        frame_check_sequence_errors: Some(104),
        alignment_errors: Some(105),
        octets_received_ok: Some(112),
        frames_lost_inside: Some(113),
        multicast_frames_received_ok: Some(117),
        broadcast_frames_received_ok: Some(118),
        in_range_length_errors: Some(119),
        out_of_range_length_fields: Some(120),
        frame_too_long_errors: Some(121),
        undersize_frames: Some(200),
        oversize_frames: Some(201),
        fragments: Some(202),
        jabbers: Some(203),
        ..LinkStatistics::default()
    };
    assert_eq!(read(&answer), expected);
}

#[test]
fn groups_and_counters_come_in_any_order_and_what_is_left_out_is_none() {
    let answer = [group(3, 1, &[(3, 1), (0, 2)]), group(1, 2, &[(4, u64::MAX), (3, 4)]), header(2)].concat();
    let expected = LinkStatistics {
        jabbers: Some(1),
        undersize_frames: Some(2),
        frame_check_sequence_errors: Some(u64::MAX),
        frames_received_ok: Some(4),
        ..LinkStatistics::default()
    };
    assert_eq!(read(&answer), expected);
    assert_eq!(interface(&answer, 2).unwrap().0, 12);
    assert_eq!(read(&header(2)), LinkStatistics::default(), "a driver without counters");
}

#[test]
fn unknown_groups_and_attributes_are_passed_over() {
    let unknown = [group(2, 0, &[(0, 1)]), group(4, 0, &[(0, 1)]), group(1, 0, &[(22, 1), (6, 1)])].concat();
    assert_eq!(read(&unknown), LinkStatistics::default());
    let nameless = attribute_of(4 | NESTED, &attribute_of(4 | NESTED, &u64_attribute(0, &[5])));
    assert_eq!(read(&nameless), LinkStatistics::default(), "a group without a number");
    let parts = [u32_attribute(2, 0), attribute_of(99, &[1]), attribute_of(4, &u64_attribute(0, &[9]))];
    let padded = [attribute_of(1, &[]), attribute_of(4, &parts.concat()), attribute_of(500, &[7])].concat();
    assert_eq!(read(&padded).symbol_errors, Some(9));
    let short = attribute_of(4, &[u32_attribute(2, 0), attribute_of(4, &u32_attribute(0, 9))].concat());
    assert_eq!(read(&short).symbol_errors, None, "a counter of 32 bits is none that we know");
}

#[test]
fn received_frames_are_told_apart_by_size_and_sent_ones_are_not_taken_for_them() {
    let parts = [u32_attribute(2, 3), bucket(5, 0, 64, 7), bucket(6, 0, 64, 1_000), bucket(5, 65, 127, 8)];
    let answer = attribute_of(4 | NESTED, &parts.concat());
    let size = |from_bytes, to_bytes, frames| ReceivedSize { from_bytes, to_bytes, frames };
    assert_eq!(read(&answer).received_sizes, [size(0, 64, 7), size(65, 127, 8)]);
    let many = [u32_attribute(2, 3), bucket(5, 1, 2, 3).repeat(SIZES_MAX + 1)].concat();
    assert_eq!(read(&attribute_of(4, &many)).received_sizes.len(), SIZES_MAX);
}

#[test]
fn error_correction_is_counted_in_total_and_by_lane() {
    let parts = [u64_attribute(4, &[1_000]), u64_attribute(2, &[6, 1, 2, 3]), u64_attribute(3, &[])];
    let answer = |parts: &[u8]| [header(1), u32_attribute(4, 51), attribute_of(5 | NESTED, parts)].concat();
    let read = fec(&answer(&parts.concat())).unwrap();
    assert_eq!(read.corrected_blocks, FecCounter { total: Some(6), lanes: vec![1, 2, 3] });
    assert_eq!(read.uncorrectable_blocks, FecCounter::default());
    assert_eq!(read.corrected_bits, FecCounter { total: Some(1_000), lanes: Vec::new() });
    assert_eq!(fec(&header(1)), None, "without counters");
    assert_eq!(fec(&answer(&[2, 3, 4].map(|kind| u64_attribute(kind, &[])).concat())), None);
    let many = fec(&answer(&u64_attribute(2, &[1; LANES_MAX + 2]))).unwrap();
    assert_eq!(many.corrected_blocks.lanes.len(), LANES_MAX);
}

#[test]
fn a_speed_that_is_not_known_is_none() {
    let answer = |speed| [header(1), attribute_of(2, &[0]), u32_attribute(5, speed)].concat();
    assert_eq!(speed_mbps(&answer(400_000)), Some(400_000));
    assert_eq!([0, u32::MAX].map(|speed| speed_mbps(&answer(speed))), [None, None]);
    assert_eq!(speed_mbps(&header(1)), None);
}

#[test]
fn what_is_cut_off_is_as_if_it_were_not_there() {
    let answer = [header(2), group(0, 0, &[(0, 50)]), group(1, 0, &[(3, 5), (4, 6)])].concat();
    let whole = read(&answer);
    for end in 0..answer.len() {
        let part = read(&answer[..end]);
        assert!(part.symbol_errors.is_none_or(|errors| errors == 50));
        assert_ne!(part, whole, "{end} bytes of {}", answer.len());
    }
}

#[test]
fn requests_are_as_the_header_lays_them_out() {
    let bytes = |attributes: Vec<DefaultNla>| {
        use netlink_packet_core::Emitable;
        let mut bytes = vec![0; attributes.as_slice().buffer_len()];
        attributes.as_slice().emit(&mut bytes);
        bytes
    };
    let statistics = bytes(request(ETHTOOL_MSG_STATS_GET, About::Name("swp7")));
    let header = [u32_attribute(3, 1), attribute_of(2, b"swp7\0")].concat();
    let set = [attribute_of(1, &[]), u32_attribute(2, 4), u32_attribute(4, 0b1011)].concat();
    let expected = [attribute_of(2 | NESTED, &header), attribute_of(3 | NESTED, &set)].concat();
    assert_eq!(statistics, expected);
    let fec = bytes(request(ETHTOOL_MSG_FEC_GET, About::Index(9)));
    assert_eq!(attribute(&fec, 1).unwrap(), [u32_attribute(3, 0b101), u32_attribute(1, 9)].concat());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u16..8) {
        for answer in [bytes.clone(), attribute_of(kind, &bytes), group(u32::from(kind), 0, &[(kind, 1)])] {
            let _ = (read(&answer), fec(&answer), speed_mbps(&answer), interface(&answer, kind));
        }
        let _ = read(&attribute_of(4, &[u32_attribute(2, u32::from(kind)), bytes].concat()));
    }

    #[test]
    fn a_changed_byte_makes_no_panic_either(at in 0_usize..200, byte: u8) {
        let mut answer = [header(2), group(1, 0, &[(3, 5), (4, 6)]), bucket(5, 1, 2, 3)].concat();
        let at = at % answer.len();
        answer[at] = byte;
        let _ = (read(&answer), fec(&answer), speed_mbps(&answer), interface(&answer, 2));
    }
}
