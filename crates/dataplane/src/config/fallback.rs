//! Limits of the automatic fallback.

use linkmend_protocol::{FallbackConfig, Tick, Ticks};
use linkmend_quantity::{LossRate, Span};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// `[link.fallback]`: when a link is too bad for ordered mode, or for any.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(
    feature = "clap",
    command(next_help_heading = "Automatic fallback: ordered -> non-blocking -> dormant, and back")
)]
pub struct FallbackLimits {
    /// Whether to reduce protection automatically on a link that is too lossy for it
    #[cfg_attr(feature = "clap", arg(
        id = "fallback-enabled",
        long = "fallback",
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        default_value_t = FallbackLimits::default().enabled
    ))]
    pub enabled: bool,
    /// Loss rate above which the link leaves ordered mode
    #[cfg_attr(feature = "clap", arg(
        long = "fallback-ordered-loss-max",
        value_name = "RATE",
        default_value_t = FallbackLimits::default().ordered_loss_max
    ))]
    pub ordered_loss_max: LossRate,
    /// Loss rate above which protection is given up
    #[cfg_attr(feature = "clap", arg(
        long = "fallback-non-blocking-loss-max",
        value_name = "RATE",
        default_value_t = FallbackLimits::default().non_blocking_loss_max
    ))]
    pub non_blocking_loss_max: LossRate,
    /// Overflows of the Rx buffer in one loss window above which the link leaves ordered mode
    #[cfg_attr(feature = "clap", arg(
        long = "fallback-rx-overflow-max",
        value_name = "FRAMES",
        default_value_t = FallbackLimits::default().rx_overflow_max
    ))]
    pub rx_overflow_max: u32,
    /// Protection returns when the loss rate is below its limit times this factor, between 0 and 1
    #[cfg_attr(feature = "clap", arg(
        long = "fallback-return-factor",
        value_name = "FACTOR",
        default_value_t = FallbackLimits::default().return_factor
    ))]
    pub return_factor: f64,
    /// How long the loss rate must stay below that
    #[cfg_attr(feature = "clap", arg(
        long = "fallback-return-hold",
        value_name = "TIME",
        default_value_t = FallbackLimits::default().return_hold
    ))]
    pub return_hold: Span,
    /// How long a link stays dormant before it is tried again
    #[cfg_attr(feature = "clap", arg(
        long = "fallback-dormant-hold",
        value_name = "TIME",
        default_value_t = FallbackLimits::default().dormant_hold
    ))]
    pub dormant_hold: Span,
}

impl Default for FallbackLimits {
    fn default() -> Self {
        let FallbackConfig {
            enabled,
            ordered_loss_max,
            non_blocking_loss_max,
            rx_overflow_max,
            return_factor,
            return_hold,
            dormant_hold,
        } = FallbackConfig::new(Tick::Nanosecond);
        FallbackLimits {
            enabled,
            ordered_loss_max: LossRate(ordered_loss_max),
            non_blocking_loss_max: LossRate(non_blocking_loss_max),
            rx_overflow_max,
            return_factor,
            return_hold: Span(Duration::from_nanos(return_hold.0)),
            dormant_hold: Span(Duration::from_nanos(dormant_hold.0)),
        }
    }
}

impl FallbackLimits {
    /// Translates the limits into the link end's settings.
    pub fn settings(&self) -> FallbackConfig {
        let nanos = |span: Span| Ticks(u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX));
        FallbackConfig {
            enabled: self.enabled,
            ordered_loss_max: self.ordered_loss_max.0,
            non_blocking_loss_max: self.non_blocking_loss_max.0,
            rx_overflow_max: self.rx_overflow_max,
            return_factor: self.return_factor,
            return_hold: nanos(self.return_hold),
            dormant_hold: nanos(self.dormant_hold),
        }
    }
}
