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

/// What a bus says about who may write to its server, once it has found out; and the keys there afterwards.
fn found(server: &Server, url: &str) -> (Option<String>, u64) {
    let mut bus = RedisBus::new(&settings(url), "leaf1").expect("usable").read_only();
    // It is found out after the first poll, on a thread of its own.
    for _ in 0..50 {
        bus.poll().expect("it answers");
        if bus.trouble().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let keys = redis::cmd("DBSIZE").query(&mut server.connect()).expect("it answers");
    (bus.trouble(), keys)
}

#[test]
fn a_server_to_which_anyone_may_write_is_named_and_one_with_a_password_is_not() {
    if !is_installed("a_server_to_which_anyone_may_write_is_named_and_one_with_a_password_is_not") {
        return;
    }
    let server = Server::start(&[]);
    let (open, keys) = found(&server, &server.url());
    assert!(open.is_some_and(|said| said.contains("requires no password") && said.contains("redis-keys")));
    assert_eq!(keys, 0, "finding out writes nothing");
    let rights = ["~{linkmend}*", "+@read", "+@write", "+@scripting", "+@connection"];
    redis::cmd("ACL")
        .arg(&["SETUSER", "corruptd", "on", ">correct-horse"])
        .arg(&rights)
        .exec(&mut server.connect())
        .expect("a user");
    let url = format!("redis://corruptd:correct-horse@127.0.0.1:{}", server.port);
    let (both, _) = found(&server, &url);
    assert!(both.is_some(), "a user of its own helps nobody while the default one may write, too");
    redis::cmd("ACL").arg(&["SETUSER", "default", "-@write"]).exec(&mut server.connect()).expect("less");
    assert_eq!(found(&server, &url), (None, 0));
}

/// The latest event tells where to read on from; what it says may be of any length, and stays where it is.
#[test]
fn who_only_reads_does_not_fetch_an_event_of_twenty_megabytes() {
    if !is_installed("who_only_reads_does_not_fetch_an_event_of_twenty_megabytes") {
        return;
    }
    let server = Server::start(&[]);
    let mut by_hand = server.connect();
    let long = "x".repeat(20 << 20);
    let add = ["{linkmend}:events", "*", "port", &long];
    redis::cmd("XADD").arg(&add).exec(&mut by_hand).expect("added");
    let mut sent = || -> u64 {
        let info: String = redis::cmd("INFO").arg("stats").query(&mut by_hand).expect("it answers");
        let line = info.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
        line.and_then(|bytes| bytes.trim().parse().ok()).expect("a number")
    };
    let before = sent();
    let mut bus = server.bus("observer").read_only();
    (0..3).for_each(|_| drop(bus.poll().expect("it answers")));
    let bytes = sent() - before;
    assert!(bytes < 1 << 20, "{bytes} bytes were fetched");
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
    assert!(error.contains("does not know a master yours"), "{error}");
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
    assert!(error.contains("serves slot"), "{error}");
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
