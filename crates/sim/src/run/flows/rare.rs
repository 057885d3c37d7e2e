//! Timeouts of RDMA that are too rare to be counted: by importance sampling (Hammersley and Handscomb, 1964).
//!
//! A run simulates links that corrupt a much larger share of frames, and weighs what happens: a timeout counts as often as the
//! real links would make the same frames arrive and be lost, over how often the simulated ones do. The weight is that at the
//! moment of the timeout, so that what comes later adds no noise.

use super::config::FlowsConfig;
use super::demand::Demand;
use super::network::{FlowNetwork, FlowObserver};
use super::run::run_part;
use super::schemes::FlowSchemes;
use super::traffic::TrafficConfig;
use crate::corruption::Corruption;
use crate::host::TimeoutCounts;
use crate::link::config::{ParameterError, check};
use crate::link::scheme::Absent;
use crate::network::{Observer, OnWire, PortId, Sent};
use crate::time::Time;
use linkmend_experiment::{Counted, run_each};
use linkmend_rdma::{Kind, Path};
use std::sync::atomic::AtomicBool;

/// How often trials end in a timeout of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RareTimeouts {
    trials: u64,
    /// By kind: how many, and their weights.
    seen: [(u64, Counted); 4],
}

/// A probability, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// Trials that it is made of.
    pub seen: u64,
}

impl RareTimeouts {
    /// The probability that the first timeout of a trial is of this kind.
    pub fn of(&self, kind: Kind) -> Estimate {
        let (seen, counted) = self.seen[place(kind)];
        let trials = self.trials.max(1) as f64;
        let (low, high) = counted.interval(0.0);
        Estimate { value: counted.sum() / trials, low: low / trials, high: (high / trials).min(1.0), seen }
    }
}

fn place(kind: Kind) -> usize {
    Kind::ALL.iter().position(|other| *other == kind).unwrap_or(0)
}

/// Runs the trials of `config`, whose links corrupt frames independently, for links that corrupt bits with probability
/// `bit_error_rate`. `None` if `stop` ended it.
///
/// # Errors
/// The parameter that cannot be used.
pub fn rare_timeouts(
    config: &FlowsConfig,
    bit_error_rate: f64,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
) -> Result<Option<RareTimeouts>, ParameterError> {
    config.validate()?;
    let requirement = "must be trials over links that corrupt frames independently";
    let Corruption::Iid { loss } = config.link.corruption else {
        return Err(ParameterError::new("corruption", "", requirement));
    };
    let [TrafficConfig { demand: Demand::Trials { count, .. }, .. }] = config.traffic.as_slice() else {
        return Err(ParameterError::new("demand", "", requirement));
    };
    check(
        config.link.protection.is_none(),
        "scheme",
        "",
        "must be none, because the weights apply to frames without headers",
    )?;
    let ports: Vec<PortId> = config.corrupting.iter().flat_map(|link| PortId::both(*link)).collect();
    let sampled = Sampled { loss, path: Path { links: 1, corrupting: 1.0, bit_error_rate }, ports };
    let outcomes = run_each(config.parts(), threads, stop, done, |part| {
        let (outcome, watch) = run_part::<_, Absent>(config, None, part as u64, stop, Watch::new(&sampled))?;
        Ok::<_, ParameterError>(outcome.map(|_| watch))
    });
    let Some(outcomes) = outcomes else { return Ok(None) };
    let mut rare = RareTimeouts::default();
    for outcome in outcomes {
        let Some(watch) = outcome? else { return Ok(None) };
        for ((seen, counted), (more, other)) in rare.seen.iter_mut().zip(&watch.seen) {
            *seen += more;
            counted.merge(other);
        }
    }
    rare.trials = *count;
    Ok(Some(rare))
}

/// The links as they are simulated, and as they are meant.
#[derive(Debug)]
struct Sampled {
    loss: f64,
    path: Path,
    ports: Vec<PortId>,
}

/// Weighs what it sees.
#[derive(Debug)]
struct Watch<'a> {
    sampled: &'a Sampled,
    /// Logarithm of the weight of the trial so far.
    log_weight: f64,
    /// Flows that had begun, and timeouts, after the last event.
    begun: u64,
    timeouts: TimeoutCounts,
    /// Whether the trial has had its first timeout.
    has_timed_out: bool,
    seen: [(u64, Counted); 4],
}

impl Watch<'_> {
    fn new(sampled: &Sampled) -> Watch<'_> {
        Watch {
            sampled,
            log_weight: 0.0,
            begun: 0,
            timeouts: TimeoutCounts::default(),
            has_timed_out: false,
            seen: <[(u64, Counted); 4]>::default(),
        }
    }
}

impl Observer<FlowSchemes> for Watch<'_> {
    fn sent(&mut self, port: PortId, _: Time, sent: &Sent<'_, FlowSchemes>) {
        let OnWire::Plain { frame } = sent.frame else { return };
        if !self.sampled.ports.contains(&port) {
            return;
        }
        let Sampled { loss: simulated, path, .. } = self.sampled;
        let meant = path.link_loss(frame.bytes.into());
        self.log_weight += if sent.corrupted {
            libm::log(meant / simulated)
        } else {
            libm::log1p(-meant) - libm::log1p(-simulated)
        };
    }
}

impl FlowObserver for Watch<'_> {
    fn after_event(network: &mut FlowNetwork<Self>) {
        let begun = network.hosts.begun();
        let timeouts =
            network.hosts.traffic().first().map_or_else(TimeoutCounts::default, |of| *of.timeouts());
        let watch = &mut network.observer;
        if begun != watch.begun {
            (watch.begun, watch.log_weight, watch.has_timed_out) = (begun, 0.0, false);
        }
        if timeouts == watch.timeouts {
            return;
        }
        let before = std::mem::replace(&mut watch.timeouts, timeouts);
        let Some(kind) = Kind::ALL.into_iter().find(|kind| timeouts.of(*kind) > before.of(*kind)) else {
            return;
        };
        if !std::mem::replace(&mut watch.has_timed_out, true) {
            let (seen, counted) = &mut watch.seen[place(kind)];
            *seen += 1;
            counted.add(libm::exp(watch.log_weight));
        }
    }
}
