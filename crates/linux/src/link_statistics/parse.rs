//! Answers of the `ethtool` family, from their bytes. Names in capitals are those of `linux/ethtool_netlink.h`. What is
//! not known is passed over, because newer kernels add groups and counters; what is cut off is as if it were not there.

use super::{
    ETHTOOL_A_HEADER_DEV_INDEX, ETHTOOL_A_HEADER_DEV_NAME, ETHTOOL_STATS_ETH_MAC, ETHTOOL_STATS_ETH_PHY,
    ETHTOOL_STATS_RMON, FecCounter, FecStatistics, LANES_MAX, LinkStatistics, ReceivedSize, SIZES_MAX,
};
use crate::netlink::{attribute, attributes, text_of, u32_of, u64_of};

const ETHTOOL_A_STATS_GRP: u16 = 4;
const ETHTOOL_A_STATS_GRP_ID: u16 = 2;
const ETHTOOL_A_STATS_GRP_STAT: u16 = 4;
const ETHTOOL_A_STATS_GRP_HIST_RX: u16 = 5;
const ETHTOOL_A_STATS_GRP_HIST_BKT_LOW: u16 = 7;
const ETHTOOL_A_STATS_GRP_HIST_BKT_HI: u16 = 8;
const ETHTOOL_A_STATS_GRP_HIST_VAL: u16 = 9;

const ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR: u16 = 0;

const ETHTOOL_A_STATS_ETH_MAC_2_TX_PKT: u16 = 0;
const ETHTOOL_A_STATS_ETH_MAC_5_RX_PKT: u16 = 3;
const ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR: u16 = 4;
const ETHTOOL_A_STATS_ETH_MAC_7_ALIGN_ERR: u16 = 5;
const ETHTOOL_A_STATS_ETH_MAC_14_RX_BYTES: u16 = 12;
const ETHTOOL_A_STATS_ETH_MAC_15_RX_INT_ERR: u16 = 13;
const ETHTOOL_A_STATS_ETH_MAC_21_RX_MCAST: u16 = 17;
const ETHTOOL_A_STATS_ETH_MAC_22_RX_BCAST: u16 = 18;
const ETHTOOL_A_STATS_ETH_MAC_23_IR_LEN_ERR: u16 = 19;
const ETHTOOL_A_STATS_ETH_MAC_24_OOR_LEN: u16 = 20;
const ETHTOOL_A_STATS_ETH_MAC_25_TOO_LONG_ERR: u16 = 21;

const ETHTOOL_A_STATS_RMON_UNDERSIZE: u16 = 0;
const ETHTOOL_A_STATS_RMON_OVERSIZE: u16 = 1;
const ETHTOOL_A_STATS_RMON_FRAG: u16 = 2;
const ETHTOOL_A_STATS_RMON_JABBER: u16 = 3;

const ETHTOOL_A_FEC_STATS: u16 = 5;
const ETHTOOL_A_FEC_STAT_CORRECTED: u16 = 2;
const ETHTOOL_A_FEC_STAT_UNCORR: u16 = 3;
const ETHTOOL_A_FEC_STAT_CORR_BITS: u16 = 4;

const ETHTOOL_A_LINKMODES_SPEED: u16 = 5;
/// What drivers say that do not know their speed (`linux/ethtool.h`).
const SPEED_UNKNOWN: u32 = u32::MAX;

/// Index and name of the interface that an answer is about. `header` is the kind of the attribute that says it.
pub(super) fn interface(answer: &[u8], header: u16) -> Option<(u32, String)> {
    let header = attribute(answer, header)?;
    let index = u32_of(attribute(header, ETHTOOL_A_HEADER_DEV_INDEX)?)?;
    Some((index, text_of(attribute(header, ETHTOOL_A_HEADER_DEV_NAME)?)))
}

/// Takes all counters of an answer to `ETHTOOL_MSG_STATS_GET`.
pub(super) fn groups(answer: &[u8], statistics: &mut LinkStatistics) {
    for (_, group) in attributes(answer).filter(|(kind, _)| *kind == ETHTOOL_A_STATS_GRP) {
        let Some(id) = attribute(group, ETHTOOL_A_STATS_GRP_ID).and_then(u32_of) else { continue };
        for (kind, value) in attributes(group) {
            match kind {
                ETHTOOL_A_STATS_GRP_STAT => counters(id, value, statistics),
                ETHTOOL_A_STATS_GRP_HIST_RX if statistics.received_sizes.len() < SIZES_MAX => {
                    statistics.received_sizes.extend(received_size(value));
                }
                _ => {}
            }
        }
    }
}

fn counters(group: u32, values: &[u8], statistics: &mut LinkStatistics) {
    for (kind, value) in attributes(values) {
        if let (Some(place), Some(value)) = (counter(group, kind, statistics), u64_of(value)) {
            *place = Some(value);
        }
    }
}

/// Where a counter belongs.
fn counter(group: u32, kind: u16, to: &mut LinkStatistics) -> Option<&mut Option<u64>> {
    Some(match (group, kind) {
        (ETHTOOL_STATS_ETH_PHY, ETHTOOL_A_STATS_ETH_PHY_5_SYM_ERR) => &mut to.symbol_errors,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_2_TX_PKT) => &mut to.frames_sent_ok,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_5_RX_PKT) => &mut to.frames_received_ok,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_6_FCS_ERR) => &mut to.frame_check_sequence_errors,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_7_ALIGN_ERR) => &mut to.alignment_errors,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_14_RX_BYTES) => &mut to.octets_received_ok,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_15_RX_INT_ERR) => &mut to.frames_lost_inside,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_21_RX_MCAST) => &mut to.multicast_frames_received_ok,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_22_RX_BCAST) => &mut to.broadcast_frames_received_ok,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_23_IR_LEN_ERR) => &mut to.in_range_length_errors,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_24_OOR_LEN) => &mut to.out_of_range_length_fields,
        (ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_25_TOO_LONG_ERR) => &mut to.frame_too_long_errors,
        (ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_UNDERSIZE) => &mut to.undersize_frames,
        (ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_OVERSIZE) => &mut to.oversize_frames,
        (ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_FRAG) => &mut to.fragments,
        (ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_JABBER) => &mut to.jabbers,
        _ => return None,
    })
}

fn received_size(values: &[u8]) -> Option<ReceivedSize> {
    Some(ReceivedSize {
        from_bytes: u32_of(attribute(values, ETHTOOL_A_STATS_GRP_HIST_BKT_LOW)?)?,
        to_bytes: u32_of(attribute(values, ETHTOOL_A_STATS_GRP_HIST_BKT_HI)?)?,
        frames: u64_of(attribute(values, ETHTOOL_A_STATS_GRP_HIST_VAL)?)?,
    })
}

/// What an answer to `ETHTOOL_MSG_FEC_GET` counts; `None` if it counts nothing.
pub(super) fn fec(answer: &[u8]) -> Option<FecStatistics> {
    let counters = attribute(answer, ETHTOOL_A_FEC_STATS)?;
    // The total, then each lane. The kernel leaves it empty where the driver does not count.
    let counter = |kind| {
        let mut numbers = attribute(counters, kind).unwrap_or_default().chunks_exact(8).filter_map(u64_of);
        FecCounter { total: numbers.next(), lanes: numbers.take(LANES_MAX).collect() }
    };
    let fec = FecStatistics {
        corrected_blocks: counter(ETHTOOL_A_FEC_STAT_CORRECTED),
        uncorrectable_blocks: counter(ETHTOOL_A_FEC_STAT_UNCORR),
        corrected_bits: counter(ETHTOOL_A_FEC_STAT_CORR_BITS),
    };
    (fec != FecStatistics::default()).then_some(fec)
}

/// Mb/s in an answer to `ETHTOOL_MSG_LINKMODES_GET`.
pub(super) fn speed_mbps(answer: &[u8]) -> Option<u32> {
    let speed = u32_of(attribute(answer, ETHTOOL_A_LINKMODES_SPEED)?)?;
    (speed != 0 && speed != SPEED_UNKNOWN).then_some(speed)
}
