//! Servers: how they are named, and how one is reached without waiting long.

mod connector;
pub(crate) mod http;
mod url;

pub use connector::{Connector, ReachError, TIMEOUT, Topology};
pub(crate) use http::HttpServer;
pub use url::ServerUrl;
