//! The meaning of a value to the reader.

use serde::Serialize;

/// The judgement that colours a cell, a headline or a phase of a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// No judgement; the ordinary colour.
    #[default]
    Plain,
    Good,
    Bad,
    /// Context that should recede.
    Neutral,
}

impl Tone {
    /// The class of the style sheets, empty for [`Tone::Plain`].
    #[cfg(feature = "html")]
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Good => "lm-good",
            Tone::Bad => "lm-bad",
            Tone::Neutral => "lm-neutral",
        }
    }
}
