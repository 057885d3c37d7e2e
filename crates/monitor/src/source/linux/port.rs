//! One interface: which of its counters are read.

use super::names::{CounterNames, DriverNames};
use crate::counters::{FecReading, Lanes, Reading};
use linkmend_linux::driver_statistics::DriverStatistics;
use linkmend_linux::ethtool;
use linkmend_linux::interface_counters::InterfaceCounters;
use linkmend_linux::link_statistics::{FecStatistics, LinkStatistics, LinkStatisticsSocket};
use std::fmt;
use std::io;

const MEGABIT: u64 = 1_000_000;

/// Where an interface's counters are.
pub(super) enum Counters {
    /// The driver has names of its own for those of the physical port.
    Driver(Box<(DriverStatistics, CounterNames)>),
    /// The standard's, over ethtool's netlink.
    Standard,
    /// Those that every interface has.
    Kernel,
}

/// See the module's documentation.
pub(super) struct Port {
    counters: Counters,
    /// Whether the standard counts codewords for which the driver has no names of its own.
    also_standard: bool,
    driver: String,
    speed: Option<u64>,
    /// When the speed was asked for: a port that comes up may have another one.
    speed_of: Option<u32>,
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.counters {
            Counters::Driver(chosen) => {
                write!(f, "{}: {} of its driver", self.driver, chosen.1.corrupted_frames.join(" + "))
            }
            Counters::Standard => write!(f, "{}: FrameCheckSequenceErrors of the standard", self.driver),
            Counters::Kernel => {
                write!(f, "{}: rx_crc_errors of the kernel, 0 if the driver does not count", self.driver)
            }
        }
    }
}

impl Port {
    /// Chooses the counters that say most.
    pub fn of(interface: &str, names: &DriverNames, standard: Option<&LinkStatisticsSocket>) -> Port {
        let driver = ethtool::driver(interface).unwrap_or_else(|| "no driver".to_owned());
        let speed = ethtool::speed(interface).map(|megabits| u64::from(megabits) * MEGABIT);
        let named = names.get(&driver).and_then(|names| {
            let statistics = DriverStatistics::of(interface).ok()?;
            names.fit(&|name| statistics.value(name)).then(|| Box::new((statistics, names.clone())))
        });
        let statistics = || standard?.named(interface).ok()?;
        let counters = match named {
            Some(chosen) => Counters::Driver(chosen),
            None if statistics().is_some_and(|statistics| of_standard(&statistics).is_some()) => {
                Counters::Standard
            }
            None => Counters::Kernel,
        };
        let also_standard = match &counters {
            Counters::Driver(chosen) if chosen.1.uncorrectable_codewords.is_empty() => {
                statistics().and_then(|statistics| codewords(statistics.fec.as_ref())).is_some()
            }
            _ => false,
        };
        Port { counters, also_standard, driver, speed, speed_of: None }
    }

    /// What the interface had counted; `counters` are those that every interface has.
    ///
    /// # Errors
    /// Those of the system. An interface that has gone meanwhile is an error, too.
    pub fn read(
        &mut self,
        counters: &InterfaceCounters,
        standard: Option<&LinkStatisticsSocket>,
    ) -> io::Result<Reading> {
        if self.speed.is_none() || self.speed_of != counters.carrier_changes {
            self.speed = ethtool::speed(&counters.name).map(|megabits| u64::from(megabits) * MEGABIT);
            self.speed_of = counters.carrier_changes;
        }
        let reading = match &mut self.counters {
            Counters::Driver(chosen) => {
                let (statistics, names) = &mut **chosen;
                statistics.poll()?;
                let statistics = &*statistics;
                let mut reading = names.reading(&|name| statistics.value(name));
                if self.also_standard {
                    let statistics = standard.and_then(|socket| socket.named(&counters.name).transpose());
                    let statistics = statistics.ok_or(io::ErrorKind::NotFound)??;
                    complete(&mut reading, statistics.fec.as_ref());
                }
                reading
            }
            Counters::Standard => {
                let statistics = standard.and_then(|socket| socket.named(&counters.name).transpose());
                let statistics = statistics.ok_or(io::ErrorKind::NotFound)??;
                if let Some(megabits) = statistics.speed_mbps {
                    self.speed = Some(u64::from(megabits) * MEGABIT);
                }
                of_standard(&statistics).ok_or(io::ErrorKind::NotFound)?
            }
            Counters::Kernel => Reading {
                good_frames: counters.rx_packets,
                corrupted_frames: Some(counters.rx_crc_errors),
                ..Reading::default()
            },
        };
        Ok(Reading {
            up: Some(counters.carrier),
            carrier_changes: counters.carrier_changes.map(u64::from),
            speed: self.speed,
            // An index is not given to another interface.
            epoch: Some(u64::from(counters.index)),
            ..reading
        })
    }
}

/// How many codewords were corrected, and how many could not be. Blocks that are counted by lane are not codewords of a
/// Reed-Solomon code, which has its codewords on all lanes.
fn codewords(fec: Option<&FecStatistics>) -> Option<(Option<u64>, u64)> {
    let fec = fec.filter(|fec| fec.uncorrectable_blocks.lanes.is_empty())?;
    Some((fec.corrected_blocks.total, fec.uncorrectable_blocks.total?))
}

/// Adds the codewords that the standard counts.
fn complete(reading: &mut Reading, fec: Option<&FecStatistics>) {
    if let Some((corrected, uncorrectable)) = codewords(fec) {
        let of = reading.fec.get_or_insert_default();
        of.corrected_codewords = of.corrected_codewords.or(corrected);
        of.uncorrectable_codewords = Some(uncorrectable);
    }
}

/// The standard's counters, if the driver has those that are needed.
fn of_standard(statistics: &LinkStatistics) -> Option<Reading> {
    let corrupted = statistics.frame_check_sequence_errors?;
    // A bit that is lost or added leaves no whole bytes; such frames are counted apart.
    let corrupted = corrupted.saturating_add(statistics.alignment_errors.unwrap_or_default());
    let fec = statistics.fec.as_ref().map(|fec| FecReading {
        corrected_codewords: fec.corrected_blocks.total,
        uncorrectable_codewords: fec.uncorrectable_blocks.total,
        corrected_bits: fec.corrected_bits.total,
        lane_corrected_bits: Lanes::new(fec.corrected_bits.lanes.iter().copied()),
        codewords: None,
    });
    Some(Reading {
        good_frames: statistics.frames_received_ok?,
        corrupted_frames: Some(corrupted),
        fec: fec.filter(|fec| *fec != FecReading::default()),
        ..Reading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_linux::link_statistics::{FecCounter, FecStatistics};

    #[test]
    fn codewords_of_the_standard_complete_what_a_driver_counts() {
        let total = |total| FecCounter { total: Some(total), ..FecCounter::default() };
        let mut fec = FecStatistics {
            corrected_blocks: total(5),
            uncorrectable_blocks: total(2),
            ..FecStatistics::default()
        };
        let completed = |fec: &FecStatistics| {
            let own = FecReading { corrected_bits: Some(9), ..FecReading::default() };
            let mut reading = Reading { fec: Some(own), ..Reading::default() };
            complete(&mut reading, Some(fec));
            reading.fec.map(|fec| (fec.corrected_bits, fec.corrected_codewords, fec.uncorrectable_codewords))
        };
        assert_eq!(completed(&fec), Some((Some(9), Some(5), Some(2))));
        fec.uncorrectable_blocks.lanes = vec![1, 1];
        assert_eq!(completed(&fec), Some((Some(9), None, None)), "blocks of a Fire code");
    }

    #[test]
    fn the_standard_counts_frames_that_are_not_whole_bytes_apart() {
        let total = |total| FecCounter { total: Some(total), ..FecCounter::default() };
        let fec = FecStatistics { corrected_blocks: total(5), ..FecStatistics::default() };
        let mut statistics = LinkStatistics {
            frames_received_ok: Some(100),
            frame_check_sequence_errors: Some(3),
            alignment_errors: Some(2),
            fec: Some(fec),
            ..LinkStatistics::default()
        };
        let reading = of_standard(&statistics).expect("enough");
        assert_eq!((reading.good_frames, reading.corrupted_frames), (100, Some(5)));
        assert_eq!(reading.fec.and_then(|fec| fec.corrected_codewords), Some(5));
        statistics.frame_check_sequence_errors = None;
        assert_eq!(of_standard(&statistics), None);
    }
}
