//! Measures TCP through link ends: over a cable and over UDP, with hosts that segment themselves and with hosts that leave
//! it to their interfaces, beside a bridge, a bare AF_XDP forwarder, and a userspace WireGuard.
//!
//!     cargo run --release -p linkmend-lab --example throughput -- SET PROGRAM [ROUNDS] [STREAMS]
//!
//! SET is `cable` or `udp`. With `cable`, PROGRAM is the plainest AF_XDP forwarder, built from the dataplane's `forward`
//! example; with `udp`, it is wireguard-go, which `wg` (wireguard-tools) sets up. The configurations take turns;
//! measurements that the machine disturbed are repeated. Prints a table of medians, with the smallest and the largest
//! measurement, in Gbit/s, and what both ends cost, in nanoseconds of processor time for a byte.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

mod processor;
mod setup;
mod wireguard;

use linkmend_lab::demo::turns::take_turns;
use linkmend_lab::demo::{DemoOptions, Part};
use linkmend_lab::noise::{NoiseWatch, Watch};
use setup::{Measured, Setup};
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The median of the values, with the smallest and the largest.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    format!("{:5.2} ({:.2} to {:.2})", at(values.len() / 2), at(0), at(values.len().saturating_sub(1)))
}

fn main() -> Outcome<()> {
    const USAGE: &str = "usage: throughput cable|udp PROGRAM [ROUNDS] [STREAMS]";
    let mut arguments = std::env::args().skip(1);
    let setups: &[Setup] = match arguments.next().as_deref() {
        Some("cable") => &Setup::CABLE,
        Some("udp") => &Setup::UDP,
        _ => return Err(USAGE.into()),
    };
    let program = arguments.next().ok_or(USAGE)?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let streams: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let plan = DemoOptions { rounds, ..DemoOptions::standard(Part::Link) }.turns(setups.len());
    let mut watch = NoiseWatch::start();
    let mut number = 0;
    let (turns, noise) = take_turns(&plan, setups.len(), |place, round| -> Outcome<_> {
        number += 1;
        eprintln!("round {} of {rounds}: {}", round + 1, setups[place].label());
        watch.begin();
        let measured: Measured = setups[place].measure(&program, streams, number)?;
        Ok((measured, watch.end()))
    })?;
    println!(
        "TCP, {streams} stream(s), median (smallest to largest) of {rounds} turns: Gbit/s, ns per byte in both ends"
    );
    for (place, setup) in setups.iter().enumerate() {
        let speed = spread(turns.usable(place).map(|measured| measured.gigabits_per_second));
        let cost = spread(turns.usable(place).map(|measured| measured.ns_per_byte));
        println!("{:<58} {speed:<24} {cost}", setup.label());
    }
    println!("{} of {} measurements disturbed, {} repeated", noise.disturbed, noise.slots, noise.repeated);
    Ok(())
}
