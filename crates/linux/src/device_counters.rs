//! What the kernel counts at an interface, and what waits in its queue (rtnetlink: `IFLA_STATS64`, `TCA_STATS2`).

use std::io;

use netlink_packet_core::{DecodeError, NLM_F_ECHO, NetlinkDeserializable, NetlinkHeader};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::tc::{TcHandle, TcMessage, TcStatsQueue};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::netlink::{RequestSocket, attribute};

const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// `struct tcmsg`, in front of the attributes.
const QUEUE_HEADER_BYTES: usize = 20;

/// The counters of an interface since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Received frames that were dropped or missed because there was no room.
    pub rx_dropped: u64,
    /// Received frames with a wrong frame check sequence.
    pub rx_crc_errors: u64,
    /// Frames that the device did not take.
    pub tx_dropped: u64,
    /// Frames that the queue dropped.
    pub queue_dropped: u64,
    /// Frames in the queue.
    pub waiting_frames: u32,
}

/// A socket for these requests. It belongs to the network namespace in which it was opened, wherever it is used.
pub struct CounterSocket(RequestSocket);

impl CounterSocket {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<CounterSocket> {
        RequestSocket::open(NETLINK_ROUTE).map(CounterSocket)
    }

    /// # Errors
    /// Among others, if there is no such interface.
    pub fn device_counters(&self, interface_index: u32) -> io::Result<DeviceCounters> {
        let link = self.device(interface_index)?;
        // A device without a queue of its own does not answer questions about one.
        let queue = self.queue(interface_index).unwrap_or_default();
        Ok(DeviceCounters { queue_dropped: u64::from(queue.drops), waiting_frames: queue.qlen, ..link })
    }

    /// Frames in the interface's queue; 0 without a queue.
    pub fn waiting_frames(&self, interface_index: u32) -> u32 {
        self.queue(interface_index).map_or(0, |queue| queue.qlen)
    }

    fn device(&self, interface_index: u32) -> io::Result<DeviceCounters> {
        let mut link = LinkMessage::default();
        link.header.index = interface_index;
        let answer = self.0.request(RouteNetlinkMessage::GetLink(link), 0)?;
        let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let counters = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(counters) => Some(counters),
            _ => None,
        });
        let counters = counters.ok_or(io::ErrorKind::InvalidData)?;
        Ok(DeviceCounters {
            rx_dropped: counters.rx_dropped + counters.rx_missed_errors,
            rx_crc_errors: counters.rx_crc_errors,
            tx_dropped: counters.tx_dropped,
            ..DeviceCounters::default()
        })
    }

    fn queue(&self, interface_index: u32) -> io::Result<TcStatsQueue> {
        let mut queue = TcMessage::with_index(interface_index.cast_signed());
        queue.header.parent = TcHandle::ROOT;
        // To the kernel the answer is a notification, of which the one who caused it gets an echo only if it asks.
        let answer = self.0.request(RouteNetlinkMessage::GetQueueDiscipline(queue), NLM_F_ECHO)?;
        let QueueStatistics(statistics) = answer.ok_or(io::ErrorKind::NotFound)?;
        Ok(statistics)
    }
}

/// What every kind of queue counts. Only this is read of the answer, because options and further statistics are
/// different for each kind, and grow from one kernel to the next.
struct QueueStatistics(TcStatsQueue);

impl NetlinkDeserializable for QueueStatistics {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<QueueStatistics, DecodeError> {
        let attributes = payload.get(QUEUE_HEADER_BYTES..).unwrap_or_default();
        let queue = attribute(attributes, TCA_STATS2)
            .and_then(|statistics| attribute(statistics, TCA_STATS_QUEUE))
            .map_or(Ok(TcStatsQueue::default()), TcStatsQueue::parse)?;
        Ok(QueueStatistics(queue))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;

    #[test]
    fn loopback_has_counters_and_no_queue_and_nothing_else_has() {
        let socket = CounterSocket::new().unwrap();
        let counters = socket.device_counters(1).unwrap();
        assert_eq!((counters.waiting_frames, socket.waiting_frames(1)), (0, 0));
        assert!(socket.device_counters(i32::MAX as u32).is_err(), "no such interface");
        // The socket is in step again after an error.
        assert!(socket.device_counters(1).is_ok());
    }
}
