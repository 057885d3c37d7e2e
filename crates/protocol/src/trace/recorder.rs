//! A link end that records its driver's calls.

use super::step::{Record, Step, handle_timeout};
use crate::config::Config;
use crate::config_error::ConfigError;
use crate::event::Event;
use crate::frame::{DataHeader, FrameHandle, PiggybackAck};
use crate::link_end::{Control, LinkEnd, Priority, Protection, Reception, Transmit};
use crate::mode::Mode;
use crate::paths::Path;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Deref;

/// Receives steps as they happen.
pub trait StepSink {
    /// Receives one step; `at` is the driver's clock.
    fn record(&mut self, at: Instant, step: &Step);
}

impl StepSink for Vec<Record> {
    fn record(&mut self, at: Instant, step: &Step) {
        self.push(Record { at, step: step.clone() });
    }
}

impl<S: StepSink + ?Sized> StepSink for Box<S> {
    fn record(&mut self, at: Instant, step: &Step) {
        (**self).record(at, step);
    }
}

/// A [`LinkEnd`] with the same methods, whose calls go to a sink if there is one. Without a sink, a call costs one
/// branch that is always predicted. Methods that change nothing (status, statistics, admission) are reached by
/// dereference; there is deliberately no mutable dereference, so no call can be missed.
#[derive(Debug)]
pub struct TracedLinkEnd<S> {
    end: LinkEnd,
    sink: Option<S>,
    /// The time of the latest call, for those that take none; kept only while there is a sink.
    now: Instant,
}

impl<S> Deref for TracedLinkEnd<S> {
    type Target = LinkEnd;

    #[inline]
    fn deref(&self) -> &LinkEnd {
        &self.end
    }
}

impl<S: StepSink> TracedLinkEnd<S> {
    /// A fresh link end, so that the record is complete.
    pub fn new(end: LinkEnd, sink: Option<S>) -> TracedLinkEnd<S> {
        TracedLinkEnd { end, sink, now: Instant(0) }
    }

    /// The sink, if there is one.
    pub fn sink_mut(&mut self) -> Option<&mut S> {
        self.sink.as_mut()
    }

    /// Records something that is not a call; `step` runs only if there is a sink.
    #[inline]
    pub fn note(&mut self, now: Instant, step: impl FnOnce() -> Step) {
        self.record(now, step);
    }

    /// See [`LinkEnd::protect`].
    pub fn protect(&mut self, now: Instant, protection: Protection) {
        self.end.protect(now, protection);
        self.record(now, || Step::Protect { protection });
    }

    /// See [`LinkEnd::unprotect`].
    pub fn unprotect(&mut self, now: Instant) {
        self.end.unprotect(now);
        self.record(now, || Step::Unprotect);
    }

    /// See [`LinkEnd::reconfigure`].
    ///
    /// # Errors
    /// Those of [`LinkEnd::reconfigure`].
    pub fn reconfigure(&mut self, config: Config) -> Result<(), ConfigError> {
        self.end.reconfigure(config)?;
        self.record(self.now, || Step::Reconfigure { config: Box::new(config) });
        Ok(())
    }

    /// See [`LinkEnd::handle_stall`].
    pub fn handle_stall(&mut self, now: Instant) {
        self.end.handle_stall(now);
        self.record(now, || Step::Stall);
    }

    /// See [`LinkEnd::leave`].
    pub fn leave(&mut self, now: Instant) {
        self.end.leave(now);
        self.record(now, || Step::Leave);
    }

    /// See [`LinkEnd::handle_stop`].
    pub fn handle_stop(&mut self, now: Instant) {
        self.end.handle_stop(now);
        self.record(now, || Step::Stop);
    }

    /// See [`LinkEnd::change_path`].
    pub fn change_path(&mut self, now: Instant) -> u64 {
        let resent = self.end.change_path(now);
        self.record(now, || Step::ChangePath { resent });
        resent
    }

    /// See [`LinkEnd::set_clean_other`].
    pub fn set_clean_other(&mut self, now: Instant, is_clean: bool) {
        if self.end.set_clean_other(is_clean) {
            self.record(now, || Step::CleanOther { is_clean });
        }
    }

    /// See [`LinkEnd::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.sink.is_none() {
            return self.end.handle_timeout(now);
        }
        let given_up = handle_timeout(&mut self.end, now);
        self.record(now, || Step::Timeout { given_up });
    }

    /// See [`LinkEnd::handle_control`].
    pub fn handle_control(&mut self, now: Instant, control: &Control) -> bool {
        let accepted = self.end.handle_control(now, control);
        self.record(now, || Step::Control { control: *control, accepted });
        accepted
    }

    /// See [`LinkEnd::handle_ack`].
    #[inline]
    pub fn handle_ack(&mut self, now: Instant, ack: PiggybackAck) -> bool {
        let accepted = self.end.handle_ack(now, ack);
        self.record(now, || Step::Ack { ack, accepted });
        accepted
    }

    /// See [`LinkEnd::handle_data`].
    #[inline]
    pub fn handle_data(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let reception = self.end.handle_data(now, header, frame, bytes);
        self.record(now, || Step::Data { header: *header, frame, bytes, reception });
        reception
    }

    /// See [`LinkEnd::send`].
    #[inline]
    pub fn send(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> Option<DataHeader> {
        let header = self.end.send(now, mode, frame, bytes);
        self.record(now, || Step::Send { mode, frame, bytes, header });
        header
    }

    /// See [`LinkEnd::left_on`].
    #[inline]
    pub fn left_on(&mut self, now: Instant, path: Path, header: &DataHeader) {
        self.end.left_on(path, header);
        self.record(now, || Step::LeftOn { path, header: *header });
    }

    /// See [`LinkEnd::poll_transmit`].
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, priority: Priority) -> Option<Transmit> {
        let transmit = self.end.poll_transmit(now, priority);
        self.record(now, || Step::PollTransmit { priority, transmit });
        transmit
    }

    /// See [`LinkEnd::poll_piggyback`].
    pub fn poll_piggyback(&mut self, now: Instant) -> Option<PiggybackAck> {
        let ack = self.end.poll_piggyback(now);
        self.record(now, || Step::PollPiggyback { ack });
        ack
    }

    /// See [`LinkEnd::poll_deliver`].
    #[inline]
    pub fn poll_deliver(&mut self) -> Option<FrameHandle> {
        let frame = self.end.poll_deliver();
        self.record(self.now, || Step::PollDeliver { frame });
        frame
    }

    /// See [`LinkEnd::poll_release`].
    #[inline]
    pub fn poll_release(&mut self) -> Option<FrameHandle> {
        let frame = self.end.poll_release()?;
        self.record(self.now, || Step::Released { frame });
        Some(frame)
    }

    /// See [`LinkEnd::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.end.poll_event()?;
        self.record(self.now, || Step::Event { event });
        Some(event)
    }

    /// See [`LinkEnd::reset_buffer_extremes`], which is statistics and not recorded.
    pub fn reset_buffer_extremes(&mut self) {
        self.end.reset_buffer_extremes();
    }

    #[inline]
    fn record(&mut self, now: Instant, step: impl FnOnce() -> Step) {
        if let Some(sink) = &mut self.sink {
            self.now = now;
            sink.record(now, &step());
        }
    }
}
