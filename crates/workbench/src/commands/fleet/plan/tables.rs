//! The plan as tables: what to do, the order of repairs, and what remains to pods and ToRs.

use linkmend_fleet::attribution::Culprit;
use linkmend_fleet::plan::{
    Action, Gap, Origin, Plan, PlannedLink, ProtectionObstacle, Repair, TorAfterPlan, culprit_name,
};
use linkmend_report::{Alignment, Cell, Column, Table, Unit, quantity};
use linkmend_topology::{LinkId, Names};
use std::collections::BTreeMap;

/// The largest number of rows of pods and of ToRs on a terminal. The page and JSON have all of them.
const MAX_ROWS_ON_TERMINAL: usize = 20;

/// All tables that are not empty, in order.
pub fn all(plan: &Plan) -> Vec<Table> {
    let (pods, tors) = (pods(plan, MAX_ROWS_ON_TERMINAL), tors(plan, MAX_ROWS_ON_TERMINAL));
    let others = [repairs(plan), pods, tors].into_iter().filter(|table| !table.is_empty());
    [actions(plan)].into_iter().chain(others).collect()
}

/// The table of what to do about each link.
pub fn actions(plan: &Plan) -> Table {
    let title =
        format!("Plan for {}: every ToR keeps {}", network(plan), plan.settings().constraint.phrase());
    let links = plan.by_urgency();
    if links.is_empty() {
        return Table::new(title).note(summary(plan));
    }
    let topology = plan.topology();
    let named = links.iter().any(|planned| topology.ends_beside_label(planned.link).is_some());
    let mut table = Table::new(title).column(Column::name("Link"));
    if named {
        table = table.column(Column::name("Between"));
    }
    table = table
        .column(Column::number("Loss", Unit::LossRate))
        .column(Column::text("Do"))
        .column(Column::number("Loss left", Unit::LossRate))
        .column(Column::number("Capacity", Unit::Share));
    for planned in links {
        let name = Cell::text(topology.label(planned.link));
        let between = named.then(|| Cell::text(topology.ends_beside_label(planned.link).unwrap_or_default()));
        table.push_row([name].into_iter().chain(between).chain(row(plan, planned)));
    }
    table.note(summary(plan))
}

/// Describes the network in a few words.
pub fn network(plan: &Plan) -> String {
    let topology = plan.topology();
    match topology.names() {
        Names::Given { .. } => {
            let links = topology.link_count() as u64;
            format!(
                "{} and {}",
                counted(topology.switch_count() as u64, "switch", "switches"),
                counted(links, "link", "links")
            )
        }
        Names::Fabric(_) | Names::Numbers(_) => topology.to_string(),
    }
}

/// The cells of a link's row, except its name and ends.
fn row(plan: &Plan, planned: &PlannedLink) -> [Cell; 4] {
    let loss = planned.loss_rate.map_or_else(|| Cell::text("not known").neutral(), Cell::number);
    let action = Cell::text(what_to_do(plan, planned));
    let (action, left, capacity) = match planned.action {
        Action::Protect(protection) => {
            let left = Cell::number(protection.effective_loss_rate);
            let missed = protection.effective_loss_rate > plan.settings().target_loss * (1.0 + 1e-9);
            let left = if missed { left.bad() } else { left.good() };
            (action, left, Cell::number(protection.capacity))
        }
        Action::Leave(_) => (action.bad(), Cell::from(planned.loss_rate).bad(), Cell::number(1.0)),
        Action::Watch => (action.neutral(), Cell::from(planned.loss_rate), Cell::number(1.0)),
        Action::Downstream(_) => (action.neutral(), Cell::text(""), Cell::number(1.0)),
        Action::KeepDisabled => (action.neutral(), Cell::text(""), Cell::text("")),
        Action::Disable => (action, Cell::text(""), Cell::text("")),
    };
    [loss, action, left, capacity]
}

/// The action, its parameters, and why a link is treated differently from others.
pub fn what_to_do(plan: &Plan, planned: &PlannedLink) -> String {
    let name = |switch| plan.topology().names().switch(switch);
    let doubt = planned.upstream.map_or_else(String::new, |culprit| {
        let unjudged = if let Culprit::Unjudged(_) = culprit { ", which is not judged" } else { "" };
        format!("; may be downstream of {}{unjudged}", culprit_name(plan.topology(), culprit))
    });
    let between_peers = if plan.topology().is_peer(planned.link) { "; between peers" } else { "" };
    let action = match planned.action {
        Action::Protect(protection) => {
            let copies = counted(protection.copies.into(), "copy", "copies");
            let but = if protection.misses(plan.settings().target_loss) {
                "; misses the target"
            } else if protection.capacity < plan.settings().min_capacity {
                "; little capacity in either mode"
            } else {
                ""
            };
            format!("protect, {}, {copies}{but}", protection.mode.name())
        }
        Action::Leave(ProtectionObstacle::NotUpgraded) => "leave: its switches are not upgraded".to_owned(),
        Action::Leave(ProtectionObstacle::PipeFull { switch, limit }) => {
            format!("leave: a pipe of {} already protects {limit}", name(switch))
        }
        Action::Leave(ProtectionObstacle::SwitchFull { switch, limit }) => {
            format!("leave: {} already protects {limit}", name(switch))
        }
        Action::Downstream(culprit) => {
            return format!("leave: downstream of {}", culprit_name(plan.topology(), culprit));
        }
        action => action.name().to_owned(),
    };
    action + &doubt + between_peers
}

/// The plan in a few sentences.
pub fn summary(plan: &Plan) -> String {
    let (before, after) = (plan.totals_before(), plan.totals_after());
    if plan.links().next().is_none() {
        return "The file has no links, so there is nothing to do.".to_owned();
    }
    let disable = after.disabled - before.disabled;
    let mut loss = format!("{} today", quantity::loss_rate(before.penalty));
    if disable > 0 {
        loss += &format!(", {} once links are disabled", quantity::loss_rate(after.penalty));
    }
    if after.protected > 0 {
        let others = if disable > 0 { "others" } else { "links" };
        loss += &format!(", {} once {others} are protected", quantity::loss_rate(after.effective_penalty));
    }
    let per_pipe = match plan.max_protected_per_pipe() {
        0 => String::new(),
        most => format!(" (at most {most} on a forwarding pipe)"),
    };
    let mut text = format!(
        "Loss rates of links in operation add up to {loss}. {} to disable now, {} disabled before, {} to protect{per_pipe}. ",
        counted(disable, "link", "links"),
        before.disabled,
        after.protected
    );
    if before.short_tors > 0 {
        text += &format!(
            "{} already short of paths or capacity before any change. ",
            counted(before.short_tors, "ToR is", "ToRs are")
        );
    }
    let lost = after.parted_pairs - before.parted_pairs;
    if before.parted_pairs > 0 {
        text += &format!(
            "{} already cannot reach each other. ",
            counted(before.parted_pairs, "pair of ToRs", "pairs of ToRs")
        );
    }
    if lost > 0 {
        text += &format!(
            "{} each other with this plan. ",
            counted(lost, "pair of ToRs loses", "pairs of ToRs lose")
        );
    }
    let victims =
        plan.links().filter(|planned| matches!(planned.action, Action::Downstream(_))).count() as u64;
    if victims > 0 {
        text += &format!(
            "{} only frames corrupted elsewhere, and {} left alone. ",
            counted(victims, "link forwards", "links forward"),
            if victims == 1 { "is" } else { "are" }
        );
    }
    text + &how_good(plan)
}

/// How far from the best the choice of links can be.
fn how_good(plan: &Plan) -> String {
    let but = "A better choice of links to disable may exist";
    match plan.gap() {
        _ if plan.is_proven() => "No better choice of links to disable exists.".to_owned(),
        Some(Gap { share, .. }) => {
            // Rounded up, so that it stays true.
            let at_most = quantity::percent((share * 1000.0).ceil() / 1000.0);
            format!(
                "{but}, because the search was cut short; it would lower the objective by at most {at_most}."
            )
        }
        None => format!("{but}, because a limit of protection was met."),
    }
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", quantity::count(number as f64), if number == 1 { one } else { many })
}

/// The table of repairs, in their order.
pub fn repairs(plan: &Plan) -> Table {
    let crew = plan.settings().crew;
    let in_rounds = crew > 1;
    let mut table = Table::new(match crew {
        0 | 1 => "Repairs, in this order".to_owned(),
        crew => format!("Repairs, in this order, {} at a time", quantity::count(crew.into())),
    })
    .column(Column::number("Rank", Unit::Count));
    if in_rounds {
        table = table.column(Column::number("Round", Unit::Count));
    }
    table = table
        .column(Column::name("Link"))
        .column(Column::text("Disabled"))
        .column(Column::number("Gain", Unit::LossRate))
        .column(Column::number("Paths back", Unit::Count))
        .column(Column::name("To"));
    let freed_by: BTreeMap<LinkId, u32> = plan
        .repairs()
        .iter()
        .flat_map(|repair| repair.then_disable.iter().map(|&link| (link, repair.rank)))
        .collect();
    for repair in plan.repairs() {
        let round = in_rounds.then(|| Cell::number(repair.round.into()));
        let rank = [Cell::number(repair.rank.into())];
        table.push_row(rank.into_iter().chain(round).chain(repair_row(plan, repair, &freed_by)));
    }
    table.note(
        "Each link is ranked as if those before it had been repaired. Disabled \"after 1\": in operation until \
         number 1 has been repaired, which makes it possible to disable this link. Gain: reduction of the \
         objective, because other links can then be disabled; for a link that is never disabled, its own \
         contribution. Paths back: paths that the worst-off ToR below the link regains.",
    )
}

fn repair_row(plan: &Plan, repair: &Repair, freed_by: &BTreeMap<LinkId, u32>) -> [Cell; 5] {
    let names = plan.topology().names();
    let disabled = match repair.origin {
        Origin::Down => "before".to_owned(),
        Origin::Disabled => "now".to_owned(),
        Origin::Later => {
            freed_by.get(&repair.link).map_or_else(|| "later".to_owned(), |rank| format!("after {rank}"))
        }
        Origin::InOperation => "never".to_owned(),
    };
    [
        Cell::text(plan.topology().full_label(repair.link)),
        match (repair.shortage_ended, repair.ends_capacity_shortage) {
            (0, false) => Cell::text(disabled),
            _ => Cell::text(format!("{disabled}; ToR short")).bad(),
        },
        Cell::number(repair.objective_gain),
        repair.worst_tor.map_or_else(|| Cell::text(""), |_| Cell::number(repair.paths_regained as f64)),
        Cell::text(repair.worst_tor.map_or_else(String::new, |tor| names.switch(tor))),
    ]
}

/// The table of the pods that the plan affects, with what remains to them: the worst `most` of them.
pub fn pods(plan: &Plan, most: usize) -> Table {
    let names = plan.topology().names();
    let mut table = Table::new("Pods with this plan")
        .column(Column::name("Pod"))
        .column(Column::number("Capacity", Unit::Share))
        .column(Column::number("Today", Unit::Share))
        .column(Column::name("Worst ToR"))
        .column(Column::text("Its paths").align(Alignment::Right))
        .column(Column::number("Must keep", Unit::Count));
    let counts_capacity = plan.counts_capacity();
    if counts_capacity {
        table = table.column(Column::number("Its capacity", Unit::Share));
    }
    table = table.column(Column::number("ToRs affected", Unit::Count));
    let affected = plan.affected_zones();
    for zone in affected.iter().take(most) {
        let today = if zone.installed == 0 { 1.0 } else { zone.before as f64 / zone.installed as f64 };
        let cells = [
            Cell::text(names.zone(zone.zone)),
            Cell::number(zone.share()),
            Cell::number(today),
            Cell::text(zone.worst.map_or_else(String::new, |tor| names.switch(tor.tor))),
            zone.worst.map_or_else(Cell::missing, paths),
            zone.worst.map_or_else(Cell::missing, |tor| Cell::number(tor.required as f64)),
        ];
        let capacity = counts_capacity.then(|| zone.worst.map_or_else(Cell::missing, capacity));
        let affected = Cell::number(zone.affected_tors as f64);
        table.push_row(cells.into_iter().chain(capacity).chain([affected]));
    }
    let pods = plan.zones().iter().filter(|zone| zone.is_pod()).count();
    let unaffected = (pods - affected.len()) as u64;
    table.note(format!(
        "{}{} The worst ToR is the one closest to its constraint. Affected ToRs have fewer paths than are installed.",
        cut(affected.len(), most, "pods"),
        match unaffected {
            0 => "All pods are affected.".to_owned(),
            others => format!("{} untouched.", counted(others, "other pod is", "other pods are")),
        }
    ))
}

fn paths(tor: TorAfterPlan) -> Cell {
    let cell = Cell::text(format!(
        "{} of {}",
        quantity::count(tor.paths as f64),
        quantity::count(tor.installed as f64)
    ));
    if tor.is_short { cell.bad() } else { cell }
}

fn capacity(tor: TorAfterPlan) -> Cell {
    tor.capacity.map_or_else(Cell::missing, |capacity| {
        let cell = Cell::number(capacity.left);
        if capacity.left < capacity.required { cell.bad() } else { cell }
    })
}

/// A note about the rows that are left out.
fn cut(rows: usize, most: usize, what: &str) -> String {
    match rows.saturating_sub(most) {
        0 => String::new(),
        more => {
            format!(
                "The worst of them; --json and --html have {} {what} more. ",
                quantity::count(more as f64)
            )
        }
    }
}

/// The table of the ToRs that lack paths, the worst first. ToRs of one pod with equally many paths share a row.
pub fn tors(plan: &Plan, most: usize) -> Table {
    let topology = plan.topology();
    let mut table = Table::new("ToRs with this plan")
        .column(Column::text("ToR"))
        .column(Column::name("Pod"))
        .column(Column::text("Paths").align(Alignment::Right))
        .column(Column::number("Share", Unit::Share))
        .column(Column::number("Must keep", Unit::Count));
    let counts_capacity = plan.counts_capacity();
    if counts_capacity {
        table = table.column(Column::number("Capacity", Unit::Share));
    }
    let (groups, unaffected) = groups(plan);
    for (tor, others) in groups.iter().take(most) {
        let name = topology.names().switch(tor.tor);
        let pod = topology.switch(tor.tor).zone;
        let cells = [
            Cell::text(if *others == 0 { name } else { format!("{name} and {others} more") }),
            Cell::text(pod.map_or_else(String::new, |zone| topology.names().zone(zone))),
            paths(*tor),
            Cell::number(if tor.installed == 0 { 1.0 } else { tor.paths as f64 / tor.installed as f64 }),
            Cell::number(tor.required as f64),
        ];
        table.push_row(cells.into_iter().chain(counts_capacity.then(|| capacity(*tor))));
    }
    table.note(format!(
        "{}{}",
        cut(groups.len(), most, "rows"),
        match unaffected {
            0 => "No ToR has all its paths.".to_owned(),
            others => format!(
                "{} all {} paths.",
                counted(others, "other ToR has", "other ToRs have"),
                match others {
                    1 => "its",
                    _ => "their",
                }
            ),
        }
    ))
}

/// The ToRs that lack paths, the worst first, each with the number of others in its pod that have equally much; and the
/// number of ToRs that lack none.
fn groups(plan: &Plan) -> (Vec<(TorAfterPlan, u64)>, u64) {
    let topology = plan.topology();
    let mut groups: Vec<(TorAfterPlan, u64)> = Vec::new();
    let mut unaffected = 0_u64;
    for tor in plan.tors() {
        if !tor.is_affected() {
            unaffected += 1;
            continue;
        }
        let zone = topology.switch(tor.tor).zone;
        // Only groups of the same pod can be alike, and those are the last ones.
        let alike =
            groups.iter_mut().rev().take_while(|(first, _)| topology.switch(first.tor).zone == zone).find(
                |(first, _)| {
                    (first.paths, first.installed, first.required) == (tor.paths, tor.installed, tor.required)
                        && first.capacity == tor.capacity
                },
            );
        match alike {
            Some((_, others)) => *others += 1,
            None => groups.push((tor, 0)),
        }
    }
    groups.sort_by(|(one, _), (other, _)| {
        one.spare().total_cmp(&other.spare()).then(other.installed.cmp(&one.installed))
    });
    (groups, unaffected)
}
