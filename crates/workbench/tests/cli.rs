//! The second program as users meet it: help, errors, manual pages and completions of both programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_linkmend-workbench");

fn linkmend(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

/// Exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    outcome(linkmend(arguments).output().expect("it starts"))
}

fn outcome(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn help_is_the_golden_one() {
    for command in [
        "generate",
        "corruptd evaluate",
        "demo",
        "lab",
        "lab up",
        "lab cut",
        "lab mend",
        "sim",
        "sim stress",
        "sim run",
        "sim flows",
        "sim kernel",
        "sim packetdrill",
        "sim llr",
        "sim llr plan",
        "sim replay",
        "sim timeline",
        "sim links",
        "rdma",
        "rdma model",
        "rdma plan",
        "rdma check",
        "reproduce",
        "merge",
        "fleet",
        "fleet deploy",
        "fleet plan",
        "fleet show",
        "fleet simulate",
        "fleet trace",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let (code, out, err) = run(&arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{command}");
        let name = if command.is_empty() { "linkmend".to_owned() } else { command.replace(' ', "-") };
        let golden = format!("{}/tests/golden/help-{name}.txt", env!("CARGO_MANIFEST_DIR"));
        expect_test::expect_file![golden].assert_eq(&out);
    }
}

/// The other program, which cargo builds beside this one, but not for the tests of this package alone.
fn other_program() -> std::path::PathBuf {
    let other = Path::new(PROGRAM).with_file_name("linkmend");
    assert!(other.is_file(), "{} is not there: `cargo build -p linkmend` builds it", other.display());
    other
}

#[test]
fn linkmend_starts_this_program_with_the_same_arguments() {
    let linkmend = other_program();
    let of_linkmend = |arguments: &[&str]| {
        let mut command = Command::new(&linkmend);
        command.args(arguments).env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
        outcome(command.output().expect("it starts"))
    };
    let simulation = ["sim", "stress", "--speed", "100G", "--loss", "1e-3", "--frames", "20k", "--json"];
    let (code, said, log) = of_linkmend(&simulation);
    assert_eq!((code, said.is_empty()), (0, false), "{log}");
    for arguments in [
        &["sim", "--help"][..],
        &["help", "fleet", "plan"],
        &["sim", "--version"],
        &["rdma", "model", "--loss", "2"],
        &["-v", "fleet", "show", "/nowhere"],
    ] {
        assert_eq!(of_linkmend(arguments), run(arguments), "{arguments:?}");
    }
    assert_eq!(of_linkmend(&["--version"]), run(&["--version"]));
}

#[test]
fn manual_pages_and_completions_are_of_both_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    for what in ["man", "completions"] {
        let path = folder.path().join(what);
        let (code, _, err) = run(&["generate", what, path.to_str().expect("UTF-8")]);
        assert_eq!(code, 0, "{err}");
    }
    let page = |name: &str| fs::read_to_string(folder.path().join("man").join(name)).expect("a page");
    assert!(page("linkmend-run.1").contains("create:NAME"));
    assert!(page("linkmend-sim-stress.1").contains("linkmend sim stress"));
    for name in ["linkmend.bash", "_linkmend", "linkmend.fish", "linkmend.elv"] {
        let completions = fs::read_to_string(folder.path().join("completions").join(name)).expect("a file");
        assert!(completions.contains("corruptd") && completions.contains("packetdrill"), "{name}");
    }
}

/// The first line must not say that the lab is not up if something else is wrong.
#[test]
fn the_first_line_of_a_lab_in_trouble_says_what_is_wrong() {
    let mut command = linkmend(&["lab", "status", "--prefix", "lmnone"]);
    let (code, _, err) = outcome(command.output().expect("it starts"));
    assert_eq!(code, 1);
    let first = err.lines().next().unwrap_or_default();
    if first != "error: commands for a persistent lab require root" {
        assert_eq!(first, "error: lab `lmnone` is not running", "as root");
        assert!(err.contains("hint: create it with `linkmend lab up --prefix lmnone`"), "{err}");
    }
    // The binary may be in a folder that no other user can read.
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let binary = folder.path().join("linkmend");
    fs::copy(PROGRAM, &binary).expect("a copy");
    let open = std::os::unix::fs::PermissionsExt::from_mode;
    fs::set_permissions(folder.path(), open(0o755)).expect("ours");
    for asked in ["up", "down", "status", "unprotect"] {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&binary);
        let Ok(output) = command.args(["lab", asked]).output() else { return };
        let (code, _, err) = outcome(output);
        if err.starts_with("setpriv:") {
            return; // Not root: the case above was this one.
        }
        assert_eq!(code, 1, "{asked}");
        assert!(err.starts_with("error: commands for a persistent lab require root"), "{asked}: {err}");
    }
}

/// What a command writes to a terminal of this kind, on standard output and standard error.
fn on_a_terminal(kind: &str, no_color: bool, arguments: &str) -> Option<String> {
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &format!("{PROGRAM} {arguments}"), "/dev/null"]);
    command.env("TERM", kind).env_remove("RUST_LOG").env_remove("NO_COLOR");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let (code, out, err) = outcome(command.output().ok()?);
    assert_eq!((code, err.as_str()), (0, ""), "{arguments}: {out}");
    Some(out)
}

#[test]
fn a_dumb_terminal_gets_no_sequences_and_with_no_color_none_gets_colours() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    // A table with colours, and a progress bar, which moves the cursor.
    let table = format!("corruptd --replay {}", folder.join("counters.csv").display());
    let flows = "sim flows --size 143B --trials 5k --threads 1".to_owned();
    let colours = |text: &str| {
        text.split("\x1b[").skip(1).any(|rest| {
            rest.split_once('m')
                .is_some_and(|(code, _)| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
        })
    };
    for command in [&table, &flows] {
        let Some(dumb) = on_a_terminal("dumb", false, command) else { return };
        assert!(!dumb.contains('\x1b'), "{command}: {dumb:?}");
        let plain = on_a_terminal("xterm", true, command).expect("as before");
        assert!(!colours(&plain), "{command}: {plain:?}");
    }
    let seen = on_a_terminal("xterm", false, &table).expect("as before");
    assert!(colours(&seen), "or this test would see nothing: {seen:?}");
    let seen = on_a_terminal("xterm", false, &flows).expect("as before");
    assert!(seen.contains("\x1b["), "or this test would see nothing: {seen:?}");
}
