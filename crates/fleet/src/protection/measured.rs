//! Protection as Linkmend's own simulator measures it.
//!
//! Frames have 1,518 bytes, and copies aim at a target of 1e-8. Capacity is relative to that of the unprotected link,
//! from `linkmend sim stress --speed RATE --loss RATE --scheme SCHEME --frames 5M --seed 1`; at 400G with `--buffering
//! direct`, because a recirculation port of 100G would be too slow. Effective loss is Equation 1 in both modes, which
//! `linkmend reproduce fig8` compares with counted losses. A test measures a row of each mode again.

use super::ProtectionRow;

/// Measurements at 25G.
pub(super) const AT_25G: [Measured; 8] = [
    row(1e-7, 1e-14, 0.9981, 0.9981),
    row(1e-6, 1e-12, 0.998, 0.9981),
    row(1e-5, 1e-10, 0.998, 0.998),
    row(0.0001, 1e-8, 0.998, 0.998),
    row(0.0003, 2.7e-11, 0.9975, 0.9975),
    row(0.001, 1e-9, 0.996, 0.9961),
    row(0.003, 8.1e-11, 0.9891, 0.9892),
    row(0.01, 1e-8, 0.9683, 0.9691),
];

/// Measurements at 100G.
pub(super) const AT_100G: [Measured; 8] = [
    row(1e-7, 1e-14, 0.998, 0.9981),
    row(1e-6, 1e-12, 0.998, 0.998),
    row(1e-5, 1e-10, 0.9975, 0.998),
    row(0.0001, 1e-8, 0.9937, 0.998),
    row(0.0003, 2.7e-11, 0.9854, 0.9975),
    row(0.001, 1e-9, 0.9576, 0.9961),
    row(0.003, 8.1e-11, 0.885, 0.9891),
    row(0.01, 1e-8, 0.7047, 0.9691),
];

/// Measurements at 400G.
pub(super) const AT_400G: [Measured; 8] = [
    row(1e-7, 1e-14, 0.998, 0.9981),
    row(1e-6, 1e-12, 0.998, 0.998),
    row(1e-5, 1e-10, 0.9975, 0.998),
    row(0.0001, 1e-8, 0.9934, 0.998),
    row(0.0003, 2.7e-11, 0.9846, 0.9975),
    row(0.001, 1e-9, 0.9565, 0.9961),
    row(0.003, 8.1e-11, 0.891, 0.9891),
    row(0.01, 1e-8, 0.7585, 0.9691),
];

/// Capacities with LLR at 100G over 100 m, from `linkmend sim stress --speed RATE --distance 100m --scheme llr --llr plan
/// --loss RATE --frames 5M --seed 1`. The planned replay count lets the port give up one loop of frames in ten years, which is
/// the effective loss.
pub(super) const LLR_AT_100G: [ProtectionRow; 8] =
    llr(5e-15, [1.0, 1.0, 0.9999, 0.9988, 0.9966, 0.9888, 0.9663, 0.893]);
/// The same at 400G.
pub(super) const LLR_AT_400G: [ProtectionRow; 8] =
    llr(4e-15, [1.0, 0.9999, 0.9995, 0.9961, 0.9884, 0.9631, 0.894, 0.7106]);
/// The same at 800G.
pub(super) const LLR_AT_800G: [ProtectionRow; 8] =
    llr(3e-15, [1.0, 0.9998, 0.999, 0.9923, 0.978, 0.9298, 0.8138, 0.5598]);

/// Loss rates of the measurements with LLR.
const LLR_LOSSES: [f64; 8] = [1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2];

const fn llr(effective_loss_rate: f64, capacities: [f64; 8]) -> [ProtectionRow; 8] {
    let mut rows = [ProtectionRow { loss_rate: 0.0, effective_loss_rate, capacity: 0.0 }; 8];
    let mut at = 0;
    while at < rows.len() {
        rows[at].loss_rate = LLR_LOSSES[at];
        rows[at].capacity = capacities[at];
        at += 1;
    }
    rows
}

/// The measurements at one loss rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    loss_rate: f64,
    effective_loss_rate: f64,
    ordered: f64,
    non_blocking: f64,
}

impl Measured {
    /// The row of ordered mode.
    pub fn ordered(&self) -> ProtectionRow {
        self.row(self.ordered)
    }

    /// The row of non-blocking mode.
    pub fn non_blocking(&self) -> ProtectionRow {
        self.row(self.non_blocking)
    }

    fn row(&self, capacity: f64) -> ProtectionRow {
        let Measured { loss_rate, effective_loss_rate, .. } = *self;
        ProtectionRow { loss_rate, effective_loss_rate, capacity }
    }
}

/// Takes the loss rate on the wire, the effective loss rate, and the capacity in ordered and in non-blocking mode.
const fn row(loss_rate: f64, effective_loss_rate: f64, ordered: f64, non_blocking: f64) -> Measured {
    Measured { loss_rate, effective_loss_rate, ordered, non_blocking }
}
