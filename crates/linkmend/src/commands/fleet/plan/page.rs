//! The plan as a page, with every pod drawn that something is done in.

use super::{drawing, tables};
use linkmend_fleet::plan::{Plan, PlannedLink, ZoneLeft};
use linkmend_report::{Report, Section, Tone, quantity};
use std::path::Path;

/// Pods that are drawn at most.
const MAX_PODS: usize = 60;

/// The page.
pub fn page(plan: &Plan, file: &Path) -> Report {
    let mut report = Report::new("linkmend fleet plan")
        .subtitle("What to do today about links that corrupt, and what that leaves.")
        .fact("Network", plan.topology().to_string())
        .fact("Links", file.display().to_string())
        .fact("Paths kept", quantity::percent(plan.settings().constraint))
        .fact("Target", quantity::loss_rate(plan.settings().target_loss))
        .fact("Version", env!("CARGO_PKG_VERSION"));
    report = headlines(plan, report);
    report = report
        .section(Section::new("What to do").table(tables::actions(plan)))
        .section(Section::new("Repairs").table(tables::repairs(plan)))
        .section(Section::new("What is left").table(tables::pods(plan)).table(tables::tors(plan)));
    let pods: Vec<ZoneLeft> = plan.touched_zones().into_iter().filter(|zone| zone.reported > 0).collect();
    for zone in pods.iter().take(MAX_PODS) {
        report = report.section(pod(plan, zone));
    }
    if let Some(more) = pods.len().checked_sub(MAX_PODS).filter(|&more| more > 0) {
        let text = format!(
            "{} more pods have links that corrupt or are disabled. They are less severe and not drawn; the tables have them.",
            quantity::count(more as f64)
        );
        report = report.section(Section::new("More pods").prose(text));
    }
    report
}

fn headlines(plan: &Plan, report: Report) -> Report {
    let (before, after) = (plan.totals_before(), plan.totals_after());
    let newly = after.disabled - before.disabled;
    let left = plan.links().filter(|link| link.action.name() == "leave").count();
    let short = if before.short_tors == 0 { Tone::Good } else { Tone::Bad };
    report
        .headline(
            "Loss left",
            quantity::loss_rate(after.effective_penalty),
            format!("sum over links; {} today", quantity::loss_rate(before.penalty)),
            Tone::Plain,
        )
        .headline(
            "Disable",
            newly.to_string(),
            format!("links, besides {} before", before.disabled),
            Tone::Plain,
        )
        .headline("Protect", after.protected.to_string(), "links", Tone::Plain)
        .headline(
            "Left unprotected",
            left.to_string(),
            "links above the target",
            if left == 0 { Tone::Good } else { Tone::Bad },
        )
        .headline("ToRs short", before.short_tors.to_string(), "of paths, already today", short)
}

/// A pod: its picture, and what is said of its links.
fn pod(plan: &Plan, zone: &ZoneLeft) -> Section {
    let topology = plan.topology();
    let links: Vec<&PlannedLink> =
        plan.by_urgency().into_iter().filter(|planned| topology.zone_of(planned.link) == zone.zone).collect();
    let explanations: Vec<String> = links
        .iter()
        .filter_map(|planned| plan.explain(planned.link))
        .map(|explanation| format!("- {} {}", explanation.verdict, explanation.reasons.join(" ")))
        .collect();
    let section = Section::new(topology.names().zone(zone.zone)).plot(drawing::pod(plan, zone));
    section.prose(explanations.join("\n"))
}
