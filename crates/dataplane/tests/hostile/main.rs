//! Hostile hosts behind both link ends and a hostile stranger on the link between them, in virtual time: two loops of the
//! daemon over ports in memory, honest traffic in both directions, and a link that corrupts frames.
//!
//! Judged at every delivery: each frame was sent by a host behind the other end (or is one that a stranger sent for the
//! hosts, as on any cable), once, and in order. Judged at the end: no session was lost, nothing is missing that the link did
//! not lose, and what the ends report as loss is what the link lost. See [`rules::Case`] for what holds against whom.
//!
//! * `LINKMEND_HOSTILE_HOURS=24`: hours of virtual time for each case, from the seed `LINKMEND_HOSTILE_SEED` (1) on.
//!
//! The program in the kernel that forwards without a daemon is no part of this; `hostile_host`, `strangers` and `keys` of the laboratory
//! attack real interfaces.

#![allow(clippy::print_stdout, reason = "a long run says what it has counted")]

mod acknowledgements;
mod hosts;
mod ledger;
mod rules;
mod stranger;
mod tags;
mod third_end;
mod world;

use rules::{Case, Stranger};
use world::World;

/// Virtual time of each case in an ordinary test run.
const SHORT_NS: u64 = 12_000_000_000;
const HOUR_NS: f64 = 3.6e12;

fn endures(has_key: bool, stranger: Stranger, protects: [bool; 2]) {
    let case = Case { has_key, stranger, protects };
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<f64>().expect(name));
    let seed = number("LINKMEND_HOSTILE_SEED").unwrap_or(1.0) as u64;
    let length_ns = number("LINKMEND_HOSTILE_HOURS").map_or(SHORT_NS, |hours| (hours * HOUR_NS) as u64);
    println!("{case:?}, seed {seed}, {:.2} h", length_ns as f64 / HOUR_NS);
    let mut world = World::open(case, seed);
    world.run(length_ns);
    world.judge();
}

const BOTH: [bool; 2] = [true; 2];
const ONE: [bool; 2] = [true, false];

#[test]
fn hosts_against_a_link_without_a_key() {
    endures(false, Stranger::None, BOTH);
}

#[test]
fn hosts_against_a_link_with_a_key() {
    endures(true, Stranger::None, BOTH);
}

#[test]
fn hosts_and_a_stranger_who_hears_everything_against_a_link_with_a_key() {
    endures(true, Stranger::Hears, BOTH);
}

/// The end that protects has no session by which to judge the frames of the other.
#[test]
fn hosts_and_a_stranger_who_hears_everything_against_one_direction_with_a_key() {
    endures(true, Stranger::Hears, ONE);
}

#[test]
fn hosts_and_a_stranger_who_hears_nothing_against_a_link_without_a_key() {
    endures(false, Stranger::Speaks, BOTH);
}

#[test]
fn hosts_and_a_stranger_who_guesses_numbers_against_a_link_without_a_key() {
    endures(false, Stranger::Guesses, BOTH);
}

#[test]
fn a_link_without_a_key_works_again_after_a_stranger_who_hears_everything() {
    endures(false, Stranger::Hears, BOTH);
}
