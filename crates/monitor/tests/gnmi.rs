//! Counters out of the servers of the OpenConfig project, in Go: its fake device, and its collector, which subscribes to the
//! device and serves what it has heard to others. The tests build them; without Go, or if its modules cannot be fetched, they
//! say loudly that they are skipped.

use linkmend_monitor::counters::Reading;
use linkmend_monitor::source::{GnmiSettings, GnmiSource, Source};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAMS: [&str; 2] = ["testing/fake/gnmi/cmd/fake_server", "cmd/gnmi_collector"];
const VERSION: &str = "v0.14.1";
/// How long the servers may need to have said all.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the device counts in the first of its samples, and by how much in each of the others.
const GOOD: u64 = 1_000_000;
const CORRUPTED: u64 = 10;
const SAMPLES: u64 = 120;

/// The folder of the two programs, which are built once.
fn programs(test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gnmi-{VERSION}"));
    if PROGRAMS.iter().all(|program| folder.join(name(program)).exists()) {
        return Some(folder);
    }
    let modules = PROGRAMS.map(|program| format!("github.com/openconfig/gnmi/{program}@{VERSION}"));
    let built = Command::new("go")
        .arg("install")
        .args(&modules)
        .env("GOBIN", &folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if built.is_ok_and(|status| status.success()) {
        return Some(folder);
    }
    // Written past the harness, which keeps what passing tests print to itself.
    let text =
        format!("\n######## SKIPPED: {test} needs Go and `go install {}` ########\n", modules.join(" "));
    std::io::stderr().write_all(text.as_bytes()).expect("stderr");
    None
}

fn name(program: &str) -> &str {
    program.rsplit('/').next().expect("a name")
}

/// A running program, which ends with it.
struct Server {
    port: u16,
    child: Child,
}

impl Server {
    fn start(program: &Path, folder: &Path, port_option: &str, arguments: &[&str]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        drop(listener);
        let child = Command::new(program)
            .arg(format!("{port_option}={port}"))
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "{} is not ready", program.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Server { port, child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with an authority, and a certificate for `localhost`.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
    let authority = authority.expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &authority).expect("signed");
    let files =
        [("ca.pem", authority.pem()), ("cert.pem", certificate.pem()), ("key.pem", key.serialize_pem())];
    for (file, text) in files {
        std::fs::write(folder.path().join(file), text).expect("written");
    }
    folder
}

/// What the device says: everything once, the end of that, and then a sample of its counters every second.
fn script() -> String {
    let begun: u64 = 1_796_000_000_000_000_000;
    let mut script = "target: \"leaf1\"\nenable_delay: true\ndisable_sync: true\nfixed: {\n".to_owned();
    let mut send = |time: u64, under: &str, values: &[(&str, String)]| {
        let elem = |path: &str| {
            let one = |name: &str| match name.split_once('[') {
                Some((name, key)) => {
                    format!(
                        "elem: {{name: \"{name}\" key: {{key: \"name\" value: \"{}\"}}}}",
                        key.trim_end_matches(']')
                    )
                }
                None => format!("elem: {{name: \"{name}\"}}"),
            };
            path.split('/').map(one).collect::<Vec<_>>().join(" ")
        };
        let updates = values
            .iter()
            .map(|(path, value)| format!("update: {{path: {{{}}} val: {{{value}}}}}", elem(path)));
        let updates = updates.collect::<Vec<_>>().join(" ");
        writeln!(script, "responses: {{update: {{timestamp: {time} prefix: {{target: \"leaf1\" origin: \"openconfig\" {}}} {updates}}}}}", elem(under))
            .expect("a text");
    };
    let interface = "interfaces/interface[Ethernet1]";
    let text = |value: &str| format!("string_val: \"{value}\"");
    let attributes = [
        ("state/oper-status", text("UP")),
        ("state/type", text("iana-if-type:ethernetCsmacd")),
        (
            "ethernet/state/port-speed",
            "json_ietf_val: \"\\\"openconfig-if-ethernet:SPEED_100GB\\\"\"".to_owned(),
        ),
    ];
    send(begun, interface, &attributes);
    for sample in 1..=SAMPLES {
        let counters = [
            ("state/counters/in-unicast-pkts", format!("uint_val: {}", sample * GOOD)),
            ("state/counters/in-multicast-pkts", "uint_val: 0".to_owned()),
            ("state/counters/in-broadcast-pkts", "json_ietf_val: \"\\\"0\\\"\"".to_owned()),
            ("state/counters/in-fcs-errors", format!("int_val: {}", sample * CORRUPTED)),
            ("ethernet/state/counters/fec-uncorrectable-blocks", format!("uint_val: {sample}")),
        ];
        send(begun + sample * 1_000_000_000, interface, &counters);
    }
    let sync = script.find("responses: {update: {timestamp: 1796000002").expect("the second sample");
    script.insert_str(sync, "responses: {sync_response: true}\n");
    script + "}\n"
}

fn device(programs: &Path, folder: &Path) -> Server {
    std::fs::write(folder.join("device.txt"), script()).expect("written");
    let files = [
        "-server_crt=cert.pem",
        "-server_key=key.pem",
        "-allow_no_client_auth",
        "-text",
        "-config=device.txt",
    ];
    Server::start(&programs.join("fake_server"), folder, "-port", &files)
}

/// Polls until the port has more than two samples, and checks that all of its counters belong to one of them.
fn watch(settings: &GnmiSettings) -> Reading {
    let mut source = GnmiSource::new(settings).expect("usable");
    let begun = Instant::now();
    loop {
        let polled = source.poll();
        if let Ok(readings) = &polled {
            let readings: BTreeMap<&str, &Reading> =
                readings.iter().map(|(name, reading)| (name.as_str(), reading)).collect();
            if let Some(reading) = readings.get("Ethernet1").filter(|reading| reading.good_frames > 2 * GOOD)
            {
                return **reading;
            }
        }
        assert!(begun.elapsed() < PATIENCE, "{polled:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn check(reading: &Reading) {
    let sample = reading.good_frames / GOOD;
    assert_eq!(reading.good_frames % GOOD, 0);
    assert_eq!(reading.corrupted_frames, Some(sample * CORRUPTED), "{reading:?}");
    assert_eq!((reading.up, reading.speed), (Some(true), Some(100_000_000_000)), "{reading:?}");
    let uncorrectable = reading.fec.and_then(|fec| fec.uncorrectable_codewords).expect("it counts");
    assert!(uncorrectable.abs_diff(sample) <= 1, "{reading:?}");
    assert!(reading.taken_ns.is_some());
}

fn settings(server: &Server, folder: &Path) -> GnmiSettings {
    GnmiSettings {
        devices: vec![format!("leaf1=localhost:{}", server.port)],
        ca: Some(folder.join("ca.pem")),
        sample: Duration::from_secs(1),
        ..GnmiSettings::default()
    }
}

#[test]
fn the_fake_device_of_openconfig_is_read() {
    let Some(programs) = programs("the_fake_device_of_openconfig_is_read") else { return };
    let folder = certificates();
    let device = device(&programs, folder.path());
    check(&watch(&settings(&device, folder.path())));
}

/// The collector answers subscriptions by path and target, as a device does.
#[test]
fn the_collector_of_openconfig_is_read() {
    let Some(programs) = programs("the_collector_of_openconfig_is_read") else { return };
    let folder = certificates();
    let device = device(&programs, folder.path());
    let config = format!(
        "request: {{key: \"all\" value: {{subscribe: {{prefix: {{origin: \"openconfig\"}} subscription: {{path: {{elem: {{name: \
         \"interfaces\"}}}}}}}}}}}}\ntarget: {{key: \"leaf1\" value: {{addresses: \"localhost:{}\" request: \"all\"}}}}\n",
        device.port
    );
    std::fs::write(folder.path().join("collector.txt"), config).expect("written");
    let files = ["-config_file=collector.txt", "-cert_file=cert.pem", "-key_file=key.pem"];
    let collector = Server::start(&programs.join("gnmi_collector"), folder.path(), "-port", &files);
    check(&watch(&settings(&collector, folder.path())));
}
