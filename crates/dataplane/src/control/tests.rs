//! The socket, with a backend that only records its calls.

use super::*;
use crate::capture::{Capture, Tap, Taps};
use crate::command::{Command, CommandError, CommandResult};
use linkmend_control::Side;
use linkmend_control::capture::record::Record;
use linkmend_control::capture::{CaptureOptions, Direction};
use linkmend_control::{
    Client, ClientError, CorruptionModel, ErrorKind, ErrorReply, LinkReport, ProtectConfig, ProtectMode,
    REQUEST_BYTES_MAX, Reservation, Response, SocketError,
};
use linkmend_diagnose::Diagnose;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Fake {
    commands: Mutex<Vec<(String, Command)>>,
    taps: Mutex<Taps>,
}

impl Backend for Fake {
    fn links(&self) -> Vec<String> {
        vec!["up".to_owned(), "down".to_owned()]
    }

    fn command(&self, link: &str, command: Command) -> Option<CommandResult> {
        self.links().iter().find(|name| *name == link)?;
        if matches!(command, Command::Corrupt(_)) && link == "down" {
            return Some(Err(CommandError::CorruptionNotAllowed { link: link.to_owned() }));
        }
        self.commands.lock().expect("no panics").push((link.to_owned(), command));
        Some(Ok(Box::new(LinkReport { name: link.to_owned(), copies: 2, ..LinkReport::default() })))
    }

    fn capture(&self, link: &str, options: CaptureOptions) -> Option<Result<Capture, CommandError>> {
        self.links().iter().find(|name| *name == link)?;
        let (tap, capture) = match Tap::new(options) {
            Ok(both) => both,
            Err(error) => return Some(Err(CommandError::CaptureFilter { link: link.to_owned(), error })),
        };
        let mut taps = Taps::default();
        taps.add(tap);
        taps.set_kernel_forwards(true);
        *self.taps.lock().expect("no panics") = taps;
        Some(Ok(capture))
    }
}

struct Daemon {
    _folder: tempfile::TempDir,
    path: PathBuf,
    backend: Arc<Fake>,
    server: Option<Server>,
}

fn start(path: &Path, backend: &Arc<Fake>) -> Result<Server, SocketError> {
    Server::start(Reservation::take(path)?, Arc::clone(backend) as Arc<dyn Backend>)
}

fn daemon() -> Daemon {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("control.sock");
    let backend = Arc::new(Fake::default());
    let server = start(&path, &backend).expect("it starts");
    Daemon { _folder: folder, path, backend, server: Some(server) }
}

fn refusal(error: ClientError) -> ErrorReply {
    match error {
        ClientError::Refused(reply) => reply,
        other => panic!("not a refusal: {other}"),
    }
}

#[test]
fn requests_reach_the_link_and_its_report_comes_back() {
    let daemon = daemon();
    let mut client = Client::connect(&daemon.path).expect("it listens");
    assert_eq!(client.links().expect("version"), ["up", "down"]);
    let names: Vec<_> = client.status(None).expect("status").into_iter().map(|report| report.name).collect();
    assert_eq!(names, ["up", "down"]);
    assert_eq!(client.status(Some("down")).expect("status").len(), 1);
    let protect =
        ProtectConfig { mode: ProtectMode::NonBlocking, copies: Some(3), ..ProtectConfig::default() };
    assert_eq!(client.protect("up", &protect).expect("protect").copies, 2);
    client.unprotect("up").expect("unprotect");
    let corruption = Some(CorruptionModel::Iid { rate: 1e-3 });
    client.corrupt("up", corruption).expect("corrupt");
    client.reset_extremes(Some("up")).expect("reset");
    let commands = std::mem::take(&mut *daemon.backend.commands.lock().expect("no panics"));
    let of_up: Vec<Command> = commands
        .into_iter()
        .filter(|(link, command)| link == "up" && *command != Command::Report)
        .map(|it| it.1)
        .collect();
    let settings = crate::config::protection(&protect).expect("on");
    let expected = [
        Command::Protect(settings),
        Command::Unprotect,
        Command::Corrupt(corruption),
        Command::ResetExtremes,
    ];
    assert_eq!(of_up, expected);
}

#[test]
fn refusals_are_typed() {
    let daemon = daemon();
    let mut client = Client::connect(&daemon.path).expect("it listens");
    let unknown = refusal(client.status(Some("side")).expect_err("unknown"));
    assert_eq!(
        (unknown.kind, unknown.message.as_str()),
        (ErrorKind::UnknownLink, "there is no link `side` here")
    );
    assert_eq!(unknown.hint.as_deref(), Some("this daemon serves up, down"));
    let forbidden = refusal(client.corrupt("down", None).expect_err("not allowed"));
    assert_eq!(forbidden.kind, ErrorKind::NotAllowed);
    assert_eq!(forbidden.hint.as_deref(), Some("start the daemon with --allow-corruption"));
    let rate = Some(CorruptionModel::Iid { rate: 7.0 });
    let invalid = refusal(client.corrupt("up", rate).expect_err("invalid"));
    assert_eq!(
        (invalid.kind, invalid.message.as_str()),
        (ErrorKind::Invalid, "link up: rate = 7: must be from 0 to 1")
    );
    let protect = ProtectConfig { copies: Some(99), ..ProtectConfig::default() };
    let invalid = refusal(client.protect("up", &protect).expect_err("invalid"));
    assert_eq!(invalid.message, "link up: protect.copies: 99: the number of copies is 1 to 16");
    assert_eq!(client.links().expect("the connection is still good").len(), 2);
}

/// The responses to `bytes` on the socket.
fn raw(path: &Path, bytes: &[u8]) -> Vec<Response> {
    let mut stream = UnixStream::connect(path).expect("it listens");
    // The server may close its side while we still write.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.map(|line| serde_json::from_str(&line).expect("an answer")).collect()
}

#[test]
fn anything_is_answered() {
    let daemon = daemon();
    let malformed: [&[u8]; 8] = [
        b"hello\n",
        b"{}\n",
        b"{\"request\":\"dance\"}\n",
        b"{\"request\":\"status\",\"lnik\":\"up\"}\n",
        b"{\"request\":\"protect\"}\n",
        b"{\"request\":\"protect\",\"link\":\"up\",\"protect\":{\"mode\":\"fast\"}}\n",
        b"\xff\xfe\n",
        &[&[b'['; 5000][..], b"\n"].concat(),
    ];
    for bytes in malformed {
        let answers = raw(&daemon.path, bytes);
        let kinds: Vec<_> = answers
            .into_iter()
            .map(|answer| if let Response::Error(reply) = answer { Some(reply.kind) } else { None })
            .collect();
        assert_eq!(kinds, [Some(ErrorKind::Malformed)], "{}", String::from_utf8_lossy(bytes));
    }
    let both =
        raw(&daemon.path, b"\n{\"request\":\"version\"}\r\nnonsense\n{\"request\":\"status\"}\n{\"requ");
    assert!(
        matches!(
            &both[..],
            [Response::Version { protocol: 1, .. }, Response::Error(_), Response::Links { .. }]
        ),
        "{both:?}"
    );
    let long = raw(&daemon.path, &vec![b'x'; REQUEST_BYTES_MAX + 10]);
    assert!(
        matches!(&long[..], [Response::Error(reply)] if reply.kind == ErrorKind::TooLong) || long.is_empty()
    );
}

#[test]
fn too_many_clients_are_told_so() {
    let daemon = daemon();
    let mut clients: Vec<Client> =
        (0..64).map(|_| Client::connect(&daemon.path).expect("it listens")).collect();
    for client in &mut clients {
        client.links().expect("all are served");
    }
    let mut one_more = Client::connect(&daemon.path).expect("it listens");
    let busy = refusal(one_more.links().expect_err("too many"));
    assert_eq!(busy.kind, ErrorKind::Busy);
    assert!(busy.hint.expect("a hint").contains("after 60 s"));
    clients.clear();
    let served = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        Client::connect(&daemon.path).is_ok_and(|mut client| client.links().is_ok())
    });
    assert!(served, "places become free again");
}

#[test]
fn the_socket_is_private_and_goes_with_the_daemon() {
    let mut daemon = daemon();
    let mode = std::fs::metadata(&daemon.path).expect("it exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = Client::connect(&daemon.path).expect("it listens");
    daemon.server.take().expect("running").stop();
    let folder = daemon.path.parent().expect("a folder");
    assert_eq!(std::fs::read_dir(folder).expect("it exists").count(), 0, "nothing is left");
    assert!(matches!(client.links(), Err(ClientError::Exchange { .. })), "clients are cut off");
    assert!(matches!(Client::connect(&daemon.path), Err(ClientError::Connect { .. })));
}

#[test]
fn one_daemon_for_each_socket() {
    let daemon = daemon();
    let second = start(&daemon.path, &Arc::default());
    assert!(matches!(second, Err(SocketError::Taken { .. })));
    assert!(
        Client::connect(&daemon.path).is_ok_and(|mut client| client.links().is_ok()),
        "the first is unharmed"
    );
}

#[test]
fn a_dead_daemons_socket_is_replaced_but_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("control.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a leftover"));
    let server = start(&path, &Arc::default()).expect("the leftover is replaced");
    assert!(Client::connect(&path).is_ok_and(|mut client| client.links().is_ok()));
    drop(server);
    std::fs::write(&path, "precious").expect("a file");
    let refused = start(&path, &Arc::default());
    assert!(matches!(refused, Err(SocketError::NotASocket { .. })));
    assert_eq!(std::fs::read_to_string(&path).expect("it is still there"), "precious");
}

#[test]
fn the_daemon_of_a_link_is_found() {
    let daemon = daemon();
    let nowhere = daemon.path.with_file_name("nowhere.sock");
    let paths = [nowhere.clone(), daemon.path.clone()];
    let client = Client::find("down", &paths).expect("it is there");
    assert_eq!(client.path(), daemon.path);
    let error = Client::find("side", &paths).expect_err("nobody serves it");
    assert_eq!(error.hint().as_deref(), Some("there is up, down"));
    assert!(matches!(Client::find("up", &[nowhere]), Err(ClientError::Connect { .. })));
    assert!(matches!(Client::find("up", &[]), Err(ClientError::UnknownLink { .. })));
}

fn fake_page() -> linkmend_control::metrics::Page {
    let backend = Fake::default();
    Box::new(move || crate::metrics::page_of_links(&backend))
}

#[test]
fn metrics_are_served_over_http() {
    let address = "127.0.0.1:0".parse().expect("an address");
    let health = Arc::new(linkmend_control::health::DaemonHealth::default());
    let server = linkmend_control::metrics::MetricsServer::start(address, fake_page(), health);
    let server = server.expect("it starts");
    let get = |request: &str| {
        let mut stream = std::net::TcpStream::connect(server.address()).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    let page = get("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{page}");
    assert!(page.contains("linkmend_copies{link=\"down\"} 2.0\n") && !page.contains("EOF"), "{page}");
    let page = get("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{page}");
    assert!(page.contains("linkmend_copies{link=\"down\"} 2.0\n") && page.ends_with("# EOF\n"), "{page}");
    assert!(get("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(get("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(get("\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

#[test]
fn an_address_for_metrics_that_is_taken_is_no_reason_not_to_run_and_is_had_when_it_is_free() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound");
    let health = Arc::new(linkmend_control::health::DaemonHealth::default());
    let _server = linkmend_control::metrics::MetricsServer::start(address, fake_page(), Arc::clone(&health))
        .expect("it starts");
    let troubles = health.report().troubles;
    assert!(troubles[0].starts_with(&format!("metrics cannot be served at {address}: ")), "{troubles:?}");
    drop(taken);
    let begun = std::time::Instant::now();
    while !health.report().troubles.is_empty() {
        assert!(begun.elapsed().as_secs() < 10, "{:?}", health.report().troubles);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    std::net::TcpStream::connect(address).expect("it listens");
}

#[test]
fn a_capture_streams_frames_and_ends_with_its_client() {
    let daemon = daemon();
    let options = |filter: &str| CaptureOptions {
        port: None,
        snap_bytes: 65_535,
        classes: Vec::new(),
        filter: filter.to_owned(),
    };
    let connect = || Client::connect(&daemon.path).expect("it listens");
    let unknown = refusal(connect().capture("side", &options("")).expect_err("unknown"));
    assert_eq!(unknown.kind, ErrorKind::UnknownLink);
    let invalid = refusal(connect().capture("up", &options("prot")).expect_err("no filter"));
    assert_eq!(invalid.kind, ErrorKind::Invalid);
    assert!(invalid.message.starts_with("link up: filter `prot`: `prot` (word 1)"), "{}", invalid.message);

    let mut stream = connect().capture("up", &options("")).expect("it begins");
    let patience = std::time::Duration::from_secs(2);
    match stream.next(patience).expect("the daemon lives") {
        Some(Record::Progress(progress)) => assert!(progress.kernel_forwards),
        other => panic!("{other:?}"),
    }
    let options = crate::frame_pool::PoolOptions { chunks: 8, chunk_bytes: 4096 };
    let mut pool = crate::frame_pool::FramePool::new(options).expect("memory");
    let frame = pool.copy_in(&[7; 100]).expect("room");
    let show =
        || daemon.backend.taps.lock().expect("no panics").show(Side::Link, Direction::Inbound, frame, &pool);
    show();
    let seen =
        std::iter::from_fn(|| stream.next(patience).expect("the daemon lives")).find_map(
            |record| match record {
                Record::Frame(frame) => Some(frame),
                Record::Progress(_) => None,
            },
        );
    assert_eq!(seen.map(|frame| (frame.port, frame.bytes)), Some((Side::Link, vec![7; 100])));
    drop(stream);
    // The server notices when it next has something to send, and then removes the tap.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    let is_empty = || {
        let mut taps = daemon.backend.taps.lock().expect("no panics");
        taps.set_kernel_forwards(false);
        taps.is_empty()
    };
    while !is_empty() {
        assert!(std::time::Instant::now() < deadline, "the capture goes on without its client");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
