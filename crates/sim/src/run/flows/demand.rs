//! Which flows hosts send each other, and when.

use super::training::Training;
use crate::host::{Extent, FlowSizes, Workload};
use crate::link::config::{ParameterError, check};
use crate::random::Random;
use crate::time::Time;
use linkmend_quantity::words;
use std::fmt;
use std::sync::Arc;

/// Trials in one network, after each other; further ones are in another network with random numbers of its own. It bounds
/// how long a thread works alone, and does not depend on the number of threads.
pub(crate) const TRIALS_AT_ONCE: u64 = 10_000;
/// The same for rounds of an incast, each of which is many flows.
pub(super) const ROUNDS_AT_ONCE: u64 = 100;
/// Pause between two trials or rounds, at least, and at most twice that: longer than a round trip, so that nothing of the one is
/// left in the other, and than the silence after which the moderation of interrupts begins anew.
pub(crate) const PAUSE: Time = Time::from_nanos(2_000_000);
/// Longest time that a flow may take after the last has begun, before the run ends without it.
const DRAINING_MAX: Time = Time::from_nanos(20_000_000_000);
/// Most trials of a run: what became of each flow is kept, in about 100 bytes.
const TRIALS_MAX: u64 = 10_000_000;

/// Which flows there are.
#[derive(Debug, Clone, PartialEq)]
pub enum Demand {
    /// One flow after the other from the first host to the last one. Pauses between them are uniform from `pause` to twice that.
    Trials { count: u64, sizes: FlowSizes, pause: Time },
    /// All of these hosts, the first ones, send a flow to the last host at once, and again when all of them have ended.
    Incast { rounds: u64, senders: u32, bytes: u64 },
    /// Flows which begin as in a Poisson process: the links of each host that sends are loaded by this share, above 0 and
    /// below 1, on average; headers count, acknowledgements and what is retransmitted do not.
    Load { sizes: FlowSizes, load: f64, between: Between, extent: Extent },
    /// A request of the first host and an answer of the last one, again and again.
    PingPong { rounds: u64, bytes: u64 },
    /// One flow without an end, from the first host to the last one.
    Endless { duration: Time },
    /// The steps of a training job.
    Training(Training),
    /// Flows of a workload that this crate does not know. None begins after this time: see [`Demand::other`].
    Other { workload: OtherWorkload, duration: Time },
}

/// Makes a workload, given the number of hosts and its random numbers.
type MakeWorkload = dyn Fn(u32, Random) -> Box<dyn Workload> + Send + Sync;

/// A workload of another crate. It equals only itself.
#[derive(Clone)]
pub struct OtherWorkload(Arc<MakeWorkload>);

impl OtherWorkload {
    /// Makes the workload for so many hosts.
    pub(super) fn make(&self, hosts: u32, random: Random) -> Box<dyn Workload> {
        (self.0)(hosts, random)
    }
}

impl PartialEq for OtherWorkload {
    fn eq(&self, other: &OtherWorkload) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for OtherWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtherWorkload")
    }
}

/// Between which hosts the flows of a load are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Each flow has two of its own, drawn at random.
    All,
    /// From the first to the last one.
    FirstAndLast,
    /// Each from one of the first half, drawn at random, to one of the second. The load is that of one link.
    Halves,
}

words! {
    /// Which hosts send to which, as it is asked for.
    #[derive(Default)]
    pub enum TrafficKind {
        /// Each flow of a load is between two hosts drawn at random; a trial is from the first to the last one.
        #[default]
        FullMesh = "full-mesh",
        /// From the first host to the last one.
        PointToPoint = "point-to-point",
        /// Each flow of a load is from one of the first half of the hosts to one of the second, drawn at random; it is a load of one
        /// link, over which all of them go.
        Across = "across",
        /// From the first to the last one, and each flow is answered by one.
        PingPong = "ping-pong",
    }
}

impl TrafficKind {
    /// Checks that this does not contradict an incast, which says by itself who sends to whom.
    ///
    /// # Errors
    /// If it does.
    pub fn check_incast(self) -> Result<(), ParameterError> {
        let requirement = "has no `incast`, in which the first hosts send to the last one";
        check(self == TrafficKind::FullMesh, "traffic", self.name(), requirement)
    }

    /// Between which hosts the flows of a load are.
    ///
    /// # Errors
    /// If it has none.
    pub fn between(self) -> Result<Between, ParameterError> {
        match self {
            TrafficKind::FullMesh => Ok(Between::All),
            TrafficKind::PointToPoint => Ok(Between::FirstAndLast),
            TrafficKind::Across => Ok(Between::Halves),
            TrafficKind::PingPong => {
                Err(ParameterError::new("traffic", self.name(), "has no `load`; it has `trials`"))
            }
        }
    }
}

impl Demand {
    /// A workload that this crate does not know, which `make` makes for a number of hosts, with random numbers of its own. None
    /// of its flows begins after `duration`.
    pub fn other<W: Workload + 'static>(
        duration: Time,
        make: impl Fn(u32, Random) -> W + Send + Sync + 'static,
    ) -> Demand {
        let make = move |hosts, random| Box::new(make(hosts, random)) as Box<dyn Workload>;
        Demand::Other { workload: OtherWorkload(Arc::new(make)), duration }
    }

    /// Trials of one size.
    ///
    /// # Errors
    /// If it is 0.
    pub fn trials(count: u64, bytes: u64) -> Result<Demand, ParameterError> {
        let sizes = FlowSizes::one(bytes);
        let sizes = sizes.ok_or_else(|| ParameterError::new("size", bytes, "must be above 0"))?;
        Ok(Demand::Trials { count, sizes, pause: PAUSE })
    }

    /// # Errors
    /// The first parameter that cannot be used between so many hosts.
    pub(super) fn validate(&self, hosts: usize) -> Result<(), ParameterError> {
        match self {
            Demand::Trials { count, .. } => {
                check((1..=TRIALS_MAX).contains(count), "trials", count, "must be 1 to 10,000,000")
            }
            Demand::Incast { rounds, senders, bytes } => {
                let others = hosts - 1;
                let range = format!(
                    "must be 1 to {others}: all hosts but the last, which receives; line:switches=2,hosts=16 has 32"
                );
                check((1..=others).contains(&(*senders as usize)), "incast", senders, &range)?;
                check((1..=TRIALS_MAX).contains(rounds), "trials", rounds, "must be 1 to 10,000,000")?;
                check(*bytes > 0, "size", bytes, "must be above 0")
            }
            Demand::PingPong { rounds, bytes } => {
                check((1..=TRIALS_MAX).contains(rounds), "trials", rounds, "must be 1 to 10,000,000")?;
                check(*bytes > 0, "size", bytes, "must be above 0")
            }
            Demand::Load { load, extent, .. } => {
                check(*load > 0.0 && *load < 1.0, "load", load, "must be above 0 and below 1")?;
                match extent {
                    Extent::Duration(duration) => {
                        check(*duration > Time::ZERO, "duration", duration.as_secs(), "must be above 0 s")
                    }
                    Extent::Flows(flows) => {
                        check((1..=TRIALS_MAX).contains(flows), "trials", flows, "must be 1 to 10,000,000")
                    }
                }
            }
            Demand::Training(training) => training.validate(hosts),
            Demand::Endless { duration } | Demand::Other { duration, .. } => {
                check(*duration > Time::ZERO, "duration", duration.as_secs(), "must be above 0 s")
            }
        }
    }

    /// How long the flows may take at most: to begin, and then to end.
    pub(super) fn time_max(&self) -> Time {
        match self {
            Demand::Trials { count, .. }
            | Demand::Incast { rounds: count, .. }
            | Demand::PingPong { rounds: count, .. }
            | Demand::Load { extent: Extent::Flows(count), .. } => {
                Time(DRAINING_MAX.0.saturating_mul(*count))
            }
            Demand::Load { extent: Extent::Duration(duration), .. } | Demand::Other { duration, .. } => {
                *duration + DRAINING_MAX
            }
            Demand::Training(training) => training.time_max(),
            Demand::Endless { duration } => *duration,
        }
    }

    /// Whether each flow is answered by one, with which it makes a round.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self, Demand::PingPong { .. })
    }

    /// In how many networks, each with random numbers of its own, the flows take place if there are no others.
    pub(super) fn parts(&self) -> usize {
        match self {
            Demand::Trials { count, .. } => count.div_ceil(TRIALS_AT_ONCE) as usize,
            Demand::Incast { rounds, .. } => rounds.div_ceil(ROUNDS_AT_ONCE) as usize,
            Demand::Load { .. }
            | Demand::PingPong { .. }
            | Demand::Endless { .. }
            | Demand::Training(_)
            | Demand::Other { .. } => 1,
        }
    }

    /// How many flows there will be, if that does not depend on chance.
    pub(super) fn flows(&self) -> Option<u64> {
        match self {
            Demand::Trials { count, .. } => Some(*count),
            Demand::Incast { rounds, senders, .. } => Some(rounds * u64::from(*senders)),
            Demand::PingPong { rounds, .. } => Some(*rounds),
            Demand::Load { extent: Extent::Flows(flows), .. } => Some(*flows),
            Demand::Load { .. } | Demand::Endless { .. } | Demand::Training(_) | Demand::Other { .. } => None,
        }
    }
}
