//! The interface under a port.

use super::PortError;
use super::lock::InterfaceLock;
use crate::frame_pool::{FRAME_OVERHEAD_BYTES, HEADROOM_BYTES, MAX_CHAIN};
use linkmend_linux::{ethtool, features, route};
use std::sync::atomic::{AtomicBool, Ordering};

/// Facts about an interface, and the lock that reserves it for us.
#[derive(Debug)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// Kernel index; 0 for a port without a network device.
    pub index: u32,
    /// Bytes, without the Ethernet header.
    pub mtu: u32,
    pub mac: [u8; 6],
    /// Driver, such as `veth`; `unknown` if it does not say.
    pub driver: String,
    /// Receive queues in use.
    pub receive_queues: u32,
    _lock: InterfaceLock,
    _ipv6_silencer: Ipv6Silencer,
    /// Features that were switched off.
    switched_off: Vec<&'static str>,
    /// Whether it was made promiscuous.
    opened_wide: bool,
    /// Whether a bypass program is to stay on the interface.
    bypassed: AtomicBool,
}

impl Interface {
    /// Looks the interface up, takes its lock, and switches off what would merge received frames or remove their VLAN
    /// tags (GRO, LRO, VLAN stripping). A card that passes only frames to its own address is made to pass all, because
    /// those of hosts have theirs. Dropping the interface undoes that, unless a bypass program is left behind, which
    /// needs it (`Interface::set_bypassed`).
    ///
    /// # Errors
    /// [`PortError::UnknownInterface`], [`PortError::InUse`], [`PortError::NotEthernet`], [`PortError::MtuTooLarge`].
    pub fn acquire(name: &str) -> Result<Self, PortError> {
        let interface = || name.to_owned();
        let facts = route::interface(name)
            .map_err(PortError::system(name, "looking the interface up"))?
            .ok_or_else(|| PortError::UnknownInterface { interface: interface() })?;
        if !facts.ethernet {
            return Err(PortError::NotEthernet { interface: interface() });
        }
        let limit = MAX_CHAIN * (4096 - HEADROOM_BYTES) - FRAME_OVERHEAD_BYTES;
        if facts.mtu > limit {
            return Err(PortError::MtuTooLarge { interface: interface(), mtu: facts.mtu, limit });
        }
        if !facts.up {
            return Err(PortError::system(name, "opening a port")(std::io::Error::from_raw_os_error(
                libc::ENETDOWN,
            )));
        }
        let lock = InterfaceLock::acquire(name, facts.index)?;
        let switched_off = features::deliver_frames_unchanged(name);
        if features::strips_vlan_tags(name) {
            tracing::warn!(
                interface = name,
                "the interface strips VLAN tags from received frames, and this cannot be turned off, so tags \
                 are lost, and a frame behind a tag may be mistaken for one of Linkmend's; hint: `ethtool -K {name} rxvlan off`, or another port"
            );
        }
        let driver = ethtool::driver(name).unwrap_or_else(|| "unknown".to_owned());
        let opened_wide = driver != UNFILTERED && !facts.promiscuous && open_wide(name, facts.index);
        Ok(Interface {
            name: interface(),
            index: facts.index,
            mtu: facts.mtu,
            mac: facts.mac,
            driver,
            receive_queues: ethtool::receive_queues(name).unwrap_or(1),
            _lock: lock,
            _ipv6_silencer: Ipv6Silencer::new(name),
            switched_off,
            opened_wide,
            bypassed: AtomicBool::new(false),
        })
    }

    /// Sets whether a bypass program stays on the interface when this is dropped.
    pub(crate) fn set_bypassed(&self, bypassed: bool) {
        self.bypassed.store(bypassed, Ordering::Relaxed);
    }

    /// An interface that is only imagined, for a port in memory.
    #[cfg(feature = "bench")]
    pub(super) fn imaginary(name: &str, index: u32, mtu: u32) -> Result<Self, PortError> {
        /// Each has its own address, by which the ends are told apart.
        static OPENED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);
        let mac = [2, 0, 0, 0, 0, OPENED.fetch_add(1, Ordering::Relaxed)];
        Self::without_device(name, index, mtu, mac)
    }

    /// What a port without a network device stands for.
    pub(super) fn without_device(name: &str, index: u32, mtu: u32, mac: [u8; 6]) -> Result<Self, PortError> {
        Ok(Interface {
            name: name.to_owned(),
            index,
            mtu,
            mac,
            driver: "none".to_owned(),
            receive_queues: 1,
            _lock: InterfaceLock::of_nothing(name)?,
            _ipv6_silencer: Ipv6Silencer { path: String::new(), is_ours: false },
            switched_off: Vec::new(),
            opened_wide: false,
            bypassed: AtomicBool::new(true),
        })
    }

    /// The longest frame to expect, bytes without frame check sequence.
    pub fn frame_bytes(&self) -> usize {
        (self.mtu + FRAME_OVERHEAD_BYTES) as usize
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        if !self.bypassed.load(Ordering::Relaxed) {
            features::switch_on(&self.name, &self.switched_off);
            if self.opened_wide {
                // It may be gone.
                let _ = route::set_promiscuous(self.index, false);
            }
        }
    }
}

/// A driver whose interfaces receive every frame, whatever its destination address.
const UNFILTERED: &str = "veth";

/// Makes an interface promiscuous for longer than a socket would, because the bypass outlives the sockets.
fn open_wide(name: &str, index: u32) -> bool {
    route::set_promiscuous(index, true)
        .inspect_err(|error| {
            tracing::warn!(
                interface = name, %error,
                "the interface cannot be made promiscuous, so it may drop other hosts' frames; hint: \
                 `ip link set dev {name} promisc on`"
            );
        })
        .is_ok()
}

/// Keeps the kernel's own IPv6 from sending on the interface (router solicitations, duplicate address detection),
/// because the interface carries other hosts' frames. Undone when the port is closed.
///
/// Every number but 0 disables IPv6 (ip-sysctl), so the one that is written tells later who has. After a process that was
/// killed, the next one that takes the interface restores what it was.
#[derive(Debug)]
struct Ipv6Silencer {
    path: String,
    is_ours: bool,
}

/// What disables IPv6 for Linkmend.
const DISABLED_BY_LINKMEND: &str = "76";

impl Ipv6Silencer {
    /// This is best effort: if the setting cannot be written, there is usually no IPv6.
    fn new(interface: &str) -> Self {
        let path = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
        let is_ours = std::fs::read_to_string(&path).is_ok_and(|value| match value.trim() {
            "0" => std::fs::write(&path, DISABLED_BY_LINKMEND).is_ok(),
            value => value == DISABLED_BY_LINKMEND,
        });
        Ipv6Silencer { path, is_ours }
    }
}

impl Drop for Ipv6Silencer {
    fn drop(&mut self) {
        // An operator who has set it meanwhile is right.
        let is_as_left =
            || std::fs::read_to_string(&self.path).is_ok_and(|value| value.trim() == DISABLED_BY_LINKMEND);
        if self.is_ours && is_as_left() {
            let _ = std::fs::write(&self.path, "0");
        }
    }
}
