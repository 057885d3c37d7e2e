//! Who is not the peer and sends from the wire, or behind a link end whose peer is gone: no word of it is believed.

mod common;

use std::time::{Duration, Instant};

use linkmend_control::report::TransmitState;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::{FramePath, FramePort, Lab, LinkEnds, Role, RunControl};
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, emit_control};
use linkmend_protocol::{Control, Format, Mode, SessionNumber};
use linkmend_random::Random;

const STRANGER: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn control(control: &Control, source: [u8; 6]) -> Vec<u8> {
    let mut buffer = [0; CONTROL_FRAME_MAX];
    let length = emit_control(control, source, &mut buffer);
    buffer[..length].to_vec()
}

/// What a third end would say that hears nobody, and what somebody says who takes the peer's address.
fn forgeries(random: &mut Random, peer: [u8; 6]) -> Vec<Vec<u8>> {
    let session = SessionNumber(random.next_u64() as u32);
    let (format, nonce) = (Format::Transparent, random.next_u64() as u32);
    let words = [
        Control::Hello { nonce: random.next_u64() | 1, echo: random.next_u64() },
        Control::OldHello,
        Control::Init { session, format },
        Control::InitEcho { session, nonce, window_frames: 1, format },
        Control::Start { session, nonce },
        Control::Fin { session },
        Control::FinEcho { session },
    ];
    words.iter().flat_map(|word| [control(word, STRANGER), control(word, peer)]).collect()
}

/// A stranger that says something every 50 ms for three seconds used to count as a third end, which suspended protection.
#[test]
fn they_neither_suspend_nor_end_protection() {
    if !common::privileged("strangers on the wire") {
        return;
    }
    let lab = Lab::up(common::options("strange")).expect("the lab comes up");
    let ends = LinkEnds::start(&lab, PortChoice::Xdp, 3).expect("the link ends start");
    ends.protect(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    ends.protect_reverse(Some(ProtectionSettings::new(Mode::NonBlocking))).expect("it gets active");
    let mut random = Random::new(1, "strangers");
    // What is sent at the link port of the first end arrives at the second.
    let wire = FramePort::new(&lab, Role::End1, "link");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        wire.inject(&forgeries(&mut random, Role::End1.mac("link"))).expect("the wire takes them");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (first, second) = ends.report().expect("both loops live");
    for report in [&first, &second] {
        assert_eq!(report.transmit_state, TransmitState::Active);
        assert_eq!((report.counters.sessions_opened, report.counters.peers_lost), (1, 0));
        assert_eq!(report.counters.lost_frames, 0);
    }
    assert!(second.counters.strange_frames > 100, "{:?}", second.counters);
    let options = GeneratorOptions { count: 2_000, frame_bytes: 300, ..GeneratorOptions::default() };
    for path in [FramePath::forward(&lab), FramePath::backward(&lab)] {
        let report = generate(&path, &options, &RunControl::default()).expect("the generator runs");
        assert_eq!((report.lost_on_path(), report.duplicated, report.reordered), (0, 0, 0), "{report:?}");
    }
}
