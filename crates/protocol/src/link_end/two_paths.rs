//! What a driver needs of a link end to send on two paths, every frame on both or on either, and to make one queue of what arrives
//! ([`crate::merge`]).

use super::{Control, LinkEnd};
use crate::frame::DataHeader;
use crate::mode::{Mode, PerMode};
use crate::paths::Path;
use crate::sequence::LongSequenceNumber;
use crate::session::{SessionNumber, TransmitState};

impl LinkEnd {
    /// The session in which this end receives, if there is one.
    #[inline]
    pub const fn receives(&self) -> Option<SessionNumber> {
        self.receiving.receive.active
    }

    /// The whole first number of a lane that this end has neither received nor given up.
    #[inline]
    pub fn first_lacking(&self, mode: Mode) -> u64 {
        let receiver = &self.receiving.receivers[mode];
        receiver.cumulative().expand(receiver.highest()).unwrap_or(receiver.highest())
    }

    /// A dummy that repeats the stamp of the latest one, and therefore asks for nothing: it names the session and the
    /// whole numbers. `None` without a session.
    pub fn position(&self) -> Option<Control> {
        let sending = &self.sending;
        let is_open = matches!(sending.transmit.state, TransmitState::Active | TransmitState::Draining);
        let number = |at: fn(&crate::sender::Sender) -> u64| {
            PerMode(Mode::ALL.map(|mode| LongSequenceNumber::from_absolute(at(&sending.senders[mode]))))
        };
        is_open.then(|| Control::Dummy {
            session: sending.transmit.session,
            stamp: sending.dummies.stamp,
            next: number(|sender| sender.next()),
            held_from: number(|sender| sender.next() - sender.outstanding()),
        })
    }

    /// Whether a frame of the session in which this end sends has been acknowledged. What was sent unprotected before the session
    /// has then arrived, so numbered frames may go out on a path that could overtake it.
    #[inline]
    pub fn is_confirmed(&self) -> bool {
        let sending = &self.sending;
        let has_progressed = |mode: Mode| {
            let sender = &sending.senders[mode];
            sender.next() - sender.outstanding() > sending.transmit.session.first_sequence(mode)
        };
        let is_open = matches!(sending.transmit.state, TransmitState::Active | TransmitState::Draining);
        is_open && Mode::ALL.into_iter().any(has_progressed)
    }

    /// Records on which of two paths the frame or copy that this end handed out last has left. What proves a copy lost has
    /// followed it on the same path. A driver that uses one path at a time need not call this.
    pub fn left_on(&mut self, path: Path, header: &DataHeader) {
        let sender = &mut self.sending.senders[header.mode];
        if header.retransmitted {
            sender.copy_left_on(path, header.sequence);
        } else {
            sender.left_on(path);
        }
    }
}
