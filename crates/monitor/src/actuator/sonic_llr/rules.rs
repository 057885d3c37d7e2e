//! What may be done at a port, as a function of what its switch has in its databases.
//!
//! What corruptd has written is remembered beside it ([`Kept`]). Only as long as the configuration still is what was written, it is
//! taken back. Whatever differs was written by somebody else since, and is left alone.

use super::profile::Fields;
use crate::actuator::End;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const MODE: &str = "llr_mode";
const SWITCHES: [&str; 2] = ["llr_local", "llr_remote"];
const PROFILE: &str = "llr_profile";
const STATIC: &str = "static";
const ENABLED: &str = "enabled";

/// What was done at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Kept {
    /// For which directions of the link. LLR of a port is on or off for both.
    pub ends: BTreeSet<End>,
    /// What the port's entry was; `None` if there was none.
    pub before: Option<Fields>,
    pub wrote: Fields,
    /// The profile that was written for it or another port of this switch.
    pub profile: Option<(String, Fields)>,
    /// What the peer had answered until then, if that is counted.
    pub answers: Option<u64>,
}

/// A port as its switch has it.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// `LLR_PORT` in CONFIG_DB; empty if there is none.
    pub entry: Fields,
    pub kept: Option<Kept>,
    /// All that was done at this switch, by port.
    pub others: BTreeMap<String, Kept>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// LLR is as it should be. Whether somebody else has switched it on.
    On { by_others: bool },
    /// It is not on, and should not be.
    Off,
    /// Switch it on with this profile, or the one to be chosen.
    SwitchOn { profile: Option<String> },
    /// Remember the directions that need it.
    Remember(Kept),
    /// Put back what was there.
    Restore(Kept),
    /// Somebody else has changed it since. Forget that it was ever switched here.
    Forget,
}

/// Whether an entry switches LLR on.
pub(super) fn is_on(entry: &Fields) -> bool {
    let is_static = entry.get(MODE).is_none_or(|mode| mode == STATIC);
    is_static && SWITCHES.iter().all(|switch| entry.get(*switch).is_some_and(|value| value == ENABLED))
}

/// The entry that switches LLR on with this profile, and otherwise is as it was.
pub(super) fn switched_on(entry: &Fields, profile: &str) -> Fields {
    let mut entry = entry.clone();
    entry.insert(MODE.to_owned(), STATIC.to_owned());
    entry.insert(PROFILE.to_owned(), profile.to_owned());
    entry.extend(SWITCHES.map(|switch| (switch.to_owned(), ENABLED.to_owned())));
    entry
}

/// The next thing to do so that LLR is on at a port for one direction of its link, or no longer. At most `ports_most` have it on
/// because of this.
///
/// # Errors
/// Why it must not be switched on, for people.
pub(super) fn step(found: &Found, end: End, wanted: bool, ports_most: usize) -> Result<Step, String> {
    match &found.kept {
        Some(kept) if found.entry != kept.wrote => return Ok(Step::Forget),
        Some(kept) => {
            let mut ends = kept.ends.clone();
            let changed = if wanted { ends.insert(end) } else { ends.remove(&end) };
            return Ok(match (changed, ends.is_empty()) {
                (_, true) => Step::Restore(kept.clone()),
                (true, false) => Step::Remember(Kept { ends, ..kept.clone() }),
                (false, false) if wanted => Step::On { by_others: false },
                (false, false) => Step::Off,
            });
        }
        None if !wanted => return Ok(Step::Off),
        None => {}
    }
    if is_on(&found.entry) {
        return Ok(Step::On { by_others: true });
    }
    if let Some(mode) = found.entry.get(MODE).filter(|mode| *mode != STATIC) {
        return Err(format!("LLR_PORT has llr_mode {mode}, so that LLR is not configured here"));
    }
    if let Some(switch) = SWITCHES.iter().find(|switch| found.entry.contains_key(**switch)) {
        let value = &found.entry[*switch];
        return Err(format!(
            "LLR_PORT has {switch} {value}, which somebody has set; delete its switches to leave LLR to corruptd"
        ));
    }
    if found.others.len() >= ports_most {
        return Err(format!(
            "corruptd has switched LLR on at {} ports, and may at {ports_most} (llr-ports)",
            found.others.len()
        ));
    }
    Ok(Step::SwitchOn { profile: found.entry.get(PROFILE).cloned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use End::{Receives, Sends};

    fn entry(fields: &[(&str, &str)]) -> Fields {
        fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
    }

    fn kept(before: Option<Fields>, ends: &[End]) -> Kept {
        let wrote = switched_on(&before.clone().unwrap_or_default(), "linkmend_400000_40m");
        Kept { ends: ends.iter().copied().collect(), before, wrote, profile: None, answers: None }
    }

    fn found(entry: Fields, kept: Option<Kept>) -> Found {
        Found { entry, kept, others: BTreeMap::new() }
    }

    #[test]
    fn a_port_that_nobody_has_configured_is_switched_on_once_and_off_after_its_last_direction() {
        let off = found(Fields::new(), None);
        assert_eq!(step(&off, Sends, true, 1), Ok(Step::SwitchOn { profile: None }));
        assert_eq!(step(&off, Sends, false, 1), Ok(Step::Off));
        let ours = kept(None, &[Sends]);
        let on = found(ours.wrote.clone(), Some(ours.clone()));
        assert!(is_on(&on.entry));
        assert_eq!(step(&on, Sends, true, 1), Ok(Step::On { by_others: false }));
        let both = kept(None, &[Sends, Receives]);
        assert_eq!(step(&on, Receives, true, 1), Ok(Step::Remember(both.clone())));
        assert_eq!(step(&on, Receives, false, 1), Ok(Step::Off), "which leaves it on for the other one");
        let on = found(both.wrote.clone(), Some(both));
        assert_eq!(step(&on, Sends, false, 1), Ok(Step::Remember(kept(None, &[Receives]))));
        let last = found(ours.wrote.clone(), Some(ours.clone()));
        assert_eq!(step(&last, Sends, false, 1), Ok(Step::Restore(ours)));
    }

    #[test]
    fn what_somebody_else_has_set_is_left_alone() {
        let refused =
            |fields: &[(&str, &str)]| step(&found(entry(fields), None), Sends, true, 9).expect_err("refused");
        assert!(refused(&[("llr_mode", "dynamic")]).contains("llr_mode dynamic"));
        assert!(refused(&[("llr_local", "disabled")]).contains("llr_local disabled, which somebody has set"));
        let half = [("llr_mode", "static"), ("llr_local", "enabled"), ("llr_remote", "disabled")];
        assert!(refused(&half).contains("llr_local enabled, which somebody has set"));
        let on = entry(&[("llr_local", "enabled"), ("llr_remote", "enabled"), ("llr_profile", "mine")]);
        assert_eq!(step(&found(on.clone(), None), Sends, true, 9), Ok(Step::On { by_others: true }));
        assert_eq!(step(&found(on.clone(), None), Sends, false, 9), Ok(Step::Off));
        // Their profile is theirs to choose.
        let profile = found(entry(&[("llr_profile", "mine")]), None);
        assert_eq!(step(&profile, Sends, true, 9), Ok(Step::SwitchOn { profile: Some("mine".to_owned()) }));
        // What has changed since it was switched on is not taken back.
        for changed in [Fields::new(), on, entry(&[("llr_local", "disabled")])] {
            for wanted in [true, false] {
                let found = found(changed.clone(), Some(kept(None, &[Sends])));
                assert_eq!(step(&found, Sends, wanted, 9), Ok(Step::Forget));
            }
        }
    }

    #[test]
    fn no_more_ports_than_may_be_are_switched_on() {
        let others =
            |count: usize| (0..count).map(|port| (format!("Ethernet{port}"), kept(None, &[Sends]))).collect();
        let at = |count| Found { others: others(count), ..Found::default() };
        assert!(matches!(step(&at(7), Sends, true, 8), Ok(Step::SwitchOn { .. })));
        assert!(step(&at(8), Sends, true, 8).expect_err("refused").contains("at 8 ports, and may at 8"));
        // Those that are on stay on, and can be switched off.
        let ours = kept(None, &[Sends]);
        let on = Found { others: others(9), ..found(ours.wrote.clone(), Some(ours.clone())) };
        assert_eq!(step(&on, Sends, true, 8), Ok(Step::On { by_others: false }));
        assert_eq!(step(&on, Sends, false, 8), Ok(Step::Restore(ours)));
    }
}
