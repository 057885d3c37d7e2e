//! What the bus promises, at a server that works, restarts, and has strange things in it.

use super::server::{Server, is_installed, settings};
use linkmend_monitor::PortName;
use linkmend_monitor::bus::{Bus, BusEvent, RedisBus, RehearsedBus};
use linkmend_monitor::exchange::{Acknowledgement, DirectionState, Effect, Request};
use linkmend_monitor::findings::{Finding, Findings, PortFinding};
use std::time::Duration;

pub fn port(name: &str) -> PortName {
    name.parse().expect("a port")
}

pub fn request(generation: u64) -> DirectionState {
    let request = Request { generation, reason: "a test".to_owned(), ..Request::default() };
    DirectionState { request: Some(request), acknowledgement: None }
}

fn acknowledgement(generation: u64, effect: Effect) -> DirectionState {
    let acknowledgement = Acknowledgement { generation, effect, ..Acknowledgement::default() };
    DirectionState { request: None, acknowledgement: Some(acknowledgement) }
}

/// All that there is, which is nothing.
const EVERYTHING: [BusEvent; 2] = [BusEvent::Rereading, BusEvent::Synchronised];

fn poll(bus: &mut RedisBus) -> Vec<BusEvent> {
    bus.poll().expect("it answers")
}

#[test]
fn every_agent_hears_what_any_agent_puts_and_what_is_older_changes_nothing() {
    if !is_installed("every_agent_hears_what_any_agent_puts_and_what_is_older_changes_nothing") {
        return;
    }
    let server = Server::start(&[]);
    let (mut one, mut other) = (server.bus("leaf1"), server.bus("leaf2"));
    assert!(one.put(&port("leaf1/a"), request(1)).is_err(), "nothing is put before the bus was heard");
    assert_eq!(poll(&mut one), EVERYTHING);
    assert_eq!(poll(&mut other), EVERYTHING);
    assert_eq!(poll(&mut one), []);

    // Generations of more than 53 bits must not be rounded.
    let last = (1 << 60) + 1;
    for generation in [9, 10, last] {
        one.put(&port("leaf1/a"), request(generation)).expect("put");
    }
    other.put(&port("leaf1/a"), acknowledgement(last, Effect::Starting)).expect("put");
    other.put(&port("leaf1/a"), acknowledgement(last, Effect::Active)).expect("put");
    let whole = DirectionState {
        acknowledgement: acknowledgement(last, Effect::Active).acknowledgement,
        ..request(last)
    };
    let heard = [BusEvent::State(port("leaf1/a"), whole)];
    assert_eq!(poll(&mut one), heard);
    assert_eq!(poll(&mut other), heard);

    one.put(&port("leaf1/a"), request(last - 1)).expect("outdated");
    one.put(&port("leaf1/a"), request(last)).expect("the same");
    other.put(&port("leaf1/a"), acknowledgement(9, Effect::Failed)).expect("outdated");
    assert_eq!((poll(&mut one), poll(&mut other)), (vec![], vec![]), "nothing has changed");

    // An agent that starts anew hears everything before it hears what is new.
    other.put(&port("leaf2/b"), request(1)).expect("put");
    let mut again = server.bus("leaf1");
    let events = poll(&mut again);
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!((&events[0], &events[3]), (&BusEvent::Rereading, &BusEvent::Synchronised));
    assert_eq!(
        poll(&mut again),
        [BusEvent::State(port("leaf2/b"), request(1))],
        "the event of it was not handled yet"
    );
    assert_eq!(poll(&mut again), []);
}

#[test]
fn events_that_come_twice_late_or_before_a_restart_say_what_is_true_now() {
    if !is_installed("events_that_come_twice_late_or_before_a_restart_say_what_is_true_now") {
        return;
    }
    let server = Server::start(&[]);
    let (mut one, mut other) = (server.bus("leaf1"), server.bus("leaf2"));
    poll(&mut one);
    poll(&mut other);
    let mut by_hand = server.connect();
    let pending = |by_hand: &mut redis::Connection| -> u64 {
        let (count, ..): (u64, redis::Value, redis::Value, redis::Value) =
            redis::cmd("XPENDING").arg("{linkmend}:events").arg("leaf2").query(by_hand).expect("counted");
        count
    };
    for generation in 1..=3 {
        one.put(&port("leaf1/a"), request(generation)).expect("put");
        one.put(&port("leaf1/b"), request(generation)).expect("put");
    }
    let now = [BusEvent::State(port("leaf1/a"), request(3)), BusEvent::State(port("leaf1/b"), request(3))];
    assert_eq!(poll(&mut other), now, "six events, two directions");
    assert_eq!(pending(&mut by_hand), 6, "they may not have been handled yet");

    // It was restarted before it could handle them.
    drop(other);
    let mut other = server.bus("leaf2");
    assert_eq!(poll(&mut other).len(), 4);
    assert_eq!(poll(&mut other), now, "its own, from before the restart");
    assert_eq!((poll(&mut other), pending(&mut by_hand)), (vec![], 0));

    for name in ["leaf1/b", "leaf1/a", "leaf1/a", "leaf9/unknown", "no port at all"] {
        redis::cmd("XADD")
            .arg("{linkmend}:events")
            .arg("*")
            .arg("port")
            .arg(name)
            .exec(&mut by_hand)
            .expect("added");
    }
    redis::cmd("XADD")
        .arg("{linkmend}:events")
        .arg("*")
        .arg("other")
        .arg("x")
        .exec(&mut by_hand)
        .expect("added");
    assert_eq!(poll(&mut other), now);
    assert_eq!((poll(&mut other), pending(&mut by_hand)), (vec![], 0));
}

#[test]
fn a_server_that_was_emptied_is_heard_from_the_beginning() {
    if !is_installed("a_server_that_was_emptied_is_heard_from_the_beginning") {
        return;
    }
    let mut server = Server::start(&[]);
    let mut bus = server.bus("leaf1");
    poll(&mut bus);
    bus.put(&port("leaf1/a"), request(1)).expect("put");
    assert_eq!(poll(&mut bus).len(), 1);
    redis::cmd("FLUSHALL").exec(&mut server.connect()).expect("emptied");
    assert_eq!(poll(&mut bus), EVERYTHING, "nothing is there any more, and the agent is told");
    bus.put(&port("leaf1/a"), request(1)).expect("put again, by a script that was forgotten, too");
    assert_eq!(poll(&mut bus), [BusEvent::State(port("leaf1/a"), request(1))]);

    server.restart();
    assert!(bus.poll().is_err(), "the connection has ended");
    assert!(bus.put(&port("leaf1/a"), request(1)).is_err(), "nothing is put before the bus was heard again");
    assert_eq!(poll(&mut bus), EVERYTHING);
}

#[test]
fn what_makes_no_sense_is_passed_over_and_a_later_version_stays_as_it_is() {
    if !is_installed("what_makes_no_sense_is_passed_over_and_a_later_version_stays_as_it_is") {
        return;
    }
    let server = Server::start(&[]);
    let mut bus = server.bus("leaf1");
    poll(&mut bus);
    bus.put(&port("leaf1/good"), request(1)).expect("put");
    let mut by_hand = server.connect();
    let mut call = |text: &str| {
        let mut words = text.split(' ');
        let mut command = redis::cmd(words.next().expect("a name"));
        words.for_each(|word| _ = command.arg(word));
        command.query::<redis::Value>(&mut by_hand).expect("it works")
    };
    call("SET {linkmend}:direction:leaf1/text x");
    call("HSET {linkmend}:direction:leaf1/version version 2 request {} request-generation 1");
    call("HSET {linkmend}:direction:leaf1/nobody version x");
    call("HSET {linkmend}:direction:leaf1/json version 1 request {\"generation request-generation 1");
    call("HSET {linkmend}:direction:leaf1/number version 1 request {} request-generation many");
    call("HSET {linkmend}:direction:leaf1/differs version 1 request-generation 1");
    let strange = ["text", "version", "nobody", "json", "number", "differs"];
    call(
        "SADD {linkmend}:directions leaf1/good leaf1/text leaf1/version leaf1/nobody leaf1/json leaf1/number leaf1/differs nonsense",
    );
    let mut fresh = server.bus("leaf2");
    assert_eq!(
        poll(&mut fresh),
        [BusEvent::Rereading, BusEvent::State(port("leaf1/good"), request(1)), BusEvent::Synchronised]
    );

    for name in strange {
        let port = port(&format!("leaf1/{name}"));
        fresh.put(&port, request(1)).expect("the bus goes on");
    }
    let kept = call("HGET {linkmend}:direction:leaf1/version request");
    assert_eq!(kept, redis::Value::BulkString(b"{}".to_vec()));
    // What no program has written is written again by its agent, and then makes sense.
    let now = poll(&mut bus);
    assert!(now.contains(&BusEvent::State(port("leaf1/text"), request(1))), "{now:?}");
    assert!(now.contains(&BusEvent::State(port("leaf1/nobody"), request(1))), "{now:?}");
    assert!(now.contains(&BusEvent::State(port("leaf1/json"), request(1))), "{now:?}");
    assert!(now.contains(&BusEvent::State(port("leaf1/differs"), request(1))), "{now:?}");
    assert!(now.contains(&BusEvent::State(port("leaf1/number"), request(1))), "{now:?}");
    assert!(
        !now.iter().any(|event| matches!(event, BusEvent::State(port, _) if port.port() == "version")),
        "{now:?}"
    );
}

/// Who may only read cannot change anything.
#[test]
fn a_dry_run_reads_and_writes_nothing() {
    if !is_installed("a_dry_run_reads_and_writes_nothing") {
        return;
    }
    let server = Server::start(&[]);
    let mut by_hand = server.connect();
    let rights = ["SETUSER", "reader", "on", ">correct-horse", "~{linkmend}*", "+@read", "+@scripting"];
    redis::cmd("ACL").arg(&rights).exec(&mut by_hand).expect("a user");
    let url = format!("redis://reader:correct-horse@127.0.0.1:{}", server.port);
    let real = RedisBus::new(&settings(&url), "leaf1").expect("usable").read_only();
    let mut dry = RehearsedBus::new(Box::new(real));
    assert_eq!(dry.poll().expect("it answers"), EVERYTHING);
    dry.put(&port("leaf1/a"), request(1)).expect("kept to itself");
    let ours = BusEvent::State(port("leaf1/a"), request(1));
    assert_eq!(dry.poll().expect("it answers"), [ours]);
    let keys: u64 = redis::cmd("DBSIZE").query(&mut by_hand).expect("counted");
    assert_eq!(keys, 0, "not even a group of readers");
    // What others put is heard.
    let mut other = server.bus("leaf2");
    poll(&mut other);
    for generation in 1..=2 {
        other.put(&port("leaf2/b"), request(generation)).expect("put");
        let theirs = BusEvent::State(port("leaf2/b"), request(generation));
        assert_eq!(dry.poll().expect("it answers"), [theirs]);
    }
    assert_eq!(dry.poll().expect("it answers"), []);
}

#[test]
fn a_second_agent_of_one_name_is_refused_until_the_first_is_gone() {
    if !is_installed("a_second_agent_of_one_name_is_refused_until_the_first_is_gone") {
        return;
    }
    let server = Server::start(&[]);
    let mut by_hand = server.connect();
    let key = "{linkmend}:agent:leaf1";
    let held = |by_hand: &mut redis::Connection| -> Option<String> {
        redis::cmd("GET").arg(key).query(by_hand).expect("a text")
    };
    // A process of another machine has the name.
    redis::cmd("SET").arg(key).arg("tor9 17 elsewhere 1").exec(&mut by_hand).expect("set");
    let mut bus = server.bus("leaf1");
    for _ in 0..2 {
        let error = bus.poll().expect_err("refused");
        let text = format!("{error} {:?}", error.hint);
        assert!(
            text.contains("another corruptd already uses the agent name leaf1: process 17 at tor9"),
            "{text}"
        );
        assert!(text.contains("--agent"), "{text}");
        bus.say(&Findings { valid_s: 60, ..Findings::default() }).expect("nothing is said");
    }
    let said: u64 =
        redis::cmd("EXISTS").arg("{linkmend}:findings:leaf1").query(&mut by_hand).expect("a number");
    assert_eq!(said, 0, "it does not speak for the other one");
    redis::cmd("DEL").arg(key).exec(&mut by_hand).expect("deleted");
    assert_eq!(poll(&mut bus), EVERYTHING);
    assert!(held(&mut by_hand).is_some_and(|holder| holder.contains(&format!(" {} ", std::process::id()))));
    let left: i64 = redis::cmd("PTTL").arg(key).query(&mut by_hand).expect("a time");
    assert!((1..=15_000).contains(&left), "a machine that dies lets go: {left}");
    drop(bus);
    assert_eq!(held(&mut by_hand), None, "nobody waits for an agent that was ended");
}

/// Only whoever plans listens, and a text that nobody could have written harms nobody else's.
#[test]
fn findings_are_heard_by_whoever_plans_and_forgotten_with_their_agent() {
    if !is_installed("findings_are_heard_by_whoever_plans_and_forgotten_with_their_agent") {
        return;
    }
    let server = Server::start(&[]);
    let (mut speaker, mut other) = (server.bus("leaf1"), server.bus("leaf2"));
    let mut planner = server.bus("spine1").listening(true);
    let of = PortFinding::new(Finding::Healthy, Some(port("spine1/a")));
    let said = Findings { beat: 7, valid_s: 2, age_s: 0, ports: [("a".to_owned(), of)].into() };
    assert_eq!((poll(&mut speaker).len(), poll(&mut other).len()), (2, 2));
    speaker.say(&said).expect("said");
    let mut calls = redis::pipe();
    calls.cmd("SET").arg("{linkmend}:findings:leaf2").arg("nonsense").ignore();
    calls.cmd("SADD").arg("{linkmend}:speakers").arg("leaf2").arg("no/name").ignore();
    calls.exec(&mut server.connect()).expect("written");
    let expected =
        [BusEvent::Rereading, BusEvent::Findings("leaf1".to_owned(), said), BusEvent::Synchronised];
    assert_eq!(poll(&mut planner), expected);
    assert_eq!((poll(&mut planner), poll(&mut other)), (vec![], vec![]));
    std::thread::sleep(Duration::from_millis(2_200));
    assert_eq!(poll(&mut planner), [], "the server has forgotten what was not repeated");
}
