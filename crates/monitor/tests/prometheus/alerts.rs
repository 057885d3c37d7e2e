//! The delivered alerts, in Prometheus' and Alertmanager's own tools.

use super::programs::are_installed;
use std::path::Path;
use std::process::Command;

/// Runs a tool on a file of this repository.
fn run(program: &str, arguments: &[&str], file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let output = Command::new(program).args(arguments).arg(path).output().expect("it is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn each_trouble_fires_its_alert_and_nothing_else_does() {
    if are_installed("each_trouble_fires_its_alert_and_nothing_else_does", &["promtool"]) {
        run("promtool", &["test", "rules"], "crates/monitor/tests/prometheus/alerts.yml");
    }
}

#[test]
fn alertmanager_takes_the_delivered_routes() {
    if are_installed("alertmanager_takes_the_delivered_routes", &["amtool"]) {
        run("amtool", &["check-config"], "dist/corruptd-alertmanager.yml");
    }
}

/// Alertmanager shows what an alert means and where to read on.
#[test]
fn every_alert_says_what_to_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("it is delivered");
    let (rules, page) = (read("dist/corruptd-alerts.yml"), read("docs/corruptd.md"));
    let alerts: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    assert!(alerts.len() >= 10, "{rules}");
    for alert in alerts {
        let name = alert.lines().next().unwrap_or_default();
        for part in
            ["severity: ", "summary: ", "description: ", "runbook_url: \"https://", "corruptd.md#alerts"]
        {
            assert!(alert.contains(part), "{name} has no {part}");
        }
        assert!(
            page.contains(&format!("| `{name}` |")),
            "docs/corruptd.md does not say what to do about {name}"
        );
    }
    assert!(page.contains("\n### Alerts\n"));
}
