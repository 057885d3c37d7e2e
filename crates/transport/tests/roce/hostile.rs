//! Packets that no peer of good will sends, at times that no clock shows.

use linkmend_transport::roce::{
    Body, Config, Dcqcn, Nak, Opcode, Packet, Position, QueuePair, ReadResponse, Recovery, Request,
    RequestPacket, Response, Selective, ShortTimeout, Syndrome,
};
use linkmend_transport::tcp::Codepoint;
use linkmend_transport::{Instant, Nanos};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Debug, Clone)]
enum Step {
    Post(Opcode, u32),
    PostReceives(u32),
    Arrive(Packet),
    Timeout,
    Poll(u8),
    /// Time goes on, or back.
    At(u64),
}

fn psn() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..40, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(1 << 24)]
}

fn opcode() -> impl Strategy<Value = Opcode> {
    prop_oneof![Just(Opcode::Write), Just(Opcode::Send), Just(Opcode::Read)]
}

fn request() -> impl Strategy<Value = Body> {
    let position = prop_oneof![
        Just(Position::First),
        Just(Position::Middle),
        Just(Position::Last),
        Just(Position::Only)
    ];
    let payload = prop_oneof![Just(1_024_u16), Just(0), Just(9), any::<u16>()];
    let length = prop_oneof![Just(None), Just(Some(9)), Just(Some(4_096)), any::<u32>().prop_map(Some)];
    (opcode(), position, payload, any::<bool>(), length).prop_map(
        |(opcode, position, payload, ack_request, dma_length)| {
            Body::Request(RequestPacket { opcode, position, payload, ack_request, dma_length })
        },
    )
}

fn read_response() -> impl Strategy<Value = Body> {
    any::<u16>().prop_map(|payload| {
        Body::ReadResponse(ReadResponse { position: Position::Middle, payload, messages: 0 })
    })
}

fn response() -> impl Strategy<Value = Body> {
    let syndrome = prop_oneof![
        4 => Just(Syndrome::Ack),
        4 => Just(Syndrome::Nak(Nak::SequenceError)),
        2 => any::<u8>().prop_map(|timer| Syndrome::ReceiverNotReady { timer }),
        1 => Just(Syndrome::Nak(Nak::RemoteAccessError)),
    ];
    let selective = (psn(), any::<u64>()).prop_map(|(highest, arrived)| Selective { highest, arrived });
    (syndrome, any::<u64>(), prop::option::of(selective)).prop_map(|(syndrome, messages, selective)| {
        Body::Response(Response { syndrome, messages, selective })
    })
}

fn packet() -> impl Strategy<Value = Packet> {
    let codepoint = prop_oneof![Just(Codepoint::NotEct), Just(Codepoint::Ect0), Just(Codepoint::Ce)];
    let body = prop_oneof![3 => request(), 3 => response(), 2 => read_response(), 1 => Just(Body::CongestionNotification)];
    (psn(), codepoint, body).prop_map(|(psn, codepoint, body)| Packet { psn, codepoint, body })
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![4 => 0_u32..20_000, 1 => any::<u32>()];
    let time = prop_oneof![4 => 0_u64..10_000_000, 1 => any::<u64>()];
    prop_oneof![
        2 => (opcode(), bytes).prop_map(|(opcode, bytes)| Step::Post(opcode, bytes)),
        1 => any::<u32>().prop_map(Step::PostReceives),
        8 => packet().prop_map(Step::Arrive),
        2 => Just(Step::Timeout),
        4 => any::<u8>().prop_map(Step::Poll),
        2 => time.prop_map(Step::At),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let short_timeout = Some(ShortTimeout { below_packets: 3, timeout: Nanos(0) });
    let recovery = prop_oneof![
        Just(Recovery::GoBackN),
        Just(Recovery::SelectiveRepeat { window_packets: 1, short_timeout }),
        Just(Recovery::SelectiveRepeat { window_packets: 70, short_timeout: None }),
        Just(Recovery::SelectiveRepeat { window_packets: 65_536, short_timeout }),
    ];
    (recovery, prop::option::of(0_u32..4), any::<bool>(), 0_u8..32).prop_map(
        |(recovery, receives, is_controlled, timeout_exponent)| Config {
            recovery,
            receives,
            timeout_exponent,
            timeout_factor: 4,
            dcqcn: is_controlled.then_some(Dcqcn::of_paper(400_000_000_000)),
            ..Config::default()
        },
    )
}

proptest! {
    #[test]
    fn no_packet_and_no_time_makes_a_queue_pair_panic(
        config in config(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut end = QueuePair::new(Arc::new(config)).expect("a good configuration");
        let mut now = Instant(0);
        for step in steps {
            match step {
                Step::Post(opcode, bytes) => drop(end.post(Request { opcode, bytes })),
                Step::PostReceives(count) => end.post_receives(count),
                Step::Arrive(packet) => end.handle_packet(now, &packet),
                Step::Timeout => end.handle_timeout(now),
                Step::Poll(count) => (0..count).for_each(|_| {
                    let _ = end.poll_transmit(now);
                }),
                Step::At(time) => now = Instant(time),
            }
            end.next_timeout();
            end.poll_completion();
            let info = end.info();
            prop_assert!(info.unacknowledged <= info.next);
            prop_assert!(info.completed <= info.posted);
            prop_assert!(info.requests_resent <= info.requests_sent);
        }
    }
}
