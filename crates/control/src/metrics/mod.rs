//! Serves metrics to Prometheus, on request.
//!
//! [`MetricsServer`] serves a page in the OpenMetrics text format over HTTP to clients that ask for it, and the older text
//! format of Prometheus ([`from_open_metrics`]) to others. Each daemon composes its own page.

mod connection;
mod http;
mod text_format;

pub use connection::Page;
pub use http::{MetricsError, MetricsServer};
pub use text_format::from_open_metrics;
