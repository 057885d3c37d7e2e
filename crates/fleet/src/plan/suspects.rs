//! Which of the reported links are to be decided about: those that corrupt frames, and not those that pass them on.

use super::{Action, PlanSettings, PlannedLink, ReportedLink, Surroundings};
use crate::attribution::{Attribution, Counted, Counts, Culprit, Verdict, attribute};
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// A reported link, once it is known where its corrupted frames come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Suspect {
    pub link: LinkId,
    pub loss_rate: Option<f64>,
    pub disabled: bool,
    /// Where its corrupted frames may come from as well. It must then stay in operation.
    pub doubt: Option<Culprit>,
}

/// A link that only passes on what a source has corrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Victim {
    pub link: LinkId,
    pub loss_rate: f64,
    pub source: Culprit,
}

impl From<Victim> for PlannedLink {
    fn from(victim: Victim) -> PlannedLink {
        let Victim { link, loss_rate, source } = victim;
        PlannedLink {
            link,
            loss_rate: Some(loss_rate),
            action: Action::Downstream(source),
            objective_value: 0.0,
            upstream: Some(source),
        }
    }
}

/// Tells suspects and victims apart. If a link was reported several times with the same receiver, the last report counts.
///
/// A disabled link may have fed others until a moment ago, so that it is a possible source as long as its loss rate is
/// reported.
pub(super) fn tell_apart(
    topology: &Topology,
    reported: &[ReportedLink],
    surroundings: Surroundings,
    settings: &PlanSettings,
) -> (Vec<Suspect>, Vec<Victim>) {
    let latest: BTreeMap<(LinkId, Option<SwitchId>), &ReportedLink> =
        reported.iter().map(|reported| ((reported.link, reported.receiver), reported)).collect();
    let counted = |reported: &&ReportedLink| {
        let ReportedLink { link, receiver, loss_rate, .. } = **reported;
        loss_rate.filter(|&loss_rate| loss_rate > 0.0).map(|loss_rate| Counted { link, loss_rate, receiver })
    };
    let disabled: BTreeSet<LinkId> =
        latest.values().filter(|reported| reported.disabled).map(|reported| reported.link).collect();
    let links = latest.values().filter_map(counted).collect();
    let reported_from = settings.target_loss;
    let Surroundings { entering, unjudged } = surroundings;
    let counts = Counts { links, entering, disabled: disabled.clone(), unjudged, reported_from };
    let mut attributed = attribute(topology, &counts);
    if settings.store_and_forward {
        attributed.values_mut().for_each(|attribution| attribution.verdict = Verdict::Source);
    }
    let links: BTreeSet<LinkId> = latest.keys().map(|(link, _)| *link).collect();
    let (mut suspects, mut victims) = (Vec::new(), Vec::new());
    for link in links {
        let disabled = disabled.contains(&link);
        let (verdict, loss_rate) = match attributed.get(&link) {
            Some(Attribution { verdict, loss_rate }) => (*verdict, Some(*loss_rate)),
            None => (Verdict::Source, latest.values().find(|of| of.link == link).and_then(|of| of.loss_rate)),
        };
        match (verdict, loss_rate) {
            (Verdict::Downstream(source), Some(loss_rate)) if !disabled => {
                victims.push(Victim { link, loss_rate, source });
            }
            (Verdict::Uncertain(origin), _) => {
                suspects.push(Suspect { link, loss_rate, disabled, doubt: Some(origin) });
            }
            _ => suspects.push(Suspect { link, loss_rate, disabled, doubt: None }),
        }
    }
    (suspects, victims)
}
