//! What the demo measures, and how much of it.

use std::time::Duration;

use linkmend_dataplane::PortChoice;
use serde::{Deserialize, Serialize};

use super::turns::TurnPlan;
use crate::impairments::Impairments;
use crate::noise::Tolerance;
use crate::tcp::Connections;

/// The link that the demo shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A link as people have it: slower than this machine, on a path with a round-trip time.
    Link,
    /// A link as fast as this machine can make it, with no delay but the machine's.
    Fast,
}

/// What to measure, and how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoOptions {
    /// Prefix of the laboratory's namespaces.
    pub prefix: String,
    /// The link to show.
    pub part: Part,
    /// Seed of the injected corruption.
    pub seed: u64,
    /// Uses AF_PACKET ports even if AF_XDP is available.
    pub packet_ports: bool,
    /// Rate and delays of the path.
    pub impairments: Impairments,
    /// `rto_min` of the hosts in milliseconds; `None` for the kernel's 200.
    pub rto_min_ms: Option<u32>,
    /// Loss rate of the four columns.
    pub loss: f64,
    /// Loss rates of the goodput table, besides none.
    pub goodput_losses: Vec<f64>,
    /// Congestion controls of the goodput table.
    pub congestion_controls: Vec<String>,
    /// Slots of each condition in every experiment but the timeline.
    pub rounds: usize,
    /// When a slot counts as disturbed. At most half as many slots are repeated as there are.
    pub tolerance: Tolerance,
    /// The largest number of frames in each slot of the stress test.
    pub stress_frames: u64,
    /// Longest time of each slot of the stress test.
    pub stress_time: Duration,
    /// Flows of each slot.
    pub flows: u64,
    /// How many applications of the host make flows at the same time.
    pub flow_clients: u64,
    /// Bytes of a flow.
    pub flow_bytes: u64,
    /// Whether a flow begins with its handshake.
    pub connections: Connections,
    /// Measured time of each goodput slot.
    pub goodput_time: Duration,
    /// Warm-up before it.
    pub goodput_warm_up: Duration,
    /// Length of each of the three phases of the timeline.
    pub phase_time: Duration,
}

/// The demo's figures tolerate a tenth of a second, because the unprotected 99.9th percentile of short flows is a
/// second.
const TOLERANCE: Tolerance = Tolerance {
    stolen_share: 0.03,
    held_up_share: 0.03,
    worst_wakeup_ns: 10_000_000,
    // Ordinary threads also wait for the loops, and for each other.
    worst_thread_ns: 25_000_000,
};

impl DemoOptions {
    /// The standard options, which take about a minute and a half on a calm machine.
    pub fn standard(part: Part) -> DemoOptions {
        match part {
            Part::Link => DemoOptions::link(),
            Part::Fast => DemoOptions::fast(),
        }
    }

    /// Fewer and shorter slots, which take about half a minute.
    pub fn quick(part: Part) -> DemoOptions {
        let standard = DemoOptions::standard(part);
        DemoOptions {
            rounds: 3,
            goodput_losses: vec![standard.loss],
            congestion_controls: vec!["cubic".to_owned()],
            stress_time: standard.stress_time / 2,
            flows: standard.flows / 2,
            goodput_time: standard.goodput_time * 2 / 3,
            phase_time: standard.phase_time / 2,
            ..standard
        }
    }

    /// 300 Mbit/s is less than two shared cores carry with TCP, both link ends and the delay lines on them, and another
    /// process beside them. With a round trip of 4 ms, CUBIC alone reaches about a tenth of it at a loss of 1e-2.
    fn link() -> DemoOptions {
        DemoOptions {
            prefix: "lmdemo".to_owned(),
            part: Part::Link,
            seed: 1,
            packet_ports: false,
            impairments: Impairments {
                rate_bps: Some(300_000_000),
                delay: Duration::from_millis(2),
                link_delay: Duration::ZERO,
                queue_bytes: Some(1 << 20),
            },
            rto_min_ms: None,
            loss: 1e-2,
            goodput_losses: vec![1e-3, 1e-2],
            congestion_controls: vec!["cubic".to_owned()],
            rounds: 5,
            tolerance: TOLERANCE,
            stress_frames: u64::MAX,
            stress_time: Duration::from_millis(600),
            // 99.9 % of 5,000 flows: five are slower, so an interval around them has both ends.
            flows: 1_000,
            flow_clients: 10,
            flow_bytes: 24_387,
            connections: Connections::FreshWithHandshake,
            goodput_time: Duration::from_millis(750),
            goodput_warm_up: Duration::from_millis(350),
            phase_time: Duration::from_secs(2),
        }
    }

    fn fast() -> DemoOptions {
        DemoOptions {
            part: Part::Fast,
            impairments: Impairments::default(),
            rto_min_ms: Some(1),
            loss: 1e-3,
            goodput_losses: vec![1e-4, 1e-3, 1e-2],
            congestion_controls: vec!["cubic".to_owned(), "bbr".to_owned()],
            rounds: 3,
            stress_frames: 1_000_000,
            stress_time: Duration::from_secs(1),
            flows: 1_700,
            flow_clients: 1,
            connections: Connections::FreshAfterHandshake,
            goodput_time: Duration::from_millis(600),
            goodput_warm_up: Duration::from_millis(250),
            phase_time: Duration::from_secs(3),
            ..DemoOptions::link()
        }
    }

    pub(super) fn ports(&self) -> PortChoice {
        if self.packet_ports { PortChoice::Packet } else { PortChoice::Auto }
    }

    /// How `conditions` conditions take turns.
    pub fn turns(&self, conditions: usize) -> TurnPlan {
        let rounds = self.rounds;
        TurnPlan { rounds, repeats: (rounds * conditions).div_ceil(2), tolerance: self.tolerance }
    }
}
