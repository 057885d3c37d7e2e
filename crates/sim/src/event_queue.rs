//! Which source acts next.
