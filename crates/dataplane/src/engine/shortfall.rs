//! Reports parameters that are too small for a link, in terms of the configuration.

use crate::parameter_keys::parameter_key;
use linkmend_protocol::daemon_profile::{CHUNK_BYTES, LENT_CHUNKS_MAX, Overrides};
use linkmend_protocol::{Config, LinkConditions, Shortfall, WINDOW_MAX};
use linkmend_quantity::{BitRate, ByteSize, Span};
use std::time::Duration;

/// The rate of a link, and whether it is assumed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) bps: u64,
    pub(super) is_assumed: bool,
}

/// Describes the parameters that are too small for `link`, one per line, with the effect and what to set.
pub(super) fn texts(
    config: &Config,
    overrides: &Overrides,
    link: &LinkConditions,
    rate: Rate,
) -> Vec<String> {
    let assumed = if rate.is_assumed { " (assumed: `rate` is not set)" } else { "" };
    let round_trip = value("peer_timeout", link.round_trip.0);
    let describe = |shortfall: Shortfall| {
        let Shortfall { field, value: is, needed, consequence } = shortfall;
        format!(
            "{consequence}: {} = {}, but frames of {} bytes at {}{assumed} with a round trip of {round_trip} \
             need {}; hint: {}",
            parameter_key(field),
            value(field, is),
            link.frame_bytes,
            BitRate(rate.bps),
            value(field, needed),
            hint(&shortfall, overrides, link),
        )
    };
    config.shortfalls(link).map(describe).collect()
}

/// What to set. Buffers and window follow from the pool unless they are configured.
fn hint(shortfall: &Shortfall, overrides: &Overrides, link: &LinkConditions) -> String {
    let (key, needed) = (parameter_key(shortfall.field), shortfall.needed);
    if shortfall.is_beyond_reach() {
        return format!(
            "a window cannot exceed {WINDOW_MAX} frames; with longer frames it would cover more bytes"
        );
    }
    let window = |frames: u64| frames.max(1).next_power_of_two();
    let (is_set, frames) = match shortfall.field {
        "window_frames" => (overrides.window_frames.is_some(), window(needed)),
        "window_bytes" => (overrides.tx_buffer_bytes.is_some(), needed.div_ceil(CHUNK_BYTES)),
        // The pause threshold follows from the buffer: a round trip of frames must fit into the part that it leaves
        // free, which is at most three quarters of the buffer.
        "rx_buffer_bytes" => {
            let in_flight = (link.round_trip.0 / link.frame_time.0.max(1)) * u64::from(link.frame_bytes);
            let set = overrides.rx_buffer_bytes.is_some() || overrides.pause_bytes.is_some();
            (set, (in_flight * 4 / 3).div_ceil(CHUNK_BYTES))
        }
        field => return format!("set `{key}` to {} or more", value(field, needed)),
    };
    match (shortfall.field, is_set) {
        ("window_frames", true) => format!("set `{key}` to {frames} at both ends, or remove it"),
        (field, true) => {
            format!("set `{key}` to {} or more at both ends, or remove it", value(field, needed))
        }
        (_, false) => format!("set `pool` to {} or more at both ends", pool_for(frames)),
    }
}

/// The size of a pool that gives each buffer this many chunks.
fn pool_for(share_chunks: u64) -> u64 {
    share_chunks * 3 + u64::from(LENT_CHUNKS_MAX)
}

/// Formats a value of a field of [`Config`] as people write it.
fn value(field: &str, value: u64) -> String {
    match field {
        "window_bytes" | "rx_buffer_bytes" => ByteSize(value).to_string(),
        "recovery_timeout" | "peer_timeout" => Span(Duration::from_nanos(value)).to_string(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::derive::frame_time;
    use super::*;
    use linkmend_protocol::daemon_profile::{DaemonProfile, POOL_CHUNKS_DEFAULT};
    use linkmend_protocol::{Mode, Tick};

    const RATE: Rate = Rate { bps: 1_000_000_000, is_assumed: false };

    /// A link of 1 Gbit/s that loses one frame in a thousand.
    fn link(round_trip_ms: u64) -> LinkConditions {
        LinkConditions {
            round_trip: Tick::Nanosecond.millis(round_trip_ms),
            loss: 1e-3,
            copies: 2,
            frame_bytes: 1_514,
            frame_time: frame_time(1_514, RATE.bps),
            mode: Mode::Ordered,
        }
    }

    fn initial(overrides: Overrides, pool_chunks: u32) -> Config {
        DaemonProfile { pool_chunks, ..DaemonProfile::new(Tick::Nanosecond, overrides) }.initial()
    }

    fn texts_for(overrides: Overrides, chunks: u64, link: &LinkConditions, rate: Rate) -> Vec<String> {
        let chunks = u32::try_from(chunks).expect("a pool");
        let config = initial(overrides, chunks);
        texts(&config, &overrides, link, rate)
    }

    #[test]
    fn a_short_link_is_told_nothing() {
        let default = u64::from(POOL_CHUNKS_DEFAULT);
        assert_eq!(texts_for(Overrides::default(), default, &link(10), RATE), Vec::<String>::new());
    }

    /// The log must give names of the configuration, not of the protocol, and a way out.
    #[test]
    fn a_gigabit_over_100_ms_is_told_what_it_lacks_and_what_to_set() {
        let default = u64::from(POOL_CHUNKS_DEFAULT);
        let texts = texts_for(Overrides::default(), default, &link(100), RATE);
        assert_eq!(
            texts[0],
            "the link carries at most 25 % of its rate: parameters.window = 4096, but frames of 1514 bytes at 1G with a round trip of 100ms need 16156; hint: set `pool` to 57344 or more at both ends"
        );
        assert!(texts.iter().all(|text| text.contains("set `pool` to ")), "{texts:#?}");
        // Following the largest value named for each key gives the link what it needs.
        let needed = texts
            .iter()
            .filter_map(|text| text.split("set `pool` to ").nth(1)?.split(' ').next()?.parse().ok());
        let pool: u64 = needed.max().expect("a number");
        let config = initial(Overrides::default(), pool as u32);
        let config = Config { pause_bytes: config.rx_buffer_bytes / 4, ..config };
        assert_eq!(super::texts(&config, &Overrides::default(), &link(100), RATE), Vec::<String>::new());
    }

    #[test]
    fn what_is_set_is_named_and_an_assumed_rate_is_said() {
        let default = u64::from(POOL_CHUNKS_DEFAULT);
        let own = Overrides {
            window_frames: Some(1_024),
            peer_timeout: Some(Duration::from_millis(350)),
            ..Overrides::default()
        };
        let rate = Rate { is_assumed: true, ..RATE };
        let texts = texts_for(own, default, &link(400), rate);
        assert!(texts[0].contains("at 1G (assumed: `rate` is not set) with"), "{texts:#?}");
        assert!(texts[0].contains("a window cannot exceed 32768 frames"), "{texts:#?}");
        assert!(
            texts_for(own, default, &link(100), RATE)[0]
                .ends_with("set `parameters.window` to 16384 at both ends, or remove it")
        );
        let last = texts.last().expect("a line");
        assert!(
            last.starts_with("sessions end before an answer arrives")
                && last.ends_with("set `parameters.peer-timeout` to 420ms or more"),
            "{last}"
        );
    }

    #[test]
    fn the_pool_that_is_named_gives_the_share() {
        for share in [4_096, 16_384, 100_000] {
            assert_eq!(u64::from(DaemonProfile::share_of_pool(pool_for(share) as u32)), share);
        }
    }
}
