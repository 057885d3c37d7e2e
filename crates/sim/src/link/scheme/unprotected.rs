//! No recovery: corrupted frames are lost.

use super::{PortSeed, Reception, Scheme, SchemeContext};
use crate::link::frame::Frame;
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

    fn handle_ack<C: SchemeContext>(&mut self, _: &mut C, ack: Infallible) {
        match ack {}
    }

    fn handle_control<C: SchemeContext>(&mut self, _: &mut C, control: &Infallible) {
        match *control {}
    }

    fn is_inert(&self) -> bool {
        true
    }

    fn exchanges_control(&self) -> bool {
        false
    }

    fn is_copy(header: &Infallible) -> bool {
        match *header {}
    }

    fn control_bytes(control: &Infallible) -> u32 {
        match *control {}
    }

    fn steady_state(&self, _: Time, _: &mut Vec<u64>) -> Option<()> {
        Some(())
    }
}
