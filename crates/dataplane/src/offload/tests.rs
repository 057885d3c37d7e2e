//! Large segments of random shape are cut, checked by an independent sum, joined again, and cut again.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::header::VirtioHeader;
use super::*;
use linkmend_random::Random;

const NEEDS_CHECKSUM: u8 = 1;

fn below(random: &mut Random, bound: u64) -> u64 {
    random.next_u64() % bound
}

/// What a host sends.
#[derive(Clone, Debug)]
struct Shape {
    is_ipv4: bool,
    is_udp: bool,
    tags: usize,
    options: usize,
    flags: u8,
    payload: usize,
    segment: usize,
}

/// The internet checksum, word by word.
fn slow_sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Shape {
    fn random(random: &mut Random) -> Shape {
        let is_udp = below(random, 4) == 0;
        let longest = [100, 8_000, 8_000][below(random, 3) as usize];
        Shape {
            is_ipv4: below(random, 2) == 0,
            is_udp,
            tags: below(random, 3) as usize,
            options: if is_udp { 0 } else { below(random, 11) as usize * 4 },
            flags: [0x10, 0x18, 0x11, 0x19, 0x90, 0x98, 0x50][below(random, 7) as usize],
            payload: 1 + below(random, 60_000) as usize,
            segment: 37 + below(random, longest) as usize,
        }
    }

    fn network(&self) -> usize {
        14 + 4 * self.tags
    }

    fn transport(&self) -> usize {
        self.network() + if self.is_ipv4 { 20 } else { 40 }
    }

    fn headers(&self) -> usize {
        self.transport() + if self.is_udp { 8 } else { 20 + self.options }
    }

    fn pseudo_header(&self, frame: &[u8]) -> Vec<u8> {
        let addresses = if self.is_ipv4 { 12..20 } else { 8..40 };
        let mut pseudo = frame[self.network()..][addresses].to_vec();
        pseudo.extend([0, if self.is_udp { 17 } else { 6 }]);
        pseudo.extend(((frame.len() - self.transport()) as u16).to_be_bytes());
        pseudo
    }

    /// The frame as the host hands it over, and its header.
    fn build(&self, random: &mut Random) -> ([u8; VIRTIO_HEADER_BYTES], Vec<u8>) {
        let mut frame: Vec<u8> = (0..12).map(|at| at + 2).collect();
        for tag in 0..self.tags {
            frame.extend([0x81, 0, 0x20, tag as u8]);
        }
        let length = self.headers() + self.payload - self.network();
        if self.is_ipv4 {
            frame.extend([8, 0, 0x45, 2]);
            frame.extend((length as u16).to_be_bytes());
            frame.extend((below(random, 65_536) as u16).to_be_bytes());
            frame.extend([0x40, 0, 64, if self.is_udp { 17 } else { 6 }, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let network = self.network();
            let checksum = !slow_sum(&[&frame[network..]]);
            frame[network + 10..network + 12].copy_from_slice(&checksum.to_be_bytes());
        } else {
            frame.extend([0x86, 0xdd, 0x60, 3, 0, 7]);
            frame.extend((length as u16 - 40).to_be_bytes());
            frame.extend([if self.is_udp { 17 } else { 6 }, 64]);
            frame.extend((0..32).map(|at| at * 7));
        }
        frame.extend([0x13, 0x88, 0x13, 0x89]);
        if self.is_udp {
            frame.extend(((8 + self.payload) as u16).to_be_bytes());
            frame.extend([0, 0]);
        } else {
            let sequence = if below(random, 2) == 0 { u32::MAX - 3_000 } else { 77 };
            frame.extend(sequence.to_be_bytes());
            frame.extend([0, 0, 0, 9, (((20 + self.options) / 4) << 4) as u8, self.flags, 1, 0, 0, 0, 0, 0]);
            frame.extend((0..self.options).map(|at| at as u8));
        }
        frame.extend((0..self.payload).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]));
        let field = self.transport() + if self.is_udp { 6 } else { 16 };
        let partial = slow_sum(&[&self.pseudo_header(&frame)]);
        frame[field..field + 2].copy_from_slice(&partial.to_be_bytes());
        let kind = match (self.is_udp, self.is_ipv4) {
            (true, _) => 5,
            (false, true) => 1,
            (false, false) => 4,
        };
        let mut header = [0; VIRTIO_HEADER_BYTES];
        header[0] = NEEDS_CHECKSUM;
        header[1] = if self.payload > self.segment { kind } else { 0 };
        header[4..6].copy_from_slice(&(self.segment as u16).to_ne_bytes());
        header[6..8].copy_from_slice(&(self.transport() as u16).to_ne_bytes());
        header[8..10].copy_from_slice(&(if self.is_udp { 6_u16 } else { 16 }).to_ne_bytes());
        (header, frame)
    }

    /// Checks one frame of a cut: its lengths, checksums, and what it carries.
    fn check(&self, frame: &[u8]) {
        let packet = &frame[self.network()..];
        let length = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
        if self.is_ipv4 {
            assert_eq!(slow_sum(&[&packet[..20]]), 0xffff, "{self:?}");
            assert_eq!(length(2), packet.len(), "{self:?}");
        } else {
            assert_eq!(length(4) + 40, packet.len(), "{self:?}");
        }
        assert_eq!(slow_sum(&[&self.pseudo_header(frame), &frame[self.transport()..]]), 0xffff, "{self:?}");
    }
}

fn cut(segmenter: &mut Segmenter, header: [u8; VIRTIO_HEADER_BYTES], frame: &[u8]) -> Vec<Vec<u8>> {
    segmenter.buffer()[..frame.len()].copy_from_slice(frame);
    segmenter.begin(header, frame.len()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = segmenter.next_frame() {
        frames.push(frame.to_vec());
    }
    assert!(segmenter.is_empty());
    frames
}

#[test]
fn what_is_cut_has_right_headers_and_is_joined_to_what_it_was() {
    let mut random = Random::new(1, "offload");
    let mut segmenter = Segmenter::default();
    let mut joined_frames = 0;
    for _ in 0..2_000 {
        let shape = Shape::random(&mut random);
        let (header, frame) = shape.build(&mut random);
        let frames = cut(&mut segmenter, header, &frame);
        assert_eq!(
            frames.len(),
            if shape.payload > shape.segment { shape.payload.div_ceil(shape.segment) } else { 1 }
        );
        frames.iter().for_each(|frame| shape.check(frame));
        let payloads: Vec<u8> = frames.iter().flat_map(|frame| &frame[shape.headers()..]).copied().collect();
        assert_eq!(payloads, frame[shape.headers()..], "{shape:?}");
        let mut rest: &[Vec<u8>] = &frames;
        while !rest.is_empty() {
            let joined = coalesce(rest.iter().map(|frame| Some(frame.as_slice())));
            let (these, others) = rest.split_at(joined.frames);
            if joined.frames > 1 {
                let mut large = joined.headers().to_vec();
                these.iter().for_each(|frame| large.extend(&frame[large_headers(&joined)..]));
                assert_eq!(cut(&mut segmenter, joined.virtio, &large), these, "{shape:?}");
                joined_frames += joined.frames;
            }
            rest = others;
        }
        // Nothing that marks the beginning, the end, or congestion keeps the rest apart.
        if !shape.is_udp && shape.flags & 0xf6 == 0x10 && frames.len() > 1 {
            let joined = coalesce(frames.iter().map(|frame| Some(frame.as_slice())));
            assert_eq!(joined.frames, frames.len(), "{shape:?}");
        }
    }
    assert!(joined_frames > 10_000, "{joined_frames}");
}

#[test]
fn tcp_is_cut_smaller_than_the_host_asks_for_and_udp_is_not() {
    let mut random = Random::new(4, "offload");
    let mut segmenter = Segmenter::default();
    segmenter.limit_frames(1_000);
    let mut shortened = 0;
    for _ in 0..2_000 {
        let shape = Shape::random(&mut random);
        let (header, frame) = shape.build(&mut random);
        let frames = cut(&mut segmenter, header, &frame);
        frames.iter().for_each(|frame| shape.check(frame));
        let payloads: Vec<u8> = frames.iter().flat_map(|frame| &frame[shape.headers()..]).copied().collect();
        assert_eq!(payloads, frame[shape.headers()..], "{shape:?}");
        let is_cut = shape.payload > shape.segment;
        let longest = frames.iter().map(Vec::len).max().unwrap();
        if is_cut && !shape.is_udp {
            assert!(longest <= 1_000, "{shape:?}: {longest}");
            shortened += usize::from(shape.headers() + shape.segment > 1_000);
        } else if is_cut {
            assert_eq!(longest, shape.headers() + shape.segment, "{shape:?}");
        } else {
            assert_eq!(frames.len(), 1, "{shape:?}");
        }
    }
    assert!(shortened > 500, "{shortened}");
}

fn large_headers(joined: &Coalesced) -> usize {
    joined.headers().len()
}

#[test]
fn frames_that_do_not_continue_each_other_stay_apart() {
    let mut random = Random::new(2, "offload");
    let mut segmenter = Segmenter::default();
    let shape = Shape {
        is_ipv4: true,
        is_udp: false,
        tags: 1,
        options: 12,
        flags: 0x10,
        payload: 5_000,
        segment: 1_000,
    };
    let (header, frame) = shape.build(&mut random);
    let frames = cut(&mut segmenter, header, &frame);
    let joined_with = |second: &[u8]| coalesce([Some(frames[0].as_slice()), Some(second)]).frames;
    assert_eq!(joined_with(&frames[1]), 2);
    assert_eq!(joined_with(&frames[2]), 1, "one is missing between them");
    assert_eq!(joined_with(&frames[0]), 1, "a duplicate");
    // A bit that is wrong anywhere keeps the frame out: the headers differ, or a checksum does not hold.
    for at in 0..frames[1].len() {
        for bit in [0, 7] {
            let mut damaged = frames[1].clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(joined_with(&damaged), 1, "byte {at}");
        }
    }
    let mut padded = frames[1].clone();
    padded.push(0);
    assert_eq!(joined_with(&padded), 1);
    for length in 0..frames[1].len() {
        assert_eq!(joined_with(&frames[1][..length]), 1, "{length} bytes");
        assert_eq!(coalesce([Some(&frames[0][..length]), Some(&frames[1])]).frames, 1, "{length} bytes");
    }
    assert_eq!(coalesce([Some(frames[0].as_slice()), None]).frames, 1);
    assert_eq!(coalesce([None, Some(frames[0].as_slice())]).frames, 1);
}

#[test]
fn headers_that_describe_nothing_are_refused() {
    let mut random = Random::new(3, "offload");
    let mut segmenter = Segmenter::default();
    let mut refused = 0;
    for _ in 0..20_000 {
        let shape = Shape { payload: 1 + below(&mut random, 3_000) as usize, ..Shape::random(&mut random) };
        let (mut header, mut frame) = shape.build(&mut random);
        for _ in 0..1 + below(&mut random, 3) {
            match below(&mut random, 3) {
                0 => header[below(&mut random, 10) as usize] = below(&mut random, 256) as u8,
                1 => {
                    let at = below(&mut random, 80.min(frame.len() as u64)) as usize;
                    frame[at] = below(&mut random, 256) as u8;
                }
                _ => frame.truncate(below(&mut random, frame.len() as u64) as usize + 1),
            }
        }
        segmenter.buffer()[..frame.len()].copy_from_slice(&frame);
        match segmenter.begin(header, frame.len()) {
            Err(header::Malformed) => refused += 1,
            Ok(()) => while segmenter.next_frame().is_some() {},
        }
        assert!(segmenter.is_empty());
    }
    assert!(refused > 1_000, "{refused}");
    assert_eq!(VirtioHeader::parse([7; 10]).bytes(), [7; 10]);
}
