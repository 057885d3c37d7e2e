//! The binary as users meet it: help, errors, exit codes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MINIMAL: &str = "[[link]]\nname = \"up\"\ninner = \"lmt-none0\"\nlink = \"lmt-none1\"\n";

fn linkmend(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
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

fn file(folder: &Path, text: &str) -> String {
    let path = folder.join("lm.toml");
    fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn help_is_the_golden_one() {
    for command in [
        "",
        "run",
        "status",
        "protect",
        "unprotect",
        "capture",
        "corrupt",
        "corruptd",
        "corruptd status",
        "corruptd report",
        "corruptd verify",
        "detach",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let (code, out, err) = run(&arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{command}");
        let name = if command.is_empty() { "linkmend".to_owned() } else { command.replace(' ', "-") };
        let golden = format!("{}/tests/golden/help-{name}.txt", env!("CARGO_MANIFEST_DIR"));
        expect_test::expect_file![golden].assert_eq(&out);
    }
}

#[test]
fn wrong_usage_exits_with_code_2_and_says_what_is_right() {
    let cases: [(&[&str], &str); 13] = [
        (&[], "Usage: linkmend"),
        (&["rnu"], "unrecognized subcommand 'rnu'"),
        (&["run"], "required arguments were not provided"),
        (&["run", "--inner", "a"], "--link <IF>"),
        (
            &["run", "--inner", "a", "--link", "b", "--queue", "1000"],
            "`1000` has no unit; a size is written like `1000B`",
        ),
        (&["run", "--inner", "a", "--link", "b", "--rate", "25"], "a rate is written like `25G`"),
        (&["run", "--inner", "a", "--link", "b", "--peer-timeout", "60"], "a time is written like `60us`"),
        (
            &["run", "--inner", "a", "--link", "b", "--mode", "fast"],
            "[possible values: ordered, non-blocking, off]",
        ),
        (&["run", "--inner", "a", "--link", "b", "--class", "5:ordered"], "write pcp=N:MODE or dscp=N:MODE"),
        (&["run", "--inner", "a", "--link", "b", "--copies", "2", "--target", "1e-8"], "cannot be used with"),
        (&["corrupt", "up"], "required arguments were not provided"),
        (&["corrupt", "up", "1.5"], "a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`, or `off`"),
        (&["corrupt", "up", "--gilbert-elliott", "1e-3"], "is not RATE,BURST; write it like 1e-3,4"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn impossible_arguments_name_the_option() {
    let (code, _, err) = run(&["run", "--inner", "a", "--link", "a"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "error: --link `a` is also the inner port of this link; the two ports must differ\n")
    );
    let (code, _, err) = run(&["run", "--inner", "a", "--link", "b", "--pause", "1MiB", "--resume", "2MiB"]);
    assert_eq!((code, err.as_str()), (2, "error: --resume 2MiB: must be below pause\n"));
}

#[test]
fn a_wrong_file_names_line_and_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), &format!("{MINIMAL}speed = \"25G\"\n"));
    let (code, _, err) = run(&["run", "--config", &path]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with(&format!("error: {path}:5: unknown field `speed`, expected one of `name`")),
        "{err}"
    );
    let path = file(folder.path(), &format!("{MINIMAL}queue = \"1kB\"\n"));
    let (code, _, err) = run(&["run", "--config", &path]);
    assert_eq!(
        (code, err),
        (2, format!("error: {path}:5: link up: queue: 1kB: must be from 64KiB to 1GiB\n"))
    );
    let (code, _, err) = run(&["run", "--config", "/nonexistent/lm.toml"]);
    assert_eq!(code, 1);
    assert!(err.contains("error: cannot read /nonexistent/lm.toml\n  caused by: No such file"), "{err}");
}

#[test]
fn options_of_a_link_are_refused_beside_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), MINIMAL);
    for option in [["--rate", "25G"], ["--mode", "off"], ["--pause", "1MiB"], ["--fallback", "false"]] {
        let (code, _, err) = run(&["run", "--config", &path, option[0], option[1]]);
        assert_eq!(code, 2, "{option:?}: {err}");
        assert!(err.contains(&format!("error: {} cannot be used with --config", option[0])), "{err}");
    }
}

#[test]
fn check_prints_a_configuration_that_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, from_arguments, err) = run(&[
        "run",
        "--check",
        "--name",
        "up",
        "--inner",
        "lmt-none0",
        "--link",
        "lmt-none1",
        "--metrics",
        "[::1]:9464",
    ]);
    assert_eq!(code, 0, "{err}");
    // Both must be named, not only the first.
    for interface in ["lmt-none0", "lmt-none1"] {
        assert!(
            err.contains(&format!("there is no interface `{interface}`")),
            "devices are looked at: {err}"
        );
    }
    assert!(err.contains("the configuration is valid, but the daemon could not start now"), "{err}");
    assert!(
        from_arguments.starts_with("control = \"/run/linkmend/up.sock\"\nmetrics = \"[::1]:9464\"\n"),
        "{from_arguments}"
    );
    let path = file(folder.path(), &from_arguments);
    let (code, from_file, _) = run(&["run", "--check", "--config", &path]);
    assert_eq!((code, from_file), (0, from_arguments));
}

#[test]
fn one_error_names_all_missing_interfaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let control = folder.path().join("c.sock");
    let control = control.to_str().expect("UTF-8");
    let (code, out, err) = run(&["run", "--inner", "lmt-none0", "--link", "lmt-none1", "--control", control]);
    assert_eq!((code, out.as_str()), (1, ""));
    let missing =
        |name: &str| format!("link lmt-none1: there is no interface `{name}` in this network namespace");
    let (link, inner) = (missing("lmt-none1"), missing("lmt-none0"));
    assert_eq!(err, format!("error: {link}; {inner}\nhint: list the interfaces with `ip link`\n"));
    assert_eq!(fs::read_dir(folder.path()).expect("it exists").count(), 0, "nothing is left behind");
}

/// A regression: a value that is the default was ignored.
#[test]
fn options_of_a_second_link_are_refused_where_there_is_none() {
    for option in ["--failure-detection 10ms", "--failover-return-after 2s", "--backup-rate 1G"] {
        let arguments: Vec<&str> =
            "run --inner a --link b --check".split(' ').chain(option.split(' ')).collect();
        let (code, _, err) = run(&arguments);
        let named = option.split(' ').next().expect("a name");
        assert!(code == 2 && err.contains(&format!("{named} requires --backup")), "{err}");
        assert_eq!(run(&[&arguments[..], &["--backup", "c"]].concat()).0, 0);
    }
}

#[test]
fn without_a_daemon_there_is_a_hint() {
    for arguments in [
        &["status", "--control", "/nonexistent/c.sock"][..],
        &["status", "up", "--control", "/nonexistent/c.sock"],
        &["protect", "up", "--control", "/nonexistent/c.sock"],
        &["corrupt", "up", "off", "--control", "/nonexistent/c.sock"],
    ] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (1, ""));
        let expected = "error: no daemon is responding at /nonexistent/c.sock\n  \
                        caused by: No such file or directory (os error 2)\n\
                        hint: start one with `linkmend run`, or give its socket with --control\n";
        assert_eq!(err, expected, "{arguments:?}");
    }
}

#[test]
fn watching_without_a_terminal_or_too_often_says_so() {
    let (code, _, err) = run(&["status", "--watch"]);
    assert_eq!(code, 1);
    assert!(err.contains("error: --watch needs a terminal\nhint: `linkmend status --json`"), "{err}");
    let (code, _, err) = run(&["status", "--watch=0"]);
    assert_eq!((code, err.as_str()), (2, "error: --watch 0: must be from 0.1 to 60 seconds\n"));
    assert_eq!(run(&["status", "--watch", "--json"]).0, 2);
}

/// A copy of the program. Were this process to write it, a child of another test could still have it open, and it could not
/// be run (ETXTBSY).
fn copy_in(folder: &Path) -> PathBuf {
    let copy = folder.join("linkmend");
    let mut copying = Command::new("cp");
    copying.arg(env!("CARGO_BIN_EXE_linkmend")).arg(&copy);
    assert!(copying.status().expect("cp is there").success());
    copy
}

/// A `linkmend` alone in a folder, with a search path in which the second program is not.
#[test]
fn without_the_second_program_its_commands_say_how_to_get_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let alone = copy_in(folder.path());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&alone);
        command.args(arguments).env_remove("RUST_LOG").env("PATH", "/nonexistent").env("COLUMNS", "100");
        outcome(command.output().expect("it starts"))
    };
    for arguments in
        [&["sim", "stress", "--loss", "1e-3"][..], &["help", "sim"], &["sim", "--version"], &["-v", "sim"]]
    {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments:?}");
        assert_eq!(
            err,
            "error: `linkmend sim` is a command of linkmend-workbench, which is not installed\n\
             hint: `cargo build --release -p linkmend-workbench` builds it; install it in the same directory as \
             linkmend, in ../libexec/linkmend relative to it, or in a directory in PATH\n",
            "{arguments:?}"
        );
    }
}

/// A program of that name in the search path is started with the arguments as they were written.
#[test]
fn the_second_program_gets_the_same_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let alone = copy_in(folder.path());
    let script = "#!/bin/sh\nprintf '[%s]' \"$@\"\nexit 7\n";
    let second = folder.path().join("linkmend-workbench");
    let mut writer = Command::new("sh");
    writer.args(["-c", "printf '%s' \"$1\" > \"$0\" && chmod +x \"$0\""]).arg(&second).arg(script);
    assert!(writer.status().expect("there is a shell").success());
    let output =
        Command::new(&alone).args(["-v", "sim", "a b", "--loss=-1", "--"]).output().expect("it starts");
    assert_eq!(outcome(output), (7, "[-v][sim][a b][--loss=-1][--]".to_owned(), String::new()));
    let output = Command::new(&alone).arg("--version").output().expect("it starts");
    assert!(outcome(output).1.starts_with("linkmend "));
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    use std::process::Stdio;
    let arguments = ["run", "--check", "--inner", "lmt-none0", "--link", "lmt-none1"];
    let mut child =
        linkmend(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

/// Logging must not ask for colours that are not compiled in, which panics when standard error is a terminal.
#[test]
fn logs_on_a_terminal_do_not_panic() {
    let line = format!("{} run --check --inner lmt-none0 --link lmt-none1", env!("CARGO_BIN_EXE_linkmend"));
    let Ok(output) = Command::new("script").args(["-qec", &line, "/dev/null"]).output() else {
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: logs_on_a_terminal_do_not_panic needs script(1) (bsdutils) ########\n"
        );
        return;
    };
    let (code, out, err) = outcome(output);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("WARN") && out.contains("inner = \"lmt-none0\""), "{out}");
}

#[test]
fn addresses_without_a_port_or_a_host_are_refused_with_what_to_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), &format!("metrics = \"9464\"\n{MINIMAL}"));
    for arguments in
        [&["run", "--config", &path][..], &["run", "--inner", "a", "--link", "b", "--metrics", "9464"]]
    {
        let (code, _, err) = run(arguments);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("`9464` is not an IP address with a port; write `127.0.0.1:9464`"), "{err}");
    }
    let (_, _, err) = run(&["run", "--inner", "a", "--link", "b", "--loss", "1"]);
    assert_eq!(err, "error: --loss 1: must be below 1; a link that loses everything cannot be protected\n");
}
