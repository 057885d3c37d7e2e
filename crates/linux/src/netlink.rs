//! Requests to the kernel over netlink, and their answers. The messages are those of the netlink crates; what is here
//! is how one is asked for and what counts as its answer.

use std::cell::Cell;
use std::io;

use netlink_packet_core::{
    NLA_HEADER_SIZE, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer,
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::dump::Dump;

/// Longest datagram that the kernel writes as one answer.
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// More than a host has interfaces. This limits what is kept of a dump.
const ANSWERS_MAX: usize = 1 << 18;
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
        let answers: Answers<Answer> = self.answers(request, NLM_F_ACK | flags)?;
        Ok(answers.taken.into_iter().next())
    }

    /// Asks for all that the kernel has of something, in as many datagrams as that takes. A dump during which something
    /// came or went is asked for once more; after that, it says of itself that it is not consistent.
    pub(crate) fn dump<Request, Answer>(&self, request: Request) -> io::Result<Dump<Answer>>
    where
        Request: NetlinkSerializable + Clone,
        Answer: NetlinkDeserializable,
    {
        let mut answers: Answers<Answer> = self.answers(request.clone(), NLM_F_DUMP)?;
        if answers.interrupted {
            answers = self.answers(request, NLM_F_DUMP)?;
        }
        Ok(Dump { answers: answers.taken, consistent: !answers.interrupted })
    }

    /// Sends a request and reads to the end of what answers it.
    fn answers<Request, Answer>(&self, request: Request, flags: u16) -> io::Result<Answers<Answer>>
    where
        Request: NetlinkSerializable,
        Answer: NetlinkDeserializable,
    {
        let sequence = self.sequence.get().wrapping_add(1);
        self.sequence.set(sequence);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answers = Answers::default();
        let mut datagram = Vec::with_capacity(DATAGRAM_BYTES_MAX);
        loop {
            datagram.clear();
            self.socket.recv(&mut datagram, 0)?;
            if answers.take(&datagram, sequence)? {
                break;
            }
        }
        // Only now, because the kernel refuses another dump while the rest of one is unread.
        if answers.too_many {
            return Err(invalid("more replies than fit into the buffer"));
        }
        Ok(answers)
    }
}

/// What has been read of the answers to a request.
struct Answers<Answer> {
    taken: Vec<Answer>,
    /// Something came or went while the kernel went through what it has.
    interrupted: bool,
    /// Some were left out, for want of room.
    too_many: bool,
}

impl<Answer> Default for Answers<Answer> {
    fn default() -> Self {
        Answers { taken: Vec::new(), interrupted: false, too_many: false }
    }
}

impl<Answer: NetlinkDeserializable> Answers<Answer> {
    /// Takes the messages of a datagram that answer the request of this number; whether the last of them is there, which
    /// is an acknowledgement, or the end of a dump. An error of the kernel stands in place of either.
    fn take(&mut self, datagram: &[u8], sequence: u32) -> io::Result<bool> {
        let mut rest = datagram;
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest).map_err(invalid)?;
            if message.sequence_number() == sequence {
                self.interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
                match NetlinkMessage::<Answer>::deserialize(rest).map_err(invalid)?.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    NetlinkPayload::Done(end) if end.code < 0 => {
                        return Err(io::Error::from_raw_os_error(end.code.saturating_neg()));
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(true),
                    NetlinkPayload::InnerMessage(_) if self.taken.len() == ANSWERS_MAX => {
                        self.too_many = true;
                    }
                    NetlinkPayload::InnerMessage(answer) => self.taken.push(answer),
                    _ => {}
                }
            }
            rest = rest.get((message.length() as usize).next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }
}

/// An answer that is not of the form it should have.
fn invalid(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// Whether an interface can have this name. Others cannot be written into a request.
pub(crate) fn may_be_a_name(name: &str) -> bool {
    (1..libc::IFNAMSIZ).contains(&name.len())
}

/// Kinds and values of attributes, in their order, up to one that is cut off.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).map_while(Result::ok).filter_map(|attribute| {
        let (kind, end) = (attribute.kind(), usize::from(attribute.length()));
        Some((kind, attribute.into_inner().get(NLA_HEADER_SIZE..end)?))
    })
}

/// The value of the first attribute of this kind.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(of, _)| *of == kind).map(|(_, value)| value)
}

/// The number that a value begins with.
pub(crate) fn u32_of(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The longer number that a value begins with.
pub(crate) fn u64_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// The text of a value, which the kernel ends with a zero.
pub(crate) fn text_of(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;
    use netlink_packet_core::{NLMSG_DONE, NLMSG_ERROR, emit_u32};
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
        flagged(sequence, kind, number, 0)
    }

    fn flagged(sequence: u32, kind: u16, number: i32, flags: u16) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.sequence_number = sequence;
        header.flags = flags;
        let inner = Number(kind, number.cast_unsigned());
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(inner));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn take(datagram: &[u8]) -> (Result<bool, i32>, Option<u32>) {
        let mut answers = Answers::<Number>::default();
        let taken = answers.take(datagram, 7);
        let first = answers.taken.first().map(|number| number.1);
        (taken.map_err(|error| error.raw_os_error().unwrap_or(0)), first)
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
        assert_eq!(take(&message(7, NLMSG_DONE, -libc::EIO)), (Err(libc::EIO), None), "at the end of a dump");
        assert_eq!(take(&message(7, NLMSG_DONE, i32::MIN)).0, Err(i32::MAX));
    }

    #[test]
    fn a_dump_is_what_several_datagrams_hold_up_to_its_end() {
        let mut answers = Answers::<Number>::default();
        let first = [message(7, NUMBER, 5), message(6, NUMBER, 9), message(7, NUMBER, 6)].concat();
        assert!(!answers.take(&first, 7).unwrap());
        assert!(!answers.interrupted);
        let last = [flagged(7, NUMBER, 8, NLM_F_DUMP_INTR), message(7, NLMSG_DONE, 0)].concat();
        assert!(answers.take(&last, 7).unwrap());
        assert_eq!(answers.taken.iter().map(|number| number.1).collect::<Vec<_>>(), [5, 6, 8]);
        assert!(answers.interrupted);
    }

    #[test]
    fn what_a_dump_has_too_many_of_is_read_and_not_kept() {
        let mut answers = Answers::<Number>::default();
        let thousand = message(7, NUMBER, 5).repeat(1_000);
        for _ in 0..=ANSWERS_MAX / 1_000 {
            assert!(!answers.take(&thousand, 7).unwrap());
        }
        assert!(answers.take(&message(7, NLMSG_DONE, 0), 7).unwrap());
        assert_eq!((answers.taken.len(), answers.too_many), (ANSWERS_MAX, true));
    }

    #[test]
    fn attributes_end_where_one_is_cut_off() {
        let bytes = [&[5, 0, 1, 0, 7, 0, 0, 0][..], &[6, 0, 2, 0x80, 1, 2, 0, 0], &[8, 0, 3, 0, 1]].concat();
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), [(1, &[7][..]), (2, &[1, 2])]);
        assert_eq!((attribute(&bytes, 2), attribute(&bytes, 3)), (Some(&[1, 2][..]), None));
        assert_eq!((u32_of(&[1, 2, 3]), u64_of(&[0; 7])), (None, None));
        assert_eq!((text_of(b"eth0\0x"), text_of(b"")), ("eth0".to_owned(), String::new()));
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
