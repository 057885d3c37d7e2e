//! The model of RDMA's timeouts against the simulated transport: cases in which each kind can be counted.

use crate::flows::{
    Estimate, FlowsConfig, RareTimeouts, RdmaMechanisms, TRIALS_AT_ONCE, TransportKind, rare_timeouts,
};
use crate::host::FlowSizes;
use crate::link::config::ParameterError;
use crate::parameters::RunParameters;
use linkmend_quantity::{Count, LossRate};
use linkmend_rdma::{Flows, Kind, Mechanisms, Model, Path, Sizes};
use std::sync::atomic::AtomicBool;

/// Share of frames that the simulated links corrupt, so that timeouts are frequent; and the same where many replicas have to
/// be lost.
const SIMULATED_LOSS: f64 = 0.1;
const SIMULATED_LOSS_OF_REPLICAS: f64 = 0.35;
/// Share of full packets that the links are meant to corrupt: so little that two independent losses of a flow, which the
/// model takes for none, change less than a thousandth.
const LOSS: f64 = 1e-4;
/// An ACK or NAK by the specification, and a dummy, which is the shortest frame of Ethernet.
const NAK_BYTES: u32 = 66;
const DUMMY_BYTES: u32 = 64;
/// What the first packet of a WRITE has more: where it goes (RETH).
const RETH_BYTES: u32 = 16;

/// A flow over links that corrupt, with mechanisms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckCase {
    pub mechanisms: Mechanisms,
    /// Packets of a flow.
    pub packets: u32,
    /// Links that corrupt, one behind the other.
    pub links: u32,
    /// The kinds that are counted: the others are too rare even so.
    pub kinds: &'static [Kind],
}

/// What the model expects of a kind of timeout, and what was counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check {
    pub case: CheckCase,
    pub kind: Kind,
    pub expected: f64,
    pub counted: Estimate,
}

/// Every kind of timeout, without mechanisms and with each of them.
pub fn check_cases() -> Vec<CheckCase> {
    const ALL: &[Kind] = &Kind::ALL;
    const TAILS: &[Kind] = &[Kind::Tail, Kind::TailAck];
    let none = Mechanisms::NONE;
    let case = |mechanisms, packets, links, kinds| CheckCase { mechanisms, packets, links, kinds };
    vec![
        case(none, 1, 1, TAILS),
        case(none, 8, 1, ALL),
        case(none, 8, 4, ALL),
        case(Mechanisms { nak_replicas: 1, ..none }, 8, 1, &[Kind::Nak]),
        case(Mechanisms { packet_replicas: 1, ..none }, 8, 1, &[Kind::Twice]),
        case(Mechanisms { packet_replicas: 3, ..none }, 3, 1, &[Kind::Twice]),
        case(Mechanisms { dummies: 1, ..none }, 1, 1, ALL),
        case(Mechanisms { dummies: 2, ..none }, 1, 1, TAILS),
        case(Mechanisms { tail_replicas: 1, ..none }, 1, 1, TAILS),
        case(Mechanisms::TESTBED, 1, 1, &[Kind::Nak, Kind::Twice, Kind::Tail]),
        case(Mechanisms { dummies: 1, ..Mechanisms::TESTBED }, 8, 2, ALL),
    ]
}

impl CheckCase {
    /// The model of this case.
    pub fn model(&self) -> Model {
        let first_is_all = self.packets == 1;
        let own = Sizes::default();
        let sizes = Sizes {
            headers: own.headers + if first_is_all { RETH_BYTES } else { 0 },
            nak: NAK_BYTES,
            dummy: DUMMY_BYTES,
            ..own
        };
        let path = Path::losing(self.links, 1.0, LOSS, own.packet());
        Model { path, sizes, flows: Flows::of_size(u64::from(self.packets * own.mtu), own.mtu) }
    }

    /// Runs so many flows. `None` if `stop` ended it.
    ///
    /// # Errors
    /// The parameter that cannot be used.
    pub fn run(
        &self,
        trials: u64,
        seed: u64,
        threads: usize,
        stop: &AtomicBool,
        done: &(impl Fn() + Sync),
    ) -> Result<Option<Vec<Check>>, ParameterError> {
        let config = self.config(trials, seed)?;
        let model = self.model();
        let rare = rare_timeouts(&config, model.path.bit_error_rate, threads, stop, done)?;
        Ok(rare.map(|rare| self.checks(&model, &rare)))
    }

    /// In how many parts it runs.
    pub fn parts(trials: u64) -> u64 {
        trials.div_ceil(TRIALS_AT_ONCE)
    }

    fn checks(&self, model: &Model, rare: &RareTimeouts) -> Vec<Check> {
        let chances = model.chances(&self.mechanisms);
        let check = |kind: &Kind| Check {
            case: *self,
            kind: *kind,
            expected: chances.of(*kind).per_flow,
            counted: rare.of(*kind),
        };
        self.kinds.iter().map(check).collect()
    }

    fn config(&self, trials: u64, seed: u64) -> Result<FlowsConfig, ParameterError> {
        let loss =
            if self.mechanisms.packet_replicas > 1 { SIMULATED_LOSS_OF_REPLICAS } else { SIMULATED_LOSS };
        let parameters = RunParameters {
            seed: Some(seed),
            topology: Some(format!("line:switches={},hosts=1", self.links + 1)),
            transport: Some(TransportKind::Rdma),
            loss: Some(LossRate(loss)),
            corrupting_links: Some(self.links),
            both_directions: Some(true),
            rdma_mechanisms: Some(RdmaMechanisms(self.mechanisms)),
            size: FlowSizes::one(u64::from(self.packets * Sizes::default().mtu)),
            trials: Some(Count(trials)),
            ..RunParameters::default()
        };
        parameters.flows(std::path::Path::new(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_experiment::{Tolerance, Verdict};
    use linkmend_report::Unit;

    /// Every kind of timeout, without mechanisms and with each: the model is inside the interval, or so close that chance explains it.
    #[test]
    fn model_and_simulation_agree_about_every_kind_of_timeout() {
        for case in check_cases() {
            let checks = case.run(20_000, 1, 2, &AtomicBool::new(false), &|| ());
            for check in checks.expect("it can be run").expect("nobody stops it") {
                let Check { expected, counted, .. } = check;
                let row =
                    linkmend_report::Comparison::new("", "", Unit::Plain, expected, Tolerance::Interval);
                let row = row.measured(counted.value).between(counted.low, counted.high);
                assert_ne!(row.verdict(), Verdict::NotReproduced, "{check:?}");
                assert!(counted.seen >= 5, "{check:?}");
            }
        }
    }

    /// Four links that each lose one full packet in twenty: a fifth of the timeouts follow others.
    #[test]
    fn repeated_timeouts_are_those_of_the_model() {
        const FLOWS: u64 = 10_000;
        for packets in [1, 3] {
            let case = CheckCase { mechanisms: Mechanisms::NONE, packets, links: 4, kinds: &Kind::ALL };
            let mut config = case.config(FLOWS, 1).expect("good");
            let path = Path::losing(4, 1.0, 0.05, Sizes::default().packet());
            config.link.corruption =
                crate::corruption::Corruption::PerBit { bit_error_rate: path.bit_error_rate };
            let chances = Model { path, ..case.model() }.chances(&case.mechanisms);
            let report = crate::flows::run(&config, 2, &AtomicBool::new(false), &|| ());
            let counts = report.expect("it can be run").expect("nobody stops it").flows.rdma_timeouts;
            for kind in Kind::ALL {
                let (seen, expected) = (counts.of(kind) as f64, FLOWS as f64 * chances.of(kind).per_flow);
                // Timeouts after others come in groups: their variance is up to half as large again as their number.
                let reach = 4.0 * libm::sqrt(1.5 * expected);
                assert!(
                    (seen - expected).abs() <= reach,
                    "{packets} packets, {kind:?}: {seen} of {expected:.1}"
                );
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_estimate_on_any_number_of_threads() {
        let run = |seed, threads| {
            let case = check_cases()[1];
            case.run(20_000, seed, threads, &AtomicBool::new(false), &|| ()).expect("it can be run")
        };
        assert_eq!(run(1, 1), run(1, 2));
        assert_ne!(run(1, 1), run(2, 1));
    }
}
