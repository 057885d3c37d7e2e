//! Tails that are lost together with the dummies that would reveal them (section 5, "Handling bursty losses").
//!
//! Every frame here is a tail: the next one comes only after a silence. The share of lost tails whose dummies are lost
//! with them falls with the number of dummies. A queue that replenishes itself continues until a dummy arrives.

use super::drive::open;
use super::link::{RECEIVER, SENDER, one_link};
use super::{ParameterError, Progress, Watched, check, check_lasts, check_link, network};
use crate::corruption::Corruption;
use crate::link::LinkConfig;
use crate::link::config::Protection;
use crate::link::scheme::Header;
use crate::measure::Histogram;
use crate::network::{Frame, Observer, OnWire, PortId, Sent, Traffic};
use crate::stress::{Percentiles, percentiles};
use crate::time::Time;
use linkmend_quantity::Span;
use serde::Serialize;
use std::time::Duration;

/// Tails between two calls of the progress function.
const PROGRESS_TAILS: u64 = 1 << 14;
/// Waited for the last tail: 10 ms.
const DRAIN_MAX: Time = Time(10_000_000_000);

/// Tails over a link that loses in bursts.
#[derive(Debug, Clone, PartialEq)]
pub struct BurstsConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Number of tails for each number of dummies.
    pub tails: u64,
    /// The link; the dummy copies of its protection give way to those below.
    pub link: LinkConfig,
    /// Numbers of dummies sent each time the queue runs empty, one run for each; not empty. 0 is none.
    pub dummy_copies: Vec<u8>,
    /// Whether dummies go on until one passes, as on the Tofino, or end with their number, as in software.
    pub self_replenishing: bool,
    /// From one tail to the next, ns: at least twice the recovery timeout and a frame.
    pub silence_ns: u64,
}

/// What one number of dummies achieved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BurstsRow {
    /// Dummies sent each time the queue ran empty.
    pub dummy_copies: u8,
    pub tails: u64,
    /// Tails that the link corrupted.
    pub tails_lost: u64,
    /// Of those, the ones delivered within `ackNoTimeout` of when they would have come.
    pub recovered_in_time: u64,
    /// Delivered later: a later frame or a later dummy revealed the loss.
    pub recovered_late: u64,
    pub never: u64,
    /// `recovered_in_time / tails_lost`.
    pub in_time_share: f64,
    /// `1 - (1 - 1 / mean burst)^copies`: the share of lost tails of which at least one dummy passes, if the burst
    /// goes on with the probability of a geometric one and queues do not replenish themselves.
    pub revealed_share_expected: Option<f64>,
    /// How much later than without loss the recovered tails came, ns.
    pub extra_delay_ns: Percentiles,
    pub dummies_sent: u64,
}

/// What the runs measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BurstsReport {
    /// The seed they were run with.
    pub seed: u64,
    /// One row for each number of dummies.
    pub rows: Vec<BurstsRow>,
}

impl BurstsConfig {
    /// 0 to 8 dummies that do not replenish themselves, with silences of 100 us.
    pub fn new(link: LinkConfig, tails: u64) -> BurstsConfig {
        let dummy_copies = vec![0, 1, 2, 3, 4, 6, 8];
        BurstsConfig { seed: 1, tails, link, dummy_copies, self_replenishing: false, silence_ns: 100_000 }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check_link(&self.link, self.tails)?;
        let Some(protection) = self.link.protection else {
            return check(
                false,
                "protection",
                "off",
                "must be enabled, because without it no dummies are sent",
            );
        };
        check(!self.dummy_copies.is_empty(), "dummy-copies", "none", "at least one number is needed")?;
        let twice = (1..self.dummy_copies.len())
            .find(|&place| self.dummy_copies[..place].contains(&self.dummy_copies[place]));
        if let Some(place) = twice {
            let copies = self.dummy_copies[place];
            return check(false, "dummy-copies", copies, "is listed twice; leave one of them out");
        }
        let least = protection.recovery_timeout_ns.saturating_mul(2).saturating_add(2_000);
        let silence = |ns| Span(Duration::from_nanos(ns));
        let requirement =
            format!("must be at least {}, or frames would not be separated by silence", silence(least));
        check(self.silence_ns >= least, "silence", silence(self.silence_ns), &requirement)?;
        check_lasts("silence", silence(self.silence_ns), self.tails, self.silence_ns as f64 * 1e3)
    }

    fn with(&self, dummy_copies: u8) -> LinkConfig {
        let protection = self.link.protection.map(|protection| Protection { dummy_copies, ..protection });
        LinkConfig { protection, ..self.link.clone() }
    }
}

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(config: &BurstsConfig, progress: &mut Progress<'_>) -> Result<BurstsReport, ParameterError> {
    config.validate()?;
    let mut rows = Vec::with_capacity(config.dummy_copies.len());
    for &dummy_copies in &config.dummy_copies {
        match run_one(config, dummy_copies, progress)? {
            Some(row) => rows.push(row),
            None => break,
        }
    }
    Ok(BurstsReport { seed: config.seed, rows })
}

/// `None` if it was ended early.
fn run_one(
    config: &BurstsConfig,
    dummy_copies: u8,
    progress: &mut Progress<'_>,
) -> Result<Option<BurstsRow>, ParameterError> {
    let link = config.with(dummy_copies);
    let (frames, bytes) = (config.tails, link.frame_bytes as u16);
    let modes = link.protection.map(|protection| protection.mode).into_iter().collect();
    let interval = Time::from_nanos(config.silence_ns);
    let traffic = Traffic::Paced { frames, bytes, modes, interval };
    let plan = one_link(&link, link.ports([0, 1]), traffic);
    let mut network = network(config.seed, &link, plan, Tails::default())?;
    network.set_replenishing(SENDER, config.self_replenishing);
    if !open(&mut network, &|_| link.clone(), progress)? {
        return Ok(None);
    }
    network.start_traffic();
    while network.produced(SENDER) < frames {
        let next = (network.produced(SENDER) / PROGRESS_TAILS + 1) * PROGRESS_TAILS;
        if !network.run_until_produced(SENDER, next.min(frames)) {
            break;
        }
        if !progress(network.produced(SENDER)) {
            return Ok(None);
        }
    }
    let produced_at = network.now();
    let wanted = &mut || progress(frames);
    if !network.run_while(produced_at + DRAIN_MAX, |network| !network.is_drained(), wanted) {
        return Ok(None);
    }
    network.observer.links.finish();
    Ok(Some(measure(config, dummy_copies, &network)))
}

fn measure(config: &BurstsConfig, dummy_copies: u8, network: &Watched<Tails>) -> BurstsRow {
    let tails = &network.observer.watch;
    let timeout = config.link.protection.map_or(0, |protection| protection.recovery_timeout_ns) * 1_000;
    let extra = |delay: &u64| delay.saturating_sub(tails.usual);
    let in_time = tails.recovered.iter().filter(|delay| extra(delay) <= timeout).count() as u64;
    let recovered = tails.recovered.len() as u64;
    let mut histogram = Histogram::new();
    tails.recovered.iter().for_each(|delay| histogram.record(extra(delay)));
    let mean_burst = match config.link.corruption {
        Corruption::GilbertElliott { mean_burst_frames, .. } if !config.self_replenishing => {
            Some(mean_burst_frames)
        }
        _ => None,
    };
    BurstsRow {
        dummy_copies,
        tails: network.produced(SENDER),
        tails_lost: tails.lost,
        recovered_in_time: in_time,
        recovered_late: recovered - in_time,
        never: tails.lost - recovered,
        in_time_share: if tails.lost == 0 { 0.0 } else { in_time as f64 / tails.lost as f64 },
        revealed_share_expected: mean_burst
            .map(|burst| 1.0 - libm::pow(1.0 - 1.0 / burst, f64::from(dummy_copies))),
        extra_delay_ns: percentiles(&histogram),
        dummies_sent: network.link_end(SENDER).map(|end| end.stats().dummies_sent).unwrap_or_default(),
    }
}

/// Follows lost tails.
#[derive(Debug, Default)]
struct Tails {
    /// Corrupted and not yet delivered: number and time of sending.
    pending: Vec<(u64, Time)>,
    lost: u64,
    /// From sending to delivery, of tails that were lost, ps.
    recovered: Vec<u64>,
    /// The latest tail that was not lost, and how long such a one takes at the least, ps.
    passed: Option<(u64, Time)>,
    usual: u64,
}

impl Observer for Tails {
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_>) {
        match sent.frame {
            OnWire::Protected { header, frame } if port == SENDER && !header.is_copy() => {
                if sent.corrupted {
                    self.lost += 1;
                    self.pending.push((frame.id, at));
                } else {
                    self.passed = Some((frame.id, at));
                }
            }
            _ => {}
        }
    }

    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        if port != RECEIVER {
            return;
        }
        if let Some(index) = self.pending.iter().position(|(id, _)| *id == frame.id) {
            let (_, sent_at) = self.pending.swap_remove(index);
            self.recovered.push((at - sent_at).0);
        } else if let Some((id, sent_at)) = self.passed
            && id == frame.id
        {
            let took = (at - sent_at).0;
            self.usual = if self.usual == 0 { took } else { self.usual.min(took) };
        }
    }
}
