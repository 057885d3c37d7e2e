//! Sizes, rates, times, distances, counts and loss rates as people write them: in configuration files, in experiment
//! files and on the command line.
//!
//! - [`ByteSize`], [`BitRate`], [`Span`], [`Distance`] and [`Decibels`] need their unit; a bare number is refused.
//! - [`Count`] is a number of things, and may be short: `100M`, `1e6`.
//! - [`LossRate`] and [`Share`] are shares of one: `1e-3`, `0.1%`.
//! - A [`Word`] is one of several choices, each of which has a word.
//!
//! Each quantity is read by [`FromStr`](std::str::FromStr) and through serde, and written in the shortest spelling that reads back
//! as itself.
#![forbid(unsafe_code)]

mod count;
mod decibels;
mod error;
mod kind;
mod loss_rate;
mod share;
#[cfg(test)]
mod tests;
mod with_unit;
mod word;

pub use count::Count;
pub use decibels::Decibels;
pub use error::QuantityError;
pub use loss_rate::LossRate;
pub use share::Share;
pub use with_unit::{BitRate, ByteSize, Distance, Span};
pub use word::Word;
