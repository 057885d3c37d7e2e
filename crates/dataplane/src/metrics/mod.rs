//! Metrics for Prometheus: every counter of a [`LinkReport`](linkmend_control::LinkReport), on request.
//!
//! [`encode`] writes reports in the OpenMetrics text format, which [`MetricsServer`](linkmend_control::metrics::MetricsServer)
//! serves. One table, `counters`, holds the names and their meanings.

mod counters;
mod encode;
mod failover;
mod in_time;
mod labels;
#[cfg(test)]
mod lint;
mod page;
mod udp;

pub use encode::encode;
pub use page::page_of_links;
