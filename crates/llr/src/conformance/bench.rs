//! The test bench: two ports at 400 Gb/s. A sends, B receives, and numbers start at 1, as in the plans.

use crate::config::{Config, FrameAction};
use crate::counters::Counters;
use crate::frame::Control;
use crate::link::{A, B, Link, LinkConfig, OnWire};
use crate::time::Span;

/// Bits per second of the line.
pub(super) const RATE_BPS: u64 = 400_000_000_000;
/// The frame sizes of the plans: the smallest, and the largest that switches carry.
pub(super) const SIZES: [(&str, u32); 2] = [("64 B", 64), ("9,216 B", 9_216)];
/// 50 m of cable.
pub(super) const DELAY: Span = Span::from_nanos(250);

/// A port whose timer is long enough to expire only if ACKs are missing.
pub(super) fn config() -> Config {
    Config {
        replay_timer_ns: 60_000,
        replay_count_max: 3,
        flush_action: FrameAction::Block,
        first_sequence: 1,
        ..Config::default()
    }
}

/// A link whose ports are in ADVANCE and SEND_ACKS in both directions. It records a trace.
pub(super) fn running(config: Config, delay: Span) -> Link {
    let parameters = LinkConfig { rate_bps: RATE_BPS, delay, ports: [config, config], seed: 1 };
    let mut link = Link::new(parameters).unwrap_or_else(|error| unreachable!("{error}"));
    link.enable();
    link.run_for(Span(delay.0 * 4) + Span::from_nanos(1_000));
    link.keep_trace();
    link
}

/// Long enough for every timer of a case.
pub(super) fn finish(link: &mut Link) {
    link.run_for(Span::from_nanos(5_000_000));
}

/// A's and B's counters.
pub(super) fn counters(link: &Link) -> (Counters, Counters) {
    (link.port(A).counters(), link.port(B).counters())
}

/// Whether B has delivered exactly the frames 1 to `frames`, in order.
pub(super) fn delivers_in_order(link: &Link, frames: u64) -> bool {
    link.delivered(B).iter().map(|delivered| delivered.handle.0).eq(1..=frames)
}

/// The numbers of the NACKs that B has sent.
pub(super) fn nacks(link: &Link) -> String {
    let numbers = link.trace().iter().filter_map(|traced| match traced.what {
        OnWire::Control(Control::Nack(number)) if traced.from == B => Some(format!("NACK({number})")),
        _ => None,
    });
    numbers.collect::<Vec<String>>().join(" ")
}

/// The states of A's transmitter and B's receiver.
pub(super) fn states(link: &Link) -> String {
    format!("{:?}, {:?}", link.port(A).transmitter().state(), link.port(B).receiver().state())
}
