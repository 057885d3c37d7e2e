//! The body of the fuzz target of the tunnel. The target under `fuzz/` includes this file, and so does the ordinary test,
//! which replays the committed corpus with it.

use linkmend_tunnel::wire::{self, Body, FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use linkmend_tunnel::{
    Endpoint, EndpointConfig, Identity, Opened, Reach, Resequencer, Role, Secure, shared_key,
};
use std::net::SocketAddr;

/// The first byte chooses what the rest is: a datagram for an end, or arrivals of numbers and the time between them.
pub fn tunnel(data: &[u8]) {
    match data.split_first() {
        Some((0, datagram)) => one_datagram(datagram),
        Some((_, steps)) => arrivals(steps),
        None => {}
    }
}

/// An end takes any datagram from anybody, and what it reads out of it are frames.
fn one_datagram(datagram: &[u8]) {
    let identity = Identity { session: 1, secret: (2, 3) };
    let config = EndpointConfig {
        identity,
        role: Role::Listens,
        reach: Reach::Near,
        is_controlled: true,
        seal_bytes: 0,
    };
    let mut end = Endpoint::new(0, &config);
    let from = SocketAddr::from(([10, 0, 0, 1], 1));
    let mut frames = 0;
    let mut deliver = |frame: &[u8]| {
        assert!((FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&frame.len()));
        frames += 1;
    };
    end.handle_datagram(1, from, datagram, false, &mut deliver);
    end.handle_timeout(2, &mut deliver);
    assert_eq!(frames, 0, "nobody has been introduced");
    while let Some((_, answer)) = end.poll_control() {
        assert!(answer.len() <= wire::HELLO_BYTES && wire::parse(answer).is_some());
    }
    for role in [Role::Calls, Role::Listens] {
        let mut secure = Secure::new(shared_key(b"0123456789abcdef"), role, 1);
        let (mut initiation, mut out) = (Vec::new(), Vec::new());
        secure.poll_initiation(0, &mut initiation);
        assert_eq!(secure.open(1, datagram, &mut out), Opened::Refused, "nobody knows the key");
    }
    if let Some(Body::Frames(body)) = wire::parse(datagram).map(|datagram| datagram.body) {
        let bytes: usize = wire::records(body).map(|record| record.bytes.len() + wire::RECORD_BYTES).sum();
        assert_eq!(bytes, body.len());
    }
}

/// Each step is an arrival: a byte that says how the number lies to the one before, and a byte for the time.
fn arrivals(steps: &[u8]) {
    let mut order = Resequencer::default();
    let (mut number, mut now, mut last) = (1_000_u64, 0_u64, None);
    let mut count = 0;
    for step in steps.chunks_exact(2) {
        now += u64::from(step[1]) * 100_000;
        number = match step[0] {
            by @ 0..=127 => number.saturating_add(u64::from(by)),
            by @ 128..=247 => number.saturating_sub(u64::from(by - 128)),
            far => number.saturating_add(1 << ((far - 247) * 4)).min(wire::NUMBER_MAX),
        };
        let mut deliver = |number, bytes: &[u8]| {
            assert!(last < Some(number), "{number} after {last:?}");
            assert_eq!(bytes, u64::to_be_bytes(number));
            last = Some(number);
            count += 1;
        };
        order.handle(now, number, &number.to_be_bytes(), step[1] % 2 == 1, &mut deliver);
        if order.next_timeout().is_some_and(|at| at <= now) {
            order.handle_timeout(now, &mut deliver);
        }
    }
    assert!(count <= steps.len() / 2, "each arrival is handed on once at most");
}
