//! Metrics for Prometheus: every counter of a [`crate::LinkReport`], on request.
//!
//! [`encode`] writes reports in the OpenMetrics text format, which Prometheus reads; [`MetricsServer`] serves that over
//! HTTP. The names and what they mean are one table, `counters`.

mod counters;
mod encode;
mod http;

pub use encode::encode;
pub use http::{CONTENT_TYPE, MetricsError, MetricsServer};
