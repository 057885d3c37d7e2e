//! Malformed and forged frames, from the inner side and from the link, are counted and never block the link.

mod common;

use std::time::{Duration, Instant};

use linkmend_control::report::TransmitState;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::{FramePath, FramePort, Lab, LinkEnds, Role, RunControl};
use linkmend_protocol::wire::{CONTROL_ADDRESS, CONTROL_FRAME_MAX, MAGIC, emit_control};
use linkmend_protocol::{
    Control, Feedback, Format, LaneFeedback, LongSequenceNumber, Mode, PerMode, SequenceNumber,
    SequenceRange, SessionNumber,
};
use linkmend_random::Random;

fn forged_control(random: &mut Random) -> Control {
    let session = SessionNumber(random.next_u64() as u32);
    let sequence =
        |random: &mut Random| SequenceNumber::new(random.next_u64() as u16, random.next_u64() & 1 == 0);
    match random.next_u64() % 9 {
        0 => Control::Hello { nonce: random.next_u64(), echo: random.next_u64() },
        1 => Control::Init { session, format: Format::Transparent },
        2 => {
            let (nonce, window_frames) = (random.next_u64() as u32, random.next_u64() as u32);
            Control::InitEcho { session, nonce, window_frames, format: Format::Transparent }
        }
        3 => Control::Start { session, nonce: random.next_u64() as u32 },
        4 => Control::Fin { session },
        5 => Control::FinEcho { session },
        6 => {
            let mut lanes = || PerMode([0; 2].map(|_: u8| LongSequenceNumber(random.next_u64() as u32)));
            let (next, held_from) = (lanes(), lanes());
            Control::Dummy { session, stamp: random.next_u64() as u16, next, held_from }
        }
        7 => Control::CompactAck { next: sequence(random) },
        _ => {
            let lane = |random: &mut Random| {
                let long = LongSequenceNumber(random.next_u64() as u32);
                let mut lane = LaneFeedback::new(long, sequence(random), true);
                lane.push_missing(SequenceRange {
                    first: sequence(random),
                    length: random.next_u64() as u16 | 1,
                });
                lane
            };
            Control::Feedback(Feedback {
                session,
                number: random.next_u64() as u16,
                dummy_stamp: random.next_u64() as u16,
                lost_total: random.next_u64() as u32,
                rx_overflow_total: 0,
                lanes: PerMode([lane(random), lane(random)]),
            })
        }
    }
}

/// Valid frames of unknown sessions, frames with single bytes changed, truncated frames, and noise behind the magic.
fn hostile_frames(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed, "hostile frames");
    (0..count)
        .map(|_| {
            let mut buffer = [0; CONTROL_FRAME_MAX];
            let length = emit_control(&forged_control(&mut random), [2, 0, 0, 0, 0, 9], &mut buffer);
            let mut frame = buffer[..length].to_vec();
            match random.next_u64() % 4 {
                0 => {}
                1 => {
                    let at = 14 + (random.next_u64() as usize) % (length - 14);
                    frame[at] ^= 1 << (random.next_u64() % 8);
                }
                2 => frame.truncate(14 + (random.next_u64() as usize) % 46),
                _ => {
                    frame[14] = 0b1000_0000 | random.next_u64() as u8 & 0b0011_1111;
                    frame[15..18].copy_from_slice(&MAGIC);
                    frame[18..].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
                }
            }
            frame
        })
        .collect()
}

/// Data headers with arbitrary numbers, as an attacker with access to the wire could send.
fn forged_data(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed, "hostile frames");
    (0..count)
        .map(|_| {
            let mut frame = [&CONTROL_ADDRESS[..], &[2, 0, 0, 0, 0, 9, 0x88, 0xb5]].concat();
            frame.push(random.next_u64() as u8 & 0b0111_1111);
            frame.extend((0..60).map(|_| random.next_u64() as u8));
            frame
        })
        .collect()
}

/// Checks that protection becomes active in both directions within `patience`, and that 2,000 frames then pass
/// unharmed.
fn works_again(lab: &Lab, ends: &LinkEnds, patience: Duration, what: &str) {
    let deadline = Instant::now() + patience;
    loop {
        let (first, second) = ends.report().expect("both loops live");
        if [first.transmit_state, second.transmit_state] == [TransmitState::Active; 2] {
            break;
        }
        assert!(Instant::now() < deadline, "{what}: {} / {}", first.transmit_state, second.transmit_state);
        std::thread::sleep(Duration::from_millis(5));
    }
    let options = GeneratorOptions { count: 2_000, frame_bytes: 300, ..GeneratorOptions::default() };
    for path in [FramePath::forward(lab), FramePath::backward(lab)] {
        let report = generate(&path, &options, &RunControl::default()).expect("the generator runs");
        assert_eq!(
            (report.lost_on_path(), report.duplicated, report.reordered),
            (0, 0, 0),
            "{what}: {report:?}"
        );
    }
}

fn endure(name: &str, ports: PortChoice) {
    if !common::privileged("malformed and forged frames") {
        return;
    }
    let lab = Lab::up(common::options(name)).expect("the lab comes up");
    let ends = LinkEnds::start(&lab, ports, 3).expect("the link ends start");
    ends.protect(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    ends.protect_reverse(Some(ProtectionSettings::new(Mode::NonBlocking))).expect("it gets active");
    works_again(&lab, &ends, Duration::from_secs(1), "before");

    let host = FramePort::new(&lab, Role::Host1, "eth0");
    host.inject(&hostile_frames(1, 2_000)).expect("the host can send");
    works_again(&lab, &ends, Duration::from_secs(1), "after frames from the inner side");
    let (_, second) = ends.report().expect("both loops live");
    assert_eq!(second.counters.control_rejected, 0, "a host's frames never reach the peer's protocol");

    let wire = FramePort::new(&lab, Role::End1, "link");
    wire.inject(&hostile_frames(2, 2_000)).expect("the wire takes them");
    std::thread::sleep(Duration::from_millis(50));
    let (_, second) = ends.report().expect("both loops live");
    let counted = second.counters.control_rejected + second.counters.malformed_frames;
    assert!(counted > 100, "forged control frames are counted: {counted}");
    works_again(&lab, &ends, Duration::from_secs(2), "after control frames from the link");

    wire.inject(&forged_data(3, 2_000)).expect("the wire takes them");
    // Numbers far ahead are not believed; the sender skips nearer ones that are.
    std::thread::sleep(Duration::from_millis(300));
    works_again(&lab, &ends, Duration::from_secs(2), "after data frames from the link");
}

#[test]
fn on_af_xdp() {
    endure("hosx", PortChoice::Xdp);
}

#[test]
fn on_af_packet() {
    endure("hosp", PortChoice::Packet);
}
