//! Packs frames into datagrams.

use crate::counters::Counters;
use crate::path_mtu::BASE_BYTES;
use crate::secure::SEAL_BYTES;
use crate::wire::{self, DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX, HEADER_BYTES, Part, RECORD_BYTES};
use std::collections::VecDeque;

/// The largest number of datagrams that wait for the kernel.
pub const QUEUE_DATAGRAMS: usize = 512;

/// The frame does not fit the queue; it stays with the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// Datagrams that wait to be sent, and the one that is being filled.
///
/// A frame that fits what is left of the open datagram is added to it. Any other begins a datagram, and takes several if it
/// is longer than one. Frames are never split to fill a datagram, because a frame is lost if one of its datagrams is.
#[derive(Debug)]
pub struct Sender {
    /// Memory of datagrams that have been sent.
    free: Vec<Vec<u8>>,
    queue: VecDeque<Vec<u8>>,
    /// Whether the last datagram of the queue may take more frames.
    is_open: bool,
    next_number: u64,
    /// What the peer wants to see in every datagram.
    token: u64,
    limit_bytes: usize,
    split_frames: u64,
}

impl Sender {
    /// A sender of datagrams of at most `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Sender {
        let mut sender = Sender {
            free: Vec::with_capacity(QUEUE_DATAGRAMS),
            queue: VecDeque::with_capacity(QUEUE_DATAGRAMS),
            is_open: false,
            next_number: 0,
            token: 0,
            limit_bytes,
            split_frames: 0,
        };
        sender.set_limit(limit_bytes);
        sender
    }

    /// Sets the longest datagram from now on, in bytes with its header.
    pub fn set_limit(&mut self, limit_bytes: usize) {
        self.limit_bytes = limit_bytes.clamp(BASE_BYTES - SEAL_BYTES, DATAGRAM_BYTES_MAX);
    }

    /// Sets the token of the datagrams from now on. Those that wait are dropped, because they are for another peer.
    pub fn set_token(&mut self, token: u64) {
        if self.token != token {
            self.token = token;
            self.drop_first(self.queue.len());
        }
    }

    fn body_bytes(&self) -> usize {
        self.limit_bytes - HEADER_BYTES
    }

    /// The longest frame that takes one datagram.
    pub fn whole_frame_bytes(&self) -> usize {
        self.body_bytes() - RECORD_BYTES
    }

    /// The largest number of datagrams that a frame of so many bytes takes.
    pub fn datagrams_for(&self, frame_bytes: usize) -> usize {
        frame_bytes.div_ceil(self.whole_frame_bytes()).max(1)
    }

    /// How many datagrams can be begun now.
    pub fn room(&self) -> usize {
        QUEUE_DATAGRAMS - self.queue.len()
    }

    /// Adds a frame of `bytes`, given by its pieces.
    ///
    /// # Errors
    /// [`NoRoom`], also if the frame is longer than [`FRAME_BYTES_MAX`].
    ///
    /// # Panics
    /// If the pieces are shorter than `bytes`.
    pub fn push<'a>(
        &mut self,
        bytes: usize,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), NoRoom> {
        if bytes > FRAME_BYTES_MAX {
            return Err(NoRoom);
        }
        let mut pieces = pieces.into_iter();
        let whole = RECORD_BYTES + bytes;
        if whole <= self.body_bytes() {
            let left = self.queue.back().map_or(0, |open| self.limit_bytes.saturating_sub(open.len()));
            if !self.is_open || left < whole {
                self.begin()?;
            }
            self.add(Part::Whole, bytes, &mut pieces, &mut &[][..]);
            return Ok(());
        }
        if self.datagrams_for(bytes) > self.room() {
            return Err(NoRoom);
        }
        self.split_frames += 1;
        let (mut left, mut piece) = (bytes, &[][..]);
        while left > 0 {
            self.begin()?;
            let length = left.min(self.body_bytes() - RECORD_BYTES);
            let part = match (left == bytes, left == length) {
                (true, _) => Part::First,
                (false, false) => Part::Middle,
                (false, true) => Part::Last,
            };
            self.add(part, length, &mut pieces, &mut piece);
            left -= length;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), NoRoom> {
        if self.room() == 0 {
            return Err(NoRoom);
        }
        let mut datagram = self.free.pop().unwrap_or_default();
        wire::write_header(&mut datagram, 0, self.token, self.next_number);
        self.next_number += 1;
        self.queue.push_back(datagram);
        self.is_open = true;
        Ok(())
    }

    /// Adds a record to the open datagram: first what is left of `piece`, then the next `pieces`.
    fn add<'a>(
        &mut self,
        part: Part,
        bytes: usize,
        pieces: &mut impl Iterator<Item = &'a [u8]>,
        piece: &mut &'a [u8],
    ) {
        let Some(open) = self.queue.back_mut() else { return };
        wire::write_record_head(open, part, bytes);
        let mut left = bytes;
        while left > 0 {
            if piece.is_empty() {
                *piece = pieces.next().expect("a frame has as many bytes as was said");
            }
            let (now, later) = piece.split_at(left.min(piece.len()));
            open.extend_from_slice(now);
            (left, *piece) = (left - now.len(), later);
        }
    }

    /// Lets the open datagram go.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    /// The datagrams to be sent, oldest first. Call [`Sender::close`] before.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.queue.iter().map(Vec::as_slice)
    }

    /// The number of the first datagram that waits, or of the next one if none does.
    pub fn first_number(&self) -> u64 {
        self.next_number - self.queue.len() as u64
    }

    /// Takes the first datagrams out of the queue, because they were sent or cannot be.
    pub fn drop_first(&mut self, count: usize) {
        self.free.extend(self.queue.drain(..count.min(self.queue.len())));
        self.is_open &= !self.queue.is_empty();
    }

    pub(crate) fn count(&self, counters: &mut Counters) {
        counters.split_frames = self.split_frames;
    }

    /// How many datagrams wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no datagram waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
