//! What a driver counts under names of its own (what `ethtool -S` shows), over ethtool's ioctl. Names differ from one
//! driver to the next; [`crate::link_statistics`] has those that do not.

use std::io;

use crate::string_sets::{self, StringSet};

/// Most counters of one interface. Drivers have some for each queue, which adds up to thousands.
pub const STATISTICS_MAX: usize = 16_384;
/// How often the names are read, before a driver whose number of counters does not stay the same is given up.
const ATTEMPTS_MAX: usize = 3;

/// The counters of one interface. The names are read once, and the values at each [`DriverStatistics::poll`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverStatistics {
    interface: String,
    names: Vec<String>,
    values: Vec<u64>,
}

impl DriverStatistics {
    /// Reads names and values of an interface in the network namespace of the calling thread. Many drivers have none.
    ///
    /// # Errors
    /// Without such an interface, and with more than [`STATISTICS_MAX`] counters.
    pub fn of(interface: &str) -> io::Result<DriverStatistics> {
        let mut statistics =
            DriverStatistics { interface: interface.to_owned(), names: Vec::new(), values: Vec::new() };
        statistics.read_names()?;
        statistics.poll()?;
        Ok(statistics)
    }

    /// Reads the values again; the names, too, if their number has changed. A driver that changes names and keeps
    /// their number is not noticed. After an error there may be no values.
    ///
    /// # Errors
    /// See [`DriverStatistics::of`]; and if the number of counters keeps changing.
    pub fn poll(&mut self) -> io::Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            if let Some(values) = string_sets::values(&self.interface, self.names.len(), STATISTICS_MAX)? {
                self.values = values;
                return Ok(());
            }
            self.read_names()?;
        }
        Err(io::Error::other(format!("the counters of {} keep changing", self.interface)))
    }

    /// Names and values, in the driver's order. A name can be empty, and some drivers have one twice.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// The value of the first counter with this name.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.iter().find(|(of, _)| *of == name).map(|(_, value)| value)
    }

    /// The values that were there belong to the names that were there.
    fn read_names(&mut self) -> io::Result<()> {
        self.names = StringSet::Statistics.names(&self.interface, STATISTICS_MAX)?;
        self.values.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;

    #[test]
    fn loopback_has_none_and_nothing_else_has_an_answer() {
        let mut loopback = DriverStatistics::of("lo").unwrap();
        assert_eq!(loopback.iter().count(), 0);
        loopback.poll().unwrap();
        assert_eq!(loopback.value("peer_ifindex"), None);
        loopback.names = vec!["gone".to_owned()];
        loopback.poll().unwrap();
        assert_eq!(loopback.iter().count(), 0, "the names are read again when their number changes");
        for unknown in ["no-such-thing", "a-name-that-is-too-long-for-an-interface"] {
            let error = DriverStatistics::of(unknown).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{unknown}");
        }
    }
}
