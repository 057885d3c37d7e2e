//! A connection of TCP as one end of a flow.

use super::clock::{instant, time};
use super::packets::Packet;
use super::progress::Progress;
use super::transport::{Effort, TransportEnd};
use crate::time::Time;
use linkmend_transport::tcp;

impl TransportEnd for tcp::Connection {
    fn write(&mut self, _: Time, bytes: u64) {
        tcp::Connection::write(self, bytes);
    }

    #[inline]
    fn handle(&mut self, now: Time, packet: &Packet, marked: bool) {
        let Packet::Tcp(segment) = packet else { return };
        let mut segment = *segment;
        if marked && segment.codepoint != tcp::Codepoint::NotEct {
            segment.codepoint = tcp::Codepoint::Ce;
        }
        self.handle_segment(instant(now), &segment);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        tcp::Connection::poll_transmit(self, instant(now)).map(Packet::Tcp)
    }

    #[inline]
    fn handle_timeout(&mut self, now: Time) {
        tcp::Connection::handle_timeout(self, instant(now));
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.unpaced_timeout().map(time)
    }

    #[inline]
    fn paced_until(&self) -> Option<Time> {
        tcp::Connection::paced_until(self).map(time)
    }

    #[inline]
    fn poll_progress(&mut self) -> Option<Progress> {
        loop {
            match self.poll_event()? {
                tcp::Event::Delivered(bytes) => return Some(Progress::Delivered(bytes)),
                tcp::Event::Acknowledged { all: true, .. } => return Some(Progress::Acknowledged),
                tcp::Event::Aborted(_) => return Some(Progress::Failed),
                _ => {}
            }
        }
    }

    fn effort(&self, now: Time) -> Effort {
        let info = self.info(instant(now));
        Effort { retransmissions: info.total_retrans, timeouts: info.timeouts }
    }
}
