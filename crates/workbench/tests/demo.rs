//! `linkmend demo` for an ordinary user.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const NOBODY: u32 = 65534;

/// The whole course, shorter, on a slower path that loses more.
#[test]
fn over_a_path_of_the_internet_linkmend_loses_nothing_and_tcp_is_faster() {
    let test = "over_a_path_of_the_internet_linkmend_loses_nothing_and_tcp_is_faster";
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!("\n######## SKIPPED: {test} needs root: sudo -E make test ########\n");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (report, plots) = (at("report.html"), at("plots"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
    command.args(["demo", "--wan", "--quick", "--rate", "10M", "--loss", "0.1", "--json", "--packet"]);
    command.args(["--report", &report, "--plots", &plots]);
    let output = command.env_remove("RUST_LOG").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let columns = result["columns"].as_array().expect("columns");
    let number = |column: &Value, path: &str| {
        column.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {column}"))
    };
    let goodput = |at: usize| number(&columns[at], "/transfer/goodput_bps");
    for (column, repair) in columns.iter().zip(["none", "ordered", "non_blocking", "in_time"]) {
        assert_eq!(column["repair"], repair);
        assert!(number(column, "/path/lost") > 0.0 && number(column, "/path/duplicated") > 0.0, "{repair}");
        let of = |what: &str| number(column, &format!("/datagrams/{what}"));
        assert!(of("sent") > 100.0 && of("delay_ns/min") >= 50e6, "{repair}");
        match repair {
            "none" => assert!(of("lost") > 0.0 && of("delay_ns/p50") < 100e6, "{column}"),
            // Of a few hundred, parity may miss one.
            "in_time" => {
                assert!(of("lost") < of("sent") / 50.0 && of("duplicated") == 0.0, "{column}");
                assert!(of("delay_ns/p50") < 100e6, "{column}");
            }
            _ => assert_eq!((of("lost"), of("duplicated")), (0.0, 0.0), "{repair}"),
        }
        assert!(["none", "non_blocking"].contains(&repair) || of("reordered") == 0.0);
    }
    assert!(
        goodput(1) > 2.0 * goodput(0) && goodput(2) > goodput(0),
        "{} {} {}",
        goodput(0),
        goodput(1),
        goodput(2)
    );
    let read = |path: &str| std::fs::read_to_string(path).expect("written");
    assert!(read(&report).contains("A path of the Internet: 10.0 Mbit/s, round trip 100 ms"));
    for name in ["wan-goodput", "wan-delay"] {
        assert!(read(&format!("{plots}/demo-{name}.svg")).starts_with("<svg"), "{name}");
        assert!(read(&format!("{plots}/demo-{name}.csv")).contains("Linkmend, ordered"), "{name}");
    }
}

#[test]
fn an_ordinary_user_gets_a_demo_in_a_user_namespace() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!("\n######## SKIPPED: an_ordinary_user_gets_a_demo needs root, to become nobody ########\n");
        return;
    }
    // No other user can read this folder.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("readable");
    let program = folder.path().join("linkmend");
    std::fs::copy(env!("CARGO_BIN_EXE_linkmend-workbench"), &program).expect("copied");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("readable");
    let said = folder.path().join("said");
    let mut command = Command::new(&program);
    command.args(["demo", "--quick", "--no-report"]).uid(NOBODY).gid(NOBODY).current_dir("/");
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&said).expect("a file"));
    let mut demo = command.env_remove("RUST_LOG").spawn().expect("it starts");
    let started = Instant::now();
    let mut text = String::new();
    // The test runs until the first slot begins; other tests measure the rest of the demo.
    while !text.contains("[1/") && started.elapsed() < Duration::from_secs(60) {
        if demo.try_wait().expect("it can be watched").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        text = std::fs::read_to_string(&said).expect("a file");
    }
    demo.kill().expect("it is ours");
    demo.wait().expect("it is ours");
    text = std::fs::read_to_string(&said).expect("a file");
    if text.contains("is switched off") || text.contains("a container or security module forbids it") {
        eprintln!(
            "\n######## SKIPPED: an_ordinary_user_gets_a_demo: no user namespaces here: {text} ########\n"
        );
        return;
    }
    assert!(text.contains("running in a user namespace") && text.contains("[1/"), "{text}");
}
