//! The memory of a transceiver: who made it and what it measures (what `ethtool -m` shows), over ethtool's netlink.

use std::io;

use netlink_packet_core::DefaultNla;

use crate::generic_netlink::{Family, nested};
use crate::netlink::{attribute, may_be_a_name};

const ETHTOOL_MSG_MODULE_EEPROM_GET: u8 = 31;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
// `ETHTOOL_A_MODULE_EEPROM_...` (`linux/ethtool_netlink.h`).
const HEADER: u16 = 1;
const OFFSET: u16 = 2;
const LENGTH: u16 = 3;
const PAGE: u16 = 4;
const BANK: u16 = 5;
const I2C_ADDRESS: u16 = 6;
const DATA: u16 = 7;

/// Memory is read by half pages.
pub const HALF_PAGE: usize = 128;

/// Where a half page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfPage {
    /// Address of the memory on the module's bus; `0x50` or `0x51`.
    pub address: u8,
    pub page: u8,
    /// Whether it is the upper half. Pages other than 0 have no lower half.
    pub upper: bool,
}

/// Reads transceivers of interfaces in the network namespace in which it was opened.
pub struct ModuleEepromSocket(Family);

impl ModuleEepromSocket {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::NotFound`] if the kernel has no netlink for ethtool (before Linux 5.6).
    pub fn open() -> io::Result<ModuleEepromSocket> {
        Family::find("ethtool").map(ModuleEepromSocket)
    }

    /// Reads a half page. Modules are slow: this takes milliseconds. The kernel allows it to administrators only.
    ///
    /// # Errors
    /// Those of the system and the driver; [`io::ErrorKind::Unsupported`] if the driver cannot, or the kernel is older than
    /// Linux 5.13. What a driver says of a port without a module differs from one to the next.
    pub fn half_page(&self, interface: &str, place: HalfPage) -> io::Result<Vec<u8>> {
        if !may_be_a_name(interface) {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let name = DefaultNla::new(ETHTOOL_A_HEADER_DEV_NAME, [interface.as_bytes(), &[0]].concat());
        let number = |kind, number: u32| DefaultNla::new(kind, number.to_ne_bytes().to_vec());
        let byte = |kind, byte: u8| DefaultNla::new(kind, vec![byte]);
        let attributes = vec![
            nested(HEADER, &[name]),
            number(OFFSET, if place.upper { HALF_PAGE as u32 } else { 0 }),
            number(LENGTH, HALF_PAGE as u32),
            byte(PAGE, place.page),
            byte(BANK, 0),
            byte(I2C_ADDRESS, place.address),
        ];
        let answer = self.0.request(ETHTOOL_MSG_MODULE_EEPROM_GET, attributes)?;
        let data = attribute(answer.bytes(), DATA).filter(|data| data.len() == HALF_PAGE);
        data.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_a_module_is_an_error_and_not_a_module() {
        let socket = ModuleEepromSocket::open().expect("the kernel has ethtool's netlink");
        let place = HalfPage { address: 0x50, page: 0, upper: false };
        assert!(socket.half_page("lo", place).is_err());
        let error = socket.half_page("no such\0name", place).expect_err("refused");
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
