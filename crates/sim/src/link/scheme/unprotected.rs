//! No recovery: corrupted frames are lost.

use super::{PortSeed, Reception, Scheme, SchemeContext};
use crate::link::frame::Frame;
use crate::network::Observer;
use crate::time::Time;
use linkmend_protocol::{Admission, ConfigError};
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
    fn admission(&self, _: &Frame) -> Admission {
        Admission::Unprotected
    }

    fn send<O: Observer<N>, N: Scheme>(&mut self, _: &mut SchemeContext<'_, N, O>, _: Frame) -> Infallible {
        unreachable!("no frame is admitted as protected")
    }

    fn handle_data<O: Observer<N>, N: Scheme>(
        &mut self,
        _: &mut SchemeContext<'_, N, O>,
        header: &Infallible,
        _: Frame,
    ) -> Reception {
        match *header {}
    }

    fn handle_ack<O: Observer<N>, N: Scheme>(&mut self, _: &mut SchemeContext<'_, N, O>, ack: Infallible) {
        match ack {}
    }

    fn handle_control<O: Observer<N>, N: Scheme>(
        &mut self,
        _: &mut SchemeContext<'_, N, O>,
        control: &Infallible,
    ) {
        match *control {}
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
