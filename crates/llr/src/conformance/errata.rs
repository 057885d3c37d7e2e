//! Errors in public test plans and other texts about LLR.

/// A published statement that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erratum {
    /// Where it was published.
    pub source: &'static str,
    pub says: &'static str,
    pub instead: &'static str,
    /// What shows that the statement is wrong.
    pub evidence: &'static str,
    /// The case that demonstrates it; empty if none does.
    pub shown_by: &'static str,
}

/// All errors found so far.
pub const ERRATA: [Erratum; 10] = [
    Erratum {
        source: "LLR & CBFC Test Plan, LLR-03",
        says: "RX_EXPECTED_SEQ_BAD is 1,000",
        instead: "it is 1: only one frame with the expected number was bad",
        evidence: "only one frame is damaged",
        shown_by: "LLR-03",
    },
    Erratum {
        source: "LLR & CBFC Test Plan, LLR-05",
        says: "1,000 frames of the largest size give TX_OK 4,000",
        instead: "only if they are sent before the replay timer runs out",
        evidence: "1,000 x 9,216 B take 185 us at 400 Gb/s and 92 us at 800 Gb/s; the register holds 65.5 us",
        shown_by: "LLR-05",
    },
    Erratum {
        source: "LLR_Testplan, case 5",
        says: "numbers wrap after 524,287",
        instead: "they wrap after 1,048,575; at most 524,288 may be outstanding",
        evidence: "20 bits; FBOSS refuses 524,289 outstanding frames; Xena, OTG",
        shown_by: "TP2-05",
    },
    Erratum {
        source: "LLR_Testplan, case 12",
        says: "TX_DISCARD counts frames that overflow the replay buffer",
        instead: "it counts new frames that are discarded in INIT or FLUSH; a full buffer blocks instead",
        evidence: "the wording of SAI's header",
        shown_by: "LLR-07",
    },
    Erratum {
        source: "LLR_Testplan, case 16",
        says: "RX_MISSING_SEQ matches the size of a burst",
        instead: "it counts the frames that arrive after a gap",
        evidence: "the wording of SAI's header",
        shown_by: "TP2-16",
    },
    Erratum {
        source: "LLR_Testplan, throughput",
        says: "with 2 % of frames lost, throughput is at least 95 % of the line rate",
        instead: "(1 - p) / (1 - p + p W): 94 %, 80 % and 41 % for loops of 3, 12 and 70 frames",
        evidence: "go-back-N retransmits a whole loop of frames for each loss",
        shown_by: "TP2-throughput",
    },
    Erratum {
        source: "SAI, example of a profile",
        says: "a replay count of 255 limits replays",
        instead: "255 means no limit: in that profile, the count never causes a FLUSH",
        evidence: "SAI's header, FBOSS, Xena, OTG",
        shown_by: "",
    },
    Erratum {
        source: "SONiC, scale-up design",
        says: "LLR retransmits only lost frames",
        instead: "it retransmits everything after the last confirmed number",
        evidence: "SAI; the authors' overview (arXiv 2508.08906, section 3.5)",
        shown_by: "LLR-04",
    },
    Erratum {
        source: "a taxonomy of Ultra Ethernet messages",
        says: "the preamble has the delimiter DD and a 24-bit number",
        instead: "D5 and 20 bits",
        evidence: "an article on the wire format; SAI, FBOSS, OTG and Xena agree on 20 bits",
        shown_by: "",
    },
    Erratum {
        source: "Xena, example of a configuration",
        says: "1,000 bytes may be outstanding",
        instead: "with this limit, frames above 1,000 bytes are never sent",
        evidence: "the limit is the link's bandwidth-delay product",
        shown_by: "",
    },
];
