//! What the fuzz target checks.

use linkmend_parity::{
    Feedback, Header, KEPT_MAX, Limits, Losses, ParityFrame, Receiver, ReceiverConfig, ReedSolomon, Sender,
    SenderConfig,
};

const MS: u64 = 1_000_000;

/// The next bytes; zeros at the end.
fn take<const N: usize>(data: &mut &[u8]) -> [u8; N] {
    let count = N.min(data.len());
    let mut bytes = [0; N];
    bytes[..count].copy_from_slice(&data[..count]);
    *data = &data[count..];
    bytes
}

/// Both ends receive whatever the bytes say, forged and repeated. Frames come out in order, each once, and nothing grows without
/// bound.
pub fn parity(data: &[u8]) {
    let mut data = data;
    let limits = Limits { deadline_ns: 120 * MS, overhead_max: 1.0, target: 1e-4 };
    let (losses, round_trip_ns) = (Losses::independent(0.1), 20 * MS);
    let config =
        ReceiverConfig { limits, round_trip_ns, losses, frame_rate: 1e3, prior_frames: 256.0, fixed: None };
    let mut receiver = Receiver::new(config, ReedSolomon);
    let (one_way_ns, deadline_ns) = (round_trip_ns / 2, limits.deadline_ns);
    let config = SenderConfig { deadline_ns, one_way_ns, group: 4, parity: 2, age_ns: 5 * MS };
    let mut sender = Sender::new(config, ReedSolomon);
    let (mut now, mut last) = (0, None);
    while !data.is_empty() {
        let [kind, wait, place, count, length] = take(&mut data);
        let number = if kind & 0x80 == 0 {
            u32::from(take::<1>(&mut data)[0])
        } else {
            u32::from_be_bytes(take(&mut data))
        };
        let stamp = u16::from_be_bytes(take(&mut data));
        now += u64::from(wait) * MS / 16;
        let content = vec![count; usize::from(length)];
        match kind & 7 {
            0 | 1 => {
                let header = Header { number, stamp, place: place & 7, is_copy: kind & 1 != 0 };
                receiver.handle_frame(now, header, content);
            }
            2 => {
                let (frames, count, index) = (place & 15, count & 7, kind >> 4 & 7);
                receiver.handle_parity(now, ParityFrame { first: number, frames, count, index, content });
            }
            3 => sender
                .handle_feedback(now, Feedback::Missing { first: number, others: stamp, copies: count & 7 }),
            4 => sender.handle_feedback(now, Feedback::Group { frames: place, parity: count, age: stamp }),
            // What the sender has sent, unless it is lost.
            _ => {
                let header = sender.send(now, content.clone());
                if kind & 0x40 == 0 {
                    receiver.handle_frame(now, header, content);
                }
                while let Some(parity) = sender.poll_parity() {
                    if kind & 0x20 == 0 {
                        receiver.handle_parity(now, parity);
                    }
                }
            }
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while let Some(frame) = receiver.poll_deliver(now) {
            assert!(last < Some(frame.number), "{} after {last:?}", frame.number);
            last = Some(frame.number);
        }
        let messages = std::iter::from_fn(|| receiver.poll_feedback()).count();
        let copies = std::iter::from_fn(|| sender.poll_retransmission()).count();
        let parity = std::iter::from_fn(|| sender.poll_parity()).count();
        assert!(messages <= KEPT_MAX && copies <= KEPT_MAX && parity <= KEPT_MAX);
    }
}
