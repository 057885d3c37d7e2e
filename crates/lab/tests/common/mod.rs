//! What the privileged tests share: a laboratory, or a message that there is none.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::Write;

use linkmend_lab::topology::{Lab, LabOptions};

/// Options with a prefix that no other test, in this process or another, uses.
pub fn options(name: &str) -> LabOptions {
    LabOptions {
        prefix: format!("t{}-{name}", std::process::id()),
        remove_on_drop: true,
        ..LabOptions::default()
    }
}

/// Whether laboratories can be built here. If not, a message says so.
pub fn privileged(test: &str) -> bool {
    let root = linkmend_lab::unprivileged::has_capabilities();
    if !root {
        // Written directly, because the test harness swallows what passing tests print.
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: {test} needs root for network namespaces: sudo -E make test ########\n"
        );
    }
    root
}

/// A laboratory whose link ends are bridges. It is removed when dropped, even by a failing test.
pub fn bridged(test: &str, name: &str) -> Option<Lab> {
    if !privileged(test) {
        return None;
    }
    let lab = Lab::up(options(name)).expect("the lab comes up");
    lab.bridge().expect("the kernel has bridges");
    Some(lab)
}
