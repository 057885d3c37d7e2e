//! The source and a device over a real connection: requests, failures and their consequences.

use super::super::message::{Response, SubscribeResponse, SubscriptionMode};
use super::server::{Act, Asked, INVALID_ARGUMENT, Server, UNAUTHENTICATED, UNIMPLEMENTED};
use super::{counters, numbers};
use crate::counters::Reading;
use crate::source::{GnmiSettings, GnmiSource, Source, SourceError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// How long anything may take on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(60);
const COUNTERS: &str = "interfaces/interface/state/counters";

fn sync() -> Act {
    Act::Send(SubscribeResponse { response: Some(Response::SyncResponse(true)) })
}

fn sample(number: u64, port: &str) -> Act {
    let stamp = 1_796_000_000_000_000_000 + i64::try_from(number).unwrap() * 1_000_000_000;
    let notification = counters(stamp, port, number * 1_000, number);
    Act::Send(SubscribeResponse { response: Some(Response::Update(notification)) })
}

/// A device with one port that knows nothing but counters.
fn usual(asked: &Asked) -> Vec<Act> {
    match asked.what().0.as_str() {
        COUNTERS => vec![sample(1, "Ethernet1"), sync()],
        _ => vec![Act::Refuse(UNIMPLEMENTED, "no such path")],
    }
}

fn settings(server: &Server) -> GnmiSettings {
    let devices = vec![format!("localhost:{}", server.port)];
    GnmiSettings { devices, plaintext: true, sample: Duration::from_secs(1), ..GnmiSettings::default() }
}

type Polled = Result<BTreeMap<String, Reading>, SourceError>;

/// Polls until this is true.
fn poll_until(source: &mut GnmiSource, right: impl Fn(&Polled) -> bool) -> Polled {
    let begun = Instant::now();
    loop {
        let polled = source.poll().map(|readings| readings.into_iter().collect());
        if right(&polled) {
            return polled;
        }
        assert!(begun.elapsed() < PATIENCE, "{polled:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn error_of(settings: &GnmiSettings) -> SourceError {
    let mut source = GnmiSource::new(settings).expect("usable");
    let failed =
        |polled: &Polled| polled.as_ref().is_err_and(|error| !error.what.contains("no counters yet"));
    poll_until(&mut source, failed).expect_err("it failed")
}

#[test]
fn a_device_is_asked_for_what_it_knows() {
    let server = Server::start(None, |asked| match asked.what() {
        (path, mode) if path.ends_with("oper-status") && mode == SubscriptionMode::OnChange as i32 => {
            vec![Act::Refuse(INVALID_ARGUMENT, "not on change")]
        }
        (path, _) if path.ends_with("oper-status") => {
            let update = super::update(
                "interfaces/interface[Ethernet1]/state/oper-status",
                super::Value::Text("UP".to_owned()),
            );
            let notification =
                super::Notification { timestamp: 1, update: vec![update], ..Default::default() };
            vec![Act::Send(SubscribeResponse { response: Some(Response::Update(notification)) }), sync()]
        }
        _ => usual(asked),
    });
    let folder = tempfile::tempdir().expect("a folder");
    let credentials = folder.path().join("credentials");
    std::fs::write(&credentials, "me\nsecret\n").expect("written");
    std::fs::set_permissions(&credentials, std::fs::Permissions::from_mode(0o600)).expect("ours");
    let devices = vec![format!("leaf1=localhost:{}", server.port)];
    let settings = GnmiSettings { devices, credentials: Some(credentials), ..settings(&server) };
    let mut source = GnmiSource::new(&settings).expect("usable");
    let is_up = |polled: &Polled| {
        polled.as_ref().is_ok_and(|ports| ports.get("Ethernet1").and_then(|port| port.up) == Some(true))
    };
    let readings = poll_until(&mut source, is_up).expect("readings");
    assert_eq!((readings["Ethernet1"].good_frames, readings["Ethernet1"].corrupted_frames), (1_000, Some(1)));
    let asked = server.all_asked();
    assert!(asked.iter().all(|asked| asked.connection == 1), "one connection for all");
    let first = asked.iter().find(|asked| asked.what().0 == COUNTERS).expect("asked for");
    let list = first.request.subscribe.as_ref().expect("a list");
    let prefix = list.prefix.as_ref().expect("a prefix");
    assert_eq!((prefix.origin.as_str(), prefix.target.as_str()), ("openconfig", "leaf1"));
    assert_eq!((list.encoding, list.subscription[0].sample_interval), (2, 1_000_000_000));
    assert_eq!(list.subscription[0].path.as_ref().expect("a path").elem[1].key["name"], "*");
    assert_eq!(
        (&first.headers["username"], &first.headers["password"]),
        (&"me".parse().unwrap(), &"secret".parse().unwrap())
    );
    let mut modes: Vec<i32> = asked
        .iter()
        .filter(|asked| asked.what().0.ends_with("oper-status"))
        .map(|asked| asked.what().1)
        .collect();
    modes.sort_unstable();
    assert_eq!(modes, [SubscriptionMode::OnChange as i32, SubscriptionMode::Sample as i32]);
}

#[test]
fn ports_of_several_devices_have_names_of_their_own() {
    let (one, other) = (Server::start(None, usual), Server::start(None, usual));
    let devices = vec![format!("leaf1=localhost:{}", one.port), format!("leaf2=localhost:{}", other.port)];
    let mut source = GnmiSource::new(&GnmiSettings { devices, ..settings(&one) }).expect("usable");
    let both = poll_until(&mut source, |polled| polled.as_ref().is_ok_and(|ports| ports.len() == 2));
    assert_eq!(
        both.expect("readings").into_keys().collect::<Vec<_>>(),
        ["leaf1:Ethernet1", "leaf2:Ethernet1"]
    );
    drop(other);
    let left = poll_until(&mut source, |polled| polled.as_ref().is_ok_and(|ports| ports.len() == 1));
    assert_eq!(left.expect("readings").into_keys().collect::<Vec<_>>(), ["leaf1:Ethernet1"]);
    assert_eq!(source.troubles().len(), 1, "{:?}", source.troubles());
}

#[test]
fn a_connection_that_ends_is_made_again() {
    let server = Server::start(None, |asked| match (asked.what().0.as_str(), asked.connection) {
        (COUNTERS, 1) => {
            vec![
                sample(1, "Ethernet1"),
                sample(1, "Ethernet2"),
                sync(),
                Act::Wait(Duration::from_millis(700)),
                Act::Cut,
            ]
        }
        (COUNTERS, _) => vec![sample(2, "Ethernet1"), sync()],
        _ => usual(asked),
    });
    let mut source = GnmiSource::new(&settings(&server)).expect("usable");
    poll_until(&mut source, |polled| polled.as_ref().is_ok_and(|ports| ports.len() == 2)).expect("readings");
    let cut = poll_until(&mut source, Result::is_err).expect_err("cut");
    assert!(cut.what.contains(&format!("localhost:{}", server.port)), "{cut:?}");
    let again = poll_until(&mut source, |polled| {
        polled.as_ref().is_ok_and(|ports| ports.len() == 1 && ports["Ethernet1"].good_frames == 2_000)
    });
    assert_eq!(again.expect("readings").into_keys().collect::<Vec<_>>(), ["Ethernet1"], "the other is gone");
}

#[test]
fn each_failure_says_what_to_do() {
    let refusing = |code, message| Server::start(None, move |_| vec![Act::Refuse(code, message)]);
    let garbage = |bytes: Vec<u8>| {
        Server::start(None, move |asked| match asked.what().0.as_str() {
            COUNTERS => vec![Act::Raw(bytes.clone())],
            _ => usual(asked),
        })
    };
    let ending = Server::start(None, |asked| match asked.what().0.as_str() {
        COUNTERS => vec![sync(), Act::End],
        _ => usual(asked),
    });
    // A message of 4 GiB is announced, and one that is no protocol buffer, and one of 9 MiB that is.
    let huge = numbers(1, &"x".repeat(9 << 20), &[("in-pkts", 1)]);
    let huge = prost::Message::encode_to_vec(&SubscribeResponse { response: Some(Response::Update(huge)) });
    for (server, what, hint) in [
        (refusing(UNAUTHENTICATED, "who are you"), "Unauthenticated, who are you", "gnmi-credentials"),
        (
            refusing(UNIMPLEMENTED, "unknown origin"),
            "refuses /interfaces/interface/state/counters",
            "gnmi-origin",
        ),
        (garbage(vec![0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]), "too large", "too large"),
        (garbage(super::server::framed(&[0xff; 100]).to_vec()), "Internal", "running there"),
        (garbage(super::server::framed(&huge).to_vec()), "too large", "too large"),
        (ending, "has ended the subscription", ""),
    ] {
        let error = error_of(&settings(&server));
        assert!(error.what.contains(what), "{error:?}");
        assert!(error.hint.unwrap_or_default().contains(hint), "{}", error.what);
    }
    let closed = {
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
    };
    let nobody = GnmiSettings {
        devices: vec![format!("localhost:{closed}")],
        plaintext: true,
        ..GnmiSettings::default()
    };
    let error = error_of(&nobody);
    assert!(
        error.what.contains("cannot connect") && error.hint.is_some_and(|hint| hint.contains("gNMI is on"))
    );
}

#[test]
fn a_device_that_says_nothing_delays_only_the_first_poll() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let devices = vec![format!("localhost:{}", silent.local_addr().expect("its address").port())];
    let settings = GnmiSettings { devices, plaintext: true, ..GnmiSettings::default() };
    let mut source = GnmiSource::new(&settings).expect("usable");
    let error = source.poll().expect_err("nothing came");
    assert!(error.what.contains("has sent no counters yet"), "{error:?}");
    // The quickest of several, because the machine may stall in one.
    let poll = |source: &mut GnmiSource| {
        let begun = Instant::now();
        let _ = source.poll();
        begun.elapsed()
    };
    let quickest = (0..10).map(|_| poll(&mut source)).min().expect("ten");
    assert!(quickest < Duration::from_millis(100), "{quickest:?}");
}

/// An authority, and what it has signed, in files.
struct Pki {
    folder: TempDir,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authority: CertificateDer<'static>,
}

impl Pki {
    fn new(name: &str) -> Pki {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate");
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &authority).expect("signed");
        for (file, text) in
            [("ca.pem", authority.pem()), ("cert.pem", certificate.pem()), ("key.pem", key.serialize_pem())]
        {
            std::fs::write(folder.path().join(file), text).expect("written");
        }
        Pki {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key"),
            authority: authority.der().clone(),
            folder,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Speaks TLS with its certificate, and demands one of these clients if there are any.
    fn acceptor(&self, clients: Option<&Pki>) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = rustls::RootCertStore::empty();
                roots.add(clients.authority.clone()).expect("a certificate");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
        };
        let mut config =
            builder.with_single_cert(self.chain.clone(), self.key.clone_key()).expect("a certificate");
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

#[test]
fn certificates_are_verified() {
    let (device, clients) = (Pki::new("leaf1.example"), Pki::new("collector.example"));
    let server = Server::start(Some(device.acceptor(Some(&clients))), usual);
    let identity = Some((clients.file("cert.pem"), clients.file("key.pem")));
    let right = GnmiSettings {
        plaintext: false,
        ca: Some(device.file("ca.pem")),
        server_name: Some("leaf1.example".to_owned()),
        identity: identity.clone(),
        ..settings(&server)
    };
    let works = |settings: &GnmiSettings| {
        let mut source = GnmiSource::new(settings).expect("usable");
        poll_until(&mut source, Result::is_ok).expect("readings");
    };
    works(&right);
    works(&GnmiSettings { skip_verification: true, ca: None, server_name: None, ..right.clone() });
    for (wrong, part) in [
        (GnmiSettings { ca: Some(clients.file("ca.pem")), ..right.clone() }, "certificate"),
        (GnmiSettings { server_name: None, ..right.clone() }, "certificate"),
        (GnmiSettings { identity: None, ..right.clone() }, ""),
        (GnmiSettings { plaintext: true, ca: None, server_name: None, identity: None, ..right.clone() }, ""),
    ] {
        let error = error_of(&wrong);
        assert!(error.what.contains(part) && error.hint.is_some(), "{error:?}");
    }
}
