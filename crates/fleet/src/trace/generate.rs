//! Traces drawn at random (appendix D): links fail independently, or several of one switch at once.

use super::{LossDistribution, LossEvent, Trace};
use linkmend_diagnose::ParameterError;
use linkmend_random::Random;
use linkmend_topology::{LinkId, SwitchId, Topology};

/// The parameters of a random trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceParameters {
    /// Length in seconds.
    pub length_s: u64,
    /// Mean time to failure of a link, in hours; above 0.
    pub mttf_hours: f64,
    /// Shape of the Weibull distribution; 1 is memoryless.
    pub weibull_shape: f64,
    /// Distribution of loss rates.
    pub loss: LossDistribution,
    /// Failures that several links of a switch share, if there are any.
    pub shared: Option<SharedFailures>,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Failures of a component that several links of a switch share, such as a backplane or a breakout cable: 10 to 26 % of
/// the causes of corruption in Microsoft's data centres (Table 1 of the RDMA corruption paper).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedFailures {
    /// Share of failures that are shared; 0 to 1.
    pub share: f64,
    /// How many links a shared failure affects, if the switch has as many; at least 2. Links of switches that have
    /// fewer fail less often than others; the mean over all links stays the same.
    pub links: u32,
}

/// Seconds in an hour.
const HOUR_S: f64 = 3600.0;

impl TraceParameters {
    /// A year as in appendix D: MTTF of 10,000 hours, shape 1, loss rates of Table 1, no shared failures.
    pub fn paper(seed: u64) -> TraceParameters {
        TraceParameters {
            length_s: 365 * 86_400,
            mttf_hours: 10_000.0,
            weibull_shape: 1.0,
            loss: LossDistribution::table_1(super::WithinBucket::default()),
            shared: None,
            seed,
        }
    }

    /// Checks whether a trace can be drawn for a network.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or if there would be more than 100 million events.
    pub fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.check_for(topology.link_count() as u64)
    }

    /// Checks whether a trace can be drawn for a network of so many links.
    ///
    /// # Errors
    /// As [`TraceParameters::check`].
    pub fn check_for(&self, links: u64) -> Result<(), ParameterError> {
        let error = |name, value: f64, requirement| Err(ParameterError::new(name, value, requirement));
        if !(self.mttf_hours > 0.0 && self.mttf_hours.is_finite()) {
            return error("mttf_hours", self.mttf_hours, "must be above 0");
        }
        if !(0.1..=100.0).contains(&self.weibull_shape) {
            return error("weibull_shape", self.weibull_shape, "must be from 0.1 to 100");
        }
        if self.length_s > super::MAX_TIME_S {
            return error("length_s", self.length_s as f64, "must be at most 200 years");
        }
        if let Some(SharedFailures { share, .. }) = self.shared
            && !(0.0..=1.0).contains(&share)
        {
            return error("shared", share, "must be from 0 to 1");
        }
        if let Some(bad) = self.loss.bad_bucket() {
            return error("loss bucket", bad, "must be above 0 and at most 1, rising, with a weight above 0");
        }
        let events = self.length_s as f64 / (self.mttf_hours * HOUR_S) * links as f64;
        if events > super::MAX_EVENTS as f64 {
            return error("number of events", events, "must be at most 100 million; use fewer days or links");
        }
        Ok(())
    }

    /// Draws the trace. A link that has failed fails again after another Weibull time, whether or not it was repaired
    /// meanwhile: the trace knows nothing about repairs.
    ///
    /// # Panics
    /// If [`TraceParameters::check`] refuses the parameters.
    pub fn generate(&self, topology: &Topology) -> Trace {
        let checked = self.check(topology);
        assert!(checked.is_ok(), "{checked:?}");
        let mut random = Random::new(self.seed, "fleet/trace");
        let mut shared = Random::new(self.seed, "fleet/shared");
        let shape = 1.0 / self.weibull_shape;
        // The mean of a Weibull distribution is its scale times gamma(1 + 1/shape).
        let scale_s =
            self.mttf_hours * HOUR_S / libm::tgamma(1.0 + shape) * self.failures_per_cause(topology);
        let end_s = self.length_s as f64;
        let expected = (end_s / scale_s * topology.link_count() as f64) as usize;
        let mut events = Vec::with_capacity(expected + expected / 50 + 64);
        for link in (0..topology.link_count() as u32).map(LinkId) {
            let mut time_s = 0.0;
            loop {
                let wait = random.exponential();
                time_s += scale_s * if self.weibull_shape == 1.0 { wait } else { libm::pow(wait, shape) };
                if time_s >= end_s {
                    break;
                }
                let loss_rate = self.loss.draw(&mut random);
                let event = LossEvent { time_s: time_s as u64, link, loss_rate };
                events.push(event);
                self.spread(topology, event, &mut shared, &mut events);
            }
        }
        // The sort is stable, because a shared failure may affect a link that fails in the same second.
        events.sort_by_key(|event| (event.time_s, event.link));
        Trace::new(events)
    }

    /// Mean number of failures for each cause. A shared failure affects several links, so there are fewer causes, and
    /// the mean time between failures of a link stays as requested.
    fn failures_per_cause(&self, topology: &Topology) -> f64 {
        let Some(SharedFailures { share, links }) = self.shared else { return 1.0 };
        let further = |switch: SwitchId| {
            let all = topology.down(switch).len() + topology.up(switch).len();
            (links as usize).min(all).saturating_sub(1)
        };
        // A shared cause affects the links at either end, with equal chances.
        let both_ends = |link| further(topology.link(link).lower) + further(topology.link(link).upper);
        let sum: usize = (0..topology.link_count() as u32).map(|link| both_ends(LinkId(link))).sum();
        1.0 + share * sum as f64 / (2 * topology.link_count()) as f64
    }

    /// Extends some failures to further links at one of the ends, with the same loss rate.
    fn spread(
        &self,
        topology: &Topology,
        event: LossEvent,
        random: &mut Random,
        events: &mut Vec<LossEvent>,
    ) {
        let Some(SharedFailures { share, links }) = self.shared else { return };
        if random.uniform() >= share {
            return;
        }
        let ends = topology.link(event.link);
        let switch = if random.uniform() < 0.5 { ends.lower } else { ends.upper };
        let hops = topology.down(switch).iter().chain(topology.up(switch));
        let all: Vec<LinkId> = hops.map(|hop| hop.link).collect();
        let place = all.iter().position(|link| *link == event.link).unwrap_or(0);
        // Neighbouring ports share components.
        for step in 1..(links as usize).min(all.len()) {
            events.push(LossEvent { link: all[(place + step) % all.len()], ..event });
        }
    }
}
