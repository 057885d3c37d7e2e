//! What people use today when a link may fail: the kernel's bonding, or two routes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::topology::{IpError, Lab, LabError, Role};

/// The kernel's answer to a failed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Usual {
    /// Bonding in active-backup mode, which looks at the carriers every 100 ms (`miimon`), behind a bridge.
    Bonding,
    /// The link ends route, with two routes of different metric, of which the kernel ignores one whose interface has no
    /// carrier (`ignore_routes_with_linkdown`).
    Routes,
}

impl fmt::Display for Usual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Usual::Bonding => "bonding (active-backup, miimon 100)",
            Usual::Routes => "two routes with different metrics (ignore_routes_with_linkdown)",
        })
    }
}

/// How often bonding looks at the carriers, ms: what its documentation calls a good starting point.
const MIIMON_MS: u32 = 100;
/// Addresses of the links between the routers, for each link end.
const NETWORKS: [(&str, &str); 2] = [("link", "10.78.1"), ("backup", "10.78.2")];

/// Makes the link ends of a laboratory survive as the kernel does; returns how, and why in that way.
pub(super) fn set_up(lab: &Lab) -> Result<(Usual, String), LabError> {
    match [Role::End1, Role::End2].into_iter().try_for_each(|role| bond(lab, role)) {
        Ok(()) => Ok((Usual::Bonding, "this kernel has bonding".to_owned())),
        Err(LabError::Ip(IpError::Failed { message, .. })) if message.contains("Unknown device type") => {
            [Role::End1, Role::End2].into_iter().try_for_each(|role| route(lab, role))?;
            Ok((Usual::Routes, format!("this kernel has no bonding (`{message}`)")))
        }
        Err(error) => Err(error),
    }
}

/// Joins the inner port with a bond of both links.
fn bond(lab: &Lab, role: Role) -> Result<(), LabError> {
    lab.ip(role, &format!("link add name bond type bond mode active-backup miimon {MIIMON_MS}"))?;
    for (interface, _) in NETWORKS {
        lab.ip(role, &format!("link set dev {interface} down"))?;
        lab.ip(role, &format!("link set dev {interface} master bond"))?;
    }
    lab.ip(role, "link set dev bond type bond primary link")?;
    lab.ip(role, "link set dev bond addrgenmode none up")?;
    lab.join(role, &["inner", "bond"])
}

/// Makes the link end a router that answers for the far host, so that the hosts need not know.
fn route(lab: &Lab, role: Role) -> Result<(), LabError> {
    let (own, far, near_host, far_host) = match role {
        Role::End1 => (1, 2, Role::Host1, Role::Host2),
        _ => (2, 1, Role::Host2, Role::Host1),
    };
    let address = |host: Role| host.ipv4().map(|address| address.to_string()).unwrap_or_default();
    for (key, value) in [
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/inner/proxy_arp", "1"),
        ("net/ipv4/neigh/inner/proxy_delay", "0"),
    ] {
        lab.set(role, key, value)?;
    }
    lab.ip(role, &format!("address add 10.77.0.25{own}/32 dev inner"))?;
    lab.ip(role, &format!("route add {}/32 dev inner", address(near_host)))?;
    for (metric, (interface, network)) in (1..).zip(NETWORKS) {
        lab.set(role, &format!("net/ipv4/conf/{interface}/rp_filter"), "0")?;
        lab.set(role, &format!("net/ipv4/conf/{interface}/ignore_routes_with_linkdown"), "1")?;
        lab.ip(role, &format!("address add {network}.{own}/30 dev {interface}"))?;
        let to = address(far_host);
        lab.ip(role, &format!("route add {to}/32 via {network}.{far} dev {interface} metric {metric}"))?;
    }
    Ok(())
}
