//! The steady state of a link end, for fast-forward.

use super::LinkGuardian;
use crate::link::frame::Frame;
use crate::link::scheme::context::OUT_OF_REACH;
use crate::link::scheme::{Buffer, Cycles, FastForward};
use crate::time::Time;
use linkmend_protocol::{DataHeader, Instant, Mode, PerMode, SequenceNumber, Ticks, Undisturbed};

impl LinkGuardian {
    /// Records the state that determines the future, relative to the clock; `None` while anything is missing, paused or
    /// about to be repeated.
    pub(super) fn describe(&self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        if self.paused || self.told_paused {
            return None;
        }
        let steady = self.end.steady_state(Instant(now.0), Ticks(OUT_OF_REACH))?;
        for mode in Mode::ALL {
            let (outstanding, uncovered, tx_bytes) = steady.outstanding[mode];
            let (buffered, rx_bytes) = steady.buffered[mode];
            let pending = u64::from(steady.pending[mode]);
            state.extend([outstanding, uncovered, tx_bytes, buffered, rx_bytes, pending]);
        }
        for (restart, burst, repeating) in steady.dummies.0 {
            state.extend([u64::from(restart), u64::from(burst), u64::from(repeating)]);
        }
        let (idle_ack, acks) = steady.ack_wait;
        let (idle_dummy, dummy) = steady.dummy_wait;
        state.extend([idle_ack, acks.0[0], acks.0[1], idle_dummy, dummy].map(|wait| wait.0));
        Some(())
    }

    pub(super) fn advance(&mut self, cycles: &Cycles) {
        let lane = |of: Mode, frames: u64| PerMode(Mode::ALL.map(|mode| if mode == of { frames } else { 0 }));
        self.tx.iter_mut().for_each(|held| held.frame.id += cycles.sent);
        self.rx.iter_mut().for_each(|frame| frame.id += cycles.received);
        self.end.fast_forward(&Undisturbed {
            elapsed: Ticks(cycles.elapsed.0),
            sent: lane(cycles.mode, cycles.sent),
            sent_bytes: cycles.sent * u64::from(cycles.bytes),
            received: lane(cycles.received_mode, cycles.received),
            received_bytes: cycles.received * u64::from(cycles.received_bytes),
            acks_sent: cycles.acks,
        });
    }
}

impl FastForward<DataHeader, SequenceNumber> for LinkGuardian {
    fn steady_state(&mut self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        self.describe(now, state)
    }

    fn header_state(&mut self, header: &DataHeader, frame: &Frame, state: &mut Vec<u64>) {
        let sequence = u64::from(header.sequence.number().wrapping_sub(frame.id as u16));
        state.extend([sequence, u64::from(header.retransmitted), header.mode as u64]);
    }

    fn ack_state(&mut self, next: &SequenceNumber, arriving: u64) -> u64 {
        u64::from(next.number().wrapping_sub(arriving as u16))
    }

    fn circling_state(&mut self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
        match buffer {
            Buffer::Tx => {
                let held = self.tx.get(slot);
                held.frame.id.wrapping_sub(produced) << 1 | u64::from(held.released)
            }
            Buffer::Rx => self.rx.get(slot).id.wrapping_sub(arriving) << 1,
        }
    }

    fn skip(&mut self, cycles: &Cycles) {
        self.advance(cycles);
    }

    fn skip_header(&mut self, header: &mut DataHeader, frames: u64) {
        header.sequence = header.sequence.plus(frames);
    }

    fn skip_ack(&mut self, next: &mut SequenceNumber, frames: u64) {
        *next = next.plus(frames);
    }
}
