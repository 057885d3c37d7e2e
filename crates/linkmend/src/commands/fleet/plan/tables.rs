//! The plan as tables: what to do, in which order to repair, what pods and ToRs have left.

use linkmend_fleet::plan::{Action, Hindrance, Origin, Plan, PlannedLink, Repair, TorLeft, ends_of};
use linkmend_fleet::topology::LinkId;
use linkmend_report::{Cell, Column, Table, Unit, quantity};

/// All tables that have something to say, in order.
pub fn all(plan: &Plan) -> Vec<Table> {
    let tables = [repairs(plan), pods(plan), tors(plan)];
    [actions(plan)].into_iter().chain(tables.into_iter().filter(|table| !table.is_empty())).collect()
}

/// What to do about each link.
pub fn actions(plan: &Plan) -> Table {
    let mut table = Table::new(format!(
        "Plan for {}: every ToR keeps {} of its paths",
        plan.topology(),
        quantity::percent(plan.settings().constraint)
    ))
    .column(Column::text("Link"))
    .column(Column::text("Between"))
    .column(Column::number("Loss rate", Unit::LossRate))
    .column(Column::text("Do"))
    .column(Column::text("How"))
    .column(Column::number("Loss left", Unit::LossRate))
    .column(Column::number("Capacity", Unit::Share))
    .column(Column::text("Remark"));
    for planned in plan.by_urgency() {
        table.push_row(row(plan, planned));
    }
    table.note(summary(plan))
}

fn row(plan: &Plan, planned: &PlannedLink) -> [Cell; 8] {
    let (how, left, capacity) = match planned.action {
        Action::Protect(protection) => {
            let copies = if protection.copies == 1 { "copy" } else { "copies" };
            let how = format!("{}, {} {copies}", protection.mode.name(), protection.copies);
            let missed = protection.effective_loss_rate > plan.settings().target_loss * (1.0 + 1e-9);
            let left = Cell::number(protection.effective_loss_rate);
            (how, if missed { left.bad() } else { left.good() }, Cell::number(protection.capacity))
        }
        Action::Leave(_) => (String::new(), Cell::from(planned.loss_rate).bad(), Cell::number(1.0)),
        Action::Watch => (String::new(), Cell::from(planned.loss_rate), Cell::number(1.0)),
        Action::Disable | Action::KeepDisabled => (String::new(), Cell::text(""), Cell::text("")),
    };
    let action = Cell::text(planned.action.name());
    let action = match planned.action {
        Action::Leave(_) => action.bad(),
        Action::KeepDisabled | Action::Watch => action.neutral(),
        Action::Disable | Action::Protect(_) => action,
    };
    let loss = planned.loss_rate.map_or_else(|| Cell::text("not known").neutral(), Cell::number);
    [
        Cell::text(plan.topology().names().link(planned.link)),
        Cell::text(ends_of(plan.topology(), planned.link)),
        loss,
        action,
        Cell::text(how),
        left,
        capacity,
        Cell::text(remark(plan, planned)),
    ]
}

/// Why a link is not treated as others are.
pub fn remark(plan: &Plan, planned: &PlannedLink) -> String {
    let name = |switch| plan.topology().names().switch(switch);
    match planned.action {
        Action::Leave(Hindrance::NotUpgraded) => "switches not upgraded".to_owned(),
        Action::Leave(Hindrance::PipeFull { switch, limit }) => {
            format!("a pipe of {} protects {limit} already", name(switch))
        }
        Action::Leave(Hindrance::SwitchFull { switch, limit }) => {
            format!("{} protects {limit} already", name(switch))
        }
        Action::Protect(protection) if protection.misses(plan.settings().target_loss) => {
            "no number of copies reaches the target".to_owned()
        }
        Action::Protect(protection) if protection.capacity < plan.settings().min_capacity => {
            "capacity is low in either mode".to_owned()
        }
        _ => String::new(),
    }
}

/// The plan in a few sentences.
pub fn summary(plan: &Plan) -> String {
    let (before, after) = (plan.totals_before(), plan.totals_after());
    let mut text = format!(
        "Loss rates in operation add up to {} today, {} with this plan, {} after protection. {} disabled, {} of them \
         before; {} protected, at most {} on a pipe. ",
        quantity::loss_rate(before.penalty),
        quantity::loss_rate(after.penalty),
        quantity::loss_rate(after.effective_penalty),
        counted(after.disabled, "link is", "links are"),
        before.disabled,
        counted(after.protected, "is", "are"),
        plan.max_protected_per_pipe()
    );
    if before.short_tors > 0 {
        text += &format!(
            "{} short of paths already, before anything is done. ",
            counted(before.short_tors, "ToR is", "ToRs are")
        );
    }
    text += if plan.is_proven() {
        "No better choice of links to disable exists."
    } else {
        "A better choice of links to disable may exist: a search was cut short, or a limit of protection was met."
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// In which order to repair.
pub fn repairs(plan: &Plan) -> Table {
    let mut table =
        Table::new(format!("Repairs, {} at a time", quantity::count(plan.settings().crew.into())))
            .column(Column::number("Rank", Unit::Count))
            .column(Column::number("Round", Unit::Count))
            .column(Column::text("Link"))
            .column(Column::text("Between"))
            .column(Column::text("State"))
            .column(Column::number("Gain", Unit::LossRate))
            .column(Column::text("Then disable"))
            .column(Column::text("Worst ToR"))
            .column(Column::number("Paths back", Unit::Count));
    for repair in plan.repairs() {
        table.push_row(repair_row(plan, repair));
    }
    table.note(
        "Each is chosen as if those before it were back. Gain: what the objective falls by, because others can be disabled \
         in its place; for a link in operation, what it counts itself. Worst ToR: of those that the link serves, the one with \
         the smallest share of its paths.",
    )
}

fn repair_row(plan: &Plan, repair: &Repair) -> [Cell; 9] {
    let names = plan.topology().names();
    let now = match repair.origin {
        Origin::Down => "down before",
        Origin::Disabled => "disable now",
        Origin::Later => "disable later",
        Origin::InOperation => "in operation",
    };
    let then: Vec<String> = repair.then_disable.iter().map(|&link| names.link(link)).collect();
    let paths = match repair.worst_tor {
        Some(_) => Cell::number(repair.paths_regained as f64),
        None => Cell::text(""),
    };
    [
        Cell::number(repair.rank.into()),
        Cell::number(repair.round.into()),
        Cell::text(names.link(repair.link)),
        Cell::text(ends_of(plan.topology(), repair.link)),
        if repair.shortage_ended > 0 {
            Cell::text(format!("{now}, ToR short")).bad()
        } else {
            Cell::text(now)
        },
        Cell::number(repair.objective_gain),
        Cell::text(then.join(", ")),
        Cell::text(repair.worst_tor.map_or_else(String::new, |tor| names.switch(tor))),
        paths,
    ]
}

/// What the pods have left that anything is done in.
pub fn pods(plan: &Plan) -> Table {
    let names = plan.topology().names();
    let mut table = Table::new("Pods with this plan")
        .column(Column::text("Pod"))
        .column(Column::number("Capacity", Unit::BitPerSecond))
        .column(Column::number("Of installed", Unit::Share))
        .column(Column::number("Today", Unit::Share))
        .column(Column::number("Least paths", Unit::Count))
        .column(Column::number("Must keep", Unit::Count))
        .column(Column::number("Installed", Unit::Count))
        .column(Column::text("ToR"))
        .column(Column::number("ToRs touched", Unit::Count));
    let touched = plan.touched_zones();
    for zone in &touched {
        let paths = |tor: TorLeft| {
            let cell = Cell::number(tor.paths as f64);
            if tor.is_short() { cell.bad() } else { cell }
        };
        let today = if zone.installed == 0 { 1.0 } else { zone.before as f64 / zone.installed as f64 };
        table.push_row([
            Cell::text(names.zone(zone.zone)),
            Cell::number(zone.capacity as f64),
            Cell::number(zone.share()),
            Cell::number(today),
            zone.worst.map_or_else(Cell::missing, paths),
            zone.worst.map_or_else(Cell::missing, |tor| Cell::number(tor.required as f64)),
            zone.worst.map_or_else(Cell::missing, |tor| Cell::number(tor.installed as f64)),
            Cell::text(zone.worst.map_or_else(String::new, |tor| names.switch(tor.tor))),
            Cell::number(zone.touched_tors as f64),
        ]);
    }
    let untouched = plan.topology().zone_count() - touched.len();
    table.note(format!(
        "{} The ToR is the one nearest to what it must keep; ToRs touched are those that lack paths.",
        match untouched {
            0 => "No pod is untouched.".to_owned(),
            1 => "1 other pod is untouched.".to_owned(),
            others => format!("{} other pods are untouched.", quantity::count(others as f64)),
        }
    ))
}

/// What the ToRs have left that lack paths; those of a pod that have the same share a row.
pub fn tors(plan: &Plan) -> Table {
    let topology = plan.topology();
    let mut table = Table::new("ToRs with this plan")
        .column(Column::text("ToR"))
        .column(Column::text("Pod"))
        .column(Column::number("Paths", Unit::Count))
        .column(Column::number("Of installed", Unit::Share))
        .column(Column::number("Must keep", Unit::Count))
        .column(Column::number("Installed", Unit::Count));
    let mut groups: Vec<(TorLeft, u64)> = Vec::new();
    let mut untouched = 0_u64;
    for tor in plan.tors() {
        if !tor.is_touched() {
            untouched += 1;
            continue;
        }
        let zone = topology.switch(tor.tor).zone;
        // Only groups of the same pod can be alike, and those are the last ones.
        let alike =
            groups.iter_mut().rev().take_while(|(first, _)| topology.switch(first.tor).zone == zone).find(
                |(first, _)| {
                    (first.paths, first.installed, first.required) == (tor.paths, tor.installed, tor.required)
                },
            );
        match alike {
            Some((_, others)) => *others += 1,
            None => groups.push((tor, 0)),
        }
    }
    for (tor, others) in groups {
        let name = topology.names().switch(tor.tor);
        let paths = Cell::number(tor.paths as f64);
        table.push_row([
            Cell::text(if others == 0 { name } else { format!("{name} and {others} more") }),
            Cell::text(
                topology.switch(tor.tor).zone.map_or_else(String::new, |zone| topology.names().zone(zone)),
            ),
            if tor.is_short() { paths.bad() } else { paths },
            Cell::number(if tor.installed == 0 { 1.0 } else { tor.paths as f64 / tor.installed as f64 }),
            Cell::number(tor.required as f64),
            Cell::number(tor.installed as f64),
        ]);
    }
    table.note(match untouched {
        0 => "No ToR has all its paths.".to_owned(),
        1 => "1 other ToR has all its paths.".to_owned(),
        others => format!("{} other ToRs have all their paths.", quantity::count(others as f64)),
    })
}

/// The link's name, and its ends where the name does not say them.
pub fn full_name(plan: &Plan, link: LinkId) -> String {
    let (name, ends) = (plan.topology().names().link(link), ends_of(plan.topology(), link));
    if name == ends { name } else { format!("{name} ({ends})") }
}
