//! Users, certificates, Sentinels, clusters and sockets.

use super::bus::{port, request};
use super::server::{Server, free_port, is_installed, settings};
use linkmend_monitor::bus::{Bus, BusEvent, RedisBus, RedisSettings};
use linkmend_monitor::server::ServerUrl;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::time::{Duration, Instant};

/// Puts something, and hears it.
fn use_it(settings: &RedisSettings) {
    let mut bus = RedisBus::new(settings, "leaf1").expect("usable");
    assert_eq!(
        bus.poll().expect("it answers"),
        [BusEvent::Rereading, BusEvent::Synchronised],
        "{}",
        bus.describe()
    );
    bus.put(&port("leaf1/a"), request(1)).expect("put");
    assert_eq!(bus.poll().expect("it answers"), [BusEvent::State(port("leaf1/a"), request(1))]);
}

/// The error of the first poll.
fn refusal(settings: &RedisSettings) -> String {
    let mut bus = RedisBus::new(settings, "leaf1").expect("usable");
    let error = bus.poll().expect_err("refused");
    format!("{error} {} {}", error.hint.clone().unwrap_or_default(), bus.describe())
}

#[test]
fn a_user_with_few_rights_is_enough_and_a_wrong_password_is_not_repeated() {
    if !is_installed("a_user_with_few_rights_is_enough_and_a_wrong_password_is_not_repeated") {
        return;
    }
    let server = Server::start(&[]);
    let mut admin = server.connect();
    let mut user = redis::cmd("ACL");
    user.arg(&[
        "SETUSER",
        "corruptd",
        "on",
        ">correct-horse",
        "~{linkmend}*",
        "+@read",
        "+@write",
        "+@scripting",
    ]);
    user.exec(&mut admin).expect("a user");
    redis::cmd("ACL")
        .arg(&["SETUSER", "nobody", "on", ">correct-horse", "+ping"])
        .exec(&mut admin)
        .expect("a user");
    redis::cmd("ACL").arg(&["SETUSER", "default", "off"]).exec(&mut admin).expect("nobody else");
    let as_user = |who: &str| settings(&format!("redis://{who}@127.0.0.1:{}", server.port));

    use_it(&as_user("corruptd:correct-horse"));
    let error = refusal(&as_user("corruptd:battery-staple"));
    assert!(
        error.contains("refuses user corruptd") && error.contains("check the user and the password"),
        "{error}"
    );
    assert!(!error.contains("battery") && error.contains("corruptd:***@"), "{error}");
    let error = refusal(&settings(&server.url()));
    assert!(error.contains("refuses user default"), "{error}");
    let error = refusal(&as_user("nobody:correct-horse"));
    assert!(
        error.contains("no permissions") && error.contains("+@scripting") && !error.contains("correct"),
        "{error}"
    );
}

#[test]
fn tls_needs_a_certificate_of_the_right_authority() {
    if !is_installed("tls_needs_a_certificate_of_the_right_authority") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("a path").to_owned()
    };
    let authority = |name: &str| {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        (write(name, certificate.pem()), Issuer::new(params, key))
    };
    let (ca, issuer) = authority("ca.pem");
    let (other_ca, _) = authority("other.pem");
    let key = KeyPair::generate().expect("a key");
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).expect("names").signed_by(&key, &issuer).expect("signed");
    let (certificate, key) =
        (write("server.pem", certificate.pem()), write("server.key", key.serialize_pem()));
    let server = Server::start(&[
        "--port",
        "0",
        "--tls-port",
        "PORT",
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &ca,
    ]);
    let with = |scheme: &str, ca: Option<&str>| RedisSettings {
        ca: ca.map(Into::into),
        ..settings(&format!("{scheme}://127.0.0.1:{}", server.port))
    };
    use_it(&with("rediss", Some(&ca)));
    let error = refusal(&with("rediss", Some(&other_ca)));
    assert!(error.contains("certificate") && error.contains("--redis-ca"), "{error}");
    let error = refusal(&with("rediss", None));
    assert!(error.contains("certificate"), "{error}");
    let error = refusal(&with("rediss", Some("/nowhere/ca.pem")));
    assert!(error.contains("/nowhere/ca.pem"), "{error}");
    assert!(RedisBus::new(&with("rediss", Some(&ca)), "leaf1").is_ok());
    refusal(&with("redis", None));
}

#[test]
fn sentinels_name_the_master() {
    if !is_installed("sentinels_name_the_master") {
        return;
    }
    let master = Server::start(&[]);
    // The file is written before the server starts, which is why it is that of another one.
    let folder = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let path = folder.path().join("sentinel.conf");
    let text =
        format!("port {port}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {} 1\n", master.port);
    std::fs::write(&path, text).expect("written");
    let _sentinel = Server::start_at(port, &[path.to_str().expect("a path"), "--sentinel"]);
    let dead = free_port();
    let urls =
        [dead, port].map(|port| ServerUrl::from(format!("redis://127.0.0.1:{port}").as_str())).to_vec();
    let with =
        |name: &str| RedisSettings { sentinel_master: Some(name.to_owned()), ..RedisSettings::default() };
    use_it(&RedisSettings { urls: urls[1..].to_vec(), ..with("mymaster") });
    let error = refusal(&RedisSettings { urls: urls[1..].to_vec(), ..with("yours") });
    assert!(error.contains("knows no master yours"), "{error}");
    // A dead Sentinel keeps nobody from the others.
    let mut bus = RedisBus::new(&RedisSettings { urls, ..with("mymaster") }, "leaf2").expect("usable");
    assert!(bus.poll().is_err());
    assert_eq!(bus.poll().expect("the other one").len(), 3);
}

#[test]
fn a_cluster_has_all_keys_in_one_slot() {
    if !is_installed("a_cluster_has_all_keys_in_one_slot") {
        return;
    }
    let bus_port = free_port().to_string();
    let server = Server::start(&["--cluster-enabled", "yes", "--cluster-port", &bus_port]);
    let mut admin = server.connect();
    let settings = RedisSettings { cluster: true, ..settings(&server.url()) };
    let error = refusal(&settings);
    assert!(error.contains("has slot"), "{error}");
    redis::cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383).exec(&mut admin).expect("slots");
    let begun = Instant::now();
    loop {
        let info: String = redis::cmd("CLUSTER").arg("INFO").query(&mut admin).expect("it answers");
        if info.contains("cluster_state:ok") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{info}");
        std::thread::sleep(Duration::from_millis(20));
    }
    use_it(&settings);
}

#[test]
fn a_socket_of_this_machine_will_do() {
    if !is_installed("a_socket_of_this_machine_will_do") {
        return;
    }
    let server = Server::start(&["--unixsocket", "redis.sock"]);
    let path = server.folder().join("redis.sock");
    use_it(&settings(&format!("unix:{}?db=3", path.display())));
    use_it(&settings(&format!("redis+unix://{}", path.display())));
}
