//! Ports that the machine itself uses are refused before they are touched, and given back. Needs root, iproute2 and
//! ping.

mod daemon_lab;

use daemon_lab::{Lab, ip, outcome};

/// A lab whose left namespace has a port `i0` besides, to a host in the right one that has an address.
fn lab(test: &str) -> Option<Lab> {
    let lab = Lab::new(test)?;
    let (left, right) = (&lab.left, &lab.right);
    assert!(ip(&format!("link add i0 netns {left} type veth peer name i0 netns {right}")));
    for namespace in [left, right] {
        assert!(ip(&format!("-n {namespace} link set i0 up")));
    }
    assert!(ip(&format!("-n {right} addr add 10.1.0.2/24 dev i0")));
    Some(lab)
}

/// What a start says that is refused, which leaves the program off the ports.
fn refusal(lab: &Lab, more: &str, environment: &[(&str, &str)]) -> String {
    let control = lab.socket("left");
    let arguments = format!("run --inner i0 --link l0 --control {} {more}", control.display());
    let mut command = lab.linkmend(&lab.left, &arguments);
    let (code, _, said) = outcome(command.envs(environment.iter().copied()).output().expect("it starts"));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("is in use") && said.contains("--use-port-in-use"), "{said}");
    assert!(!said.contains("ports are open"), "{said}");
    let (_, detached, _) = lab.ask("detach i0 l0");
    assert_eq!(detached.matches("there was no Linkmend bypass").count(), 2, "{detached}");
    said
}

#[test]
fn ports_that_the_machine_uses_are_refused_by_what_they_are_used_for() {
    let Some(lab) = lab("inuse") else { return };
    let (left, right) = (&lab.left, &lab.right);
    let set = |arguments: &str| assert!(ip(&format!("-n {left} {arguments}")), "{arguments}");
    // A login from a host beyond the port, to which only a route leads.
    set("route add 10.2.0.0/16 dev i0");
    let session = [("SSH_CONNECTION", "10.2.0.9 50222 10.1.0.1 22")];
    let said = refusal(&lab, "", &session);
    assert!(said.contains("`i0` is in use: it carries the login from 10.2.0.9"), "{said}");
    set("route add default dev i0");
    let said = refusal(&lab, "", &[]);
    assert!(said.contains("`i0` is in use: it carries the default route"), "{said}");
    set("route del default");
    set("addr add 10.1.0.1/24 dev i0");
    set("addr add 2001:db8::1/64 dev i0 nodad");
    let said = refusal(&lab, "", &[]);
    assert!(said.contains("has the address 10.1.0.1/24, has the address 2001:db8::1/64"), "{said}");
    set("addr flush dev i0 scope global");
    // A VLAN is told in the same way, but not every kernel has them.
    set("link add link l0 name l0.5 type macvlan mode bridge");
    set("link set l0.5 up");
    set("addr add 10.3.0.1/24 dev l0.5");
    let said = refusal(&lab, "", &[]);
    assert!(said.contains("`l0` is in use: it carries `l0.5`, which has the address 10.3.0.1/24"), "{said}");
    set("link del l0.5");
    set("link add br0 type bridge");
    set("link set l0 master br0");
    let said = refusal(&lab, "", &[]);
    assert!(said.contains("`l0` is in use: it belongs to `br0`"), "{said}");
    set("link set l0 nomaster");
    assert!(ip(&format!("link add b0 mtu 1508 netns {left} type veth peer name b0 netns {right}")));
    set("link set b0 up");
    set("addr add 10.4.0.1/24 dev b0");
    let said = refusal(&lab, "--backup b0", &[]);
    assert!(said.contains("`b0` is in use: it has the address 10.4.0.1/24"), "{said}");
}

#[test]
fn a_port_in_use_may_be_taken_and_is_given_back() {
    let Some(mut lab) = lab("given") else { return };
    let left = lab.left.clone();
    assert!(ip(&format!("-n {left} addr add 10.1.0.1/24 dev i0")));
    let reaches = || ip(&format!("netns exec {left} ping -c 2 -i 0.2 -W 1 10.1.0.2"));
    assert!(reaches());
    let daemon = lab.start_between(&left, "left", "i0 --use-port-in-use");
    lab.wait_for_log("left", "ports are open");
    let log = lab.read_log("left");
    assert!(
        log.contains("`i0` is in use: it has the address 10.1.0.1/24; the port is taken over anyway"),
        "{log}"
    );
    assert!(!reaches(), "it carries other hosts' frames");
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    let log = lab.read_log("left");
    assert!(log.contains("`linkmend detach i0 l0` ends this and releases them"), "{log}");
    // What earlier starts took, as those of a version that did not ask, another start takes from nobody.
    let daemon = lab.start_between(&left, "left", "i0");
    lab.wait_for_log(
        "left",
        "`i0` is in use: it has the address 10.1.0.1/24; the bypass is already attached to it",
    );
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    assert_eq!(lab.ask("detach i0 l0").0, 0);
    assert!(reaches(), "{log}");
    let daemon = lab.start_between(&left, "left", "i0 --use-port-in-use --detach-on-stop");
    lab.wait_for_log("left", "ports are open");
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    let log = lab.read_log("left");
    assert!(log.contains("nothing forwards between the ports, and they are released"), "{log}");
    assert!(reaches(), "{log}");
}
