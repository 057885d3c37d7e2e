//! Levels and delays, as reports state them.

use super::histogram::Histogram;
use super::levels::Levels;
use serde::Serialize;

/// Least, quartiles and most of a buffer's fill level, weighted by time; bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Quartiles {
    pub min: u64,
    /// A quarter of the time it was at most this.
    pub p25: u64,
    /// Half of the time it was at most this.
    pub p50: u64,
    /// Three quarters of the time it was at most this.
    pub p75: u64,
    pub max: u64,
}

/// Percentiles of a delay, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many were measured.
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    pub max: f64,
}

impl Quartiles {
    /// Of the levels that were recorded.
    pub fn of(levels: &Levels) -> Quartiles {
        let at = |q| levels.quantile(q);
        Quartiles { min: at(0.0), p25: at(0.25), p50: at(0.5), p75: at(0.75), max: at(1.0) }
    }
}

impl Percentiles {
    /// Of delays in ps.
    pub fn of(delays: &Histogram) -> Percentiles {
        if delays.count() == 0 {
            return Percentiles::default();
        }
        let at = |q| delays.quantile(q) as f64 / 1e3;
        Percentiles {
            count: delays.count(),
            min: delays.min() as f64 / 1e3,
            mean: delays.mean() / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: delays.max() as f64 / 1e3,
        }
    }
}
