//! The results as Markdown.

use crate::card::CARDS;
use crate::cell::{CHECKS, Cell, Check, Outcome};
use crate::kernel::version;

/// The lines around the generated part of a document.
pub const BEGIN: &str = "<!-- Written by `make matrix`: from here -->";
/// The last of them.
pub const END: &str = "<!-- Written by `make matrix`: to here -->";

/// One row for each kernel and card, also for those that were not measured.
pub fn markdown(cells: &[Cell], kernels: &[String]) -> String {
    let mut lines = vec![String::new()];
    let mut header = vec!["kernel".to_owned(), "card".to_owned(), "port".to_owned()];
    header.extend(CHECKS.iter().map(|check| heading(*check).to_owned()));
    lines.push(line(&header));
    lines.push(line(&vec!["---".to_owned(); header.len()]));
    for kernel in kernels {
        for card in CARDS {
            let cell = cells.iter().find(|cell| version(&cell.kernel) == *kernel && cell.card == card.name);
            let mut row = vec![kernel.clone(), format!("`{}`", card.name)];
            row.push(cell.map_or("not measured".to_owned(), |cell| cell.port.clone()));
            row.extend(
                CHECKS
                    .iter()
                    .map(|check| cell.map_or("not measured".to_owned(), |cell| result(cell, *check))),
            );
            lines.push(line(&row));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Replaces what is between the lines in a document; `None` if they are not there.
pub fn replace(text: &str, markdown: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{markdown}\n{END}{after}"))
}

fn heading(check: Check) -> &'static str {
    match check {
        Check::Ordered => "ordered",
        Check::NonBlocking => "non-blocking",
        Check::Vlan => "VLAN",
        Check::Kill => "`kill -9`",
        Check::Dormant => "dormant",
        Check::Jumbo => "jumbo",
        Check::Offloads => "offloads",
        Check::Packet => "AF_PACKET",
        Check::Failover => "failover",
    }
}

fn result(cell: &Cell, check: Check) -> String {
    // In some checks, the daemon uses the card in another way than in the rest.
    let other = match check {
        Check::Jumbo => cell.jumbo_port.as_ref(),
        Check::Offloads => cell.offloads_port.as_ref(),
        _ => None,
    };
    let other = other.filter(|port| **port != cell.port);
    match cell.checks.iter().find(|(other, _)| *other == check) {
        Some((_, Outcome::Passed(_))) if other.is_some() => {
            format!("passed ({})", other.map(String::as_str).unwrap_or_default())
        }
        Some((_, Outcome::Passed(_))) => "passed".to_owned(),
        Some((_, Outcome::Failed(_))) => "**failed**".to_owned(),
        None => "not measured".to_owned(),
    }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Cell {
        Cell {
            kernel: "6.12.1+deb13-amd64".to_owned(),
            card: "igb".to_owned(),
            queues: 1,
            port: "native, copy".to_owned(),
            description: String::new(),
            jumbo_port: Some("generic, copy".to_owned()),
            offloads_port: None,
            checks: vec![
                (Check::Ordered, Outcome::Passed("10 of 10 arrived".to_owned())),
                (Check::Kill, Outcome::Failed("2 duplicated".to_owned())),
                (Check::Jumbo, Outcome::Passed(String::new())),
            ],
            seconds: 1,
        }
    }

    #[test]
    fn what_was_not_measured_says_so_and_a_jumbo_port_of_another_kind_is_named() {
        let text = markdown(&[cell()], &["6.12.1".to_owned()]);
        let row = "| 6.12.1 | `igb` | native, copy | passed | not measured | not measured | **failed** | not measured | \
                   passed (generic, copy) | not measured | not measured | not measured |";
        assert!(text.contains(row), "{text}");
        let others = text.lines().filter(|line| line.matches("not measured").count() == CHECKS.len() + 1);
        assert_eq!(others.count(), CARDS.len() - 1, "{text}");
    }

    #[test]
    fn a_later_run_of_some_checks_keeps_the_results_of_the_others() {
        let mut kept = cell();
        let later = Cell {
            checks: vec![
                (Check::Kill, Outcome::Passed(String::new())),
                (Check::Offloads, Outcome::Passed(String::new())),
            ],
            jumbo_port: None,
            offloads_port: Some("native, zero-copy".to_owned()),
            ..cell()
        };
        kept.update(later);
        let text = markdown(&[kept], &["6.12.1".to_owned()]);
        let row = "| 6.12.1 | `igb` | native, copy | passed | not measured | not measured | passed | not measured | \
                   passed (generic, copy) | passed (native, zero-copy) | not measured |";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn only_the_generated_part_is_replaced() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter");
        let replaced = replace(&text, "new").expect("the lines are there");
        assert_eq!(replaced, format!("before\n{BEGIN}\nnew\n{END}\nafter"));
        assert_eq!(replace("no lines", "new"), None);
    }
}
