//! Scenarios over a virtual pair of link ends, nearly one for each sentence of sections 3, 5 and A of the paper.

#[path = "../common/mod.rs"]
mod common;

mod acquaintance;
mod backpressure;
mod clocks;
mod compact;
mod control;
mod copies;
mod differing_ends;
mod fallback;
mod formats;
mod gone;
mod lanes;
mod late_and_far;
mod latency;
mod limits;
mod long_links;
mod obligations;
mod path_changes;
mod recovery;
mod sessions;
mod sleep;
mod slow_drivers;
mod statistics;
mod windows;
mod withdrawals;
mod wrong_numbers;
