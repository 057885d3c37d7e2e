//! What is understood of a network, as tables.

use linkmend_report::{Alignment, Cell, Column, Table, Unit};
use linkmend_topology::file::{Basis, Loaded};
use linkmend_topology::paths::Paths;
use linkmend_topology::{LinkId, SwitchId};

/// All tables that are not empty, each with at most `most` rows.
pub fn all(loaded: &Loaded, most: usize) -> Vec<Table> {
    let tables =
        [switches(loaded, most), links(loaded, most), hosts(loaded, most), outside(loaded), doubts(loaded)];
    tables.into_iter().filter(|table| !table.is_empty()).collect()
}

/// Why a switch has its layer.
pub fn reason(loaded: &Loaded, switch: SwitchId) -> (Basis, String) {
    let found = loaded.understood.reasons.get(&switch).cloned();
    found.unwrap_or_else(|| (Basis::Told, "told".to_owned()))
}

fn switches(loaded: &Loaded, most: usize) -> Table {
    let topology = &loaded.topology;
    let names = topology.names();
    let paths = Paths::new(topology);
    let mut table = Table::new("Switches")
        .column(Column::name("Switch"))
        .column(Column::number("Layer", Unit::Count))
        .column(Column::name("Pod"))
        .column(Column::number("Up", Unit::Count))
        .column(Column::number("Down", Unit::Count))
        .column(Column::number("Peers", Unit::Count))
        .column(Column::number("Paths", Unit::Count))
        .column(Column::text("Layer known by"));
    let mut order: Vec<SwitchId> = topology.switches().collect();
    order.sort_by_key(|switch| topology.switch(*switch).layer);
    for &switch in order.iter().take(most) {
        let place = topology.switch(switch);
        let (basis, reason) = reason(loaded, switch);
        let paths = match place.layer {
            0 => Cell::number(paths.count(switch) as f64),
            _ => Cell::text(""),
        };
        let reason = Cell::text(if basis == Basis::Guessed { format!("a guess: {reason}") } else { reason });
        table.push_row([
            Cell::text(names.switch(switch)),
            Cell::number(place.layer.into()),
            Cell::text(place.zone.map_or_else(String::new, |zone| names.zone(zone))),
            Cell::number(topology.up(switch).len() as f64),
            Cell::number(topology.down(switch).len() as f64),
            Cell::number(topology.beside(switch).len() as f64),
            paths,
            if basis == Basis::Guessed { reason.bad() } else { reason },
        ]);
    }
    let top = match &loaded.understood.top_guess {
        Some(why) => format!("The top layer is a guess: {why}. "),
        None => String::new(),
    };
    let option = format!("As an option: --layers '{}'", loaded.layers_option());
    table.note(format!("{}{top}{option}", cut(order.len(), most, "switches")))
}

fn links(loaded: &Loaded, most: usize) -> Table {
    let topology = &loaded.topology;
    // Most links go by their ends, which stand there anyway.
    let is_named = |link: &LinkId| topology.ends_beside_label(*link).is_some();
    let named = topology.links().take(most).any(|link| is_named(&link));
    let mut table = Table::new("Links");
    if named {
        table = table.column(Column::name("Link"));
    }
    table = table
        .column(Column::name("From"))
        .column(Column::name("Port"))
        .column(Column::name("To"))
        .column(Column::name("Port"))
        .column(Column::text("Speed").align(Alignment::Right))
        .column(Column::text("Goes"));
    for link in topology.links().take(most) {
        let ends = topology.link(link);
        let [from, to] = [ends.lower, ends.upper].map(|end| Cell::text(topology.names().switch(end)));
        let [from_port, to_port] = topology.ports(link).map(|port| Cell::text(port.unwrap_or_default()));
        let speed = linkmend_quantity::BitRate(topology.capacity(link)).to_string();
        let goes = if topology.is_peer(link) { "to a peer" } else { "up" };
        let name = if is_named(&link) { topology.label(link) } else { String::new() };
        let cells = [from, from_port, to, to_port, Cell::text(speed), Cell::text(goes)];
        table.push_row(named.then(|| Cell::text(name)).into_iter().chain(cells));
    }
    table.note(cut(topology.link_count(), most, "links"))
}

fn hosts(loaded: &Loaded, most: usize) -> Table {
    let mut table = Table::new("Hosts")
        .column(Column::name("Host"))
        .column(Column::name("Switch"))
        .column(Column::name("Port"));
    for link in loaded.host_links.iter().take(most) {
        let switch = loaded.topology.names().switch(link.switch);
        let port = link.port.clone().unwrap_or_default();
        table.push_row([link.host.clone(), switch, port].map(Cell::text));
    }
    table.note(cut(loaded.host_links.len(), most, "links of hosts"))
}

fn outside(loaded: &Loaded) -> Table {
    let mut table = Table::new("Outside the layers").column(Column::name("Node")).column(Column::text("Why"));
    for node in &loaded.understood.outside {
        table.push_row([node.name.clone(), node.reason.clone()].map(Cell::text));
    }
    table
}

fn doubts(loaded: &Loaded) -> Table {
    let mut table = Table::new("Doubts").column(Column::name("Where")).column(Column::text("What"));
    for doubt in &loaded.understood.doubts {
        table.push_row([doubt.place.to_string(), doubt.text.clone()].map(Cell::text));
    }
    for warning in &loaded.warnings {
        table.push_row([String::new(), warning.clone()].map(Cell::text));
    }
    table
}

fn cut(rows: usize, most: usize, what: &str) -> String {
    match rows.saturating_sub(most) {
        0 => String::new(),
        more => format!("--json and --html have {more} {what} more. "),
    }
}
