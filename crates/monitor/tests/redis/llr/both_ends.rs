//! Two switches with a database and a daemon each, which agree over a third Redis to have LLR at both ends of their cable.

use super::{OBJECT, TABLES};
use crate::server::{Server, is_installed};
use crate::sonic::send;
use linkmend_monitor::config::MonitorConfig;
use linkmend_monitor::daemon::{Corruptd, ask};
use linkmend_monitor::exchange::Effect;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// How long anything may take. It takes a few seconds on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(120);
const SWITCHES: [&str; 2] = ["leaf1", "spine1"];

/// A switch as far as this test needs one: frames are counted, and what CONFIG_DB says of LLR is taken over as `llrmgrd` does,
/// after which a port hears ACKs if the other one has LLR as well.
fn live(databases: [u16; 2], lost: &Arc<AtomicU64>, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (lost, stop) = (Arc::clone(lost), Arc::clone(stop));
    spawn(move || {
        let open = |port| redis::Client::open(format!("redis://127.0.0.1:{port}"))?.get_connection();
        let mut connections = databases.map(|port| open(port).expect("it listens"));
        while !stop.load(Ordering::Relaxed) {
            let mut on = [false; 2];
            for (switch, connection) in connections.iter_mut().enumerate() {
                let mut read = redis::pipe();
                read.cmd("SELECT").arg(4).ignore();
                read.cmd("HMGET").arg("LLR_PORT|Ethernet0").arg(&["llr_local", "llr_remote"]);
                let (switches,): (Vec<Option<String>>,) = read.query(connection).expect("it answers");
                on[switch] = switches.iter().all(|switch| switch.as_deref() == Some("enabled"));
            }
            for (switch, connection) in connections.iter_mut().enumerate() {
                // Only leaf1 receives corrupted frames. With LLR, they are no errors.
                let lost = if switch == 0 { lost.load(Ordering::Relaxed) } else { 0 };
                let (errors, nacks) = if on == [true; 2] { (0, lost) } else { (lost, 0) };
                let mut write = redis::pipe();
                write.cmd("SELECT").arg(0).ignore();
                let key = "LLR_PORT_TABLE:Ethernet0";
                match on[switch] {
                    true => {
                        write.cmd("HSET").arg(key).arg(&["llr_local", "enabled", "llr_remote", "enabled"])
                    }
                    false => write.cmd("DEL").arg(key),
                }
                .ignore();
                write.cmd("SELECT").arg(2).ignore();
                for (counter, count) in [
                    ("SAI_PORT_STAT_IF_IN_UCAST_PKTS", 100_000),
                    ("SAI_PORT_STAT_IF_IN_ERRORS", errors),
                    ("SAI_PORT_STAT_LLR_TX_NACK_CTL_OS", nacks),
                    ("SAI_PORT_STAT_LLR_RX_ACK_CTL_OS", u64::from(on == [true; 2]) * 9_000),
                ] {
                    write.cmd("HINCRBY").arg(OBJECT).arg(counter).arg(count).ignore();
                }
                write.exec(connection).expect("it answers");
            }
            sleep(Duration::from_millis(50));
        }
    })
}

fn daemon(
    switch: &str,
    database: &Server,
    bus: &Server,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> JoinHandle<()> {
    let text = format!(
        "agent = \"{switch}\"\nsource = \"sonic\"\npoll = \"100ms\"\ncable = [\"leaf1/Ethernet0=spine1/Ethernet0\"]\n\
         control = \"{}/{switch}\"\n[counters]\nsonic = \"{}\"\ninterface = [\"Ethernet0\"]\n[protection]\nllr = \"plan\"\n\
         [detection]\nhold-down = \"2s\"\nactivate = 1e-5\nlink-up-hold-off = \"1s\"\n[bus]\nredis = [\"{}\"]\n",
        folder.display(),
        database.url(),
        bus.url(),
    );
    let config: MonitorConfig = toml::from_str(&text).expect("a configuration");
    let config = config.resolve(switch).expect("usable");
    let stop = Arc::clone(stop);
    spawn(move || Corruptd::start(config).expect("it starts").run(|| stop.load(Ordering::Relaxed)))
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not {what}");
        sleep(Duration::from_millis(50));
    }
}

/// The entries of CONFIG_DB about LLR.
fn configured(database: &Server) -> Vec<String> {
    let mut connection = database.connect();
    redis::cmd("SELECT").arg(4).exec(&mut connection).expect("selected");
    redis::cmd("KEYS").arg("LLR_P*").query(&mut connection).expect("keys")
}

#[test]
fn both_ends_of_a_link_have_llr_while_one_of_them_corrupts() {
    if !is_installed("both_ends_of_a_link_have_llr_while_one_of_them_corrupts") {
        return;
    }
    let (bus, databases) = (Server::start(&[]), SWITCHES.map(|_| Server::start(&[])));
    databases.iter().for_each(|database| send(database, TABLES));
    let folder = tempfile::tempdir().expect("a folder");
    let (lost, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut threads = vec![live([databases[0].port, databases[1].port], &lost, &stop)];
    for (switch, database) in SWITCHES.iter().zip(&databases) {
        threads.push(daemon(switch, database, &bus, folder.path(), &stop));
    }
    lost.store(100, Ordering::Relaxed);
    let on = |database: &Server| configured(database).iter().any(|key| key == "LLR_PORT|Ethernet0");
    wait("on at both ends", || databases.iter().all(on));
    let seen = |effect: Effect| {
        let Ok(status) = ask(&folder.path().join("leaf1")) else { return false };
        let done = status.ports.into_iter().find_map(|port| port.acknowledgement);
        done.is_some_and(|done| done.effect == effect)
    };
    wait("active", || seen(Effect::Active));
    // Nothing but LLR's own counters shows now that the link still corrupts, for more than the hold-down.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(6) {
        assert!(databases.iter().all(on), "after {:?}", began.elapsed());
        sleep(Duration::from_millis(50));
    }
    // It is repaired.
    lost.store(0, Ordering::Relaxed);
    wait("as before at both ends", || databases.iter().all(|database| configured(database).is_empty()));
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}
