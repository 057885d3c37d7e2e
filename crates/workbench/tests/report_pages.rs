//! Report pages as a browser shows them: nothing is clipped, no plot is empty, and lines can be told apart.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Widths of a page: a small window, a laptop's screen, and a large one.
const WIDTHS: [u32; 3] = [800, 1400, 1920];
/// What runs in the page.
const AUDIT: &str = include_str!("report_pages/audit.js");

/// One experiment at least for each kind of plot, those whose plots have most lines, and those with the longest names.
const EXPERIMENTS: [&str; 14] = [
    "fig1",
    "fig8-rare",
    "fig10",
    "fig12",
    "fig13",
    "fig19",
    "fig20",
    "fig15",
    "mechanisms",
    "table4",
    "reordering",
    "rdma-protection",
    "sqr-route-failure",
    "load-balanced",
];

/// What is wrong with a page at a width, a line each, and how many plots it has.
fn audit(html: &str, width: u32) -> (Vec<String>, usize) {
    let folder = TempDir::new().expect("a folder");
    let page = folder.path().join("page.html");
    let (before, after) = html.rsplit_once("</body>").expect("a page");
    fs::write(&page, format!("{before}<script>{AUDIT}</script></body>{after}")).expect("it is written");
    let output = Command::new(browser())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--window-size={width},1000"))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .expect("the browser starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (_, text) = text.split_once("AUDIT of ").unwrap_or_else(|| panic!("no audit in {text}"));
    let (text, _) = text.split_once("END").expect("the end of the audit");
    let mut lines = text.lines();
    let heading = lines.next().expect("a heading");
    assert!(heading.ends_with(&format!("plots at {width}")), "{heading}");
    let plots = heading.split(' ').next().and_then(|count| count.parse().ok()).expect("a number");
    (lines.map(|line| line.trim_start_matches("- ").to_owned()).collect(), plots)
}

fn browser() -> &'static str {
    let is_there = |name: &&str| {
        let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(is_there)
        .expect("this test needs Chromium; `scripts/require test` installs it (apt-get install chromium)")
}

fn linkmend(arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it starts");
    assert!(status.success(), "{arguments:?}: {status}");
}

fn assert_readable(page: &Path, least_plots: usize) {
    let html = fs::read_to_string(page).expect("the page");
    for width in WIDTHS {
        let (wrong, plots) = audit(&html, width);
        assert!(wrong.is_empty(), "{} at {width}:\n{}", page.display(), wrong.join("\n"));
        assert!(plots >= least_plots, "{} has {plots} plots", page.display());
    }
}

#[test]
fn the_report_of_the_papers_experiments_can_be_read() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().to_str().expect("UTF-8");
    linkmend(&[&["reproduce", "--quick", "--out", out][..], &EXPERIMENTS[..]].concat());
    assert_readable(&folder.path().join("report.html"), 25);
}

#[test]
fn the_report_of_a_timeline_can_be_read() {
    let folder = TempDir::new().expect("a folder");
    let page = folder.path().join("timeline.html");
    linkmend(&["sim", "timeline", "--report", page.to_str().expect("UTF-8")]);
    assert_readable(&page, 1);
}

/// A page with one defect of each kind: the audit has to find each, and nothing else.
#[test]
fn the_audit_finds_each_defect() {
    let plot = |content: &str| {
        format!(
            "<svg class=lm-plot viewBox='0 0 760 100' width=760 height=100><title>t</title>{content}</svg>"
        )
    };
    let line = |dash: &str, name: &str| {
        format!(
            "<path class=lm-line stroke=red stroke-dasharray='{dash}' d='M0 0L9 9'><title>{name}</title></path>"
        )
    };
    let key = |class: &str, name: &str| {
        format!(
            "<g class=lm-key><rect fill='{class}' width=9 height=9></rect></g><text x=20 y=20>{name}</text>"
        )
    };
    let area = |lines: &[String]| plot(&format!("<svg>{}</svg>", lines.concat()));
    let cases = [
        (plot("<text x=10 y=20>fine</text>"), ""),
        (plot("<text x=740 y=20>too far to the right</text>"), "is outside the plot"),
        (plot("<text x=10 y=130>too far down</text>"), "is outside the plot"),
        (plot("<text x=10 y=20>a name that…</text>"), "is cut"),
        (plot("<text x=10 y=20>no data</text>"), "no data"),
        (area(&[line("", "a"), line("8 3", "b"), line("8 3", "b")]), ""),
        (area(&[line("8 3", "a"), line("8 3", "b")]), "lines \"a\" and \"b\" look alike"),
        (plot(&[key("red", "a"), key("blue", "b")].concat()), ""),
        (plot(&[key("red", "a"), key("red", "b")].concat()), "entries \"a\" and \"b\" look alike"),
        (
            "<p style='width:100px;overflow:hidden;white-space:nowrap'>more than there is room for</p>"
                .into(),
            "is clipped",
        ),
        ("<pre style='width:100px;overflow:auto'>a file that may be scrolled</pre>".into(), ""),
    ];
    let section = |(number, (content, _)): (usize, &(String, &str))| {
        format!("<section><h2>case {number}</h2>{content}</section>")
    };
    let sections: String = cases.iter().enumerate().map(section).collect();
    let (found, _) = audit(&format!("<!DOCTYPE html><html><body>{sections}</body></html>"), WIDTHS[0]);
    for (number, (content, wrong)) in cases.iter().enumerate() {
        let here = format!("case {number}");
        let of_case =
            |line: &&String| line.starts_with(&format!("{here}:")) || line.starts_with(&format!("{here} /"));
        let here: Vec<_> = found.iter().filter(of_case).collect();
        let expected = usize::from(!wrong.is_empty());
        assert!(
            here.len() == expected && here.iter().all(|line| line.contains(wrong)),
            "{content}: {here:?}"
        );
    }
}
