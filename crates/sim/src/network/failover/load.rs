//! Which port of a switch has the lowest load, according to SQR's queue selection (section III-D of the paper).

use crate::link::PortId;
use crate::time::Time;
use std::collections::VecDeque;

/// The bytes that ports of one switch sent in a moving window. As published, a port is compared when it sends
/// something. A port that never sends is therefore never chosen, and the lowest load is the one at the time when it was
/// measured.
#[derive(Debug)]
pub(super) struct PortLoads {
    window: Time,
    ports: Vec<(PortId, Sent)>,
    least_loaded: PortId,
    least_bytes: u64,
}

#[derive(Debug, Default)]
struct Sent {
    frames: VecDeque<(Time, u16)>,
    bytes: u64,
}

impl PortLoads {
    /// Loads of the switch with this port, which is chosen until another port is known to have a lower load.
    pub(super) fn new(window: Time, port: PortId) -> PortLoads {
        PortLoads { window, ports: Vec::new(), least_loaded: port, least_bytes: u64::MAX }
    }

    /// The port whose caching queue is used.
    pub(super) fn least_loaded(&self) -> PortId {
        self.least_loaded
    }

    /// Records a frame that a port sends.
    pub(super) fn sent(&mut self, now: Time, port: PortId, bytes: u16) {
        let index = self.ports.iter().position(|(known, _)| *known == port).unwrap_or_else(|| {
            self.ports.push((port, Sent::default()));
            self.ports.len() - 1
        });
        let sent = &mut self.ports[index].1;
        sent.frames.push_back((now, bytes));
        sent.bytes += u64::from(bytes);
        while let Some((at, bytes)) = sent.frames.front()
            && *at + self.window <= now
        {
            sent.bytes -= u64::from(*bytes);
            sent.frames.pop_front();
        }
        if port == self.least_loaded || sent.bytes < self.least_bytes {
            (self.least_loaded, self.least_bytes) = (port, sent.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{LinkId, Side};

    #[test]
    fn the_port_that_sent_least_within_the_window_is_chosen() {
        let [one, other] = [1, 2].map(|link| PortId::new(LinkId(link), Side::A));
        let us = |us: u64| Time::from_nanos(us * 1_000);
        let mut loads = PortLoads::new(us(150), one);
        for at in 0..10 {
            loads.sent(us(at), one, 1_500);
        }
        assert_eq!(loads.least_loaded(), one, "no other is known");
        loads.sent(us(10), other, 64);
        assert_eq!(loads.least_loaded(), other);
        for at in 11..400 {
            loads.sent(us(at), other, 1_500);
        }
        assert_eq!(loads.least_loaded(), other, "as published, an idle port is not looked at");
        loads.sent(us(400), one, 64);
        assert_eq!(loads.least_loaded(), one, "what it sent before has left the window");
    }
}
