//! Somebody who may write to the server, and is no agent.

use super::bus::{port, request};
use super::server::{Server, is_installed, settings};
use linkmend_monitor::bus::{Bus, BusEvent, RedisBus, RedisSettings};
use linkmend_monitor::exchange::DirectionState;
use linkmend_monitor::findings::{Finding, Findings, PortFinding};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const KEY: &str = "{linkmend}:direction:leaf1/a";

/// A bus of an agent that believes who has this key.
pub fn sealed(server: &Server, agent: &str) -> RedisBus {
    let path = server.folder().join("keys");
    std::fs::write(&path, format!("# of all agents\n* {}\n", "5a".repeat(32))).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("it is ours");
    let settings = RedisSettings { keys: Some(path), ..settings(&server.url()) };
    RedisBus::new(&settings, agent).expect("usable").listening(true)
}

/// Writes a direction as somebody does who knows all about it but the key.
fn forge(server: &Server, generation: u64, seal: &str) {
    let json = format!("{{\"generation\":{generation},\"disable\":true,\"reason\":\"forged\"}}");
    let fields = [
        "version",
        "1",
        "request",
        &json,
        "request-generation",
        &generation.to_string(),
        "request-seal",
        seal,
    ];
    overwrite(server, &fields);
}

fn overwrite(server: &Server, fields: &[&str]) {
    let mut calls = redis::pipe();
    calls.cmd("HSET").arg(KEY).arg(fields).ignore();
    calls.cmd("SADD").arg("{linkmend}:directions").arg("leaf1/a").ignore();
    calls.cmd("XADD").arg("{linkmend}:events").arg("*").arg("port").arg("leaf1/a").ignore();
    calls.exec(&mut server.connect()).expect("written");
}

fn states(bus: &mut RedisBus) -> Vec<DirectionState> {
    let events = bus.poll().expect("it answers");
    let state = |event| match event {
        BusEvent::State(_, state) | BusEvent::Recorded(_, state) => Some(state),
        _ => None,
    };
    events.into_iter().filter_map(state).collect()
}

#[test]
fn whoever_has_no_key_is_not_believed_and_keeps_no_agent_from_writing() {
    if !is_installed("whoever_has_no_key_is_not_believed_and_keeps_no_agent_from_writing") {
        return;
    }
    let server = Server::start(&[]);
    let (mut leaf, mut spine) = (sealed(&server, "leaf1"), sealed(&server, "spine1"));
    assert_eq!((states(&mut leaf), states(&mut spine)), (vec![], vec![]));
    leaf.put(&port("leaf1/a"), request(1)).expect("put");
    assert_eq!(states(&mut spine), [request(1)]);
    let first: Vec<String> =
        redis::cmd("HGETALL").arg(KEY).query(&mut server.connect()).expect("it is there");
    let seal = &first[first.iter().position(|field| field == "request-seal").expect("sealed") + 1];
    assert_eq!(spine.trouble(), None);
    for (generation, seal) in [(9, ""), (1 << 40, "leaf1 7 00"), (10, seal.as_str())] {
        forge(&server, generation, seal);
        assert_eq!(states(&mut spine), [DirectionState::default()], "{generation}");
        assert!(spine.trouble().is_some_and(|text| text.contains("that no agent has written")));
    }
    // There is room for what the agent says.
    leaf.put(&port("leaf1/a"), request(2)).expect("put");
    assert_eq!(states(&mut spine), [request(2)]);
    // What it said before is said again by somebody else; and another agent can say nothing in its name.
    overwrite(&server, &first.iter().map(String::as_str).collect::<Vec<&str>>());
    assert_eq!(states(&mut spine), [DirectionState::default()]);
    spine.put(&port("leaf1/b"), request(1)).expect("nothing is written");
    let keys: Vec<String> = redis::cmd("KEYS").arg("*leaf1/b").query(&mut server.connect()).expect("listed");
    assert_eq!(keys, [] as [String; 0]);
    // A restarted agent goes on with what it has sealed before.
    leaf.put(&port("leaf1/a"), request(3)).expect("put");
    drop(leaf);
    assert_eq!(states(&mut sealed(&server, "leaf1")), [request(3)]);
}

/// One field that nobody had sealed kept all agents from saying anything about a link, for ever.
#[test]
fn what_nobody_has_sealed_keeps_no_agent_from_writing_whatever_it_is() {
    if !is_installed("what_nobody_has_sealed_keeps_no_agent_from_writing_whatever_it_is") {
        return;
    }
    let server = Server::start(&[]);
    let (mut leaf, mut spine) = (sealed(&server, "leaf1"), sealed(&server, "spine1"));
    assert_eq!((states(&mut leaf), states(&mut spine)), (vec![], vec![]));
    let mut by_hand = server.connect();
    let long = "x".repeat(100_000);
    let mut generation = 0;
    for fields in [
        &["version", "x"][..],
        &["version", "2"],
        &["version", "\u{1b}]0;x\u{7}"],
        &["version", &long],
        &["request-seal", &long],
        &["acknowledgement", &long],
    ] {
        // Before there is anything of the direction, and nobody is told.
        redis::cmd("DEL").arg(KEY).exec(&mut by_hand).expect("deleted");
        if fields[0] == "version" {
            redis::cmd("HSET").arg(KEY).arg(fields).exec(&mut by_hand).expect("written");
        }
        generation += 1;
        leaf.put(&port("leaf1/a"), request(generation)).expect("put");
        assert_eq!(states(&mut spine), [request(generation)], "{:.20}", fields[1]);
        // Beside what its agent has said.
        overwrite(&server, fields);
        assert_eq!(states(&mut spine), [DirectionState::default()], "{:.20}", fields[1]);
        leaf.put(&port("leaf1/a"), request(generation)).expect("put again");
        assert_eq!(states(&mut spine), [request(generation)], "{:.20}", fields[1]);
        states(&mut leaf);
    }
    let told = spine.trouble().expect("it is said");
    assert!(told.contains("its version is x, but this program supports version 1"), "{told}");
    redis::cmd("SET").arg(KEY).arg("x").exec(&mut by_hand).expect("set");
    leaf.put(&port("leaf1/a"), request(9)).expect("put");
    assert_eq!(states(&mut spine), [request(9)]);
}

#[test]
fn findings_are_those_of_their_agent() {
    if !is_installed("findings_are_those_of_their_agent") {
        return;
    }
    let server = Server::start(&[]);
    let (mut leaf, mut spine) = (sealed(&server, "leaf1"), sealed(&server, "spine1"));
    let of = PortFinding::new(Finding::Healthy, None);
    let said = Findings { beat: 7, valid_s: 60, age_s: 0, ports: [("a".to_owned(), of)].into() };
    states(&mut leaf);
    leaf.say(&said).expect("said");
    let heard = |bus: &mut RedisBus| {
        let events = bus.poll().expect("it answers");
        events.into_iter().filter(|event| matches!(event, BusEvent::Findings(..))).collect::<Vec<BusEvent>>()
    };
    assert_eq!(heard(&mut spine), [BusEvent::Findings("leaf1".to_owned(), said.clone())]);
    // The same text stands where another agent's is expected, and a text without a seal.
    let mut by_hand = server.connect();
    let text: String =
        redis::cmd("GET").arg("{linkmend}:findings:leaf1").query(&mut by_hand).expect("it is there");
    let plain = text.split_once('\n').expect("sealed").1.to_owned();
    for (agent, text) in [("leaf2", &text), ("leaf3", &plain)] {
        redis::cmd("SET")
            .arg(format!("{{linkmend}}:findings:{agent}"))
            .arg(text)
            .exec(&mut by_hand)
            .expect("set");
        redis::cmd("SADD").arg("{linkmend}:speakers").arg(agent).exec(&mut by_hand).expect("added");
    }
    let mut fresh = sealed(&server, "spine2");
    assert_eq!(heard(&mut fresh), [BusEvent::Findings("leaf1".to_owned(), said)]);
    assert!(fresh.trouble().is_some());
}

/// A generation of 2^63-1 made a direction unusable for ever: every later one was refused, and it came back from the memory of
/// agents.
#[test]
fn a_generation_that_no_agent_reaches_is_written_over() {
    if !is_installed("a_generation_that_no_agent_reaches_is_written_over") {
        return;
    }
    let server = Server::start(&[]);
    let mut bus = server.bus("leaf1");
    states(&mut bus);
    forge(&server, i64::MAX as u64, "");
    assert_eq!(states(&mut bus), [], "it is not believed");
    bus.put(&port("leaf1/a"), request(1)).expect("put");
    assert_eq!(states(&mut bus), [request(1)]);
    // It is one that could be believed, and not that of the request.
    overwrite(&server, &["request-generation", "1000000000000000000"]);
    assert_eq!(states(&mut bus), []);
    bus.put(&port("leaf1/a"), request(2)).expect("put");
    assert_eq!(states(&mut bus), [request(2)]);
}

/// A request of an agent for another one's port.
fn asked_of(sender: &str, generation: u64) -> DirectionState {
    let mut state = request(generation);
    state.request.iter_mut().for_each(|request| request.sender = sender.parse().ok());
    state
}

/// What agents hear of directions: whether their requests were confirmed to them, and which they are.
fn heard(bus: &mut RedisBus) -> Vec<(bool, Option<u64>)> {
    let events = bus.poll().expect("it answers");
    let of = |event| match event {
        BusEvent::State(_, state) => Some((true, state.request_generation())),
        BusEvent::Recorded(_, state) => Some((false, state.request_generation())),
        _ => None,
    };
    events.into_iter().filter_map(of).collect()
}

/// An old request came back while the agent that carries it out was restarted, and was carried out.
#[test]
fn a_request_counts_once_its_agent_has_confirmed_it_to_the_run_that_reads_it() {
    if !is_installed("a_request_counts_once_its_agent_has_confirmed_it_to_the_run_that_reads_it") {
        return;
    }
    let server = Server::start(&[]);
    let (mut leaf, mut spine) = (sealed(&server, "leaf1"), sealed(&server, "spine1"));
    assert_eq!((heard(&mut leaf), heard(&mut spine)), (vec![], vec![]));
    leaf.put(&port("leaf1/a"), asked_of("spine1/b", 1)).expect("put");
    assert_eq!(heard(&mut spine), [(true, Some(1))]);
    let mut by_hand = server.connect();
    let old: Vec<u8> = redis::cmd("DUMP").arg(KEY).query(&mut by_hand).expect("it is there");
    leaf.put(&port("leaf1/a"), asked_of("spine1/b", 2)).expect("put");
    assert_eq!((heard(&mut leaf), heard(&mut spine)), (vec![(true, Some(2))], vec![(true, Some(2))]));
    // The one that carries it out is restarted, and somebody puts the old request back.
    drop(spine);
    redis::cmd("RESTORE").arg(KEY).arg(0).arg(&old).arg("REPLACE").exec(&mut by_hand).expect("restored");
    let mut spine = sealed(&server, "spine1");
    assert_eq!(heard(&mut spine), [(false, Some(1))]);
    // Both are: nobody confirms it.
    drop(leaf);
    let mut leaf = sealed(&server, "leaf1");
    assert_eq!(heard(&mut leaf), [(false, Some(1))]);
    // What is asked for now is confirmed to the run that reads it, also to one that begins later.
    leaf.put(&port("leaf1/a"), asked_of("spine1/b", 3)).expect("put");
    assert_eq!((heard(&mut leaf), heard(&mut spine)), (vec![(true, Some(3))], vec![(true, Some(3))]));
    drop(spine);
    let mut spine = sealed(&server, "spine1");
    assert_eq!(heard(&mut spine), [(false, Some(3))]);
    let begun = Instant::now();
    loop {
        heard(&mut leaf);
        match heard(&mut spine)[..] {
            // Events of before the restart are read once more.
            [] | [(false, Some(3))] => {}
            [(true, Some(3))] => break,
            ref other => panic!("{other:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not confirmed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((leaf.trouble(), spine.trouble()), (None, None));
}

/// Somebody wrote another process there, and the agent said nothing any more.
#[test]
fn what_no_agent_has_sealed_keeps_none_from_its_name() {
    if !is_installed("what_no_agent_has_sealed_keeps_none_from_its_name") {
        return;
    }
    let server = Server::start(&[]);
    let mut by_hand = server.connect();
    let name = "{linkmend}:agent:leaf1";
    let set = |by_hand: &mut redis::Connection, text: &str| {
        redis::cmd("SET").arg(name).arg(text).exec(by_hand).expect("set");
    };
    set(&mut by_hand, "tor7 1 elsewhere 1");
    let error = server.bus("leaf1").poll().expect_err("without keys, it is another process").to_string();
    assert!(error.contains("process 1 at tor7"), "{error}");
    let mut leaf = sealed(&server, "leaf1");
    states(&mut leaf);
    assert!(leaf.trouble().is_some_and(|text| text.contains("agent:leaf1")), "{:?}", leaf.trouble());
    let held: String = redis::cmd("GET").arg(name).query(&mut by_hand).expect("it is there");
    // Its own from before, of another machine's start, is repeated by somebody.
    let other = held.rsplit_once(' ').expect("a run").0.to_owned() + " 1";
    for text in [
        &other,
        "leaf1 1 - 00
tor7 1 elsewhere 1",
        "",
        "
",
        &"x".repeat(600_000),
    ] {
        set(&mut by_hand, text);
        states(&mut sealed(&server, "leaf1"));
    }
    redis::cmd("DEL").arg(name).exec(&mut by_hand).expect("deleted");
    redis::cmd("RPUSH").arg(name).arg("x").exec(&mut by_hand).expect("a list");
    states(&mut sealed(&server, "leaf1"));
    states(&mut server.bus("leaf1"));
}

/// As documented: without keys, this keeps an agent from speaking for others about what is disabled.
#[test]
fn with_rights_of_its_own_an_agent_writes_no_findings_of_others() {
    if !is_installed("with_rights_of_its_own_an_agent_writes_no_findings_of_others") {
        return;
    }
    let server = Server::start(&[]);
    let documented = include_str!("../../../../docs/corruptd.md");
    let rights = documented.lines().find_map(|line| line.trim().strip_prefix("ACL SETUSER leaf1 "));
    let rights = rights.expect("it stands there").replace(">PASSWORD", ">correct-horse");
    let mut by_hand = server.connect();
    redis::cmd("ACL")
        .arg("SETUSER")
        .arg("leaf1")
        .arg(rights.split(' ').collect::<Vec<_>>())
        .exec(&mut by_hand)
        .expect("a user");
    let url = format!("redis://leaf1:correct-horse@127.0.0.1:{}", server.port);
    let mut leaf = RedisBus::new(&settings(&url), "leaf1").expect("usable").listening(true);
    let mut spine = server.bus("spine1").listening(true);
    assert_eq!((states(&mut leaf), states(&mut spine)), (vec![], vec![]));
    let said = Findings { beat: 7, valid_s: 60, ..Findings::default() };
    leaf.say(&said).expect("said");
    spine.say(&said).expect("said");
    leaf.put(&port("leaf1/a"), request(1)).expect("put");
    assert_eq!((states(&mut leaf), states(&mut spine)), (vec![request(1)], vec![request(1)]));
    let mut as_leaf = redis::Client::open(url).expect("an address").get_connection().expect("it may connect");
    let forged = redis::cmd("SET").arg("{linkmend}:findings:spine1").arg("x").exec(&mut as_leaf);
    assert_eq!(forged.expect_err("refused").code(), Some("NOPERM"));
    // Nor does it harm others who use the server.
    for harm in [
        "FLUSHALL",
        "SWAPDB 0 1",
        "SCRIPT FLUSH",
        "FUNCTION FLUSH",
        "CLIENT KILL TYPE normal",
        "CONFIG GET x",
        "KEYS *",
    ] {
        let mut words = harm.split(' ');
        let mut command = redis::cmd(words.next().expect("a name"));
        words.for_each(|word| _ = command.arg(word));
        let refused = command.exec(&mut as_leaf).expect_err(harm);
        assert_eq!(refused.code(), Some("NOPERM"), "{harm}");
    }
}

#[test]
fn a_field_of_twenty_megabytes_is_not_read() {
    if !is_installed("a_field_of_twenty_megabytes_is_not_read") {
        return;
    }
    let server = Server::start(&[]);
    let mut bus = server.bus("leaf1");
    states(&mut bus);
    overwrite(&server, &["version", "1", "request", &"x".repeat(20 << 20), "request-generation", "1"]);
    let name = format!("leaf1/{}", "y".repeat(20 << 20));
    let mut by_hand = server.connect();
    redis::cmd("SADD").arg("{linkmend}:directions").arg(&name).exec(&mut by_hand).expect("added");
    redis::cmd("XADD")
        .arg("{linkmend}:events")
        .arg("*")
        .arg("port")
        .arg(&name)
        .exec(&mut by_hand)
        .expect("added");
    assert_eq!(states(&mut bus), []);
    bus.put(&port("leaf1/a"), request(2)).expect("put");
    assert_eq!(states(&mut bus), [request(2)], "its agent writes over it");
    assert_eq!(states(&mut server.bus("leaf2")), [request(2)]);
}
