//! `linkmend capture` with real daemons, in network namespaces of its own. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Lab, ip, outcome};
use std::process::Stdio;
use std::time::Duration;

/// Two ends with addresses 10.99.0.1 and 10.99.0.2; protected unless `more` says otherwise.
fn lab(test: &str, more: &str) -> Option<Lab> {
    let mut lab = Lab::new(test)?;
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for (namespace, name, address) in [(&left, "left", 1), (&right, "right", 2)] {
        lab.start(namespace, name, more);
        assert!(ip(&format!("-n {namespace} addr add 10.99.0.{address}/24 dev host")));
    }
    Some(lab)
}

fn capture(lab: &Lab, arguments: &str) -> String {
    format!("capture left --control {} {arguments}", lab.socket("left").display())
}

/// Runs a capture during some seconds of pings.
fn beside_pings(lab: &Lab, arguments: &str) -> (i32, String, String) {
    std::thread::scope(|scope| {
        let pings = scope.spawn(|| lab.ping(600));
        let answer = lab.ask(&capture(lab, arguments));
        pings.join().expect("no panic").unwrap_or_else(|said| panic!("{said}"));
        answer
    })
}

#[test]
fn a_capture_shows_frames_on_both_ports_in_protocol_terms() {
    let Some(lab) = lab("capture", "") else { return };
    for name in ["left", "right"] {
        lab.wait_for_log(name, "protection is active");
    }
    let (code, out, err) = beside_pings(&lab, "--count 40 icmp and host 10.99.0.2");
    assert_eq!((code, out.lines().count()), (0, 40), "{err}");
    assert!(err.ends_with("40 frames captured, 0 dropped because the buffer was full\n"), "{err}");
    for part in [
        " inner in  IPv4 10.99.0.1 > 10.99.0.2 ICMP, 98 bytes",
        " link  out data ordered ",
        " link  in  data ordered ",
        " inner out IPv4 10.99.0.2 > 10.99.0.1 ICMP, 98 bytes",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    // The same frame on the link is longer by its header.
    assert!(out.lines().any(|line| line.contains(" link  out ") && !line.ends_with(" 98 bytes")), "{out}");
    let (code, out, err) = beside_pings(&lab, "--port link --class control --count 20");
    assert_eq!((code, out.lines().count()), (0, 20), "{err}");
    assert!(out.contains("ACK ") && out.lines().all(|line| line.contains(" of session ")), "{out}");
}

#[test]
fn a_capture_is_written_as_a_file_and_ends_by_itself_or_by_ctrl_c() {
    let Some(lab) = lab("capture-file", "") else { return };
    lab.wait_for_log("left", "protection is active");
    let file = lab.folder.path().join("left.pcapng");
    let (code, out, err) = beside_pings(&lab, &format!("--write {} --seconds 1", file.display()));
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let bytes = std::fs::read(&file).expect("it is written");
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section of pcapng");
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("data ordered ") && text.contains(" of session "), "comments");

    let mut command = lab.linkmend(&lab.left, &capture(&lab, "--write -"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(700));
    let id = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-INT", &id]).status().is_ok_and(|status| status.success())
    );
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with(" frames captured, 0 dropped because the buffer was full\n"), "{said}");
}

#[test]
fn a_capture_of_a_dormant_link_says_that_the_kernel_forwards() {
    let Some(lab) = lab("capture-dormant", "--mode off") else { return };
    let (code, _, err) = lab.ask(&capture(&lab, "--seconds 0.5"));
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("left is dormant: the kernel forwards") && err.contains("--ports packet"), "{err}");
}

#[test]
fn a_capture_for_programs_has_an_object_for_each_frame() {
    let Some(lab) = lab("capture-json", "") else { return };
    for name in ["left", "right"] {
        lab.wait_for_log(name, "protection is active");
    }
    let (code, out, err) = beside_pings(&lab, "--json --count 40 icmp and host 10.99.0.2");
    let frames: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!((code, frames.len()), (0, 40), "{err}");
    let on_link = frames.iter().find(|frame| frame["port"] == "link" && frame["direction"] == "out");
    let frame = on_link.expect("a frame on the link");
    assert_eq!((&frame["classes"][0], &frame["protocol"]), (&"data".into(), &1.into()), "{frame}");
    assert!(frame["linkmend"].as_str().expect("a header").starts_with("data ordered "), "{frame}");
    assert_eq!((&frame["source"], &frame["ethertype"]), (&"10.99.0.1".into(), &0x0800.into()), "{frame}");
    assert!(frames.iter().any(|frame| frame["port"] == "inner" && frame["linkmend"].is_null()));
}

#[test]
fn a_capture_file_that_cannot_be_written_is_named_with_what_helps() {
    let Some(lab) = lab("capture-unwritable", "--mode off") else { return };
    let (code, _, err) = lab.ask(&capture(&lab, "--write /nowhere/x.pcapng"));
    assert_eq!(code, 2, "{err}");
    assert!(err.starts_with("error: cannot write /nowhere/x.pcapng\n"), "{err}");
    assert!(err.ends_with("hint: create its directory with `mkdir -p /nowhere`\n"), "{err}");
    let (code, _, err) = lab.ask(&capture(&lab, "--write /dev/full --seconds 5"));
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("error: cannot write /dev/full\n  caused by: No space left on device"), "{err}");
    assert!(err.contains("hint: free some space there"), "{err}");
}

#[test]
fn an_invalid_filter_is_refused_before_a_daemon_is_asked() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_linkmend"));
    let (code, out, err) =
        outcome(command.args(["capture", "up", "tcp", "prot", "80"]).output().expect("it starts"));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.starts_with("error: filter `tcp prot 80`: `prot` (word 2) is not understood, expected "),
        "{err}"
    );
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_linkmend"));
    let (code, _, err) =
        outcome(command.args(["capture", "up", "--seconds=-1"]).output().expect("it starts"));
    assert_eq!((code, err.as_str()), (2, "error: --seconds -1: must be a number of seconds, at least 0\n"));
}
