//! Observers of a run.
