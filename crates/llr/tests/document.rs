//! The tables of `docs/llr.md` are what the library says. `UPDATE_EXPECT=1` writes them anew.

use expect_test::expect_file;
use linkmend_llr::Span;
use linkmend_llr::config::OPEN_QUESTIONS;
use linkmend_llr::conformance::{self, ERRATA};
use linkmend_llr::plan::budget;
use linkmend_llr::presets::PRESETS;

const DOCUMENT: &str = include_str!("../../../docs/llr.md");

/// The document with another text between two of its marks.
fn with_section(document: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let (before, rest) = document.split_once(&begin).expect("the section begins");
    let (_, after) = rest.split_once(&end).expect("the section ends");
    format!("{before}{begin}{text}{end}{after}")
}

fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header = header.map(str::to_owned);
    let rule = header.clone().map(|_| "---".to_owned());
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    line(&header) + &line(&rule) + &rows
}

/// 105800 as 105,800.
fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for at in (first..digits.len()).step_by(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&digits[at..at + 3]);
    }
    text
}

fn presets() -> String {
    let rows = PRESETS.iter().map(|preset| {
        let config = preset.config;
        let count = if config.replay_count_max == 255 {
            "no limit".to_owned()
        } else {
            config.replay_count_max.to_string()
        };
        [
            format!("`{}`", preset.name),
            thousands(config.outstanding_frames_max.into()),
            thousands(config.outstanding_bytes_max.into()),
            thousands(config.replay_timer_ns.into()),
            count,
            thousands(config.pcs_lost_timeout_ns.into()),
            thousands(config.data_age_timeout_ns.into()),
            preset.source.to_owned(),
        ]
    });
    table(["name", "frames", "bytes", "timer, ns", "count", "PCS, ns", "age, ns", "source"], rows)
}

fn cases() -> String {
    let rows = conformance::run().into_iter().map(|case| {
        let passed = case.checks.iter().filter(|check| check.pass).count();
        let values = case.checks.iter().map(|check| format!("{} {}", check.what, check.found));
        let shown: Vec<String> = values.take(4).collect();
        let rest = case.checks.len() - shown.len();
        let more = if rest > 0 { format!("; {rest} more") } else { String::new() };
        [
            case.id.to_owned(),
            case.stimulus.to_owned(),
            format!("{}{more}", shown.join("; ")),
            format!("{passed} of {}", case.checks.len()),
            case.note.to_owned(),
        ]
    });
    table(["case", "stimulus", "found", "as expected", "remark"], rows)
}

fn choices() -> String {
    let rows = OPEN_QUESTIONS.iter().map(|open| {
        [
            format!("`{}`", open.field),
            open.question.to_owned(),
            open.answers.to_owned(),
            open.reason.to_owned(),
        ]
    });
    table(["field", "question", "answers", "reason for the default"], rows)
}

fn errata() -> String {
    let rows = ERRATA.iter().map(|erratum| {
        [erratum.source, erratum.says, erratum.instead, erratum.evidence, erratum.shown_by].map(str::to_owned)
    });
    table(["source", "says", "instead", "evidence", "shown by"], rows)
}

fn metas_budget() -> String {
    let budget = budget(135_400, 400_000_000_000, Span::from_nanos(132), 9_000, 2_048);
    let rows = budget
        .steps
        .iter()
        .map(|step| [step.name.to_owned(), step.arithmetic.clone(), format!("{} {}", step.value, step.unit)]);
    table(["step", "arithmetic", "value"], rows)
}

#[test]
fn the_tables_are_what_the_library_says() {
    let sections = [
        ("choices", choices()),
        ("presets", presets()),
        ("budget", metas_budget()),
        ("cases", cases()),
        ("errata", errata()),
    ];
    let expected = sections
        .iter()
        .fold(DOCUMENT.to_owned(), |document, (name, text)| with_section(&document, name, text));
    expect_file!["../../../docs/llr.md"].assert_eq(&expected);
}
