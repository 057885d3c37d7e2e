//! A host that sends frames which look like Linkmend's, too long for an escape and not, with tags and without: the other
//! host gets them as they are or not at all, and nothing changes between the link ends.

mod common;

use linkmend_control::LinkReport;
use linkmend_control::report::TransmitState;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::frames::{TestFrame, TransparencyOptions, TransparencyReport, Verdict, send_and_capture};
use linkmend_lab::{FramePath, Lab, LinkEnds, Role, RunControl};
use linkmend_protocol::Mode;
use std::process::Command;
use std::time::Duration;

/// What an escape adds.
const ESCAPE: usize = 6;

/// A frame with this header behind its addresses. The source address is its number, by which it is recognised.
fn frame(index: usize, header: &[u8], bytes: usize) -> TestFrame {
    let source = [0x02, b'L', b'M', 0xf5, (index >> 8) as u8, index as u8];
    let mut frame = [&[0xff; 6][..], &source, header].concat();
    frame.resize(bytes, 0x45);
    TestFrame { name: format!("{header:02x?}, {bytes} bytes"), bytes: frame }
}

/// Headers of all kinds, as the other end would read them: data, with ACK, control, escaped, ACK on an unprotected frame,
/// and those of the authors' program.
fn headers() -> Vec<Vec<u8>> {
    let ours: [&[u8]; 7] = [
        &[0x03, 0x00, 0x00, 0x00, 0x64],
        &[0x21, 0x00, 0x07],
        &[0x61, 0x00, 0x07, 0x80, 0x00, 0x09],
        &[0x86, b'L', b'M', b'1', 0, 0, 0, 1],
        &[0xc0, b'L', b'M', b'1', 0x81, 0x00, 0x00, 0x64, 0x08, 0x00],
        &[0xe3, 0x00, 0x07, 0x00, 0x64],
        &[0xc0, b'L', b'M', b'2'],
    ];
    let authors: [&[u8]; 4] = [
        &[0x02, 0x00, 0x07],
        &[0x06, 0x00, 0x07],
        &[0x50, 0x00, 0x07],
        &[0x90, 0x00, 0x07, 0x01, 0x00, 0x08],
    ];
    let ours = ours.iter().map(|header| [&[0x88, 0xb5], *header].concat());
    let authors = authors.iter().map(|header| [&[0xab, 0xcd], *header].concat());
    ours.chain(authors).collect()
}

fn frames() -> Vec<TestFrame> {
    let mut frames: Vec<TestFrame> = Vec::new();
    for header in headers() {
        for tags in 0..=3 {
            let header = [[0x81, 0x00, 0x00, 0x64].repeat(tags), header.clone()].concat();
            for bytes in (1_509..=1_518).chain([60, 200, 1_500]) {
                frames.push(frame(frames.len(), &header, bytes));
            }
        }
    }
    frames
}

fn set(lab: &Lab, role: Role, arguments: &str) -> bool {
    let name = lab.namespace(role).name().to_owned();
    let status = Command::new("ip").args(["-n", &name]).args(arguments.split_whitespace()).status();
    status.is_ok_and(|status| status.success())
}

/// Sends the frames, and checks that none was changed. Returns those that were dropped.
fn send<'a>(path: &FramePath, frames: &'a [TestFrame]) -> Vec<&'a TestFrame> {
    let options =
        TransparencyOptions { timeout: Duration::from_millis(25), ..TransparencyOptions::default() };
    let report: TransparencyReport =
        send_and_capture(path, frames, &options, &RunControl::default()).expect("they can be sent");
    assert_eq!(report.strangers, 0, "what nobody sent: {:x?}", report.first_strangers);
    let mut dropped = Vec::new();
    for (outcome, frame) in report.outcomes.iter().zip(frames) {
        match outcome.verdict {
            Verdict::Missing => dropped.push(frame),
            _ => assert!(outcome.is_transparent(), "{outcome:x?}"),
        }
    }
    dropped
}

fn unharmed(report: &LinkReport) {
    assert_eq!(report.transmit_state, TransmitState::Active);
    let counters = &report.counters;
    assert_eq!(
        [counters.lost_frames, counters.malformed_frames, counters.control_rejected, counters.peers_lost],
        [0; 4],
        "{counters:?}"
    );
}

#[test]
fn its_frames_are_never_taken_for_the_link_ends() {
    if !common::privileged("a host's frames that look like Linkmend's") {
        return;
    }
    let lab = Lab::up(common::options("host")).expect("the lab comes up");
    // A host may send more than the MTU that it was given.
    for role in [Role::Host1, Role::Host2] {
        assert!(set(&lab, role, "link set dev eth0 mtu 1600"));
    }
    for role in [Role::End1, Role::End2] {
        assert!(set(&lab, role, "link set dev link mtu 1508"));
    }
    let ends = LinkEnds::start(&lab, PortChoice::Xdp, 3).expect("the link ends start");
    let path = FramePath { mtu: 1_600, ..FramePath::forward(&lab) };
    let frames = frames();
    for protection in [None, Some(ProtectionSettings::new(Mode::Ordered))] {
        let is_protected = protection.is_some();
        ends.protect(protection.clone()).expect("it gets active");
        ends.protect_reverse(protection).expect("it gets active");
        let before = ends.report().expect("both loops live").0.counters.ambiguous_frames;
        let dropped = send(&path, &frames);
        // The link takes 1,508 bytes of payload.
        for frame in &dropped {
            assert!(frame.bytes.len() + ESCAPE > 1_522, "{}", frame.name);
        }
        let untagged = dropped.iter().filter(|frame| frame.bytes[12..14] != [0x81, 0x00]).count();
        assert_eq!(untagged, 2 * headers().len(), "1,517 and 1,518 bytes of each");
        assert_eq!(dropped.len(), untagged, "a tag in front is not ours");
        let (first, second) = ends.report().expect("both loops live");
        assert_eq!(first.counters.ambiguous_frames - before, untagged as u64);
        if is_protected {
            unharmed(&first);
            unharmed(&second);
        }
    }
}

/// The kernel keeps such a tag beside the frame, and a program that looks at the frame alone would find our EtherType.
#[test]
fn frames_of_its_vlan_device_keep_their_tag() {
    if !common::privileged("frames of a host's VLAN device") {
        return;
    }
    let lab = Lab::up(common::options("vlan")).expect("the lab comes up");
    if !set(&lab, Role::Host1, "link add link eth0 name tagged type vlan id 7") {
        eprintln!("\n######## SKIPPED: this kernel has no VLAN devices ########\n");
        return;
    }
    assert!(set(&lab, Role::Host1, "link set dev tagged up"));
    let ends = LinkEnds::start(&lab, PortChoice::Xdp, 3).expect("the link ends start");
    ends.protect(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    let mut path = FramePath::forward(&lab);
    path.from.interface = "tagged".to_owned();
    let sent: Vec<TestFrame> =
        headers().iter().enumerate().map(|(at, header)| frame(at, header, 200)).collect();
    let options =
        TransparencyOptions { timeout: Duration::from_millis(100), ..TransparencyOptions::default() };
    let report = send_and_capture(&path, &sent, &options, &RunControl::default()).expect("they can be sent");
    assert_eq!(report.strangers, 0, "what nobody sent: {:x?}", report.first_strangers);
    for (outcome, frame) in report.outcomes.iter().zip(&sent) {
        let Verdict::Changed { first_difference, ref received } = outcome.verdict else {
            panic!("it should have a tag: {outcome:x?}")
        };
        assert_eq!((first_difference, &received[12..16]), (12, &[0x81, 0x00, 0x00, 0x07][..]));
        assert_eq!(received[16..], frame.bytes[12..]);
    }
    let (first, second) = ends.report().expect("both loops live");
    unharmed(&first);
    assert_eq!(second.counters.lost_frames + second.counters.malformed_frames, 0);
}
