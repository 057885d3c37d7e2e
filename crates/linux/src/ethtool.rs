//! What a port needs to know from its interface's driver, and what it switches off there.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

const ETHTOOL_GSET: u32 = 0x01;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GET_FLAGS: u32 = 0x25;
const ETHTOOL_SET_FLAGS: u32 = 0x26;
const ETHTOOL_SET_GRO: u32 = 0x2c;
const FLAG_RECEIVE_VLAN: u32 = 1 << 8;
const FLAG_LRO: u32 = 1 << 15;
const IFNAMSIZ: usize = libc::IFNAMSIZ;

#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    max_rx: u32,
    max_tx: u32,
    max_other: u32,
    max_combined: u32,
    rx_count: u32,
    tx_count: u32,
    other_count: u32,
    combined_count: u32,
}

/// `struct ethtool_cmd`.
#[repr(C)]
#[derive(Default)]
struct Settings {
    command: u32,
    supported: u32,
    advertising: u32,
    speed_low: u16,
    modes: [u8; 6],
    coalescing: [u32; 2],
    speed_high: u16,
    crossover: [u8; 2],
    partner_advertising: u32,
    reserved: [u32; 2],
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

#[repr(C)]
struct Request {
    name: [u8; IFNAMSIZ],
    data: *mut libc::c_void,
    // `struct ifreq` is 40 bytes on 64-bit kernels; the pointer takes the first 8 of its union.
    padding: [u8; 16],
}

fn query(interface: &str, data: *mut libc::c_void) -> io::Result<()> {
    let mut request = Request { name: [0; IFNAMSIZ], data, padding: [0; 16] };
    let name = interface.as_bytes();
    if name.len() >= IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    request.name[..name.len()].copy_from_slice(name);
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: SIOCETHTOOL reads and writes the structure `data` points to, whose size its first
    // word (the command) fixes; the callers below pass the matching structures.
    let result = unsafe {
        libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// The number of receive queues in use; `None` if the driver does not say, in which case it has one.
pub fn receive_queues(interface: &str) -> Option<u32> {
    let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
    query(interface, (&raw mut channels).cast()).ok()?;
    Some(channels.rx_count + channels.combined_count)
}

/// Speed in Mb/s; `None` if the driver does not know.
pub fn speed(interface: &str) -> Option<u32> {
    let mut settings = Settings { command: ETHTOOL_GSET, ..Settings::default() };
    query(interface, (&raw mut settings).cast()).ok()?;
    let speed = u32::from(settings.speed_high) << 16 | u32::from(settings.speed_low);
    (speed != 0 && speed != u32::MAX).then_some(speed)
}

/// Name of the driver, such as `veth` or `ixgbe`.
pub fn driver(interface: &str) -> Option<String> {
    let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    query(interface, (&raw mut info).cast()).ok()?;
    let end = info.driver.iter().position(|&byte| byte == 0).unwrap_or(32);
    Some(String::from_utf8_lossy(&info.driver[..end]).into_owned())
}

/// Makes the interface deliver frames as they were on the wire: not merged (GRO, LRO), and with their VLAN tags in
/// place. This is best effort; an interface that refuses does not do such things.
pub fn deliver_frames_unchanged(interface: &str) {
    let mut gro = Value { command: ETHTOOL_SET_GRO, data: 0 };
    let _ = query(interface, (&raw mut gro).cast());
    let mut flags = Value { command: ETHTOOL_GET_FLAGS, data: 0 };
    if query(interface, (&raw mut flags).cast()).is_err() {
        return;
    }
    for flag in [FLAG_LRO, FLAG_RECEIVE_VLAN] {
        if flags.data & flag == 0 {
            continue;
        }
        let without = flags.data & !flag;
        let mut set = Value { command: ETHTOOL_SET_FLAGS, data: without };
        if query(interface, (&raw mut set).cast()).is_ok() {
            flags.data = without;
        }
    }
}
