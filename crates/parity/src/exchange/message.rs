//! The messages of two ends, on the wire. All numbers are big-endian.

use crate::feedback::{Feedback, Header, ParityFrame};

const FRAME: u8 = 0;
const PARITY: u8 = 1;
const OFFER: u8 = 2;
const MISSING: u8 = 3;
const GROUP: u8 = 4;
const ANSWER: u8 = 5;

/// The bit of a place that marks a copy.
const IS_COPY: u8 = 1 << 7;

/// What the sender of a class offers to its receiver, which needs no configuration of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    pub deadline_us: u32,
    /// Number of the next frame, modulo 2^32.
    pub next: u32,
    /// When this was sent, in microseconds of the sender's clock, modulo 2^32.
    pub sent_us: u32,
    /// 0 until the sender has measured it.
    pub round_trip_us: u32,
}

/// The answer to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// That of the offer.
    pub sent_us: u32,
    /// Whether frames of this session are expected.
    pub is_ready: bool,
}

/// A message, whose contents are borrowed from where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message<'a> {
    Frame(Header, &'a [u8]),
    Parity(ParityFrame<&'a [u8]>),
    Offer(Offer),
    Feedback(Feedback),
    Answer(Answer),
}

/// A message, and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    /// Place of the class among those of the frames' sender.
    pub class: u8,
    /// Of the frames' sender.
    pub session: u32,
    pub message: Message<'a>,
}

impl Message<'_> {
    fn kind(&self) -> u8 {
        match self {
            Message::Frame(..) => FRAME,
            Message::Parity(_) => PARITY,
            Message::Offer(_) => OFFER,
            Message::Feedback(Feedback::Missing { .. }) => MISSING,
            Message::Feedback(Feedback::Group { .. }) => GROUP,
            Message::Answer(_) => ANSWER,
        }
    }
}

impl Envelope<'_> {
    /// Appends the message to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend([self.message.kind(), self.class]);
        out.extend(self.session.to_be_bytes());
        match self.message {
            Message::Frame(Header { number, stamp, place, is_copy }, frame) => {
                out.extend(number.to_be_bytes());
                out.extend(stamp.to_be_bytes());
                out.push(place | if is_copy { IS_COPY } else { 0 });
                out.extend(frame);
            }
            Message::Parity(ParityFrame { first, frames, count, index, content }) => {
                out.extend(first.to_be_bytes());
                out.extend([frames, count, index]);
                out.extend(content);
            }
            Message::Offer(Offer { deadline_us, next, sent_us, round_trip_us }) => {
                let fields = [deadline_us, next, sent_us, round_trip_us];
                out.extend(fields.into_iter().flat_map(u32::to_be_bytes));
            }
            Message::Feedback(Feedback::Missing { first, others, copies }) => {
                out.extend(first.to_be_bytes());
                out.extend(others.to_be_bytes());
                out.push(copies);
            }
            Message::Feedback(Feedback::Group { frames, parity, age }) => {
                out.extend([frames, parity]);
                out.extend(age.to_be_bytes());
            }
            Message::Answer(Answer { sent_us, is_ready }) => {
                out.extend(sent_us.to_be_bytes());
                out.push(u8::from(is_ready));
            }
        }
    }

    /// Reads a message; `None` if it does not follow the format. What may follow a message without contents is ignored.
    pub fn parse(bytes: &[u8]) -> Option<Envelope<'_>> {
        let mut reader = Reader(bytes);
        let kind = reader.u8()?;
        let class = reader.u8()?;
        let session = reader.u32()?;
        let message = match kind {
            FRAME => {
                let (number, stamp, place) = (reader.u32()?, reader.u16()?, reader.u8()?);
                let header = Header { number, stamp, place: place & !IS_COPY, is_copy: place & IS_COPY != 0 };
                Message::Frame(header, reader.0)
            }
            PARITY => {
                let first = reader.u32()?;
                let (frames, count, index) = (reader.u8()?, reader.u8()?, reader.u8()?);
                Message::Parity(ParityFrame { first, frames, count, index, content: reader.0 })
            }
            OFFER => {
                let (deadline_us, next) = (reader.u32()?, reader.u32()?);
                Message::Offer(Offer {
                    deadline_us,
                    next,
                    sent_us: reader.u32()?,
                    round_trip_us: reader.u32()?,
                })
            }
            MISSING => {
                let (first, others) = (reader.u32()?, reader.u16()?);
                Message::Feedback(Feedback::Missing { first, others, copies: reader.u8()? })
            }
            GROUP => {
                let (frames, parity) = (reader.u8()?, reader.u8()?);
                Message::Feedback(Feedback::Group { frames, parity, age: reader.u16()? })
            }
            ANSWER => {
                let sent_us = reader.u32()?;
                let is_ready = match reader.u8()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                };
                Message::Answer(Answer { sent_us, is_ready })
            }
            _ => return None,
        };
        Some(Envelope { class, session, message })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let header = Header { number: 0xfffe_0001, stamp: 0x1234, place: 127, is_copy: true };
        let parity = ParityFrame { first: 7, frames: 128, count: 128, index: 127, content: &b"sum"[..] };
        let offer = Offer { deadline_us: 150_000, next: u32::MAX, sent_us: 1, round_trip_us: 100_000 };
        let messages = [
            Message::Frame(header, b"frame"),
            Message::Frame(Header { is_copy: false, ..header }, b""),
            Message::Parity(parity),
            Message::Offer(offer),
            Message::Feedback(Feedback::Missing { first: 9, others: 0x8001, copies: 6 }),
            Message::Feedback(Feedback::Group { frames: 10, parity: 3, age: 400 }),
            Message::Answer(Answer { sent_us: 3, is_ready: true }),
            Message::Answer(Answer { sent_us: 4, is_ready: false }),
        ];
        for message in messages {
            let envelope = Envelope { class: 3, session: 0xdead_beef, message };
            let mut bytes = Vec::new();
            envelope.emit(&mut bytes);
            assert_eq!(Envelope::parse(&bytes), Some(envelope.clone()));
            let contents = match envelope.message {
                Message::Frame(_, contents) => contents.len(),
                Message::Parity(parity) => parity.content.len(),
                _ => 0,
            };
            for length in 0..bytes.len() - contents {
                assert_eq!(Envelope::parse(&bytes[..length]), None, "{length} bytes of {bytes:x?}");
            }
        }
        assert_eq!(Envelope::parse(&[6; 40]), None);
    }
}
