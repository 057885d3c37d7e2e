//! The comparison as Markdown.

use crate::measure::{Column, Quantity, Row};

/// The lines around the generated part of a document.
pub const BEGIN: &str = "<!-- Written by `make kernels`: from here -->";
/// The last of them.
pub const END: &str = "<!-- Written by `make kernels`: to here -->";

/// Rows by column of kernels, and the simulator's last.
pub fn markdown(kernels: &[Column], simulated: &Column) -> String {
    let mut lines = vec![String::new()];
    let mut header = vec!["scenario".to_owned(), "value".to_owned()];
    header.extend(kernels.iter().map(|kernel| short(&kernel.name)));
    header.extend(["simulated".to_owned(), String::new()]);
    lines.push(line(&header));
    lines.push(line(&vec!["---".to_owned(); header.len()]));
    for row in &all_rows(kernels, simulated) {
        let mut cells = vec![row.scenario.clone(), row.quantity.name()];
        let beside: Vec<_> = kernels.iter().map(|kernel| kernel.row(row)).collect();
        cells.extend(beside.iter().map(|row| row.map_or("none".to_owned(), cell)));
        let own = simulated.row(row);
        cells.push(own.map_or("none".to_owned(), cell));
        cells.push(if differs(row, own, &beside) { "differs".to_owned() } else { String::new() });
        lines.push(line(&cells));
    }
    lines.push(String::new());
    lines.push(format!("{}.", summary(kernels, simulated)));
    lines.push(String::new());
    lines.join("\n")
}

/// How many rows differ.
pub fn summary(kernels: &[Column], simulated: &Column) -> String {
    let beside = |row: &Row| kernels.iter().map(|kernel| kernel.row(row)).collect::<Vec<_>>();
    let rows = all_rows(kernels, simulated);
    let count = rows.iter().filter(|row| differs(row, simulated.row(row), &beside(row))).count();
    format!("The simulator differs from all kernels in {count} of {} rows", rows.len())
}

/// The simulator's rows, and after those of the same scenario what only kernels have.
fn all_rows(kernels: &[Column], simulated: &Column) -> Vec<Row> {
    let mut rows = simulated.rows.clone();
    for row in kernels.iter().flat_map(|kernel| &kernel.rows) {
        let is_there = |known: &Row| known.scenario == row.scenario && known.quantity == row.quantity;
        if !rows.iter().any(is_there) {
            let last = rows.iter().rposition(|known| known.scenario == row.scenario);
            rows.insert(last.map_or(rows.len(), |last| last + 1), row.clone());
        }
    }
    rows
}

/// Replaces what is between the lines in a document; `None` if they are not there.
pub fn replace(text: &str, markdown: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{markdown}\n{END}{after}"))
}

/// Whether the simulator's mean lies outside those of the kernels, by more than the tolerance, or it has none. What no kernel has,
/// perhaps for want of a module, is not compared.
fn differs(row: &Row, simulated: Option<&Row>, kernels: &[Option<&Row>]) -> bool {
    let means: Vec<f64> = kernels.iter().flatten().filter_map(|row| row.mean()).collect();
    if means.is_empty() {
        return false;
    }
    let Some(mean) = simulated.and_then(Row::mean) else { return true };
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let tolerance = |kernel: f64| row.quantity.tolerance(kernel);
    mean < least - tolerance(least) || mean > most + tolerance(most)
}

/// The range of a row's values.
fn cell(row: &Row) -> String {
    let least = row.samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = row.samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = [least, most].map(|value| number(row.quantity, value));
    if low == high { low } else { format!("{low} to {high}") }
}

fn number(quantity: Quantity, value: f64) -> String {
    let decimals = match quantity {
        Quantity::QuickAcks | Quantity::WindowBefore | Quantity::Threshold | Quantity::WindowAfter => 0,
        _ if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// The version without what a distribution adds to it.
fn short(release: &str) -> String {
    release.split(['-', '+']).next().unwrap_or(release).to_owned()
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, samples: &[f64]) -> Column {
        let row = Row {
            scenario: "last 10ms".to_owned(),
            quantity: Quantity::Retransmission,
            samples: samples.to_vec(),
        };
        Column { name: name.to_owned(), rows: vec![row] }
    }

    #[test]
    fn the_simulator_differs_if_its_mean_is_outside_of_all_kernels_by_half_a_tick() {
        let kernels = [column("5.10.0-32-cloud-amd64", &[30.0, 32.0]), column("6.1.0", &[40.0, 44.0])];
        for (samples, is_different) in
            [([29.5, 28.8], false), ([28.5, 28.8], true), ([43.0, 44.5], false), ([44.0, 44.5], true)]
        {
            let simulated = column("simulated", &samples);
            let text = markdown(&kernels, &simulated);
            assert_eq!(text.contains("| differs |"), is_different, "{text}");
            let count = usize::from(is_different);
            assert!(text.contains(&format!("in {count} of 1 rows")), "{text}");
            assert!(text.contains("| 5.10.0 | 6.1.0 | simulated |"), "{text}");
            assert!(text.contains("| 30.0 to 32.0 | 40.0 to 44.0 |"), "{text}");
        }
    }

    #[test]
    fn what_only_the_simulator_does_is_no_difference_without_a_kernel_to_compare() {
        let kernel = Column { name: "6.1".to_owned(), rows: Vec::new() };
        let text = markdown(&[kernel], &column("simulated", &[1.0]));
        assert!(text.contains("| none | 1.0 |  |"), "{text}");
    }

    #[test]
    fn what_only_a_kernel_does_is_a_difference() {
        let simulated = Column { name: "simulated".to_owned(), rows: Vec::new() };
        let text = markdown(&[column("6.1", &[1.0])], &simulated);
        assert!(text.contains("| 1.0 | none | differs |"), "{text}");
        assert!(text.contains("in 1 of 1 rows"), "{text}");
    }

    #[test]
    fn only_the_generated_part_is_replaced() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter");
        let replaced = replace(&text, "new").expect("the lines are there");
        assert_eq!(replaced, format!("before\n{BEGIN}\nnew\n{END}\nafter"));
        assert_eq!(replace(&replaced, "new").as_deref(), Some(replaced.as_str()));
        assert_eq!(replace("no lines", "new"), None);
    }
}
