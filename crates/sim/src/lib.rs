//! A deterministic packet-level simulator that drives the state machines of [`linkmend_protocol`].
//!
//! - [`kernel`]: time in integer picoseconds, and which source of events acts next.
//! - [`random`]: one seed per run, split into a stream per component.
//! - [`corruption`]: which frames a link corrupts.
//! - [`link`]: frames, ports, generators of traffic, and the schemes by which links recover.
//! - [`node`]: hosts and switches.
//! - [`network`]: nodes and links, and the loop that runs them.
//! - [`host`]: hosts with transport protocols.
//! - [`histogram`]: counts of values, good to one 128th, in constant space.
//! - [`measure`]: observers of a run: time series, pcapng files and others.
//! - [`parameters`]: what a run is, in words and numbers: the one vocabulary of files and command lines.
//! - [`rdma_check`]: the model of RDMA's timeouts against simulated flows.
//! - [`run`]: kinds of runs: [`stress`], line-rate traffic over one protected link; [`links`], several links and
//!   more; [`flows`], hosts.
//! - [`replay`]: protocol logs of real link ends, repeated exactly and compared with simulated ones.
//! - [`experiment`]: sweeps of runs, described in files, and published values beside measured ones.
//!
//! # One event
//!
//! A stress run ([`stress::run`]) makes a plan of two switches, a line-rate generator and a
//! link. The ports come from the description of the link ([`ports`](link::config::LinkConfig::ports),
//! [`protocol_config`](link::config::LinkConfig::protocol_config)), and the plan becomes a
//! [network](network::Plan::build), which opens its sessions ([`open_sessions`](network::Network::open_sessions)) and runs
//! ([`run_until_produced`](network::Network::run_until_produced)). Each step takes the earliest source from the event queue
//! ([`next`](kernel::event_queue::EventQueue::next)), moves the clock, and lets the source act:
//!
//! - **A port may send** ([`serve_port`](network::Network::serve_port)). Urgent frames are collected, then the port asks the
//!   protocol's schedule. What the scheme allows is in
//!   [`LinkGuardian`](link::scheme::LinkGuardian), which calls the same `LinkEnd` as the daemon. How long the frame occupies
//!   the port, and whether the link corrupts it, is decided in [`begin`](crate::link::port::Port::begin).
//! - **A frame arrives** ([`arrive`](network::Network::arrive)). The scheme takes it, what the scheme releases is delivered,
//!   and what has farther to go is passed on ([`pass_on`](network::Network::pass_on)).
//! - **A clock is due** ([`handle_clock`](network::Network::handle_clock)): a timeout, or the next frame of paced traffic.
//! - **A buffered frame returns from its loop** ([`handle_round`](network::Network::handle_round)). It is sent as a copy,
//!   delivered, released, or [stays](network::Network::stays) for another lap.
//! - **A host acts** ([`act_on_host`](network::Network::act_on_host)): its stack, a timer, or the beginning of a flow.
//!
//! Whatever changed gets a new time in the event queue. The observer has seen each frame
//! ([`LinkMeasures`](measure::LinkMeasures)). Every cycle of frames, two
//! [moments](network::Network::moment) are compared ([`repeats`](network::Network::repeats)), and what would
//! repeat is skipped ([`repeat`](network::Network::repeat)).
//!
//! # One segment between two hosts
//!
//! **Start.** [`flows::run`] builds the network from a graph and the names of schemes, and the hosts from their
//! configuration ([`TransportHosts::new`](host::TransportHosts::new)). When the workload is due, a flow
//! [begins](host::TransportHosts::begin): its two ends [connect](host::TransportHosts::connect), and the sender's port is
//! woken.
//!
//! **Out of the host.** When the port is free, [`send_of_host`](network::Network::send_of_host) takes one frame from the
//! host. The documentation of [`host`] follows the segment inside.
//!
//! **Through switches.** A switch whose links recover nothing [runs ahead](network::Network::run_ahead): it asks for the
//! [route](crate::node::switch::Switch::route) and plans when the frame leaves
//! ([`plan_departure`](network::Network::plan_departure)). Whatever looks at such a port has it settled first
//! ([`settle`](network::Network::settle)). Other switches put the frame into the port's queue
//! ([`push_normal`](crate::link::port::Port::push_normal)).
//!
//! **Into the host.** At the destination, the stack hands the segment to its end, a
//! [`Connection`](linkmend_transport::tcp::Connection). When everything is acknowledged, the flow
//! [ends](host::TransportHosts::end), and its record goes into the [report](flows::FlowsReport).
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the walk through the code names private functions, so that rustdoc finds it outdated"
)]
#![forbid(unsafe_code)]

pub mod experiment;
pub mod histogram;
pub mod host;
pub mod kernel;
pub mod link;
pub mod measure;
pub mod network;
pub mod node;
pub mod parameters;
pub mod rdma_check;
pub mod replay;
pub mod run;
mod sums;

pub use kernel::{event_queue, time};
pub use linkmend_corruption as corruption;
pub use linkmend_random as random;
pub use run::{flows, links, stress, timeline, transfer};
