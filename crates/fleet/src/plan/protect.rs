//! How a link would be protected: mode, copies, and what is left of loss and capacity.

use super::PlanSettings;
use crate::protection::ProtectionRow;
use linkmend_protocol::{copies_for, effective_loss};

/// Whether frames keep their order (section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The receiver delivers frames in order, and holds them back while one is missing.
    Ordered,
    /// Frames are delivered as they arrive, so only the copies cost capacity.
    NonBlocking,
}

impl Mode {
    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Ordered => "ordered",
            Mode::NonBlocking => "non-blocking",
        }
    }
}

/// How a link is protected, and the loss and capacity that remain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protection {
    /// Whether frames keep their order.
    pub mode: Mode,
    /// Copies of each lost frame (Equation 2); 1 to 16.
    pub copies: u8,
    /// Loss rate that remains if losses are independent (Equation 1).
    pub expected_loss_rate: f64,
    /// The nearest row of the protection table.
    pub measured: ProtectionRow,
    /// The higher of the expected and the measured loss rate.
    pub effective_loss_rate: f64,
    /// Effective capacity, as a share of the link's.
    pub capacity: f64,
    /// What ordered mode would leave of the capacity, whichever mode was chosen.
    pub ordered_capacity: f64,
}

impl Protection {
    /// Chooses how to protect a link with this loss rate: in ordered mode, if that leaves enough capacity. Ordered mode
    /// never leaves more than non-blocking mode.
    ///
    /// Where the table has no measurement of non-blocking mode, the link keeps the best capacity of ordered mode less
    /// what its copies take, because nothing pauses. Beyond the largest loss rate of the table, its nearest row is too
    /// optimistic, so the estimate and Equation 1 count if they are worse.
    pub(super) fn choose(loss_rate: f64, settings: &PlanSettings) -> Protection {
        let copies = copies_for(loss_rate, settings.target_loss);
        let expected_loss_rate = effective_loss(loss_rate, copies);
        let in_order = *settings.protection.row(loss_rate);
        let without_order = settings.protection.non_blocking_row(loss_rate).copied();
        // No loss rate exceeds 1, so the row nearest to 1 is the last one.
        let last = settings.protection.non_blocking_row(1.0).map_or(0.0, |row| row.loss_rate);
        let estimate = settings.protection.best_capacity() / (1.0 + f64::from(copies) * loss_rate);
        let non_blocking_capacity = match without_order {
            Some(row) if loss_rate <= last => row.capacity,
            Some(row) => row.capacity.min(estimate),
            None => estimate,
        };
        let ordered_capacity = in_order.capacity.min(non_blocking_capacity);
        let (mode, measured, capacity) = if ordered_capacity < settings.min_capacity {
            (Mode::NonBlocking, without_order.unwrap_or(in_order), non_blocking_capacity)
        } else {
            (Mode::Ordered, in_order, ordered_capacity)
        };
        Protection {
            mode,
            copies,
            expected_loss_rate,
            measured,
            effective_loss_rate: expected_loss_rate.max(measured.effective_loss_rate).min(loss_rate),
            capacity,
            ordered_capacity,
        }
    }

    /// Whether even the largest number of copies leaves more than the target, if losses are independent. The tolerance
    /// is that of [`copies_for`].
    pub fn misses(&self, target_loss: f64) -> bool {
        self.expected_loss_rate > target_loss * (1.0 + 1e-9)
    }
}
