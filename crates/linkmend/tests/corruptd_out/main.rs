//! What corruptd tells others: a webhook's receiver in Python, and audit files that are verified.

#[path = "../corruptd_source/mod.rs"]
mod corruptd_source;
#[path = "../program/mod.rs"]
mod program;

mod audit;
mod programs;
mod webhook;
