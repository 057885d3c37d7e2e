//! What Linkmend's own simulator measures of protection.
//!
//! Ordered mode, 1,518-byte frames, copies for a target of 1e-8; capacity beside that of the unprotected link, from
//! `linkmend sim stress --speed RATE --loss RATE --mode ordered --frames 5M --seed 1`, with `--buffering direct` at 400G,
//! where a recirculation port of 100G would be too slow. Effective loss is Equation 1, which `linkmend reproduce fig8`
//! holds against counted losses. A test measures a row of each again.

use super::ProtectionRow;

/// At 25G.
pub(super) const AT_25G: [ProtectionRow; 8] = [
    row(1e-7, 1e-14, 0.9981),
    row(1e-6, 1e-12, 0.998),
    row(1e-5, 1e-10, 0.998),
    row(0.0001, 1e-8, 0.998),
    row(0.0003, 2.7e-11, 0.9975),
    row(0.001, 1e-9, 0.996),
    row(0.003, 8.1e-11, 0.9891),
    row(0.01, 1e-8, 0.9683),
];

/// At 100G.
pub(super) const AT_100G: [ProtectionRow; 8] = [
    row(1e-7, 1e-14, 0.998),
    row(1e-6, 1e-12, 0.998),
    row(1e-5, 1e-10, 0.9975),
    row(0.0001, 1e-8, 0.9937),
    row(0.0003, 2.7e-11, 0.9854),
    row(0.001, 1e-9, 0.9576),
    row(0.003, 8.1e-11, 0.885),
    row(0.01, 1e-8, 0.7047),
];

/// At 400G.
pub(super) const AT_400G: [ProtectionRow; 8] = [
    row(1e-7, 1e-14, 0.998),
    row(1e-6, 1e-12, 0.998),
    row(1e-5, 1e-10, 0.9975),
    row(0.0001, 1e-8, 0.9934),
    row(0.0003, 2.7e-11, 0.9846),
    row(0.001, 1e-9, 0.9565),
    row(0.003, 8.1e-11, 0.891),
    row(0.01, 1e-8, 0.7585),
];

const fn row(loss_rate: f64, effective_loss_rate: f64, capacity: f64) -> ProtectionRow {
    ProtectionRow { loss_rate, effective_loss_rate, capacity }
}
