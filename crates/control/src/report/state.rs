//! States and choices of a link end, each with the one word that JSON, metrics and people have for it.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of_variant:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            /// The link is out of operation. Reports leave the word empty.
            #[default]
            #[serde(rename = "")]
            Unknown,
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All that a link in operation can have.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self {
                    $name::Unknown => "",
                    $($name::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

words! {
    /// State of the sending direction.
    TransmitState {
        Dormant = "dormant",
        Opening = "opening",
        Active = "active",
        Draining = "draining",
    }
}

words! {
    /// State of the receiving direction.
    ReceiveState {
        Listening = "listening",
        Active = "active",
    }
}

words! {
    /// The protection that the automatic fallback allows.
    FallbackLevel {
        Full = "full",
        NonBlocking = "non-blocking",
        Dormant = "dormant",
    }
}

words! {
    /// How frames of classes without a mode of their own are protected.
    Mode {
        Ordered = "ordered",
        NonBlocking = "non-blocking",
    }
}

words! {
    /// The format of the headers.
    Format {
        Transparent = "transparent",
        Compact = "compact",
        Linkguardian = "linkguardian",
    }
}

words! {
    /// State of a port's interface.
    PortState {
        Up = "up",
        Down = "down",
        NoCarrier = "no carrier",
    }
}

words! {
    /// One of the two links of a link end.
    Path {
        Primary = "primary",
        Backup = "backup",
    }
}

words! {
    /// Why a link end has changed to the other of its links.
    ChangeReason {
        NoCarrier = "no carrier",
        Silence = "silence",
        FullSize = "full-size frames lost",
        Loss = "loss",
        Delay = "delay",
        Return = "return",
        Request = "request",
        Peer = "peer",
    }
}

impl Path {
    /// Its place in what is reported by link.
    pub fn index(self) -> usize {
        usize::from(self == Path::Backup)
    }

    /// The other one.
    pub fn other(self) -> Path {
        Path::ALL[1 - self.index()]
    }
}

#[cfg(feature = "clap")]
impl clap::ValueEnum for Path {
    fn value_variants<'a>() -> &'a [Path] {
        Path::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let help = ["The link given by --link", "The link given by --backup"][self.index()];
        Some(clap::builder::PossibleValue::new(self.word()).help(help))
    }
}

impl From<Path> for linkmend_protocol::paths::Path {
    fn from(path: Path) -> linkmend_protocol::paths::Path {
        linkmend_protocol::paths::Path::ALL[path.index()]
    }
}

impl From<linkmend_protocol::paths::Path> for Path {
    fn from(path: linkmend_protocol::paths::Path) -> Path {
        match path {
            linkmend_protocol::paths::Path::Primary => Path::Primary,
            linkmend_protocol::paths::Path::Backup => Path::Backup,
        }
    }
}

impl From<linkmend_protocol::paths::ChangeReason> for ChangeReason {
    fn from(reason: linkmend_protocol::paths::ChangeReason) -> ChangeReason {
        match reason {
            linkmend_protocol::paths::ChangeReason::NoCarrier => ChangeReason::NoCarrier,
            linkmend_protocol::paths::ChangeReason::Silence => ChangeReason::Silence,
            linkmend_protocol::paths::ChangeReason::FullSize => ChangeReason::FullSize,
            linkmend_protocol::paths::ChangeReason::Loss => ChangeReason::Loss,
            linkmend_protocol::paths::ChangeReason::Delay => ChangeReason::Delay,
            linkmend_protocol::paths::ChangeReason::Return => ChangeReason::Return,
            linkmend_protocol::paths::ChangeReason::Request => ChangeReason::Request,
            linkmend_protocol::paths::ChangeReason::Peer => ChangeReason::Peer,
        }
    }
}

impl From<linkmend_protocol::TransmitState> for TransmitState {
    fn from(state: linkmend_protocol::TransmitState) -> TransmitState {
        match state {
            linkmend_protocol::TransmitState::Dormant => TransmitState::Dormant,
            linkmend_protocol::TransmitState::Opening => TransmitState::Opening,
            linkmend_protocol::TransmitState::Active => TransmitState::Active,
            linkmend_protocol::TransmitState::Draining => TransmitState::Draining,
        }
    }
}

impl From<linkmend_protocol::ReceiveState> for ReceiveState {
    fn from(state: linkmend_protocol::ReceiveState) -> ReceiveState {
        match state {
            linkmend_protocol::ReceiveState::Listening => ReceiveState::Listening,
            linkmend_protocol::ReceiveState::Active => ReceiveState::Active,
        }
    }
}

impl From<linkmend_protocol::Level> for FallbackLevel {
    fn from(level: linkmend_protocol::Level) -> FallbackLevel {
        match level {
            linkmend_protocol::Level::Full => FallbackLevel::Full,
            linkmend_protocol::Level::NonBlocking => FallbackLevel::NonBlocking,
            linkmend_protocol::Level::Dormant => FallbackLevel::Dormant,
        }
    }
}

impl From<linkmend_protocol::Mode> for Mode {
    fn from(mode: linkmend_protocol::Mode) -> Mode {
        match mode {
            linkmend_protocol::Mode::Ordered => Mode::Ordered,
            linkmend_protocol::Mode::NonBlocking => Mode::NonBlocking,
        }
    }
}

impl From<linkmend_protocol::Format> for Format {
    fn from(format: linkmend_protocol::Format) -> Format {
        match format {
            linkmend_protocol::Format::Transparent => Format::Transparent,
            linkmend_protocol::Format::Compact => Format::Compact,
            linkmend_protocol::Format::Linkguardian => Format::Linkguardian,
        }
    }
}

/// Why the two ends of a link cannot believe each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyTrouble {
    /// This end has a key, and the other says hello without.
    OtherHasNone,
    /// Both have one, and they differ.
    KeysDiffer,
    /// The other end has a key, and this one has none.
    OnlyOtherHas,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::LinkReport;
    use serde_json::json;

    #[test]
    fn a_state_is_one_word_in_json_and_for_people() {
        for state in TransmitState::ALL {
            assert_eq!(serde_json::to_value(state).expect("a word"), json!(state.word()));
            assert_eq!(serde_json::from_value::<TransmitState>(json!(state.to_string())).ok(), Some(*state));
        }
        assert_eq!(serde_json::to_value(PortState::NoCarrier).expect("a word"), json!("no carrier"));
        assert_eq!(serde_json::to_value(FallbackLevel::NonBlocking).expect("a word"), json!("non-blocking"));
        assert!(serde_json::from_value::<ReceiveState>(json!("elsewhere")).is_err());
    }

    #[test]
    fn a_link_out_of_operation_has_empty_words() {
        let report = serde_json::to_value(LinkReport::default()).expect("plain data");
        for field in ["transmit_state", "receive_state", "mode", "fallback_level"] {
            assert_eq!(report[field], json!(""), "{field}");
        }
        assert_eq!(report["inner"]["state"], json!(""));
        assert_eq!(report["parameters"]["format"], json!(""));
        assert_eq!(report["mismatched_format"], json!(null));
    }
}
