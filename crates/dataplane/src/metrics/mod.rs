//! Metrics for Prometheus: every counter of a [`crate::LinkReport`], on request.
//!
//! [`encode`] writes reports in the OpenMetrics text format; [`MetricsServer`] serves that over HTTP to those who ask for
//! it, and to others the older text format of Prometheus. The names and what they mean are one table, `counters`.

mod counters;
mod encode;
mod http;
#[cfg(test)]
mod lint;
mod text_format;

pub use encode::encode;
pub use http::{MetricsError, MetricsServer};
