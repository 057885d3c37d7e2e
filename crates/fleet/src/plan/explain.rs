//! Why the plan treats a link as it does, in words and numbers.

use super::counterfactual::{Alternative, Blocking, BlockingTor, Lacks};
use super::{Action, Mode, Plan, PlannedLink, Protection, ProtectionObstacle, culprit_name};
use crate::attribution::Culprit;
use crate::constraint::percent;
use crate::network::tors_below;
use crate::optimizer::Objective;
use linkmend_quantity::LossRate;
use linkmend_topology::LinkId;

/// How many links a sentence names before it counts the others.
const MAX_NAMED: usize = 6;

/// Why the plan treats a link as it does.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Explanation {
    /// The link and what to do about it.
    pub verdict: String,
    /// The reasons, one paragraph each.
    pub reasons: Vec<String>,
}

impl Plan<'_> {
    /// Explains the plan for a link; `None` for a link that was not reported.
    pub fn explain(&self, link: LinkId) -> Option<Explanation> {
        let planned = self.link(link)?;
        let mut reasons = match planned.action {
            Action::Disable => [self.price(link), self.why_disabled(planned)]
                .into_iter()
                .chain(self.why_it_costs_nothing(link))
                .collect(),
            Action::KeepDisabled => vec![
                "It was disabled before and stays disabled until it is repaired; the plan makes no decision \
                 about it today."
                    .to_owned(),
                self.repair_benefit(link),
            ],
            Action::Protect(protection) => self.how_protected(&protection),
            Action::Leave(obstacle) => vec![self.why_not_protected(obstacle)],
            Action::Watch => vec![self.why_watched(planned)],
            Action::Downstream(source) => vec![self.why_healthy(source)],
        };
        if matches!(planned.action, Action::Protect(_) | Action::Leave(_)) {
            let why = planned.upstream.map(|origin| self.why_held(origin));
            reasons.insert(0, why.unwrap_or_else(|| self.why_not_disabled(planned)));
        }
        Some(Explanation { verdict: self.verdict(planned), reasons })
    }

    fn verdict(&self, planned: &PlannedLink) -> String {
        let loss = planned
            .loss_rate
            .map_or_else(|| "loss rate unknown".to_owned(), |loss_rate| format!("loses {}", rate(loss_rate)));
        let action = match planned.action {
            Action::Protect(Protection { mode, copies, .. }) => {
                format!("protect, {}, {}", mode.name(), counted(copies.into(), "copy", "copies"))
            }
            Action::Leave(_) => "leave unprotected".to_owned(),
            Action::Downstream(source) => format!("downstream of {}", culprit_name(self.topology, source)),
            action => action.name().to_owned(),
        };
        let topology = self.topology;
        let name = topology.names().link(planned.link);
        // A generated network has numbers for names.
        let ends = if topology.names().has_links() {
            topology.ends_beside_label(planned.link)
        } else {
            Some(topology.ends_of(planned.link))
        };
        let between = ends.map_or_else(String::new, |ends| format!(", {ends}"));
        format!("Link {name}{between} ({loss}): {action}.")
    }

    /// What disabling a link costs its ToRs and its pod.
    fn price(&self, link: LinkId) -> String {
        let zone = self.topology.zone_of(link);
        let (clean, after) = (&self.clean, &self.carried_out);
        let below = tors_below(self.topology, clean, link);
        let worst = below.iter().map(|&tor| self.tor(tor));
        let worst = worst.min_by(|one, other| one.spare().total_cmp(&other.spare()));
        let paths = worst.map_or_else(String::new, |tor| {
            let whose = match below.len() {
                1 => String::new(),
                many => format!(", which is the closest to its limit of the {many} ToRs below the link,"),
            };
            format!(
                "With the whole plan {}{whose} has {} and must keep {}; ",
                self.topology.names().switch(tor.tor),
                tor.left(),
                tor.must_keep()
            )
        });
        format!(
            "{paths}{} has {} of {} Gb/s.",
            self.topology.names().zone(zone),
            hundredths(after.zone_capacity(zone) as f64 / 1e9),
            hundredths(clean.zone_capacity(zone) as f64 / 1e9)
        )
    }

    fn why_disabled(&self, planned: &PlannedLink) -> String {
        let kept = self.alternative_kept(planned.link);
        let zone = self.part_around(planned.link);
        let more: Vec<LinkId> =
            kept.disable.iter().copied().filter(|&link| !self.after.is_disabled(link)).collect();
        let here = self.objective_around(planned.link);
        let margin = if nearly_equal(kept.objective, here) && kept.objective > here {
            format!(", a difference of only {}", rate(kept.objective - here))
        } else {
            String::new()
        };
        let instead = if more.is_empty() {
            "no other link could be disabled instead".to_owned()
        } else {
            format!("{} could be disabled instead", self.listed(&more))
        };
        format!(
            "If it were kept in operation, {instead}, and the objective of {zone} would be {} instead of \
             {}{margin}; the link itself contributes {} ({}).",
            rate(kept.objective),
            rate(here),
            rate(planned.objective_value),
            self.meaning()
        )
    }

    /// Explains why a link is disabled although a ToR below it may already have too few paths.
    fn why_it_costs_nothing(&self, link: LinkId) -> Option<String> {
        let upper = self.topology.link(link).upper;
        (self.after.paths().count(upper) == 0).then(|| {
            format!(
                "No remaining path crosses it: {} has no active uplink, so disabling it costs no ToR any paths.",
                self.topology.names().switch(upper)
            )
        })
    }

    fn why_not_disabled(&self, planned: &PlannedLink) -> String {
        let link = planned.link;
        if self.topology.is_peer(link) {
            return "It connects two switches of the same layer, which may depend on it although it is on no path \
                    of a ToR, so it is never disabled."
                .to_owned();
        }
        let Some(alternative) = self.alternative_disabled(link) else {
            let must = self.blocked(link, true).map_or_else(String::new, |blocked| self.limit(&blocked));
            return format!("It must not be disabled, whatever else is done: {must}.");
        };
        let Some(blocked) = self.blocked(link, false) else {
            // The optimizer leaves nothing that could still be disabled, unless its search was cut short.
            return "The search was cut short before it tried to disable this link.".to_owned();
        };
        let (old, new) = self.disabled_above(&blocked);
        let whose = if let Blocking::Tor(_) = blocked { "its" } else { "their" };
        let mut text = format!("It must not be disabled: {}", self.limit(&blocked));
        if !old.is_empty() {
            text +=
                &format!("; of {whose} links, {} {} disabled before", self.listed(&old), was_or_were(&old));
        }
        if !new.is_empty() {
            text += &format!("; {} {} disabled instead", self.listed_with_badness(&new), is_or_are(&new));
        }
        text + &format!(". {}", self.comparison(planned, &alternative, &new))
    }

    /// Why the plan is better than one that disables this link. `named` are the links that the text has just named.
    fn comparison(&self, planned: &PlannedLink, alternative: &Alternative, named: &[LinkId]) -> String {
        let zone = self.part_around(planned.link);
        let here = self.objective_around(planned.link);
        let spared: Vec<LinkId> = self
            .links
            .values()
            .filter(|other| {
                other.action == Action::Disable
                    && self.is_around(other.link, planned.link)
                    && !alternative.disable.contains(&other.link)
            })
            .map(|other| other.link)
            .collect();
        let stays = if spared.is_empty() {
            "no other link would stay in operation".to_owned()
        } else if spared == named {
            format!("{} would stay in operation", if named.len() == 1 { "that" } else { "those" })
        } else {
            format!("{} would stay in operation", self.listed_with_badness(&spared))
        };
        let verdict = match alternative.objective - here {
            more if more > 0.0 && nearly_equal(alternative.objective, here) => {
                format!("which is worse, but only by {}", rate(more))
            }
            more if more > 0.0 => "which is worse".to_owned(),
            _ => "which is no better".to_owned(),
        };
        format!(
            "This link contributes {}; if it were disabled, {stays}, and the objective of {zone} would be {} \
             instead of {}, {verdict} ({}).",
            rate(planned.objective_value),
            rate(alternative.objective),
            rate(here),
            self.meaning()
        )
    }

    fn limit(&self, blocked: &Blocking) -> String {
        let BlockingTor { tor, lacks } = match *blocked {
            Blocking::Tor(tor) => tor,
            Blocking::Pair(one, other) => {
                let [one, other] = [one, other].map(|tor| self.topology.names().switch(tor));
                return format!("{one} and {other} could no longer reach each other");
            }
        };
        let name = self.topology.names().switch(tor);
        let installed = self.clean.paths().count(tor);
        match lacks {
            Lacks::Paths { paths, without, required } if paths < required => format!(
                "{name} has {paths} of {installed} paths, fewer than the {required} that it must keep, and \
                 would have {without}"
            ),
            Lacks::Paths { without, required, .. } => {
                format!("{name} would keep {without} of {installed} paths, but must keep {required}")
            }
            Lacks::Capacity { without, required } => {
                let [without, required] = [without, required].map(percent);
                format!("{name} would keep {without} of its capacity, but must keep {required}")
            }
        }
    }

    fn why_held(&self, origin: Culprit) -> String {
        if let Culprit::Unjudged(_) = origin {
            return format!(
                "It must not be disabled, because it may be healthy: it is not known at the moment whether {} \
                 corrupts frames, and that link may be the source if the switches in between are cut-through.",
                culprit_name(self.topology, origin)
            );
        }
        format!(
            "It must not be disabled, because it may be healthy: {} counts enough corrupted frames to be their \
             source, if the switches in between are cut-through. The counters of its sibling links suggest \
             otherwise.",
            culprit_name(self.topology, origin)
        )
    }

    fn why_healthy(&self, source: Culprit) -> String {
        format!(
            "It forwards frames that {} has corrupted, as cut-through switches do. Disabling or protecting it \
             would not help. If it still counts corrupted frames after that link has been repaired, it corrupts \
             frames itself.",
            culprit_name(self.topology, source)
        )
    }

    fn how_protected(&self, protection: &Protection) -> Vec<String> {
        let Protection { mode, copies, expected_loss_rate, measured, capacity, ordered_capacity, .. } =
            *protection;
        let target = self.settings.target_loss;
        let mut reasons = vec![match mode {
            Mode::Ordered => format!(
                "Ordered mode leaves {} of the capacity, at least the required {}.",
                percent(capacity),
                percent(self.settings.min_capacity)
            ),
            Mode::NonBlocking => format!(
                "Ordered mode would leave {} of the capacity, less than the required {}; without ordering there \
                 are no pauses and only the copies cost capacity, so {} remains.",
                percent(ordered_capacity),
                percent(self.settings.min_capacity),
                percent(capacity)
            ),
        }];
        reasons.push(format!(
            "{} of each lost frame (Equation 2) should reduce the loss rate to {} (Equation 1), for a target of \
             {}; {} was measured at {}, the closest loss rate in the protection table.",
            capitalised(&counted(copies.into(), "copy", "copies")),
            rate(expected_loss_rate),
            rate(target),
            rate(measured.effective_loss_rate),
            rate(measured.loss_rate)
        ));
        if protection.misses(target) {
            reasons.push(
                "No more copies than that are sent, so the target is missed: of the links that stay in \
                 operation, repair this one first."
                    .to_owned(),
            );
        }
        reasons
    }

    fn why_not_protected(&self, obstacle: ProtectionObstacle) -> String {
        let name = |switch| self.topology.names().switch(switch);
        match obstacle {
            ProtectionObstacle::NotUpgraded => {
                "It should be protected, but a switch at one of its ends does not support this.".to_owned()
            }
            ProtectionObstacle::PipeFull { switch, limit } => format!(
                "It should be protected, but a pipe of {} already protects its limit of {limit}, and those links \
                 have higher loss rates.",
                name(switch)
            ),
            ProtectionObstacle::SwitchFull { switch, limit } => format!(
                "It should be protected, but {} already protects its limit of {limit}, and those links have \
                 higher loss rates.",
                name(switch)
            ),
        }
    }

    fn why_watched(&self, planned: &PlannedLink) -> String {
        format!(
            "Its loss rate of {} is not above the target of {}, so protection would not improve it, and \
             disabling it would needlessly cost paths. Check again when the rate rises.",
            rate(planned.loss_rate.unwrap_or(0.0)),
            rate(self.settings.target_loss)
        )
    }

    fn repair_benefit(&self, link: LinkId) -> String {
        let repairs = self.repairs();
        let Some(repair) = repairs.iter().find(|repair| repair.link == link) else {
            return "It is not in the list of repairs.".to_owned();
        };
        let mut gains = Vec::new();
        if repair.shortage_ended > 0 {
            gains.push(format!("ends a shortage of {}", counted(repair.shortage_ended, "path", "paths")));
        }
        if repair.ends_capacity_shortage {
            gains.push("ends a shortage of capacity".to_owned());
        }
        if !repair.then_disable.is_empty() {
            let others = self.listed(&repair.then_disable);
            gains.push(format!(
                "allows {others} to be disabled, which spares {}",
                rate(repair.objective_gain)
            ));
        }
        if let Some(tor) = repair.worst_tor.filter(|_| repair.paths_regained > 0) {
            let name = self.topology.names().switch(tor);
            let paths = counted(repair.paths_regained, "path", "paths");
            gains.push(format!("gives {name} {paths} back"));
        }
        let gains = match &gains[..] {
            [] => "changes no ToR's paths".to_owned(),
            [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
            _ => gains.join(""),
        };
        format!("It is number {} of {} to repair: its repair {gains}.", repair.rank, repairs.len())
    }

    /// The meaning of the objective, as the end of a sentence.
    fn meaning(&self) -> String {
        match self.settings.objective {
            Objective::Penalty => "the objective is the loss rate on the wire".to_owned(),
            Objective::Effective { capacity_weight } => format!(
                "the objective is the loss rate that remains with protection, plus {} times the share of \
                 capacity that ordered mode costs",
                rate(capacity_weight)
            ),
        }
    }

    fn listed(&self, links: &[LinkId]) -> String {
        self.list(links, |link| self.topology.full_label(link))
    }

    fn listed_with_badness(&self, links: &[LinkId]) -> String {
        let objective_value = |link: LinkId| self.link(link).map_or(0.0, |link| link.objective_value);
        let list = self.list(links, |link| {
            format!("{} (contributes {})", self.topology.full_label(link), rate(objective_value(link)))
        });
        if links.len() < 2 {
            return list;
        }
        format!("{list}, together {},", rate(links.iter().map(|&link| objective_value(link)).sum()))
    }

    fn list(&self, links: &[LinkId], name: impl Fn(LinkId) -> String) -> String {
        let named: Vec<String> = links.iter().take(MAX_NAMED).map(|&link| name(link)).collect();
        match links.len().saturating_sub(MAX_NAMED) {
            0 => match &named[..] {
                [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
                _ => named.join(""),
            },
            others => format!("{} and {others} others", named.join(", ")),
        }
    }
}

fn was_or_were(links: &[LinkId]) -> &'static str {
    if links.len() == 1 { "was" } else { "were" }
}

fn is_or_are(links: &[LinkId]) -> &'static str {
    if links.len() == 1 { "is" } else { "are" }
}

/// A loss rate with at most three digits.
fn rate(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    LossRate(rounded).to_string()
}

/// A number with at most two decimals.
fn hundredths(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether two numbers look the same once they are rounded to three digits.
fn nearly_equal(one: f64, other: f64) -> bool {
    (one - other).abs() < 5e-3 * one.abs().max(other.abs())
}

fn counted(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("one {one}") } else { format!("{number} {many}") }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
