//! A link with a key: what leaves is sealed, and what arrives without the peer's seal is not believed.

use super::Engine;
use linkmend_control::report::KeyTrouble;
use linkmend_protocol::paths::Path;
use linkmend_protocol::wire::{
    self, ADDRESSES_BYTES, CONTROL_FRAME_MAX, Decapsulation, Encapsulation, FRAME_BYTES_MIN_IN_MEMORY,
    Genuineness, HEADER_GROWTH_MAX, SEALED_GROWTH_MAX, Seal, TAG_BYTES, Tagged, TaggedHeader,
};
use linkmend_protocol::{Control, DataHeader, FrameHandle, PiggybackAck, ReceiveState, SessionNumber};

/// The largest number of bytes that a header adds to a frame.
pub(super) fn growth(seal: Option<&Seal>) -> usize {
    seal.map_or(HEADER_GROWTH_MAX, |_| SEALED_GROWTH_MAX)
}

impl Engine {
    /// Writes a control frame. `None` if it cannot be sealed before the peer is known; the protocol repeats it.
    pub(super) fn emit_control(
        &mut self,
        path: Path,
        control: &Control,
        buffer: &mut [u8; CONTROL_FRAME_MAX],
    ) -> Option<usize> {
        let source = self.sides[path].port.mac();
        match &mut self.seal {
            Some(seal) if control.has_magic() => wire::emit_sealed(control, source, buffer, seal),
            _ => Some(wire::emit_control(control, source, buffer)),
        }
    }

    /// Whether a control frame is one of an end that this one can believe. Counts others, and says once what is wrong.
    pub(super) fn is_genuine(&mut self, frame: FrameHandle, control: &Control) -> bool {
        let head = self.pool.head(frame);
        let Some(end) = wire::control_end(head) else { return self.seal.is_none() };
        let (is_genuine, trouble) = match &mut self.seal {
            None => {
                let only_other = matches!(control, Control::Hello { .. }) && wire::is_sealed(head, end);
                (!only_other, only_other.then_some(KeyTrouble::OnlyOtherHas))
            }
            Some(seal) => match seal.open_control(control, head, end) {
                Genuineness::Genuine => (true, None),
                Genuineness::OtherKey => (false, Some(KeyTrouble::KeysDiffer)),
                Genuineness::Keyless => (false, Some(KeyTrouble::OtherHasNone)),
                Genuineness::Refused => (false, None),
            },
        };
        self.counters.forged_frames += u64::from(!is_genuine);
        // A stranger may say hello, too, and means nothing while the peer is known.
        if let Some(trouble) = trouble.filter(|_| !self.end.peer_known()) {
            self.note_key_trouble(trouble);
        }
        is_genuine
    }

    /// Learns the nonce of a peer, and with it the keys of its frames.
    pub(super) fn meet(&mut self, control: &Control) {
        if let (Some(seal), Control::Hello { nonce, echo }) = (&mut self.seal, control) {
            seal.meet(*nonce, *echo);
        }
        if self.end.peer_known() {
            self.key_trouble = None;
        }
    }

    fn note_key_trouble(&mut self, trouble: KeyTrouble) {
        if self.key_trouble.replace(trouble) == Some(trouble) {
            return;
        }
        let link = &self.settings.name;
        let hint = "hint: give both ends the same key file (`key`), or neither, and restart them";
        match trouble {
            KeyTrouble::OtherHasNone => {
                tracing::warn!(%link, "the other end has no key and this one has, so frames pass unprotected; {hint}");
            }
            KeyTrouble::KeysDiffer => {
                tracing::warn!(%link, "the two ends have different keys, so frames pass unprotected; {hint}");
            }
            KeyTrouble::OnlyOtherHas => {
                tracing::warn!(%link, "the other end has a key and this one has none, so frames pass unprotected; {hint}");
            }
        }
    }

    /// Adds the tag of a protected frame to its header.
    pub(super) fn seal_data(&self, frame: FrameHandle, header: &DataHeader, out: &mut Encapsulation) {
        if let Some(numbered) = self.end.number_sent(header) {
            self.seal_frame(frame, numbered, TaggedHeader::Data(*header), out);
        }
    }

    /// Adds the tag of an ACK on an unprotected frame to its header.
    pub(super) fn seal_ack(
        &self,
        frame: FrameHandle,
        ack: PiggybackAck,
        out: &mut Encapsulation,
    ) -> Option<()> {
        if self.seal.is_none() {
            return Some(());
        }
        let numbered = self.end.number_acknowledging(ack)?;
        self.seal_frame(frame, numbered, TaggedHeader::Ack(ack), out)
    }

    fn seal_frame(
        &self,
        frame: FrameHandle,
        (session, number): (SessionNumber, u64),
        header: TaggedHeader,
        out: &mut Encapsulation,
    ) -> Option<()> {
        let seal = self.seal.as_ref()?;
        let head = self.pool.head(frame);
        let on_link = self.pool.frame_length(frame) + out.growth() + TAG_BYTES;
        let link_bytes = on_link.max(FRAME_BYTES_MIN_IN_MEMORY) as u32;
        let (addresses, ethertype) = (head.first_chunk()?, wire::ethertype_of(head)?);
        seal.close(&Tagged { session, number, header, addresses, ethertype, link_bytes }, out)
    }

    /// Whether a protected frame is the peer's, and how to restore it; `None` if it is to be dropped. Without a session there is
    /// nothing to judge it by: it is taken as the original of a session that this end has lost, and says no more than a frame
    /// without a header.
    pub(super) fn open_data(
        &self,
        path: Path,
        frame: FrameHandle,
        header: &DataHeader,
        decapsulation: Decapsulation,
    ) -> Option<(bool, Decapsulation)> {
        if self.seal.is_none() {
            return Some((true, decapsulation));
        }
        let numbered = self.number_received(path, header);
        let (is_genuine, decapsulation) =
            self.open_frame(frame, numbered, TaggedHeader::Data(*header), decapsulation)?;
        let has_session = self.end.status().receive == ReceiveState::Active;
        (is_genuine || !has_session).then_some((is_genuine, decapsulation))
    }

    /// Whether to believe an ACK on an unprotected frame, and how to restore the frame.
    pub(super) fn open_ack(
        &self,
        frame: FrameHandle,
        ack: PiggybackAck,
        decapsulation: Decapsulation,
    ) -> (bool, Decapsulation) {
        if self.seal.is_none() {
            return (true, decapsulation);
        }
        let numbered = self.end.number_acknowledged(ack);
        self.open_frame(frame, numbered, TaggedHeader::Ack(ack), decapsulation)
            .unwrap_or((false, decapsulation))
    }

    fn open_frame(
        &self,
        frame: FrameHandle,
        numbered: Option<(SessionNumber, u64)>,
        header: TaggedHeader,
        decapsulation: Decapsulation,
    ) -> Option<(bool, Decapsulation)> {
        let seal = self.seal.as_ref()?;
        let head = self.pool.head(frame);
        let (tag, decapsulation) = wire::without_tag(head, decapsulation)?;
        let link_bytes = self.pool.frame_length(frame).max(FRAME_BYTES_MIN_IN_MEMORY) as u32;
        let at = ADDRESSES_BYTES + decapsulation.removes;
        let explicit = || head.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
        let ethertype = decapsulation.ethertype.or_else(explicit)?;
        let addresses = head.first_chunk()?;
        let is_genuine = numbered.is_some_and(|(session, number)| {
            seal.opens(&Tagged { session, number, header, addresses, ethertype, link_bytes }, tag)
        });
        Some((is_genuine, decapsulation))
    }
}
