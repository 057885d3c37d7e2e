//! Texts of log messages.

use linkmend_control::CorruptionModel;
use linkmend_protocol::{CloseReason, Copies, Level};

/// Describes why a session ended.
pub(super) fn reason(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Requested => "it was switched off",
        CloseReason::Fallback => "the automatic fallback switched it off",
        CloseReason::PeerLost => "the peer fell silent, or has lost the session",
        CloseReason::DrainTimeout => "the peer did not confirm the end in time",
        CloseReason::Replaced => "the peer began a new session",
        CloseReason::Stalled => "this process was stalled, and the kernel forwarded meanwhile",
        CloseReason::Stopped => "this end stops, and the kernel forwards",
        CloseReason::PeerStopped => "the peer is stopping and requested the end",
    }
}

/// Names the level of the automatic fallback.
pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Full => "full",
        Level::NonBlocking => "non-blocking",
        Level::Dormant => "dormant",
    }
}

/// Describes how the number of copies is chosen.
pub(super) fn copies(copies: Copies) -> String {
    match copies {
        Copies::Fixed(number) => number.to_string(),
        Copies::Target { target_loss, initial_loss } => {
            format!("for a loss of {target_loss:e}, from {initial_loss:e} until it is measured")
        }
    }
}

/// Describes the injected corruption.
pub(super) fn corruption(model: Option<CorruptionModel>) -> String {
    match model {
        None => "none".to_owned(),
        Some(CorruptionModel::Iid { rate }) => format!("{rate:e} of all frames"),
        Some(CorruptionModel::GilbertElliott { rate, mean_burst }) => {
            format!("{rate:e} of all frames, in bursts of {mean_burst}")
        }
    }
}

/// Describes a loss rate that may be unknown.
pub(super) fn loss(loss: Option<f64>) -> String {
    loss.map_or("not measured".to_owned(), |loss| format!("{loss:.1e}"))
}
