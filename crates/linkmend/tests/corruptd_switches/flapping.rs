//! A link that flaps while it corrupts, so that its port cannot be judged, and one behind it that passes on what it corrupts.

use super::pod::{Layout, Pod};
use super::switches::{is_installed, write_program};
use std::path::Path;
use std::sync::atomic::Ordering;

/// leaf2 sends to sp0, which is cut-through, and that to leaf1.
const LAYOUT: Layout = Layout {
    network: "default_speed: 100G\nswitches:\n  - {name: leaf1, layer: 0, pod: a}\n  - {name: leaf2, layer: 0, pod: a}\n  \
        - {name: sp0, layer: 1}\n  - {name: sp1, layer: 1}\nlinks:\n  \
        - {from: leaf1, to: sp0, from_port: Ethernet0, to_port: Ethernet0}\n  \
        - {from: leaf2, to: sp0, from_port: Ethernet0, to_port: Ethernet4}\n  \
        - {from: leaf1, to: sp1, from_port: Ethernet4, to_port: Ethernet0}\n  \
        - {from: leaf2, to: sp1, from_port: Ethernet4, to_port: Ethernet4}\n",
    switches: &[
        ("leaf1", &["Ethernet0", "Ethernet4"]),
        ("leaf2", &["Ethernet0", "Ethernet4"]),
        ("sp0", &["Ethernet0", "Ethernet4"]),
        ("sp1", &["Ethernet0", "Ethernet4"]),
    ],
    more: plan,
};

/// leaf1 plans for all.
fn plan(folder: &Path, switch: &str) -> String {
    let hook = folder.join("disable");
    if switch != "leaf1" {
        return String::new();
    }
    let text = format!("#!/bin/sh\necho $LINKMEND_ACTION $LINKMEND_LINK >> {}/disabled\n", folder.display());
    write_program(&hook, &text);
    let (folder, hook) = (folder.display(), hook.display());
    format!(
        "[plan]\ntopology = \"{folder}/network.yaml\"\nconstraint = \"40%\"\ndisable-hook = \"{hook}\"\n\
         disable-after = \"2s\"\ndisables-per-hour = 10\nstate = \"{folder}/plan.json\"\n"
    )
}

#[test]
fn nothing_is_disabled_for_what_a_link_corrupts_that_flaps() {
    if !is_installed() {
        return;
    }
    let pod = Pod::start(LAYOUT);
    let disabled = || std::fs::read_to_string(pod.path("disabled")).unwrap_or_default();
    pod.flap(&[("sp0", "Ethernet4")]);
    pod.corrupt(&[(("sp0", "Ethernet4"), 1_000), (("leaf1", "Ethernet0"), 1_000)]);
    let reasons = || {
        let plan = pod.status("leaf1").and_then(|status| status.plan).unwrap_or_default();
        plan.held.into_iter().map(|link| link.reason).collect::<Vec<String>>()
    };
    pod.wait_until("saying why nothing is disabled", || {
        let says = "its corrupted frames may come from leaf2:Ethernet0--sp0:Ethernet4";
        reasons().iter().any(|reason| reason.starts_with(says))
    });
    // All other ports have been judged, and a confirmation would be over, several times.
    let counted = pod.counted.load(Ordering::Relaxed);
    pod.wait_until("counting", || pod.counted.load(Ordering::Relaxed) > counted + 60);
    assert_eq!((disabled().as_str(), reasons().len()), ("", 1), "{:?}", reasons());

    // Its carrier is stable now: it is found, and the other one is its victim.
    pod.flap(&[]);
    pod.wait_until("disabling the source", || !disabled().is_empty());
    let counted = pod.counted.load(Ordering::Relaxed);
    pod.wait_until("counting", || pod.counted.load(Ordering::Relaxed) > counted + 20);
    assert_eq!(disabled(), "disable leaf2:Ethernet0--sp0:Ethernet4\n");
}
