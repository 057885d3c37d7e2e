//! No recovery: corrupted frames are lost.

use super::{FastForward, PortSeed, Reception, Scheme, SchemeContext};
use crate::link::frame::Frame;
use crate::link::scheme::Cycles;
use crate::time::Time;
use linkmend_protocol::{Admission, ConfigError, Mode};
use std::convert::Infallible;

/// An end of a link that recovers nothing. It has neither headers nor control frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unprotected;

impl Scheme for Unprotected {
    type Config = ();
    type Header = Infallible;
    type Ack = Infallible;
    type Control = Infallible;

    fn new((): &(), (): &(), _: PortSeed) -> Result<Unprotected, ConfigError> {
        Ok(Unprotected)
    }

    fn header_bytes(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn admission(&self, _: Mode, _: u32) -> Admission {
        Admission::Unprotected
    }

    fn send<C: SchemeContext>(&mut self, _: &mut C, _: Frame) -> Infallible {
        unreachable!("no frame is admitted as protected")
    }

    fn handle_data<C: SchemeContext>(&mut self, _: &mut C, header: &Infallible, _: Frame) -> Reception {
        match *header {}
    }

    fn is_inert(&self) -> bool {
        true
    }

    fn fast_forward(&mut self) -> Option<&mut impl FastForward<Infallible, Infallible>> {
        Some(self)
    }
}

/// The port does everything.
impl FastForward<Infallible, Infallible> for Unprotected {
    fn steady_state(&mut self, _: Time, _: &mut Vec<u64>) -> Option<()> {
        Some(())
    }

    fn header_state(&mut self, header: &Infallible, _: &Frame, _: &mut Vec<u64>) {
        match *header {}
    }

    fn ack_state(&mut self, ack: &Infallible, _: u64) -> u64 {
        match *ack {}
    }

    fn skip(&mut self, _: &Cycles) {}

    fn skip_header(&mut self, header: &mut Infallible, _: u64) {
        match *header {}
    }

    fn skip_ack(&mut self, ack: &mut Infallible, _: u64) {
        match *ack {}
    }
}
