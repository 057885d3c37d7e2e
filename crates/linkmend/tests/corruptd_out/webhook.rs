//! Every decision reaches a receiver that verifies it, whatever the receiver does before it takes it.

use super::corruptd_source::Counting;
use super::programs::{Place, Program, corruptd, receiver, set, wait};
use linkmend_monitor::webhook::WebhookStatus;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::{Duration, Instant};

fn with_webhook(place: &Place, counting: &Counting, port: u16, more: &[&str]) -> Program {
    let (url, key) = (format!("http://me:p%40ss@127.0.0.1:{port}/hook?to=a"), place.text("key"));
    let usual = ["--webhook", &url, "--webhook-key", &key, "--webhook-timeout", "1s"];
    corruptd(place, counting, &[&usual[..], more].concat())
}

fn status(place: &Place) -> WebhookStatus {
    linkmend_monitor::daemon::ask(&place.path("socket")).expect("it answers").webhook.expect("configured")
}

/// Decisions in the audit file that are told: not that a port is healthy when it is first seen.
fn told(place: &Place) -> Vec<Value> {
    let is_beginning = |line: &Value| line["from"] == "unknown" && line["to"] == "healthy";
    place.lines("audit").into_iter().filter(|line| !is_beginning(line)).collect()
}

fn has_request(lines: &[Value]) -> bool {
    lines.iter().any(|line| line["kind"] == "request" && line["protection"].is_object())
}

/// What the receiver took, in the order in which it came, each once.
fn taken(place: &Place) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let lines = place.lines("record").into_iter();
    lines.filter(|line| line["answer"] == "200" && seen.insert(line["id"].to_string())).collect()
}

/// All that the audit file has arrives, signed and in its order.
fn assert_all_arrives(place: &Place, what: &str) {
    wait(what, || {
        let is_all = taken(place).len() == told(place).len() && status(place).waiting == 0;
        (is_all && has_request(&told(place))).then_some(())
    });
    for line in place.lines("record") {
        assert_eq!((&line["signed"], &line["path"]), (&Value::Bool(true), &"/hook?to=a".into()), "{what}");
        assert_eq!(line["authorization"], "Basic bWU6cEBzcw==", "{what}");
    }
    for (index, (taken, audited)) in taken(place).iter().zip(told(place)).enumerate() {
        let body = &taken["body"];
        assert_eq!((&body["version"], &body["agent"]), (&1.into(), &"leaf1".into()), "{what}");
        assert_eq!((&body["sequence"], &body["dry_run"]), (&(index + 1).into(), &false.into()), "{what}");
        let place = (&body["audit"]["number"], &body["audit"]["seal"]);
        assert_eq!(place, (&audited["number"], &audited["seal"]), "{what}");
        for (name, value) in body["decision"].as_object().expect("an object") {
            assert_eq!(value, &audited[name], "{what}");
        }
        assert!(body["decision"]["text"].is_string(), "{what}: {body}");
    }
    let WebhookStatus { delivered, dropped, trouble, server, .. } = status(place);
    assert_eq!((delivered, dropped, trouble), (told(place).len() as u64, 0, None), "{what}");
    assert!(server.starts_with("http://127.0.0.1:") && !server.contains("hook"), "{server}");
    let log = std::fs::read_to_string(place.path("log")).expect("readable");
    assert!(!log.contains("p@ss") && !log.contains("p%40ss"), "{log}");
}

#[test]
fn decisions_arrive_signed_and_in_order_whatever_the_receiver_does_first() {
    std::thread::scope(|scope| {
        for (mode, trouble) in [
            ("200", ""),
            ("500", "it answers with HTTP status 500 (x)"),
            ("hang", "timeout"),
            ("close", "check that it is running there"),
            ("302", "redirects are not followed"),
            ("absent", "check that it is running there"),
        ] {
            scope.spawn(move || {
                let place = Place::new();
                let counting = Counting::start(&[("eth1", 0.0), ("eth2", 1e-2)]);
                let unused = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
                let first = (mode != "absent").then(|| receiver(&place, 0, mode));
                let port = first.as_ref().map_or(unused.expect("a port").port(), |(_, port)| *port);
                let _daemon = with_webhook(&place, &counting, port, &[]);
                if !trouble.is_empty() {
                    let said = wait(mode, || status(&place).trouble);
                    assert!(said.contains(trouble), "{mode}: {said}");
                    let all = linkmend_monitor::daemon::ask(&place.path("socket")).expect("it answers");
                    let expected = format!("cannot deliver decisions to http://127.0.0.1:{port}: ");
                    assert!(
                        all.troubles.iter().any(|text| text.starts_with(&expected)),
                        "{:?}",
                        all.troubles
                    );
                    // The daemon itself goes on.
                    wait(mode, || has_request(&told(&place)).then_some(()));
                    assert!(taken(&place).is_empty() && status(&place).delivered == 0, "{mode}");
                }
                set(&place, "200");
                let _second = first.is_none().then(|| receiver(&place, port, "200"));
                assert_all_arrives(&place, mode);
            });
        }
    });
}

#[test]
fn a_dry_run_says_nothing_unless_that_is_asked_for_and_then_says_that_it_is_one() {
    let place = Place::new();
    let (_receiver, port) = receiver(&place, 0, "200");
    let counting = Counting::start(&[("eth2", 1e-2)]);
    let daemon = with_webhook(&place, &counting, port, &["--dry-run"]);
    wait("a request", || has_request(&told(&place)).then_some(()));
    assert!(daemon.stop(), "it ends well");
    assert!(place.lines("record").is_empty());
    let _daemon = with_webhook(&place, &counting, port, &["--dry-run", "--webhook-dry-run"]);
    let bodies = wait("messages", || {
        let bodies: Vec<Value> = taken(&place).into_iter().map(|line| line["body"].clone()).collect();
        has_request(&bodies.iter().map(|body| body["decision"].clone()).collect::<Vec<_>>()).then_some(bodies)
    });
    let is_dry = |body: &Value| body["dry_run"] == true && body["decision"]["dry_run"] == true;
    assert!(bodies.iter().all(is_dry), "{bodies:?}");
}

/// What waits when corruptd is killed is lost, which the audit file is for; a run that begins is told from the one before.
#[test]
fn a_killed_corruptd_goes_on_as_another_run() {
    let place = Place::new();
    let (_receiver, port) = receiver(&place, 0, "hang");
    let counting = Counting::start(&[("eth2", 1e-2)]);
    let daemon = with_webhook(&place, &counting, port, &[]);
    wait("decisions", || (has_request(&told(&place)) && !place.lines("record").is_empty()).then_some(()));
    drop(daemon);
    let lost = told(&place).len();
    set(&place, "200");
    let daemon = with_webhook(&place, &counting, port, &[]);
    counting.corrupt("eth3", 1e-2);
    wait("what is new", || (!taken(&place).is_empty() && told(&place).len() > lost).then_some(()));
    wait("all", || (taken(&place).len() == told(&place).len() - lost).then_some(()));
    let lines = place.lines("record");
    let runs: BTreeSet<String> = lines.iter().map(|line| line["body"]["run"].to_string()).collect();
    assert_eq!(runs.len(), 2, "{lines:?}");
    assert_eq!(taken(&place)[0]["body"]["sequence"], 1);
    assert_eq!(taken(&place)[0]["body"]["audit"]["number"], told(&place)[lost]["number"]);
    assert!(lines.iter().all(|line| line["signed"] == true), "{lines:?}");
    // A receiver that hangs does not keep it from stopping.
    set(&place, "hang");
    counting.corrupt("eth4", 1e-2);
    wait("a message", || {
        place
            .lines("record")
            .iter()
            .any(|line| line["answer"] == "hang" && line["body"]["run"] == taken(&place)[0]["body"]["run"])
            .then_some(())
    });
    let begun = Instant::now();
    assert!(daemon.stop(), "it ends well");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let log = std::fs::read_to_string(place.path("log")).expect("readable");
    assert!(log.contains("decisions were not delivered to http://127.0.0.1:"), "{log}");
}
