//! The plan as JSON, with every pod and ToR.

use linkmend_fleet::optimizer::Objective;
use linkmend_fleet::plan::{
    Action, Origin, Plan, PlannedLink, ProtectionObstacle, Repair, TorAfterPlan, Totals, ZoneAfterPlan,
    culprit_name,
};
use linkmend_topology::{Link, LinkId};
use serde_json::{Value, json};

/// Everything in the plan except its explanations.
pub fn plan(plan: &Plan) -> Value {
    let settings = plan.settings();
    let (objective, capacity_weight) = match settings.objective {
        Objective::Penalty => ("penalty", None),
        Objective::Effective { capacity_weight } => ("effective", Some(capacity_weight)),
    };
    let list = |values: &mut dyn Iterator<Item = Value>| Value::Array(values.collect());
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "topology": plan.topology().to_string(),
        "constraint": settings.constraint.paths,
        "capacity_constraint": settings.constraint.capacity,
        "connected": settings.constraint.connected,
        "target_loss_rate": settings.target_loss,
        "objective": objective,
        "capacity_weight": capacity_weight,
        "min_capacity_share": settings.min_capacity,
        "max_protected_per_pipe": settings.limits.per_pipe,
        "max_protected_per_switch": settings.limits.per_switch,
        "crew": settings.crew,
        "proven": plan.is_proven(),
        "objective_gap": plan.gap().map(|gap| gap.objective),
        "objective_gap_share": plan.gap().map(|gap| gap.share),
        "before": totals(&plan.totals_before()),
        "after": totals(&plan.totals_after()),
        "max_protected_links_per_pipe": plan.max_protected_per_pipe(),
        "links": list(&mut plan.by_urgency().into_iter().map(|planned| link(plan, planned))),
        "repairs": list(&mut plan.repairs().iter().map(|step| repair(plan, step))),
        "pods": list(&mut plan.zones().iter().map(|zone| pod(plan, zone))),
        "tors": list(&mut plan.tors().map(|left| tor(plan, &left))),
    })
}

fn totals(totals: &Totals) -> Value {
    json!({
        "total_penalty": totals.penalty,
        "total_effective_penalty": totals.effective_penalty,
        "disabled_links": totals.disabled,
        "protected_links": totals.protected,
        "short_tors": totals.short_tors,
        "parted_pairs": totals.parted_pairs,
    })
}

fn link(plan: &Plan, planned: &PlannedLink) -> Value {
    let topology = plan.topology();
    let mut value = json!({
        "number": planned.link.0,
        "link": topology.names().link(planned.link),
        "ends": topology.ends_of(planned.link),
        "pod": topology.names().zone(topology.zone_of(planned.link)),
        "between_peers": topology.is_peer(planned.link),
        "loss_rate": planned.loss_rate,
        "action": planned.action.name(),
        "objective": planned.objective_value,
    });
    add_ends(plan, planned.link, &mut value);
    if let Some(culprit) = planned.upstream {
        let is_certain = matches!(planned.action, Action::Downstream(_));
        let field = if is_certain { "downstream_of" } else { "may_be_downstream_of" };
        value[field] = json!(culprit_name(topology, culprit));
    }
    match planned.action {
        Action::Protect(protection) => {
            value["mode"] = json!(protection.mode);
            value["copies"] = json!(protection.copies);
            value["expected_loss_rate"] = json!(protection.expected_loss_rate);
            value["measured_loss_rate"] = json!(protection.measured.effective_loss_rate);
            value["measured_at_loss_rate"] = json!(protection.measured.loss_rate);
            value["effective_loss_rate"] = json!(protection.effective_loss_rate);
            value["capacity_share"] = json!(protection.capacity);
            value["ordered_capacity_share"] = json!(protection.ordered_capacity);
            value["misses_target"] = json!(protection.misses(plan.settings().target_loss));
        }
        Action::Leave(obstacle) => {
            let (reason, switch) = match obstacle {
                ProtectionObstacle::NotUpgraded => ("not upgraded", None),
                ProtectionObstacle::PipeFull { switch, .. } => ("pipe full", Some(switch)),
                ProtectionObstacle::SwitchFull { switch, .. } => ("switch full", Some(switch)),
            };
            value["reason"] = json!(reason);
            value["at_switch"] = json!(switch.map(|switch| topology.names().switch(switch)));
        }
        Action::Disable | Action::KeepDisabled | Action::Watch | Action::Downstream(_) => {}
    }
    value
}

/// The two ends of a link, from the lower switch to the upper; a port that the network file does not name is null.
fn add_ends(plan: &Plan, link: LinkId, value: &mut Value) {
    let topology = plan.topology();
    let Link { lower, upper, .. } = *topology.link(link);
    let [from_port, to_port] = topology.ports(link);
    value["from"] = json!(topology.names().switch(lower));
    value["from_port"] = json!(from_port);
    value["to"] = json!(topology.names().switch(upper));
    value["to_port"] = json!(to_port);
}

fn repair(plan: &Plan, repair: &Repair) -> Value {
    let names = plan.topology().names();
    let then: Vec<String> = repair.then_disable.iter().map(|&link| names.link(link)).collect();
    let mut value = json!({
        "rank": repair.rank,
        "round": repair.round,
        "number": repair.link.0,
        "link": names.link(repair.link),
        "ends": plan.topology().ends_of(repair.link),
        "now": match repair.origin {
            Origin::Down => "down",
            Origin::Disabled => "disabled",
            Origin::Later => "later",
            Origin::InOperation => "in operation",
        },
        "shortage_ended_paths": repair.shortage_ended,
        "ends_capacity_shortage": repair.ends_capacity_shortage,
        "objective_gain": repair.objective_gain,
        "worst_tor": repair.worst_tor.map(|tor| names.switch(tor)),
        "paths_regained": repair.paths_regained,
        "then_disable": then,
    });
    add_ends(plan, repair.link, &mut value);
    value
}

fn pod(plan: &Plan, zone: &ZoneAfterPlan) -> Value {
    json!({
        "pod": plan.topology().names().zone(zone.zone),
        "installed_bps": zone.installed,
        "today_bps": zone.before,
        "capacity_bps": zone.capacity,
        "capacity_share": zone.share(),
        "reported_links": zone.reported,
        "tors_lacking_paths": zone.affected_tors,
        "worst_tor": zone.worst.map(|worst| plan.topology().names().switch(worst.tor)),
        "least_paths": zone.worst.map(|worst| worst.paths),
        "required_paths": zone.worst.map(|worst| worst.required),
    })
}

fn tor(plan: &Plan, tor: &TorAfterPlan) -> Value {
    json!({
        "tor": plan.topology().names().switch(tor.tor),
        "installed_paths": tor.installed,
        "today_paths": tor.before,
        "paths": tor.paths,
        "required_paths": tor.required,
        "today_capacity_share": tor.capacity.map(|capacity| capacity.before),
        "capacity_share": tor.capacity.map(|capacity| capacity.left),
        "short": tor.is_short,
    })
}
