//! A host: a network namespace with a TUN device.

use nix::sched::{CloneFlags, unshare};
use std::ffi::c_short;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

const NAME: &[u8] = b"tun0";

/// Puts this thread into a new namespace and returns the device in it. Settings of the kernel come first.
pub fn enter(address: Ipv4Addr, settings: &[(&str, &str)]) -> io::Result<File> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    for (name, value) in settings {
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
            .map_err(|error| io::Error::other(format!("cannot set {name} to {value}: {error}")))?;
    }
    let device =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request();
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as c_short;
    // SAFETY: the request is initialised, and lives during the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None)?;
    for (call, address) in
        [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, Ipv4Addr::new(255, 255, 255, 0))]
    {
        let mut request = self::request();
        let bytes = socket2::SockAddr::from(SocketAddrV4::new(address, 0));
        // SAFETY: an address of IPv4 is as long as the member, and has its form.
        request.ifr_ifru.ifru_addr = unsafe { bytes.as_ptr().cast::<libc::sockaddr>().read_unaligned() };
        // SAFETY: as above.
        check(unsafe { libc::ioctl(socket.as_raw_fd(), call as _, &raw mut request) })?;
    }
    let mut request = self::request();
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as c_short;
    // SAFETY: as above.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) })?;
    Ok(device)
}

fn request() -> libc::ifreq {
    // SAFETY: all zeros is a request without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME) {
        *to = *from as libc::c_char;
    }
    request
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
