//! The guard over rounds of planning.

use super::*;
use crate::findings::{Counted, Finding, PortFinding};
use crate::planning::links::tests::directions;

pub(super) fn verdict(leaf: u8, spine: u8) -> Verdict {
    let ports = [format!("leaf{leaf}/eth{spine}"), format!("spine{spine}/eth{leaf}")];
    let ports = ports.map(|port| port.parse().expect("a port"));
    Verdict { link: format!("{leaf}--{spine}"), ports, loss_rate: 1e-2, why: "a test".to_owned() }
}

pub(super) fn guard() -> Guard {
    Guard::new(GuardSettings::default(), GuardMemory::default(), 1_000)
}

/// The same after a restart.
fn restarted(guard: Guard, now_s: u64) -> Guard {
    let text = serde_json::to_string(guard.memory()).expect("JSON");
    Guard::new(guard.settings, serde_json::from_str(&text).expect("as written"), now_s)
}

/// What is known at a time of links that counted their latest corrupted frame at another one.
fn counted(at_s: u64, corrupted_at_s: u64, links: &[Verdict]) -> Known {
    // A million frames a second, of which one in a hundred is corrupted.
    let counted = Counted {
        frames: at_s * 1_000_000,
        corrupted: corrupted_at_s * 10_000,
        corrupted_polls: corrupted_at_s,
    };
    let of = PortFinding {
        calm_s: at_s.saturating_sub(corrupted_at_s),
        counted: Some(counted),
        ..PortFinding::new(Finding::Corrupting, None)
    };
    let findings = links.iter().map(|link| (link.ports[0].clone(), of.clone())).collect();
    Known { at_s, heard_at_s: at_s, findings, ..Known::default() }
}

/// Has links wanted, which corrupt all the time, in round after round.
fn want(guard: &mut Guard, rounds: std::ops::RangeInclusive<u64>, links: &[Verdict]) {
    for at_s in rounds.clone().step_by(10).chain([*rounds.end()]) {
        guard.want(at_s, links, &counted(at_s, at_s, links));
    }
}

#[test]
fn what_the_plan_wants_for_a_moment_is_not_disabled() {
    let (mut guard, link) = (guard(), [verdict(1, 1)]);
    let ports = &link[0].ports;
    want(&mut guard, 1_000..=1_000, &link);
    assert_eq!(guard.hold(1_000, ports), Some(Hold::Unconfirmed { left_s: 300 }));
    assert_eq!(guard.next_timeout(1_000), Some(1_300));
    want(&mut guard, 1_000..=1_298, &link);
    want(&mut guard, 1_299..=1_299, &[]);
    want(&mut guard, 1_300..=1_300, &link);
    assert_eq!(guard.hold(1_300, ports), Some(Hold::Unconfirmed { left_s: 300 }));
    want(&mut guard, 1_300..=1_600, &link);
    assert_eq!(guard.hold(1_600, ports), None);
}

/// Its source was repaired, and what it counted is found for much longer, because it carries hardly anything.
#[test]
fn only_frames_that_were_counted_without_another_source_speak_against_a_link() {
    let (mut guard, link) = (guard(), [verdict(1, 1)]);
    for at_s in (1_000..=2_000).step_by(10) {
        guard.want(at_s, &link, &counted(at_s, 990, &link));
    }
    assert_eq!(guard.hold(2_000, &link[0].ports), Some(Hold::NoNewFrames));
    assert_eq!(guard.next_timeout(2_000), None);
    // It corrupts by itself after all.
    guard.want(2_005, &link, &counted(2_005, 2_004, &link));
    guard.want(2_010, &link, &counted(2_010, 2_009, &link));
    assert_eq!(guard.hold(2_010, &link[0].ports), None);
}

/// The program or the machine was stalled, so nothing was observed meanwhile.
#[test]
fn a_pause_confirms_nothing() {
    let (mut guard, link) = (guard(), [verdict(1, 1)]);
    let ports = &link[0].ports;
    want(&mut guard, 1_000..=1_290, &link);
    // What was known before it is not looked at as if it were of now.
    assert!(matches!(guard.hold(1_315, ports), Some(Hold::Unconfirmed { .. })));
    guard.want(1_315, &link, &counted(1_290, 1_290, &link));
    assert!(matches!(guard.hold(1_315, ports), Some(Hold::Unconfirmed { .. })));
    want(&mut guard, 1_315..=1_614, &link);
    assert_eq!(guard.hold(1_614, ports), Some(Hold::Unconfirmed { left_s: 1 }));
    want(&mut guard, 1_615..=1_615, &link);
    assert_eq!(guard.hold(1_615, ports), None);
}

/// Its agent has ended as its link began to corrupt, and said before that it is healthy.
#[test]
fn what_a_silent_agent_said_before_rules_no_source_out() {
    let (mut guard, link) = (guard(), [verdict(1, 1)]);
    guard.settings.confirmation = Duration::from_secs(5);
    for at_s in (1_000..=1_018).step_by(2) {
        guard.want(at_s, &link, &Known { heard_at_s: 999, ..counted(at_s, at_s, &link) });
    }
    assert_eq!(guard.hold(1_018, &link[0].ports), Some(Hold::Unheard));
    guard.want(1_020, &link, &counted(1_020, 1_020, &link));
    assert_eq!(guard.hold(1_020, &link[0].ports), None);
}

#[test]
fn limits_hold_for_the_network_and_each_switch_and_a_restart_does_not_evade_them() {
    let mut guard = guard();
    let all = [verdict(1, 1), verdict(1, 2), verdict(1, 3), verdict(2, 3)];
    want(&mut guard, 1_000..=2_000, &all);
    for link in &all[..2] {
        assert_eq!(guard.hold(2_000, &link.ports), None);
        guard.disabled(2_000, link.clone());
    }
    for (restart, now) in [(false, 2_000), (true, 2_000), (true, 5_000)] {
        if restart {
            guard = restarted(guard, now);
            want(&mut guard, now - 1_000..=now, &all[2..]);
        }
        let of_switch = Hold::PerSwitch { limit: 2, switch: "leaf1".to_owned() };
        assert_eq!(guard.hold(now, &all[2].ports), Some(of_switch));
        let left_s = 5_600 - now;
        assert_eq!(guard.hold(now, &all[3].ports), Some(Hold::PerHour { limit: 2, left_s }));
    }
    // A link that has come back counts in its hour all the same.
    guard.returned(&all[0].ports);
    assert!(matches!(guard.hold(5_000, &all[3].ports), Some(Hold::PerHour { .. })));
    want(&mut guard, 5_000..=5_600, &all[2..]);
    assert_eq!((guard.hold(5_600, &all[3].ports), guard.hold(5_600, &all[2].ports)), (None, None));
    // A clock that was set back does not keep links disabled for longer.
    let guard = restarted(guard, 100);
    assert_eq!(guard.trial_at(&guard.memory().links[0]), Some(100 + 3_600));
}

fn known(directions: &Directions) -> Known {
    Known { directions: directions.clone(), ..Known::default() }
}

/// Its command did nothing, and the port was never down.
#[test]
fn a_trial_fails_while_its_link_corrupts_as_before() {
    let (mut guard, link) = (guard(), verdict(1, 1));
    let corrupting = directions(&[("leaf1/eth1", Some("spine1/eth1"), 1e-2)]);
    guard.disabled(10_000, link.clone());
    guard.begin_trial(13_600, &link.ports, &corrupting);
    let found = |at_s, calm_s| {
        let of = PortFinding { calm_s, ..PortFinding::new(Finding::Corrupting, None) };
        let findings = BTreeMap::from([(link.ports[0].clone(), of)]);
        Known { at_s, heard_at_s: at_s, findings, directions: corrupting.clone() }
    };
    assert_eq!(guard.failed_trials(13_620, &found(13_620, 20)), [], "it has not corrupted since");
    assert_eq!(guard.failed_trials(13_620, &found(13_620, 19)), [(link.clone(), "it still corrupts frames")]);
}

#[test]
fn a_disabled_link_is_tried_at_growing_intervals_until_it_is_healthy() {
    let (mut guard, link) = (guard(), verdict(1, 1));
    let corrupting = directions(&[("leaf1/eth1", Some("spine1/eth1"), 1e-2)]);
    guard.disabled(10_000, link.clone());
    let mut now = 10_000;
    for hours in [1, 2, 4, 8, 16, 24, 24] {
        assert_eq!(guard.due(now + hours * 3_600 - 1, &corrupting), []);
        now += hours * 3_600;
        guard = restarted(guard, now);
        assert_eq!(guard.due(now, &Directions::new()), [], "nobody would see what comes of it");
        assert_eq!(guard.due(now, &corrupting), std::slice::from_ref(&link));
        guard.begin_trial(now, &link.ports, &corrupting);
        assert_eq!(
            (guard.due(now, &corrupting), guard.failed_trials(now, &known(&corrupting))),
            (vec![], vec![])
        );
        // The first time it is found once more, and later on it is never found healthy.
        let mut anew = corrupting.clone();
        anew.values_mut()
            .for_each(|state| state.request.iter_mut().for_each(|request| request.generation += 1));
        assert_eq!(
            guard.failed_trials(now + 60, &known(&anew)),
            [(link.clone(), "it still corrupts frames")]
        );
        assert_eq!(guard.next_timeout(now), Some(now + 3 * 3_600));
        assert_eq!(guard.failed_trials(now + 3 * 3_600, &known(&corrupting)).len(), 1);
        guard.end_trial(now, &link.ports);
    }
    guard.returned(&link.ports);
    assert_eq!(guard.next_timeout(now), None);
}
