//! Bodies of the fuzz targets. The targets under `fuzz/` include this file, and so do the ordinary tests, which replay
//! the committed corpora with it.

#[path = "../common/mod.rs"]
mod common;

use common::pair::{A, B, Pair, Settings, quick_config};
use common::{ControlFaults, Link, Loss, Wire};
use linkmend_protocol::classify::Classifier;
use linkmend_protocol::wire::{self, LinkFrame};
use linkmend_protocol::{Config, Copies, Format, Mode, Tick};

/// Any bytes from a link: no panic, and what parses reads back the same after it is written.
pub fn wire(data: &[u8]) {
    // Captures show any frame.
    assert!(!wire::parse(data).to_string().is_empty());
    match wire::parse(data) {
        LinkFrame::Control(control) => {
            let mut out = [0xff; wire::CONTROL_FRAME_MAX];
            let length = wire::emit_control(&control, [2, 0, 0, 0, 0, 1], &mut out);
            assert_eq!(wire::parse(&out[..length]), LinkFrame::Control(control), "control");
        }
        LinkFrame::Data { header, decapsulation } => {
            let format = match u16::from_be_bytes([data[12], data[13]]) {
                wire::ethertype::COMPACT => Format::Compact,
                _ => Format::Transparent,
            };
            let original = restore(data, &decapsulation);
            assert_eq!(original.len() + decapsulation.shrinkage(), data.len());
            let wrapped =
                wrap(&original, &wire::encapsulate(format, &header, &original).expect("was wrapped"));
            match wire::parse(&wrapped) {
                LinkFrame::Data { header: again, decapsulation } => {
                    assert_eq!(again, header);
                    assert_eq!(restore(&wrapped, &decapsulation), original);
                }
                other => panic!("data became {other:?}"),
            }
        }
        LinkFrame::Acknowledging { decapsulation, .. } | LinkFrame::Escaped(decapsulation) => {
            assert_eq!(restore(data, &decapsulation).len() + decapsulation.shrinkage(), data.len());
        }
        LinkFrame::Foreign | LinkFrame::InTime | LinkFrame::Malformed => {}
    }
    judge(data);
    if let Some(pause) = wire::parse_priority_pause(data) {
        let mut out = [0xff; wire::CONTROL_FRAME_MAX];
        let length = wire::emit_control(&pause, [2, 0, 0, 0, 0, 1], &mut out);
        assert_eq!(wire::parse_priority_pause(&out[..length]), Some(pause));
    }
    // A host's frame that looks like one of ours must survive its escape.
    if let Some(escape) = wire::escape(data) {
        let wrapped = wrap(data, &escape);
        let LinkFrame::Escaped(decapsulation) = wire::parse(&wrapped) else { panic!("not escaped") };
        assert_eq!(restore(&wrapped, &decapsulation), data);
    }
}

/// Nobody who lacks the key of a link is believed there.
fn judge(data: &[u8]) {
    let key = "000102030405060708090a0b0c0d0e0f".parse().expect("a key");
    let mut seal = wire::Seal::new(key, 1);
    seal.meet(2, 1);
    match wire::parse(data) {
        LinkFrame::Control(control) => {
            if let Some(end) = wire::control_end(data) {
                assert!(end <= data.len());
                assert_ne!(seal.open_control(&control, data, end), wire::Genuineness::Genuine);
            }
        }
        LinkFrame::Data { decapsulation, .. } | LinkFrame::Acknowledging { decapsulation, .. } => {
            if let Some((_, decapsulation)) = wire::without_tag(data, decapsulation) {
                assert!(wire::ADDRESSES_BYTES + decapsulation.removes <= data.len());
            }
        }
        LinkFrame::Escaped(_) | LinkFrame::Foreign | LinkFrame::InTime | LinkFrame::Malformed => {}
    }
}

fn wrap(frame: &[u8], encapsulation: &wire::Encapsulation) -> Vec<u8> {
    let rest = &frame[wire::ADDRESSES_BYTES + usize::from(encapsulation.removes)..];
    [&frame[..wire::ADDRESSES_BYTES], encapsulation.bytes(), rest].concat()
}

fn restore(frame: &[u8], decapsulation: &wire::Decapsulation) -> Vec<u8> {
    let ethertype = decapsulation.ethertype.map(u16::to_be_bytes);
    let ethertype = ethertype.as_ref().map_or(&[][..], |bytes| bytes);
    let rest = &frame[wire::ADDRESSES_BYTES + decapsulation.removes..];
    [&frame[..wire::ADDRESSES_BYTES], ethertype, rest].concat()
}

/// The first bytes make rules, the rest is a frame: no panic, and without a rule for the other mode the default
/// applies.
pub fn classify(data: &[u8]) {
    let Some((rules, frame)) = data.split_first_chunk::<4>() else { return };
    let mode = |bit: u8| Mode::ALL[usize::from(bit & 1)];
    let mut classifier = Classifier::new(mode(rules[0]));
    let fits = classifier.set_pcp(rules[1], mode(rules[0] >> 1));
    assert_eq!(fits, rules[1] < 8);
    let fits = classifier.set_dscp(rules[2], mode(rules[0] >> 2));
    assert_eq!(fits, rules[2] < 64);
    let found = classifier.class(frame);
    assert!(classifier.distinguishes() || found == classifier.default_class());
}

/// Bytes as a script.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
}

/// Two link ends driven by the bytes, which say what is offered, corrupted, delayed, restarted. Every step is checked;
/// at the end the link heals and everything must arrive.
pub fn pair(data: &[u8]) {
    let mut script = Script(&data[..data.len().min(96)]);
    let (Some(shape), Some(loss_seed)) = (script.next(), script.next()) else { return };
    let config = Config {
        window_frames: 16 << (shape & 3),
        max_rounds: if shape & 4 == 0 { 1 } else { 255 },
        recovery_timeout: Tick::Nanosecond.micros(if shape & 8 == 0 { 200 } else { 2_000 }),
        pause_bytes: 20_000,
        resume_bytes: 4_000,
        rx_buffer_bytes: 64 * 1024,
        format: if shape & 16 == 0 { Format::Transparent } else { Format::Compact },
        ..quick_config()
    };
    let settings = Settings { config, delay_ns: 5_000, seed: loss_seed.into(), ..Settings::default() };
    let mut pair = Pair::new(settings);
    pair.protect(A, Copies::Fixed(1 + (shape >> 6)));
    while let Some(action) = script.next() {
        let argument = u64::from(script.next().unwrap_or(0));
        act(&mut pair, action, argument, config.format);
        let until = pair.now + 500 * argument;
        while pair.step(until) {}
    }
    for end in [A, B] {
        pair.links[end].loss = Loss::None;
        pair.links[end].control = ControlFaults::default();
    }
    pair.run_until_idle(2_000_000_000);
}

fn act(pair: &mut Pair, action: u8, argument: u64, format: Format) {
    let end = usize::from(action & 1);
    if pair.nodes[end].starved_until > pair.now {
        return;
    }
    let link: &mut Link = &mut pair.links[end];
    match action >> 1 & 15 {
        0 | 1 => _ = pair.offer(end, Mode::Ordered, argument % 48 + 1, 300),
        2 if format == Format::Transparent => _ = pair.offer(end, Mode::NonBlocking, argument % 48 + 1, 300),
        3 => link.loss = Loss::Iid(argument as f64 / 400.0),
        // The bits of the argument say which of the next frames are corrupted.
        4..=6 => {
            let mut left = argument << 1 | 0x200;
            link.loss = Loss::script(move |_: &Wire| {
                left = (left >> 1).max(1);
                left > 1 && left & 1 == 1
            });
        }
        7 if format == Format::Transparent => {
            link.control = ControlFaults { duplicate: 0.2, delay: 0.2, delay_max_ns: 1_000 * argument };
        }
        8 => pair.crash(end),
        9 => pair.starve(end, 20_000 * argument, false),
        10 => pair.starve(end, 20_000 * argument, true),
        11 => pair.unprotect(end),
        12 => pair.protect(end, Copies::Fixed(argument as u8)),
        13 => {
            pair.nodes[end].clock_offset -= 50_000 * argument;
            pair.service(end);
        }
        14 => {
            pair.nodes[end].clock_offset += 50_000 * argument;
            pair.service(end);
        }
        _ => link.loss = Loss::None,
    }
}
