//! A placeholder for capabilities that a scheme lacks.

use super::account::Account;
use super::context::{Buffer, SchemeContext};
use super::control_frames::ControlFrames;
use super::fast_forward::{Cycles, FastForward};
use super::link_retry::LinkRetry;
use super::loops::{Loops, Round};
use crate::link::frame::Frame;
use crate::time::Time;

/// Stands for a capability that a scheme lacks, and for the other scheme of a set in a run that specifies none. This
/// type has no values.
#[derive(Debug, Clone, Copy)]
pub enum Absent {}

impl<A, K> ControlFrames<A, K> for Absent {}

impl<H> Loops<H> for Absent {
    fn poll_retransmission_of(&mut self, _: u32) -> Option<(H, Frame)> {
        match *self {}
    }

    fn handle_round<C: SchemeContext>(&mut self, _: &mut C, _: Buffer, _: u32) -> Round {
        match *self {}
    }

    fn keeps_circulating(&mut self, _: Time, _: Buffer, _: u32) -> bool {
        match *self {}
    }
}

impl<H> LinkRetry<H> for Absent {
    fn poll_retry(&mut self, _: Time) -> Option<(H, Frame)> {
        match *self {}
    }

    fn next_service(&mut self) -> Option<Time> {
        match *self {}
    }

    fn handle_damaged<C: SchemeContext>(&mut self, _: &mut C, _: &H) {
        match *self {}
    }
}

impl<H, A> FastForward<H, A> for Absent {
    fn steady_state(&mut self, _: Time, _: &mut Vec<u64>) -> Option<()> {
        match *self {}
    }

    fn header_state(&mut self, _: &H, _: &Frame, _: &mut Vec<u64>) {
        match *self {}
    }

    fn ack_state(&mut self, _: &A, _: u64) -> u64 {
        match *self {}
    }

    fn skip(&mut self, _: &Cycles) {
        match *self {}
    }

    fn skip_header(&mut self, _: &mut H, _: u64) {
        match *self {}
    }

    fn skip_ack(&mut self, _: &mut A, _: u64) {
        match *self {}
    }
}

impl<H> Account<H> for Absent {
    fn has_moved_past(&self, _: &H) -> bool {
        match *self {}
    }
}
