//! `linkmend fleet plan` as users meet it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A fabric whose plan can be followed by hand: a ToR has 8 paths and must keep 6.
const FABRIC: &str = "facebook-fabric:pods=3,tors=4,fabric-switches=4,spines=2";

const LINKS: &str = "\
link,loss_rate,state
pod0-tor0--pod0-fabric0,1e-3,active
pod0-tor0--pod0-fabric1,2e-2
pod0-tor1--pod0-fabric3,1e-9
pod1-tor2--pod1-fabric0,,disabled
pod1-tor2--pod1-fabric1,,disabled
pod1-fabric2--spine2-1,1e-4
";

fn plan(folder: &Path, links: &str, arguments: &[&str]) -> (i32, String, String) {
    let file = folder.join("links.csv");
    fs::write(&file, links).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
        .current_dir(folder)
        .args(["fleet", "plan", "--topology", FABRIC, "--links", "links.csv"])
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn well(links: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = plan(folder.path(), links, arguments);
    assert_eq!((code, err.as_str()), (0, ""));
    out
}

#[test]
fn the_tables_are_the_golden_ones() {
    expect_test::expect_file!["golden/fleet-plan.txt"].assert_eq(&well(LINKS, &["--crew", "2"]));
}

#[test]
fn explanations_are_wrapped_and_hint_at_the_network() {
    let text = well(LINKS, &["--explain", "0"]);
    assert!(text.lines().count() > 4 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let (_, _, err) = plan(folder.path(), "link,loss_rate\npod9-tor0--pod9-fabric0,1e-3\n", &[]);
    assert!(err.contains("\nhint: the network is facebook-fabric:pods=3"), "{err}");
}

#[test]
fn a_file_without_links_is_a_plan_without_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = plan(folder.path(), "link,loss_rate\n", &["--html", "plan.html"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.ends_with("  The file has no links, so there is nothing to do.\n") && !out.contains("Repairs"),
        "{out}"
    );
    let html = fs::read_to_string(folder.path().join("plan.html")).expect("a page");
    assert!(html.contains("there is nothing to do") && !html.contains("Repairs"));
}

#[test]
fn the_explanations_are_the_golden_ones() {
    let links = ["pod0-tor0--pod0-fabric0", "3", "pod1-tor2--pod1-fabric0", "pod1-fabric2--spine2-1", "7"];
    let links = links.map(|link| well(&format!("{LINKS}3,5e-5\n"), &["--explain", link]));
    expect_test::expect_file!["golden/fleet-plan-explain.txt"].assert_eq(&links.join("\n"));
}

#[test]
fn json_has_every_link_pod_and_tor() {
    let json: serde_json::Value = serde_json::from_str(&well(LINKS, &["--json"])).expect("JSON");
    let count = |key: &str| json[key].as_array().map_or(0, Vec::len);
    assert_eq!((count("links"), count("pods"), count("tors")), (6, 3, 12));
    assert_eq!(json["links"][0]["action"], "disable");
    assert_eq!(json["links"][0]["ends"], "pod0-tor0--pod0-fabric1");
    assert_eq!(json["before"]["short_tors"], 1);
    assert_eq!(json["repairs"][0]["shortage_ended_paths"], 2);
}

#[test]
fn the_same_links_give_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = || {
        let (code, out, err) = plan(folder.path(), LINKS, &["--html", "plan.html", "--json"]);
        assert_eq!((code, err.as_str()), (0, ""));
        (out, fs::read_to_string(folder.path().join("plan.html")).expect("a page"))
    };
    let (first, second) = (page(), page());
    assert_eq!(first, second);
    // The page needs nothing else, and draws the pods that have links in the file.
    let html = first.1;
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href=\"http"));
    assert!(
        html.contains("<h2>pod0</h2>") && html.contains("<h2>pod1</h2>") && !html.contains("<h2>pod2</h2>")
    );
    assert!(html.contains("pod0-tor0--pod0-fabric1, loses 2.0e-2: disable</title>"));
}

#[test]
fn wrong_files_and_arguments_are_refused_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&str, &[&str], &str); 7] = [
        ("", &[], "error: links.csv:1: the header is missing"),
        ("link,loss_rate\n60,1e-3\n72,1e-3\n", &[], "error: links.csv:3: there is no link `72`"),
        (
            "link,loss_rate\n1,1e-3\n1,1e-3\n",
            &[],
            "error: links.csv:3: link pod0-tor0--pod0-fabric1 is already on line 2",
        ),
        ("link,loss_rate\n1,2\n", &[], "error: links.csv:2: loss rate `2` is not a number from 0 to 1"),
        (
            LINKS,
            &["--upgraded", "pod0,pod9"],
            "error: --upgraded pod0,pod9: there is no pod or switch `pod9`\nhint: pods are pod0 to pod2, ",
        ),
        (LINKS, &["--constraint", "140%"], "not a share from 0% to 100%"),
        (LINKS, &["--explain", "pod9"], "error: --explain pod9: there is no link `pod9`"),
    ];
    for (links, arguments, message) in cases {
        let (code, out, err) = plan(folder.path(), links, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(message), "{err}");
    }
    let (code, out, err) = plan(folder.path(), LINKS, &["--explain", "20", "--html", "none.html"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: --explain 20: this link is not in links.csv"), "{err}");
    assert!(!folder.path().join("none.html").exists());
}

/// Runs in the folder of the documents' examples.
fn examples(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"))
        .args(["fleet", "plan"])
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    assert!(output.stdout.is_empty(), "{arguments:?} was not refused");
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn swapped_files_are_recognised() {
    let cases: [(&str, &str, &str); 3] = [
        (
            "corrupting.csv",
            "net.yaml",
            "error: --topology and --links are swapped: corrupting.csv is a list of links, and net.yaml is a network\n\
             hint: --topology net.yaml --links corrupting.csv\n",
        ),
        (
            "corrupting.csv",
            "corrupting.csv",
            "error: --topology corrupting.csv: this is a list of links, not a network\nhint: --links takes it; ",
        ),
        (
            "net.yaml",
            "net.yaml",
            "error: --links net.yaml: this is a network, not a list of links\nhint: --topology takes it; ",
        ),
    ];
    for (topology, links, message) in cases {
        let (code, err) = examples(&["--topology", topology, "--links", links]);
        assert!(code == 2 && err.starts_with(message), "exit code {code}: {err}");
    }
}

#[test]
fn a_pod_or_switch_given_for_a_link_is_recognised() {
    let cases = [
        (
            "a",
            "error: --explain a: `a` is a pod, not a link; its links are tor1--agg1, tor1--agg2, tor2--agg1, tor2--agg2 \
             and 4 more\nhint: write one of those in corrupting.csv: tor1--agg1, tor1--agg2, agg2--spine1\n",
        ),
        (
            "tor1",
            "error: --explain tor1: `tor1` is a switch, not a link; its links are tor1--agg1, tor1--agg2\n\
             hint: write one of those in corrupting.csv: tor1--agg1, tor1--agg2\n",
        ),
        (
            "tor2",
            "error: --explain tor2: `tor2` is a switch, not a link; its links are tor2--agg1, tor2--agg2\n\
             hint: none of them is in corrupting.csv, so they are not planned for\n",
        ),
    ];
    for (written, message) in cases {
        let arguments = ["--topology", "net.yaml", "--links", "corrupting.csv", "--explain", written];
        assert_eq!(examples(&arguments), (2, message.to_owned()));
    }
}
