//! What may watch a run. Calls to [`NoObserver`] compile to nothing.

use super::frame::{Frame, OnWire};
use crate::time::Time;
use linkmend_protocol::Control;

/// Watches a network. Link ends are named by their index.
pub trait Observer {
    /// Link end `end` began to send `frame` at `at`; `control` is its content if it is a control frame.
    fn sent(&mut self, end: usize, at: Time, frame: &OnWire, control: Option<&Control>, corrupted: bool) {
        let _ = (end, at, frame, control, corrupted);
    }

    /// `frame` arrived at link end `end`.
    fn received(&mut self, end: usize, at: Time, frame: &OnWire, control: Option<&Control>) {
        let _ = (end, at, frame, control);
    }

    /// Link end `end` passed `frame` on.
    fn delivered(&mut self, end: usize, at: Time, frame: &Frame) {
        let _ = (end, at, frame);
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
