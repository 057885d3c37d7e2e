//! Requests to the kernel over netlink, and their answers. The messages are those of the netlink crates; what is here
//! is how one is asked for and what counts as its answer.

use std::cell::Cell;
use std::io;

use netlink_packet_core::{
    NLA_HEADER_SIZE, NLM_F_ACK, NLM_F_REQUEST, NetlinkBuffer, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

/// Longest datagram that the kernel writes as one answer.
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// The kernel answers while it takes the request; this only protects a caller from waiting forever.
const PATIENCE_S: i64 = 1;

/// A socket for requests of one netlink protocol. It belongs to the network namespace in which it was opened, whoever
/// uses it.
pub(crate) struct RequestSocket {
    socket: Socket,
    /// Number of the latest request. Answers carry it, so what an earlier request left unread is recognised.
    sequence: Cell<u32>,
}

impl RequestSocket {
    /// Opens one in the network namespace of the calling thread.
    pub(crate) fn open(protocol: isize) -> io::Result<RequestSocket> {
        let socket = Socket::new(protocol)?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(RequestSocket { socket, sequence: Cell::new(0) })
    }

    /// Sends a request and returns the first message before its acknowledgement; `None` for a bare acknowledgement.
    /// `flags` are those beyond the two that every request has.
    pub(crate) fn request<Request, Answer>(&self, request: Request, flags: u16) -> io::Result<Option<Answer>>
    where
        Request: NetlinkSerializable,
        Answer: NetlinkDeserializable,
    {
        let sequence = self.sequence.get().wrapping_add(1);
        self.sequence.set(sequence);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answer = None;
        loop {
            let mut datagram = Vec::with_capacity(DATAGRAM_BYTES_MAX);
            self.socket.recv(&mut datagram, 0)?;
            if acknowledged(&datagram, sequence, &mut answer)? {
                return Ok(answer);
            }
        }
    }
}

/// Takes the messages of a datagram that answer the request of this number; whether its acknowledgement is among them.
/// An error of the kernel stands in place of an acknowledgement.
fn acknowledged<Answer: NetlinkDeserializable>(
    datagram: &[u8],
    sequence: u32,
    answer: &mut Option<Answer>,
) -> io::Result<bool> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let message = NetlinkBuffer::new_checked(rest).map_err(invalid)?;
        if message.sequence_number() == sequence {
            match NetlinkMessage::<Answer>::deserialize(rest).map_err(invalid)?.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                NetlinkPayload::Error(_) => return Ok(true),
                NetlinkPayload::InnerMessage(first) => _ = answer.get_or_insert(first),
                _ => {}
            }
        }
        rest = rest.get((message.length() as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// An answer that is not of the form it should have.
fn invalid(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// The value of the first attribute of this kind.
pub(crate) fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut whole = NlasIterator::new(attributes).filter_map(Result::ok);
    let found = whole.find(|attribute| attribute.kind() == kind)?;
    let end = usize::from(found.length());
    found.into_inner().get(NLA_HEADER_SIZE..end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;
    use netlink_packet_core::{NLMSG_ERROR, emit_u32};
    use std::convert::Infallible;

    const NUMBER: u16 = 100;

    /// Message type, and a number; an acknowledgement is an [`NLMSG_ERROR`] with the number 0.
    struct Number(u16, u32);

    impl NetlinkSerializable for Number {
        fn message_type(&self) -> u16 {
            self.0
        }

        fn buffer_len(&self) -> usize {
            4
        }

        fn serialize(&self, buffer: &mut [u8]) {
            emit_u32(buffer, self.1).unwrap();
        }
    }

    impl NetlinkDeserializable for Number {
        type Error = Infallible;

        fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Number, Infallible> {
            Ok(Number(header.message_type, u32::from_ne_bytes(payload.try_into().unwrap())))
        }
    }

    fn message(sequence: u32, kind: u16, number: i32) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.sequence_number = sequence;
        let inner = Number(kind, number.cast_unsigned());
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(inner));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn take(datagram: &[u8]) -> (Result<bool, i32>, Option<u32>) {
        let mut answer: Option<Number> = None;
        let taken = acknowledged(datagram, 7, &mut answer);
        (taken.map_err(|error| error.raw_os_error().unwrap_or(0)), answer.map(|number| number.1))
    }

    #[test]
    fn the_answer_is_the_first_message_before_the_acknowledgement() {
        let answer = message(7, NUMBER, 5);
        assert_eq!(take(&answer), (Ok(false), Some(5)), "the acknowledgement comes in a datagram of its own");
        let all = [answer, message(7, NUMBER, 6), message(7, NLMSG_ERROR, 0)].concat();
        assert_eq!(take(&all), (Ok(true), Some(5)));
        assert_eq!(take(&message(7, NLMSG_ERROR, 0)), (Ok(true), None));
    }

    #[test]
    fn what_the_kernel_refuses_is_its_error() {
        assert_eq!(take(&message(7, NLMSG_ERROR, -libc::ENODEV)), (Err(libc::ENODEV), None));
    }

    #[test]
    fn what_an_earlier_request_left_unread_answers_no_later_one() {
        let stale = [message(6, NUMBER, 5), message(6, NLMSG_ERROR, -libc::EPERM)].concat();
        assert_eq!(take(&stale), (Ok(false), None));
        assert_eq!(take(&[stale, message(7, NLMSG_ERROR, 0)].concat()), (Ok(true), None));
    }

    #[test]
    fn messages_that_are_cut_off_are_refused() {
        for datagram in [&[20, 0, 0, 0, 2, 0][..], &[4, 0, 0, 0, 2, 0, 0, 0]] {
            assert_eq!(take(datagram).0, Err(0));
        }
    }
}
