//! What the kernel counts at an interface, and what waits in its queue (rtnetlink: `IFLA_STATS64`, `TCA_STATS2`).

use std::io;

use netlink_packet_core::{NlaBuffer, NlasIterator};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

const RTM_GETLINK: u16 = 18;
const RTM_GETQDISC: u16 = 38;
const IFLA_STATS64: u16 = 23;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
const NLMSG_ERROR: u16 = 2;
/// The flags request an acknowledgement, and an echo of the answer even if it is a notification.
const FLAGS: u16 = 1 | 4 | 8;

const MESSAGE_HEADER_BYTES: usize = 16;
const LINK_HEADER_BYTES: usize = 16;
const QUEUE_HEADER_BYTES: usize = 20;
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The kernel answers at once. This only keeps the loop from waiting for ever.
const PATIENCE_S: i64 = 1;

// Positions in `struct rtnl_link_stats64`, in words of 64 bits, and in `struct gnet_stats_queue`, in words of 32.
const RX_DROPPED: usize = 6;
const TX_DROPPED: usize = 7;
const RX_MISSED: usize = 15;
const QUEUE_LENGTH: usize = 0;
const QUEUE_DROPS: usize = 2;

/// The counters of an interface since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Received frames that were dropped or missed because there was no room.
    pub rx_dropped: u64,
    /// Frames that the device did not take.
    pub tx_dropped: u64,
    /// Frames that the queue dropped.
    pub queue_dropped: u64,
    /// Frames in the queue.
    pub waiting_frames: u32,
}

/// A socket for these requests. It belongs to the network namespace in which it was opened, wherever it is used.
pub struct CounterSocket(Socket);

impl CounterSocket {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<CounterSocket> {
        let socket = Socket::new(NETLINK_ROUTE)?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(CounterSocket(socket))
    }

    /// # Errors
    /// Among others, if there is no such interface.
    pub fn device_counters(&self, interface_index: u32) -> io::Result<DeviceCounters> {
        let link = self.device(interface_index)?;
        // A device without a queue of its own does not answer questions about one.
        let queue = self.queue(interface_index).unwrap_or_default();
        Ok(DeviceCounters {
            queue_dropped: queue.queue_dropped,
            waiting_frames: queue.waiting_frames,
            ..link
        })
    }

    /// Frames in the interface's queue; 0 without a queue.
    pub fn waiting_frames(&self, interface_index: u32) -> u32 {
        self.queue(interface_index).map_or(0, |queue| queue.waiting_frames)
    }

    fn device(&self, interface_index: u32) -> io::Result<DeviceCounters> {
        let mut header = [0; LINK_HEADER_BYTES];
        header[4..8].copy_from_slice(&interface_index.to_ne_bytes());
        let answer = self.request(RTM_GETLINK, &header)?;
        let counters = attribute(&answer, IFLA_STATS64).ok_or(io::ErrorKind::InvalidData)?;
        let word = |index: usize| {
            let bytes = counters.get(index * 8..index * 8 + 8);
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
        };
        Ok(DeviceCounters {
            rx_dropped: word(RX_DROPPED) + word(RX_MISSED),
            tx_dropped: word(TX_DROPPED),
            ..DeviceCounters::default()
        })
    }

    fn queue(&self, interface_index: u32) -> io::Result<DeviceCounters> {
        let mut header = [0; QUEUE_HEADER_BYTES];
        header[4..8].copy_from_slice(&interface_index.to_ne_bytes());
        // The root, as the parent of the queue.
        header[12..16].fill(0xff);
        let answer = self.request(RTM_GETQDISC, &header)?;
        let statistics = attribute(&answer, TCA_STATS2).unwrap_or_default();
        let queue = attribute(&statistics, TCA_STATS_QUEUE).unwrap_or_default();
        let word = |index: usize| {
            let bytes = queue.get(index * 4..index * 4 + 4);
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
        };
        Ok(DeviceCounters {
            queue_dropped: u64::from(word(QUEUE_DROPS)),
            waiting_frames: word(QUEUE_LENGTH),
            ..DeviceCounters::default()
        })
    }

    /// Sends one request. Returns the attributes of the answer that precedes its acknowledgement.
    fn request(&self, kind: u16, header: &[u8]) -> io::Result<Vec<u8>> {
        let length = (MESSAGE_HEADER_BYTES + header.len()) as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(FLAGS.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(header);
        self.0.send(&message, 0)?;
        let mut attributes = None;
        loop {
            let mut datagram = Vec::with_capacity(ANSWER_BYTES_MAX);
            self.0.recv(&mut datagram, 0)?;
            let mut rest = &datagram[..];
            while let Some((kind, body, next)) = split_message(rest) {
                if kind == NLMSG_ERROR {
                    let code = body.get(..4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
                    return match code {
                        Some(0) => attributes.ok_or_else(|| io::ErrorKind::NotFound.into()),
                        Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                        None => Err(io::ErrorKind::InvalidData.into()),
                    };
                }
                attributes = body.get(header.len()..).map(<[u8]>::to_vec);
                rest = next;
            }
        }
    }
}

/// Returns type and body of the first message, and what follows it.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(MESSAGE_HEADER_BYTES..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn attribute(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    NlasIterator::new(attributes)
        .filter_map(|attribute: Result<NlaBuffer<&[u8]>, _>| attribute.ok())
        .find(|attribute| attribute.kind() == kind)
        .map(|attribute| attribute.value().to_vec())
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

    #[test]
    fn cut_off_messages_are_none() {
        assert_eq!(split_message(&[20, 0, 0, 0, 2, 0]), None);
        assert_eq!(split_message(&[4, 0, 0, 0, 2, 0, 0, 0]), None);
    }
}
