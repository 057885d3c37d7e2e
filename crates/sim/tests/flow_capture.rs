//! What passes a port of a network with hosts, captured, read back by a library, and by tshark if it is there.

mod common;

use common::gigabits;
use linkmend_quantity::LossRate;
use linkmend_sim::flows::{
    Demand, FlowsConfig, FlowsReport, PortCapture, PortCaptureOptions, SchemeKind, TransportKind, find_port,
    run, run_captured,
};
use linkmend_sim::parameters::RunParameters;

use linkmend_topology::spec;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

const CRC_ERROR: u32 = 1 << 24;
const OUTBOUND: u32 = 2;
/// The sending port of the link that corrupts, and that of the sending host.
const LINK: &str = "switch2--switch3";
const HOST: &str = "left0--switch0";

fn config(transport: TransportKind, scheme: SchemeKind) -> FlowsConfig {
    let graph = spec::graph("line:switches=5,hosts=1").expect("it can be built");
    let loss = 2e-2;
    let parameters = RunParameters {
        transport: Some(transport),
        scheme: Some(scheme),
        loss: Some(LossRate(loss)),
        ..RunParameters::default()
    };
    let demand = Demand::trials(40, 24_387).expect("above 0");
    parameters.flows_in(graph, demand, Path::new("")).expect("valid")
}

fn capture_on(config: &FlowsConfig, port: &str, frames_max: u64, threads: usize) -> (Vec<u8>, FlowsReport) {
    let port_id = find_port(&config.graph, port).expect("it is there");
    let options =
        PortCaptureOptions { port: port_id, name: port.to_owned(), rate: gigabits(100), frames_max };
    let capture = PortCapture::new(Vec::new(), &options).expect("memory");
    let (report, capture) =
        run_captured(config, threads, &AtomicBool::new(false), &|| (), capture).expect("valid");
    let file = capture.expect("the first part ran").into_file().finish().expect("memory");
    (file, report.expect("nothing stops it"))
}

fn capture(transport: TransportKind, scheme: SchemeKind, port: &str) -> (Vec<u8>, FlowsReport) {
    capture_on(&config(transport, scheme), port, u64::MAX, 1)
}

fn packets(file: &[u8]) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(file).expect("a section");
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            packets.push(packet.into_owned());
        }
    }
    packets
}

fn flags(packet: &EnhancedPacketBlock) -> u32 {
    let flags = packet.options.iter().find_map(|option| match option {
        EnhancedPacketOption::Flags(flags) => Some(*flags),
        _ => None,
    });
    flags.expect("every packet has flags")
}

fn comment(packet: &EnhancedPacketBlock) -> String {
    let comment = packet.options.iter().find_map(|option| match option {
        EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
        _ => None,
    });
    comment.unwrap_or_default()
}

fn is_ipv4(packet: &&EnhancedPacketBlock) -> bool {
    packet.data[12..14] == [0x08, 0x00]
}

/// What a packet analyser prints for these fields of every frame; `None` without one.
fn tshark(name: &str, file: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = std::env::temp_dir().join(format!("linkmend-flows-{name}-{}.pcapng", std::process::id()));
    std::fs::write(&path, file).expect("a temporary file");
    let mut command = Command::new("tshark");
    command.args(["-T", "fields", "-E", "separator=,", "-E", "aggregator=;", "-r"]).arg(&path);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output();
    std::fs::remove_file(&path).expect("it is ours");
    let Ok(output) = output else {
        eprintln!("\n######## SKIPPED: {name} needs tshark ########\n");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect())
}

#[test]
fn a_captured_port_shows_every_frame_its_direction_and_what_the_link_did_with_it() {
    for scheme in SchemeKind::ALL {
        let (file, report) = capture(TransportKind::Dctcp, scheme, LINK);
        let all = packets(&file);
        let corrupted = all.iter().filter(|packet| flags(packet) & CRC_ERROR != 0);
        assert_eq!(corrupted.clone().count() as u64, report.network.frames_corrupted, "{}", scheme.name());
        assert!(corrupted.clone().all(|packet| comment(packet).ends_with("corrupted on the link")));
        assert!(report.network.frames_corrupted > 5, "{report:?}");
        assert!(all.iter().map(|packet| packet.timestamp).is_sorted(), "simulated time goes on");
        assert!(all.iter().all(|packet| !comment(packet).contains("handled already")), "{}", scheme.name());
        // 17 segments of each of 40 flows leave to the right, and acknowledgements come back.
        let sent = all.iter().filter(|packet| flags(packet) & OUTBOUND != 0).filter(is_ipv4).count();
        let copies = all.iter().filter(|packet| comment(packet).contains("copy of")).count();
        assert_eq!((sent - copies) as u64, 40 * 17 + report.flows.retransmissions, "{}", scheme.name());
        assert!(all.len() - sent >= 40, "{} of {}", sent, all.len());
        let told = |what: &str| all.iter().filter(|packet| comment(packet).contains(what)).count();
        match scheme {
            SchemeKind::None => assert_eq!(told("LinkGuardian") + told("Wharf"), 0),
            SchemeKind::Wharf => {
                assert!(told("Wharf: frame") > 600 && told("Wharf: parity") > 10);
                let is_linkmend = |packet: &&EnhancedPacketBlock| packet.data[12..14] == [0x88, 0xb5];
                assert_eq!(all.iter().filter(is_linkmend).count(), 0, "parity is no frame of Linkmend's");
            }
            SchemeKind::Llr => {
                // Acknowledgements of the other direction are frames with a number as well.
                assert!(copies > 5 && told("LLR: frame") > sent - copies);
                assert!(told("LLR: ACK") > 100 && told("LLR: NACK") > 5);
            }
            SchemeKind::Selective => {
                assert!(copies > 5 && told("selective retry: frame") > sent - copies);
                assert!(told("selective retry: ACK") > 100 && told("selective retry: NACK") > 5);
            }
            SchemeKind::Parity => assert!(told(": frame") > 600, "{}", comment(&all[0])),
            SchemeKind::Ordered | SchemeKind::NonBlocking => {
                assert!(copies > 5 && told(&format!("data {} ", scheme.name())) == sent - copies);
                assert!(told("ACK before") > 0 && told("loss notification") > 0);
            }
        }
    }
}

#[test]
fn a_capture_of_a_port_changes_nothing_is_bounded_and_the_same_on_every_number_of_threads() {
    let mut config = config(TransportKind::Rdma, SchemeKind::NonBlocking);
    config.traffic[0].demand = Demand::trials(20_100, 143).expect("above 0");
    let (file, report) = capture_on(&config, HOST, 500, 1);
    assert_eq!(packets(&file).len(), 500);
    assert_eq!((file, report.clone()), capture_on(&config, HOST, 500, 3));
    let mut plain = run(&config, 2, &AtomicBool::new(false), &|| ()).expect("valid").expect("it ends");
    let events = std::mem::replace(&mut plain.network.events, report.network.events);
    assert!(events < report.network.events, "without an observer, a departure need not be an event");
    assert_eq!(plain, report, "who is observed does the same");
    let (file, _) = capture_on(&config, HOST, 1, 1);
    let mut reader = PcapNgReader::new(&file[..]).expect("a section");
    while reader.next_block().is_some() {}
    let options = &reader.interfaces()[0].options;
    assert!(options.contains(&InterfaceDescriptionOption::IfName(HOST.into())));
    assert!(options.contains(&InterfaceDescriptionOption::IfSpeed(100_000_000_000)));
}

/// At the sending host: every retransmission of the report, and nothing that an analyser has to complain about.
#[test]
fn wireshark_reads_a_captured_host_as_tcp_with_its_retransmissions() {
    let (file, report) = capture(TransportKind::Dctcp, SchemeKind::None, HOST);
    let fields = [
        "_ws.col.Protocol",
        "tcp.stream",
        "tcp.analysis.retransmission",
        "_ws.malformed",
        "tcp.options.sack_le",
        "tcp.analysis.out_of_order",
    ];
    let Some(lines) = tshark("tcp", &file, &fields) else { return };
    assert!(lines.iter().all(|line| line[0] == "TCP" && line[3].is_empty()), "{lines:?}");
    let flows: std::collections::BTreeSet<_> = lines.iter().map(|line| &line[1]).collect();
    assert_eq!(flows.len(), 40, "each flow is a connection of its own");
    let count = |field: usize| lines.iter().filter(|line| !line[field].is_empty()).count();
    assert!(report.flows.retransmissions > 5, "{report:?}");
    // Without a handshake, from which it would know the round-trip time, Wireshark takes those within 3 ms for reordering.
    assert_eq!((count(2) + count(5)) as u64, report.flows.retransmissions);
    assert!(count(4) > 0, "losses are reported by SACK");
    // Retransmissions and what announces them, and nothing else.
    let Some(lines) = tshark("expert", &file, &["_ws.expert.message"]) else { return };
    let known = ["retransmission", "out-of-order", "Duplicate ACK", "previous segment"];
    for line in lines {
        for message in line[0].split(';').filter(|message| !message.is_empty()) {
            assert!(known.iter().any(|known| message.contains(known)), "{message}");
        }
    }
}

#[test]
fn wireshark_reads_a_captured_host_as_roce_with_its_retransmissions() {
    let (file, report) = capture(TransportKind::Rdma, SchemeKind::NonBlocking, HOST);
    let fields =
        ["_ws.col.Protocol", "infiniband.bth.opcode", "infiniband.aeth.syndrome", "_ws.expert.message"];
    let Some(lines) = tshark("roce", &file, &fields) else { return };
    assert!(lines.iter().all(|line| line[0] == "RRoCE" && line[3].is_empty()), "{lines:?}");
    // First, Middle and Last of a WRITE.
    let requests = lines.iter().filter(|line| ["6", "7", "8"].contains(&line[1].as_str())).count();
    assert_eq!(requests as u64, 40 * 24_387u64.div_ceil(1_024) + report.flows.retransmissions);
    assert!(report.flows.retransmissions > 5, "{report:?}");
    // 96 is a NAK of a sequence error.
    assert!(lines.iter().any(|line| line[2] == "96"), "reordered packets are refused");
}
