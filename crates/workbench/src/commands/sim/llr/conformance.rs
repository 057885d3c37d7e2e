//! `linkmend sim llr --conformance`: the published test cases.

use super::TABLE_WIDTH;
use linkmend::failure::{Plain, Result, UsageError};
use linkmend::output;
use linkmend_llr::conformance::{CaseResult, ERRATA, names, run, run_one};
use linkmend_report::{Cell, Column, Table};
use serde_json::{Value, json};

/// Runs all cases, or one.
pub(super) fn execute(case: Option<&str>, as_json: bool) -> Result<()> {
    let results = match case {
        None => run(),
        Some(id) => vec![run_one(id).ok_or_else(|| unknown(id))?],
    };
    let (width, colour) = output::terminal(TABLE_WIDTH);
    if as_json {
        output::print(&serde_json::to_string_pretty(&object(&results))?)?;
    } else if case.is_some() {
        output::print(
            &results.iter().map(|result| values(result).to_text(width, colour)).collect::<String>(),
        )?;
    } else {
        output::print(&overview(&results).to_text(width, colour))?;
        output::print("\n")?;
        output::print(&errata().to_text(width, colour))?;
    }
    let failed: Vec<&str> = results.iter().filter(|result| !result.pass()).map(|result| result.id).collect();
    if failed.is_empty() { Ok(()) } else { Err(Plain(format!("failed: {}", failed.join(", "))).into()) }
}

fn unknown(id: &str) -> UsageError {
    let known: Vec<&str> = names().collect();
    UsageError::hinted(format!("--case {id}: there is no such case"), format!("cases: {}", known.join(", ")))
}

fn overview(results: &[CaseResult]) -> Table {
    let mut table = Table::new("Published test cases of Link Layer Retry")
        .column(Column::name("Case"))
        .column(Column::text("What is done"))
        .column(Column::text("As expected"))
        .column(Column::text("Remark"));
    for result in results {
        let passed = result.checks.iter().filter(|check| check.pass).count();
        let share = Cell::text(format!("{passed} of {}", result.checks.len()));
        table.push_row([
            Cell::text(result.id),
            Cell::text(result.stimulus),
            if result.pass() { share.good() } else { share.bad() },
            Cell::text(result.note).neutral(),
        ]);
    }
    table.note("`--case ID` shows every value of a case.")
}

fn values(result: &CaseResult) -> Table {
    let mut table = Table::new(format!("{}: {}", result.id, result.stimulus))
        .column(Column::text("Value"))
        .column(Column::text("Expected"))
        .column(Column::text("Found"));
    for check in &result.checks {
        let found = Cell::text(check.found.as_str());
        table.push_row([
            Cell::text(check.what.as_str()),
            Cell::text(check.expected.as_str()),
            if check.pass { found.good() } else { found.bad() },
        ]);
    }
    if result.note.is_empty() { table } else { table.note(result.note) }
}

fn errata() -> Table {
    let mut table = Table::new("What public texts have wrong")
        .column(Column::text("Source"))
        .column(Column::text("Says"))
        .column(Column::text("Instead"))
        .column(Column::name("Shown by"));
    for erratum in ERRATA {
        table.push_row([erratum.source, erratum.says, erratum.instead, erratum.shown_by]);
    }
    table
}

fn object(results: &[CaseResult]) -> Value {
    let cases = results.iter().map(|result| {
        let checks = result.checks.iter().map(|check| {
            json!({
                "what": check.what,
                "expected": check.expected,
                "found": check.found,
                "pass": check.pass,
            })
        });
        json!({
            "id": result.id,
            "stimulus": result.stimulus,
            "pass": result.pass(),
            "note": result.note,
            "checks": checks.collect::<Vec<_>>(),
        })
    });
    let errata = ERRATA.iter().map(|erratum| {
        json!({
            "source": erratum.source,
            "says": erratum.says,
            "instead": erratum.instead,
            "evidence": erratum.evidence,
            "shown_by": erratum.shown_by,
        })
    });
    json!({ "cases": cases.collect::<Vec<_>>(), "errata": errata.collect::<Vec<_>>() })
}
