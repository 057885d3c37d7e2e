//! Segments that say anything: no panic, and no more memory than the limits allow.

use linkmend_transport::tcp::{
    Algorithm, Codepoint, Config, Connection, Ecn, Flags, LossDetection, PathProbing, SackBlocks, Segment,
    SynOptions, Timestamps,
};
use linkmend_transport::{Instant, Nanos};
use proptest::prelude::*;

/// Segments that one call may make a connection send; a hostile window is no excuse for more than the stream has.
const SENT_MAX: u32 = 5_000;

/// Numbers near what matters, and anywhere.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..20_000,
        2 => 0_u64..2_000_000,
        1 => any::<u64>(),
        1 => (u64::MAX - 5)..=u64::MAX,
    ]
}

fn segments() -> impl Strategy<Value = Segment> {
    let blocks = prop::collection::vec((numbers(), numbers()), 0..=4);
    let timestamps = prop::option::of((any::<u32>(), any::<u32>()));
    let syn =
        prop::option::of((prop::option::of(any::<u16>()), any::<bool>(), prop::option::of(any::<u8>())));
    let lengths = prop_oneof![Just(0), 0_u32..3_000, any::<u32>()];
    let windows = prop_oneof![Just(0), 0_u32..100_000, any::<u32>()];
    // Mostly acknowledgements, sometimes anything.
    let flags = prop_oneof![4 => Just(0x10_u8), 1 => Just(0x11), 2 => (0_u8..=255).prop_map(|bits| bits & !0x04), 1 => any::<u8>()];
    (numbers(), numbers(), windows, lengths, flags, 0_u8..4, timestamps, blocks, syn).prop_map(
        |(sequence, acknowledgement, window, length, flags, codepoint, timestamps, blocks, syn)| {
            let mut sack = SackBlocks::default();
            for (start, end) in blocks {
                sack.push(start..end);
            }
            let codepoints = [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce];
            Segment {
                sequence,
                acknowledgement,
                window,
                length,
                longest: (length / 2) as u16,
                flags: Flags(flags),
                codepoint: codepoints[usize::from(codepoint)],
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack,
                syn: syn.map(|(mss, sack_permitted, window_scale)| SynOptions {
                    mss,
                    sack_permitted,
                    window_scale,
                }),
            }
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Segment(Segment),
    /// Goes on to the next timeout, or by so many nanoseconds.
    Wait(Option<u64>),
    Write(u64),
    Read(u64),
    Close,
    Abort,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => segments().prop_map(Step::Segment),
        4 => prop::option::of(0_u64..1_000_000_000).prop_map(Step::Wait),
        2 => (0_u64..1_000_000).prop_map(Step::Write),
        1 => any::<u64>().prop_map(Step::Read),
        1 => Just(Step::Close),
        1 => Just(Step::Abort),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let algorithm = prop::sample::select(Algorithm::ALL);
    let detection = prop::sample::select(
        &[LossDetection::DuplicateAcks, LossDetection::AdaptiveDuplicateAcks, LossDetection::RackTlp][..],
    );
    let ecn = prop::sample::select(&[Ecn::Off, Ecn::Classic, Ecn::Dctcp][..]);
    let mss = prop::sample::select(&[28_u32, 1_448, 65_000][..]);
    (algorithm, detection, ecn, mss, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(algorithm, loss_detection, ecn, mss, sack, pacing, counts_packet_memory)| Config {
            algorithm,
            loss_detection,
            ecn,
            mss,
            sack,
            pacing,
            offload_bytes: 65_160,
            send_buffer: 100_000,
            receive_memory: counts_packet_memory.then_some(200_000),
            counts_packet_memory,
            path_probing: pacing.then(|| PathProbing { from_beginning: true, ..PathProbing::default() }),
            ..Config::default()
        },
    )
}

/// Does what a step says, and then lets the connection send; the peer acknowledges some of it by chance alone.
fn run(mut connection: Connection, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut now = Instant(0);
    for step in steps {
        match step {
            Step::Segment(segment) => connection.handle_segment(now, &segment),
            Step::Wait(span) => {
                let timeout = connection.next_timeout().unwrap_or(now);
                now = span.map_or(timeout, |span| now + Nanos(span));
                connection.handle_timeout(now);
            }
            Step::Write(bytes) => {
                connection.write(bytes);
            }
            Step::Read(bytes) => {
                connection.read(bytes);
            }
            Step::Close => connection.close(now),
            Step::Abort => connection.abort(),
        }
        let mut sent = 0;
        while let Some(segment) = connection.poll_transmit(now) {
            sent += 1;
            prop_assert!(sent < SENT_MAX, "it sends without end: {:?}", segment);
        }
        while connection.poll_event().is_some() {}
        if connection.next_timeout().is_some_and(|at| at < now) {
            connection.handle_timeout(now);
            while connection.poll_transmit(now).is_some() {}
        }
        prop_assert!(connection.next_timeout().is_none_or(|at| at >= now));
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_segment_makes_an_open_connection_panic(
        config in configs(),
        steps in prop::collection::vec(steps(), 0..60),
    ) {
        let mut connection = Connection::established(Instant(0), config).expect("a good configuration");
        connection.write(50_000);
        run(connection, steps)?;
    }

    #[test]
    fn no_segment_makes_a_handshake_panic(
        config in configs(),
        is_client in any::<bool>(),
        steps in prop::collection::vec(steps(), 0..40),
    ) {
        let mut connection =
            if is_client { Connection::new_client(config) } else { Connection::new_server(config) }.expect("good");
        connection.open();
        connection.write(50_000);
        run(connection, steps)?;
    }
}
