//! The program whose tests these are, run with arguments.

use std::process::Command;

/// `linkmend`, or `linkmend-workbench` in its tests.
pub const PROGRAM: &str =
    match (option_env!("CARGO_BIN_EXE_linkmend"), option_env!("CARGO_BIN_EXE_linkmend-workbench")) {
        (Some(program), _) | (None, Some(program)) => program,
        (None, None) => panic!("cargo names the program"),
    };

/// Exit code, standard output and standard error.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
