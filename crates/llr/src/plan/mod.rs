//! Plans the parameters of a port: each step of the arithmetic is data, so that a command can print it.
//!
//! There are two questions. [`budget`] starts from a replay buffer, as Meta did, and computes how much of the round
//! trip is left for the cable. [`plan`] starts from a cable and computes how much the port must be able to hold.

mod budget;
mod link;

pub use budget::{Budget, budget};
pub use link::{Plan, PlanInput, go_back_n_throughput, plan};

use crate::time::Span;

/// One step of the arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: &'static str,
    /// How the value was computed, in numbers.
    pub arithmetic: String,
    pub value: f64,
    /// `ns`, `B`, `frames`, `m`, `replays`, `years`, or empty for a share.
    pub unit: &'static str,
    /// The source of the rule.
    pub source: &'static str,
}

/// Light in fibre and signals in copper take about 5 ns per metre.
pub(crate) const NS_PER_METRE: u64 = 5;
/// The smallest Ethernet frame, which determines how many frames fit into a number of bytes.
pub(crate) const FRAME_BYTES_MIN: u64 = 64;
/// Meta's budget for a control ordered set, from the time it is due until it has been read.
const CONTROL: Span = Span(8_000);
/// Meta's budget for a header, and for an alignment marker, at 400 Gb/s.
const HEADER: Span = Span(5_100);
const MARKER: Span = Span(5_100);

/// What is subtracted from, or added to, the time on the cable.
fn overheads(rate_bps: u64, phy: Span, mtu_bytes: u32, spacing_bytes: u32) -> (Span, Vec<Step>) {
    let twice = |octets: u32| Span(Span::of_octets(octets.into(), rate_bps).0 * 2);
    let (frames, spacings) = (twice(mtu_bytes), twice(spacing_bytes));
    let meta = "Meta's budget (FBOSS)";
    let step = |name, arithmetic: String, span: Span, source| Step {
        name,
        arithmetic,
        value: span.as_nanos_f64(),
        unit: "ns",
        source,
    };
    let steps = vec![
        step("PHY, both ways", "as given".to_owned(), phy, meta),
        step("a full frame each way", format!("2 x {mtu_bytes} B"), frames, meta),
        step("an interval of ACKs each way", format!("2 x {spacing_bytes} B"), spacings, meta),
        step("control ordered set", "8 ns".to_owned(), CONTROL, meta),
        step("header", "5.1 ns".to_owned(), HEADER, meta),
        step("alignment marker", "5.1 ns".to_owned(), MARKER, meta),
    ];
    (phy + frames + spacings + CONTROL + HEADER + MARKER, steps)
}
