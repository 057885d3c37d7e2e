//! Links whose loops end, or stand still, beside one that does not.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::DaemonError;
use super::link_restarts::LinkRestarts;
use crate::command::{Command, CommandError};
use crate::config::{InnerPort, LinkConfig};
use crate::control::{Backend, Links, Loss};
use crate::engine::Request;
use crate::{ExitReason, LinkEndHandle, SavedProtection};
use linkmend_control::{DaemonHealth, LinkReport};
use nix::sys::eventfd::EventFd;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

fn links() -> Links {
    Links::new(Arc::new(DaemonHealth::new(|| 0)), SavedProtection::none())
}

fn config(name: &str) -> LinkConfig {
    LinkConfig { name: Some(name.to_owned()), ..LinkConfig::new(InnerPort::Existing("i".to_owned()), "l") }
}

fn add(links: &Links, name: &str, run: impl FnOnce(Receiver<Request>) -> ExitReason + Send + 'static) {
    let wake = Arc::new(EventFd::new().unwrap());
    links.add(&config(name), LinkEndHandle::spawn(name, wake, run).unwrap());
}

/// A loop that answers what it is asked, once it has slept for a while at its first request.
fn answer(requests: &Receiver<Request>, sleeps: Duration) -> ExitReason {
    let mut sleeps = Some(sleeps);
    loop {
        match requests.recv() {
            Ok(Request::Command { reply, .. }) => {
                sleeps.take().into_iter().for_each(std::thread::sleep);
                let _ = reply.try_send(Ok(Box::new(LinkReport::default())));
            }
            Ok(Request::Stop) | Err(_) => return ExitReason::Stopped,
            Ok(_) => {}
        }
    }
}

fn answers(links: &Links, link: &str) -> bool {
    links.command(link, Command::Report).is_some_and(|answer| answer.is_ok())
}

/// All that changes until there is something.
fn wait_for_loss(links: &Links) -> Vec<Loss> {
    let begun = Instant::now();
    loop {
        let lost = links.check();
        if !lost.is_empty() {
            return lost;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing happens");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_loop_that_panics_or_ends_is_said_once_and_starts_again_while_the_others_go_on() {
    let links = links();
    add(&links, "good", |requests| answer(&requests, Duration::ZERO));
    let fails = [
        ("panics", None, "it panicked"),
        ("ends", Some(ExitReason::Stopped), "it ended on its own"),
        ("is-back", Some(ExitReason::InterfaceBack), "an interface is back"),
    ];
    for (link, end, why) in fails {
        add(&links, link, move |_| end.expect("as the test wants"));
        assert_eq!(wait_for_loss(&links), [Loss::Loop { link: link.to_owned(), why }]);
        assert_eq!(links.check(), [], "said once");
        let status = links.command(link, Command::Report).unwrap().unwrap();
        assert!(status.gone.is_some_and(|gone| gone.contains(why)), "{link}");
        assert!(answers(&links, "good"));
    }
    // All of them start again, one of them to end once more.
    let (mut restarts, mut started) = (LinkRestarts::default(), Vec::new());
    let configs = ["good", "panics", "ends", "is-back"].map(config);
    let mut start_again = || {
        restarts.start_again(
            &configs,
            &links,
            |_| Ok(()),
            |_| Vec::new(),
            |config| {
                let name = config.name().to_owned();
                started.push((name.clone(), Instant::now()));
                let panics = name == "panics" && started.iter().filter(|(at, _)| *at == name).count() < 3;
                add(&links, &name, move |requests| {
                    assert!(!panics, "as the test wants");
                    answer(&requests, Duration::ZERO)
                });
                Ok(())
            },
        );
        links.check();
        // A loop that is about to panic counts as running, and does not answer.
        links.out_of_operation().is_empty() && configs.iter().all(|config| answers(&links, config.name()))
    };
    let begun = Instant::now();
    while !start_again() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", links.out_of_operation());
        std::thread::sleep(Duration::from_millis(10));
    }
    let times = |link: &str| -> Vec<Instant> {
        started.iter().filter(|(name, _)| name == link).map(|(_, at)| *at).collect()
    };
    assert_eq!(["good", "ends", "is-back"].map(|link| times(link).len()), [0, 1, 1]);
    let panics = times("panics");
    assert_eq!(panics.len(), 3);
    let waits = [panics[1] - panics[0], panics[2] - panics[1]];
    assert!(waits[0] >= Duration::from_secs(1) && waits[1] >= Duration::from_secs(2), "{waits:?}");
    assert!(links.any_runs());
}

/// A regression: an interface that had gone several times in a row was taken again up to 27 s after it was back, and until then
/// `status` said that it was missing.
#[test]
fn a_link_is_tried_again_soon_once_its_interfaces_have_changed_and_says_why_it_was_not_started() {
    let links = links();
    add(&links, "link", |_| ExitReason::Stopped);
    wait_for_loss(&links);
    let configs = [config("link")];
    let (mut restarts, index, started) = (LinkRestarts::default(), Cell::new(1), RefCell::new(Vec::new()));
    let try_again = |restarts: &mut LinkRestarts| {
        restarts.start_again(
            &configs,
            &links,
            |_| Ok(()),
            |_| vec![Some((index.get(), 1500, true))],
            |_| {
                started.borrow_mut().push(Instant::now());
                Err(DaemonError::NoLink { links: vec![("link".to_owned(), "as the test wants".to_owned())] })
            },
        );
    };
    while started.borrow().len() < 4 {
        // The third wait would be 4 s.
        index.set(if started.borrow().len() < 3 { 1 } else { 2 });
        try_again(&mut restarts);
        std::thread::sleep(Duration::from_millis(10));
    }
    let started = started.into_inner();
    let waits: Vec<u64> = started.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(waits, [1, 2, 1], "{waits:?}");
    let status = links.command("link", Command::Report).unwrap().unwrap().gone.unwrap();
    assert!(status.contains("as the test wants; the next attempt follows within "), "{status}");
}

#[test]
fn a_loop_that_does_not_answer_is_said_once_and_ends_no_other() {
    let links = links();
    add(&links, "good", |requests| answer(&requests, Duration::ZERO));
    add(&links, "slow", |requests| answer(&requests, Duration::from_secs(4)));
    let slow = || "slow".to_owned();
    assert_eq!(wait_for_loss(&links), [Loss::Silent { link: slow() }]);
    let asked = Instant::now();
    assert_eq!(links.check(), [], "said once");
    assert!(asked.elapsed() < Duration::from_secs(1), "and not waited for: {:?}", asked.elapsed());
    assert!(answers(&links, "good"));
    assert_eq!(wait_for_loss(&links), [Loss::Answers { link: slow() }]);
    assert!(answers(&links, "slow"));
}

/// Only then does a restart by the watchdog help more than it harms.
#[test]
fn a_daemon_is_stuck_if_none_of_its_loops_answers() {
    let links = links();
    assert!(links.any_answers(), "there is none that could");
    add(&links, "slow", |requests| answer(&requests, Duration::from_secs(4)));
    assert!(links.any_answers(), "it has not been asked");
    assert_eq!(wait_for_loss(&links), [Loss::Silent { link: "slow".to_owned() }]);
    assert!(!links.any_answers());
    add(&links, "good", |requests| answer(&requests, Duration::ZERO));
    links.check();
    assert!(links.any_answers(), "a restart would interrupt it");
}

#[test]
fn a_daemon_goes_on_while_a_link_can_be_started_again() {
    let links = links();
    add(&links, "panics", |_| panic!("as the test wants"));
    wait_for_loss(&links);
    assert!(links.any_runs(), "its interfaces are there");
    let interface = || "i".to_owned();
    add(&links, "panics", move |_| ExitReason::InterfaceGone { interface: interface() });
    assert!(matches!(wait_for_loss(&links)[..], [Loss::Interface { .. }]));
    assert!(!links.any_runs(), "nothing can be done");
    let refused = links.command("panics", Command::Unprotect);
    assert!(matches!(refused, Some(Err(CommandError::Gone { .. }))));
}
