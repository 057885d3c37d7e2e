//! Servers of Redis: how they are named, and how one is reached without waiting long.

mod connector;
mod url;

pub use connector::{Connector, ReachError, TIMEOUT, Topology};
pub use url::ServerUrl;
