//! One end of a flow on a host: a transport protocol's state machine, and when it wants to be called.

use super::clock::{instant, time};
use super::packets::Packet;
use super::progress::Progress;
use super::writes::Writes;
use crate::time::Time;
use linkmend_protocol::Mode;
use linkmend_transport::tcp;
use linkmend_transport::tcp::congestion::Phase;

/// The state machine of one end of a flow.
#[derive(Debug)]
pub(crate) enum Machine {
    Tcp(Box<tcp::Connection>),
    Roce(Box<Writes>),
}

/// A timer that expires with a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TickTimer {
    /// What the transport asked for, and the tick that this became when it was set.
    asked: Time,
    expiry: Time,
}

impl TickTimer {
    const OFF: TickTimer = TickTimer { asked: Time::NEVER, expiry: Time::NEVER };
}

/// One end of a flow.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) machine: Machine,
    /// Number of the host that it is on.
    pub(crate) host: u32,
    /// Class of its frames.
    pub(crate) mode: Mode,
    /// Whether it is among those that the host's card asks for packets.
    pub(crate) is_ready: bool,
    /// The earliest of its times among the timers of its host; later ones there are ignored.
    pub(crate) timer_at: Time,
    tick_timer: TickTimer,
}

impl Endpoint {
    pub(crate) fn new(machine: Machine, host: u32, mode: Mode) -> Endpoint {
        Endpoint { machine, host, mode, is_ready: false, timer_at: Time::NEVER, tick_timer: TickTimer::OFF }
    }

    /// Handles a packet from the other end, several of them if they were joined. `marked` if a switch has marked one of them.
    pub(crate) fn handle(&mut self, now: Time, packet: &Packet, marked: bool) {
        match (&mut self.machine, packet) {
            (Machine::Tcp(connection), Packet::Tcp(segment)) => {
                let mut segment = *segment;
                if marked && segment.codepoint != tcp::Codepoint::NotEct {
                    segment.codepoint = tcp::Codepoint::Ce;
                }
                connection.handle_segment(instant(now), &segment);
            }
            (Machine::Roce(writes), Packet::Roce(packet)) => {
                let mut packet = *packet;
                if marked && packet.codepoint != tcp::Codepoint::NotEct {
                    packet.codepoint = tcp::Codepoint::Ce;
                }
                writes.queue_pair.handle_packet(instant(now), &packet);
            }
            // A frame of a flow that has ended, whose number another flow has now.
            _ => {}
        }
    }

    /// The next packet for the network; a segment may be as long as segmentation offload allows.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match &mut self.machine {
            Machine::Tcp(connection) => connection.poll_transmit(instant(now)).map(Packet::Tcp),
            Machine::Roce(writes) => writes.queue_pair.poll_transmit(instant(now)).map(Packet::Roce),
        }
    }

    /// When it is to be called if nothing arrives. `expiry` rounds to a tick, from the moment when a timer is set: one that
    /// is set anew counts from then, however early the host looks at it again.
    pub(crate) fn due(&mut self, expiry: impl FnOnce(Time) -> Time) -> Time {
        let (asked, paced) = match &self.machine {
            Machine::Tcp(connection) => (connection.unpaced_timeout(), connection.paced_until()),
            Machine::Roce(writes) => (writes.queue_pair.next_timeout(), None),
        };
        let asked = asked.map_or(Time::NEVER, time);
        if self.tick_timer.asked != asked {
            self.tick_timer = TickTimer { asked, expiry: expiry(asked) };
        }
        // A kernel paces by a timer of its own, without ticks.
        paced.map_or(Time::NEVER, time).min(self.tick_timer.expiry)
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.tick_timer.expiry <= now {
            self.tick_timer = TickTimer::OFF;
        }
        match &mut self.machine {
            Machine::Tcp(connection) => connection.handle_timeout(instant(now)),
            Machine::Roce(writes) => writes.queue_pair.handle_timeout(instant(now)),
        }
    }

    /// What has happened since the last call.
    pub(crate) fn poll_progress(&mut self) -> Option<Progress> {
        match &mut self.machine {
            Machine::Tcp(connection) => loop {
                match connection.poll_event()? {
                    tcp::Event::Delivered(bytes) => return Some(Progress::Delivered(bytes)),
                    tcp::Event::Acknowledged { all: true, .. } => return Some(Progress::Acknowledged),
                    tcp::Event::Aborted(_) => return Some(Progress::Failed),
                    _ => {}
                }
            },
            Machine::Roce(writes) => writes.poll_progress(),
        }
    }

    /// The state of its connection, if it is one of TCP.
    pub(crate) fn tcp_info(&self, now: Time) -> Option<tcp::Info> {
        match &self.machine {
            Machine::Tcp(connection) => Some(connection.info(instant(now))),
            Machine::Roce(_) => None,
        }
    }

    /// Bytes that it has not sent yet, and whether it recovers from a loss: from one that it has inferred, or from what its
    /// timer has found.
    pub(crate) fn pending(&self, now: Time) -> (u64, bool) {
        match &self.machine {
            Machine::Tcp(connection) => {
                let info = connection.info(instant(now));
                let recovers = matches!(info.phase, Phase::Recovery | Phase::Loss);
                (info.notsent_bytes, recovers)
            }
            Machine::Roce(writes) => (writes.left(), false),
        }
    }

    /// The queue pair with what is written over it, if it is one.
    pub(crate) fn writes(&mut self) -> Option<&mut Writes> {
        match &mut self.machine {
            Machine::Tcp(_) => None,
            Machine::Roce(writes) => Some(writes),
        }
    }

    /// How many segments or packets it has sent again, and how often its retransmission timer has expired, since that was
    /// last accounted for.
    pub(crate) fn effort(&self, now: Time) -> (u32, u32) {
        let (retransmissions, timeouts) = match &self.machine {
            Machine::Tcp(connection) => {
                let info = connection.info(instant(now));
                (info.total_retrans, info.timeouts)
            }
            Machine::Roce(writes) => {
                let info = writes.queue_pair.info();
                let (resent, timeouts) = writes.accounted;
                (info.requests_resent - resent, info.timeouts - timeouts)
            }
        };
        (u32::try_from(retransmissions).unwrap_or(u32::MAX), u32::try_from(timeouts).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostLatency;
    use linkmend_transport::Nanos;

    #[test]
    fn ticks_of_a_timer_count_from_when_it_was_set_and_not_from_an_earlier_wake() {
        let config = tcp::Config { rto_min: Nanos::from_millis(1), ..tcp::Config::default() };
        let rtt = Some(Nanos::from_micros(30));
        let end = tcp::Connection::established_with(instant(Time::ZERO), config, rtt);
        let mut connection = end.expect("a good configuration");
        let [set, wake, third_tick] = [900, 1_000, 3_000].map(|micros| Time::from_nanos(micros * 1_000));
        connection.write(1_000);
        connection.poll_transmit(instant(set)).expect("a segment");
        let mut endpoint = Endpoint::new(Machine::Tcp(Box::new(connection)), 0, Mode::Ordered);
        let latency = HostLatency { timer_tick: wake, ..HostLatency::NONE };
        // Somewhat more than a millisecond is two ticks, after the one at 1 ms.
        for now in [set, wake] {
            assert_eq!(
                endpoint.due(|at| latency.expiry(now, at, Time::ZERO)),
                third_tick,
                "looked at {now:?}"
            );
        }
    }
}
