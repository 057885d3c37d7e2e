//! What the hardware of a link counts, as the standard of Ethernet (IEEE 802.3, clause 30) and RMON (RFC 2819) define
//! it, and what forward error correction does (generic netlink family `ethtool`, Linux 5.13). Drivers differ in which
//! counters they have; what they leave out is `None`.

mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;

use netlink_packet_core::DefaultNla;

use crate::dump::Dump;
use crate::generic_netlink::{Attributes, Family, nested};
use crate::netlink::may_be_a_name;

// Commands, and what is common to all requests (`linux/ethtool_netlink.h`).
const ETHTOOL_MSG_LINKMODES_GET: u8 = 4;
const ETHTOOL_MSG_FEC_GET: u8 = 29;
const ETHTOOL_MSG_STATS_GET: u8 = 32;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
const ETHTOOL_FLAG_COMPACT_BITSETS: u32 = 1 << 0;
const ETHTOOL_FLAG_STATS: u32 = 1 << 2;

/// `ETHTOOL_A_FEC_HEADER` and `ETHTOOL_A_LINKMODES_HEADER`.
const HEADER: u16 = 1;
const ETHTOOL_A_STATS_HEADER: u16 = 2;
const ETHTOOL_A_STATS_GROUPS: u16 = 3;
const ETHTOOL_A_BITSET_NOMASK: u16 = 1;
const ETHTOOL_A_BITSET_SIZE: u16 = 2;
const ETHTOOL_A_BITSET_VALUE: u16 = 4;

// The groups of counters, which are also the bits of the set that is asked for.
const ETHTOOL_STATS_ETH_PHY: u32 = 0;
const ETHTOOL_STATS_ETH_MAC: u32 = 1;
const ETHTOOL_STATS_RMON: u32 = 3;
/// As many as the first kernel with these counters knows.
const GROUPS: u32 = 4;

/// The counters of a link since its driver was loaded, in frames unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Symbols that were not valid while a frame was received (aSymbolErrorDuringCarrier).
    pub symbol_errors: Option<u64>,
    /// Sent without an error (aFramesTransmittedOK).
    pub frames_sent_ok: Option<u64>,
    /// Received without an error, whatever their destination (aFramesReceivedOK).
    pub frames_received_ok: Option<u64>,
    /// Bytes of payload and padding in these frames (aOctetsReceivedOK).
    pub octets_received_ok: Option<u64>,
    /// Those of them to a group (aMulticastFramesReceivedOK).
    pub multicast_frames_received_ok: Option<u64>,
    /// Those of them to all (aBroadcastFramesReceivedOK).
    pub broadcast_frames_received_ok: Option<u64>,
    /// Received in whole bytes with a wrong check sequence (aFrameCheckSequenceErrors).
    pub frame_check_sequence_errors: Option<u64>,
    /// Received not in whole bytes and with a wrong check sequence (aAlignmentErrors).
    pub alignment_errors: Option<u64>,
    /// Would have been received, but for an error inside the device (aFramesLostDueToIntMACRcvError).
    pub frames_lost_inside: Option<u64>,
    /// Received with another length than they state (aInRangeLengthErrors).
    pub in_range_length_errors: Option<u64>,
    /// Received with a length field that is none, and no type (aOutOfRangeLengthField).
    pub out_of_range_length_fields: Option<u64>,
    /// Received longer than is allowed (aFrameTooLongErrors).
    pub frame_too_long_errors: Option<u64>,
    /// Received shorter than 64 bytes, with a right check sequence (etherStatsUndersizePkts).
    pub undersize_frames: Option<u64>,
    /// Received longer than 1,518 bytes, or what the driver allows, with a right check sequence (etherStatsOversizePkts).
    pub oversize_frames: Option<u64>,
    /// Received shorter than 64 bytes, with a wrong check sequence (etherStatsFragments).
    pub fragments: Option<u64>,
    /// Received longer than allowed, with a wrong check sequence (etherStatsJabbers).
    pub jabbers: Option<u64>,
    /// Received, by size; empty if the driver does not count this. At most [`SIZES_MAX`].
    pub received_sizes: Vec<ReceivedSize>,
    /// What forward error correction has done; `None` without counters of it.
    pub fec: Option<FecStatistics>,
    /// Mb/s; `None` without a carrier, or if the driver does not know.
    pub speed_mbps: Option<u32>,
}

/// How many frames of some sizes were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedSize {
    /// Size of the smallest, in bytes with the check sequence.
    pub from_bytes: u32,
    /// Size of the largest; some drivers have 0 or the largest number for no bound.
    pub to_bytes: u32,
    /// Good ones and bad ones, or good ones only, depending on the driver.
    pub frames: u64,
}

/// Most sizes that are told apart; the kernel has at most 10 (`ETHTOOL_RMON_HIST_MAX`).
pub const SIZES_MAX: usize = 32;
/// Most lanes of a link; the kernel has at most 8 (`ETHTOOL_MAX_LANES`).
pub const LANES_MAX: usize = 32;

/// What forward error correction has done to received blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FecStatistics {
    /// Blocks with errors that were corrected (`ETHTOOL_A_FEC_STAT_CORRECTED`).
    pub corrected_blocks: FecCounter,
    /// Blocks with more errors than can be corrected (`ETHTOOL_A_FEC_STAT_UNCORR`).
    pub uncorrectable_blocks: FecCounter,
    /// Corrected bits (`ETHTOOL_A_FEC_STAT_CORR_BITS`).
    pub corrected_bits: FecCounter,
}

/// A counter of forward error correction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FecCounter {
    /// The sum of the lanes where the driver counts by lane.
    pub total: Option<u64>,
    /// Each lane; empty if the driver has only the total. At most [`LANES_MAX`].
    pub lanes: Vec<u64>,
}

/// An interface and the counters of its link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceLinkStatistics {
    /// Its index in the kernel, which stays the same when the interface is renamed.
    pub index: u32,
    /// Its name now.
    pub name: String,
    /// What its driver counts.
    pub statistics: LinkStatistics,
}

/// A socket for these requests. It belongs to the network namespace in which it was opened, wherever it is used.
pub struct LinkStatisticsSocket(Family);

/// What a request is about.
#[derive(Clone, Copy)]
enum About<'a> {
    Everything,
    Index(u32),
    Name(&'a str),
}

impl LinkStatisticsSocket {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::NotFound`] if the kernel is older than the family (Linux 5.6).
    pub fn open() -> io::Result<LinkStatisticsSocket> {
        Family::find("ethtool").map(LinkStatisticsSocket)
    }

    /// The counters of the interface with this name; `None` if there is none, or if its driver has put it to sleep.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::Unsupported`] if the kernel has no such counters (before Linux 5.13).
    pub fn named(&self, interface: &str) -> io::Result<Option<LinkStatistics>> {
        if !may_be_a_name(interface) {
            return Ok(None);
        }
        let about = About::Name(interface);
        let mut statistics = LinkStatistics::default();
        match self.0.request(ETHTOOL_MSG_STATS_GET, request(ETHTOOL_MSG_STATS_GET, about)) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            answer => parse::groups(answer?.bytes(), &mut statistics),
        }
        for command in [ETHTOOL_MSG_FEC_GET, ETHTOOL_MSG_LINKMODES_GET] {
            // A driver that refuses this is like one that does not count.
            if let Ok(answer) = self.0.request(command, request(command, about)) {
                take(command, &answer, &mut statistics);
            }
        }
        Ok(Some(statistics))
    }

    /// The counters of all interfaces, ordered by index. The kernel holds its lock of all interfaces while it asks one
    /// driver after the other, and some ask their hardware; so this is for every few seconds, and
    /// [`crate::interface_counters`] for every second.
    ///
    /// # Errors
    /// See [`LinkStatisticsSocket::named`].
    pub fn all(&self) -> io::Result<Dump<InterfaceLinkStatistics>> {
        let dump = |command| self.0.dump(command, request(command, About::Everything));
        let Dump { answers, mut consistent } = dump(ETHTOOL_MSG_STATS_GET)?;
        let mut found: BTreeMap<u32, InterfaceLinkStatistics> = BTreeMap::new();
        for answer in answers {
            let Some((index, name)) = parse::interface(answer.bytes(), ETHTOOL_A_STATS_HEADER) else {
                continue;
            };
            let mut statistics = LinkStatistics::default();
            parse::groups(answer.bytes(), &mut statistics);
            found.insert(index, InterfaceLinkStatistics { index, name, statistics });
        }
        for command in [ETHTOOL_MSG_FEC_GET, ETHTOOL_MSG_LINKMODES_GET] {
            if let Ok(dump) = dump(command) {
                consistent &= dump.consistent;
                for answer in dump.answers {
                    let index = parse::interface(answer.bytes(), HEADER).map(|(index, _)| index);
                    if let Some(interface) = index.and_then(|index| found.get_mut(&index)) {
                        take(command, &answer, &mut interface.statistics);
                    }
                }
                continue;
            }
            // The kernel ends a dump at the first driver that refuses, so each of them is asked.
            for interface in found.values_mut() {
                if let Ok(answer) = self.0.request(command, request(command, About::Index(interface.index))) {
                    take(command, &answer, &mut interface.statistics);
                }
            }
        }
        Ok(Dump { answers: found.into_values().collect(), consistent })
    }
}

fn take(command: u8, answer: &Attributes, statistics: &mut LinkStatistics) {
    match command {
        ETHTOOL_MSG_FEC_GET => statistics.fec = parse::fec(answer.bytes()),
        _ => statistics.speed_mbps = parse::speed_mbps(answer.bytes()),
    }
}

/// The attributes of a request.
fn request(command: u8, about: About<'_>) -> Vec<DefaultNla> {
    let number = |kind, number: u32| DefaultNla::new(kind, number.to_ne_bytes().to_vec());
    let mut flags = ETHTOOL_FLAG_COMPACT_BITSETS;
    if command == ETHTOOL_MSG_FEC_GET {
        flags |= ETHTOOL_FLAG_STATS;
    }
    let mut header = vec![number(ETHTOOL_A_HEADER_FLAGS, flags)];
    match about {
        About::Everything => {}
        About::Index(index) => header.push(number(ETHTOOL_A_HEADER_DEV_INDEX, index)),
        About::Name(name) => {
            header.push(DefaultNla::new(ETHTOOL_A_HEADER_DEV_NAME, [name.as_bytes(), &[0]].concat()));
        }
    }
    if command != ETHTOOL_MSG_STATS_GET {
        return vec![nested(HEADER, &header)];
    }
    let wanted = 1 << ETHTOOL_STATS_ETH_PHY | 1 << ETHTOOL_STATS_ETH_MAC | 1 << ETHTOOL_STATS_RMON;
    let groups = [
        DefaultNla::new(ETHTOOL_A_BITSET_NOMASK, Vec::new()),
        number(ETHTOOL_A_BITSET_SIZE, GROUPS),
        number(ETHTOOL_A_BITSET_VALUE, wanted),
    ];
    vec![nested(ETHTOOL_A_STATS_HEADER, &header), nested(ETHTOOL_A_STATS_GROUPS, &groups)]
}
