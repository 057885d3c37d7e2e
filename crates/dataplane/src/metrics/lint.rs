//! Checks that a page would pass `promtool check metrics`: by promtool itself where it is installed, and everywhere by
//! those of its rules that apply to us.

use super::encode::{encode, sample};
use linkmend_control::metrics::from_open_metrics;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

fn page() -> String {
    from_open_metrics(&encode(vec![sample()], vec!["downlink".to_owned()]))
}

/// The rules of promlint, and of the format itself.
fn complaints(page: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let (mut helps, mut types): (BTreeMap<&str, &str>, BTreeMap<&str, &str>) = Default::default();
    let mut families_seen: Vec<&str> = Vec::new();
    for line in page.lines() {
        let mut complain = |what: &str| complaints.push(format!("{what}: {line}"));
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (keyword, name, rest) =
                (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
            let known = match keyword {
                "HELP" if !rest.is_empty() => helps.insert(name, rest),
                "TYPE" if ["counter", "gauge", "histogram"].contains(&rest) => types.insert(name, rest),
                _ => {
                    complain("not a comment of the format");
                    None
                }
            };
            if known.is_some() {
                complain("said twice");
            }
            continue;
        }
        let name = line.split(['{', ' ']).next().unwrap_or("");
        let bare = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        let family = bare.filter(|bare| types.get(bare) == Some(&"histogram")).unwrap_or(name);
        match types.get(family) {
            None => complain("a sample without a type"),
            Some(&"counter") if !family.ends_with("_total") => complain("a counter without `_total`"),
            Some(&kind) if kind != "counter" && family.ends_with("_total") => {
                complain("`_total`, no counter")
            }
            Some(_) => {}
        }
        if !helps.contains_key(family) {
            complain("a sample without help");
        }
        if families_seen.last() != Some(&family) {
            if families_seen.contains(&family) {
                complain("a family in two places");
            }
            families_seen.push(family);
        }
        if name.chars().any(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')) {
            complain("not snake case");
        }
        let of_units = ["_ns", "_us", "_ms", "_milliseconds", "_kilobytes", "_kb", "_bits", "_percent"];
        if of_units.iter().any(|unit| family.trim_end_matches("_total").ends_with(unit)) {
            complain("not a base unit");
        }
        if line.rsplit(' ').next().is_none_or(|value| value.parse::<f64>().is_err()) {
            complain("not a number");
        }
    }
    complaints
}

#[test]
fn the_text_format_obeys_the_rules_of_prometheus() {
    assert_eq!(complaints(&page()), Vec::<String>::new());
    // This shows that the rules can fail: OpenMetrics breaks some of them.
    assert!(complaints(&encode(vec![sample()], Vec::new())).len() > 10);
}

#[test]
fn promtool_has_nothing_to_complain_of() {
    let child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        // Written past the test harness, which swallows what passing tests print.
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: promtool_has_nothing_to_complain_of needs promtool, which scripts/require test fetches ########\n"
        );
        return;
    };
    child.stdin.take().expect("a pipe").write_all(page().as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && said.is_empty(), "{said}");
}
