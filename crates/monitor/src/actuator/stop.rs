//! The daemon's end, as those see it whose work takes long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says to all who have a copy of it that the daemon stops.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks everybody to come to an end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    pub fn is_asked_for(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
