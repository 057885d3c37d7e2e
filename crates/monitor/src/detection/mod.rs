//! Whether a port's link corrupts, at what rate, and whether that is over.
//!
//! A [`Detector`] watches one port. Each poll tells it how many frames arrived and how many were corrupted; it keeps them in
//! a [`Window`], looks there for the stretch up to now that speaks most for corruption, and holds that against chance.
//!
//! The paper divides over the last 100 million frames and compares with 1e-8 (appendix C), where one corrupted frame decides.
//! Here, a link corrupts if so many frames would be corrupted by chance in less than [`Settings::false_alarm`] of cases at a
//! rate of [`Settings::activate`], in at least two polls. Evidence from longer ago than 100 million frames counts, too, so
//! that a slow link or a rate just above the limit is found later, instead of never.

mod codewords;
mod detector;
mod evidence;
mod flaps;
mod settings;
mod window;

pub use detector::{Change, Detector, State};
pub use evidence::{Evidence, Of};
pub use settings::Settings;
pub use window::{Stretch, Window};
