//! Frames as bytes: golden ones, those of captures of others, and what a packet analyser reads in them.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use linkmend_transport::roce::{
    Body, Nak, Opcode, Packet, Position, ReadResponse, RequestPacket, Response, Selective, Syndrome,
};
use linkmend_transport::tcp::{Codepoint, Flags, Segment, SynOptions, Timestamps};
use linkmend_transport::wire::{Host, Way, roce, tcp};
use proptest::prelude::*;
use std::process::Command;

const CLIENT: Host = Host { mac: [2, 0, 0, 0, 0, 1], address: [10, 0, 0, 1], port: 40_000 };
const SERVER: Host = Host { mac: [2, 0, 0, 0, 0, 2], address: [10, 0, 0, 2], port: 80 };

const TCP: tcp::Flow = tcp::Flow {
    way: Way::new(CLIENT, SERVER),
    first_sequence: 0xffff_fff0,
    peer_first_sequence: 0x10,
    window_scale: 7,
};

const ROCE: roce::Flow = roce::Flow {
    way: Way::new(Host { port: 0xc000, ..CLIENT }, SERVER),
    queue_pair: 0x118,
    first_psn: 0xff_fffe,
    peer_first_psn: 5,
    remote_address: 0x1122_3344_5566_7788,
    remote_key: 0xa1b2_c3d4,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Golden bytes in groups, and zeros at their end.
fn golden(groups: &[&str], zeros: usize) -> String {
    groups.concat().replace(' ', "") + &"00".repeat(zeros)
}

fn tcp_frame(segment: &Segment, snap_bytes: usize) -> (Vec<u8>, u32) {
    let mut frame = Vec::new();
    let whole = tcp::write(&mut frame, &TCP, segment, snap_bytes);
    (frame, whole)
}

fn roce_frame(packet: &Packet, snap_bytes: usize) -> (Vec<u8>, u32) {
    let mut frame = Vec::new();
    let whole = roce::write(&mut frame, &ROCE, packet, snap_bytes);
    (frame, whole)
}

fn syn() -> Segment {
    Segment {
        window: 1 << 20,
        flags: Flags::SYN.with(Flags::ECE).with(Flags::CWR),
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        syn: Some(SynOptions { mss: Some(1_460), sack_permitted: true, window_scale: Some(7) }),
        ..Segment::default()
    }
}

fn data() -> Segment {
    Segment {
        sequence: 0x1001,
        acknowledgement: 1,
        window: 1 << 20,
        length: 100,
        flags: Flags::ACK.with(Flags::PSH),
        codepoint: Codepoint::Ect0,
        timestamps: Some(Timestamps { value: 7, echo: 9 }),
        ..Segment::default()
    }
}

fn ack() -> Segment {
    let mut ack = Segment {
        sequence: 0x1001,
        acknowledgement: 2_000,
        window: 1 << 20,
        flags: Flags::ACK.with(Flags::ECE),
        timestamps: Some(Timestamps { value: 7, echo: 9 }),
        ..Segment::default()
    };
    ack.sack.push(3_000..4_000);
    ack
}

fn request(psn: u64, opcode: Opcode, payload: u16) -> Packet {
    let dma_length = (opcode != Opcode::Send).then_some(u32::from(payload));
    let request = RequestPacket { opcode, position: Position::Only, payload, ack_request: true, dma_length };
    Packet { psn, codepoint: Codepoint::Ect0, body: Body::Request(request) }
}

fn read_response(position: Position, payload: u16) -> Packet {
    let body = Body::ReadResponse(ReadResponse { position, payload, messages: 3 });
    Packet { psn: 7, codepoint: Codepoint::NotEct, body }
}

fn response(syndrome: Syndrome) -> Packet {
    let body = Body::Response(Response { syndrome, messages: 3, selective: None });
    Packet { psn: 7, codepoint: Codepoint::NotEct, body }
}

/// Numbers wrap at 32 bits, the window of a SYN is not shifted, others are. The sums were also made by hand: the words
/// of the SYN's IPv4 header (4500 003c 4000 4006 0a00 0001 0a00 0002) add up to d945, the complement of 26ba.
#[test]
fn segments_are_written_as_by_hand() {
    let (frame, whole) = tcp_frame(&syn(), usize::MAX);
    let ethernet = "020000000002 020000000001 0800";
    let options = "020405b4 0402 080a0000000100000000 01030307";
    let wanted = [
        ethernet,
        "4500003c00004000400626ba 0a000001 0a000002",
        "9c40 0050 fffffff0 00000000 a0c2 ffff 96bb 0000",
        options,
    ];
    assert_eq!(hex(&frame), golden(&wanted, 0));
    assert_eq!((whole, tcp::frame_bytes(&syn())), (74, 78));
    let (frame, whole) = tcp_frame(&data(), usize::MAX);
    let timestamps = "0101080a 00000007 00000009";
    let wanted = [
        ethernet,
        "45020098000040004006265c 0a000001 0a000002",
        "9c40 0050 00000ff1 00000011 8018 2000 95ac 0000",
        timestamps,
    ];
    assert_eq!(hex(&frame), golden(&wanted, 100));
    assert_eq!((whole, tcp::frame_bytes(&data())), (166, 170));
    let (frame, whole) = tcp_frame(&ack(), usize::MAX);
    let wanted = [
        ethernet,
        "4500004000004000400626b6 0a000001 0a000002",
        "9c40 0050 00000ff1 000007e0 b050 2000 3c7a 0000",
        timestamps,
        "0101050a 00000bc8 00000fb0",
    ];
    assert_eq!(hex(&frame), golden(&wanted, 0));
    assert_eq!((whole, tcp::frame_bytes(&ack())), (78, 82));
}

/// 24-bit numbers wrap: the first request is fffffe, so number 2 is 0. 5 B of payload are padded to 8. The words of the
/// SEND's IPv4 header (4502 002c 4000 4011 0a00 0001 0a00 0002) add up to d942, the complement of 26bd.
#[test]
fn packets_of_roce_are_written_as_by_hand() {
    let ethernet = "020000000002 020000000001 0800";
    let addresses = "0a000001 0a000002 c000 12b7";
    let check = |packet: &Packet, ip: &str, behind: &[&str], zeros| {
        let (frame, whole) = roce_frame(packet, usize::MAX);
        let wanted = [&[ethernet, ip, addresses], behind].concat();
        assert_eq!(hex(&frame), golden(&wanted, zeros));
        assert_eq!(whole as usize, frame.len());
        assert_eq!(whole + 4, u32::from(packet.frame_bytes()));
    };
    let ip = "4502004400004000401126a5";
    let bth = "0a70ffff 00000118 80000000";
    let reth = "1122334455667788 a1b2c3d4 00000005";
    let payload_and_icrc = "0000000000000000 c183bd0b";
    check(&request(2, Opcode::Write, 5), ip, &["00300000", bth, reth, payload_and_icrc], 0);
    let ip = "4502002c00004000401126bd";
    check(&request(0, Opcode::Send, 0), ip, &["00180000", "0440ffff 00000118 80fffffe", "0ed4a76e"], 2);
    let (ip, bth) = ("4500003000004000401126bb", "1140ffff 00000118 0000000c");
    check(&response(Syndrome::Ack), ip, &["001c0000", bth, "1f000003", "a2263a92"], 0);
    let nak = response(Syndrome::Nak(Nak::SequenceError));
    check(&nak, ip, &["001c0000", bth, "60000003", "689666a1"], 0);
}

/// A congestion notification that a ConnectX-4 Lx sent, with its invariant CRC (from the tests of Scapy, test/contrib/
/// roce.uts).
#[test]
fn a_congestion_notification_is_written_as_a_card_sends_it() {
    let source = Host { mac: [0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32], address: [10, 0, 17, 1], port: 0 };
    let mac = [0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2];
    let destination = Host { mac, address: [10, 0, 18, 1], port: 0 };
    let way = Way { dscp: 48, identification: 0x718c, ..Way::new(source, destination) };
    let packet = Packet { psn: 0, codepoint: Codepoint::Ect0, body: Body::CongestionNotification };
    let mut frame = Vec::new();
    roce::write(&mut frame, &roce::Flow { way, ..ROCE }, &packet, usize::MAX);
    let captured = [
        "e41d2dab2bc2 7cfe90643b32 0800",
        "45c2003c718c400040119161 0a001101 0a001201",
        "0000 12b7 0028 0000",
        "8100ffff 40000118 00000000",
        "00000000000000000000000000000000 82fd002a",
    ];
    assert_eq!(hex(&frame), golden(&captured, 0));
}

#[test]
fn a_snap_length_cuts_frames_and_changes_nothing_before() {
    let (segment, packet) = (data(), request(2, Opcode::Write, 1_000));
    let (whole_segment, whole_packet) = (tcp_frame(&segment, usize::MAX), roce_frame(&packet, usize::MAX));
    for snap_bytes in [0, 1, 13, 14, 40, 54, 66, 96, 128, 10_000] {
        for (whole, (cut, length)) in [
            (&whole_segment, tcp_frame(&segment, snap_bytes)),
            (&whole_packet, roce_frame(&packet, snap_bytes)),
        ] {
            assert_eq!(length, whole.1);
            assert_eq!(cut, whole.0[..snap_bytes.min(whole.0.len())]);
        }
    }
}

/// Four blocks of SACK without timestamps, three with them (RFC 2018, section 3).
#[test]
fn blocks_of_sack_that_do_not_fit_are_left_out() {
    let mut segment = Segment { flags: Flags::ACK, ..Segment::default() };
    (1..=4).for_each(|block| segment.sack.push(100 * block..100 * block + 50));
    assert_eq!(tcp::frame_bytes(&segment), 18 + 20 + 20 + 4 + 4 * 8);
    segment.timestamps = Some(Timestamps::default());
    assert_eq!(tcp::frame_bytes(&segment), 18 + 20 + 20 + 12 + 4 + 3 * 8);
    assert_eq!(tcp_frame(&segment, usize::MAX).1, 94);
    segment.sack = Default::default();
    segment.timestamps = None;
    assert_eq!(tcp::frame_bytes(&segment), 64, "the shortest frame");
    // A full packet of 1,500 B: 1,518 B with Ethernet.
    segment.length = 1_448;
    segment.timestamps = Some(Timestamps::default());
    assert_eq!(tcp::frame_bytes(&segment), 1_518);
    segment.length = u32::MAX;
    assert_eq!(tcp::frame_bytes(&segment), u16::MAX);
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let syn =
        prop::option::of((prop::option::of(any::<u16>()), any::<bool>(), prop::option::of(any::<u8>())));
    let timestamps = prop::option::of((any::<u32>(), any::<u32>()));
    let blocks = prop::collection::vec((any::<u64>(), any::<u64>()), 0..6);
    let numbers = (any::<u64>(), any::<u64>(), any::<u32>(), 0_u32..70_000, any::<u8>());
    (numbers, syn, timestamps, blocks).prop_map(|(numbers, syn, timestamps, blocks)| {
        let (sequence, acknowledgement, window, length, flags) = numbers;
        let mut segment = Segment { sequence, acknowledgement, window, length, ..Segment::default() };
        segment.flags = Flags(flags);
        segment.timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
        segment.syn =
            syn.map(|(mss, sack_permitted, window_scale)| SynOptions { mss, sack_permitted, window_scale });
        blocks.iter().for_each(|(start, end)| segment.sack.push(*start..*end));
        segment
    })
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let selective = prop::option::of((any::<u64>(), any::<u64>()));
    let body = (0_u8..3, any::<u16>(), any::<bool>(), selective, any::<u64>());
    (any::<u64>(), body).prop_map(|(psn, (kind, payload, flag, selective, messages))| {
        let selective = selective.map(|(highest, arrived)| Selective { highest, arrived });
        let body = match kind {
            0 => return request(psn, if flag { Opcode::Send } else { Opcode::Write }, payload),
            1 if flag => Body::ReadResponse(ReadResponse { position: Position::Last, payload, messages }),
            1 => Body::Response(Response { syndrome: Syndrome::Ack, messages, selective }),
            _ => Body::CongestionNotification,
        };
        Packet { psn, codepoint: Codepoint::Ce, body }
    })
}

proptest! {
    /// The length that a simulator reckons with is that of the frame, and its check sequence.
    #[test]
    fn frames_are_as_long_as_frame_bytes_says(segment in any_segment(), packet in any_packet()) {
        let (frame, whole) = tcp_frame(&segment, usize::MAX);
        prop_assert_eq!(frame.len(), whole as usize);
        prop_assert_eq!(u32::from(tcp::frame_bytes(&segment)), (whole + 4).min(65_535));
        let (frame, whole) = roce_frame(&packet, usize::MAX);
        prop_assert_eq!(frame.len(), whole as usize);
        prop_assert_eq!(u32::from(packet.frame_bytes()), (whole + 4).min(65_535));
    }
}

/// A capture file in the old format (libpcap), Ethernet.
fn capture_file(frames: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    for frame in frames {
        let length = u32::try_from(frame.len()).expect("it is short");
        file.extend(words(&[0, 0, length, length]));
        file.extend(frame);
    }
    file
}

/// The fields that tshark finds in each frame; `None` without tshark.
fn fields(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<String>> {
    let path = std::env::temp_dir().join(format!("linkmend-wire-{name}-{}.pcap", std::process::id()));
    std::fs::write(&path, capture_file(frames)).expect("a temporary file");
    let mut tshark = Command::new("tshark");
    for preference in
        ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "tcp.relative_sequence_numbers:FALSE"]
    {
        tshark.args(["-o", preference]);
    }
    tshark.args(["-T", "fields", "-r"]).arg(&path);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark.args(["-E", "separator=,", "-E", "aggregator=;"]).output();
    std::fs::remove_file(&path).expect("it is ours");
    let Ok(output) = output else {
        eprintln!("\n######## SKIPPED: {name} needs tshark ########\n");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect())
}

#[test]
fn wireshark_reads_segments() {
    let frames = [syn(), data(), ack()].map(|segment| tcp_frame(&segment, usize::MAX).0);
    let wanted = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.window_size_value",
        "ip.dsfield.ecn",
        "tcp.options.mss_val",
        "tcp.options.timestamp.tsval",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
    ];
    let Some(lines) = fields("wireshark_reads_segments", &frames, &wanted) else { return };
    // Status 1 is a good checksum.
    assert_eq!(lines[0], "1,1,4294967280,0,0,65535,0,1460,1,,");
    assert_eq!(lines[1], "1,1,4081,17,100,8192,2,,7,,");
    assert_eq!(lines[2], "1,1,4081,2016,0,8192,0,,7,3016,4016");
}

#[test]
fn wireshark_reads_packets_of_roce() {
    let packets = [
        request(2, Opcode::Write, 143),
        response(Syndrome::Ack),
        response(Syndrome::Nak(Nak::SequenceError)),
        response(Syndrome::ReceiverNotReady { timer: 12 }),
        Packet { psn: 0, codepoint: Codepoint::NotEct, body: Body::CongestionNotification },
        request(2, Opcode::Read, 0),
        read_response(Position::Middle, 5),
        read_response(Position::Last, 5),
    ];
    let frames = packets.map(|packet| roce_frame(&packet, usize::MAX).0);
    let wanted = [
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband.bth.destqp",
        "infiniband.bth.padcnt",
        "infiniband.reth.dmalen",
        "infiniband.aeth.syndrome",
        "infiniband.aeth.msn",
    ];
    let Some(lines) = fields("wireshark_reads_packets_of_roce", &frames, &wanted) else { return };
    assert_eq!(lines[0], "10,0,0x000118,1,143,,");
    assert_eq!(lines[1], "17,12,0x000118,0,,31,3");
    assert_eq!(lines[2], "17,12,0x000118,0,,96,3");
    assert_eq!(lines[3], "17,12,0x000118,0,,44,3");
    assert_eq!(lines[4], "129,0,0x000118,0,,,");
    assert_eq!(lines[5], "12,0,0x000118,0,0,,");
    assert_eq!(lines[6], "14,12,0x000118,3,,,");
    assert_eq!(lines[7], "15,12,0x000118,3,,31,3");
}
