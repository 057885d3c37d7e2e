//! Whatever the network does for a while: all bytes arrive once and in order, and both ends close.

use crate::pair::{Draw, Fate, Pair, Sent};
use linkmend_transport::tcp::{Algorithm, Config, Ecn, Event, LossDetection, PathProbing, State};
use linkmend_transport::{Instant, Nanos};
use proptest::prelude::*;

/// From then on the network is good.
const HEALED: Instant = Instant(20_000_000_000);
/// Long enough to recover after the longest backoff there can be by then, 60 s of TIME-WAIT included.
const END: Instant = Instant(200_000_000_000);

/// How bad the network is, each as a probability.
#[derive(Debug, Clone, Copy)]
struct Network {
    seed: u64,
    loss: f64,
    late: f64,
    twice: f64,
    marked: f64,
    /// Longest delay of a late segment.
    lateness: Nanos,
    delay: Nanos,
}

impl Network {
    fn faults(self) -> impl FnMut(&Sent) -> Fate {
        let mut draw = Draw(self.seed);
        move |sent| {
            let by = Nanos((draw.uniform() * self.lateness.0 as f64) as u64);
            let mut left = draw.uniform();
            let mut is = |probability: f64| {
                left -= probability;
                left < 0.0
            };
            if sent.at >= HEALED {
                Fate::Arrives
            } else if is(self.loss) {
                Fate::IsLost
            } else if is(self.late) {
                Fate::IsLate(by)
            } else if is(self.twice) {
                Fate::ArrivesTwice
            } else if is(self.marked) {
                Fate::IsMarked
            } else {
                Fate::Arrives
            }
        }
    }
}

fn networks() -> impl Strategy<Value = Network> {
    let probabilities = (0.0..0.4, 0.0..0.2, 0.0..0.2, 0.0..0.2);
    (any::<u64>(), probabilities, 0_u64..2_000_000, 1_000_u64..5_000_000).prop_map(
        |(seed, (loss, late, twice, marked), lateness, delay)| Network {
            seed,
            loss,
            late,
            twice,
            marked,
            lateness: Nanos(lateness),
            delay: Nanos(delay),
        },
    )
}

fn configs() -> impl Strategy<Value = Config> {
    let algorithm = prop::sample::select(Algorithm::ALL);
    let detection = prop::sample::select(
        &[LossDetection::DuplicateAcks, LossDetection::AdaptiveDuplicateAcks, LossDetection::RackTlp][..],
    );
    let ecn = prop::sample::select(&[Ecn::Off, Ecn::Classic, Ecn::Dctcp][..]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let buffers = prop::sample::select(&[1_448_u32, 5_000, 65_535, 1 << 20, 64 << 20][..]);
    let offload = prop::sample::select(&[1_448_u32, 5_000, 65_160][..]);
    let rto_min = prop::sample::select(&[Nanos(1_000_000), Nanos(200_000_000)][..]);
    let probing = prop::sample::select(&[None, Some(false), Some(true)][..]);
    (algorithm, detection, ecn, flags, buffers, offload, (rto_min, probing)).prop_map(
        |(
            algorithm,
            loss_detection,
            ecn,
            (sack, timestamps, pacing, f_rto),
            receive_buffer,
            offload_bytes,
            (rto_min, probing),
        )| {
            Config {
                algorithm,
                loss_detection,
                ecn,
                sack,
                timestamps,
                pacing,
                f_rto,
                receive_buffer,
                offload_bytes,
                rto_min,
                path_probing: probing
                    .map(|from_beginning| PathProbing { from_beginning, ..PathProbing::default() }),
                ..Config::default()
            }
        },
    )
}

/// Transfers in both directions; the pair itself asserts that no timer lies in the past, and that an end with data
/// outstanding waits for something.
fn transfer(config: Config, network: Network, bytes: [u64; 2], has_handshake: bool) -> Pair {
    let pair = if has_handshake { Pair::opening(config, config) } else { Pair::established(config) };
    let mut pair = pair.with_faults(network.faults());
    pair.delay = network.delay;
    // Closing before the handshake is over would end the connection at once.
    while has_handshake && (0..2).any(|end| pair.state(end) != State::Established) && pair.now < END {
        pair.run_for(Nanos::from_millis(100));
    }
    for (end, bytes) in bytes.into_iter().enumerate() {
        pair.write(end, bytes);
        pair.close(end);
    }
    pair.run_until(END);
    pair
}

proptest! {
    #[test]
    fn all_bytes_arrive_once_and_in_order_and_both_ends_close(
        config in configs(),
        network in networks(),
        bytes in [0_u64..200_000, 0_u64..200_000],
        has_handshake in any::<bool>(),
    ) {
        let pair = transfer(config, network, bytes, has_handshake);
        let gave_up = pair.events.iter().flatten().any(|(_, event)| matches!(event, Event::Aborted(_)));
        // Nothing is given up within the 20 s for which the network is bad.
        prop_assert!(!gave_up, "{:?}", pair.events);
        prop_assert_eq!(pair.delivered, [bytes[1], bytes[0]]);
        for end in 0..2 {
            prop_assert!(pair.has_event(end, Event::Closed), "end {} is {:?}", end, pair.state(end));
            prop_assert!(pair.has_event(end, Event::PeerClosed));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn the_same_seed_gives_the_same_trace(config in configs(), network in networks()) {
        let trace = || transfer(config, network, [100_000, 50_000], true).sent;
        prop_assert_eq!(trace(), trace());
    }
}
