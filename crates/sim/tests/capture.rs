//! A captured run, read back by a library.

use linkmend_protocol::wire::{LinkFrame, parse};
use linkmend_protocol::{Control, Format, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::measure::{Capture, CaptureOptions};
use linkmend_sim::stress::run_observed;
use linkmend_sim::time::Rate;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};

const FRAMES: u64 = 3_000;
const CRC_ERROR: u32 = 1 << 24;
const OUTBOUND: u32 = 2;

/// Ports in the order of the file: link and inner of end 0, the same of end 1.
const LINK_0: u32 = 0;
const LINK_1: u32 = 2;
const INNER_1: u32 = 3;

fn rate() -> Rate {
    Rate::from_bits_per_second(25_000_000_000).expect("exact")
}

fn config() -> LinksConfig {
    let mut config = LinksConfig::paper(rate(), 1e-2, Mode::Ordered);
    config.frames = FRAMES;
    config.full = true;
    config
}

fn capture(options: &CaptureOptions) -> (Vec<u8>, linkmend_sim::stress::StressReport) {
    let capture = Capture::new(Vec::new(), options).expect("memory");
    let (report, capture, _) =
        run_observed(&config(), capture, None, &mut |_| true).expect("the paper's parameters");
    (capture.into_file().finish().expect("memory"), report)
}

fn flags(packet: &EnhancedPacketBlock) -> u32 {
    let flags = packet.options.iter().find_map(|option| match option {
        EnhancedPacketOption::Flags(flags) => Some(*flags),
        _ => None,
    });
    flags.expect("every packet has flags")
}

fn packets(file: &[u8]) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(file).expect("a section");
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::EnhancedPacket(packet) => packets.push(packet.into_owned()),
            Block::InterfaceDescription(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reader.interfaces().len(), 4);
    for (interface, name) in
        reader.interfaces().iter().zip(["end 0 link", "end 0 inner", "end 1 link", "end 1 inner"])
    {
        assert_eq!(interface.linktype, DataLink::ETHERNET);
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfName(name.into())));
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfSpeed(25_000_000_000)));
        // The library shows the numbers as they are, which it calls nanoseconds.
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(12)));
    }
    packets
}

#[test]
fn a_captured_run_reads_back_with_every_frame() {
    // The headers of the paper's program.
    let (file, report) = capture(&CaptureOptions::new(rate(), Format::Compact));
    let packets = packets(&file);
    let of = |port: u32| packets.iter().filter(move |packet| packet.interface_id == port);
    let header = |packet: &&EnhancedPacketBlock| match parse(&packet.data) {
        LinkFrame::Data { header, .. } => Some(header),
        _ => None,
    };
    let sent = |copy: bool| {
        of(LINK_0)
            .filter(|packet| flags(packet) & OUTBOUND != 0)
            .filter(move |packet| header(packet).is_some_and(|header| header.retransmitted == copy))
    };
    assert_eq!(sent(false).count() as u64, FRAMES);
    assert_eq!(sent(true).count() as u64, report.retransmitted_copies);
    let corrupted = |packet: &&EnhancedPacketBlock| flags(packet) & CRC_ERROR != 0;
    assert_eq!(sent(false).filter(corrupted).count() as u64, report.frames_lost);
    assert!(report.frames_lost > 0);
    assert_eq!(of(INNER_1).count() as u64, FRAMES - report.frames_undelivered);
    assert!(of(LINK_1).filter(|packet| flags(packet) & OUTBOUND != 0).any(|packet| matches!(
        parse(&packet.data),
        LinkFrame::Control(Control::Feedback(_) | Control::CompactNotification { .. })
    )));
    for port in 0..4 {
        let times: Vec<_> = of(port).map(|packet| packet.timestamp).collect();
        assert!(times.is_sorted(), "port {port}");
    }
    assert!(packets.iter().all(|packet| packet.data.len() <= 96 && packet.original_len >= 60));
    assert!(packets.iter().all(|packet| !matches!(parse(&packet.data), LinkFrame::Malformed)));
    assert_eq!(of(INNER_1).next().expect("one").original_len, config().links[0].frame_bytes - 4);
}

#[test]
fn a_capture_is_bounded_and_the_same_every_time() {
    let options = CaptureOptions {
        packets_max: 10,
        snap_bytes: 60,
        ..CaptureOptions::new(rate(), Format::Transparent)
    };
    let (file, _) = capture(&options);
    let packets = packets(&file);
    assert_eq!(packets.len(), 10);
    assert!(packets.iter().all(|packet| packet.data.len() <= 60));
    assert_eq!(capture(&options).0, file);
}

/// A disk that is full from the start, but for the section and the ports.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let capture =
        Capture::new(Full(7), &CaptureOptions::new(rate(), Format::Transparent)).expect("the headers fit");
    let (_, capture, _) =
        run_observed(&config(), capture, None, &mut |_| true).expect("the paper's parameters");
    let error = capture.into_file().finish().err().expect("it was full");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
