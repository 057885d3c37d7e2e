//! The control plane (appendix C of the paper): finds corrupting links from the counters of their ports, has them
//! protected, and ends protection once a link has been repaired.
//!
//! - [`counters`]: what a port has counted, and how much of it is new since the last poll;
//! - [`detection`]: whether a port's link corrupts, at what rate, and whether that is over;
//! - [`forecast`]: what counters of forward error correction predict, before frames are lost;
//! - [`optics`]: what transceivers measure, and what to repair;
//! - [`Cabling`]: which [ports](PortName) are connected;
//! - [`exchange`]: what the two ends of a link tell each other;
//! - [`findings`]: what agents publish about their ports;
//! - [`agent`]: what one machine decides, and requests from others;
//! - [`evaluation`]: how well detection works, on links whose true state is known;
//! - [`planning`]: which links of a topology corrupt, for the fleet's planner;
//! - [`audit_chain`]: lines of the audit log that vouch for the ones before them;
//! - [`audit_report`]: what audit files say of weeks;
//! - [`recording`]: counters from a file, and what would have been decided.
//!
//! None of this does I/O or reads a clock, so recorded counters lead to the same decisions as live ones. Around it are
//!
//! - [`source`]: where counters come from;
//! - [`bus`]: where agents put requests and results;
//! - [`server`]: the addresses of servers;
//! - [`actuator`]: what carries requests out;
//! - [`webhook`]: what tells another program of decisions;
//! - [`config`]: the configuration file and options;
//! - [`daemon`]: the loop that drives all of it.
//!
//! # One decision
//!
//! [`Corruptd::start`](daemon::Corruptd::start) opens sources, the bus and actuators, and
//! [`Corruptd::run`](daemon::Corruptd::run) repeats one [step](crate::daemon::Corruptd::step): read the bus
//! ([`hear`](crate::daemon::Corruptd::hear)), [read](crate::daemon::Corruptd::read) the counters that are due, and
//! [act](crate::daemon::Corruptd::act).
//!
//! Readings reach the agent in [`handle_readings`](agent::Agent::handle_readings). The port's
//! [`Difference`](counters::Difference::handle_reading) turns each into an increment, or says why it is ignored, and
//! its [`Detector`](detection::Detector::handle_reading) judges the increments of the last hour. When the port starts
//! to corrupt frames, [`ask`](crate::agent::Agent::ask) writes a [`Request`](exchange::Request), which the bus carries
//! to the agent of the sending port ([`handle_state`](agent::Agent::handle_state)). That agent carries it out
//! ([`carry_out`](crate::agent::Agent::carry_out), [`Actuator::apply`](actuator::Actuator::apply)), receives the
//! outcome ([`handle_effect`](agent::Agent::handle_effect)) and reports it
//! ([`acknowledge`](crate::agent::Agent::acknowledge)). Each decision goes into the audit file with its evidence
//! ([`poll_decision`](agent::Agent::poll_decision)).
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the walk through the code names private functions, so that rustdoc finds it outdated"
)]
#![forbid(unsafe_code)]

pub mod actuator;
pub mod agent;
pub mod audit_chain;
pub mod audit_report;
pub mod bus;
mod cabling;
pub mod config;
pub mod counters;
pub mod daemon;
pub mod detection;
pub mod evaluation;
pub mod exchange;
pub mod findings;
pub mod forecast;
mod memory;
pub mod optics;
pub mod planning;
mod port_name;
pub mod recording;
mod secret_key;
pub mod server;
mod sonic;
pub mod source;
pub mod webhook;

pub use cabling::{Cabling, CablingError, HeardCable};
pub use port_name::{PortName, PortNameError};
pub use secret_key::read_key;
