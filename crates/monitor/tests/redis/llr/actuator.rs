//! LLR as it is switched on and off by a switch's configuration database.

use super::{OBJECT, TABLES};
use crate::server::{Server, is_installed};
use crate::sonic::{send, settings};
use crate::switch::{Fields, Monitor, contents, hash};
use linkmend_control::ProtectMode;
use linkmend_monitor::actuator::{Actuator, End, LlrProfile, SonicLlr, SonicLlrSettings};
use linkmend_monitor::exchange::{Effect, Protection, Request};

const CONFIG_DB: u8 = 4;
const STATE_DB: u8 = 6;
const ACKS: &str = "SAI_PORT_STAT_LLR_RX_ACK_CTL_OS";
/// As `llrmgrd` answers to what is written into CONFIG_DB.
const TAKEN_OVER: &str = "SELECT 0\nHSET LLR_PORT_TABLE:Ethernet0 llr_mode static llr_local enabled llr_remote enabled llr_profile linkmend_400000_40m";

fn switch(server: &Server) -> SonicLlrSettings {
    SonicLlrSettings {
        switch: settings(&server.url()),
        profile: LlrProfile::Planned,
        ports_most: 8,
        dry_run: false,
    }
}

fn actuator(settings: &SonicLlrSettings) -> SonicLlr {
    SonicLlr::new(settings).expect("usable")
}

fn request(protects: bool) -> Request {
    let protection = Protection { mode: ProtectMode::Ordered, loss_rate: 1e-3, target: 1e-8, copies: 2 };
    Request { generation: 1, protection: protects.then_some(protection), ..Request::default() }
}

fn apply(llr: &mut SonicLlr, port: &str, end: End, protects: bool) -> Result<Effect, String> {
    llr.apply(port, end, &request(protects), false)
}

fn entry(server: &Server) -> Fields {
    hash(server, CONFIG_DB, "LLR_PORT|Ethernet0")
}

fn fields(of: &[(&str, &str)]) -> Fields {
    of.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn llr_is_on_while_a_direction_needs_it_and_everything_is_as_before_after_that() {
    if !is_installed("llr_is_on_while_a_direction_needs_it_and_everything_is_as_before_after_that") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let before = [CONFIG_DB, STATE_DB].map(|database| contents(&server, database));
    let mut llr = actuator(&switch(&server));
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, true), Ok(Effect::Starting));
    let on = fields(&[
        ("llr_mode", "static"),
        ("llr_local", "enabled"),
        ("llr_remote", "enabled"),
        ("llr_profile", "linkmend_400000_40m"),
    ]);
    assert_eq!(entry(&server), on);
    // As `linkmend sim llr plan --speed 400G --cable 40m --mtu 9122B --loss 1e-2` has it, in fields that the switch supports.
    let profile = hash(&server, CONFIG_DB, "LLR_PROFILE|linkmend_400000_40m");
    assert_eq!(profile["max_outstanding_bytes"], "49850");
    assert_eq!((profile.len(), profile.contains_key("flush_action")), (7, false));
    // The switch takes it over, and the other end answers.
    assert_eq!(llr.observe("Ethernet0"), Ok(Some(Effect::Starting)));
    send(&server, TAKEN_OVER);
    assert_eq!(llr.observe("Ethernet0"), Ok(Some(Effect::Starting)), "the other end is silent");
    send(&server, &format!("SELECT 2\nHINCRBY {OBJECT} {ACKS} 1"));
    assert_eq!(llr.observe("Ethernet0"), Ok(Some(Effect::Active)));
    // A restarted corruptd finds what it did, and the other direction needs LLR as well.
    let mut llr = actuator(&switch(&server));
    assert_eq!(apply(&mut llr, "Ethernet0", End::Receives, true), Ok(Effect::Active));
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, false), Ok(Effect::Dormant));
    assert_eq!(entry(&server), on, "one direction needs it still");
    // Another port of that speed and length shares the profile.
    send(&server, "SELECT 4\nHSET CABLE_LENGTH|AZURE Ethernet8 40m");
    assert_eq!(apply(&mut llr, "Ethernet8", End::Sends, true), Ok(Effect::Starting));
    assert_eq!(apply(&mut llr, "Ethernet0", End::Receives, false), Ok(Effect::Dormant));
    assert_eq!(entry(&server), Fields::new());
    assert_eq!(hash(&server, CONFIG_DB, "LLR_PROFILE|linkmend_400000_40m"), profile);
    assert_eq!(apply(&mut llr, "Ethernet8", End::Sends, false), Ok(Effect::Dormant));
    send(&server, "SELECT 4\nHSET CABLE_LENGTH|AZURE Ethernet8 5m");
    assert_eq!([CONFIG_DB, STATE_DB].map(|database| contents(&server, database)), before);
}

#[test]
fn what_an_operator_has_set_is_left_alone() {
    if !is_installed("what_an_operator_has_set_is_left_alone") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let mut llr = actuator(&switch(&server));
    let mut with = |commands: &str, protects: bool| {
        send(&server, &format!("SELECT 4\nDEL LLR_PORT|Ethernet0\n{commands}"));
        let before = contents(&server, CONFIG_DB);
        let done = apply(&mut llr, "Ethernet0", End::Sends, protects);
        assert_eq!(contents(&server, CONFIG_DB), before, "{commands}");
        done
    };
    let off = "HSET LLR_PORT|Ethernet0 llr_mode static llr_local disabled llr_remote disabled";
    assert!(with(off, true).expect_err("refused").contains("llr_local disabled, which somebody has set"));
    let dynamic = "HSET LLR_PORT|Ethernet0 llr_mode dynamic";
    assert!(with(dynamic, true).expect_err("refused").contains("llr_mode dynamic"));
    let on = "HSET LLR_PORT|Ethernet0 llr_local enabled llr_remote enabled llr_profile theirs";
    assert_eq!(with(on, true), Ok(Effect::Starting));
    assert_eq!(with(on, false), Ok(Effect::Dormant));
    // What somebody changes after corruptd has switched it on is theirs.
    send(&server, "SELECT 4\nDEL LLR_PORT|Ethernet0");
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, true), Ok(Effect::Starting));
    send(&server, "SELECT 4\nHSET LLR_PORT|Ethernet0 llr_remote disabled");
    assert_eq!(llr.observe("Ethernet0"), Ok(Some(Effect::Dormant)));
    let theirs = entry(&server);
    assert!(
        apply(&mut llr, "Ethernet0", End::Sends, true).expect_err("refused").contains("somebody has set")
    );
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, false), Ok(Effect::Dormant));
    assert_eq!((entry(&server), hash(&server, STATE_DB, "LINKMEND_LLR")), (theirs, Fields::new()));
}

#[test]
fn a_profile_of_the_operators_is_used_and_their_entry_comes_back() {
    if !is_installed("a_profile_of_the_operators_is_used_and_their_entry_comes_back") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let named = SonicLlrSettings { profile: LlrProfile::Named("mine".to_owned()), ..switch(&server) };
    let mut llr = actuator(&named);
    let missing = apply(&mut llr, "Ethernet0", End::Sends, true).expect_err("refused");
    assert!(missing.contains("CONFIG_DB has no LLR_PROFILE|mine"), "{missing}");
    let mine =
        "SELECT 4\nHSET LLR_PROFILE|mine max_outstanding_frames 264 max_outstanding_bytes 135000 init_action";
    send(&server, &format!("{mine} block"));
    assert!(apply(&mut llr, "Ethernet0", End::Sends, true).expect_err("refused").contains("best_effort"));
    send(&server, &format!("{mine} best_effort"));
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, true), Ok(Effect::Starting));
    assert_eq!(entry(&server)["llr_profile"], "mine");
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, false), Ok(Effect::Dormant));
    assert!(!hash(&server, CONFIG_DB, "LLR_PROFILE|mine").is_empty());
    // A profile that they have given the port comes before that of the configuration, and stays with the port.
    send(
        &server,
        "SELECT 4\nHSET LLR_PROFILE|theirs max_outstanding_frames 61 max_outstanding_bytes 31184\nHSET LLR_PORT|Ethernet0 llr_profile theirs",
    );
    let before = entry(&server);
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, true), Ok(Effect::Starting));
    assert_eq!(entry(&server)["llr_profile"], "theirs");
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, false), Ok(Effect::Dormant));
    assert_eq!(entry(&server), before);
}

#[test]
fn only_ports_that_can_have_llr_are_switched_and_no_more_than_may_be() {
    if !is_installed("only_ports_that_can_have_llr_are_switched_and_no_more_than_may_be") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let mut llr = actuator(&SonicLlrSettings { ports_most: 1, ..switch(&server) });
    let before = contents(&server, CONFIG_DB);
    let mut refused = |port: &str| apply(&mut llr, port, End::Sends, true).expect_err("refused");
    assert!(refused("Ethernet-BP0").contains("inside of the switch"));
    assert!(refused("Ethernet4").contains("CONFIG_DB has no PORT|Ethernet4"));
    for not_capable in ["HSET SWITCH_CAPABILITY|switch LLR_CAPABLE false", "DEL SWITCH_CAPABILITY|switch"] {
        send(&server, &format!("SELECT 6\n{not_capable}"));
        assert!(refused("Ethernet0").contains("the switch has no LLR"));
    }
    send(&server, "SELECT 4\nHDEL CABLE_LENGTH|AZURE Ethernet0");
    send(
        &server,
        "SELECT 6\nHSET SWITCH_CAPABILITY|switch LLR_CAPABLE true LLR_SUPPORTED_PROFILE_ATTRIBUTES OUTSTANDING_BYTES_MAX,OUTSTANDING_FRAMES_MAX",
    );
    assert!(refused("Ethernet0").contains("CABLE_LENGTH"));
    send(&server, "SELECT 4\nHSET CABLE_LENGTH|AZURE Ethernet0 40m");
    assert_eq!(contents(&server, CONFIG_DB), before);
    assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, true), Ok(Effect::Starting));
    let error = apply(&mut llr, "Ethernet8", End::Sends, true).expect_err("refused");
    assert!(error.contains("at 1 ports, and may at 1 (llr-ports)"), "{error}");
}

#[test]
fn a_dry_run_sends_no_command_that_writes() {
    if !is_installed("a_dry_run_sends_no_command_that_writes") {
        return;
    }
    let server = Server::start(&[]);
    send(&server, TABLES);
    let databases = [0, 2, CONFIG_DB, STATE_DB];
    // Once where LLR is off, and once where a corruptd that was no dry run has switched it on.
    for already in [false, true] {
        if already {
            let done = apply(&mut actuator(&switch(&server)), "Ethernet0", End::Sends, true);
            assert_eq!(done, Ok(Effect::Starting));
        }
        let before = databases.map(|database| contents(&server, database));
        let monitor = Monitor::start(&server);
        let mut llr = actuator(&SonicLlrSettings { dry_run: true, ..switch(&server) });
        let on = if already { Effect::Starting } else { Effect::Rehearsed };
        let off = if already { Effect::Rehearsed } else { Effect::Dormant };
        assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, true), Ok(on));
        assert_eq!(apply(&mut llr, "Ethernet0", End::Receives, true), Ok(Effect::Rehearsed));
        assert_eq!(llr.observe("Ethernet0"), Ok(None));
        assert_eq!(apply(&mut llr, "Ethernet0", End::Sends, false), Ok(off));
        let sent = monitor.until(&server, "that-is-all");
        let reads = ["SELECT", "WATCH", "HGETALL", "HGET", "HMGET", "SCAN", "CLIENT", "GET", "HELLO"];
        assert!(sent.iter().any(|name| name == "HGETALL"), "{sent:?}");
        assert!(sent.iter().all(|name| reads.contains(&name.as_str())), "{sent:?}");
        assert_eq!(databases.map(|database| contents(&server, database)), before);
    }
    // A user who may only read is enough.
    send(&server, "ACL SETUSER reader on >word ~* -@all +@read +@connection +select +watch");
    let url = server.url().replace("redis://", "redis://reader:word@");
    let reader = SonicLlrSettings { switch: settings(&url), dry_run: true, ..switch(&server) };
    assert_eq!(apply(&mut actuator(&reader), "Ethernet8", End::Sends, true), Ok(Effect::Rehearsed));
    let writer = SonicLlrSettings { dry_run: false, ..reader };
    assert!(apply(&mut actuator(&writer), "Ethernet8", End::Sends, true).is_err());
}
