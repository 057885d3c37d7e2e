//! How a link would be protected: mode, copies, and what is left of loss and capacity.

use super::PlanSettings;
use crate::protection::ProtectionRow;
use linkmend_protocol::{copies_for, effective_loss};

/// Whether frames keep their order (section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Kept: the receiver holds frames back while one is missing.
    Ordered,
    /// Not kept: nothing waits, so only the copies cost capacity.
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

/// How a link is protected, and what that leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protection {
    /// Whether frames keep their order.
    pub mode: Mode,
    /// Copies of each lost frame (Equation 2); 1 to 16.
    pub copies: u8,
    /// Loss rate that is left if losses are independent (Equation 1).
    pub expected_loss_rate: f64,
    /// The row of the protection table that is nearest.
    pub measured: ProtectionRow,
    /// The worse of what is expected and what was measured.
    pub effective_loss_rate: f64,
    /// Effective capacity as a share of the link's.
    pub capacity: f64,
    /// What ordered mode would leave of the capacity, whichever was chosen.
    pub ordered_capacity: f64,
}

impl Protection {
    /// How a link with this loss rate would be protected: in ordered mode if that leaves enough capacity, which is never
    /// more than non-blocking mode leaves.
    ///
    /// Where the table has not measured non-blocking mode, the link keeps the best capacity of ordered mode less what its
    /// copies take, because nothing pauses. Beyond the table's largest loss rate its nearest row flatters: that estimate
    /// counts if it is worse, and so does Equation 1.
    pub(super) fn of(loss_rate: f64, settings: &PlanSettings) -> Protection {
        let copies = copies_for(loss_rate, settings.target_loss);
        let expected_loss_rate = effective_loss(loss_rate, copies);
        let in_order = *settings.protection.row(loss_rate);
        let without_order = settings.protection.non_blocking_row(loss_rate).copied();
        // No loss rate is above 1, so the row nearest to that is the last one.
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

    /// Whether even the most copies leave more than the target, if losses are independent. The tolerance is that of
    /// [`copies_for`].
    pub fn misses(&self, target_loss: f64) -> bool {
        self.expected_loss_rate > target_loss * (1.0 + 1e-9)
    }
}
