//! The sets of queries that come with Linkmend, each over the exporter that it is for.

use super::pages::Pages;
use super::programs::{Program, START_MOST, are_installed, free_port, prometheus, prometheus_with, settings};
use linkmend_monitor::counters::{FecReading, Reading};
use linkmend_monitor::server::ServerUrl;
use linkmend_monitor::source::{PrometheusSettings, PrometheusSource, Source};
use rcgen::{CertificateParams, KeyPair};
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

type Readings = BTreeMap<String, Reading>;

/// Polls until the answer is as it should be.
pub fn poll_until(source: &mut PrometheusSource, right: impl Fn(&Readings) -> bool) -> Readings {
    let begun = Instant::now();
    loop {
        let polled = source.poll().map(|readings| readings.into_iter().collect::<Readings>());
        match polled {
            Ok(readings) if right(&readings) => return readings,
            other => assert!(begun.elapsed() < START_MOST, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the kernel says of an interface now.
fn kernel(interface: &str, counter: &str) -> u64 {
    let path = format!("/sys/class/net/{interface}/statistics/{counter}");
    std::fs::read_to_string(path).expect("an interface").trim().parse().expect("a number")
}

fn interfaces() -> Vec<String> {
    let folders = std::fs::read_dir("/sys/class/net").expect("interfaces");
    let names = folders.map(|folder| folder.expect("a folder").file_name().into_string().expect("a name"));
    let mut names: Vec<String> = names.filter(|name| name != "bonding_masters").collect();
    names.sort();
    names
}

/// Sends frames to ourselves.
fn send(frames: u64) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = socket.local_addr().expect("its address");
    (0..frames).for_each(|_| drop(socket.send_to(b"frame", to)));
}

#[test]
fn node_exporter_has_what_the_kernel_has_counted() {
    let test = "node_exporter_has_what_the_kernel_has_counted";
    if !are_installed(test, &["prometheus", "prometheus-node-exporter"]) {
        return;
    }
    let arguments = [
        "--web.listen-address=127.0.0.1:PORT",
        "--collector.disable-defaults",
        "--collector.netdev",
        "--collector.netdev.device-exclude=^$",
        "--collector.netclass",
    ];
    let exporter = Program::start("prometheus-node-exporter", &[], &arguments);
    exporter.wait_for("/metrics");
    let prometheus = prometheus(&[("leaf1", format!("127.0.0.1:{}", exporter.port))]);
    let filter = "instance=\"leaf1\"";
    let mut source = PrometheusSource::new(&settings(prometheus.port, "node", filter)).expect("usable");
    let before = kernel("lo", "rx_packets");
    let first =
        poll_until(&mut source, |readings| readings.get("lo").is_some_and(|lo| lo.good_frames >= before));
    assert_eq!(first.keys().cloned().collect::<Vec<_>>(), interfaces());
    send(10_000);
    let second =
        poll_until(&mut source, |readings| readings["lo"].good_frames >= first["lo"].good_frames + 10_000);
    assert!(second["lo"].good_frames <= kernel("lo", "rx_packets"));
    for (name, reading) in &second {
        let frame = ["rx_frame_errors", "rx_length_errors", "rx_over_errors", "rx_crc_errors"];
        let frame = frame.iter().map(|counter| kernel(name, counter)).sum();
        assert_eq!(reading.corrupted_frames, Some(frame), "{name}");
        let changes = std::fs::read_to_string(format!("/sys/class/net/{name}/carrier_changes"));
        let changes = changes.expect("readable").trim().parse().ok();
        assert_eq!(reading.carrier_changes, changes, "{name}");
        // Speeds of virtual interfaces are unknown, which this exporter says as -1 Mbit/s.
        let speed = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok();
        let speed = speed.and_then(|text| text.trim().parse::<u64>().ok()).filter(|&speed| speed > 0);
        assert_eq!(reading.speed, speed.map(|megabits| megabits * 1_000_000), "{name}");
    }
}

/// The module of snmp_exporter that walks IF-MIB, with only what is asked for here.
fn if_mib(community: &str) -> String {
    let of = |(name, oid, kind): (&str, &str, &str)| {
        format!(
            "  - {{name: {name}, oid: {oid}, type: {kind}, help: '-', indexes: [{{labelname: ifIndex, type: gauge}}], \
             lookups: [{{labels: [ifIndex], labelname: ifName, oid: 1.3.6.1.2.1.31.1.1.1.1, type: DisplayString}}]}}\n"
        )
    };
    let metrics = [
        ("ifLastChange", "1.3.6.1.2.1.2.2.1.9", "gauge"),
        ("ifInErrors", "1.3.6.1.2.1.2.2.1.14", "counter"),
        ("ifHCInUcastPkts", "1.3.6.1.2.1.31.1.1.1.7", "counter"),
        ("ifHCInMulticastPkts", "1.3.6.1.2.1.31.1.1.1.8", "counter"),
        ("ifHCInBroadcastPkts", "1.3.6.1.2.1.31.1.1.1.9", "counter"),
        ("ifHighSpeed", "1.3.6.1.2.1.31.1.1.1.15", "gauge"),
    ];
    let metrics: String = metrics.into_iter().map(of).collect();
    format!(
        "if_mib:\n  walk: [1.3.6.1.2.1.2.2.1, 1.3.6.1.2.1.31.1.1.1]\n  version: 2\n  auth: {{community: {community}}}\n  \
         metrics:\n{metrics}"
    )
}

#[test]
fn snmp_exporter_has_what_an_agent_of_snmp_has_counted() {
    let test = "snmp_exporter_has_what_an_agent_of_snmp_has_counted";
    if !are_installed(test, &["prometheus", "prometheus-snmp-exporter", "snmpd"]) {
        return;
    }
    let configuration = "rocommunity public 127.0.0.1\n";
    let arguments = ["-f", "-Lo", "-C", "-c", "snmpd.conf", "udp:127.0.0.1:PORT"];
    let agent = Program::start("snmpd", &[("snmpd.conf", configuration)], &arguments);
    let arguments = ["--config.file=snmp.yml", "--web.listen-address=127.0.0.1:PORT"];
    let exporter = Program::start("prometheus-snmp-exporter", &[("snmp.yml", &if_mib("public"))], &arguments);
    exporter.wait_for(&format!("/snmp?module=if_mib&target=127.0.0.1:{}", agent.port));
    let job = format!(
        "127.0.0.1:{}\n  metrics_path: /snmp\n  params: {{module: [if_mib], target: ['127.0.0.1:{}']}}",
        exporter.port, agent.port
    );
    let prometheus = prometheus(&[("leaf1", job)]);
    let filter = "instance=\"leaf1\"";
    let mut source = PrometheusSource::new(&settings(prometheus.port, "snmp", filter)).expect("usable");
    let before = kernel("lo", "rx_packets");
    let readings =
        poll_until(&mut source, |readings| readings.get("lo").is_some_and(|lo| lo.good_frames >= before));
    assert_eq!(readings.keys().cloned().collect::<Vec<_>>(), interfaces());
    for (name, reading) in &readings {
        assert_eq!(reading.corrupted_frames, Some(kernel(name, "rx_errors")), "{name}");
        assert!(reading.good_frames <= kernel(name, "rx_packets"), "{name}");
        assert!(reading.carrier_changes.is_some(), "{name}");
    }
}

/// What node_exporter shows of four adapters, two of which are members of bonds: one with detailed metrics, one without, and one
/// whose driver knows of no kinds of errors.
const BONDED: &str = r#"
node_network_receive_packets_total{device="eth0"} 1000
node_network_receive_errors_total{device="eth0"} 700
node_network_receive_crc_errors_total{device="eth0"} 3
node_network_receive_frame_errors_total{device="eth0"} 1
node_network_receive_length_errors_total{device="eth0"} 96
node_network_receive_packets_total{device="eth1"} 2000
node_network_receive_errs_total{device="eth1"} 900
node_network_receive_frame_total{device="eth1"} 5
node_network_receive_packets_total{device="eth2"} 3000
node_network_receive_errs_total{device="eth2"} 6
node_network_receive_packets_total{device="eth3"} 4000
node_network_receive_crc_errors_total{device="eth3"} 7
node_network_receive_packets_total{device="uplink"} 1000
node_network_receive_crc_errors_total{device="uplink"} 3
node_bonding_slaves{master="uplink"} 1
node_network_receive_packets_total{device="bond0"} 2000
node_network_receive_frame_total{device="bond0"} 5
"#;

#[test]
fn of_node_exporter_the_counter_that_says_most_is_taken_and_no_bond() {
    if !are_installed("of_node_exporter_the_counter_that_says_most_is_taken_and_no_bond", &["prometheus"]) {
        return;
    }
    let pages = Pages::new();
    pages.show(200, BONDED);
    let prometheus = prometheus(&[("leaf1", format!("127.0.0.1:{}", pages.port))]);
    let settings = settings(prometheus.port, "node", "instance=\"leaf1\"");
    let mut source = PrometheusSource::new(&settings).expect("usable");
    let readings = poll_until(&mut source, |readings| !readings.is_empty());
    let corrupted: Vec<_> =
        readings.iter().map(|(name, reading)| (name.as_str(), reading.corrupted_frames)).collect();
    assert_eq!(corrupted, [("eth0", Some(4)), ("eth1", Some(5)), ("eth2", Some(6)), ("eth3", Some(7))]);
}

/// What the `ethtool` and EtherLike-MIB collectors and Linkmend show of ports that this machine does not have, recorded.
const RECORDED: &str = r#"
node_ethtool_received_packets_phy{device="enp1s0f0np0"} 5e+09
node_ethtool_received_crc_errors_phy{device="enp1s0f0np0"} 3
node_ethtool_received_symbol_err_phy{device="enp1s0f0np0"} 4
node_ethtool_received_corrected_bits_phy{device="enp1s0f0np0"} 77
node_network_carrier_changes_total{device="enp1s0f0np0"} 2
node_network_speed_bytes{device="enp1s0f0np0"} 1.25e+10
node_network_carrier{device="enp1s0f0np0"} 1
node_network_up{device="enp1s0f0np0"} 0
node_ethtool_port_received_unicast{device="eno1"} 40
node_ethtool_port_received_multicast{device="eno1"} 5
node_ethtool_port_received_broadcast{device="eno1"} 6
node_ethtool_port_received_crc_errors{device="eno1"} 7
ifType_info{ifIndex="9",ifName="Port-Channel1",ifType="ieee8023adLag"} 1
ifHCInUcastPkts{ifIndex="9",ifName="Port-Channel1"} 100
ifHCInMulticastPkts{ifIndex="9",ifName="Port-Channel1"} 20
ifHCInBroadcastPkts{ifIndex="9",ifName="Port-Channel1"} 3
ifType_info{ifIndex="5",ifName="Ethernet1/1",ifType="ethernetCsmacd"} 1
ifHCInUcastPkts{ifIndex="5",ifName="Ethernet1/1"} 100
ifHCInMulticastPkts{ifIndex="5",ifName="Ethernet1/1"} 20
ifHCInBroadcastPkts{ifIndex="5",ifName="Ethernet1/1"} 3
ifLastChange{ifIndex="5",ifName="Ethernet1/1"} 981
ifHighSpeed{ifIndex="5",ifName="Ethernet1/1"} 25000
ifOperStatus{ifIndex="5",ifName="Ethernet1/1"} 2
dot3StatsFCSErrors{ifIndex="5",ifName="Ethernet1/1"} 9
linkmend_corrupted_frames_total{link="uplink"} 4
linkmend_port_rx_frames_total{link="uplink",port="inner",interface="eth1"} 101
linkmend_port_rx_frames_total{link="uplink",port="link",interface="eth2"} 1000
linkmend_port_bypassed_frames_total{link="uplink",port="inner",interface="eth1"} 5
linkmend_port_bypassed_frames_total{link="uplink",port="link",interface="eth2"} 30
linkmend_port_kernel_rx_crc_errors_total{link="uplink",port="inner",interface="eth1"} 7
linkmend_port_kernel_rx_crc_errors_total{link="uplink",port="link",interface="eth2"} 2
"#;

#[test]
fn the_other_sets_read_what_their_exporters_show() {
    if !are_installed("the_other_sets_read_what_their_exporters_show", &["prometheus"]) {
        return;
    }
    let pages = Pages::new();
    pages.show(200, RECORDED);
    let prometheus = prometheus(&[("leaf1", format!("127.0.0.1:{}", pages.port))]);
    let poll = |set: &str| {
        let settings = settings(prometheus.port, set, "instance=\"leaf1\"");
        let mut source = PrometheusSource::new(&settings).expect("usable");
        poll_until(&mut source, |readings| !readings.is_empty())
    };
    let only = |name: &str, reading: Reading| Readings::from([(name.to_owned(), reading)]);
    let fec = FecReading { corrected_bits: Some(77), ..FecReading::default() };
    let adapter = Reading {
        good_frames: 5_000_000_000,
        corrupted_frames: Some(3),
        symbol_errors: Some(4),
        up: Some(true),
        carrier_changes: Some(2),
        speed: Some(100_000_000_000),
        fec: Some(fec),
        ..Reading::default()
    };
    assert_eq!(poll("node-mlx5_core"), only("enp1s0f0np0", adapter));
    let port = Reading { good_frames: 51, corrupted_frames: Some(7), ..Reading::default() };
    assert_eq!(poll("node-i40e"), only("eno1", port));
    let switch = Reading {
        good_frames: 123,
        corrupted_frames: Some(9),
        up: Some(false),
        carrier_changes: Some(981),
        speed: Some(25_000_000_000),
        ..Reading::default()
    };
    assert_eq!(poll("snmp-etherlike"), only("Ethernet1/1", switch));
    let link = Reading { good_frames: 1_026, corrupted_frames: Some(6), ..Reading::default() };
    assert_eq!(poll("linkmend"), only("uplink", link));
}

#[test]
fn prometheus_may_ask_for_a_password_and_have_a_certificate() {
    if !are_installed("prometheus_may_ask_for_a_password_and_have_a_certificate", &["prometheus"]) {
        return;
    }
    let key = KeyPair::generate().expect("a key");
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).expect("names").self_signed(&key).expect("signed").pem();
    // The password is `correct-horse`.
    let web = "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {me: \
               '$2b$04$abcdefghijklmnopqrstuuPoaPXzWjiVz4HaNq2LJXksWbO79E.S6'}\n";
    let key = key.serialize_pem();
    let files = [("web.yml", web), ("cert.pem", certificate.as_str()), ("key.pem", key.as_str())];
    let pages = Pages::new();
    pages.show(200, RECORDED);
    let targets = [("leaf1", format!("127.0.0.1:{}", pages.port))];
    let prometheus = prometheus_with(&targets, &files, &["--web.config.file=web.yml"]);
    let with = |who: &str, ca: Option<&str>| {
        let url = format!("https://{who}localhost:{}", prometheus.port);
        let settings = PrometheusSettings {
            url: ServerUrl::from(url.as_str()),
            ca: ca.map(|name| prometheus.folder().join(name)),
            ..settings(free_port(), "linkmend", "")
        };
        PrometheusSource::new(&settings).expect("usable")
    };
    let own = Some("cert.pem");
    poll_until(&mut with("me:correct%2Dhorse@", own), |readings| readings.contains_key("uplink"));
    for (mut source, part) in [
        (with("me:battery-staple@", own), "HTTP status 401; check the user and the password"),
        (with("", own), "HTTP status 401"),
        (with("me:correct-horse@", None), "--prometheus-ca has the authority"),
        (with("me:correct-horse@", Some("key.pem")), "it has no certificate; name a file in PEM format"),
        (with("me:correct-horse@", Some("none.pem")), "none.pem"),
    ] {
        let error = source.poll().expect_err("refused");
        let error = format!("{error}; {}; {}", error.hint.clone().unwrap_or_default(), source.describe());
        assert!(error.contains(part), "{error}");
        assert!(!error.contains("horse") && !error.contains("battery"), "{error}");
    }
}
