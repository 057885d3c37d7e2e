//! Measures what offloads at the hosts are worth: TCP over a bridge, a bare AF_XDP forwarder, a dormant and a protected
//! link, with hosts that segment themselves and with hosts that leave it to their interfaces.
//!
//!     cargo run --release -p linkmend-lab --example throughput -- FORWARDER [ROUNDS] [STREAMS]
//!
//! FORWARDER is the plainest AF_XDP forwarder, built from the dataplane's `forward` example. The configurations take
//! turns; measurements that the machine disturbed are repeated. Prints a table of medians, with the smallest and the
//! largest measurement, in Gbit/s.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use linkmend_control::CorruptionModel;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::demo::turns::take_turns;
use linkmend_lab::demo::{DemoOptions, Part};
use linkmend_lab::noise::{NoiseWatch, Watch};
use linkmend_lab::tcp::{self, BulkOptions, TrafficPath};
use linkmend_lab::{Lab, LabOptions, LinkEnds, Role, RunControl, StopFlag};
use linkmend_protocol::Mode;
use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

const MEASURED: Duration = Duration::from_secs(2);

/// What is between the hosts.
#[derive(Clone, Copy, PartialEq)]
enum Path {
    Bridge,
    Forwarder,
    Dormant,
    /// In a mode, at a loss rate.
    Protected(Mode, f64),
}

/// A path, and whether the hosts have their offloads on.
#[derive(Clone, Copy)]
struct Setup {
    path: Path,
    offloads: bool,
}

impl Setup {
    const ALL: [Setup; 10] = {
        use Path::{Bridge, Dormant, Forwarder, Protected};
        const fn setup(path: Path, offloads: bool) -> Setup {
            Setup { path, offloads }
        }
        [
            setup(Bridge, false),
            setup(Forwarder, false),
            setup(Dormant, false),
            setup(Protected(Mode::Ordered, 0.0), false),
            setup(Bridge, true),
            setup(Dormant, true),
            setup(Protected(Mode::Ordered, 0.0), true),
            setup(Protected(Mode::Ordered, 1e-3), true),
            setup(Protected(Mode::NonBlocking, 0.0), true),
            setup(Protected(Mode::NonBlocking, 1e-3), true),
        ]
    };

    fn label(self) -> String {
        let path = match self.path {
            Path::Bridge => "bridge".to_owned(),
            Path::Forwarder => "bare AF_XDP forwarder".to_owned(),
            Path::Dormant => "dormant link".to_owned(),
            Path::Protected(mode, loss) => format!("protected link, {mode:?}, loss {loss:e}"),
        };
        format!("{path}, offloads {}", if self.offloads { "on" } else { "off" })
    }

    fn measure(self, forwarder: &str, streams: usize, number: usize) -> Outcome<f64> {
        let prefix = format!("thr{}-{number}", std::process::id());
        let options = LabOptions {
            prefix,
            remove_on_drop: true,
            host_offloads: self.offloads,
            ..LabOptions::default()
        };
        let lab = Lab::up(options)?;
        let path = TrafficPath::ipv4(&lab);
        let reachable =
            || tcp::wait_until_reachable(&path, Duration::from_secs(5), &StopFlag::new()).map_err(Box::new);
        match self.path {
            Path::Bridge => {
                lab.bridge()?;
                reachable()?;
                transfer(&path, streams)
            }
            Path::Forwarder => {
                let mut forwarders = Vec::new();
                for role in [Role::End1, Role::End2] {
                    let mut command = std::process::Command::new(forwarder);
                    command
                        .args(["inner", "link"])
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null());
                    forwarders.push(lab.spawn(role, command)?);
                }
                let measured = reachable().map_err(Into::into).and_then(|_| transfer(&path, streams));
                for mut forwarder in forwarders {
                    forwarder.kill()?;
                    forwarder.wait()?;
                }
                measured
            }
            Path::Dormant | Path::Protected(..) => {
                let ends = LinkEnds::start(&lab, PortChoice::Auto, 1)?;
                reachable()?;
                if let Path::Protected(mode, loss) = self.path {
                    ends.protect(Some(ProtectionSettings::new(mode)))?;
                    ends.protect_reverse(Some(ProtectionSettings::new(mode)))?;
                    ends.corrupt((loss > 0.0).then_some(CorruptionModel::Iid { rate: loss }))?;
                }
                transfer(&path, streams)
            }
        }
    }
}

/// Gbit/s of so many connections together.
fn transfer(path: &TrafficPath, streams: usize) -> Outcome<f64> {
    let options =
        BulkOptions { duration: MEASURED, warm_up: Duration::from_millis(500), ..BulkOptions::default() };
    let one = || tcp::bulk(path, &options, &RunControl::default());
    let reports = std::thread::scope(|scope| {
        let streams: Vec<_> = (0..streams).map(|_| scope.spawn(one)).collect();
        streams.into_iter().map(|stream| stream.join()).collect::<Vec<_>>()
    });
    let mut sum = 0.0;
    for report in reports {
        sum += report.map_err(|_| "a stream panicked")??.goodput_bits_per_second / 1e9;
    }
    Ok(sum)
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let forwarder = arguments.next().ok_or("usage: throughput FORWARDER [ROUNDS] [STREAMS]")?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let streams: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let setups = Setup::ALL;
    let plan = DemoOptions { rounds, ..DemoOptions::standard(Part::Link) }.turns(setups.len());
    let mut watch = NoiseWatch::start();
    let mut number = 0;
    let (turns, noise) = take_turns(&plan, setups.len(), |place, round| -> Outcome<_> {
        number += 1;
        eprintln!("round {} of {rounds}: {}", round + 1, setups[place].label());
        watch.begin();
        let measured = setups[place].measure(&forwarder, streams, number)?;
        Ok((measured, watch.end()))
    })?;
    println!("Gbit/s of TCP, {streams} stream(s), median (smallest to largest) of {rounds} turns");
    for (place, setup) in setups.iter().enumerate() {
        let mut values: Vec<f64> = turns.usable(place).copied().collect();
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
        println!(
            "{:<58} {:6.2} ({:.2} to {:.2})",
            setup.label(),
            at(values.len() / 2),
            at(0),
            at(values.len().saturating_sub(1))
        );
    }
    println!("{} of {} measurements disturbed, {} repeated", noise.disturbed, noise.slots, noise.repeated);
    Ok(())
}
