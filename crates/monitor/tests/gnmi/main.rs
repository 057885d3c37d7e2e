//! Counters out of servers of the OpenConfig project, in Go: its fake device, which sends a script, and its cache and
//! subscription server (`server.go`), which answer by path. The tests build them; without Go, or if its modules cannot be
//! fetched, they say loudly that they are skipped.

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

/// The project's module, as Go calls it.
const MODULE: &str = "github.com/openconfig/gnmi";
const VERSION: &str = "v0.14.1";
/// How long the servers may need to have said all.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// What the device counts in the first of its samples, and by how much in each of the others.
const GOOD: u64 = 1_000_000;
const CORRUPTED: u64 = 10;
const SAMPLES: u64 = 120;

/// The fake device, built once; `None` if it cannot be.
fn fake_device(test: &str) -> Option<PathBuf> {
    let command = format!("install {MODULE}/testing/fake/gnmi/cmd/fake_server@{VERSION}");
    built(test, "fake_server", &command, Path::new("."))
}

/// The server that answers by path, built once; `None` if it cannot be.
fn server(test: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gnmi-server");
    std::fs::create_dir_all(&source).expect("a folder");
    let module = format!("module server\n\ngo 1.22\n\nrequire {MODULE} {VERSION}\n");
    for (file, text) in [("main.go", include_str!("server.go")), ("go.mod", &module)] {
        std::fs::write(source.join(file), text).expect("written");
    }
    built(test, "server", "install -mod=mod .", &source)
}

/// A program that `go` makes.
fn built(test: &str, program: &str, command: &str, source: &Path) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gnmi-{VERSION}"));
    let mut go = Command::new("go");
    go.args(command.split(' ')).current_dir(source).env("GOBIN", &folder);
    let built = go.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if built.is_ok_and(|status| status.success()) {
        return Some(folder.join(program));
    }
    // Written past the harness, which keeps what passing tests print to itself.
    let text = format!("\n######## SKIPPED: {test} needs Go, and {MODULE} for `go {command}` ########\n");
    std::io::stderr().write_all(text.as_bytes()).expect("stderr");
    None
}

/// A running program, which ends with it.
struct Server {
    port: u16,
    child: Child,
}

impl Server {
    /// Starts a program in a folder, with `PORT` in its arguments for a free port.
    fn start(program: &Path, folder: &Path, arguments: &[&str]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        drop(listener);
        Server::start_at(program, folder, port, arguments)
    }

    fn start_at(program: &Path, folder: &Path, port: u16, arguments: &[&str]) -> Server {
        let child = Command::new(program)
            .args(arguments.iter().map(|argument| argument.replace("PORT", &port.to_string())))
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

type Readings = BTreeMap<String, Reading>;

/// Polls until this is true.
fn poll_until(source: &mut GnmiSource, right: impl Fn(&Readings) -> bool) -> Readings {
    let begun = Instant::now();
    loop {
        let polled = source.poll().map(|readings| readings.into_iter().collect());
        match polled {
            Ok(readings) if right(&readings) => return readings,
            other => assert!(begun.elapsed() < PATIENCE, "{other:?}"),
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Whether there are some samples, and the counters belong to the same one. If this machine stands still while a sample arrives,
/// a reading may have half of it, and the next one has all.
fn has_samples(readings: &Readings) -> bool {
    readings.get("Ethernet1").is_some_and(|reading| {
        let corrupted = Some(reading.good_frames / GOOD * CORRUPTED);
        reading.good_frames > 2 * GOOD && reading.corrupted_frames == corrupted
    })
}

/// All counters belong to the same sample.
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
    let Some(program) = fake_device("the_fake_device_of_openconfig_is_read") else { return };
    let folder = certificates();
    std::fs::write(folder.path().join("device.txt"), script()).expect("written");
    let arguments = [
        "-port=PORT",
        "-server_crt=cert.pem",
        "-server_key=key.pem",
        "-allow_no_client_auth",
        "-text",
        "-config=device.txt",
    ];
    let device = Server::start(&program, folder.path(), &arguments);
    let mut source = GnmiSource::new(&settings(&device, folder.path())).expect("usable");
    check(&poll_until(&mut source, has_samples)["Ethernet1"]);
}

#[test]
fn the_subscription_server_of_openconfig_is_read() {
    let Some(program) = server("the_subscription_server_of_openconfig_is_read") else { return };
    let folder = certificates();
    let arguments = ["127.0.0.1:PORT"];
    let mut device = Server::start(&program, folder.path(), &arguments);
    let settings = settings(&device, folder.path());
    let mut source = GnmiSource::new(&settings).expect("usable");
    let both = poll_until(&mut source, |readings| readings.len() == 2);
    assert_eq!(both.into_keys().collect::<Vec<_>>(), ["Ethernet1", "Ethernet2"]);
    let later = |readings: &Readings| readings.len() == 1 && readings["Ethernet1"].good_frames > 5 * GOOD;
    let one = poll_until(&mut source, later);
    check(&poll_until(&mut source, has_samples)["Ethernet1"]);
    // A restart, after which it counts from the beginning.
    device.child.kill().expect("it runs");
    device.child.wait().expect("it ends");
    let begun = Instant::now();
    while source.poll().is_ok() {
        assert!(begun.elapsed() < PATIENCE, "its end is not noticed");
        std::thread::sleep(LOOK_INTERVAL);
    }
    let at = format!("127.0.0.1:{}", device.port);
    let _again = Server::start_at(&program, folder.path(), device.port, &[&at]);
    // Until the first new sample is complete, the last one before the restart is read.
    let fewer = |readings: &Readings| readings["Ethernet1"].good_frames < one["Ethernet1"].good_frames;
    poll_until(&mut source, fewer);
    check(&poll_until(&mut source, has_samples)["Ethernet1"]);
    // Nobody is called so there.
    let devices = vec![format!("leaf2=localhost:{}", device.port)];
    let mut other = GnmiSource::new(&GnmiSettings { devices, ..settings }).expect("usable");
    let begun = Instant::now();
    loop {
        let error = other.poll().expect_err("nobody");
        if error.what.contains("no such target") {
            break assert!(error.hint.is_some_and(|hint| hint.contains("gnmi-target")));
        }
        assert!(begun.elapsed() < PATIENCE, "{error:?}");
        std::thread::sleep(LOOK_INTERVAL);
    }
}
