//! What the counters of a port are called: in OpenConfig's models, in SAI (and so in SONiC's database), and in FBOSS.
//!
//! The table in docs/corruptd.md is made of this. OpenConfig's names are those of `openconfig-interfaces`,
//! `openconfig-if-ethernet` and `openconfig-platform-transceiver` of July 2026, and beneath `phy` those that NVIDIA's Cumulus
//! Linux 5.15 adds. SAI's are in `saiport.h`, FBOSS's in `hardware_stats.thrift` (`HwPortStats`).

use crate::counters::ERRORS_COUNTED;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counter {
    AllFrames,
    Unicast,
    Multicast,
    Broadcast,
    NotUnicast,
    Errors,
    CheckSequence,
    CheckSequenceUsualLength,
    Fragments,
    Jabbers,
    Oversize,
    OversizeToo,
    Undersize,
    SymbolErrors,
    Transitions,
    CorrectedCodewords,
    Uncorrectable,
    CorrectedBits,
    LaneBitErrors,
    Poisoned,
    LlrBad,
    LlrNacks,
    LlrReplays,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Names {
    pub counter: Counter,
    /// What it counts, as the documentation says it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the documentation is made of it"))]
    pub what: &'static str,
    /// Paths beneath `interfaces/interface[name=…]`, or beneath `components/component[name=…]` where they begin with
    /// `transceiver`; the first that a device has is taken.
    pub openconfig: &'static [&'static str],
    /// Without `SAI_PORT_STAT_`; empty if SAI has no such counter, or none that is read.
    pub sai: &'static str,
    /// The field of `HwPortStats`; empty if there is none.
    #[cfg_attr(not(test), expect(dead_code, reason = "the documentation is made of it"))]
    pub fboss: &'static str,
}

const fn names(
    counter: Counter,
    what: &'static str,
    openconfig: &'static [&'static str],
    sai: &'static str,
    fboss: &'static str,
) -> Names {
    Names { counter, what, openconfig, sai, fboss }
}

/// All of them, in the order of [`Counter`].
pub(super) const NAMES: [Names; 23] = [
    names(Counter::AllFrames, "all frames, bad ones among them", &["state/counters/in-pkts"], "", ""),
    names(
        Counter::Unicast,
        "intact unicast frames",
        &["state/counters/in-unicast-pkts"],
        "SAI_PORT_STAT_IF_IN_UCAST_PKTS",
        "inUnicastPkts_",
    ),
    names(
        Counter::Multicast,
        "intact multicast frames",
        &["state/counters/in-multicast-pkts"],
        "SAI_PORT_STAT_IF_IN_MULTICAST_PKTS",
        "inMulticastPkts_",
    ),
    names(
        Counter::Broadcast,
        "intact broadcast frames",
        &["state/counters/in-broadcast-pkts"],
        "SAI_PORT_STAT_IF_IN_BROADCAST_PKTS",
        "inBroadcastPkts_",
    ),
    names(
        Counter::NotUnicast,
        "intact multicast and broadcast frames",
        &[],
        "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS",
        "",
    ),
    names(
        Counter::Errors,
        "frames with any error",
        &["state/counters/in-errors"],
        "SAI_PORT_STAT_IF_IN_ERRORS",
        "inErrors_",
    ),
    names(
        Counter::CheckSequence,
        "frames with a wrong check sequence",
        &["state/counters/in-fcs-errors", "ethernet/state/counters/in-fcs-errors"],
        "",
        "",
    ),
    names(
        Counter::CheckSequenceUsualLength,
        "those of 64 to 1,518 bytes",
        &["ethernet/state/counters/in-crc-errors"],
        "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS",
        "",
    ),
    names(
        Counter::Fragments,
        "those that are shorter",
        &["ethernet/state/counters/in-fragment-frames"],
        "SAI_PORT_STAT_ETHER_STATS_FRAGMENTS",
        "",
    ),
    names(
        Counter::Jabbers,
        "those that are longer",
        &["ethernet/state/counters/in-jabber-frames"],
        "SAI_PORT_STAT_ETHER_STATS_JABBERS",
        "",
    ),
    names(
        Counter::Oversize,
        "intact frames that are too long",
        &["ethernet/state/counters/in-oversize-frames"],
        "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS",
        "",
    ),
    names(
        Counter::OversizeToo,
        "the same, where only this is counted",
        &[],
        "SAI_PORT_STAT_ETHER_STATS_OVERSIZE_PKTS",
        "",
    ),
    names(
        Counter::Undersize,
        "intact frames that are too short",
        &["ethernet/state/counters/in-undersize-frames"],
        "SAI_PORT_STAT_ETHER_STATS_UNDERSIZE_PKTS",
        "",
    ),
    names(
        Counter::SymbolErrors,
        "frames with invalid symbols",
        &["ethernet/state/counters/in-symbol-error", "phy/state/symbol-errors"],
        "",
        "",
    ),
    names(
        Counter::Transitions,
        "how often the port went up or down",
        &[
            "state/counters/link-transitions",
            "state/counters/interface-transitions",
            "state/counters/carrier-transitions",
        ],
        "",
        "",
    ),
    names(
        Counter::CorrectedCodewords,
        "codewords that were corrected",
        &["ethernet/state/counters/fec-corrected-blocks", "transceiver/state/fec-corrected-blocks"],
        "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES",
        "fecCorrectableErrors",
    ),
    names(
        Counter::Uncorrectable,
        "codewords that could not be corrected",
        &[
            "ethernet/state/counters/fec-uncorrectable-blocks",
            "phy/fec/state/rs-fec-uncorrectable-blocks",
            "transceiver/state/fec-uncorrectable-blocks",
            "transceiver/state/fec-uncorrectable-words",
        ],
        "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
        "fecUncorrectableErrors",
    ),
    names(
        Counter::CorrectedBits,
        "bits that were corrected",
        &["phy/fec/state/corrected-bits", "transceiver/state/fec-corrected-bits"],
        "SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS",
        "fecCorrectedBits_",
    ),
    names(
        Counter::LaneBitErrors,
        "wrong bits of each lane",
        &["phy/channels/channel/state/raw-errors"],
        "",
        "",
    ),
    names(Counter::Poisoned, "frames that arrived poisoned (LLR)", &[], "SAI_PORT_STAT_LLR_RX_POISONED", ""),
    names(Counter::LlrBad, "damaged frames (LLR)", &[], "SAI_PORT_STAT_LLR_RX_BAD", ""),
    names(
        Counter::LlrNacks,
        "gaps for which frames were demanded again (LLR)",
        &[],
        "SAI_PORT_STAT_LLR_TX_NACK_CTL_OS",
        "llrTxNackCtlOs_",
    ),
    names(Counter::LlrReplays, "replays (LLR)", &[], "SAI_PORT_STAT_LLR_RX_REPLAY", "llrRxReplay_"),
];

/// Codewords by how many of their symbols were wrong, in SAI. FBOSS has them in `fecCodewords_`.
pub(super) const SAI_CODEWORDS: [&str; ERRORS_COUNTED] = [
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S0",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S1",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S2",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S3",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S4",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S5",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S6",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S7",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S8",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S9",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S10",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S11",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S12",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S13",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S14",
    "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S15",
];

impl Counter {
    /// Its row.
    pub const fn names(self) -> &'static Names {
        &NAMES[self as usize]
    }

    /// What SAI calls it.
    pub const fn sai(self) -> &'static str {
        self.names().sai
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the documentation.
    fn table() -> String {
        let mut table =
            "| counter | OpenConfig | SAI, `SAI_PORT_STAT_` | FBOSS |\n| --- | --- | --- | --- |\n"
                .to_owned();
        let code = |name: &str| if name.is_empty() { String::new() } else { format!("`{name}`") };
        let sai = |name: &str| code(name.trim_start_matches("SAI_PORT_STAT_"));
        for names in &NAMES {
            let paths: Vec<String> = names.openconfig.iter().map(|path| code(path)).collect();
            let (sai, fboss) = (sai(names.sai), code(names.fboss));
            table += &format!("| {} | {} | {sai} | {fboss} |\n", names.what, paths.join(", "));
        }
        let (first, last) = (sai(SAI_CODEWORDS[0]), sai(SAI_CODEWORDS[ERRORS_COUNTED - 1]));
        table + &format!("| codewords by their wrong symbols | | {first} to {last} | `fecCodewords_` |\n")
    }

    #[test]
    fn every_counter_is_in_its_row_and_no_name_is_twice() {
        let mut all: Vec<&str> = Vec::new();
        for (index, names) in NAMES.iter().enumerate() {
            assert_eq!(names.counter as usize, index, "{names:?}");
            assert!(!names.openconfig.is_empty() || !names.sai.is_empty(), "nothing reads {names:?}");
            all.extend(names.openconfig.iter().copied().chain([names.sai]).filter(|name| !name.is_empty()));
        }
        all.extend(&SAI_CODEWORDS);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn the_documentation_has_the_table() {
        let documentation = include_str!("../../../../docs/corruptd.md");
        assert!(documentation.contains(&table()), "docs/corruptd.md has another table than\n{}", table());
    }
}
