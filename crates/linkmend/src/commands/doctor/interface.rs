//! What an interface is, and what is in the way of using it as a port.

use super::Finding;
use super::Severity::{self, Error, Note, Warning};
use linkmend_dataplane::PortError;
use linkmend_dataplane::bypass::carries_bypass;
use linkmend_dataplane::port::QUEUES_MAX;
use linkmend_linux::interface_use::InterfaceUse;
use linkmend_linux::login::Login;
use linkmend_linux::xdp_features::xdp_features;
use linkmend_linux::{ethtool, interface_use, route};
use serde::Serialize;

/// What a link port needs for frames of 1500 bytes with a header.
const LINK_MTU: u32 = 1500 + HEADER_BYTES;
/// The longest header of a link without a key.
const HEADER_BYTES: u32 = 8;
/// Queueing disciplines that neither delay, drop nor shape: what an interface has by itself, and what systems set by default.
const USUAL_DISCIPLINES: [&str; 9] =
    ["", "noop", "noqueue", "mq", "fq", "fq_codel", "pfifo_fast", "pfifo", "bfifo"];

/// What was found out about one.
#[derive(Debug, Serialize)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) driver: String,
    pub(super) up: bool,
    pub(super) carrier: bool,
    pub(super) mtu: u32,
    /// The largest MTU that the driver takes; `None` if it sets no limit.
    pub(super) mtu_max: Option<u32>,
    /// How frames queue that the kernel sends.
    pub(super) queueing_discipline: String,
    /// Mb/s; `None` if the driver does not say.
    pub(super) speed: Option<u32>,
    pub(super) receive_queues: u32,
    /// Whether the driver says that it runs XDP programs and redirects frames between interfaces; `None` if the kernel does
    /// not know.
    pub(super) native_xdp: Option<bool>,
    /// Whether the driver says that AF_XDP sockets need no copy.
    pub(super) zero_copy: Option<bool>,
    /// Whether Linkmend's bypass is on it.
    pub(super) bypass: bool,
    /// What this machine uses it for.
    pub(super) uses: Vec<String>,
}

/// Examines an interface, and adds what to change.
///
/// # Errors
/// [`PortError::UnknownInterface`], or what the kernel says.
pub(super) fn examine(
    name: &str,
    login: Option<&Login>,
    findings: &mut Vec<Finding>,
) -> Result<Interface, PortError> {
    let system = |step| move |source| PortError::System { interface: name.to_owned(), step, source };
    let facts = route::interface(name)
        .map_err(system("looking the interface up"))?
        .ok_or_else(|| PortError::UnknownInterface { interface: name.to_owned() })?;
    let uses = interface_use::of(name, login).map_err(system("finding out what it is used for"))?;
    let interface = describe(name, &facts, &uses);
    let mut found = |severity: Severity, problem: String, remedy: String| {
        findings.push(Finding { severity, interface: Some(name.to_owned()), problem, remedy });
    };
    if !facts.ethernet {
        let remedy = "choose one that `ip link` shows as link/ether".to_owned();
        found(Error, "is not an Ethernet interface".to_owned(), remedy);
        return Ok(interface);
    }
    if !facts.up {
        found(Error, "is down".to_owned(), format!("sudo ip link set dev {name} up"));
    } else if !facts.carrier {
        found(Warning, "has no carrier".to_owned(), "check the cable and the other end".to_owned());
    }
    if !uses.is_empty() && !interface.bypass {
        let problem = format!(
            "is in use by this machine, which a port takes it away from: it {}",
            interface.uses.join(", ")
        );
        found(Error, problem, end_of_use(name, &uses));
    }
    if interface.receive_queues > QUEUES_MAX {
        let problem =
            format!("has {} receive queues, of which a port serves {QUEUES_MAX}", interface.receive_queues);
        found(Error, problem, format!("sudo ethtool -L {name} combined {QUEUES_MAX}"));
    }
    if facts.program.is_some() && !interface.bypass {
        let remedy =
            format!("stop what attached it; if nothing needs it: sudo ip link set dev {name} xdp off");
        found(Error, "carries somebody else's XDP program".to_owned(), remedy);
    }
    if let Some((severity, problem, remedy)) = mtu_room(name, facts.mtu, facts.mtu_max) {
        found(severity, problem, remedy);
    }
    if let Some((problem, remedy)) = bypassed_queue(name, &facts.queueing_discipline) {
        found(Warning, problem, remedy);
    }
    if interface.driver == "veth" {
        let remedy = "use `--offloads`, or at the host's end: sudo ethtool -K <IF> tx off sg off tso off gso off txvlan off";
        found(
            Note,
            "may get frames that are unfinished if it is the inner port: the host leaves checksums and segmentation to it".to_owned(),
            remedy.to_owned(),
        );
    }
    Ok(interface)
}

fn describe(name: &str, facts: &route::InterfaceFacts, uses: &[InterfaceUse]) -> Interface {
    let features = xdp_features(facts.index).ok();
    Interface {
        name: name.to_owned(),
        driver: ethtool::driver(name).unwrap_or_else(|| "unknown".to_owned()),
        up: facts.up,
        carrier: facts.carrier,
        mtu: facts.mtu,
        mtu_max: facts.mtu_max,
        queueing_discipline: facts.queueing_discipline.clone(),
        speed: ethtool::speed(name),
        receive_queues: ethtool::receive_queues(name).unwrap_or(1),
        native_xdp: features.map(|features| features.redirects_from(false) && features.redirected_to(false)),
        zero_copy: features.map(|features| features.zero_copy()),
        bypass: carries_bypass(name),
        uses: uses.iter().map(ToString::to_string).collect(),
    }
}

/// What is wrong if the hosts use frames of 1500 bytes.
fn mtu_room(name: &str, mtu: u32, mtu_max: Option<u32>) -> Option<(Severity, String, String)> {
    let left = |mtu: u32| mtu.saturating_sub(HEADER_BYTES);
    match mtu_max {
        _ if mtu >= LINK_MTU => None,
        Some(max) if max < LINK_MTU => Some((
            Warning,
            format!(
                "takes an MTU of at most {max}, which leaves the hosts {} if it is the link port",
                left(max)
            ),
            format!(
                "use another interface for the link, or lower the MTU of the hosts to {} at both ends",
                left(max)
            ),
        )),
        _ => Some((
            Note,
            format!("leaves the hosts an MTU of {} if it is the link port", left(mtu)),
            format!("sudo ip link set dev {name} mtu {LINK_MTU}"),
        )),
    }
}

/// What is wrong with a queueing discipline that somebody has chosen: AF_XDP sends past it.
fn bypassed_queue(name: &str, discipline: &str) -> Option<(String, String)> {
    (!USUAL_DISCIPLINES.contains(&discipline)).then(|| {
        let problem = format!(
            "has the queueing discipline {discipline}, which does not affect the frames that AF_XDP sends"
        );
        let remedy = format!(
            "to lose frames on purpose: linkmend corrupt {name} 1e-3 (with linkmend run --allow-corruption); to remove it: sudo tc qdisc del dev {name} root"
        );
        (problem, remedy)
    })
}

/// How to end the use of an interface. Whoever is connected over it is not told to cut that.
fn end_of_use(name: &str, uses: &[InterfaceUse]) -> String {
    let is_needed = |interface_use: &InterfaceUse| {
        matches!(interface_use, InterfaceUse::DefaultRoute | InterfaceUse::Login { .. })
    };
    if uses.iter().any(is_needed) {
        return "choose another interface: this machine is reached over it".to_owned();
    }
    match uses.iter().any(|interface_use| matches!(interface_use, InterfaceUse::Member { .. })) {
        true => format!("choose another interface, or: sudo ip link set dev {name} nomaster"),
        false => format!("choose another interface, or: sudo ip address flush dev {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_without_room_for_the_header_is_not_told_to_make_it() {
        let (severity, problem, remedy) = mtu_room("eth2", 1500, Some(1500)).expect("too small");
        assert_eq!(severity, Warning);
        assert!(problem.contains("at most 1500") && problem.contains("leaves the hosts 1492"), "{problem}");
        assert!(!remedy.contains("ip link"), "{remedy}");
        for max in [Some(1508), None] {
            let (severity, _, remedy) = mtu_room("eth2", 1500, max).expect("too small");
            assert_eq!((severity, remedy.as_str()), (Note, "sudo ip link set dev eth2 mtu 1508"));
        }
        assert!(mtu_room("eth2", 1508, Some(1508)).is_none());
    }

    #[test]
    fn only_a_queueing_discipline_that_somebody_has_chosen_is_named() {
        assert!(bypassed_queue("eth2", "noqueue").is_none());
        let (problem, remedy) = bypassed_queue("eth2", "netem").expect("chosen");
        assert!(problem.contains("netem") && remedy.contains("linkmend corrupt eth2"), "{problem}: {remedy}");
    }
}
