//! Somebody who writes to the bus of four switches, as fast as the server takes it: forged, repeated, mutated and oversized records
//! of every kind, by a seed. With keys, only the link that corrupts is disabled; without, no more than the limit. All are
//! returned when it is over.

use super::pod::{LINKS, Pod, SPINES};
use super::server::{Server, is_installed};
use linkmend_random::Random;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const LIMIT: usize = 2;
/// How long somebody writes, unless `LINKMEND_HOSTILE_SECONDS` says for how long.
const SECONDS_DEFAULT: u64 = 8;
const PATIENCE: Duration = Duration::from_secs(120);
/// Texts of the largest records, in bytes.
const LARGE: usize = 200_000;

/// Writes until it is told to stop.
struct Writer {
    random: Random,
    connection: redis::Connection,
    /// Keys and what stood there, in the server's own form.
    recorded: Vec<(String, Vec<u8>)>,
    has_keys: bool,
}

impl Writer {
    fn below(&mut self, most: usize) -> usize {
        self.random.next_u64() as usize % most
    }

    fn pick(&mut self, of: &[&str]) -> String {
        of[self.below(of.len())].to_owned()
    }

    /// A port of the network, or of nobody.
    fn port(&mut self) -> String {
        if self.below(8) == 0 {
            return format!("nobody{}/x{}", self.below(20), self.below(20));
        }
        let [one, other] = LINKS[self.below(LINKS.len())];
        if self.below(2) == 0 { one.to_owned() } else { other.to_owned() }
    }

    fn agent(&mut self) -> String {
        let port = self.port();
        port.split('/').next().expect("an agent").to_owned()
    }

    fn generation(&mut self) -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        match self.below(5) {
            0 => self.below(100) as u64,
            1 => i64::MAX as u64,
            2 => now.as_nanos() as u64,
            3 => now.as_micros() as u64,
            _ => u64::MAX,
        }
    }

    fn text(&mut self) -> String {
        match self.below(6) {
            0 => "x".repeat(self.below(LARGE)),
            1 => "\u{1b}[31m\u{202e}\n".to_owned(),
            2 => String::new(),
            _ => format!("text {}", self.below(1_000)),
        }
    }

    fn request(&mut self) -> String {
        let (generation, reason) = (self.generation(), serde_json::json!(self.text()));
        let sender = self.port();
        let rate = self.pick(&["0.5", "1e-2", "1e-9", "2", "-1"]);
        let copies = self.below(20);
        let protection = match self.below(3) {
            0 => String::new(),
            _ => format!(
                "\"protection\":{{\"mode\":\"ordered\",\"loss-rate\":{rate},\"target\":1e-8,\"copies\":{copies}}},"
            ),
        };
        format!(
            "{{\"generation\":{generation},{protection}\"sender\":\"{sender}\",\"disable\":true,\"reason\":{reason}}}"
        )
    }

    fn seal(&mut self) -> String {
        let agent = self.agent();
        match self.below(3) {
            0 => String::new(),
            1 => self.text(),
            _ => format!("{agent} {} - {}", self.generation(), "5a".repeat(32)),
        }
    }

    fn findings(&mut self) -> String {
        let ports: Vec<String> = (0..4)
            .map(|port| {
                let finding = self.pick(&["corrupting", "corrupting", "healthy", "down"]);
                let counted = self.random.next_u64() >> 20;
                format!(
                    "\"Ethernet{}\":{{\"finding\":\"{finding}\",\"loss-rate\":0.01,\"counted\":{{\"frames\":{counted},\"corrupted\":{},\
                     \"corrupted-polls\":{counted}}}}}",
                    4 * port,
                    counted / 10
                )
            })
            .collect();
        format!(
            "{}\n{{\"beat\":{},\"valid-s\":60,\"ports\":{{{}}}}}",
            self.seal(),
            self.generation(),
            ports.join(",")
        )
    }

    /// Writes a record of some kind.
    fn write(&mut self) {
        let (port, agent) = (self.port(), self.agent());
        let direction = format!("{{linkmend}}:direction:{port}");
        let mut calls = redis::pipe();
        match self.below(12) {
            0..=3 => {
                let request = self.request();
                let generation = request.split([':', ',']).nth(1).expect("a generation").to_owned();
                // Without keys, nobody can tell a later version from a forged one: it stands until somebody deletes it.
                let version =
                    if self.has_keys { self.pick(&["1", "1", "2", "x", ""]) } else { "1".to_owned() };
                let (part, seal) = (self.pick(&["request", "request", "acknowledgement"]), self.seal());
                let fields = [
                    "version".to_owned(),
                    version,
                    part.clone(),
                    request,
                    format!("{part}-generation"),
                    generation,
                ];
                calls.cmd("HSET").arg(&direction).arg(&fields).arg(format!("{part}-seal")).arg(seal);
                calls.cmd("SADD").arg("{linkmend}:directions").arg(&port);
                calls
                    .cmd("XADD")
                    .arg("{linkmend}:events")
                    .arg("MAXLEN")
                    .arg("~")
                    .arg(10_000)
                    .arg("*")
                    .arg("port")
                    .arg(&port);
            }
            4 | 5 => {
                let text = self.findings();
                let text =
                    if self.has_keys { text } else { text.split_once('\n').expect("two lines").1.to_owned() };
                calls.cmd("SET").arg(format!("{{linkmend}}:findings:{agent}")).arg(text);
                calls.cmd("SADD").arg("{linkmend}:speakers").arg(&agent);
            }
            6 if self.has_keys => {
                let text = format!("{}\n{} 1 x {}", self.seal(), self.text(), self.below(9));
                calls.cmd("SET").arg(format!("{{linkmend}}:agent:{agent}")).arg(text);
            }
            7 => {
                calls
                    .cmd("XADD")
                    .arg("{linkmend}:events")
                    .arg("MAXLEN")
                    .arg("~")
                    .arg(10_000)
                    .arg("*")
                    .arg("port")
                    .arg(self.text());
            }
            8 => _ = calls.cmd("DEL").arg(&direction),
            9 => _ = calls.cmd("SET").arg(&direction).arg(self.text()),
            10 => return self.record(&direction, &format!("{{linkmend}}:findings:{agent}")),
            _ => return self.replay(),
        }
        // Where somebody has written something of another kind, this fails.
        let _ = calls.ignore().exec(&mut self.connection);
    }

    /// Remembers what stands there.
    fn record(&mut self, direction: &str, findings: &str) {
        for key in [direction, findings] {
            let dumped = redis::cmd("DUMP").arg(key).query::<Option<Vec<u8>>>(&mut self.connection);
            if let Ok(Some(dumped)) = dumped {
                let place = if self.recorded.len() < 500 { self.recorded.len() } else { self.below(500) };
                self.recorded.truncate(500);
                self.recorded.insert(place.min(self.recorded.len()), (key.to_owned(), dumped));
            }
        }
    }

    /// Puts back what stood there, or under another name, or with one byte of a field changed.
    fn replay(&mut self) {
        if self.recorded.is_empty() {
            return;
        }
        let which = self.below(self.recorded.len());
        let (key, dumped) = self.recorded[which].clone();
        let key = match self.below(3) {
            0 if key.contains(":direction:") => format!("{{linkmend}}:direction:{}", self.port()),
            _ => key,
        };
        let mut restore = redis::cmd("RESTORE");
        let _ = restore.arg(&key).arg(0).arg(dumped).arg("REPLACE").exec(&mut self.connection);
        if self.below(3) == 0 {
            let field = self.pick(&["request", "request-seal", "request-generation", "acknowledgement-seal"]);
            let at = self.below(60);
            let mut mutate = redis::pipe();
            mutate.cmd("HGET").arg(&key).arg(&field);
            let text: Result<(Option<Vec<u8>>,), _> = mutate.query(&mut self.connection);
            if let Ok((Some(mut text),)) = text
                && let Some(byte) = text.get_mut(at)
            {
                *byte ^= 1 << self.below(7);
                let _ = redis::cmd("HSET").arg(&key).arg(&field).arg(text).exec(&mut self.connection);
            }
        }
        if let Some(port) = key.strip_prefix("{linkmend}:direction:") {
            let _ = redis::cmd("XADD")
                .arg(&["{linkmend}:events", "MAXLEN", "~", "10000", "*", "port", port])
                .exec(&mut self.connection);
        }
    }
}

/// Writes for a while from two threads; how many records that were.
fn attack(pod: &Pod, seed: u64, has_keys: bool, mut look: impl FnMut()) -> u64 {
    let seconds = std::env::var("LINKMEND_HOSTILE_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS_DEFAULT));
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            let (stop, written, connection) = (stop.clone(), written.clone(), pod.bus.connect());
            let random = Random::new(seed, if thread == 0 { "one writer" } else { "another writer" });
            let mut writer = Writer { random, connection, recorded: Vec::new(), has_keys };
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    writer.write();
                    written.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    while Instant::now() < until {
        look();
        std::thread::sleep(Duration::from_millis(100));
    }
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    written.load(Ordering::Relaxed)
}

fn seed() -> u64 {
    std::env::var("LINKMEND_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

fn all_return(pod: &Pod) {
    // Agents read everything at the latest after a minute, and with each new connection.
    let _ = redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec(&mut pod.bus.connect());
    pod.wait_until(PATIENCE, "all links are returned", || {
        pod.disabled().is_empty()
            && pod.status(0).and_then(|status| status.plan).is_some_and(|plan| plan.disabled.is_empty())
    });
}

#[test]
fn with_keys_a_hostile_writer_has_nothing_disabled_that_does_not_corrupt_and_all_returns() {
    if !is_installed("with_keys_a_hostile_writer_has_nothing_disabled_that_does_not_corrupt_and_all_returns")
    {
        return;
    }
    let seed = seed();
    let pod = Pod::start(Server::start(&[]), LIMIT as u32, true);
    pod.wait_until(PATIENCE, "all ports are healthy", || pod.judged());
    pod.corrupt(&["leaf1/Ethernet0"]);
    pod.wait_until(PATIENCE, "the link that corrupts is disabled", || !pod.ever_disabled().is_empty());
    let corrupting = BTreeSet::from([format!("leaf1/Ethernet0 {}/Ethernet0", SPINES[0])]);
    let written = attack(&pod, seed, true, || {
        assert!(pod.ever_disabled().is_subset(&corrupting), "seed {seed}: {:?}", pod.ever_disabled());
    });
    eprintln!("seed {seed}: {written} records");
    assert!(written > 1_000, "seed {seed}: {written} records");
    pod.corrupt(&[]);
    all_return(&pod);
    assert_eq!(pod.ever_disabled(), corrupting, "seed {seed}");
}

#[test]
fn without_keys_a_hostile_writer_has_no_more_disabled_than_the_limit_and_all_returns() {
    if !is_installed("without_keys_a_hostile_writer_has_no_more_disabled_than_the_limit_and_all_returns") {
        return;
    }
    let seed = seed();
    let pod = Pod::start(Server::start(&[]), LIMIT as u32, false);
    pod.wait_until(PATIENCE, "all ports are healthy", || pod.judged());
    // All corrupt, so that the limit is all that keeps them.
    let all: Vec<&str> = LINKS.iter().map(|[leaf, _]| *leaf).collect();
    pod.corrupt(&all);
    pod.wait_until(PATIENCE, "as many are disabled as may be", || pod.ever_disabled().len() == LIMIT);
    let written = attack(&pod, seed, false, || {
        assert!(pod.ever_disabled().len() <= LIMIT, "seed {seed}: {:?}", pod.ever_disabled());
    });
    eprintln!("seed {seed}: {written} records, {:?} disabled", pod.ever_disabled());
    assert!(written > 1_000, "seed {seed}: {written} records");
    pod.corrupt(&[]);
    all_return(&pod);
    assert!(pod.ever_disabled().len() <= LIMIT, "seed {seed}: {:?}", pod.ever_disabled());
}
