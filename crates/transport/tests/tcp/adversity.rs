//! Peers that lie about what they hold, applications that read slowly, segments of a few bytes, and a way back that hardly
//! lets an acknowledgement through: nothing is lost, and nothing stands still.

use crate::pair::{Draw, Fate, Pair};
use linkmend_transport::tcp::{
    Algorithm, Config, Event, Flags, LossDetection, SackBlocks, Segment, Timestamps,
};
use linkmend_transport::{Instant, Nanos};
use proptest::prelude::*;

/// Long enough for what is left after the longest backoff.
const END: Instant = Instant(2_000_000_000_000);

fn configs() -> impl Strategy<Value = Config> {
    let algorithm = prop::sample::select(Algorithm::ALL);
    let detection = prop::sample::select(
        &[LossDetection::DuplicateAcks, LossDetection::AdaptiveDuplicateAcks, LossDetection::RackTlp][..],
    );
    let mss = prop::sample::select(&[28_u32, 100, 1_448][..]);
    // From a single segment on.
    let windows = prop::sample::select(&[1_u32, 2, 7, 100, 10_000][..]);
    let initial = prop::sample::select(&[1_u32, 10, 300][..]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (algorithm, detection, mss, windows, initial, flags).prop_map(
        |(algorithm, loss_detection, mss, window, initial_window, (sack, timestamps, pacing, f_rto))| {
            Config {
                algorithm,
                loss_detection,
                mss,
                initial_window,
                receive_buffer: mss * window,
                sack,
                timestamps,
                pacing,
                f_rto,
                offload_bytes: 65_160,
                rto_min: Nanos::from_millis(5),
                ..Config::default()
            }
        },
    )
}

/// An acknowledgement that says nothing wrong by its number, and anything by its SACK blocks, window and echo.
fn lie(draw: &mut Draw, pair: &Pair) -> Segment {
    let acknowledged = 1 + pair.delivered[1];
    let highest = pair.sent_by(0).map(|sent| sent.segment.end()).max().unwrap_or(1).max(acknowledged);
    let mut within = |low: u64, high: u64| low + draw.bits() % (high - low + 1);
    let mut sack = SackBlocks::default();
    for _ in 0..within(0, 4) {
        let start = within(acknowledged.saturating_sub(5_000), highest);
        let end = within(start, highest + 1_000);
        sack.push(start..end);
    }
    let acknowledgement = within(acknowledged.saturating_sub(3_000).max(1), acknowledged);
    let timestamps = (within(0, 1) == 0)
        .then(|| Timestamps { value: (pair.now.0 / 1_000_000) as u32, echo: within(0, 1_000_000) as u32 });
    let flags = if within(0, 3) == 0 { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
    let window = within(0, 100_000) as u32;
    Segment { sequence: 1, acknowledgement, flags, window, sack, timestamps, ..Segment::default() }
}

fn lossy(seed: u64, loss: f64, until: Instant) -> impl FnMut(&crate::pair::Sent) -> Fate {
    let mut draw = Draw(seed);
    move |sent| {
        let is_lost = draw.uniform() < loss && sent.at < until;
        if is_lost { Fate::IsLost } else { Fate::Arrives }
    }
}

/// A transfer of `bytes` over a link that loses segments for 300 ms, between 60 lies.
fn after_lies(config: Config, seed: u64, loss: f64, bytes: u64) -> Pair {
    let mut pair = Pair::established(config).with_faults(lossy(seed, loss, Instant(300_000_000)));
    let mut draw = Draw(seed ^ 1);
    pair.write(0, bytes);
    for _ in 0..60 {
        pair.run_for(Nanos(draw.bits() % 5_000_000));
        let segment = lie(&mut draw, &pair);
        pair.inject(0, segment);
    }
    pair.close(0);
    pair.run_until(END);
    pair
}

/// RFC 5682, section 3.1: the receiver held, without the sender's knowledge, what followed each hole that a timeout filled.
#[test]
fn blocks_that_lied_do_not_make_every_timeout_spurious() {
    let config = Config {
        mss: 28,
        algorithm: Algorithm::Reno,
        pacing: true,
        loss_detection: LossDetection::AdaptiveDuplicateAcks,
        initial_window: 300,
        sack: true,
        timestamps: false,
        f_rto: true,
        rto_min: Nanos::from_millis(5),
        receive_buffer: 280_000,
        offload_bytes: 65_160,
        ..Config::default()
    };
    let pair = after_lies(config, 13_437_210_036_445_376_015, 0.297_499_742_720_292_1, 35_533);
    assert_eq!(pair.delivered[1], 35_533, "{:?}", pair.ends[0].info(pair.now));
    let last = pair.data_of(0).last().map(|sent| sent.at);
    assert!(
        last.is_some_and(|at| at < Instant(10_000_000_000)),
        "{last:?} is a segment for each longest timeout"
    );
}

proptest! {
    /// RFC 2018, section 8: what is SACKed may still be discarded, and is kept until it is acknowledged.
    #[test]
    fn blocks_windows_and_echoes_that_lie_lose_no_data(
        config in configs(),
        seed in any::<u64>(),
        loss in 0.0..0.3,
        bytes in 1_u64..60_000,
    ) {
        let pair = after_lies(config, seed, loss, bytes);
        let gave_up = pair.events[0].iter().any(|(_, event)| matches!(event, Event::Aborted(_)));
        prop_assert!(!gave_up, "{:?}", pair.ends[0].info(pair.now));
        prop_assert_eq!(pair.delivered[1], bytes, "{:?}", pair.ends[0].info(pair.now));
    }

    /// RFC 9293, section 3.8.6.1: a window that opens while the update of it is lost is found by probes.
    #[test]
    fn an_application_that_reads_slowly_gets_everything(
        config in configs(),
        seed in any::<u64>(),
        loss in 0.0..0.4,
        bytes in 1_u64..20_000,
        nagle in any::<bool>(),
    ) {
        let mut pair = Pair::established(config).with_faults(lossy(seed, loss, Instant(30_000_000_000)));
        pair.ends[1].set_reads_at_once(false);
        pair.ends[0].set_nagle(nagle);
        let mut draw = Draw(seed ^ 2);
        let (mut written, mut read) = (0, 0);
        for _ in 0..400 {
            let size = (1 + draw.bits() % 3_000).min(bytes - written);
            written += pair.ends[0].write(size);
            pair.run_for(Nanos(draw.bits() % 20_000_000));
            read += pair.ends[1].read(draw.bits() % 4_000);
            pair.let_both_send();
        }
        while read < bytes && pair.now < END {
            pair.run_for(Nanos::from_secs(1));
            read += pair.ends[1].read(u64::MAX);
            written += pair.ends[0].write(bytes - written);
            pair.let_both_send();
        }
        prop_assert_eq!((read, written), (bytes, bytes), "{:?}", pair.ends[0].info(pair.now));
        prop_assert_eq!(pair.delivered[1], bytes);
    }

    #[test]
    fn nine_of_ten_acknowledgements_lost_stop_nothing(
        config in configs(),
        seed in any::<u64>(),
        bytes in 1_u64..60_000,
    ) {
        let mut draw = Draw(seed);
        let mut pair = Pair::established(config).with_faults(move |sent| {
            let is_lost = sent.from == 1 && draw.uniform() < 0.9 && sent.at < Instant(60_000_000_000);
            if is_lost { Fate::IsLost } else { Fate::Arrives }
        });
        pair.write(0, bytes);
        pair.close(0);
        pair.run_until(END);
        let gave_up = pair.events[0].iter().any(|(_, event)| matches!(event, Event::Aborted(_)));
        prop_assert!(!gave_up);
        prop_assert_eq!(pair.delivered[1], bytes);
    }
}
