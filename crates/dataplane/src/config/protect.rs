//! What a link's protection means to its link end.

use super::error::Problem;
use super::header_format::HeaderFormat;
use crate::settings::{FrameClass, ProtectionSettings};
use linkmend_control::{
    ClassField, ClassService, INITIAL_LOSS_DEFAULT, ProtectConfig, ProtectMode, TARGET_LOSS_DEFAULT,
};
use linkmend_parity::exchange::CLASSES_MAX;
use linkmend_protocol::Copies;
use linkmend_protocol::classify::Classifier;
use linkmend_quantity::Span;
use std::time::Duration;

/// Translates the protection into the link end's settings; `None` when off.
pub(crate) fn protection(protect: &ProtectConfig) -> Option<ProtectionSettings> {
    let default = protect.mode.mode()?;
    let mut classifier = Box::new(Classifier::new(FrameClass::from(default)));
    let deadlines = deadlines(protect);
    for rule in &protect.classes {
        let class = match rule.service {
            ClassService::Mode(mode) => mode.mode().map(FrameClass::from),
            // Such frames do not wait behind those of the default mode.
            ClassService::Deadline(Span(deadline)) => {
                let place = deadlines.iter().position(|known| *known == deadline);
                Some(FrameClass { mode: default.other(), deadline: place.map(|place| place as u8) })
            }
        };
        let Some(class) = class else { continue };
        match rule.field {
            ClassField::Pcp(pcp) => classifier.set_pcp(pcp, class),
            ClassField::Dscp(dscp) => classifier.set_dscp(dscp, class),
        };
    }
    let copies = match protect.copies {
        Some(copies) => Copies::Fixed(copies),
        None => Copies::Target {
            target_loss: protect.target.unwrap_or(TARGET_LOSS_DEFAULT).0,
            initial_loss: protect.loss.unwrap_or(INITIAL_LOSS_DEFAULT).0,
        },
    };
    Some(ProtectionSettings { classifier, deadlines, copies })
}

/// The deadlines of the classes, each once.
fn deadlines(protect: &ProtectConfig) -> Vec<Duration> {
    let mut deadlines: Vec<Duration> = Vec::new();
    for rule in &protect.classes {
        if let ClassService::Deadline(Span(deadline)) = rule.service
            && !deadlines.contains(&deadline)
        {
            deadlines.push(deadline);
        }
    }
    deadlines
}

/// Checks what can be checked without a device. For a running link, pass the transparent format; the loop checks
/// the modes against the actual one.
///
/// # Errors
/// The key and the problem.
pub(crate) fn validate_protection(
    protect: &ProtectConfig,
    format: HeaderFormat,
) -> Result<(), (&'static str, Problem)> {
    if let Some(copies) = protect.copies {
        if !(1..=16).contains(&copies) {
            return Err(Problem::value("protect.copies", copies, "the number of copies is 1 to 16"));
        }
        for (key, set) in [("protect.target", protect.target), ("protect.loss", protect.loss)] {
            if set.is_some() {
                return Err((key, Problem::BesideCopies));
            }
        }
    }
    if let Some(rate) = protect.target.map(|rate| rate.0)
        && !(rate > 0.0 && rate < 1.0)
    {
        let requirement = "must be above 0 and below 1, or no number of copies reaches it";
        return Err(Problem::value("protect.target", rate, requirement));
    }
    if let Some(rate) = protect.loss.map(|rate| rate.0)
        && !(0.0..1.0).contains(&rate)
    {
        let requirement = "must be below 1; a link that loses everything cannot be protected";
        return Err(Problem::value("protect.loss", rate, requirement));
    }
    for (index, rule) in protect.classes.iter().enumerate() {
        if protect.classes[..index].iter().any(|earlier| earlier.field == rule.field) {
            return Err(("protect.classes", Problem::ClassTwice { field: rule.field }));
        }
    }
    let count = deadlines(protect).len();
    if count > CLASSES_MAX {
        let requirement = format!("different deadlines are too many; a link has at most {CLASSES_MAX}");
        return Err(Problem::value("protect.classes", count, requirement));
    }
    let is_other = |service| service != ClassService::Mode(protect.mode);
    let two_modes =
        protect.mode != ProtectMode::Off && protect.classes.iter().any(|rule| is_other(rule.service));
    if format != HeaderFormat::Transparent && two_modes {
        return Err(("protect.classes", Problem::OneMode { format: format.into() }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::Mode;

    #[test]
    fn the_default_is_the_engines() {
        assert_eq!(protection(&ProtectConfig::default()), Some(ProtectionSettings::new(Mode::Ordered)));
        let off = ProtectConfig { mode: ProtectMode::Off, ..ProtectConfig::default() };
        assert_eq!(protection(&off), None);
    }

    #[test]
    fn classes_reach_the_classifier() {
        let config = ProtectConfig {
            classes: vec!["dscp=46:non-blocking".parse().expect("a class")],
            copies: Some(3),
            ..ProtectConfig::default()
        };
        let settings = protection(&config).expect("on");
        assert!(settings.uses_both_modes());
        assert_eq!(settings.copies, Copies::Fixed(3));
        let classes =
            ["dscp=46:150ms", "dscp=34:20ms", "pcp=5:150ms"].map(|text| text.parse().expect("a class"));
        let config = ProtectConfig { classes: classes.into(), ..ProtectConfig::default() };
        let settings = protection(&config).expect("on");
        assert_eq!(settings.deadlines, [150, 20].map(Duration::from_millis));
        let of_voice = FrameClass { mode: Mode::NonBlocking, deadline: Some(0) };
        assert_eq!(settings.classifier.classes().filter(|class| *class == of_voice).count(), 2);
    }
}
