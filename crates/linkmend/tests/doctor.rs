//! `linkmend doctor` in a laboratory: ports that can be used, and a host's interface, which cannot.

use linkmend_lab::{Lab, LabOptions, Role};
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn doctor(lab: &Lab, role: Role, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
    command.arg("doctor").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    lab.spawn(role, command).expect("it starts").wait_with_output().expect("it ends")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Whether something about the interface is reported.
fn problem(report: &serde_json::Value, interface: &str, words: &str) -> bool {
    let findings = report["findings"].as_array().expect("a list");
    findings.iter().any(|finding| {
        finding["interface"] == interface
            && finding["problem"].as_str().is_some_and(|text| text.contains(words))
    })
}

#[test]
fn ports_pass_and_an_interface_in_use_is_refused_with_a_way_out() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: linkmend doctor needs root for network namespaces: sudo -E make test ########\n"
        );
        return;
    }
    let prefix = format!("tdoctor{}", std::process::id());
    let lab = Lab::up(LabOptions { prefix, remove_on_drop: true, ..LabOptions::default() }).expect("a lab");
    let output = doctor(&lab, Role::End1, &["inner", "link", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    let [inner, link] = [0, 1].map(|place| &report["interfaces"][place]);
    assert_eq!((&inner["name"], &inner["driver"]), (&"inner".into(), &"veth".into()));
    assert_eq!((&link["up"], &link["carrier"], &link["bypass"]), (&true.into(), &true.into(), &false.into()));
    assert_eq!(report["machine"]["af_xdp"], true);

    // The kernel's limit for a veth (ETH_MAX_MTU).
    assert_eq!((&link["mtu_max"], &link["queueing_discipline"]), (&65_535.into(), &"pfifo".into()));
    let wake_ups = &report["machine"]["wake_ups"];
    assert_eq!(wake_ups["real_time"], true);
    assert!(wake_ups["late_p99_ns"].as_u64() <= wake_ups["late_max_ns"].as_u64(), "{wake_ups}");
    assert!(wake_ups["count"].as_u64().is_some_and(|count| count > 10), "{wake_ups}");
    assert!(!problem(&report, "link", "queueing discipline"));

    let mut command = Command::new("tc");
    command.args("qdisc replace dev link root tbf rate 1gbit burst 64k latency 50ms".split(' '));
    let tc = lab.spawn(Role::End1, command).expect("it starts").wait().expect("it ends");
    assert!(tc.success());
    let report = json(&doctor(&lab, Role::End1, &["link", "--json"]));
    assert!(problem(&report, "link", "queueing discipline tbf"), "{report:#}");

    let output = doctor(&lab, Role::Host1, &["eth0", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    let findings = report["findings"].as_array().expect("a list");
    let error = findings.iter().find(|finding| finding["severity"] == "error").expect("it is in use");
    assert!(error["problem"].as_str().is_some_and(|text| text.contains("has the address")), "{error}");
    assert!(
        error["remedy"].as_str().is_some_and(|text| text.contains("ip address flush dev eth0")),
        "{error}"
    );

    // Without names, nothing is a problem.
    let output = doctor(&lab, Role::Host1, &[]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("name the ports of a planned link"));
}
