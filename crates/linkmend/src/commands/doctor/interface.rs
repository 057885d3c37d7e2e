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
const LINK_MTU: u32 = 1508;

/// What was found out about one.
#[derive(Debug, Serialize)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) driver: String,
    pub(super) up: bool,
    pub(super) carrier: bool,
    pub(super) mtu: u32,
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
    let features = xdp_features(facts.index).ok();
    let interface = Interface {
        name: name.to_owned(),
        driver: ethtool::driver(name).unwrap_or_else(|| "unknown".to_owned()),
        up: facts.up,
        carrier: facts.carrier,
        mtu: facts.mtu,
        speed: ethtool::speed(name),
        receive_queues: ethtool::receive_queues(name).unwrap_or(1),
        native_xdp: features.map(|features| features.redirects_from(false) && features.redirected_to(false)),
        zero_copy: features.map(|features| features.zero_copy()),
        bypass: carries_bypass(name),
        uses: uses.iter().map(ToString::to_string).collect(),
    };
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
    if facts.mtu < LINK_MTU {
        let problem =
            format!("leaves the hosts an MTU of {} if it is the link port", facts.mtu.saturating_sub(8));
        found(Note, problem, format!("sudo ip link set dev {name} mtu {LINK_MTU}"));
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
