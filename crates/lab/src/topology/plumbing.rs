//! The parts of a laboratory: namespaces, veth pairs, addresses, settings, bridges.

use std::fs;

use linkmend_protocol::paths::Path;

use super::cuts::CutRecord;
use super::error::LabError;
use super::ip::{ip, ip_in, tc_in};
use super::marker::{MarkedNamespace, Marker, Stage};
use super::options::LabOptions;
use super::role::{
    BACKUP_INTERFACE, HOST_INTERFACE, INNER_HEADROOM_BYTES, INNER_INTERFACE, LINK_HEADROOM_BYTES,
    LINK_INTERFACE, Role,
};
use super::wires::WireInterface;
use crate::namespace::Namespace;
use crate::offload::make_wire_like;

/// Name of the bridge in a link end.
pub(crate) const BRIDGE: &str = "bypass";
/// Largest frame that receive offload may assemble at a delay line. It is shorter than any frame, so nothing is merged.
const GRO_BYTES_NONE: u32 = 1;
const MAX_BUFFER_FLOOR_BYTES: u32 = 4096;

/// Builds everything, recording each namespace in `marker` before it is created.
pub(crate) fn build(options: &LabOptions, marker: &mut Marker) -> Result<(), LabError> {
    for (index, name) in options.namespace_names().into_iter().enumerate() {
        marker.namespaces.push(MarkedNamespace { name: name.clone(), inode: None });
        marker.save()?;
        ip(&format!("netns add {name}"))?;
        let namespace = Namespace::open(&name)?;
        if let Some(marked) = marker.namespaces.last_mut() {
            marked.inode = Some(namespace.inode()?);
        }
        marker.save()?;
        ip_in(&namespace, "link set dev lo up")?;
        prepare_settings(&namespace, Role::ALL.get(index).copied(), options)?;
    }
    let (lines, bridges) = (options.lines(), options.bridges());
    let wires = [lines.as_slice(), &bridges].concat();
    for &wire in wires.iter().flatten() {
        connect(options, Port::wire(options, wire), Port::new(options, wire.faces()))?;
    }
    let primary = WireInterface::of_link(Path::Primary);
    let direct = [
        (!wires.contains(&WireInterface::PATH), (Role::Host1, HOST_INTERFACE), (Role::End1, INNER_INTERFACE)),
        (!wires.contains(&primary), (Role::End1, LINK_INTERFACE), (Role::End2, LINK_INTERFACE)),
        (true, (Role::End2, INNER_INTERFACE), (Role::Host2, HOST_INTERFACE)),
    ];
    for (_, left, right) in direct.into_iter().filter(|(joined, ..)| *joined) {
        connect(options, Port::new(options, left), Port::new(options, right))?;
    }
    for role in Role::ALL {
        configure(options, role)?;
    }
    configure_wires(options, &wires)?;
    for (link, pair) in bridges.iter().enumerate() {
        bridge_wires(options, &format!("wire{link}"), pair)?;
    }
    if options.backup.is_some() {
        CutRecord::create(&options.prefix)?;
    }
    if options.host_gro && !options.host_offloads {
        // This must wait until both ends of each pair are up: a veth becomes a target of XDP redirects when receive
        // offload is switched on at its peer while that is up, or when it is itself brought up after that.
        for role in [Role::Host1, Role::Host2] {
            make_wire_like(&Namespace::open(&options.namespace_name(role))?, HOST_INTERFACE, true)??;
        }
    }
    marker.stage = Stage::Up;
    marker.save()?;
    Ok(())
}

/// Joins the ports of a link end by a bridge.
pub(crate) fn bridge(namespace: &Namespace) -> Result<(), LabError> {
    join(namespace, BRIDGE, &[INNER_INTERFACE, LINK_INTERFACE])
}

/// Joins two interfaces by a bridge that forwards whatever a bridge can.
pub(crate) fn join(namespace: &Namespace, bridge: &str, interfaces: &[&str; 2]) -> Result<(), LabError> {
    // 65528 lets those link-local groups pass whose forwarding the kernel allows; LACP's is not one of them.
    ip_in(
        namespace,
        &format!(
            "link add name {bridge} type bridge stp_state 0 forward_delay 0 mcast_snooping 0 group_fwd_mask 65528"
        ),
    )?;
    for hook in ["iptables", "ip6tables", "arptables"] {
        set_if_there(namespace, &format!("net/bridge/bridge-nf-call-{hook}"), "0")?;
    }
    for interface in interfaces {
        ip_in(namespace, &format!("link set dev {interface} master {bridge}"))?;
    }
    ip_in(namespace, &format!("link set dev {bridge} addrgenmode none up"))?;
    Ok(())
}

/// Joins the two sides of a link without a delay line. A frame that tc redirected would not be shown to a generic XDP program
/// at the far end of a veth, and a frame that a bridge forwards is. The bridge learns nothing, so that whether it floods a
/// port decides whether that port's direction works.
fn bridge_wires(options: &LabOptions, bridge: &str, pair: &[WireInterface; 2]) -> Result<(), LabError> {
    let Some(name) = options.wires_name() else { return Ok(()) };
    let namespace = Namespace::open(&name)?;
    let interfaces = pair.map(WireInterface::name);
    join(&namespace, bridge, &interfaces)?;
    for interface in interfaces {
        ip_in(&namespace, &format!("link set dev {interface} type bridge_slave learning off"))?;
    }
    Ok(())
}

/// Whether the bridge between the two sides of a link lets frames out at `outlet`.
pub(crate) fn flood(namespace: &Namespace, outlet: WireInterface, on: bool) -> Result<(), LabError> {
    let (interface, on) = (outlet.name(), if on { "on" } else { "off" });
    ip_in(
        namespace,
        &format!("link set dev {interface} type bridge_slave flood {on} mcast_flood {on} bcast_flood {on}"),
    )?;
    Ok(())
}

/// Sets both interfaces of a link up or down, and with them the carriers of the link ends' ports.
pub(crate) fn set_up(namespace: &Namespace, pair: [WireInterface; 2], up: bool) -> Result<(), LabError> {
    let set = || {
        pair.iter().try_for_each(|wire| {
            crate::sys::set_interface_up(wire.name(), up).map_err(|source| LabError::State {
                interface: wire.name(),
                namespace: namespace.name().to_owned(),
                state: if up { "up" } else { "down" },
                source,
            })
        })
    };
    namespace.run(set)?
}

/// Removes the bridge.
pub(crate) fn unbridge(namespace: &Namespace) -> Result<(), LabError> {
    ip_in(namespace, &format!("link del dev {BRIDGE}"))?;
    Ok(())
}

/// Removes the veth pairs at once. Otherwise a namespace in which another user's process runs would keep them.
pub(crate) fn remove_links(namespace: &Namespace) {
    for interface in [HOST_INTERFACE, INNER_INTERFACE, LINK_INTERFACE, BACKUP_INTERFACE] {
        // Most are not there: each namespace has one to three, and a pair disappears with either end.
        let _ = ip_in(namespace, &format!("link del dev {interface}"));
    }
}

/// Applies the settings of a place; `None` is the namespace of the delay lines.
fn prepare_settings(namespace: &Namespace, role: Option<Role>, options: &LabOptions) -> Result<(), LabError> {
    if !matches!(role, Some(Role::Host1 | Role::Host2)) {
        for place in ["all", "default"] {
            set_if_there(namespace, &format!("net/ipv6/conf/{place}/disable_ipv6"), "1")?;
        }
        return Ok(());
    }
    let limit = options.tcp_buffer_max_bytes.max(MAX_BUFFER_FLOOR_BYTES);
    let settings = [
        ("net/ipv4/tcp_rmem", format!("4096 {} {limit}", limit.min(131_072))),
        ("net/ipv4/tcp_wmem", format!("4096 {} {limit}", limit.min(65_536))),
        ("net/ipv4/tcp_no_metrics_save", u8::from(options.tcp_no_metrics_save).to_string()),
        ("net/ipv4/tcp_slow_start_after_idle", u8::from(options.tcp_slow_start_after_idle).to_string()),
        // No router answers solicitations, and nobody else has these addresses, so both would only be noise on the
        // link.
        ("net/ipv6/conf/default/accept_ra", "0".to_owned()),
        ("net/ipv6/conf/default/router_solicitations", "0".to_owned()),
        ("net/ipv6/conf/default/accept_dad", "0".to_owned()),
        // Hosts report their multicast groups for a second after they come up. A report that one processor sends can take
        // along a frame that another has just queued at the same interface, which then arrives out of order.
        ("net/ipv6/conf/default/mldv2_unsolicited_report_interval", "1".to_owned()),
    ];
    settings.iter().try_for_each(|(key, value)| set_if_there(namespace, key, value))
}

/// Writes a kernel setting inside the namespace, unless this kernel does not have it.
pub(crate) fn set_if_there(namespace: &Namespace, key: &str, value: &str) -> Result<(), LabError> {
    let path = std::path::Path::new("/proc/sys").join(key);
    let written = namespace.run(|| if path.exists() { fs::write(&path, value) } else { Ok(()) })?;
    written.map_err(|source| LabError::Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        namespace: namespace.name().to_owned(),
        source,
    })
}

/// One end of a veth pair that is to be created.
struct Port {
    namespace: String,
    interface: &'static str,
    mac: [u8; 6],
    mtu: u32,
}

impl Port {
    fn new(options: &LabOptions, (role, interface): (Role, &'static str)) -> Self {
        let (mac, mtu) = (role.mac(interface), mtu(options, interface));
        Self { namespace: options.namespace_name(role), interface, mac, mtu }
    }

    fn wire(options: &LabOptions, wire: WireInterface) -> Self {
        let namespace = options.wires_name().unwrap_or_default();
        let (mac, mtu) = (wire.mac(), wire.mtu(options.host_mtu));
        Self { namespace, interface: wire.name(), mac, mtu }
    }
}

fn connect(options: &LabOptions, left: Port, right: Port) -> Result<(), LabError> {
    let queues = options.queues;
    let end = |Port { namespace, interface, mac: [a, b, c, d, e, f], mtu }: Port| {
        format!(
            "name {interface} address {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x} mtu {mtu} numtxqueues {queues} \
             numrxqueues {queues} netns {namespace}"
        )
    };
    ip(&format!("link add {} type veth peer {}", end(left), end(right)))?;
    Ok(())
}

fn mtu(options: &LabOptions, interface: &str) -> u32 {
    let headroom = match interface {
        INNER_INTERFACE => INNER_HEADROOM_BYTES,
        LINK_INTERFACE | BACKUP_INTERFACE => LINK_HEADROOM_BYTES,
        _ => 0,
    };
    options.host_mtu + headroom
}

/// Configures the interfaces of the delay lines and bridges between link ends. What a link end forwards in the kernel is redirected into them. This
/// needs NAPI, which a veth has only with receive offload; but a line must carry frames as they are, so nothing may be
/// merged.
fn configure_wires(options: &LabOptions, wires: &[[WireInterface; 2]]) -> Result<(), LabError> {
    let Some(name) = options.wires_name() else { return Ok(()) };
    let namespace = Namespace::open(&name)?;
    for wire in wires.iter().flatten() {
        let interface = wire.name();
        make_wire_like(&namespace, interface, false)??;
        if let Some(frames) = options.queue_frames {
            tc_in(&namespace, &format!("qdisc replace dev {interface} root pfifo limit {frames}"))?;
        }
        let merge_nothing = format!("link set dev {interface} gro_max_size {GRO_BYTES_NONE}");
        ip_in(&namespace, &format!("link set dev {interface} arp off addrgenmode none up"))?;
        // Kernels before 5.19 and iproute2 before 5.18 do not know this option. Without it there is no NAPI, and a
        // dormant link of AF_XDP ports drops what it forwards towards this interface.
        if wire.faces().0.ipv4().is_none() && ip_in(&namespace, &merge_nothing).is_ok() {
            make_wire_like(&namespace, interface, true)??;
        }
    }
    Ok(())
}

fn configure(options: &LabOptions, role: Role) -> Result<(), LabError> {
    let namespace = Namespace::open(&options.namespace_name(role))?;
    let is_host = role.ipv4().is_some();
    let backup = (options.backup.is_some() && !is_host).then_some(&BACKUP_INTERFACE);
    for interface in role.interfaces().iter().chain(backup) {
        if !options.host_offloads {
            make_wire_like(&namespace, interface, false)??;
        }
        if let Some(frames) = options.queue_frames {
            tc_in(&namespace, &format!("qdisc replace dev {interface} root pfifo limit {frames}"))?;
        }
        ip_in(&namespace, &format!("link set dev {interface} addrgenmode none up"))?;
    }
    if !is_host {
        return Ok(());
    }
    let dev = HOST_INTERFACE;
    if let Some(address) = role.ipv4() {
        ip_in(&namespace, &format!("address add {address}/24 dev {dev}"))?;
    }
    let has_ipv6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
    if let Some(address) = role.ipv6().filter(|_| has_ipv6) {
        ip_in(&namespace, &format!("-6 address add {address}/64 dev {dev} nodad"))?;
    }
    if let Some(milliseconds) = options.rto_min_ms {
        let rto = format!("rto_min {milliseconds}ms");
        if let Some(address) = role.ipv4() {
            let route = "route replace 10.77.0.0/24 proto kernel scope link";
            ip_in(&namespace, &format!("{route} src {address} dev {dev} {rto}"))?;
        }
        if has_ipv6 {
            ip_in(
                &namespace,
                &format!("-6 route replace fd77::/64 proto kernel metric 256 dev {dev} {rto}"),
            )?;
        }
    }
    Ok(())
}
