//! Metrics for Prometheus: every counter of a [`crate::LinkReport`], on request.
//!
//! [`encode`] writes reports in the OpenMetrics text format. [`MetricsServer`] serves that over HTTP to clients that
//! ask for it, and the older text format of Prometheus to others. One table, `counters`, holds the names and their
//! meanings.

mod connection;
mod counters;
mod encode;
mod failover;
mod http;
mod labels;
#[cfg(test)]
mod lint;
mod text_format;

pub use connection::Page;
pub use encode::encode;
pub use http::{MetricsError, MetricsServer, page_of_links};
pub use text_format::from_open_metrics;
