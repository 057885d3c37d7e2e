//! Flows between hosts, over a network in which a link corrupts: how long they take, and how much they carry.
//!
//! Trials are many flows of one size, one after the other, as in the paper's measurements of flow completion times
//! (section 4.3). They are independent, so they run in parts, on several threads, with the same result on any number of
//! them. A load is flows between many hosts at once; a flow without an end measures throughput (section 4.2).
//!
//! A run may have several kinds of traffic at once, each with a transport and flows of its own, between hosts of its own
//! ([`TrafficConfig`]).

mod capture;
mod config;
mod demand;
mod failover;
mod failures;
mod host_kernel;
mod host_recovery;
mod ideal;
mod network;
mod parameters;
mod ports;
mod rare;
mod rdma;
mod report;
mod run;
mod schemes;
mod second_link;
mod spreading;
mod statistics;
mod traffic;
mod training;

pub use capture::{PortCapture, PortCaptureOptions};
pub use config::FlowsConfig;
pub(crate) use config::host_bits_per_second;
pub use demand::{Between, Demand, OtherWorkload, TrafficKind};
pub(crate) use demand::{PAUSE, TRIALS_AT_ONCE};
pub use failover::FailoverReport;
pub use failures::{Detection, HandOffKind, Reroute};
pub use host_kernel::HostKernel;
pub use host_recovery::HostRecovery;
pub(crate) use ideal::Ideals;
pub use network::{FlowNetwork, FlowObserver};
pub use parameters::TransportKind;
pub use ports::{find_port, port_name};
pub use rare::{Estimate, RareTimeouts, rare_timeouts};
pub use rdma::RdmaMechanisms;
pub use report::{Affected, FlowCounts, FlowsReport, NetworkCounts, TrafficReport};
pub(crate) use run::build_flow;
pub use run::{run, run_captured, run_other, run_with_records};
pub use schemes::{FlowSchemeConfig, FlowSchemes, Recovery, SchemeKind};
pub use second_link::{SecondLink, SecondLinkReport};
pub use spreading::{PlacementKind, Spreading, SpreadingReport};
pub use statistics::Summary;
pub use traffic::{TrafficConfig, TrafficHosts};
pub use training::{CollectiveJob, CollectiveKind, Job, RankOrder, Training, TrainingReport};
