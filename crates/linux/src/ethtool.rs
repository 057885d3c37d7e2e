//! What a port needs to know from its interface's driver, over ethtool's ioctl.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

const ETHTOOL_GSET: u32 = 0x01;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
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

/// One call of ethtool's ioctl.
///
/// # Safety
/// `data` points to the structure that its first word, the command, implies. It is as long as what the kernel may read
/// and write there by the lengths that the structure states.
pub(crate) unsafe fn call(interface: &str, data: *mut libc::c_void) -> io::Result<()> {
    let mut request = Request { name: [0; IFNAMSIZ], data, padding: [0; 16] };
    let name = interface.as_bytes();
    if name.len() >= IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    request.name[..name.len()].copy_from_slice(name);
    // A socket of any family will do, and every kernel has this one.
    let socket = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: the request lives through the call, and what it points to is as the caller promises.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// The number of receive queues in use; `None` if the driver does not say, in which case it has one.
pub fn receive_queues(interface: &str) -> Option<u32> {
    let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
    // SAFETY: this is the structure of the command, and of fixed length.
    unsafe { call(interface, (&raw mut channels).cast()) }.ok()?;
    Some(channels.rx_count + channels.combined_count)
}

/// Speed in Mb/s; `None` if the driver does not know.
pub fn speed(interface: &str) -> Option<u32> {
    let mut settings = Settings { command: ETHTOOL_GSET, ..Settings::default() };
    // SAFETY: this is the structure of the command, and of fixed length.
    unsafe { call(interface, (&raw mut settings).cast()) }.ok()?;
    let speed = u32::from(settings.speed_high) << 16 | u32::from(settings.speed_low);
    (speed != 0 && speed != u32::MAX).then_some(speed)
}

/// Name of the driver, such as `veth` or `ixgbe`.
pub fn driver(interface: &str) -> Option<String> {
    let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    // SAFETY: this is the structure of the command, and of fixed length.
    unsafe { call(interface, (&raw mut info).cast()) }.ok()?;
    let end = info.driver.iter().position(|&byte| byte == 0).unwrap_or(32);
    Some(String::from_utf8_lossy(&info.driver[..end]).into_owned())
}
