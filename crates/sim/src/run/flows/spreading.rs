//! Switches of a run that may reorder, as they are asked for.

use super::parameters::unknown;
use crate::link::config::{ParameterError, check};
use crate::link::{ParallelConfig, Placement};
use crate::node::Balance;
use crate::time::Time;
use serde::Serialize;
use std::str::FromStr;

/// A switch with queues in parallel before a port, and how all switches balance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpreadingSetup {
    /// Queues in parallel before the middle link of those between switches, in the direction from the end that the topology names
    /// first; `None` for one queue.
    pub queues: Option<u32>,
    /// How frames are distributed over them; uniformly by default.
    pub placement: Option<PlacementKind>,
    /// How much longer frames take in the other direction of that link.
    pub reverse_delay: Time,
    /// How switches choose among equal paths.
    pub balance: Balance,
}

/// [`Placement`], with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlacementKind {
    #[default]
    Uniform,
    Hashed,
}

impl PlacementKind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PlacementKind::Uniform => "uniform",
            PlacementKind::Hashed => "hashed",
        }
    }
}

impl FromStr for PlacementKind {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<PlacementKind, ParameterError> {
        match text {
            "uniform" => Ok(PlacementKind::Uniform),
            "hashed" => Ok(PlacementKind::Hashed),
            _ => Err(unknown("placement", text, &["uniform", "hashed"])),
        }
    }
}

impl FromStr for Balance {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Balance, ParameterError> {
        Balance::ALL
            .into_iter()
            .find(|balance| balance.name() == text)
            .ok_or_else(|| unknown("balance", text, &Balance::ALL.map(Balance::name)))
    }
}

/// A link with queues in parallel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spreading {
    pub queues: Option<ParallelConfig>,
    pub reverse_delay: Time,
}

/// Most queues before one port.
const QUEUES_MAX: u32 = 4_096;
/// Longest delay of the other direction, a second.
const DELAY_MAX: Time = Time::from_nanos(1_000_000_000);

impl SpreadingSetup {
    /// # Errors
    /// The first parameter that cannot be used.
    pub(super) fn spreading(&self, ecn_bytes: u64) -> Result<Spreading, ParameterError> {
        let delay = format!("{} us", self.reverse_delay.as_nanos() / 1e3);
        check(self.reverse_delay <= DELAY_MAX, "reverse-delay", delay, "must be at most 1 s")?;
        if let (None, Some(placement)) = (self.queues, self.placement) {
            return Err(ParameterError::new("placement", placement.name(), "needs `parallel-queues`"));
        }
        let placement = match self.placement.unwrap_or_default() {
            PlacementKind::Uniform => Placement::Uniform,
            PlacementKind::Hashed => Placement::Hashed,
        };
        if let Some(queues) = self.queues {
            check((1..=QUEUES_MAX).contains(&queues), "parallel-queues", queues, "must be 1 to 4096")?;
        }
        let queues = self.queues.map(|queues| ParallelConfig { queues, placement, ecn_bytes });
        Ok(Spreading { queues, reverse_delay: self.reverse_delay })
    }
}

/// What frames met in queues in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpreadingReport {
    /// Frames that passed them.
    pub frames: u64,
    /// Share of the simulated time in which the port sent.
    pub utilisation: f64,
    /// From the arrival of a frame until its last bit left, in microseconds.
    pub delay_p50_us: f64,
    pub delay_p90_us: f64,
    pub delay_p99_us: f64,
    pub delay_p99_9_us: f64,
    pub delay_max_us: f64,
}
