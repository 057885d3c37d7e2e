//! Compares the program, run by the kernel on single frames (BPF_PROG_TEST_RUN), with a model of it in Rust. Without
//! sockets in its map, it acts as if the daemon were dead.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::time::Duration;

use super::load::{Loaded, load_programs};
use super::*;
use crate::sys::bpf::ProgramKind;
use linkmend_random::Random;

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const XDP_REDIRECT: u32 = 4;
const RANDOM_FRAMES: u32 = 20_000;

struct Fixture {
    config: SharedWords,
    inner: Loaded,
    link: Loaded,
}

fn fixture() -> Option<Fixture> {
    fixture_with(0)
}

fn fixture_with(tag_bytes: u8) -> Option<Fixture> {
    let config = match SharedWords::new(words::COUNT, "linkmend_test") {
        Ok(config) => config,
        Err(error) => {
            // Written past the test harness, which swallows what passing tests print.
            let mut stderr = std::io::stderr();
            let _ = std::io::Write::write_fmt(
                &mut stderr,
                format_args!(
                    "\n######## SKIPPED: bypass program: {error}; run as root: sudo -E make test ########\n"
                ),
            );
            return None;
        }
    };
    let load = |side| {
        let target = Target::Interface(1);
        load_programs("test", None, Inputs { side, target, config: &config, tag_bytes, offloads: false })
            .unwrap()
    };
    let (inner, link) = (load(Side::Inner), load(Side::Link));
    Some(Fixture { config, inner, link })
}

impl Fixture {
    fn set(&self, word: usize, value: u64) {
        self.config.word(word).store(value, Ordering::Relaxed);
    }

    fn count(&self, side: Side, counter: usize) -> u64 {
        let word = words::COUNTERS[side as usize] + counter;
        self.config.word(word).load(Ordering::Relaxed)
    }

    /// `None` when the program dropped the frame.
    fn after_link(&self, frame: &[u8]) -> Option<Vec<u8>> {
        run(&self.link, frame)
    }
}

fn run(loaded: &Loaded, frame: &[u8]) -> Option<Vec<u8>> {
    match loaded.bypass.test_run(frame).unwrap() {
        (XDP_DROP, _) => None,
        (XDP_REDIRECT, out) => Some(out),
        (verdict, _) => panic!("verdict {verdict}"),
    }
}

/// MAC addresses, `header`, then a payload up to 60 bytes.
fn frame(header: &[u8]) -> Vec<u8> {
    let mut frame: Vec<u8> = (1..=12).collect();
    frame.extend(header);
    let mut next = 100;
    while frame.len() < 60 {
        frame.push(next);
        next += 1;
    }
    frame
}

/// The frame with bytes 12..12+`removed`+2 replaced by `ethertype`.
fn stripped(frame: &[u8], removed: usize, ethertype: [u8; 2]) -> Vec<u8> {
    let mut out = frame[..12].to_vec();
    out.extend(ethertype);
    out.extend(&frame[14 + removed..]);
    out
}

/// What the program does to a frame from the link when the daemon is dead and the peer known.
fn model(frame: &[u8]) -> Option<Vec<u8>> {
    let codes = [0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x8847, 0x8864];
    let byte = frame[14];
    let retransmitted = byte & 8 != 0;
    match (&frame[12..14], byte >> 6) {
        ([0xab, 0xcd], 0) if byte & 0b1100 == 0 => Some(stripped(frame, 3, [8, 0])),
        ([0xab, 0xcd], _) if byte >> 5 == 0b011 => Some(stripped(frame, 3, [8, 0])),
        ([0xab, 0xcd], _) => None,
        ([0x88, 0xb5], kind) if kind <= 1 || byte >> 5 == 0b111 => {
            let header = if kind == 1 { 6 } else { 3 };
            match usize::from(byte & 7) {
                _ if retransmitted && kind <= 1 => None,
                0 => {
                    let ethertype = [frame[14 + header], frame[15 + header]];
                    Some(stripped(frame, header + 2, ethertype))
                }
                code => Some(stripped(frame, header, codes[code - 1].to_be_bytes())),
            }
        }
        ([0x88, 0xb5], 2) if frame[15..18] == *b"LM1" => None,
        ([0x88, 0xb5], 3) if frame[14..18] == *b"\xc0LM1" => Some(stripped(frame, 6, [frame[18], frame[19]])),
        _ => Some(frame.to_vec()),
    }
}

#[test]
fn frames_of_a_dead_daemon_are_decapsulated_as_the_model_says() {
    let Some(fixture) = fixture() else { return };
    fixture.set(words::KNOWN_UNTIL, u64::MAX);
    let mut headers = Vec::new();
    for byte in 0..=255 {
        headers.push(vec![0x88, 0xb5, byte, 1, 2, 3, 4, 5, 6, 7]);
        headers.push(vec![0x88, 0xb5, byte, b'L', b'M', b'1', 0x88, 0xb5]);
        headers.push(vec![0xab, 0xcd, byte, 1, 2, 0x45]);
    }
    headers.push(vec![0x08, 0x00, 0x45]);
    headers.push(vec![0x81, 0x00, 0, 7, 0x88, 0xb5, 0]);
    for header in headers {
        let frame = frame(&header);
        assert_eq!(fixture.after_link(&frame), model(&frame), "header {header:02x?}");
    }
    assert!(fixture.count(Side::Link, words::DECAPSULATED) > 0);
    assert!(fixture.count(Side::Link, words::DROPPED) > 0);
    assert_eq!(fixture.count(Side::Inner, words::BYPASSED_FRAMES), 0);
}

/// On a link with a key, a tag stands behind the header, before an EtherType that has no code.
#[test]
fn tags_are_removed_with_their_headers() {
    let (Some(with), Some(without)) = (fixture_with(4), fixture()) else { return };
    let rows: [(&[u8], &[u8]); 6] = [
        (&[0x88, 0xb5, 0x01, 0, 7], &[]),
        (&[0x88, 0xb5, 0x30, 0, 7], &[0x12, 0x34]),
        (&[0x88, 0xb5, 0x61, 0, 7, 0x80, 0, 9], &[]),
        (&[0x88, 0xb5, 0x40, 0, 7, 0, 0, 9], &[0x12, 0x34]),
        (&[0x88, 0xb5, 0xe1, 0, 7], &[]),
        (&[0x88, 0xb5, 0xf8, 0, 7], &[0x12, 0x34]),
    ];
    for fixture in [&with, &without] {
        fixture.set(words::KNOWN_UNTIL, u64::MAX);
    }
    for (header, ethertype) in rows {
        let payload = [0x45; 60];
        let plain = frame(&[header, ethertype, &payload].concat());
        let tagged = frame(&[header, &[0xaa; 4], ethertype, &payload].concat());
        let out = with.after_link(&tagged);
        assert!(out.is_some() && out == without.after_link(&plain), "{header:02x?}");
    }
    let escaped = frame(&[0x88, 0xb5, 0xc0, b'L', b'M', b'1', 0x88, 0xb5, 1]);
    assert_eq!(with.after_link(&escaped), model(&escaped), "an escape has no tag");
    let copy = frame(&[0x88, 0xb5, 0x09, 0, 7, 0xaa, 0xaa, 0xaa, 0xaa]);
    assert_eq!(with.after_link(&copy), None);
}

/// A receiver believes only protected frames missing; other frames that lose a header must not end its session.
#[test]
fn only_protected_originals_are_counted_as_decapsulated() {
    let Some(fixture) = fixture() else { return };
    fixture.set(words::KNOWN_UNTIL, u64::MAX);
    let rows: [(&str, &[u8], u64); 9] = [
        ("escaped", &[0x88, 0xb5, 0xc0, b'L', b'M', b'1', 0x88, 0xb5], 0),
        ("ACK on an unprotected frame", &[0x88, 0xb5, 0xe1, 0, 7], 0),
        ("the same with an explicit EtherType", &[0x88, 0xb5, 0xf8, 0, 7, 0x12, 0x34], 0),
        ("compact ACK on an unprotected frame", &[0xab, 0xcd, 0x60, 0, 7, 0x45], 0),
        ("data", &[0x88, 0xb5, 0x01, 0, 7], 1),
        ("data with an explicit EtherType", &[0x88, 0xb5, 0x30, 0, 7, 0x12, 0x34], 1),
        ("data with an ACK", &[0x88, 0xb5, 0x61, 0, 7, 0x80, 0, 9], 1),
        ("data with an ACK and an explicit EtherType", &[0x88, 0xb5, 0x40, 0, 7, 0, 0, 9, 0x12, 0x34], 1),
        ("compact data", &[0xab, 0xcd, 0x02, 0, 7, 0x45], 1),
    ];
    for (name, header, counted) in rows {
        let before = fixture.count(Side::Link, words::DECAPSULATED);
        let frame = frame(header);
        let out = fixture.after_link(&frame);
        assert!(out.is_some_and(|out| out.len() < frame.len()), "{name}: its header is taken off");
        assert_eq!(fixture.count(Side::Link, words::DECAPSULATED) - before, counted, "{name}");
    }
}

#[test]
fn random_frames_are_treated_as_the_model_says() {
    let Some(fixture) = fixture() else { return };
    fixture.set(words::KNOWN_UNTIL, u64::MAX);
    let mut random = Random::new(1, "frames");
    for _ in 0..RANDOM_FRAMES {
        let mut header: Vec<u8> = (0..12).map(|_| random.next_u64() as u8).collect();
        let state = random.next_u64();
        // Mostly our own EtherTypes, with our magic now and then.
        match state >> 60 {
            0..8 => header[..2].copy_from_slice(&[0x88, 0xb5]),
            8..12 => header[..2].copy_from_slice(&[0xab, 0xcd]),
            _ => {}
        }
        if (state >> 58) & 3 == 0 {
            header[3..6].copy_from_slice(b"LM1");
        }
        let frame = frame(&header);
        assert_eq!(fixture.after_link(&frame), model(&frame), "header {header:02x?}");
    }
}

/// A dead daemon does not escape a host's frames, and a peer may know it still.
#[test]
fn a_hosts_frame_passes_only_if_the_peer_cannot_take_it_for_ours() {
    let Some(fixture) = fixture() else { return };
    let rows: [(&[u8], bool, bool); 7] = [
        (&[0x88, 0xb5, 1, 0, 7], true, false),
        (&[0x88, 0xb5, 0x88, b'L', b'M', b'2'], true, false),
        (&[0x88, 0xb5, 0x88, b'L', b'M', b'1'], false, false),
        (&[0x88, 0xb5, 0xc0, b'L', b'M', b'1'], false, false),
        (&[0xab, 0xcd, 0], true, false),
        (&[0x81, 0, 0, 7, 0x88, 0xb5, 0xc0, b'L', b'M', b'1'], true, true),
        (&[0x08, 0, 0x45], true, true),
    ];
    for (header, if_unknown, if_known) in rows {
        let frame = frame(header);
        for (until, passes) in [(0, if_unknown), (1, if_unknown), (u64::MAX, if_known)] {
            fixture.set(words::KNOWN_UNTIL, until);
            let expected = passes.then(|| frame.clone());
            assert_eq!(run(&fixture.inner, &frame), expected, "{header:02x?} until {until}");
        }
    }
    assert_eq!(fixture.count(Side::Inner, words::BYPASSED_FRAMES), 2 * 5 + 2);
    assert_eq!(fixture.count(Side::Inner, words::DROPPED), 7 * 3 - 12);
}

#[test]
fn frames_of_a_peer_that_is_unknown_or_no_longer_known_are_left_alone() {
    let Some(fixture) = fixture() else { return };
    for until in [0, 1] {
        fixture.set(words::KNOWN_UNTIL, until);
        for header in [[0x88, 0xb5, 1], [0x88, 0xb5, 0x88], [0xab, 0xcd, 0], [0x08, 0, 0x45]] {
            let frame = frame(&header);
            assert_eq!(fixture.after_link(&frame).unwrap(), frame);
        }
    }
    assert_eq!(fixture.count(Side::Link, words::BYPASSED_BYTES), 8 * 60);
}

#[test]
fn heartbeat_in_the_future_is_not_a_stall() {
    // A live heartbeat sends the frame to the (empty) socket map, which bypasses it as well. The test is that no clock
    // value makes the program misbehave.
    let Some(fixture) = fixture() else { return };
    let frame = frame(&[0x08, 0x00]);
    for heartbeat in [0, 1, u64::MAX / 2, u64::MAX] {
        for stall_after in [0, Duration::from_secs(1).as_nanos() as u64, u64::MAX] {
            for active in [0, 1] {
                fixture.set(words::HEARTBEAT, heartbeat);
                fixture.set(words::STALL_AFTER, stall_after);
                fixture.set(words::ACTIVE, active);
                assert_eq!(run(&fixture.inner, &frame).unwrap(), frame);
            }
        }
    }
}

#[test]
fn short_frames_do_not_confuse_the_program() {
    let Some(fixture) = fixture() else { return };
    fixture.set(words::KNOWN_UNTIL, u64::MAX);
    for length in 14..22 {
        let short = &frame(&[0x88, 0xb5, 1])[..length];
        assert_eq!(fixture.after_link(short), None, "{length} bytes");
        let other = &frame(&[0x08, 0x00, 1])[..length];
        assert_eq!(fixture.after_link(other).unwrap(), other);
    }
}

#[test]
fn what_leaves_through_a_queue_is_passed_on_as_what_is_redirected() {
    let Some(fixture) = fixture() else { return };
    fixture.set(words::KNOWN_UNTIL, u64::MAX);
    fixture.set(words::QUEUED[Side::Link as usize], 1);
    for header in
        [&[0x08, 0x00, 0x45][..], &[0x88, 0xb5, 1, 0, 7], &[0x88, 0xb5, 0x40, 0, 7, 0, 0, 9, 0x12, 0x34]]
    {
        let frame = frame(header);
        assert_eq!(fixture.link.bypass.test_run(&frame).unwrap(), (XDP_PASS, model(&frame).unwrap()));
    }
    // A copy is still dropped.
    assert_eq!(fixture.link.bypass.test_run(&frame(&[0x88, 0xb5, 9, 0, 7])).unwrap().0, XDP_DROP);
    assert_eq!(fixture.count(Side::Link, words::BYPASSED_FRAMES), 3);
    assert_eq!(fixture.count(Side::Link, words::DECAPSULATED), 2);
}

/// Linux before 5.18 gets a program that cannot see more than the first buffer.
#[test]
fn the_program_for_frames_of_one_buffer_does_and_counts_the_same() {
    let Some(fixture) = fixture() else { return };
    fixture.set(words::KNOWN_UNTIL, u64::MAX);
    let parameters = program::Parameters {
        side: Side::Link,
        target: Target::Interface(1),
        config: fixture.config.as_fd(),
        receiver: hook::Receiver::Sockets(fixture.link.receiver.as_fd()),
        longest: None,
        several_buffers: false,
        tag_bytes: 0,
    };
    let code = program::bypass(&parameters).unwrap();
    let kind = ProgramKind::Xdp { several_buffers: false };
    let old = Program::load(kind, &code, PROGRAM_NAME).unwrap_or_else(|error| panic!("{error:?}"));
    for header in
        [&[0x08, 0x00, 0x45][..], &[0x88, 0xb5, 1, 0, 7], &[0x88, 0xb5, 9, 0, 7], &[0xab, 0xcd, 0, 1, 2]]
    {
        let frame = frame(header);
        let bytes = || fixture.count(Side::Link, words::BYPASSED_BYTES);
        let before = bytes();
        let new = fixture.link.bypass.test_run(&frame).unwrap();
        let counted = bytes() - before;
        assert_eq!(old.test_run(&frame).unwrap(), new, "{header:02x?}");
        assert_eq!(bytes() - before, 2 * counted, "{header:02x?}");
    }
}

#[test]
fn only_drivers_between_ports_of_one_known_speed_do_without_a_queue() {
    let native = |inner, link| needs_queue(Side::Link, XdpMode::Native, "driver", [inner, link]);
    assert!(!native(Some(25_000), Some(25_000)));
    assert!(native(Some(25_000), Some(1_000)));
    assert!(native(None, None));
    let generic = |from, driver| needs_queue(from, XdpMode::Generic, driver, [Some(10_000); 2]);
    assert!(generic(Side::Inner, "driver") && generic(Side::Link, "driver") && generic(Side::Link, "veth"));
    assert!(!generic(Side::Inner, "veth"), "the program at the other end would not see the frames");
}
