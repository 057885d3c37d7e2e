//! How a link is protected, as people write it.

use crate::class_field::ClassField;
use linkmend_protocol::Mode;
use linkmend_quantity::{LossRate, Span};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// The paper's target for the effective loss (section 3.4).
pub const TARGET_LOSS_DEFAULT: LossRate = LossRate(1e-8);
/// The loss rate assumed until the link's has been measured.
pub const INITIAL_LOSS_DEFAULT: LossRate = LossRate(1e-3);

/// The deadlines that a class can have.
pub const DEADLINES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);

/// Protection of the sending direction: `[link.protect]`, or the arguments of `run` and `protect`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProtectConfig {
    /// Protection of the frames that this end sends
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t, help_heading = "Protection"))]
    pub mode: ProtectMode,
    /// Always retransmit this many copies of a lost frame (1 to 16), instead of as many as --target needs
    #[cfg_attr(feature = "clap", arg(
        long,
        value_name = "N",
        conflicts_with_all = ["target", "loss"],
        value_parser = clap::value_parser!(u8).range(1..=16),
        help_heading = "Protection"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<u8>,
    /// Effective loss rate to stay below; together with the measured loss, it determines the number of copies [default: 1e-8]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<LossRate>,
    /// Loss rate to assume until enough frames have been measured, like 1e-3 or 0.1% [default: 1e-3]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossRate>,
    /// A traffic class with a different mode, like pcp=5:non-blocking, or over UDP with a deadline, like dscp=46:150ms; may be
    /// repeated
    #[cfg_attr(feature = "clap", arg(long = "class", value_name = "CLASS", help_heading = "Protection"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassRule>,
}

/// The mode of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ProtectMode {
    /// Lost frames are recovered and every frame is delivered in order (LinkGuardian)
    #[default]
    Ordered,
    /// Lost frames are recovered and may be delivered out of order (LinkGuardianNB)
    NonBlocking,
    /// Dormant until `linkmend protect`: frames are forwarded in the kernel
    Off,
}

impl fmt::Display for ProtectMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProtectMode::Ordered => "ordered",
            ProtectMode::NonBlocking => "non-blocking",
            ProtectMode::Off => "off",
        })
    }
}

impl ProtectMode {
    /// The protocol's mode; `None` when off.
    pub fn mode(self) -> Option<Mode> {
        match self {
            ProtectMode::Ordered => Some(Mode::Ordered),
            ProtectMode::NonBlocking => Some(Mode::NonBlocking),
            ProtectMode::Off => None,
        }
    }
}

/// Frames of one class travel in a mode of their own, or have a deadline. In a file: `{ pcp = 5, mode = "non-blocking" }` or
/// `{ dscp = 46, deadline = "150ms" }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawRule", into = "RawRule")]
pub struct ClassRule {
    pub field: ClassField,
    pub service: ClassService,
}

/// How the frames of a class are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassService {
    /// In this mode, which is never [`ProtectMode::Off`].
    Mode(ProtectMode),
    /// By what brings them to the other end within this time, in order; later, they are dropped.
    Deadline(Span),
}

/// Why a class rule is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClassError {
    /// The text does not have the right form.
    #[error(
        "`{0}` is not a class; write pcp=N:MODE or dscp=N:MODE, like pcp=5:non-blocking, or a deadline \
             instead of the mode, like dscp=46:150ms"
    )]
    Form(String),
    /// Neither field is given, or both are.
    #[error("a class needs exactly one of `pcp` and `dscp`")]
    OneField,
    /// There is no such priority.
    #[error("pcp {0}: a VLAN priority is 0 to 7")]
    Pcp(u8),
    /// There is no such code point.
    #[error("dscp {0}: a code point is 0 to 63")]
    Dscp(u8),
    /// Neither is given, or both are.
    #[error("a class needs exactly one of `mode` and `deadline`")]
    OneService,
    /// It is out of range.
    #[error("deadline {0}: must be {min} to {max}", min = Span(*DEADLINES.start()), max = Span(*DEADLINES.end()))]
    Deadline(Span),
    /// Classes cannot be excluded from protection.
    #[error("mode `off` does not exist for a class; use ordered or non-blocking")]
    Off,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pcp: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dscp: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<ProtectMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Span>,
}

impl TryFrom<RawRule> for ClassRule {
    type Error = ClassError;

    fn try_from(raw: RawRule) -> Result<ClassRule, ClassError> {
        let field = match (raw.pcp, raw.dscp) {
            (Some(pcp @ 8..), None) => return Err(ClassError::Pcp(pcp)),
            (None, Some(dscp @ 64..)) => return Err(ClassError::Dscp(dscp)),
            (Some(pcp), None) => ClassField::Pcp(pcp),
            (None, Some(dscp)) => ClassField::Dscp(dscp),
            _ => return Err(ClassError::OneField),
        };
        let service = match (raw.mode, raw.deadline) {
            (Some(ProtectMode::Off), None) => return Err(ClassError::Off),
            (Some(mode), None) => ClassService::Mode(mode),
            (None, Some(deadline)) if DEADLINES.contains(&deadline.0) => ClassService::Deadline(deadline),
            (None, Some(deadline)) => return Err(ClassError::Deadline(deadline)),
            _ => return Err(ClassError::OneService),
        };
        Ok(ClassRule { field, service })
    }
}

impl From<ClassRule> for RawRule {
    fn from(rule: ClassRule) -> RawRule {
        let (pcp, dscp) = match rule.field {
            ClassField::Pcp(pcp) => (Some(pcp), None),
            ClassField::Dscp(dscp) => (None, Some(dscp)),
        };
        let (mode, deadline) = match rule.service {
            ClassService::Mode(mode) => (Some(mode), None),
            ClassService::Deadline(deadline) => (None, Some(deadline)),
        };
        RawRule { pcp, dscp, mode, deadline }
    }
}

impl FromStr for ClassRule {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<ClassRule, ClassError> {
        let form = || ClassError::Form(text.to_owned());
        let (class, service) = text.split_once(':').ok_or_else(form)?;
        let (field, number) = class.split_once('=').ok_or_else(form)?;
        let number: u8 = number.trim().parse().map_err(|_| form())?;
        let modes = [ProtectMode::Ordered, ProtectMode::NonBlocking, ProtectMode::Off];
        let mode = modes.into_iter().find(|known| known.to_string() == service.trim());
        let deadline = match mode {
            Some(_) => None,
            None => Some(service.trim().parse().map_err(|_| form())?),
        };
        let (pcp, dscp) = match field.trim() {
            "pcp" => (Some(number), None),
            "dscp" => (None, Some(number)),
            _ => return Err(form()),
        };
        RawRule { pcp, dscp, mode, deadline }.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_read_from_arguments() {
        let rule = "pcp=5:non-blocking".parse();
        assert_eq!(
            rule,
            Ok(ClassRule {
                field: ClassField::Pcp(5),
                service: ClassService::Mode(ProtectMode::NonBlocking)
            })
        );
        let deadline = ClassService::Deadline(Span(Duration::from_millis(150)));
        let rule = ClassRule { field: ClassField::Dscp(46), service: deadline };
        assert_eq!("dscp=46:150ms".parse(), Ok(rule));
        let written = serde_json::to_string(&rule).expect("it can be written");
        assert_eq!(written, r#"{"dscp":46,"deadline":"150ms"}"#);
        assert_eq!(serde_json::from_str::<ClassRule>(&written).expect("it can be read"), rule);
        let error = |text: &str| text.parse::<ClassRule>().expect_err(text).to_string();
        let form = "is not a class; write pcp=N:MODE or dscp=N:MODE, like pcp=5:non-blocking, or a deadline instead of the \
                    mode, like dscp=46:150ms";
        for text in ["pcp=5", "5:ordered", "vlan=5:ordered", "pcp=x:ordered", "pcp=5:fast"] {
            assert_eq!(error(text), format!("`{text}` {form}"));
        }
        assert_eq!(error("pcp=8:ordered"), "pcp 8: a VLAN priority is 0 to 7");
        assert_eq!(error("dscp=64:ordered"), "dscp 64: a code point is 0 to 63");
        assert_eq!(error("dscp=46:2s"), "deadline 2s: must be 1ms to 1s");
        assert_eq!(error("dscp=1:off"), "mode `off` does not exist for a class; use ordered or non-blocking");
    }
}
