//! TAP devices (tuntap.rst of the kernel's documentation) that carry large segments, described by a virtio header.

use crate::{route, veth};
use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/net/tun";
const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0_u32 as libc::Ioctl;
const IFF_TAP: u16 = 0x0002;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
const TUN_F_CSUM: libc::c_ulong = 0x01;
const TUN_F_TSO4: libc::c_ulong = 0x02;
const TUN_F_TSO6: libc::c_ulong = 0x04;
const TUN_F_TSO_ECN: libc::c_ulong = 0x08;
/// UDP segmentation, since Linux 6.2.
const TUN_F_USO: libc::c_ulong = 0x20 | 0x40;
const TCP: libc::c_ulong = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;

#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    padding: [u8; 22],
}

/// A TAP device that exists as long as this does. What is sent to it is read here.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
    index: u32,
}

impl Tap {
    /// Creates a device with a name of the kernel's choice that begins with `prefix`, and brings it up. The host of this
    /// machine sends nothing by itself on it.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN or /dev/net/tun, and on a kernel that cannot leave segmentation to the reader.
    pub fn create(prefix: &str, mtu: u32) -> io::Result<Tap> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(DEVICE)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot open {DEVICE}: {error}")))?;
        let mut request = Request {
            name: [0; libc::IFNAMSIZ],
            flags: IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
            padding: [0; 22],
        };
        for (to, from) in request.name.iter_mut().zip(format!("{prefix}%d").bytes().take(libc::IFNAMSIZ - 1))
        {
            *to = from;
        }
        // SAFETY: the kernel reads and writes one `struct ifreq`, which this is.
        Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
        let name: String =
            request.name.iter().take_while(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect();
        let offload = |features: libc::c_ulong| {
            // SAFETY: the argument is a number.
            Errno::result(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, features) })
        };
        offload(TCP | TUN_F_USO).or_else(|_| offload(TCP))?;
        // Without IPv6 the host has nothing to say on it.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        veth::bring_up(&name, mtu)?;
        let facts = route::interface(&name)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(Tap { file, name, index: facts.index })
    }

    /// The name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kernel index of the device.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Reads the next frame: its virtio header, and all behind it. Returns the bytes of both together, `Ok(None)` if
    /// there is none.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn read(&mut self, header: &mut [u8], frame: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read_vectored(&mut [IoSliceMut::new(header), IoSliceMut::new(frame)]) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
