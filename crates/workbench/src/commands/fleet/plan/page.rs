//! The plan as a page. Every pod in which the plan does something is drawn.

use super::{PlanArgs, drawing, tables};
use linkmend_fleet::plan::{Plan, PlannedLink, ZoneAfterPlan};
use linkmend_report::{Report, Section, Tone, quantity};

/// The largest number of pods that are drawn.
const MAX_PODS: usize = 60;
/// The largest number of links of a pod that are explained. Each explanation takes another search for the best choice,
/// which may take seconds among hundreds of links of one pod.
const MAX_EXPLAINED: usize = 20;

/// Renders the page.
pub fn page(plan: &Plan, arguments: &PlanArgs) -> Report {
    let mut report = Report::new("linkmend fleet plan")
        .subtitle("Which links to disable, protect and repair today, and the resulting network.");
    for (name, value) in facts(plan, arguments) {
        report = report.fact(name, value);
    }
    report = headlines(plan, report).section(Section::new("What to do").table(tables::actions(plan)));
    let repairs = tables::repairs(plan);
    if !repairs.is_empty() {
        report = report.section(Section::new("Repairs").table(repairs));
    }
    let left = [tables::pods(plan, usize::MAX), tables::tors(plan, usize::MAX)];
    if left.iter().any(|table| !table.is_empty()) {
        let tables = left.into_iter().filter(|table| !table.is_empty());
        report = report.section(tables.fold(Section::new("Resulting network"), Section::table));
    }
    let pods: Vec<ZoneAfterPlan> =
        plan.affected_zones().into_iter().filter(|zone| zone.reported > 0).collect();
    for zone in pods.iter().take(MAX_PODS) {
        report = report.section(pod(plan, zone));
    }
    if let Some(more) = pods.len().checked_sub(MAX_PODS).filter(|&more| more > 0) {
        let text = format!(
            "{} more pods have links that corrupt frames or are disabled. They are less severe and not \
             drawn; see the tables.",
            quantity::count(more as f64)
        );
        report = report.section(Section::new("More pods").prose(text));
    }
    report
}

/// The settings of the plan that differ from the defaults.
fn facts(plan: &Plan, arguments: &PlanArgs) -> Vec<(&'static str, String)> {
    let limit = |limit: u32| quantity::count(limit.into());
    let settings = plan.settings();
    let mut facts = vec![
        ("Network", tables::network(plan)),
        ("Links", arguments.source()),
        ("Every ToR keeps", settings.constraint.phrase()),
        ("Target loss rate", quantity::loss_rate(settings.target_loss)),
        ("Protection table", arguments.protection.clone()),
    ];
    facts.extend(arguments.upgraded.written().map(|list| ("Upgraded switches", list.to_owned())));
    facts.extend(settings.limits.per_pipe.map(|most| ("Protected per pipe, at most", limit(most))));
    facts.extend(settings.limits.per_switch.map(|most| ("Protected per switch, at most", limit(most))));
    facts.push(("Version", env!("CARGO_PKG_VERSION").to_owned()));
    facts
}

fn headlines(plan: &Plan, report: Report) -> Report {
    let (before, after) = (plan.totals_before(), plan.totals_after());
    let newly = after.disabled - before.disabled;
    let left = plan.links().filter(|link| link.action.name() == "leave").count();
    let short = if before.short_tors == 0 { Tone::Good } else { Tone::Bad };
    report
        .headline(
            "Loss rates, sum",
            quantity::loss_rate(after.effective_penalty),
            format!("with this plan; {} today", quantity::loss_rate(before.penalty)),
            Tone::Plain,
        )
        .headline(
            "Disable",
            newly.to_string(),
            format!("links now; {} disabled before", before.disabled),
            Tone::Plain,
        )
        .headline("Protect", after.protected.to_string(), "links now", Tone::Plain)
        .headline(
            "Left unprotected",
            left.to_string(),
            "links that lose more than the target",
            if left == 0 { Tone::Good } else { Tone::Bad },
        )
        .headline(
            "ToRs short of paths or capacity",
            before.short_tors.to_string(),
            "today, before anything is done",
            short,
        )
}

/// A pod: its drawing, and the explanations of its links.
fn pod(plan: &Plan, zone: &ZoneAfterPlan) -> Section {
    let topology = plan.topology();
    let links: Vec<&PlannedLink> =
        plan.by_urgency().into_iter().filter(|planned| topology.zone_of(planned.link) == zone.zone).collect();
    let mut explanations: Vec<String> = links
        .iter()
        .take(MAX_EXPLAINED)
        .filter_map(|planned| plan.explain(planned.link))
        .map(|explanation| format!("- {} {}", explanation.verdict, explanation.reasons.join(" ")))
        .collect();
    if let Some(more) = links.len().checked_sub(MAX_EXPLAINED).filter(|&more| more > 0) {
        explanations.push(format!("\n{} more: use `--explain LINK`.", quantity::count(more as f64)));
    }
    Section::new(drawing::pod_name(plan, zone.zone))
        .plot(drawing::pod(plan, zone))
        .folded("Why, link by link", explanations.join("\n"))
}
