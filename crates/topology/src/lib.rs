//! Networks as graphs: generated, or read from files.
//!
//! - [`Topology`]: layered networks, as fleets of links are managed. [`TopologyBuilder`] makes one from switches and
//!   links, [`FabricParameters`], [`fat_tree`] and [`leaf_spine`] from a few numbers, [`mod@file`] from an operator's
//!   files.
//! - [`LinkFinder`]: links by name, by number, or by their ends with ports.
//! - [`paths`]: valley-free paths from each ToR to the top layer, kept up to date; [`speeds`]: the same for shares of
//!   capacity; [`Installed`]: which switches are above which, so where two ToRs can meet.
//! - [`graph`]: hosts, switches and cables in any shape, for simulators and control planes: a layered network with
//!   hosts at its ToRs, a line, a dumbbell or a star.
//! - [`spec`]: either of them from one line, `fat-tree:k=8`.
#![forbid(unsafe_code)]

mod builder;
mod error;
mod fabric;
pub mod file;
mod generated;
pub mod graph;
mod id;
mod layered;
mod link_name;
mod names;
pub mod paths;
pub mod spec;
pub mod speeds;

pub use builder::TopologyBuilder;
pub use error::TopologyError;
pub use fabric::FabricParameters;
pub use generated::{fat_tree, leaf_spine};
pub use graph::{Cable, Graph, GraphBuilder, NodeKind};
pub use id::{LinkId, NodeId, SwitchId, ZoneId};
pub use layered::{Hop, Installed, Link, Switch, Topology, ZoneReach};
pub use link_name::{FindError, LinkFinder};
pub use names::Names;
