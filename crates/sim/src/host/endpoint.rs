//! One end of a flow on a host: a transport protocol's state machine, and when it wants to be called.

use super::clock::instant;
use super::packets::Packet;
use super::progress::Progress;
use super::transport::{Effort, TransportEnd};
use super::writes::Writes;
use crate::time::Time;
use linkmend_protocol::Mode;
use linkmend_transport::tcp;

/// The state machine of one end of a flow. Those of this crate are called without a table of functions.
#[derive(Debug)]
pub(crate) enum Machine {
    Tcp(Box<tcp::Connection>),
    Roce(Box<Writes>),
    Other(Box<dyn TransportEnd>),
}

/// Calls the state machine, whichever it is. Calls name the trait, because connections have methods with the same names.
macro_rules! of {
    ($machine:expr, $end:ident => $call:expr) => {
        match $machine {
            Machine::Tcp($end) => $call,
            Machine::Roce($end) => $call,
            Machine::Other($end) => $call,
        }
    };
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

    /// Writes a flow of this many bytes.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) {
        of!(&mut self.machine, end => TransportEnd::write(&mut **end, now, bytes));
    }

    /// Handles a packet from the other end, several of them if they were joined. `marked` if a switch has marked one of them.
    pub(crate) fn handle(&mut self, now: Time, packet: &Packet, marked: bool) {
        of!(&mut self.machine, end => TransportEnd::handle(&mut **end, now, packet, marked));
    }

    /// The next packet for the network; a segment may be as long as segmentation offload allows.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        of!(&mut self.machine, end => TransportEnd::poll_transmit(&mut **end, now))
    }

    /// When it is to be called if nothing arrives. `expiry` rounds to a tick, from the moment when a timer is set: one that
    /// is set anew counts from then, however early the host looks at it again.
    pub(crate) fn due(&mut self, expiry: impl FnOnce(Time) -> Time) -> Time {
        let (asked, paced) = of!(&self.machine, end => (TransportEnd::next_timeout(&**end), TransportEnd::paced_until(&**end)));
        let asked = asked.unwrap_or(Time::NEVER);
        if self.tick_timer.asked != asked {
            self.tick_timer = TickTimer { asked, expiry: expiry(asked) };
        }
        // A kernel paces by a timer of its own, without ticks.
        paced.unwrap_or(Time::NEVER).min(self.tick_timer.expiry)
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.tick_timer.expiry <= now {
            self.tick_timer = TickTimer::OFF;
        }
        of!(&mut self.machine, end => TransportEnd::handle_timeout(&mut **end, now));
    }

    /// What has happened since the last call.
    pub(crate) fn poll_progress(&mut self) -> Option<Progress> {
        of!(&mut self.machine, end => TransportEnd::poll_progress(&mut **end))
    }

    /// The state of its connection, if it is one of TCP.
    pub(crate) fn tcp_info(&self, now: Time) -> Option<tcp::Info> {
        match &self.machine {
            Machine::Tcp(connection) => Some(connection.info(instant(now))),
            Machine::Roce(_) | Machine::Other(_) => None,
        }
    }

    /// The queue pair with what is written over it, if it is one.
    pub(crate) fn writes(&mut self) -> Option<&mut Writes> {
        match &mut self.machine {
            Machine::Roce(writes) => Some(writes),
            Machine::Tcp(_) | Machine::Other(_) => None,
        }
    }

    /// How many segments or packets it has retransmitted, and how often its retransmission timer has expired, since that was
    /// last accounted for.
    pub(crate) fn effort(&self, now: Time) -> (u32, u32) {
        let Effort { retransmissions, timeouts } =
            of!(&self.machine, end => TransportEnd::effort(&**end, now));
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
